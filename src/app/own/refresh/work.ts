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

/** What a refresh will do at most, told before anything finer than the segment is counted. */
export interface RefreshPlan {
  readonly total: number;
  readonly owned: number;
  /** Owned, and no longer in the segment. */
  readonly gone: number;
  readonly others: number;
  /** Beside the others where `leftOut`, else perhaps among them, at most so many. */
  readonly forgotten: number;
  readonly leftOut: boolean;
  readonly rows: number;
  /** At most. */
  readonly most: Credits;
  /** In all, about. */
  readonly calls: number;
  readonly ms: number;
  /** What buying the whole segment again costs. */
  readonly again: Credits;
}

export interface RefreshEvents {
  /** Agrees to what is bought, or throws. Not asked where nobody is new. */
  readonly agree: (plan: RefreshPlan) => Promise<void>;
  /** The same for the rest of a run that was begun for the list. */
  readonly agreeToRest: (run: string, most: Credits) => Promise<void>;
  readonly warning: (text: string) => void;
  /** Free calls so far; undefined: something else is said now. */
  readonly progress?: ((calls: number | undefined) => void) | undefined;
  readonly start?: ((start: Start) => void) | undefined;
}

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

export interface RefreshResult {
  readonly run: string;
  readonly spent: Credits;
  readonly rows: number;
}

/** Proved. */
export interface Brought {
  readonly now: readonly OwnedPerson[];
  /** Who went by the address, and by an id now. */
  readonly renamed: ReadonlyMap<string, string>;
  /** By identity: verified fields that no longer are as bought. */
  readonly changed: ReadonlyMap<string, readonly string[]>;
  readonly notChecked: number;
  readonly runs: readonly string[];
  readonly spent: Credits;
  readonly rows: number;
  /** Bought, and suppressed or forgotten. */
  readonly hidden: number;
  readonly certificate: Presence;
}
