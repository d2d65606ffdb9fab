import type { RateLimit } from "./errors.ts";
import type { ReplyHeaders } from "./wire.ts";

const MINUTE = 60_000;
const DAY = 86_400_000;
/** A header may name a wait of a month; one of centuries is a mistake. */
const LONGEST_WAIT = 366 * DAY;

export function header(headers: ReplyHeaders, ...names: readonly string[]): string | undefined {
  for (const name of names) {
    const value = headers[name];
    const text = (Array.isArray(value) ? value[0] : value)?.trim();
    if (text) return text;
  }
  return undefined;
}

/**
 * A header's delta, epoch (seconds or milliseconds) or date. `serverNow` is the service's clock.
 */
function aheadMs(
  text: string,
  now: number,
  serverNow: number | undefined,
  maxAhead: number,
): number | undefined {
  let absolute: number;
  const number = /^(\d{1,16}(?:\.\d+)?)\s*(ms|s)?$/.exec(text);
  if (number) {
    const value = Number(number[1]);
    if (number[2] === "ms") return value;
    if (value <= DAY / 1000 || number[2] === "s") return value * 1000;
    if (value < 1e9) return value;
    absolute = value < 1e11 ? value * 1000 : value;
  } else {
    // Date.parse would take "-5" for a year.
    absolute = /[a-z:]/i.test(text) ? Date.parse(text) : Number.NaN;
    if (Number.isNaN(absolute)) return undefined;
  }

  // A time of the service is read by the service's own clock, where its answer tells it.
  const plausible = (ahead: number): boolean => ahead >= -2_000 && ahead <= maxAhead;
  const byService = serverNow === undefined ? undefined : absolute - serverNow;

  return byService !== undefined && plausible(byService) ? byService : absolute - now;
}

export function serverClock(headers: ReplyHeaders): number | undefined {
  const parsed = Date.parse(header(headers, "date") ?? "");
  return Number.isNaN(parsed) ? undefined : parsed;
}

/** `Retry-After` in milliseconds, never negative. */
export function retryAfterOf(headers: ReplyHeaders, now: number): number | undefined {
  const milliseconds = header(headers, "retry-after-ms");
  if (milliseconds !== undefined && /^\d+(\.\d+)?$/.test(milliseconds)) return Number(milliseconds);
  const text = header(headers, "retry-after");
  const ahead =
    text === undefined ? undefined : aheadMs(text, now, serverClock(headers), DAY + MINUTE);
  return ahead === undefined || ahead > LONGEST_WAIT ? undefined : Math.max(0, Math.ceil(ahead));
}

/** docs/reference/contract.md, Limits */
export function rateLimitOf(headers: ReplyHeaders, now: number): RateLimit | undefined {
  const whole = (...names: readonly string[]): number | undefined => {
    const text = header(headers, ...names);
    return text !== undefined && /^\d{1,15}/.test(text) ? Number.parseInt(text, 10) : undefined;
  };

  const remaining = whole("x-ratelimit-remaining", "x-rate-limit-remaining", "ratelimit-remaining");
  if (remaining === undefined) return undefined;

  const limit = whole("x-ratelimit-limit", "x-rate-limit-limit", "ratelimit-limit") ?? remaining;
  const word = header(headers, "x-ratelimit-window")?.toLowerCase();
  const window = word === "minute" || word === "day" ? word : undefined;
  const reset = header(headers, "x-ratelimit-reset", "x-rate-limit-reset", "ratelimit-reset");
  const maxAhead = window === "minute" ? MINUTE + 2_000 : DAY + MINUTE;
  const ahead =
    reset === undefined ? undefined : aheadMs(reset, now, serverClock(headers), maxAhead);

  // A reset beyond a day cannot be true, and would stop the key's calls for as long.
  return {
    limit,
    remaining,
    resetAt: now + (ahead === undefined || ahead > maxAhead ? MINUTE : ahead),
    window,
  };
}
