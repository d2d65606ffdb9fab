// Tested by test/cli/new-only.test.ts.

import type { Filters } from "../../shared/contract/vocabulary.ts";
import type { OwnCommand, Sentence } from "../../shared/errors.ts";
import type { Page } from "../../shared/rows/page.ts";
import type { Cost } from "../planning/question.ts";
import type { IntentRecord, SettledRecord } from "../runs/journal.ts";
import type { Plan, Target } from "../runs/plan.ts";
import type { RunReader } from "../runs/reader.ts";

export interface OwnedShare {
  readonly total: number;
  readonly owned: number;
  /** Whether free counts told it; otherwise it is what the records of the owned people say. */
  readonly exact: boolean;
  /** Free counts that told it, or would; 0 where none can, and records alone do. */
  readonly calls: number;
  readonly estimate?: Cost | undefined;
  /**
   * How long the estimated calls take at the rate of free
   * counts, in milliseconds; undefined: no limit is known.
   */
  readonly durationMs?: number | undefined;
  /** Others of whom the records of another service say that they match, by its connection. */
  readonly elsewhere?: readonly { readonly service: string; readonly people: number }[];
  /**
   * What to buy so as to have the new people, where only they are bought.
   * @param maxRows that were agreed to
   */
  readonly divide?: ((maxRows: number) => Promise<NewParts>) | undefined;
}

export interface NewParts extends Pick<Plan, "unreached" | "overlap" | "digests"> {
  readonly parts: readonly Filters[];
  readonly counts: readonly number[];
  /** New people who are in none of them, because a limit or cap leaves no rows for them. */
  readonly beyond?: number;
}

export interface OwnedPage extends Pick<IntentRecord, "target" | "offset" | "perPage"> {
  readonly run: string;
  readonly rows: number;
  /** undefined: the service did not know the company. */
  readonly body: Buffer | undefined;
  /** What came with it of those behind it. */
  readonly told?: Pick<SettledRecord, "next" | "total" | "unread"> | undefined;
}

export interface Ownership {
  /**
   * Before anything is agreed to.
   * @param total people of the segment
   * @param offer what was counted of each company
   */
  look(
    total: number,
    narrowed: boolean,
    offer?: Partial<NewParts>,
  ): Promise<OwnedShare | undefined>;
  before(run: RunReader, page: Page): ReadonlySet<number>;
  /**
   * After everything was bought: why not everybody of
   * the segment is owned; undefined where everybody is.
   */
  certify(run: RunReader): Promise<Sentence | undefined>;
  /** @param most of the owned whom it did not bring */
  beside(run: RunReader, most: number): AsyncIterable<OwnedPage>;
}

export interface Narrowed {
  readonly new: number;
  /**
   * Whether free counts said at the end that everybody
   * is owned; null where a limit or cap left some out.
   */
  readonly whole: boolean | null;
  readonly shortfall: Sentence | null;
  readonly others?: readonly OwnCommand[];
}

export const mostRows = (share: OwnedShare | undefined): number => share?.estimate?.rows ?? 0;

export const newPeopleIn = (share: OwnedShare | undefined): number | undefined =>
  share && share.total - share.owned;

const isPlain = (target: Target): target is Extract<Target, { kind: "search" }> =>
  target.kind === "search" && (target.owned ?? target.sample) === undefined;

/**
 * Its new people alone, those who are owned beside them,
 * where few counts part them. Who is owned comes first
 * within a limit: so it makes nothing dearer.
 */
export function partedFrom(target: Target, share: OwnedShare | undefined, limit = Infinity) {
  if (!isPlain(target) || share?.divide === undefined) return undefined;

  const { total, owned } = share;
  const narrowed = { ...target, owned: "with" as const };
  if (limit >= total) return { target: narrowed, rows: mostRows(share) };

  const fresh = Math.max(0, limit - owned);
  return {
    target: { ...narrowed, within: { rows: limit, fresh } },
    rows: Math.min(mostRows(share), fresh),
  };
}

/**
 * The most rows of its new people alone, where the rest
 * of all of it has more, and few counts part them.
 */
export function rowsApart(
  target: Target,
  share: OwnedShare | undefined,
  kept: number,
): number | undefined {
  const isParted =
    share?.divide !== undefined || (share?.exact === true && newPeopleIn(share) === 0);
  return isPlain(target) && isParted && mostRows(share) + kept < share.total
    ? mostRows(share)
    : undefined;
}
