// Tested by test/unit/contract-text.test.ts.

// What changes how a terminal or an editor shows the text around it. The two joiners stay: names
// in Persian or Hindi need them.
const HARMFUL =
  /[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;
const BREAKS = /[\t\n\v\f\r\u0085\u2028\u2029]+/g;

/**
 * Text from outside on one line: line breaks and tabs
 * are a space, whatever else is harmful shows as U+FFFD.
 */
export const harmless = (text: string): string =>
  text.toWellFormed().replace(BREAKS, " ").replace(HARMFUL, "\ufffd");

const cutTo = (most: number, text: string): string =>
  text.length > most ? `${text.slice(0, most).replace(/[\ud800-\udbff]$/, "")}…` : text;

export function harmlessLine(text: string, limit = 200): string {
  const line = harmless(text.slice(0, limit * 8))
    .replace(/\s+/g, " ")
    .trim();
  return cutTo(limit, line);
}

/**
 * JSON text with whatever {@link harmless} would
 * replace escaped: the document stays the same value.
 */
export const harmlessJson = (json: string): string =>
  // Below U+0020 JSON has no character of its own but the white space of its layout.
  json.replace(HARMFUL, (character) =>
    character < " " ? character : `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

// What spreadsheets run: these characters and their full-width
// forms, also behind what they trim or do not show.
const FORMULA = /^[\s\p{Cc}\p{Cf}]*[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]/u;

/**
 * Whether a spreadsheet might run a text as a formula. Checks one character for nearly every text.
 */
export function isFormula(text: string): boolean {
  const first = text.charCodeAt(0);
  if ((first > 0x40 && first < 0x7f) || (first > 0x2f && first < 0x3d)) return false;
  return FORMULA.test(text);
}

/** A cell without what keeps it a text in a spreadsheet: an apostrophe, or `="00123"`. */
export const unguarded = (cell: string): string =>
  cell.startsWith("'") && isFormula(cell.slice(1))
    ? cell.slice(1)
    : (/^="([^"]+)"$/.exec(cell)?.[1] ?? cell);

/** User info of an address, also of one without a scheme, and what is behind the mode of a key. */
const SECRETS =
  /(?<=:\/\/?)[^\s/:]*:\S*(?=@)|(?<=:\/\/)[^\s/]+(?=@)|(?<![^\s'"=])(?!mailto:)[^\s'"=/@:]+:(?!\/\/)\S*(?=@)|(?<=[a-z0-9]_(?:live|test)_)\w{9,}/gi;

/** Text that somebody typed, as it may be shown. */
export const withoutSecrets = (text: string): string => text.replace(SECRETS, "***");

/** What is quoted of a value that somebody gave: one line, not long, and no secret of it. */
export function echo(value: unknown): string {
  let text: string;
  try {
    text = typeof value === "object" ? JSON.stringify(value) : String(value);
  } catch {
    text = String(value);
  }
  const shown = withoutSecrets(text.slice(0, 512));
  return harmless(cutTo(64, shown));
}

/**
 * An address without what stands before its last `@`:
 * a password may itself hold slashes and at-signs.
 */
export const withoutPassword = (address: string): string =>
  address.replace(/^([a-z][a-z0-9+.-]*:\/\/)?.*@/is, "$1***@");

/** Without a password, and without a query, which may hold a key. */
export const shownAddress = (address: string): string =>
  withoutPassword(address).replace(/[?#].*$/s, "?…");

/**
 * A whole number with thousands separators, the same in
 * every locale: `12,345`. Decimals stay as they are.
 */
export const grouped = (value: number | bigint | string): string =>
  String(value).replace(/(?<!\.\d*)\B(?=(\d{3})+(?!\d))/g, ",");

export const counted = (value: number | bigint, one: string, many = `${one}s`): string =>
  `${grouped(value)} ${value === 1 || value === 1n ? one : many}`;

/** The first so many, and how many more there are: `a, b and 3 more`. */
export const someOf = (texts: readonly string[], most = 5): string =>
  texts.length > most
    ? `${texts.slice(0, most).join(", ")} and ${grouped(texts.length - most)} more`
    : texts.join(", ");

/**
 * A whole number, written in digits or a number already.
 * @returns undefined where it is none, or out of bounds
 */
export function whole(
  value: unknown,
  least = 0,
  most = Number.MAX_SAFE_INTEGER,
): number | undefined {
  const number =
    typeof value === "string" && /^\d{1,16}$/.test(value.trim()) ? Number(value) : value;
  return typeof number === "number" &&
    Number.isSafeInteger(number) &&
    number >= least &&
    number <= most
    ? number
    : undefined;
}

const HOURS: Readonly<Record<string, number>> = { m: 1 / 60, h: 1, d: 24, w: 24 * 7 };

/** A span of time such as `12h`, `30d` or `8w` in milliseconds, or undefined. */
export function spanMs(text: string): number | undefined {
  const [, count, unit = ""] = /^(\d{1,5})([mhdw])$/.exec(text) ?? [];
  return count === undefined
    ? undefined
    : Math.round(Number(count) * (HOURS[unit] ?? 0) * 3_600_000);
}

export const WAIT = "seconds from 0 to 604800, or a span such as 2m (minutes) or 1h";

/** Undefined where it is no {@link WAIT}. */
export function waitSeconds(text: string): number | undefined {
  const seconds = /^\d+(\.\d+)?$/.test(text) ? Number(text) : (spanMs(text) ?? Number.NaN) / 1000;
  return seconds <= 604_800 ? seconds : undefined;
}

/** Whether it is a day of the calendar: `Date` takes the 30th of February for one in March. */
export const isDay = (text: string): boolean =>
  /^\d{4}-\d\d-\d\d$/.test(text) && new Date(`${text}T00:00:00Z`).toJSON()?.slice(0, 10) === text;

const MOMENT = /^(\d{4}-\d\d-\d\d)(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d))?$/;

/** When a day begins in UTC, or an instant is, in milliseconds; NaN where the calendar has none. */
export const momentMs = (text: string): number =>
  isDay(MOMENT.exec(text)?.[1] ?? "") ? Date.parse(text) : Number.NaN;

/** What an object has, by name. */
export type Members = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** An object without those of its members that are undefined. */
export const present = <Members extends object>(members: Members) =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as {
    [Name in keyof Members]?: Exclude<Members[Name], undefined>;
  };

/** What comes of a value, where there is one. */
export const whenGiven = <Value, Result>(
  value: Value | undefined,
  work: (value: Value) => Result,
): Result | undefined => (value === undefined ? undefined : work(value));

/**
 * Whom a sign-in link is for (docs/operate/console.md): part of what the ledger calls who charged.
 */
export const LINK_NAME = "1 to 32 of a-z, 0-9 and -, as in ada-growth";
export const isLinkName = (value: unknown): value is string =>
  typeof value === "string" && /^[a-z0-9][a-z0-9-]{0,31}$/.test(value);

/** What a text is in JSON; undefined where it is none. */
export function jsonIn(text: string, parse: (text: string) => unknown = JSON.parse): unknown {
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}
