// Tested by test/cli/suppress.test.ts.
import { createHmac, hash } from "node:crypto";
import { canonicalAddress, canonicalDomain } from "./naming/address.ts";
import { isSlug, slugOf } from "./naming/slug.ts";

export const SUPPRESSED_KINDS = ["address", "id", "domain"] as const;
export type SuppressedKind = (typeof SUPPRESSED_KINDS)[number];

/**
 * Somebody who is left out, without a name: nobody learns who it is from this and without the key.
 */
export interface SuppressedEntry {
  /**
   * Keyed hashes in hexadecimal digits: several of a bare
   * word, which may be an id, and of a whole address.
   */
  readonly marks: readonly string[];
  readonly kind: SuppressedKind;
  readonly at: string;
  readonly note: string | null;
  /** Taken off again: it hides nobody, and stays so that no other machine brings it back. */
  readonly lifted?: true;
}

/** The note of those who were forgotten: what is kept of them anywhere is deleted. */
export const FORGOTTEN = "forgotten";

/** What a record says of who it is, as it stands there. */
export interface RecordNames {
  readonly id?: string | null | undefined;
  readonly address?: string | null | undefined;
  /** Of the employer, or of the company itself. */
  readonly domain?: string | null | undefined;
}

/** Address and domain in canonical form. */
export interface SuppressedName extends RecordNames {
  readonly kind: SuppressedKind;
  /** That gave the id, where that is known: another's may mean somebody else by it. */
  readonly services?: readonly string[];
}

/**
 * What an entry holds. The last part of a whole address
 * is marked as that: it hides nobody of another host.
 */
export function marksOf(key: Buffer, { id, address, domain, services }: SuppressedName): string[] {
  const ofAddress =
    address && isSlug(address)
      ? [`slug:${address}`]
      : [`address:${address}`, `last:${slugOf(address ?? "")}`];
  const names = [
    ...(id ? [`id:${id}`] : []),
    ...(address ? ofAddress : []),
    ...(domain ? [`domain:${domain}`] : []),
    ...(services ?? []).map((service) => idAt(id ?? "", service)),
  ];
  return names.map((name) => markOf(key, name));
}

/**
 * An entry that holds one of these means the same person or
 * company, in whichever form it or this has the address.
 */
export const marksAsked = (key: Buffer, who: RecordNames): string[] =>
  namesOf(who).map((name) => markOf(key, name));

const idAt = (id: string, service: string): string => `id:${id} at ${service}`;

const markOf = (key: Buffer, name: string): string =>
  createHmac("sha256", key).update(name).digest("hex").slice(0, 32);

function namesOf({ id, address, domain }: RecordNames): string[] {
  const names = id ? [`id:${id}`] : [];
  const canonical = canonicalAddress(address ?? "");
  if (canonical !== undefined)
    names.push(
      `slug:${slugOf(canonical)}`,
      `${isSlug(canonical) ? "last" : "address"}:${canonical}`,
    );

  // A domain stands for what is below it too.
  const labels = canonicalDomain(domain ?? "")?.split(".") ?? [];
  for (let at = 0; at < labels.length - 1; at++) names.push(`domain:${labels.slice(at).join(".")}`);

  return names;
}

/** Who is left out of everything that is written, counted or shown. */
export class Suppression {
  readonly #keys: readonly Buffer[];
  readonly #marks: ReadonlySet<string>;
  readonly #forgotten: ReadonlySet<string>;
  /** Equal for equal lists; "" where nobody is on it. */
  readonly digest: string;

  /** @param rings lists under keys of their own: of each machine that this one syncs with */
  constructor(...rings: readonly SuppressionRing[]) {
    const used = rings.filter(({ entries }) => entries.some(isOn));
    const entries = used.flatMap((ring) => ring.entries.filter(isOn));
    const forgotten = entries.filter(({ note }) => note === FORGOTTEN);

    this.#keys = used.map(({ key }) => key);
    this.#marks = new Set(entries.flatMap(({ marks }) => marks));
    this.#forgotten = new Set(forgotten.flatMap(({ marks }) => marks));
    this.digest = this.#marks.size === 0 ? "" : hash("sha256", [...this.#marks].sort().join(" "));
  }

  /** Keyed hashes: they name nobody. */
  get marks(): ReadonlySet<string> {
    return this.#marks;
  }

  get isEmpty(): boolean {
    return this.#marks.size === 0;
  }

  hides(record: RecordNames): boolean {
    return !this.isEmpty && namesOf(record).some((name) => this.#has(this.#marks, name));
  }

  /** Whether somebody was forgotten: by address, or by an id that the same service gave. */
  forgets({ id, address }: RecordNames, service: string): boolean {
    if (this.#forgotten.size === 0) return false;
    const names = [...namesOf({ address }), ...(id ? [idAt(id, service)] : [])];
    return names.some((name) => this.#has(this.#forgotten, name));
  }

  /** Equal where the same people were forgotten; "" where nobody was. */
  get forgottenDigest(): string {
    return [...this.#forgotten].sort().join(" ");
  }

  #has(marks: ReadonlySet<string>, name: string): boolean {
    return this.#keys.some((key) => marks.has(markOf(key, name)));
  }
}

/** A list and its key. */
export interface SuppressionRing {
  readonly key: Buffer;
  readonly entries: readonly SuppressedEntry[];
}

export const isOn = ({ lifted }: SuppressedEntry): boolean => lifted !== true;

export const NOBODY_SUPPRESSED = new Suppression();

/**
 * In a folder of its own: the list, one entry a line and
 * a line that seals them, and the key, 32 random bytes.
 */
export const SUPPRESSION_FILES = { list: "list.ndjson", key: "key" } as const;

const KEY_BYTES = 32;
const EMPTY = /^\{"hmac":"[0-9a-f]{64}"\}\n$/;

/**
 * The text of a list. Its last line is the HMAC-SHA-256
 * of those before, so that no bit of it changes unseen.
 */
export function suppressedText(entries: readonly SuppressedEntry[], key: Buffer): string {
  const lines = entries.map((entry) => `${JSON.stringify(entry)}\n`).join("");
  return `${lines}${sealOf(lines, key)}`;
}

const sealOf = (lines: string, key: Buffer): string =>
  `${JSON.stringify({ hmac: createHmac("sha256", key).update(`list:${lines}`).digest("hex") })}\n`;

/**
 * @param text undefined where there is no list @throws Error saying
 * what is damaged: a list that is read in part would let people through
 */
export function parseSuppressed(
  text: string | undefined,
  key: Buffer | undefined,
): SuppressedEntry[] {
  if (text === undefined && key === undefined) return [];
  if (text === undefined) throw new Error("the list is gone, and its key is there");

  const lines = text.slice(0, text.lastIndexOf("\n", text.length - 2) + 1);
  if (key === undefined && lines === "" && EMPTY.test(text)) return [];
  if (key?.length !== KEY_BYTES)
    throw new Error(`its key is ${key === undefined ? "gone" : "damaged"}`);

  const entries = lines
    .split("\n")
    .flatMap((line, index) => (line === "" ? [] : [entryOf(line, index + 1)]));

  if (text.slice(lines.length) !== sealOf(lines, key))
    throw new Error("it or its key is not what was written");

  return entries;
}

function entryOf(line: string, number: number): SuppressedEntry {
  try {
    const { marks, kind, at, note, lifted } = JSON.parse(line) as SuppressedEntry;
    if (marks.every((mark) => /^[0-9a-f]{32}$/.test(mark)) && marks.length > 0)
      return { marks, kind, at, note, ...(lifted ? { lifted } : {}) };
  } catch {}
  throw new Error(`line ${number} is damaged`);
}
