import type { GuardFlags, readView, ViewFlags } from "../../../cli/arguments/export-options.ts";
import type { Printer } from "../../../cli/terminal/printer.ts";
import type { AccountView } from "../../../engine/client/types.ts";
import type { OwnedPerson } from "../../../engine/library/members.ts";
import type { Shelf } from "../../../engine/library/take-in.ts";
import type { Presence } from "../../../engine/planning/presence.ts";
import type { ExportDeps } from "../../../engine/purchase/order.ts";
import type { VerifiedField } from "../../../engine/purchase/refresh.ts";
import type { RunStore } from "../../../engine/runs/run-store.ts";
import type { Context } from "../../../shared/context.ts";
import type { Credits } from "../../../shared/contract/money.ts";
import type { Session } from "../../session.ts";
import type { Segment } from "./list.ts";

export interface RefreshFlags extends ViewFlags, GuardFlags {
  readonly maxCredits?: Credits | undefined;
  readonly maxCalls: number;
  readonly callsPerCredit: number;
  readonly verifyFields?: string;
  readonly buyChanged?: boolean;
  readonly yes?: boolean;
  readonly dryRun?: boolean;
  readonly perPage?: number;
  readonly wait?: boolean;
  readonly job?: string;
  readonly budgetLeft?: Credits | undefined;
}

export interface RefreshOrder {
  /** A file or a run; undefined: the filters say what it is. */
  readonly word: string | undefined;
  readonly given: Segment | undefined;
  readonly output: string | undefined;
  readonly view: ReturnType<typeof readView>;
  readonly verify: readonly VerifiedField[];
  readonly flags: RefreshFlags;
}

/** Everything that one refresh works with. */
export interface Work {
  readonly order: RefreshOrder;
  readonly session: Session;
  readonly account: AccountView;
  readonly printer: Printer;
  readonly context: Context;
  readonly deps: ExportDeps;
  readonly store: RunStore;
  readonly shelf: Shelf;
}

/** What one command spent on what an earlier one had begun. */
export interface Finished {
  readonly run: string;
  readonly spent: Credits;
  readonly rows: number;
}

/** What is there in the end, proved. */
export interface Brought {
  /** Everybody who is in the segment. */
  readonly now: readonly OwnedPerson[];
  /** Who went by the address before, and by an id now. */
  readonly renamed: ReadonlyMap<string, string>;
  /** By identity: the verified fields that no longer are as they were bought. */
  readonly changed: ReadonlyMap<string, readonly string[]>;
  readonly notChecked: number;
  readonly runs: readonly string[];
  readonly spent: Credits;
  readonly rows: number;
  /** Of those who were bought: who is left out of everything, suppressed or forgotten. */
  readonly hidden: number;
  readonly certificate: Presence;
}
