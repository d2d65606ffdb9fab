import { counted, grouped } from "../../shared/contract/text.ts";
import type { Filters } from "../../shared/contract/vocabulary.ts";
import { type CliError, failed, usageError } from "../../shared/errors.ts";
import { type Dice, type DrawnPage, dice, draw, drawPages, inTurn, pagesOf, pagesText } from "../planning/draw.ts";
import type { Part } from "../planning/parts.ts";
import type { Plan, Sampling, Target } from "../runs/plan.ts";
import { dividedParts } from "./divided.ts";
import type { ExportDeps } from "./order.ts";
import type { Offer, QuoteInput } from "./quote.ts";

/** What a sample may take at the rate limit, in minutes, before rows are drawn together. */
const AFFORDABLE_MINUTES = 10;
const SEEDS = 2 ** 31;

export type Drawn = Required<Pick<Plan, "draw" | "parts" | "counts">>;

export const drawnOf = ({ draw: made, counts = [] }: Pick<Plan, "draw" | "counts">): QuoteInput["drawn"] =>
  made === undefined ? undefined : { seed: made.seed, pages: pagesOf(made.pages, counts) };

type Sampled = Extract<Target, { kind: "search" }> & { readonly sample: Sampling };
export const isSampled = (target: Target): target is Sampled => target.kind === "search" && target.sample !== undefined;

export interface Terms {
  readonly perPageMax: number;
  readonly priceKnown: boolean;
  readonly maxDepth: number | undefined;
  readonly perMinute: number | undefined;
  readonly perDay: number | undefined;
}

interface Stratum {
  readonly filters: Filters;
  readonly count: number;
  readonly rows: number;
}

/** By free counts. @throws CliError exit 2 where it would not be fair, 8 where the counts do not add up */
export async function drawn(target: Sampled, offer: Offer, terms: Terms, deps: ExportDeps): Promise<Drawn> {
  const { sample } = target;
  if (deps.seller.client.dialect.paging === "cursor") {
    throw usageError(
      "this service pages by cursor: a row in the middle is reached only by buying those before it, so no sample can be drawn",
      "leave --sample out, or --paging page where it knows page numbers too",
      "no_sample",
    );
  }
  const seed = sample.seed ?? Math.floor(deps.random() * SEEDS);
  if (offer.parts !== undefined) return drawnOfSeveral(offer, seed, sample, terms.maxDepth);
  const strata = await strataOf(target, offer.matches ?? 0, deps);
  const rows = strata.reduce((sum, stratum) => sum + Math.min(stratum.rows, stratum.count), 0);
  const { maxDepth } = terms;
  const isDeep = maxDepth !== undefined && strata.some(({ count }) => count > maxDepth);
  const size = togetherOf(sample, isDeep ? 1 : rows, terms);
  const segments: { filters: Filters; count: number }[] = [];
  const pages: DrawnPage[][] = [];
  for (const stratum of strata) {
    const random = dice(sample.spread === null ? `${seed}` : `${seed}/${JSON.stringify(stratum.filters)}`);
    if (maxDepth !== undefined && stratum.count > maxDepth) {
      pages.push(await drawnBehind(stratum, { wall: maxDepth, size, random }, segments, deps));
      continue;
    }
    const segment = segments.push({ filters: stratum.filters, count: stratum.count }) - 1;
    const whole = stratum.rows >= stratum.count;
    if (!whole && size > stratum.rows) throw smallerThanPage(stratum.rows, size);
    const each = whole && terms.priceKnown ? terms.perPageMax : size;
    pages.push(drawPages(stratum.count, stratum.rows, each, random).map((page) => ({ segment, ...page })));
  }
  return {
    parts: segments.map(({ filters }) => filters),
    counts: segments.map(({ count }) => count),
    draw: { seed, pages: pagesText(inTurn(pages)) },
  };
}

async function strataOf({ filters, sample }: Sampled, matches: number, deps: ExportDeps): Promise<Stratum[]> {
  const { rows, spread } = sample;
  if (spread === null) return [{ filters, count: matches, rows }];
  const { client } = deps.seller;
  const strata: Stratum[] = [];
  for (const value of spread.values) {
    const own = { ...filters, [spread.key]: value };
    strata.push({ filters: own, count: (await client.count(own, deps.interrupted)).count, rows });
  }
  const few = strata.flatMap(({ count }, index) => (count < rows ? [`${spread.values[index]} ${grouped(count)}`] : []));
  if (few.length > 0) {
    deps.onNotice(
      `notice: fewer than ${grouped(rows)} people, all of whom are taken: ${few.slice(0, 10).join(", ")}${few.length > 10 ? ` and ${few.length - 10} more` : ""}`,
    );
  }
  const others = matches - strata.reduce((sum, { count }) => sum + count, 0);
  if (others > 0) {
    deps.onNotice(
      `notice: ${grouped(others)} of ${grouped(matches)} have another ${spread.key.replaceAll("_", " ")} or none, and no chance`,
    );
  }
  return strata;
}

/** How many rows are drawn together: as few as the rate limit affords. @param rows that are to be drawn in pages */
function togetherOf({ together, rows: each }: Sampling, rows: number, terms: Terms): number {
  const { perPageMax: most, priceKnown: known, perMinute = Number.POSITIVE_INFINITY } = terms;
  if (together !== null) {
    if (together > 1 && !known) {
      throw usageError(
        "the account does not tell what a profile costs, so the first one has to be drawn alone",
        "leave --per-page out, or --per-page 1",
        "no_sample",
      );
    }
    if (together > most) throw usageError(`--per-page ${together} is more than the service gives: ${grouped(most)}`);
    return together;
  }
  const calls = Math.max(1, Math.min(perMinute * AFFORDABLE_MINUTES, terms.perDay ?? Number.POSITIVE_INFINITY));
  return known ? Math.min(Math.max(1, Math.ceil(rows / calls)), most, each) : 1;
}

const smallerThanPage = (rows: number, size: number): CliError =>
  usageError(
    `a sample of ${counted(rows, "row")} is smaller than the pages of ${grouped(size)} that it would be drawn as`,
    `--per-page ${rows} or less`,
    "no_sample",
  );

/** Single rows of a segment beyond the service's depth: only parts that somebody was drawn from are found. */
async function drawnBehind(
  { filters, count, rows }: Stratum,
  { wall, size, random }: { readonly wall: number; readonly size: number; readonly random: Dice },
  segments: { filters: Filters; count: number }[],
  deps: ExportDeps,
): Promise<DrawnPage[]> {
  if (size > 1) {
    throw usageError(
      `the service gives at most ${grouped(wall)} rows of one segment; of a larger one rows are drawn one by one`,
      "leave --per-page out, or --per-page 1",
      "no_sample",
    );
  }
  const places = draw(count, rows, random);
  const sorted = [...places].sort((a, b) => a - b);
  const wanted = (from: number, to: number): boolean =>
    (sorted[firstFrom(sorted, from)] ?? Number.POSITIVE_INFINITY) < to;
  const { parts, unreached } = await dividedParts(filters, count, wall, deps, wanted);
  const before = segments.length;
  segments.push(...parts);
  return pagesAt(places, parts).map((page) => {
    if (page !== undefined) return { ...page, segment: before + page.segment };
    const who = unreached.slice(0, 5).map((group) => `${grouped(group.count)} ${group.where}`);
    throw failed.service(
      `a row was drawn that the service does not give: it gives at most ${grouped(wall)} rows of one segment, and no filter divides some people further: ${who.join(", ")}; nothing was spent`,
      "another --seed may draw none of them; a filter that leaves them out makes the sample fair again",
      "unreached",
    );
  });
}

function drawnOfSeveral(offer: Offer, seed: number, { rows, together }: Sampling, maxDepth: number | undefined): Drawn {
  const { parts = [], counts = [], overlap = 0 } = offer;
  const refuse = (why: string, hint: string): CliError =>
    usageError(`several segments make no sample where ${why}`, hint, "no_sample");
  if (overlap > 0) {
    throw refuse(`${counted(overlap, "person is", "people are")} in more than one part`, "draw from one segment");
  }
  if (together !== null && together > 1) throw refuse("rows are drawn together", "leave --per-page out");
  if (maxDepth !== undefined && counts.some((count) => count > maxDepth)) {
    throw refuse(`the service gives at most ${grouped(maxDepth)} rows of a part`, "draw from one segment");
  }
  let from = 0;
  const placed = counts.map((count) => {
    from += count;
    return { from: from - count, count };
  });
  const places = draw(from, rows, dice(`${seed}`));
  return { parts, counts, draw: { seed, pages: pagesText(pagesAt(places, placed).flatMap((page) => page ?? [])) } };
}

function pagesAt(places: readonly number[], parts: readonly Pick<Part, "from" | "count">[]): (DrawnPage | undefined)[] {
  const begins = parts.map(({ from }) => from);
  return places.map((place) => {
    const segment = firstFrom(begins, place + 1) - 1;
    const part = parts[segment];
    if (part === undefined || place >= part.from + part.count) return undefined;
    return { segment, offset: place - part.from, size: 1, rows: 1 };
  });
}

function firstFrom(sorted: readonly number[], least: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? 0) < least) low = middle + 1;
    else high = middle;
  }
  return low;
}
