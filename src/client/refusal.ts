import { LostReplyError, ServiceError } from "./errors.ts";

/**
 * An answer that may have been charged although no usable reply came: a connection that broke, or a page of a proxy in the
 * place of the service's envelope.
 */
export function asLost(error: unknown): LostReplyError | undefined {
  if (error instanceof LostReplyError) return error;
  if (!(error instanceof ServiceError) || error.envelope) return undefined;
  const { status } = error;
  // Redirects and refusals by a proxy do not reach the service.
  if (status >= 300 && status < 500) return undefined;
  return new LostReplyError(error.message, "NOT_THE_API", true, error);
}

/** What a refusal says of a page: the bound that its size must keep. */
export type SizeRefusal = { readonly atMost: number } | { readonly atLeast: number };

const SIZE = /per[_ -]?page|page[_ -]?size|\bsize\b|\blimit\b/i;
const AMOUNT = /less than|greater than|at most|at least|exceed|too (large|big|small|high|low)|max|min|between|one of/i;

export const isTooDeep = (text: string): boolean => /depth|deep|reaches row|goes to row|beyond/i.test(text);

const UNKNOWN = /unknown|unexpected|unrecogni[sz]ed|additional|extra|not (allowed|permitted|supported)|unsupported/i;

/** Whether a refusal speaks of a paging parameter. The size of a page is another one. */
export const speaksOf = (text: string, parameter: "page" | "offset" | "cursor"): boolean =>
  new RegExp(`\\b${parameter}\\b(?![_ -]?size)`, "i").test(text.replace(/per[_ -]?page|next[_ -]cursor/gi, ""));

/** Whether a refusal says that something is not known, rather than wrong. */
export const saysUnknown = (text: string): boolean => UNKNOWN.test(text);

/** Whether a refusal says that the service knows no page numbers, or counts them otherwise. */
export const isOtherPaging = (text: string): boolean => speaksOf(text, "page") && saysUnknown(text);

/**
 * The page size to go on with after a refusal, by the numbers that the message names.
 * @param asked the size that was refused
 * @param accepted sizes that the service gave before: a smaller one is refused for being small
 * @returns undefined where the refusal is not about the size of a page
 */
export function sizeRefusal(text: string, asked: number, accepted: ReadonlySet<number>): SizeRefusal | undefined {
  const named = [...text.matchAll(/\d+/g)].map(([digits]) => Number(digits)).filter((number) => number >= 1);
  const smaller = named.filter((number) => number < asked);
  const larger = named.filter((number) => number > asked);
  if (!SIZE.test(text) && !AMOUNT.test(text)) return undefined;
  if ([...accepted].some((size) => size > asked))
    return { atLeast: larger.length > 0 ? Math.min(...larger) : asked + 1 };
  const small = /at least|greater than|too (small|low)|minimum/i.test(text) && !/between|less than|at most/i.test(text);
  if (smaller.length > 0 && !small) return { atMost: Math.max(...smaller) };
  if (larger.length > 0) return { atLeast: Math.min(...larger) };
  if (!SIZE.test(text) && !/too (large|big|high)|exceed/i.test(text)) return undefined;
  return asked > 1 ? { atMost: Math.floor(asked / 2) } : undefined;
}
