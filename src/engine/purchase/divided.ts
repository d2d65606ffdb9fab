// Tested by test/scene/walls.test.ts.

import { normalForm } from "../../shared/contract/normalise.ts";
import { counted, grouped } from "../../shared/contract/text.ts";
import type { Filters } from "../../shared/contract/vocabulary.ts";
import { CliError, option, say } from "../../shared/errors.ts";
import { Page } from "../../shared/rows/page.ts";
import type { JsonRecord } from "../../shared/rows/values.ts";
import { ServiceError } from "../client/errors.ts";
import { divide, type Parts } from "../planning/parts.ts";
import { ownedAddress, UnsoundCountsError } from "../planning/question.ts";
import { settledUnits } from "../runs/journal.ts";
import type { Target } from "../runs/plan.ts";
import type { Division } from "../runs/record.ts";
import type { Run } from "../runs/run.ts";
import { unsoundRun } from "./failures.ts";
import { FreeCounts } from "./free-counts.ts";
import type { Offer } from "./quote.ts";
import type { Wall } from "./remaining.ts";
import type { Asking, Clock } from "./world.ts";

const MAX_COUNTS = 5_000;

export const freeCountsOf = (deps: Asking & Clock): FreeCounts =>
  new FreeCounts({
    ...deps,
    client: deps.seller.client,
    maxCalls: MAX_COUNTS,
    hint: say`add a filter, or ${option("limit")} with a smaller number`,
    signal: deps.interrupted,
  });

/**
 * What lies behind a wall that a refusal told, in parts, each from its first row that did not come
 * yet: a part keeps the order of the whole, and counts by address prove which of its people came.
 * @returns false where filters do not tell that
 */
export async function divideRest(
  run: Run,
  { depth }: Wall,
  deps: Asking & Clock,
): Promise<boolean> {
  const { target, draw, digests, spans } = run.plan;
  if (target.kind !== "search" || (draw ?? digests ?? spans ?? target.staff) !== undefined)
    return false;

  const counts = freeCountsOf(deps);
  try {
    const division = await restOf(run, depth, counts, deps);
    if (division !== undefined) await run.append({ t: "divided", ...division, at: deps.now() });
    return division !== undefined;
  } catch (error) {
    if (!(error instanceof CliError || error instanceof ServiceError) || deps.interrupted.aborted)
      throw error;
    deps.onNotice(`what lies deeper is not divided: ${error.message}`);
    return false;
  }
}

async function restOf(
  run: Run,
  depth: number,
  counts: FreeCounts,
  deps: Asking & Clock,
): Promise<Division | undefined> {
  const { target, parts = target.kind === "search" ? [target.filters] : [], ...plan } = run.plan;
  const all = parts.map((filters) => ({ filters, count: 0, span: { from: 0, to: 0 } }));
  const unreached = [...(plan.unreached ?? [])];

  for (const [index, part] of all.slice().entries()) {
    part.count = await counts.count(part.filters);
    part.span.to = part.count;
    if (part.count <= depth) continue;

    const came = rowsOf(run, index);
    part.span.to = came.length;
    const behind = await dividedParts(part.filters, part.count, depth, deps);

    unreached.push(...behind.unreached);
    const each = await Promise.all(
      behind.parts.map(({ filters }) => among(filters, part.filters, came, counts)),
    );
    const inParts = new Set(each.flatMap((rows) => rows ?? []));
    const others = came.filter((row) => !inParts.has(row));
    const isTold = behind.parts.map(({ filters }) => countOf(filters, others, counts));
    if (each.includes(undefined) || (await Promise.all(isTold)).some((count) => count !== 0))
      return undefined;

    for (const [at, { filters, count }] of behind.parts.entries())
      all.push({ filters, count, span: { from: each[at]?.length ?? 0, to: count } });
  }

  return {
    parts: all.map(({ filters }) => filters),
    counts: all.map(({ count }) => count),
    spans: all.map(({ span }) => span),
    unreached,
  };
}

const rowsOf = (run: Run, target: number): JsonRecord[] =>
  settledUnits(run.state)
    .filter((unit) => unit.intent.target === target && unit.settled.follows !== undefined)
    .flatMap((unit) => Page.read(run.readReply(unit), "person").rows());

/** Who is in a part, as a count by address proves; undefined where it does not. */
async function among(
  part: Filters,
  whole: Filters,
  came: readonly JsonRecord[],
  counts: FreeCounts,
) {
  const tests = Object.entries(part).filter(
    ([key]) => whole[key as keyof Filters] !== part[key as keyof Filters],
  );
  const rows = came.filter((row) =>
    tests.every(([key, wanted]) => {
      const value = normalForm(String(row[key.replace("_prefix", "")] ?? ""));
      if (key.endsWith("_prefix")) return value.startsWith(normalForm(String(wanted)));
      return [wanted].flat().some((each) => normalForm(String(each)) === value);
    }),
  );
  const profiles = rows.filter(({ network_url: url }) => typeof url === "string");
  return (await countOf(part, profiles, counts)) === profiles.length ? rows : undefined;
}

/** undefined: somebody has no address to be asked for by. */
async function countOf(
  filters: Filters,
  rows: readonly JsonRecord[],
  counts: FreeCounts,
): Promise<number | undefined> {
  const addresses = rows.flatMap(({ network_url: url }) =>
    typeof url === "string" ? [ownedAddress(url)] : [],
  );
  if (addresses.length < rows.length) return undefined;
  return rows.length === 0 ? 0 : counts.countAt(filters, addresses);
}

/** What a run asks for one after the other: parts of segments, or companies. */
export async function divisionOf(
  target: Target,
  { matches, counts, parts, overlap, digests }: Offer,
  wall: number | undefined,
  deps: Asking & Clock,
): Promise<Division> {
  // Who is named by a digest lies above no wall.
  if (digests !== undefined) return { parts: parts ?? [], counts: counts ?? [], digests };
  if (target.kind !== "search" || (parts ?? wall) === undefined) return {};

  const each = await Promise.all(
    (parts ?? [target.filters]).map((filters, index) => {
      const count = (counts ?? [matches])[index] ?? 0;
      // As many as are wanted of a company lie above the wall, or the service says so.
      return wall === undefined || count <= wall || target.staff?.most != null
        ? { parts: [{ filters, count, from: 0 }], unreached: [] }
        : dividedParts(filters, count, wall, deps);
    }),
  );
  const all = each.flatMap((one) => one.parts);
  const unreached = each.flatMap((one) => one.unreached);

  return {
    parts: all.map(({ filters }) => filters),
    counts: all.map(({ count }) => count),
    unreached: unreached.length === 0 ? undefined : unreached,
    overlap: overlap || undefined,
  };
}

/**
 * By free counts (docs/explanation/complete.md, "Large segments").
 * @throws CliError exit 2: too many counts, 8: they do not add up
 */
export async function dividedParts(
  segment: Filters,
  total: number,
  wall: number,
  deps: Asking & Clock,
  wanted?: (from: number, to: number) => boolean,
): Promise<Parts> {
  deps.onNotice(
    `the service gives at most ${counted(wall, "row")} of one segment: ` +
      `dividing ${grouped(total)} by free counts`,
  );

  const counts = freeCountsOf(deps);
  try {
    const division = await divide(
      { filters: segment, count: total },
      wall,
      (filters) => counts.count(filters),
      wanted,
    );
    deps.onNotice(
      `${counted(division.parts.length, "part")} by ${counted(counts.calls, "free count")}`,
    );
    return division;
  } catch (error) {
    if (!(error instanceof UnsoundCountsError)) throw error;
    throw unsoundRun(
      error,
      "nothing was spent",
      say`${option("limit", wall)} buys what the service gives of the whole segment`,
    );
  }
}
