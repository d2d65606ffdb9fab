// Tested by test/unit/contract-filters.test.ts.
import { domainToUnicode } from "node:url";

/**
 * The normal form on which exact and prefix keys match: NFKC, case-folded,
 * trimmed, inner white space (Unicode's, and the byte-order mark) collapsed.
 * Stored values at import and request values both go through here.
 */
export function normalForm(text: string): string {
  if (isAscii(text)) {
    const lower = text.toLowerCase();
    return UNEVEN.test(lower) ? lower.replace(ASCII_WHITE, " ").trim() : lower;
  }
  return caseFold(text.normalize("NFKD")).normalize("NFKC").replace(WHITE, " ").trim();
}

/**
 * The same of ASCII, where NFKC changes nothing: in a
 * third of the time, and most texts have no space to mend.
 */
const ASCII_WHITE = /[\t-\r ]+/g;
const UNEVEN = /[\t-\r]| ( |$)|^ /;
const WHITE = /[\p{White_Space}\ufeff]+/gu;

/**
 * Whether {@link normalForm} of an ASCII text is just lower
 * case with collapsed spaces, which SQL can do by itself.
 */
const isAscii = (text: string): boolean => /^[\x00-\x7f]*$/.test(text);

// JavaScript has no case folding: the German sharp s is ss, both sigmas are one, the Greek iota
// below a letter (alone in NFKD) is a plain one, and nine shapes of Cyrillic letters are others.
function caseFold(text: string): string {
  const lower = text
    .toLowerCase()
    .replaceAll("ß", "ss")
    .replaceAll("ς", "σ")
    .replaceAll("\u0345", "ι");
  return lower.replace(
    /[\u1c80-\u1c88]/g,
    (shape) => CYRILLIC[shape.charCodeAt(0) - 0x1c80] ?? shape,
  );
}

const CYRILLIC = "вдосттъѣꙋ";

/** Control characters, NUL among them, and lone surrogates have no business in a filter value. */
export const hasLoneSurrogate = (text: string): boolean => !text.isWellFormed();

/**
 * A profile address in canonical form: no scheme, `www.`, port of the scheme, query, fragment or
 * trailing slash; escapes and `xn--` names as text, case folded
 * (`https://www.Example.com:443/in/Ada/?x=1` -> `example.com/in/ada`). A bare slug stays one.
 * @returns undefined for empty text, user info, or another scheme than http and https
 */
export function canonicalAddress(text: string): string | undefined {
  let rest = normalForm(text);
  const scheme = /^([a-z][a-z0-9+.-]*):(\/\/)?/.exec(rest);
  if (scheme) {
    const hostAndPort = /^[^/:]+:\d+(?:\/|$)/.test(rest) && scheme[2] === undefined;
    if (!hostAndPort) {
      if (scheme[1] !== "http" && scheme[1] !== "https") return undefined;
      if (scheme[2] === undefined) return undefined;
      rest = rest.slice(scheme[0].length);
    }
  } else if (rest.startsWith("//")) {
    rest = rest.slice(2);
  }

  rest = unescaped(rest.replace(/[?#].*$/s, "")).replace(/\/+$/, "");
  if (scheme || rest.includes("/")) rest = rest.replace(/^([^/:]+):(?:443|80)(?=\/|$)/, "$1");
  if (rest.includes("/")) rest = rest.replace(/^www\./, "");

  const host = rest.split("/", 1)[0] ?? "";
  if (host.includes("xn--"))
    rest = normalForm(domainToUnicode(host) || host) + rest.slice(host.length);
  if (host.includes("@")) return undefined;

  return rest === "" || /\s/.test(rest) ? undefined : rest;
}

/**
 * Percent escapes as the text they stand for; those of
 * `/ ? # %`, of white space and of what is no text stay.
 */
const unescaped = (address: string): string =>
  address.includes("%")
    ? normalForm(
        address.replace(/(?:%[0-9a-f]{2})+/g, (run) => {
          const safe = run.replace(/%(?=2f|3f|23|25)/g, "%25");
          try {
            const text = decodeURIComponent(safe);
            return /[\p{White_Space}\p{Cc}\ufeff]/u.test(text) ? run : text;
          } catch {
            return run;
          }
        }),
      )
    : address;

export const slugOf = (canonical: string): string =>
  canonical.slice(canonical.lastIndexOf("/") + 1);

export const slugIn = (text: string): string => slugOf(canonicalAddress(text) ?? text);

export const isSlug = (canonical: string): boolean => !canonical.includes("/");

/**
 * A domain without scheme, `www.`, path and trailing dot,
 * case folded; undefined where no host with a dot is left.
 */
export function canonicalDomain(text: string): string | undefined {
  const address = canonicalAddress(text);
  if (address === undefined) return undefined;
  const host = (address.split("/", 1)[0] ?? "")
    .replace(/^www\./, "")
    .replace(/:\d+$/, "")
    .replace(/\.$/, "");
  return host.includes(".") ? host : undefined;
}
