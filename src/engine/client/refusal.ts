import type { Dialect } from "./dialect.ts";
import { LostReplyError, ServiceError } from "./errors.ts";

/** No usable reply came, and it may have been charged. */
export function asLost(error: unknown): LostReplyError | undefined {
  if (error instanceof LostReplyError) return error;
  if (!(error instanceof ServiceError) || error.envelope) return undefined;
  const { status } = error;
  if (status >= 300 && status < 500) return undefined;
  return new LostReplyError(error.message, "NOT_THE_API", true, error);
}

export type SizeRefusal = { readonly atMost: number } | { readonly atLeast: number };

const SIZE = /per[_ -]?page|page[_ -]?size|\bsize\b|\blimit\b/i;
const AMOUNT =
  /less than|greater than|at most|at least|exceed|too (large|big|small|high|low)|max|min|between|one of/i;

const DEPTH =
  /depth|deep|reaches row|goes to row|beyond|page\s*[*x×]\s*(per_?page|size)|result window|only the first/i;

/** Where a page was refused; pages of this size came before where that `wasGiven`. */
interface Refused {
  readonly offset: number;
  readonly wasGiven: boolean;
}

/**
 * How deep a segment goes: a page in a size that came before is refused behind rows that came.
 * What the refusal counts is about anything, and no row of it is believed.
 */
export const depthIn = (text: string, { offset, wasGiven }: Refused): number | undefined =>
  offset > 0 && (wasGiven || isTooDeep(text)) ? offset : undefined;

export const isTooDeep = (text: string): boolean => DEPTH.test(text);

const UNKNOWN =
  /unknown|unexpected|unrecogni[sz]ed|additional|extra|not (allowed|permitted|supported)|unsupported/i;

/** The size of a page is another parameter. */
export const speaksOf = (text: string, parameter: Dialect["paging"]): boolean =>
  new RegExp(`\\b${parameter}\\b(?![_ -]?size)`, "i").test(
    text.replace(/per[_ -]?page|next[_ -]cursor/gi, ""),
  );

export const saysUnknown = (text: string): boolean => UNKNOWN.test(text);

/** The size that a refused page asks for, by the numbers in its words. */
export function sizeRefusal(
  text: string,
  perPage: number,
  accepted: ReadonlySet<number>,
): SizeRefusal | undefined {
  const numbers = [...text.matchAll(/\d+/g)]
    .map(([digits]) => Number(digits))
    .filter((number) => number >= 1);
  const smaller = numbers.filter((number) => number < perPage);
  const larger = numbers.filter((number) => number > perPage);

  if (!SIZE.test(text) && !AMOUNT.test(text)) return undefined;
  if ([...accepted].some((size) => size > perPage))
    return { atLeast: larger.length > 0 ? Math.min(...larger) : perPage + 1 };

  const small =
    /at least|greater than|too (small|low)|minimum/i.test(text) &&
    !/between|less than|at most|\bnot\b.*greater/i.test(text);
  if (smaller.length > 0 && !small) return { atMost: Math.max(...smaller) };
  if (larger.length > 0) return { atLeast: Math.min(...larger) };
  if (!SIZE.test(text) && !/too (large|big|high)|exceed/i.test(text)) return undefined;

  return perPage > 1 ? { atMost: Math.floor(perPage / 2) } : undefined;
}
