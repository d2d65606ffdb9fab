// Tested by test/unit/contract-money.test.ts.
/** Credits as whole millionths in a bigint, never a float (docs/reference/contract.md, Credits). */
declare const creditsBrand: unique symbol;

/**
 * An amount of credits in millionths. Calculate with
 * bigint operators, then re-brand with {@link credits}.
 */
export type Credits = bigint & { readonly [creditsBrand]: true };

const SCALE = 1_000_000n;
const PATTERN = /^(-?)(\d{1,15})(?:\.(\d{1,6}))?$/;

export const credits = (micros: bigint): Credits => micros as Credits;

export const ZERO: Credits = credits(0n);
export const ONE_CREDIT: Credits = credits(SCALE);

/** All of them together. */
export const sumOfCredits = (amounts: readonly bigint[]): Credits =>
  credits(amounts.reduce((sum, amount) => sum + amount, 0n));

/** What is left of an amount: never less than nothing. */
export const creditsLess = (amount: Credits, by: bigint): Credits =>
  maxCredits(ZERO, credits(amount - by));

/** What rows cost. @param parcel rows that one `unit` pays for: those that are begun count whole */
export const priceOf = (rows: number, unit: Credits, parcel = 1): Credits =>
  credits(unit * BigInt(Math.ceil(rows / parcel)));

/**
 * What a cap has to leave for so many rows: no call goes out that has
 * no room for an answer without rows. @param floor the dearest of those that was seen
 */
export const roomFor = (rows: number, unit: Credits, parcel: number | undefined, floor: Credits) =>
  credits(rows < 1 ? 0n : priceOf(rows, unit, parcel) + creditsLess(floor, unit));

export const minCredits = (a: Credits, b: Credits): Credits => (a < b ? a : b);
export const maxCredits = (a: Credits, b: Credits): Credits => (a > b ? a : b);

/**
 * How many rows fit into `amount`; infinite where a row is free.
 * @param parcel rows that one `unit` pays for
 */
export function affordableRows(amount: Credits, unit: Credits, parcel = 1): number {
  if (unit <= 0n) return Number.POSITIVE_INFINITY;
  if (amount <= 0n) return 0;
  const rows = (amount / unit) * BigInt(parcel);
  return rows > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(rows);
}

/**
 * Reads `12`, `0.25` or a JSON number. Undefined for what
 * is none, has more than six decimals, or is too large.
 */
export function parseCredits(value: unknown): Credits | undefined {
  if (typeof value === "number") {
    if (!Number.isFinite(value) || Math.abs(value) > 999_999_999) {
      return Number.isSafeInteger(value) ? credits(BigInt(value) * SCALE) : undefined;
    }
    // Below 1e9 a double keeps all six decimals, so
    // rounding to millionths recovers what was written.
    return credits(BigInt(Math.round(value * 1_000_000)));
  }

  const match = typeof value === "string" ? PATTERN.exec(value.trim()) : null;
  if (!match) return undefined;

  const [, sign, whole = "0", fraction = ""] = match;
  const micros = BigInt(whole) * SCALE + BigInt(fraction.padEnd(6, "0"));
  return credits(sign === "-" ? -micros : micros);
}

/** A number without what parts its thousands; whatever else it is stays. */
export const ungrouped = (text: string): string =>
  text.trim().replace(/(?<=\d)[\s,._'’](?=\d{3}(?!\d))/g, "");

/**
 * What a person wrote, in a text or as a number of JSON: 0 or more. Undefined also where a point
 * may part thousands, as in `1.500`: a fraction that is written out like this has a shorter form.
 */
export function typedCredits(value: unknown): Credits | undefined {
  const text = typeof value === "number" ? String(value) : value;
  const isUnsure = /^\s*[1-9]\d{0,2}\.\d\d0\s*$/.test(String(text));
  const amount = isUnsure ? undefined : parseCredits(text);
  return amount !== undefined && amount >= 0n ? amount : undefined;
}

/** How to write what may be grouped: `1.5 or 1500`; empty where nothing is to be said of it. */
export function creditsMeant(text: string): string {
  const [asIs, whole] = [parseCredits(text), typedCredits(ungrouped(text))];
  if (whole === undefined || whole === asIs) return "";
  return asIs === undefined
    ? formatCredits(whole)
    : `${formatCredits(asIs)} or ${formatCredits(whole)}`;
}

/** The shortest decimal, without grouping: `3766`, `0.25`. Also valid as a JSON number. */
export function formatCredits(amount: Credits): string {
  // Whole credits that a double holds exactly, as most amounts are: without arithmetic on bigints.
  const micros = Number(amount);
  if (Number.isSafeInteger(micros) && micros % 1_000_000 === 0) return String(micros / 1_000_000);
  const negative = amount < 0n;
  const absolute = negative ? -amount : amount;
  const whole = (absolute / SCALE).toString();
  const fraction = (absolute % SCALE).toString().padStart(6, "0").replace(/0+$/, "");
  return `${negative ? "-" : ""}${whole}${fraction === "" ? "" : `.${fraction}`}`;
}

export const formatCreditsGrouped = (amount: Credits): string =>
  formatCredits(amount).replace(/^-?\d+/, (whole) => whole.replace(/\B(?=(\d{3})+$)/g, ","));

export function creditsText(amount: Credits): string {
  const text = formatCreditsGrouped(amount);
  return `${text} ${text === "1" ? "credit" : "credits"}`;
}

export const creditsOrNull = (amount: Credits | null | undefined): number | null =>
  amount == null ? null : creditsToNumber(amount);

/** A price in words. @param parcel rows that it pays for */
export const priceText = (unit: Credits, parcel = 1, one = "profile"): string =>
  `${creditsText(unit)} ${parcel === 1 ? `a ${one}` : `for ${parcel} of them together`}`;

/**
 * As the JSON number that the envelope carries. Exact
 * for every balance below 9,007,199,254 credits.
 */
export const creditsToNumber = (amount: Credits): number => Number(formatCredits(amount));
