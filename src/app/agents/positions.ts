import { meets, normalValues } from "../../engine/library/person.ts";
import { Distinct, kindOf } from "../../engine/output/distinct.ts";
import type { RunReader } from "../../engine/runs/reader.ts";
import { conditionsOf } from "../../shared/contract/conditions.ts";
import { canonicalJson } from "../../shared/contract/filters.ts";
import type { CanonicalFilters } from "../../shared/contract/vocabulary.ts";
import { Page } from "../../shared/rows/page.ts";

const CACHED = 8;

export interface Position {
  readonly page: number;
  readonly rows: readonly number[];
}

/** Which rows of a run are distinct and meet a filter: found once, for whoever reads on. */
export function rowPositions() {
  const cache = new Map<string, readonly Position[]>();
  return async (
    run: RunReader,
    where: CanonicalFilters | undefined,
  ): Promise<readonly Position[]> => {
    const key =
      `${run.id} ${run.state.rows} ${run.suppression.digest} ` +
      `${where === undefined ? "" : canonicalJson(where)}`;
    const places = cache.get(key) ?? (await placesOf(run, where));
    cache.set(key, places);
    for (const old of cache.keys()) {
      if (cache.size <= CACHED) break;
      cache.delete(old);
    }
    return places;
  };
}

async function placesOf(
  run: RunReader,
  where: CanonicalFilters | undefined,
): Promise<readonly Position[]> {
  const kind = kindOf(run);
  const conditions = where === undefined ? [] : conditionsOf(where);
  const distinct = new Distinct(kind, run.state.rows, run.suppression);
  const places: Position[] = [];
  for await (const { unit, body } of run.pages()) {
    const page = distinct.take(Page.read(body, kind));
    const rows = page.indexes.filter(
      (index) => conditions.length === 0 || meets(normalValues(page.row(index)), conditions),
    );
    places.push({ page: unit.intent.n, rows: rows.map((index) => page.position(index)) });
  }

  return places;
}
