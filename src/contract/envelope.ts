import { type Credits, formatCredits } from "./money.ts";

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
