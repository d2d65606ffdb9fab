import type { Writable } from "node:stream";
import type { Credits } from "../../shared/contract/money.ts";
import type { AccountView } from "../client/types.ts";
import type { Form } from "../output/formats.ts";
import type { Join } from "../output/join.ts";
import type { Guard } from "../output/publish.ts";
import type { DrawTable } from "../output/table.ts";
import type { RunIdentity, Target } from "../runs/plan.ts";
import type { RunStore } from "../runs/run-store.ts";
import type { OpenOwnership } from "./ownership.ts";
import type { Offer, Quote } from "./quote.ts";
import type { Progress, Start, World } from "./world.ts";

export interface ExportOptions extends Guard, Form {
  /** Absolute path, or undefined: stdout. */
  readonly output: string | undefined;
  readonly fields: readonly string[] | undefined;
  readonly excel: boolean;
  readonly raw: boolean;
  /** The text of `--format template`. */
  readonly template?: string | undefined;
  readonly maxCredits: Credits | undefined;
  readonly limit: number | undefined;
  readonly perPage: number | undefined;
  readonly concurrency: number;
  readonly fresh: boolean;
  /** What to do where the dataset of an unfinished run is gone: begin anew, or end. */
  readonly onNewDataset: "fresh" | "fail";
  readonly requireComplete: boolean;
  readonly wait: boolean;
  readonly receipt: string | undefined;
  readonly misses: string | undefined;
  /** What is bought, where that was found out before. */
  readonly offer?: Offer | undefined;
  /** What was agreed to already: this is bought, or nothing. */
  readonly agreed?: Quote | undefined;
  /** The job that buys, where one does. */
  readonly job?: string | undefined;
  /** The named budget that it is bought within, where there is one. */
  readonly budget?: string | undefined;
  /** What the budget has left: the cap must fit into it. */
  readonly budgetLeft?: Credits | undefined;
  /** The caller's own table, to whose rows the companies are put. */
  readonly join?: Join | undefined;
}

export interface ExportDeps extends World {
  readonly stdout: Writable;
  readonly table?: (() => Promise<DrawTable>) | undefined;
  /** Shows the quote and gets consent, or throws (exit 2, exit 10). Not called where no more than agreed is spent. */
  readonly consent: (quote: Quote, resuming: boolean) => Promise<void>;
  /** What is owned of the segment; undefined where nobody asks. */
  readonly ownership?: OpenOwnership | undefined;
  readonly mapError: (error: unknown) => unknown;
  readonly onNotice: (text: string) => void;
  /** What must be said also where notices are not wanted. */
  readonly onWarning: (text: string) => void;
  readonly onStart?: ((start: Start) => void) | undefined;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

/** With whom something is bought, and how. */
export interface Trade {
  readonly store: RunStore;
  readonly account: AccountView;
  readonly options: ExportOptions;
  readonly deps: ExportDeps;
}

/** What is asked for, and how a run of it is known again. */
export interface Inquiry extends Trade {
  readonly target: Target;
  readonly identity: RunIdentity;
}
