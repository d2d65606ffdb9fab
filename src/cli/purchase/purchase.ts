import type { Order } from "../../app/buy/order.ts";
import type { DoorWords } from "../../shared/errors.ts";
import type { ExportFlags } from "../arguments/export-options.ts";
import type { Printer } from "../terminal/printer.ts";

export interface ParsedPurchase {
  readonly order: Order;
  readonly flags: ExportFlags;
  readonly run?: string;
  /** What is said at the end in the words of who asked for it. */
  readonly speech?: DoorWords;
  /** Whether it needs no asking up to one credit: one company that was named. */
  readonly small?: boolean;
  /** What has to be said of it before anything is asked. */
  readonly notice?: string | undefined;
  /** Prints what would have gone to stdout, once it is all there, in place of rows as they come. */
  readonly show?: (rows: string, printer: Printer) => Promise<void>;
}
