import type { AccountView } from "../../../engine/client/types.ts";
import type { OwnedPerson } from "../../../engine/library/members.ts";
import type { Shelf } from "../../../engine/library/take-in.ts";
import type { Guard } from "../../../engine/output/publish.ts";
import type { AskedView } from "../../../engine/output/sinks/sink.ts";
import type { Presence } from "../../../engine/planning/presence.ts";
import type { ExportDeps } from "../../../engine/purchase/order.ts";
import type { VerifiedField } from "../../../engine/purchase/refresh.ts";
import type { Start } from "../../../engine/purchase/world.ts";
import type { RunStore } from "../../../engine/runs/run-store.ts";
import type { Context } from "../../../shared/context.ts";
import type { Credits } from "../../../shared/contract/money.ts";
import type { Session } from "../../session.ts";
import type { ListSegmentOf } from "./list.ts";

/** What bounds a refresh, and how its files are guarded. */
export interface RefreshTerms extends Guard {
  readonly maxCredits?: Credits | undefined;
  readonly maxCalls: number;
  readonly callsPerCredit: number;
  readonly buyChanged?: boolean | undefined;
  readonly perPage?: number | undefined;
  readonly wait?: boolean | undefined;
  /** Said of CSV; undefined: as the list was written. */
  readonly excel?: boolean | undefined;
  readonly raw?: boolean | undefined;
  readonly job?: string | undefined;
  readonly budgetLeft?: Credits | undefined;
}

export interface RefreshOrder {
  /** A file or a run; undefined: the filters say what it is. */
  readonly word: string | undefined;
  readonly given: ListSegmentOf | undefined;
  /** Absolute; undefined where only the plan is wanted. */
  readonly output: string | undefined;
  readonly view: AskedView;
  readonly verify: readonly VerifiedField[];
  readonly terms: RefreshTerms;
}

/** What a refresh will do at most, told before anything finer than the segment itself is counted. */
export interface RefreshPlan {
  readonly total: number;
  /** People in the segment who are owned. */
  readonly owned: number;
  /** People who are owned and no longer in the segment. */
  readonly gone: number;
  readonly others: number;
  /** People whom you forgot: beside the others where `leftOut`, else perhaps among them, at most so many. */
  readonly forgotten: number;
  readonly leftOut: boolean;
  /** Rows to buy for the new people, at most. */
  readonly rows: number;
  /** Credits, at most. */
  readonly most: Credits;
  /** Free calls in all, about. */
  readonly calls: number;
  /** What they take at the share of the rate limit that is used. */
  readonly ms: number;
  /** What buying the whole segment again costs. */
  readonly again: Credits;
}

/** What a refresh asks and tells. */
export interface RefreshEvents {
  /** Agrees to what is bought, or throws. Not asked where nobody is new. */
  readonly agree: (plan: RefreshPlan) => Promise<void>;
  /** Agrees to at most so much for the rest of a run that was begun for the list, or throws. */
  readonly agreeToRest: (run: string, most: Credits) => Promise<void>;
  readonly warning: (text: string) => void;
  /** Free calls so far; undefined: something else is said now. */
  readonly progress?: ((calls: number | undefined) => void) | undefined;
  /** The run of a purchase, before anything is paid for. */
  readonly start?: ((start: Start) => void) | undefined;
}

/** Everything that one refresh works with. */
export interface Work {
  readonly order: RefreshOrder;
  readonly session: Session;
  readonly account: AccountView;
  readonly events: RefreshEvents;
  readonly context: Context;
  readonly deps: ExportDeps;
  readonly store: RunStore;
  readonly shelf: Shelf;
}

/** What one command spent on what an earlier one had begun. */
export interface RefreshResult {
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
