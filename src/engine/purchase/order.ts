// Tested by test/cli/search.test.ts.
import type { Writable } from "node:stream";
import type { Credits } from "../../shared/contract/money.ts";
import type { AccountView } from "../client/types.ts";
import type { AskedView } from "../output/formats.ts";
import type { Join } from "../output/kept-rows.ts";
import type { DrawTable } from "../output/table.ts";
import type { Guard, RunIdentity, Target } from "../runs/plan.ts";
import type { RunStore } from "../runs/run-store.ts";
import type { Ownership } from "./ownership.ts";
import type { Offer, Quote } from "./quote.ts";
import type { Payer, Progress, Start, World } from "./world.ts";

export interface ExportOptions extends Guard, AskedView {
  /** Absolute path, or undefined: stdout. */
  readonly output?: string | undefined;
  readonly maxCredits?: Credits | undefined;
  readonly limit?: number | undefined;
  readonly perPage?: number | undefined;
  readonly concurrency: number;
  readonly fresh: boolean;
  /** What to do where the dataset of an unfinished run is gone: begin anew, or end. */
  readonly onNewDataset: "fresh" | "fail";
  readonly requireComplete: boolean;
  readonly wait: boolean;
  readonly receipt?: string | undefined;
  readonly misses?: string | undefined;
  readonly offer?: Offer | undefined;
  /** What was agreed to already: this is bought, or nothing. */
  readonly agreed?: Quote | undefined;
  readonly job?: string | undefined;
  readonly budget?: string | undefined;
  readonly budgetLeft?: Credits | undefined;
  readonly join?: Join | undefined;
}

/** @returns undefined for a target that is no single segment */
export type OpenOwnership = (
  account: AccountView,
  target: Target,
) => Promise<Ownership | undefined>;

export interface ExportDeps extends World {
  readonly stdout: Writable;
  readonly table?: (() => Promise<DrawTable>) | undefined;
  /** Shows the quote and gets consent, or throws (exit 2, exit 10). To spend nothing needs none. */
  readonly consent: (quote: Quote, resuming: boolean) => Promise<void>;
  readonly ownership?: OpenOwnership | undefined;
  readonly mapError: (error: unknown) => unknown;
  readonly onNotice: (text: string) => void;
  /** What must be said also where notices are not wanted. */
  readonly onWarning: (text: string) => void;
  readonly onStart?: ((start: Start) => void) | undefined;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

export interface Trade {
  readonly store: RunStore;
  readonly account: Payer;
  readonly options: ExportOptions;
  readonly deps: ExportDeps;
}

export interface Inquiry extends Trade {
  readonly target: Target;
  readonly identity: RunIdentity;
}
