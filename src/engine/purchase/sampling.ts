// Tested by test/cli/sample.test.ts.

import { counted, grouped } from "../../shared/contract/text.ts";
import type { Filters } from "../../shared/contract/vocabulary.ts";
import {
  type CliError,
  clauses,
  failed,
  option,
  type Sentence,
  say,
  usageError,
} from "../../shared/errors.ts";
import type { AccountView } from "../client/types.ts";
import { dice, draw, drawPages, pagesText } from "../planning/draw.ts";
import type { Parts } from "../planning/parts.ts";
import { type Plan, type Sampling, unreachedGroups } from "../runs/plan.ts";
import { dividedParts, freeCountsOf } from "./divided.ts";
import type { ExportDeps } from "./order.ts";
import type { Offer } from "./quote.ts";

/** What a sample may take at the rate limit, in minutes, before rows are drawn together. */
const AFFORDABLE_MINUTES = 10;
const SEEDS = 2 ** 31;

export type Drawn = Required<Pick<Plan, "draw" | "parts" | "counts">> & Pick<Plan, "digests">;

interface Terms extends Pick<AccountView, "maxDepth" | "perMinute" | "perDay"> {
  readonly perPageMax: number;
  readonly priceKnown: boolean;
}

/**
 * By free counts.
 * @throws CliError exit 2 where it would not be fair, 8 where the counts do not add up
 */
export async function drawn(
  { filters, sample }: { readonly filters: Filters; readonly sample: Sampling },
  offer: Offer,
  terms: Terms,
  deps: ExportDeps,
): Promise<Drawn> {
  const { idRows, paging } = deps.seller.client.dialect;
  const isById = idRows !== undefined && offer.parts === undefined;
  if (paging === "cursor" && !isById) {
    throw refuse(
      "this service pages by cursor: a row in the middle is reached only by " +
        "buying those before it, so no sample can be drawn",
      say`leave ${option("sample")} out, or ${option("paging", "page")} where it knows page numbers
        too`,
    );
  }

  const seed = sample.seed ?? Math.floor(deps.random() * SEEDS);
  if (offer.parts !== undefined) return drawnOfSeveral(offer, seed, sample, terms.maxDepth);

  if (isById) return drawnById(filters, seed, sample, deps);

  const { rows } = sample;
  const { maxDepth } = terms;
  const count = offer.matches ?? 0;
  const random = dice(`${seed}`);
  const wall = maxDepth !== undefined && count > maxDepth ? maxDepth : undefined;
  const size = togetherOf(sample, wall === undefined ? Math.min(rows, count) : 1, terms);

  if (wall !== undefined) {
    if (size > 1) throw notTogether(wall);
    return await drawnBehind(filters, draw(count, rows, random), { count, wall, seed }, deps);
  }

  const whole = rows >= count;
  if (!whole && size > rows) {
    throw refuse(
      `a sample of ${counted(rows, "row")} is smaller than the pages ` +
        `of ${grouped(size)} that it would be drawn as`,
      say`${option("per_page", rows)} or less`,
    );
  }

  const pages = drawPages(count, rows, whole && terms.priceKnown ? terms.perPageMax : size, random);
  const text = pagesText(pages.map((page) => ({ segment: 0, ...page })));
  return { parts: [filters], counts: [count], draw: { seed, pages: text } };
}

/** Of all ids in their own order, whatever the service's is: of the same people the same ones. */
async function drawnById(
  filters: Filters,
  seed: number,
  { rows }: Sampling,
  deps: ExportDeps,
): Promise<Drawn> {
  const ids = [...((await freeCountsOf(deps).ids(filters)) ?? [])].sort();
  const digests = draw(ids.length, rows, dice(`${seed}`)).map((place) => ids[place] ?? "");
  const pages = digests.map((_, offset) => ({ segment: 0, offset, size: 1, rows: 1 }));
  return {
    parts: [filters],
    counts: [digests.length],
    digests,
    draw: { seed, pages: pagesText(pages) },
  };
}

/**
 * How many rows are drawn together: as few as the rate limit affords.
 * @param rows that are to be drawn in pages
 */
function togetherOf({ together, rows: each }: Sampling, rows: number, terms: Terms): number {
  const { perPageMax: most, priceKnown: isPriced, perMinute = Infinity } = terms;
  if (together !== null) {
    if (together > 1 && !isPriced) {
      throw refuse(
        "the account does not tell what a profile costs, so the first one has to be drawn alone",
        ONE_BY_ONE,
      );
    }
    if (together > most)
      throw usageError(
        say`${option("per_page", together)} is more than the service gives: ${grouped(most)}`,
      );
    return together;
  }

  const calls = Math.max(1, Math.min(perMinute * AFFORDABLE_MINUTES, terms.perDay ?? Infinity));
  return isPriced ? Math.min(Math.max(1, Math.ceil(rows / calls)), most, each) : 1;
}

const ONE_BY_ONE = say`leave ${option("per_page")} out, or ${option("per_page", 1)}`;

const refuse = (why: string, hint: Sentence): CliError => usageError(why, hint, "no_sample");

const notTogether = (wall: number): CliError =>
  refuse(
    `the service gives at most ${counted(wall, "row")} of one segment; ` +
      "of a larger one rows are drawn one by one",
    ONE_BY_ONE,
  );

/**
 * Single rows of a segment beyond the service's depth:
 * only parts that somebody was drawn from are found.
 */
async function drawnBehind(
  filters: Filters,
  places: readonly number[],
  { count, wall, seed }: Readonly<Record<"count" | "wall" | "seed", number>>,
  deps: ExportDeps,
): Promise<Drawn> {
  const wanted = (from: number, to: number): boolean =>
    places.some((place) => place >= from && place < to);
  const division = await dividedParts(filters, count, wall, deps, wanted);
  return drawnAt(places, division, seed, wall);
}

function drawnOfSeveral(
  offer: Offer,
  seed: number,
  { rows, together }: Sampling,
  maxDepth: number | undefined,
): Drawn {
  const { parts = [], counts = [], overlap = 0 } = offer;
  const no = (why: string, hint: Sentence): CliError =>
    refuse(`several segments make no sample where ${why}`, hint);

  if (overlap > 0) {
    throw no(
      `${counted(overlap, "person is", "people are")} in more than one part`,
      "draw from one segment",
    );
  }

  if (together !== null && together > 1)
    throw no("rows are drawn together", say`leave ${option("per_page")} out`);
  if (maxDepth !== undefined && counts.some((count) => count > maxDepth)) {
    throw no(
      `the service gives at most ${counted(maxDepth, "row")} of a part`,
      "draw from one segment",
    );
  }

  let from = 0;
  const ranges = parts.map((filters, index) => {
    const count = counts[index] ?? 0;
    from += count;
    return { filters, from: from - count, count };
  });
  return drawnAt(draw(from, rows, dice(`${seed}`)), { parts: ranges, unreached: [] }, seed);
}

/** One row at each of the places. @throws CliError exit 8 for one that lies in no part */
function drawnAt(
  places: readonly number[],
  { parts, unreached }: Parts,
  seed: number,
  wall = 0,
): Drawn {
  const pages = places.map((place) => {
    const segment = parts.findLastIndex(({ from }) => from <= place);
    const part = parts[segment];
    if (part !== undefined && place < part.from + part.count)
      return { segment, offset: place - part.from, size: 1, rows: 1 };
    throw failed.service(
      "a row was drawn that the service does not give: it gives at most " +
        `${counted(wall, "row")} of one segment, and no filter divides some people further: ` +
        `${unreachedGroups(unreached)}; nothing was spent`,
      clauses(
        say`another ${option("seed")} may draw none of them`,
        "a filter that leaves them out makes the sample fair again",
      ),
      "unreached",
    );
  });
  return {
    parts: parts.map(({ filters }) => filters),
    counts: parts.map(({ count }) => count),
    draw: { seed, pages: pagesText(pages) },
  };
}
