import type { Writable } from "node:stream";
import type { Filters } from "../../shared/contract/filters.ts";
import type { Credits } from "../../shared/contract/money.ts";
import type { Pacer } from "../client/pacing.ts";
import type { AccountView, ServiceClient } from "../client/types.ts";
import type { Form } from "../output/formats.ts";
import type { Join } from "../output/join.ts";
import type { Guard } from "../output/publish.ts";
import type { DrawTable } from "../output/table.ts";
import type { Disk } from "../runs/disk.ts";
import type { OpenOwnership } from "./ownership.ts";
import type { Quote } from "./quote.ts";
import type { Missing } from "./remaining.ts";

export interface Clock {
  readonly now: () => number;
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
  readonly random: () => number;
}

export interface Wait {
  readonly reason: "rate_limit" | "retry";
  readonly until: number;
  readonly why: string;
}

export interface Progress {
  /** Rows paid for and kept. */
  readonly rows: number;
  readonly settled: Credits;
  readonly uncertain: Credits;
  readonly wait: Wait | undefined;
}

/** Where the service refused to go deeper, with its words. */
export interface Wall {
  readonly offset: number;
  readonly detail: string;
}

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
  /** Rows of one target that came twice. */
  readonly doubled: number;
}

export interface Offer {
  /** Rows that a target has, or has at most; null where no free count tells. */
  readonly matches: number | null;
  /** What the free counts told of each company; undefined where not all of them were counted. */
  readonly counts?: readonly number[] | undefined;
  readonly datasetVersion: string | null;
  /** Of several segments: what is bought, and how many people more than one part holds. */
  readonly parts?: readonly Filters[];
  readonly overlap?: number;
}

export interface Seller {
  readonly client: ServiceClient;
  readonly pacer: Pacer;
  readonly connectionName: string;
  /** Names the service for good (its base URL; for the sample a name without a port). */
  readonly serviceId: string;
  readonly maxWaitMs: number;
}

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
  readonly dryRun: boolean;
  readonly fresh: boolean;
  /** What to do where the dataset of an unfinished run is gone: begin anew, or end. */
  readonly onNewDataset: "fresh" | "fail";
  readonly requireComplete: boolean;
  readonly wait: boolean;
  readonly receipt: string | undefined;
  readonly misses: string | undefined;
  /** What is bought, where that was found out before. */
  readonly offer?: Offer | undefined;
  /** The account, where it was told a moment ago. */
  readonly account?: AccountView | undefined;
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

/** A service, a clock, a disk: everything outside that a purchase touches. */
export interface World extends Clock {
  readonly seller: Seller;
  readonly stateDir: string;
  readonly disk: Disk;
  readonly pid: number;
  readonly interrupted: AbortSignal;
}

/** The buying begins: how many rows are there, and how many are meant to be. */
export interface Start {
  readonly run: string;
  readonly kept: number;
  readonly rows: number;
  readonly cap: Credits;
}

export interface ExportDeps extends World {
  readonly stdout: Writable;
  readonly table?: (() => Promise<DrawTable>) | undefined;
  /** Shows the quote and gets consent, or throws (exit 2, exit 10). Not called where nothing more than agreed before is spent. */
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
