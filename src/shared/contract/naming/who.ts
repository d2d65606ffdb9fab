// Tested by test/cli/naming.test.ts.
import type { SuppressedKind, SuppressedName } from "../suppression.ts";
import { echo } from "../text.ts";
import { canonicalAddress, canonicalDomain } from "./address.ts";
import { read } from "./read.ts";
import { isFiller } from "./words.ts";

/**
 * Who is left out by a text: an address or a domain as it is read everywhere; any
 * other word is an id and the last part of an address.
 * @param kind where it is told @returns undefined for text of another kind
 */
export function suppressedName(text: string, kind?: SuppressedKind): SuppressedName | undefined {
  const word = text.trim();
  if (kind === "id") return isFiller(word) ? undefined : { kind, id: word, address: null };
  if (kind === "domain") {
    const domain = canonicalDomain(word);
    return domain === undefined ? undefined : { kind, domain };
  }
  if (kind === "address") {
    const address = canonicalAddress(word);
    return address === undefined ? undefined : { kind, address };
  }

  const reading = read(word);
  switch (reading.is) {
    case "domain":
      return { kind: "domain", domain: reading.value };
    case "company":
    case "person":
      return { kind: "address", address: reading.value };
    case "word":
      return { kind: "id", id: reading.value, address: reading.slug };
    default:
      return undefined;
  }
}

/** What a text is taken for where somebody is to be named by it, in words. */
export function takenFor(text: string): string {
  const reading = read(text);
  switch (reading.is) {
    case "word":
      return "an id, the last part of a profile address or a whole name";
    case "person":
      return `the address of a person, ${echo(reading.value)}`;
    case "company":
      return `the address of a company, ${echo(reading.value)}`;
    case "domain":
      return `the domain ${echo(reading.value)}, which is nobody's own`;
    case "mail":
      return "an address of mail";
    case "name":
      return "a whole name";
    case "several":
      return "several addresses";
    default:
      return reading.why;
  }
}
