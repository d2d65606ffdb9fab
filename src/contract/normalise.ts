/**
 * The normal form on which every exact and prefix key matches: NFKC, case-folded, trimmed, inner white space collapsed.
 * Both sides of a comparison go through here: stored values at import, request values at query time.
 */
export function normalForm(text: string): string {
  return caseFold(text.normalize("NFKC")).normalize("NFKC").replace(/\s+/gu, " ").trim();
}

/** Whether {@link normalForm} of an ASCII text is just lower case with collapsed spaces, which SQL can do by itself. */
export const isAscii = (text: string): boolean => /^[\x00-\x7f]*$/.test(text);

// JavaScript has lower and upper case but no case folding. Folding maps the German sharp s to ss and both sigmas to one.
function caseFold(text: string): string {
  if (isAscii(text)) return text.toLowerCase();
  return text.toLowerCase().replaceAll("ß", "ss").replaceAll("ς", "σ");
}

/** Control characters, NUL among them, and lone surrogates have no business in a filter value. */
export const hasLoneSurrogate = (text: string): boolean => !text.isWellFormed();

/**
 * A profile address in canonical form: scheme, `www.`, query, fragment and trailing slash dropped, case folded
 * (`https://www.Example.com/in/Ada/?x=1` -> `example.com/in/ada`). A bare slug stays a slug.
 * @returns undefined where the text is empty, carries user info, or a scheme other than http and https
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
  rest = rest.replace(/[?#].*$/s, "").replace(/\/+$/, "");
  if (rest.includes("/")) rest = rest.replace(/^www\./, "");
  const host = rest.split("/", 1)[0] ?? "";
  if (host.includes("@")) return undefined;
  return rest === "" || /\s/.test(rest) ? undefined : rest;
}

export const slugOf = (canonical: string): string => canonical.slice(canonical.lastIndexOf("/") + 1);

export const isSlug = (canonical: string): boolean => !canonical.includes("/");

/**
 * A domain in canonical form: scheme, `www.`, path and trailing dot dropped, case folded.
 * @returns undefined where no host with a dot is left
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
