import { type Credits, formatCredits } from "./money.ts";

export interface Envelope<Result = unknown> {
  readonly status: boolean;
  readonly detail: readonly string[];
  readonly result: Result | null;
  readonly credits_used: number;
  /** Balance after the call; 0 and meaningless on a 401. */
  readonly credits_remaining: number;
}

/** The envelope as JSON text. `resultJson` is already-serialised JSON, so that stored records are passed on byte for byte. */
export function envelopeJson(
  resultJson: string,
  used: Credits,
  remaining: Credits,
  notices: readonly string[] = [],
): string {
  return `{"status":true,"detail":${JSON.stringify(notices)},"result":${resultJson},"credits_used":${formatCredits(used)},"credits_remaining":${formatCredits(remaining)}}`;
}

export function errorEnvelopeJson(detail: readonly string[], remaining: Credits): string {
  return `{"status":false,"detail":${JSON.stringify(detail)},"result":null,"credits_used":0,"credits_remaining":${formatCredits(remaining)}}`;
}
