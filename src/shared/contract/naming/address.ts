// Tested by test/unit/naming.test.ts and test/unit/contract-filters.test.ts.
import { domainToASCII, domainToUnicode } from "node:url";
import { addressForm } from "../normalise.ts";
import { slugOf } from "./slug.ts";

/** What stands before the name in the path of a profile. */
interface Paths {
  readonly company: readonly string[];
  readonly person: readonly string[];
}

const words = (text: string): readonly string[] => text.trim().split(/\s+/);

/** At a host that nobody has told of. */
const USUAL: Paths = {
  company: words(
    "company companies school schools showcase org organization organizations organisation",
  ),
  person: words("in pub people person profile profiles"),
};
const COMMON = { company: words("company school showcase"), person: words("in pub") };

/** Hosts of profiles: a subdomain is the same network in another country, or for phones. */
const NETWORKS: ReadonlyMap<string, Paths> = new Map([
  ["network.example", COMMON],
  ["linkedin.com", COMMON],
  ["linkedin.cn", COMMON],
  ["xing.com", { company: words("companies pages"), person: words("profile") }],
  ["viadeo.com", { company: words("company"), person: words("profile") }],
]);

/** Hosts whose links lead on to others: short ones, and those that mails are given. */
const LEADING = new Set(
  words(`
  adobe.ly aka.ms amzn.to bit.do bit.ly bitly.com buff.ly cutt.ly db.tt dlvr.it eepurl.com fb.me
  flip.it goo.gl hubs.la hubs.li hubs.ly hubs.to hubspotlinks.com ift.tt is.gd j.mp
  linkprotect.cudasvc.com list-manage.com lnkd.in mailchi.mp mcusercontent.com on.soundcloud.com
  ow.ly po.st protect-eu.mimecast.com protect-us.mimecast.com qr.ae rb.gy rebrand.ly redd.it s.id
  safelinks.protection.outlook.com sendgrid.net shorturl.at smarturl.it snip.ly spoti.fi t.co
  t.ly tiny.cc tinyurl.com trib.al urldefense.com urldefense.proofpoint.com
  url.emailprotection.link v.gd wp.me yhoo.it youtu.be
`),
);
/** Hosts whose pages are of many companies, and of which none is where a company is known. */
const SHARED = new Set([
  ...LEADING,
  ...words(`
  about.me angel.co apps.apple.com archive.org calendly.com crunchbase.com facebook.com fb.com
  forms.gle g.page github.com glassdoor.com google.com indeed.com instagram.com linktr.ee
  medium.com notion.so pinterest.com t.me tiktok.com twitter.com vimeo.com vk.com wa.me
  wikipedia.org x.com yelp.com youtube.com
`),
]);
/** Hosts of mailboxes and nothing else: who has one there works elsewhere. */
export const MAILBOXES: ReadonlySet<string> = new Set(
  words(`
  gmail.com googlemail.com gmx.at gmx.ch gmx.com gmx.de gmx.net hotmail.co.uk hotmail.com
  hotmail.de hotmail.es hotmail.fr hotmail.it icloud.com live.com mac.com me.com msn.com
  outlook.com outlook.de protonmail.com rocketmail.com ymail.com
`),
);
/** What a network puts before the path of a profile, on phones and in mails. */
const DETOURS = new Set(["mwlite", "comm", "m", "mobile"]);

/** Hosts that records show to be networks, beside those that are known anyway. */
export type Networks = ReadonlySet<string>;

/** The first of a host, and of those that it is a subdomain of, of which that is true. */
function nearestHost(host: string, isIt: (name: string) => boolean): string | undefined {
  for (let name = host; name.includes("."); name = name.slice(name.indexOf(".") + 1))
    if (isIt(name)) return name;
  return undefined;
}

export const leadsOn = (host: string): boolean =>
  nearestHost(host, (name) => LEADING.has(name)) !== undefined;

/** An address by its parts, in canonical form. */
interface Parts {
  /** As text, not as `xn--`; a bare word stands here too. */
  readonly host: string;
  /** With the port, where it is none of the scheme's. */
  readonly place: string;
  readonly path: readonly string[];
  readonly hasScheme: boolean;
}

const UNSEEN = /[\p{Default_Ignorable_Code_Point}\ufeff\ufff9-\ufffb]/gu;
const PLAIN = /^[A-Za-z0-9][A-Za-z0-9_.:/~?#&=+%-]*[A-Za-z0-9_/~=%]$/;
/** What programs put around an address: links of sheets, of Markdown, of HTML. */
const AROUND = [
  /^=\s*[\p{L}._]+\(\s*"([^"]*)".*\)$/su,
  /^!?\[[^\]]*\]\(\s*<?([^\s)>]+)>?[^)]*\)$/s,
  /^<a\s[^>]*?href\s*=\s*["']?([^"'\s>]+).*>$/is,
  /^<([^\s<>|]+)(?:\|[^<>]*)?>$/,
  /^[^<>]*<([^\s<>@]+@[^\s<>]+)>$/s,
  /^mailto:([^?]*)(?:\?.*)?$/is,
  /^(?:\*@|@|\*?\.)(?=[^.*@])(.*)$/s,
  /^(.*)\/\*$/s,
];
const QUOTED = /^[\s"'`´‘’‚‛“”„«»‹›「」()[\]{}]+|[\s"'`´‘’‚‛“”„«»‹›「」()[\]{},;|]+$/gu;

/** Nothing is around such a text, and nothing is written in another way in it. */
const isPlain = (text: string): boolean => PLAIN.test(text) && !text.includes("%");

/** A text without what programs and people put around it: equal for what means the same. */
export function unwrapped(text: string): string {
  if (isPlain(text)) return text;
  let plain = text.replace(UNSEEN, "").trim();

  for (let before = ""; plain !== before; ) {
    before = plain;
    const inner = AROUND.map((form) => form.exec(plain)?.[1]).find((one) => one !== undefined);
    plain = inner?.trim() ?? (isWrapped(plain) ? plain.replace(QUOTED, "") : plain);
    if (/^https?%3a%2f%2f/i.test(plain)) plain = decoded(plain) ?? plain;
  }
  return plain;
}

/** Brackets inside a name belong to it: only what is around all of it is none of it. */
const isWrapped = (text: string): boolean =>
  /^[\s"'`´‘’‚‛“”„«»‹›「」([{<]|["'`´’“”«»‹›」,;|]$/u.test(text);

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

const ASCII_HOST = /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/;

/** A host by UTS 46, as text; undefined for what is none. A number stays no more than a number. */
function hostForm(host: string): string | undefined {
  const own = host.replace(/[.。]$/u, "").toLowerCase();
  const isPlain = /^[\x00-\x7f]*$/.test(own) && !own.includes("xn--");
  const ascii = isPlain ? own : domainToASCII(own);
  if (!ASCII_HOST.test(ascii)) return undefined;
  if (isPlain) return own;
  // An `xn--` label may stand for what is no label: no host has that name.
  const text = domainToUnicode(ascii);
  return domainToASCII(text) === ascii ? text : undefined;
}

/** @returns undefined for empty text, user info, no host, or another scheme than http and https */
function partsOf(plain: string): Parts | undefined {
  const folded = addressForm(plain);
  const scheme = /^([a-z][a-z0-9+.-]*):(\/\/)?/.exec(folded);
  const isPort = scheme?.[2] === undefined && /^[^/:]+:\d+(?:[/?#]|$)/.test(folded);
  const hasScheme = scheme !== null && !isPort;
  if (hasScheme && (scheme[2] === undefined || !/^https?$/.test(scheme[1] ?? ""))) return undefined;

  const from = hasScheme ? scheme[0].length : folded.startsWith("//") ? 2 : 0;
  const rest = folded.slice(from).replace(/[?#].*$/s, "");
  const [first = "", ...path] = rest.replace(/\/+$/, "").split("/");
  if (first === "" || first.includes("@") || /\s/.test(rest)) return undefined;

  const [, word = "", port = ""] = /^(.*?)(:\d+)?$/s.exec(first) ?? [];
  const isBare = !hasScheme && path.length === 0;
  if (isBare && !/[.。]/u.test(word))
    return rest === folded ? { host: first, place: first, path, hasScheme } : partsOf(first);

  // Folded by its own rule, in which a final sigma and a sharp s stay what they are.
  const host = hostForm(/^[\x00-\x7f]*$/.test(word) ? word : hostIn(plain));
  if (host === undefined || (path.length === 0 && !host.includes(".")))
    return isBare && host !== undefined ? partsOf(host) : undefined;
  const bare = path.length > 0 ? host.replace(WWW, "") : host;
  return { host: bare, place: `${bare}${/^:(?:443|80)$/.test(port) ? "" : port}`, path, hasScheme };
}

/** However often it stands there: what is left of a host is its own form. */
export const WWW = /^(?:www\.)+/;

/** As it is to be read: compatible forms as plain ones, escapes as text, and nothing around it. */
const legible = (text: string): string =>
  isPlain(text) ? text : unwrapped(unescaped(unwrapped(text).normalize("NFKC")));

const hostIn = (plain: string): string =>
  plain.replace(/^[a-z]+:\/\/|^\/\//i, "").replace(/[/?#:].*$/s, "");

/**
 * Percent escapes as the text they stand for; those of
 * `/ ? # %`, of white space and of what is no text stay.
 */
const unescaped = (address: string): string =>
  address.replace(/(?:%[0-9a-f]{2})+/gi, (run) => {
    const safe = run.replace(/%(?=2f|3f|23|25)/gi, "%25");
    const text = decoded(safe) ?? run;
    return /[\p{White_Space}\p{Cc}\ufeff]/u.test(text) ? run : text;
  });

/** What an address is of, and the address cut to that. */
export interface ReadAddress {
  readonly is: "company" | "person" | "host" | "page" | "word";
  /** Canonical. */
  readonly address: string;
  readonly host: string;
  /** Below the host, in its parts. */
  readonly path: readonly string[];
  /** Whether the host is a network, or many companies have pages there. */
  readonly isNetwork: boolean;
}

/** Cutting may bring to light what is to be cut as well. */
const MOST_CUTS = 4;

/**
 * @param learned hosts that records show to be networks
 * @returns undefined for empty text, user info, or another scheme than http and https
 */
export function addressIn(text: string, learned?: Networks): ReadAddress | undefined {
  const place = addressOnce(text, learned);
  if (place === undefined || isPlain(text)) return place;

  let last = place;
  for (let cuts = 0; cuts < MOST_CUTS; cuts++) {
    const next = addressOnce(last.address, learned);
    if (next?.address === last.address) return place.address === last.address ? place : last;
    if (next === undefined) return undefined;
    last = next;
  }
  return undefined;
}

function addressOnce(text: string, learned?: Networks): ReadAddress | undefined {
  const parts = partsOf(legible(text));
  if (parts === undefined) return undefined;
  const { host, place, path, hasScheme } = parts;

  const network = nearestHost(host, (name) => NETWORKS.has(name) || learned?.has(name) === true);
  const paths = NETWORKS.get(network ?? "") ?? USUAL;
  const at = network !== undefined && DETOURS.has(path[0] ?? "") ? path.slice(1) : path;
  const [kind = "", name = ""] = at;
  const isPerson = name !== "" && paths.person.includes(kind);
  // At any other host it is a page of that company's own.
  const isCompany = name !== "" && network !== undefined && paths.company.includes(kind);

  if (network !== undefined && (isPerson || isCompany)) {
    // Old addresses of people have their name in several parts.
    const own = kind === "pub" ? at.join("/") : `${kind}/${name}`;
    const is = isPerson ? "person" : "company";
    return { is, address: `${network}/${own}`, host, path, isNetwork: true };
  }

  // At whatever host `/@ada` is the page of one of many who have one there.
  const isShared =
    path[0]?.startsWith("@") ||
    (path[0] && nearestHost(host, (name) => SHARED.has(name)) !== undefined);
  const isNetwork = network !== undefined || isShared === true;
  const isWord = path.length === 0 && !hasScheme && !host.includes(".");
  const other = isNetwork || path.length > 0 ? "page" : isWord ? "word" : "host";
  const address = path.length === 0 ? place : `${place}/${path.join("/")}`;
  return { is: isPerson ? "person" : other, address, host, path, isNetwork };
}

/**
 * An address in canonical form: no scheme, `www.`, port of the scheme, query, fragment or trailing
 * slash; escapes and `xn--` names as text, case folded; of a network no more than the profile
 * (`https://uk.network.example/in/Ada/de?x=1` -> `network.example/in/ada`). A bare word stays.
 * @returns undefined for empty text, user info, or another scheme than http and https
 */
export const canonicalAddress = (text: string, learned?: Networks): string | undefined =>
  addressIn(text, learned)?.address;

/**
 * A domain without scheme, `www.`, path and trailing dot, by UTS 46, as text;
 * undefined where no host with a dot is left, or the host is a machine's number.
 */
export function canonicalDomain(text: string): string | undefined {
  const host = partsOf(legible(text))?.host.replace(WWW, "") ?? "";
  // A last label that begins with a digit is no top-level domain, and a version or a date may be.
  const isDomain = /^[^.]+(?:\.[^.]+)*\.[^.\d][^.]+$/u.test(host);
  return isDomain && hostForm(host) === host ? host : undefined;
}

/** What a segment may name an address by: all of it, and its last part. */
export function addressForms(text: string): readonly string[] {
  const form = canonicalAddress(text);
  return form === undefined ? [] : [form, slugOf(form)];
}
