// Tested by test/unit/naming.test.ts and test/unit/contract-filters.test.ts.
import { domainToASCII, domainToUnicode } from "node:url";
import { addressForm } from "../normalise.ts";

/** What stands before the name in the path of a profile. */
interface Paths {
  readonly company: readonly string[];
  readonly person: readonly string[];
}

const words = (text: string): readonly string[] => text.split(" ");

/** At a host that nobody has told of. */
const USUAL: Paths = {
  company: words(
    "company companies school schools showcase organization organizations organisation organisations org",
  ),
  person: words("in pub people person profile profiles"),
};
const COMMON = { company: words("company school showcase"), person: words("in pub") };

/** Hosts of profiles: each subdomain of one is the same network in another country, or for phones. */
const NETWORKS: ReadonlyMap<string, Paths> = new Map([
  ["network.example", COMMON],
  ["linkedin.com", COMMON],
  ["linkedin.cn", COMMON],
  ["xing.com", { company: words("companies pages"), person: words("profile") }],
  ["viadeo.com", { company: words("company"), person: words("profile") }],
]);

/** Hosts whose pages are of many companies, and of which none is where a company is known. */
const SHARED = new Set(
  words(
    "about.me angel.co bit.ly crunchbase.com docs.google.com drive.google.com facebook.com fb.com fb.me forms.gle " +
      "github.com glassdoor.com goo.gl google.com indeed.com instagram.com linktr.ee lnkd.in maps.google.com " +
      "medium.com notion.so pinterest.com sites.google.com t.co t.me tiktok.com tinyurl.com twitter.com vimeo.com " +
      "vk.com wa.me wikipedia.org x.com yelp.com youtu.be youtube.com",
  ),
);
/** What a network puts before the path of a profile, on phones and in mails. */
const DETOURS = new Set(["mwlite", "comm", "m", "mobile"]);

/** Hosts that records show to be networks, beside those that are known anyway. */
export type Networks = ReadonlySet<string>;

/** The network whose host, or a subdomain of whose host, this is. */
function networkOf(host: string, learned?: Networks): readonly [string, Paths] | undefined {
  for (let name = host; name.includes("."); name = name.slice(name.indexOf(".") + 1)) {
    const paths = NETWORKS.get(name) ?? (learned?.has(name) ? USUAL : undefined);
    if (paths !== undefined) return [name, paths];
  }
  return undefined;
}

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
/** What programs put around an address, the address first: links of sheets, of Markdown, of HTML. */
const AROUND = [
  /^=\s*[\p{L}.]+\(\s*"([^"]*)".*\)$/su,
  /^!?\[[^\]]*\]\(\s*<?([^\s)>]+)>?[^)]*\)$/s,
  /^<a\s[^>]*?href\s*=\s*["']?([^"'\s>]+).*>$/is,
  /^<([^\s<>|]+)(?:\|[^<>]*)?>$/,
  /^[^<>]*<([^\s<>@]+@[^\s<>]+)>$/s,
  /^mailto:([^?]*)(?:\?.*)?$/is,
  /^(?:\*@|@|\*?\.)(?=[^.*@])(.*)$/s,
  /^(.*)\/\*$/s,
];
const QUOTED = /^[\s"'`´‘’‚‛“”„«»‹›「」()[\]{}]+|[\s"'`´‘’‚‛“”„«»‹›「」()[\]{},;|]+$/gu;

/** A text without what programs and people put around it: equal for what means the same. */
export function unwrapped(text: string): string {
  if (PLAIN.test(text) && !/^(?:mailto:|https?%3a)/i.test(text)) return text;
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

/** A host by UTS 46, as text; undefined for what is none. */
export function hostForm(host: string): string | undefined {
  const ascii = domainToASCII(host.replace(/\.$/, ""));
  return ascii === "" ? undefined : domainToUnicode(ascii);
}

/** @returns undefined for empty text, user info, or another scheme than http and https */
function partsOf(text: string): Parts | undefined {
  const plain = unwrapped(text);
  const folded = addressForm(plain);
  const scheme = /^([a-z][a-z0-9+.-]*):(\/\/)?/.exec(folded);
  const isPort = scheme?.[2] === undefined && /^[^/:]+:\d+(?:[/?#]|$)/.test(folded);
  const hasScheme = scheme !== null && !isPort;
  if (hasScheme && (scheme[2] === undefined || !/^https?$/.test(scheme[1] ?? ""))) return undefined;

  const from = hasScheme ? scheme[0].length : folded.startsWith("//") ? 2 : 0;
  const cut = (all: string): string => unescaped(all.slice(from).replace(/[?#].*$/s, ""));
  const [first = "", ...path] = cut(folded).replace(/\/+$/, "").split("/");
  const isAddress = hasScheme || path.length > 0;
  const place = isAddress ? first.replace(/:(?:443|80)$/, "") : first;
  if (place === "" || first.includes("@") || [first, ...path].some((part) => /\s/.test(part)))
    return undefined;

  const [name = "", port = ""] = /^([^:]*)(:\d+)?$/.exec(place)?.slice(1) ?? [place];
  // Its own capitals and compatible forms are folded by its own rule: a path keeps no final sigma.
  const own = /^[\x00-\x7f]*$/.test(name) ? name : hostIn(plain, name);
  const host = /[.。]/u.test(own) ? (hostForm(own) ?? name) : name;
  const bare = path.length > 0 ? host.replace(/^www\./, "") : host;

  return { host: bare, place: `${bare}${port}`, path, hasScheme };
}

function hostIn(plain: string, folded: string): string {
  const own = plain.normalize("NFKC").replace(/^[a-z]+:\/\/|^\/\//i, "");
  const [host = folded] = own.split(/[/?#:]/, 1);
  return decoded(host) ?? host;
}

/**
 * Percent escapes as the text they stand for; those of
 * `/ ? # %`, of white space and of what is no text stay.
 */
const unescaped = (address: string): string =>
  address.includes("%")
    ? addressForm(
        address.replace(/(?:%[0-9a-f]{2})+/g, (run) => {
          const safe = run.replace(/%(?=2f|3f|23|25)/g, "%25");
          const text = decoded(safe) ?? run;
          return /[\p{White_Space}\p{Cc}\ufeff]/u.test(text) ? run : text;
        }),
      )
    : address;

/** What an address is of, and the address cut to that. */
export interface Place {
  readonly is: "company" | "person" | "host" | "page" | "word";
  /** Canonical. */
  readonly address: string;
  readonly host: string;
  /** Below the host; of a page and of a host. */
  readonly path: string;
  readonly hasScheme: boolean;
  /** Whether the host is a network, or many companies have pages there. */
  readonly isNetwork: boolean;
}

/**
 * @param learned hosts that records show to be networks
 * @returns undefined for empty text, user info, or another scheme than http and https
 */
export function placeOf(text: string, learned?: Networks): Place | undefined {
  const parts = partsOf(text);
  if (parts === undefined) return undefined;
  const { host, place, path, hasScheme } = parts;
  const whole = [place, ...path].join("/");
  const said = { host, hasScheme, path: path.join("/"), isNetwork: false };
  if (path.length === 0 && !hasScheme && !host.includes("."))
    return { ...said, is: "word", address: whole };

  const known = networkOf(host, learned);
  const at = known === undefined || !DETOURS.has(path[0] ?? "") ? path : path.slice(1);
  const [kind = "", name = ""] = at;
  const { company, person } = known?.[1] ?? USUAL;
  const is = company.includes(kind) ? "company" : person.includes(kind) ? "person" : "page";

  if (known !== undefined) {
    const isProfile = is !== "page" && name !== "";
    // Old addresses of people have their name in several parts.
    const own = kind === "pub" ? at : at.slice(0, 2);
    return isProfile
      ? { ...said, is, address: [known[0], ...own].join("/"), isNetwork: true }
      : { ...said, is: "page", address: whole, isNetwork: true };
  }

  if (is === "person" && name !== "") return { ...said, is, address: whole };
  const isNetwork = SHARED.has(host.replace(/^www\./, "")) && path.length > 0;
  return { ...said, is: path.length > 0 ? "page" : "host", address: whole, isNetwork };
}

/**
 * An address in canonical form: no scheme, `www.`, port of the scheme, query, fragment or trailing
 * slash; escapes and `xn--` names as text, case folded; of a network what its profile is known by
 * (`https://uk.network.example:443/in/Ada/de?x=1` -> `network.example/in/ada`). A bare word stays one.
 * @returns undefined for empty text, user info, or another scheme than http and https
 */
export const canonicalAddress = (text: string, learned?: Networks): string | undefined =>
  placeOf(text, learned)?.address;

export const slugOf = (canonical: string): string =>
  canonical.slice(canonical.lastIndexOf("/") + 1);

/** Whether of two canonical addresses the first one is, or is the last part of, the other. */
export const covers = (of: string, address: string): boolean =>
  of === address || (isSlug(of) && of === slugOf(address));

export const isSlug = (canonical: string): boolean => !canonical.includes("/");

/**
 * A domain without scheme, `www.`, path and trailing dot, by UTS 46, as text;
 * undefined where no host with a dot is left, or the host is a machine's number.
 */
export function canonicalDomain(text: string): string | undefined {
  const host = partsOf(text)?.host.replace(/^www\./, "") ?? "";
  return /^[^.].*\.[^.\d][^.]+$/u.test(host) && !host.includes("..") && !/[:[\]\s]/.test(host)
    ? host
    : undefined;
}
