import type { Credits } from "../../shared/contract/money.ts";
import type { Missing } from "./remaining.ts";
import type { Wall } from "./world.ts";

export interface BuyResult {
  /** `all`: nothing is left to ask for. `limit`: the rows or credits allowed are used up. */
  readonly ended: "all" | "limit";
  readonly wall: Wall | undefined;
  readonly repeated: boolean;
  readonly missing: Missing;
  /** The smallest page that the service gives, where what was left was less than that. */
  readonly least: number | undefined;
  /** Credits a row, as they were charged where nobody told them beforehand. */
  readonly price: Credits;
  readonly balance: Credits | undefined;
}

export interface Doubled extends BuyResult {
  readonly doubled: number;
}
