// Tested by test/unit/contract-filters.test.ts.
/**
 * The normal form on which exact and prefix keys match: NFKC, case-folded,
 * trimmed, inner white space (Unicode's, and the byte-order mark) collapsed.
 * Stored values at import and request values both go through here.
 */
export function normalForm(text: string): string {
  return isAscii(text) ? asciiForm(text) : unicodeForm(text, "ss");
}

/** A text without accents: letters alone, in whatever way it was composed. */
export const withoutMarks = (text: string): string => text.normalize("NFD").replace(/\p{M}/gu, "");

/** {@link normalForm} of an address, in which a sharp s and a double one are two. */
export function addressForm(text: string): string {
  return isAscii(text) ? asciiForm(text) : unicodeForm(text, "ß");
}

function asciiForm(text: string): string {
  const lower = text.toLowerCase();
  return UNEVEN.test(lower) ? lower.replace(ASCII_WHITE, " ").trim() : lower;
}

const unicodeForm = (text: string, sharp: "ss" | "ß"): string =>
  caseFold(text.normalize("NFKD"), sharp).normalize("NFKC").replace(WHITE, " ").trim();

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
function caseFold(text: string, sharp: "ss" | "ß"): string {
  const lower = text
    .toLowerCase()
    .replaceAll("ß", sharp)
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
