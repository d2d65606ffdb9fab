// Tested by test/service/endpoints.test.ts.
import { type Credits, formatCredits, ZERO } from "./money.ts";

const HEAD = '{"status":true,"detail":[],"result":';

/** @param notices what the caller should know of the answer, in words */
export const envelopeJson = (
  resultJson: string,
  remaining: Credits,
  notices: readonly string[] = [],
): string => {
  const head =
    notices.length === 0 ? HEAD : `{"status":true,"detail":${JSON.stringify(notices)},"result":`;
  return `${head}${resultJson}${tailOf(ZERO, remaining)}`;
};

const tailOf = (used: Credits, remaining: Credits): string =>
  `,"credits_used":${formatCredits(used)},"credits_remaining":${formatCredits(remaining)}}`;

const [OPEN, COMMA, CLOSE] = ["[", ",", "]"].map((text) => Buffer.from(text)) as [
  Buffer,
  Buffer,
  Buffer,
];

/**
 * The same in UTF-8, of a result in pieces: stored records
 * are passed on byte for byte, and never are a text.
 */
export const envelopeBytes = (
  result: readonly Buffer[],
  used: Credits,
  remaining: Credits,
): Buffer => Buffer.concat([Buffer.from(HEAD), ...result, Buffer.from(tailOf(used, remaining))]);

export function listOf(records: readonly Buffer[]): Buffer[] {
  const pieces = [OPEN];
  for (const [index, record] of records.entries()) {
    if (index > 0) pieces.push(COMMA);
    pieces.push(record);
  }
  pieces.push(CLOSE);
  return pieces;
}

export const errorEnvelopeJson = (detail: readonly string[], remaining: Credits): string =>
  `{"status":false,"detail":${JSON.stringify(detail)},"result":null,"credits_used":0,` +
  `"credits_remaining":${formatCredits(remaining)}}`;
