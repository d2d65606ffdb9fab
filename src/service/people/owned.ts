// Tested by test/service/owned.test.ts.
import type { Engine, RecordPage } from "../../dataset/engine.ts";
import type { CanonicalFilters } from "../../shared/contract/vocabulary.ts";
import type { Store } from "../ledger/ledger.ts";
import type { Place } from "../ledger/records.ts";
import { idOf } from "./ids.ts";

const PAGE = 1_000;
/** A segment of more is not looked through to say who of it is owned: that would be a search. */
export const LOOKED_THROUGH = 20_000;

type People = Pick<Store, "people">;

/** The people of a page whom the account does not own, the first of them. */
export async function newOf(
  { people }: People,
  place: Place,
  { records, total }: RecordPage,
  most: number,
): Promise<RecordPage> {
  const marks = await people.marks(place, records.map(idOf));
  const owned = await people.owned(marks);
  return { total, records: records.filter((_, at) => !owned.has(marks[at] ?? "")).slice(0, most) };
}

/**
 * Whom of a segment an account owns, by id.
 * @param count of the segment
 * @returns undefined where the segment is too big to be looked through
 */
export async function ownedAmong(
  { people }: People,
  place: Place,
  {
    count,
    engine,
    filters,
  }: {
    readonly count: number;
    readonly engine: Pick<Engine, "people">;
    readonly filters: CanonicalFilters;
  },
): Promise<{ readonly ids: readonly string[]; readonly fresh: number } | undefined> {
  if (!(await people.ownsAnybody(place))) return { ids: [], fresh: count };
  if (count > LOOKED_THROUGH) return undefined;

  const all: string[] = [];
  let fresh = 0;
  for (let offset = 0; offset < count; offset += PAGE) {
    const { records } = await engine.people(filters, { offset, limit: PAGE });
    const ids = records.map(idOf);
    const marks = await people.marks(place, ids);
    const owned = await people.owned(marks);
    const mine = ids.filter((_, at) => owned.has(marks[at] ?? ""));
    fresh += ids.length - mine.length;
    all.push(...mine);
  }
  return { ids: all, fresh };
}
