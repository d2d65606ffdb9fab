// Tested by test/unit/naming.test.ts.
import { createRequire } from "node:module";
import { normalForm } from "../normalise.ts";
import { echo } from "../text.ts";
import {
  addressIn,
  canonicalAddress,
  canonicalDomain,
  leadsOn,
  MAILBOXES,
  type Networks,
  unwrapped,
  WWW,
} from "./address.ts";
import { isFiller } from "./words.ts";

/**
 * What a text means, for whoever asks. A `word` is the last part of a profile's address, or an id:
 * which one, and of a person or of a company, only records tell. A `name` has several words.
 */
export type Reading =
  | { readonly is: "domain"; readonly value: string; readonly path: string }
  | { readonly is: "company" | "person"; readonly value: string; readonly text: string }
  | { readonly is: "mail" | "name"; readonly value: string }
  | {
      readonly is: "word";
      /** Exact, as an id is. */
      readonly value: string;
      /** As the last part of an address is. */
      readonly slug: string;
    }
  | { readonly is: "several"; readonly values: readonly string[] }
  | { readonly is: "nothing"; readonly why: string }
  | { readonly is: "unknown"; readonly why: string; readonly isFile?: boolean };

/** Kinds of files in which people keep lists; of a domain under `zip` its scheme tells it. */
const FILE =
  /^[^@]*(?<!\.)\.(?:csv|tsv|tab|txt|xlsx?|xlsm|xlsb|ods|numbers|ndjson|jsonl?|parquet|gz|zip|zst|bz2|7z|rar|pdf|docx?|rtf|xml|html?|sqlite3?|db|duckdb|sql|ya?ml|log|eml|vcf)$/i;
/** What only one network knows. */
const INSIDE = /\.(?:internal|lan|local|localhost|onion)$/;
const PATH = /^(?:\.{1,2}[\\/]|~[\\/]|[a-z]:[\\/]|\\\\|file:)/i;
const MAIL = /^[^\s@/:,;]+@[^\s@/:,;]+$/;
const WORD = /^[\p{L}\p{M}\p{N}_.~'’&+!$*%-]+$/u;
/** A second address within the first, however often it was escaped. */
const LINK = /[^a-z]https?(?:%(?:25)*3a|:)(?:%|\/)/i;

const LED_ON = "an address that leads on to another one: open it, and give that one";

const nothing = (why: string): Reading => ({ is: "nothing", why });
const unknown = (why: string): Reading => ({ is: "unknown", why });

/**
 * @param text a cell, a line, an argument, a filter, an address of a record
 * @param learned hosts that records show to be networks
 */
export function read(text: string, learned?: Networks): Reading {
  const plain = unwrapped(text);
  if (plain === "") return nothing(text.trim() === "" ? "empty" : "nothing but signs");
  if (isFiller(plain)) return nothing("a word for nothing");
  if (/^(?:https?:\/*|www\.?)+$/i.test(plain)) return nothing("an address without a host");
  if (PATH.test(plain) || (FILE.test(plain) && !isBelowHost(plain)))
    return { is: "unknown", why: "the name of a file", isFile: true };
  if (MAIL.test(plain)) return mailIn(plain);
  if (/\s/.test(plain) || /[,;|]/.test(plain)) return severalIn(plain, learned);
  if (LINK.test(plain)) return unknown(LED_ON);

  const place = addressIn(plain, learned);
  if (place === undefined) return unknown("no address of the web");
  const { is, address, host } = place;
  const path = place.path.join("/");
  if (is === "word")
    return WORD.test(plain)
      ? { is, value: plain, slug: address }
      : unknown("no domain, profile address or last part of one");
  if (is === "company" || is === "person")
    return {
      is,
      value: address,
      text: address === plainAddress(plain) ? plain : `https://${address}`,
    };

  const domain = canonicalDomain(plain);
  if (domain === undefined) return hostless(plain, host, path);
  if (place.isNetwork)
    return unknown(leadsOn(host) ? LED_ON : `a page at ${host}, and no profile there`);
  if (INSIDE.test(domain) || isSuffix(domain))
    return unknown("no company's own: many have it, or one network knows it");
  if (MAILBOXES.has(domain)) return unknown(`a host of mailboxes, and no company's own`);
  return { is: "domain", value: domain, path };
}

/** Whether anybody is given a name below it (`co.uk`, `github.io`): by the public suffix list. */
function isSuffix(domain: string): boolean {
  // A list of 10,000 rules: loaded where somebody names a domain, and by no other command.
  const suffixes = createRequire(import.meta.url)("tldts") as typeof import("tldts");
  return suffixes.getDomain(domain, { allowPrivateDomains: true }) === null;
}

/** An address as it was written, where nothing of it was cut but what every address may lose. */
const plainAddress = (plain: string): string =>
  normalForm(plain)
    .replace(/^https?:\/\//, "")
    .replace(WWW, "")
    .replace(/[?#].*$/s, "")
    .replace(/\/+$/, "");

/** `acme.example/index.html` is a page, and `lists/crm.csv` is none. */
const isBelowHost = (plain: string): boolean =>
  plain.includes("/") && canonicalDomain(plain) !== undefined;

function mailIn(plain: string): Reading {
  const domain = canonicalDomain(plain.slice(plain.indexOf("@") + 1));
  return domain === undefined
    ? unknown("no address of mail")
    : { is: "mail", value: plain.toLowerCase() };
}

/** Words beside each other: addresses, of which each is read by itself, or a name. */
function severalIn(plain: string, learned?: Networks): Reading {
  const parts = plain.split(/[\s,;|]+/).filter((part) => part !== "");
  const readings = parts.map((part) => read(part, learned));
  if (readings.every(({ is }) => is === "domain" || is === "company" || is === "person")) {
    const values = new Map(
      readings.map((reading, index) => [JSON.stringify(keyOf(reading)), parts[index] ?? ""]),
    );
    const [only] = readings;
    return values.size === 1 && only !== undefined
      ? only
      : { is: "several", values: [...values.values()] };
  }

  if (/:\/\//.test(plain)) return unknown("words beside an address");
  if (/\s/.test(plain) && /\p{L}/u.test(plain)) return { is: "name", value: plain };
  return unknown("no domain, profile address or name");
}

const keyOf = (reading: Reading): unknown => ("value" in reading ? [reading.is, reading.value] : 0);

function hostless(plain: string, host: string, path: string): Reading {
  if (/^[\d.]+$/.test(host)) return unknown("a number, or the address of a machine");
  if (path !== "" && !/^(?:https?:)?\/\//i.test(plain))
    return unknown("a path, or two words with a slash");
  return unknown("an address whose host is no domain");
}

/** A company as services look one up. */
export interface CompanyName {
  readonly by: "domain" | "company_network_url" | "name" | "id";
  readonly value: string;
}

/** What a text does not name, in words. */
export interface NoName {
  readonly why: string;
  /** What the text was taken for. */
  readonly is?: string;
  /** Whether it names several of them. */
  readonly isSeveral?: boolean;
}

interface Asked {
  /** What the text is said to be. */
  readonly by?: "name" | "id" | null | undefined;
  /** Whether it stands where addresses stand: a single word is none. */
  readonly isAddress?: boolean;
  readonly learned?: Networks | undefined;
}

/** @param is what it was taken for */
export const noName = (text: string, is: string): NoName => ({
  why: `"${echo(text.trim())}" is ${is}`,
  is,
});
const isNothing = (text: string): NoName => noName(text, "no address or name");
const NO_FORM = "no domain, profile address or slug";

/**
 * The company that a text names, or in words why it names none.
 * @param reading what it means, where that is known already
 */
export function companyIn(
  text: string,
  { by, isAddress = false, learned }: Asked = {},
  reading = read(text, learned),
): CompanyName | NoName {
  if (by) return companySaid(text, by);

  switch (reading.is) {
    case "domain":
      return { by: "domain", value: reading.value };
    case "company":
      return { by: "company_network_url", value: reading.text };
    case "word":
      if (!/\p{L}/u.test(reading.value)) return noName(text, "a number; --by id where it is an id");
      if (isAddress) return noName(text, "a word, where an address stands");
      return { by: "company_network_url", value: reading.value };
    case "person":
      return noName(text, "the address of a person, and no company's");
    case "mail":
    case "name":
      return noName(text, NO_FORM);
    case "several":
      return {
        why: `names ${reading.values.length} companies: ${someWords(reading.values)}`,
        isSeveral: true,
      };
    case "nothing":
      return reading.why === "empty" ? { why: "empty" } : isNothing(text);
    default:
      return noName(text, reading.why);
  }
}

const someWords = (values: readonly string[]): string => values.slice(0, 5).map(echo).join(", ");

/** The company of a text of which it is said how it names one. */
export function companySaid(text: string, by: CompanyName["by"]): CompanyName | NoName {
  const value = text.trim();
  if (value === "") return { why: "empty" };
  if (isFiller(value)) return isNothing(text);
  if (by === "name" || by === "id") return { by, value };

  const reading = read(value);
  const name = companyIn(value, {}, reading);
  if (!isCompany(name) || name.by === by) return name;
  // Said to be a profile: its host may be a network that no record has shown yet.
  if (by === "company_network_url" && reading.is === "domain" && reading.path !== "")
    return { by, value };
  return noName(text, by === "domain" ? "no domain" : "a domain, and no profile address or slug");
}

export const isCompany = (name: CompanyName | NoName): name is CompanyName => "by" in name;

/** What a company is known by, in the form in which two names of it are equal. */
export function companyForm({ by, value }: CompanyName): string | undefined {
  if (by === "id") return value;
  const form = { name: normalForm, domain: canonicalDomain, company_network_url: canonicalAddress };
  return form[by](value);
}

/** Equal for one company. A whole address, and its last part alone, are two. */
export const companyKey = (name: CompanyName): string =>
  `${name.by} ${companyForm(name) ?? name.value}`;
