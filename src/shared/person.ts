import { canonicalAddress } from "./contract/naming/address.ts";
import { read } from "./contract/naming/read.ts";
import { isSlug, slugOf } from "./contract/naming/slug.ts";
import { normalForm } from "./contract/normalise.ts";
import type { SuppressedName } from "./contract/suppression.ts";
import { echo, someOf } from "./contract/text.ts";
import { type CliError, usageError } from "./errors.ts";
import { Page } from "./rows/page.ts";
import { readable } from "./rows/scan.ts";
import { isJson } from "./rows/tokens.ts";
import {
  isNested,
  type JsonRecord,
  type JsonValue,
  parseExact,
  stringifyExact,
  WRAPPERS,
} from "./rows/values.ts";

/** What a record says of who it is. */
export interface Identity {
  readonly id: string | undefined;
  /** Canonical. */
  readonly address: string | undefined;
  /** Of the employer. */
  readonly domain?: string | undefined;
  /** As it stands in the record: two that are one in canonical form may be two people. */
  readonly spelled?: string | undefined;
  /**
   * What the person is called, whole and in normal form, by each field
   * that tells it: tells nobody from others of the same name.
   */
  readonly names?: readonly string[];
  /** In lower case. */
  readonly email?: string | undefined;
  /** All that it says. */
  readonly record?: JsonRecord | undefined;
}

const textOf = (value: JsonValue | undefined): string | undefined =>
  value === undefined || value === null || value === "" || typeof value === "object"
    ? undefined
    : String(value);

/** Who a value is a record of, also where it wraps the record. */
export function identityIn(value: JsonValue): Identity | undefined {
  if (!isNested(value)) return undefined;

  const address = textOf(value.network_url);
  const id = textOf(value.id);
  const email = textOf(value.email)?.trim().toLowerCase();

  if (id === undefined && address === undefined) {
    const inner = WRAPPERS.map((name) => value[name]).find((one) => one !== undefined);
    if (inner !== undefined || email === undefined)
      return inner === undefined ? undefined : identityIn(inner);
  }

  const given = [value.first_name, value.last_name].map(textOf);
  const names = [textOf(value.name), given.includes(undefined) ? undefined : given.join(" ")];
  return {
    id,
    address: address === undefined ? undefined : (canonicalAddress(address) ?? address),
    spelled: address,
    domain: textOf(value.company_domain),
    names: names.flatMap((name) => (name === undefined ? [] : normalForm(name))),
    email,
    record: value,
  };
}

/** Ids that are shorter are in a text by chance. */
const TELLING = 6;
const OVERLAP = 4_096;

/** A name, and as it is where signs part words (Al-Farsi, O'Neil, St. John), if it has any. */
const spelled = (name: string): string[] =>
  [name, name.replace(/[^\p{L}\p{N}]+/gu, " ").trim()].filter(Boolean);

/** Whether a text has a name that neither begins nor ends within a longer one. */
function hasWord(text: string, name: string): boolean {
  const isPart = (at: number): boolean => /^[\p{L}\p{N}_-]$/u.test(text.charAt(at));
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + 1))
    if (!isPart(at - 1) && !isPart(at + name.length)) return true;
  return false;
}

const CODED = /(?:[0-9a-f]{2}){8,}|[\w+/-]{12,}={0,2}|\S*%[0-9a-f]{2}\S*/gi;
const PRINTABLE = /^[^\p{Cc}\ufffd]+$/u;

/** What is coded in a text (base64, hexadecimal digits, percent), also twice, a line each. */
function decodedIn(text: string, depth = 2): string {
  const plain = [...text.matchAll(CODED)].flatMap(([coded]) => {
    const hex = /^[0-9a-f]+$/i.test(coded) ? [Buffer.from(coded, "hex").toString()] : [];
    const percent = coded.includes("%") ? [percentDecoded(coded)] : [];
    return [...hex, ...percent, Buffer.from(coded, "base64").toString()];
  });
  const lines = plain.filter((line) => PRINTABLE.test(line)).join("\n");
  return depth === 1 || lines === "" ? lines : `${lines}\n${decodedIn(lines, depth - 1)}`;
}

function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

/** A row's own columns where they stand beside those of a table that was kept. */
function besideTable(row: JsonRecord): JsonRecord | undefined {
  const prefix = Object.keys(row)
    .filter((name) => name.endsWith("match"))
    .map((name) => name.slice(0, -"match".length))
    .find((each) => each !== "" && `${each}why` in row);
  if (prefix === undefined) return undefined;

  const own = Object.entries(row).filter(([name]) => name.startsWith(prefix));
  return Object.fromEntries(own.map(([name, value]) => [name.slice(prefix.length), value]));
}

/** Somebody by every name that is known: grows with each record of theirs that is found. */
export class PersonMatcher {
  readonly #addresses = new Set<string>();
  readonly #slugs = new Set<string>();
  /**
   * By service, since another service may give the same id to somebody else; "" is every service.
   */
  readonly #ids = new Map<string, Set<string>>();

  #isKnown = false;
  /** Whole ones, in normal form. */
  readonly #called = new Set<string>();
  readonly #emails = new Set<string>();
  readonly #records: JsonRecord[] = [];
  /** Mailboxes that somebody else has too: they tell nobody. */
  readonly #shared = new Set<string>();

  /**
   * @param word a profile address, its last part, an id or a
   * mail address; undefined: nobody until a record is added
   */
  constructor(word?: string) {
    if (word === undefined) return;
    const reading = read(word);
    if (reading.is === "mail") {
      this.#emails.add(reading.value);
      return;
    }
    const address = canonicalAddress(word);
    if (address !== undefined && isSlug(address)) this.#slugs.add(address);
    else if (address !== undefined) this.#addresses.add(address);
    if (reading.is === "word" || reading.is === "domain" || reading.is === "unknown")
      this.#ids.set("", new Set([word.trim()]));
  }

  /** Whether a record of the person was found. */
  get isKnown(): boolean {
    return this.#isKnown;
  }

  /** Whether the word that names the person is an id alone, and the last part of no address. */
  get isById(): boolean {
    return this.#isKnown && this.#ids.get("") !== undefined && this.#slugs.size === 0;
  }

  /** Whether a text that has the names has the person: a word alone is in texts by chance. */
  get isCertain(): boolean {
    return this.#isKnown || this.#ids.get("") === undefined;
  }

  is({ id, address }: Identity, service: string): boolean {
    const idSets = [this.#ids.get(""), this.#ids.get(service)];
    if (id !== undefined && idSets.some((ids) => ids?.has(id) === true)) return true;
    return (
      address !== undefined && (this.#addresses.has(address) || this.#slugs.has(slugOf(address)))
    );
  }

  /**
   * Whether a row of a file is the person's. A file does not say whose ids it has: an address
   * decides where there is one, a mail address where there is nothing else, and where a row has
   * none of them, whether it says of a name, and of all else, what a record of the person does.
   * @param byName false: of a row without a name it is enough that it says nothing else
   */
  isRow(row: JsonValue, byName = true): boolean {
    if (!isNested(row)) return false;
    const beside = besideTable(row);
    return this.#isOwn(row, byName) || (beside !== undefined && this.#isOwn(beside, byName));
  }

  #isOwn(row: JsonRecord, byName: boolean): boolean {
    const who = identityIn(row);
    if (who?.address !== undefined) return this.is({ id: undefined, address: who.address }, "");
    if (who?.id !== undefined) return this.#anyIds.includes(who.id);
    if (who?.email !== undefined) return this.#emails.has(who.email);
    return this.#records.some((record) => isSame(row, record, byName));
  }

  /** Whether {@link isRow} may hold for a row with this text. */
  mayBeIn(text: string): boolean {
    const lower = text.toLowerCase();
    const plain = (name: string): boolean => /^[\x21-\x7e]+$/.test(name);
    const names = [...this.#slugs, ...this.addresses.map(slugOf), ...this.#anyIds, ...this.#emails];
    if (names.some((name) => !plain(name) || lower.includes(name.toLowerCase()))) return true;

    const normal = normalForm(text);
    return [...this.#called].some((name) => name.split(" ").every((word) => normal.includes(word)));
  }

  get #anyIds(): readonly string[] {
    return [...this.#ids.values()].flatMap((ids) => [...ids]);
  }

  /** Somebody else, who may have the same mailbox. */
  addOther({ email }: Identity): void {
    if (email !== undefined && this.#emails.delete(email)) this.#shared.add(email);
  }

  /** Whether a row is of somebody else who has the same name. */
  isNamesake(row: JsonValue): boolean {
    const { address, id, names = [] } = identityIn(row) ?? {};
    const isCalledSo = names.some((name) => this.#called.has(name));
    return (address ?? id) !== undefined && !this.isRow(row) && isCalledSo;
  }

  /** @param body a record as JSON text */
  isOf(body: string, service: string): boolean {
    const who = identityIn(parseExact(body));
    return who !== undefined && this.is(who, service);
  }

  /** @returns whether that was new */
  add({ id, address, email, names = [], record }: Identity, service: string): boolean {
    this.#isKnown = true;
    if (record !== undefined && !this.#records.some((known) => isSame(record, known)))
      this.#records.push(record);
    // The word was an id: as the last part of an address it may be somebody else's.
    const isById = id !== undefined && this.#ids.get("")?.has(id) === true;
    if (isById && !this.#slugs.has(slugOf(address ?? ""))) this.#slugs.clear();

    const ids = this.#ids.get(service) ?? new Set<string>();
    this.#ids.set(service, ids);

    const own = email === undefined || this.#shared.has(email) ? undefined : email;
    const news = [
      [ids, id] as const,
      [this.#addresses, address] as const,
      [this.#emails, own] as const,
      ...names.flatMap(spelled).map((name) => [this.#called, name] as const),
    ].filter(([known, one]) => one !== undefined && !known.has(one));
    for (const [known, one] of news) known.add(one ?? "");

    return news.length > 0;
  }

  /** The ids of whom this is, by the service that gave them. */
  get ids(): readonly (readonly [service: string, ids: readonly string[]])[] {
    return [...this.#ids]
      .filter(([service]) => service !== "")
      .map(([service, ids]) => [service, [...ids]]);
  }

  get addresses(): readonly string[] {
    return [...this.#addresses];
  }

  /** The identities of tables that are the person's. */
  get identities(): readonly string[] {
    return [...this.#anyIds, ...this.addresses.map((address) => `@${address}`)];
  }

  /** As the suppression list takes them. */
  get suppressed(): readonly SuppressedName[] {
    const ids = [...new Set(this.#anyIds)].map((id) => ({
      kind: "id" as const,
      id,
      services: this.ids.flatMap(([service, own]) => (own.includes(id) ? service : [])),
    }));
    return [
      ...[...this.#addresses, ...this.#slugs].map((address) => ({
        kind: "address" as const,
        address,
      })),
      ...ids,
    ];
  }

  /**
   * Whether a text (a file, a segment, an error) has an
   * address, its last part, an id or the whole name, as words.
   */
  isNamedIn(text: string, byName = true): boolean {
    const names = [
      ...this.addresses,
      ...this.addresses.map(slugOf),
      ...this.#slugs,
      ...this.#emails,
    ];
    const isIn = (whole: string, some: readonly string[]): boolean =>
      some.some((name) => name.length >= TELLING && hasWord(whole, name));

    // Ids that differ in case alone are two people's.
    if (isIn(text, this.#anyIds) || isIn(text.toLowerCase(), names)) return true;
    const called = byName ? [...this.#called].filter((name) => name.includes(" ")) : [];
    return called.length > 0 && isIn(normalForm(text), called);
  }

  /**
   * Whether filters in a text of JSON name the person: by an address, or by a whole name,
   * also in two filters. Whatever else is the same word names something else.
   */
  isNamedByFilters(json: string): boolean {
    return (json.match(/\{[^{}]*\}/g) ?? []).some((object) => {
      const filters = jsonObject(object);
      const values = (key: string): readonly string[] =>
        [filters[key] ?? []].flat().map((value) => normalForm(String(value)));
      const names = [
        ...values("name"),
        ...values("name_prefix"),
        ...values("first_name").flatMap((first) =>
          values("last_name").map((last) => `${first} ${last}`),
        ),
      ];
      const addresses = [filters.network_url ?? []].flat().map(String);
      return names.some((name) => this.#called.has(name)) || addresses.some(this.#isAt);
    });
  }

  readonly #isAt = (text: string): boolean => {
    const address = canonicalAddress(text) ?? "";
    const slugs = [...this.#slugs, ...this.addresses.map(slugOf)];
    return isSlug(address) ? slugs.includes(address) : this.is({ id: undefined, address }, "");
  };

  /** The same for what somebody named a file, a job or a segment: `jane-doe.csv`, `jane_doe`. */
  isNamedAs(name: string): boolean {
    return spelled(name).some((each) => this.isNamedIn(each));
  }

  /** {@link isNamedIn} for a text that comes in pieces. */
  async isNamedInAll(pieces: AsyncIterable<Uint8Array>): Promise<boolean> {
    const decoder = new TextDecoder();
    // Pieces overlap, so that a name at a border is there whole.
    let tail = "";
    for await (const piece of pieces) {
      const text = tail + decoder.decode(piece, { stream: true });
      if (this.isNamedIn(text) || this.isNamedIn(decodedIn(text))) return true;
      tail = text.slice(-OVERLAP);
    }
    return false;
  }

  /** A fact outside of rows that names the person, coded or not: a cursor, a sentence. */
  isNamedInFact(text: string): boolean {
    return this.isNamedIn(text) || this.isNamedIn(decodedIn(text));
  }

  /**
   * A reply without the person's records, and without what names the person beside rows. What
   * stands in rows of others is theirs.
   * @returns undefined where it has neither
   */
  without(body: Buffer, service: string): Buffer | undefined {
    if (!isJson(body, 0, body.length)) return this.#withoutIn(body, service);
    let count = 0;
    const strip = (value: JsonValue, isInRow = false): JsonValue => {
      if (typeof value === "string" && !isInRow && this.isNamedInFact(value)) {
        count++;
        return null;
      }
      if (Array.isArray(value)) {
        return value.flatMap((one: JsonValue) => {
          const who = identityIn(one);
          if (who === undefined || !this.is(who, service))
            return [strip(one, isInRow || who !== undefined)];
          count++;
          return [];
        });
      }
      if (!isNested(value)) return value;
      const entries = Object.entries(value).map(([name, one]) => [name, strip(one, isInRow)]);
      return Object.fromEntries(entries);
    };

    const after = strip(parseExact(body.toString("utf8")));
    return count === 0 ? undefined : Buffer.from(stringifyExact(after));
  }

  /**
   * The same of a reply that is no JSON: whatever cannot be read and names the person goes whole,
   * and with it what stands beside the rows.
   */
  #withoutIn(body: Buffer, service: string): Buffer | undefined {
    const page = Page.read(body, "person");
    const rows = page.indexes.map((index) => page.text(index));
    const broken = page.broken.map(({ bytes }) => bytes.toString("utf8"));
    const isOfOthers = (text: string): boolean => {
      const who = identityIn(readable(Buffer.from(text)).fields as JsonRecord);
      return !(who && this.is(who, service)) && !this.isNamedInFact(unescaped(text));
    };
    const kept = [
      ...rows.filter((text) => !this.isOf(text, service)),
      ...broken.filter(isOfOthers),
    ];

    const all = unescaped(body.toString("utf8"));
    const others = rows.concat(broken).reduce((rest, row) => rest.replace(unescaped(row), ""), all);
    const isCut = kept.length < rows.length + broken.length;
    if (!isCut && !this.isNamedInFact(others)) return undefined;
    return Buffer.from(`{"result":[${kept.join(",")}]}`);
  }
}

/** A text of broken JSON with its letters as they are read. */
const unescaped = (text: string): string =>
  text
    .replace(/\\u([\da-f]{4})/gi, (_, code: string) => String.fromCharCode(parseInt(code, 16)))
    .replaceAll("\\/", "/");

/** Whom an identity of a table means. */
export const whoIs = (identity: string): Identity =>
  identity.startsWith("@")
    ? { id: undefined, address: identity.slice(1) }
    : { id: identity, address: undefined };

const NAMES = ["name", "first_name", "last_name"];

/** Whether filters name anybody at all, whoever that is: {@link PersonMatcher.isNamedByFilters}. */
export const namesAnybody = (filters: object): boolean =>
  [...NAMES, "name_prefix", "network_url"].some((key) => key in filters);

/** Whether a row says of a name, where that is asked, and of all else a record tells, the same. */
function isSame(row: JsonRecord, record: JsonRecord, byName = true): boolean {
  const told = Object.entries(row).flatMap(([field, value]) => {
    const [cell, own] = [textOf(value), textOf(record[field])];
    return own === undefined && !(field in record) ? [] : [{ field, cell, own }];
  });
  const isAlike = told.every(
    ({ cell, own }) =>
      cell === own ||
      (cell !== undefined && own !== undefined && normalForm(cell) === normalForm(own)) ||
      /^\d{4}-\d{2}-\d{2}|^\d+(?:\.\d+)?$/.test(own ?? ""),
  );

  const said = told.flatMap(({ field, cell }) => (cell === undefined ? [] : field));
  const named = said.filter((field) => NAMES.includes(field));
  return isAlike && (byName ? named.length > 1 || named[0] === "name" : said.length > 0);
}

/** Somebody as a record of a service says. */
export interface Sighting {
  readonly who: Identity;
  readonly service: string;
}

const areOne = (one: Sighting, other: Sighting): boolean =>
  (one.who.address !== undefined && one.who.address === other.who.address) ||
  (one.who.id !== undefined && one.who.id === other.who.id && one.service === other.service);

/**
 * The different people among these: records are of one
 * who share an address, or an id of the same service.
 */
function peopleAmong(sightings: readonly Sighting[]): readonly (readonly Sighting[])[] {
  let people: Sighting[][] = [];
  for (const sighting of sightings) {
    const same = people.filter((person) => person.some((other) => areOne(sighting, other)));
    const others = people.filter((person) => !same.includes(person));
    people = [...others, [...same.flat(), sighting]];
  }
  return people;
}

const nameOf = (person: readonly Sighting[]): string | undefined =>
  person.find(({ who }) => who.address)?.who.address ?? person[0]?.who.id;

/**
 * @throws CliError exit 2 where a word names several people, or addresses
 * of theirs are one in canonical form alone
 */
export function requireOne(word: string, sightings: readonly Sighting[]): void {
  const people = peopleAmong(sightings);
  if (people.length > 1 && !word.includes("/")) throw ambiguous(word, people.map(nameOf));

  for (const one of sightings) {
    const twin = sightings.find(({ who, service }) => isTwin(one, who, service));
    if (twin !== undefined)
      throw ambiguous(
        word,
        [one, twin].map(({ who }) => who.spelled),
      );
  }
}

/** Another id of the same service, at an address that is spelled in another way. */
const isTwin = ({ who, service }: Sighting, other: Identity, at: string): boolean =>
  service === at &&
  who.address !== undefined &&
  who.address === other.address &&
  spellingOf(who) !== spellingOf(other) &&
  who.id !== undefined &&
  other.id !== undefined &&
  who.id !== other.id;

/** Without what an address may have or not: the case of its letters stays. */
const spellingOf = ({ spelled = "" }: Identity): string =>
  spelled
    .trim()
    .replace(/^https?:\/\/(?:www\.)?/i, "")
    .replace(/\/+$/, "");

function ambiguous(word: string, people: readonly (string | undefined)[]): CliError {
  const said = someOf(people.map((name = "") => echo(name)));
  return usageError(
    `"${echo(word)}" names ${people.length} people: ${said}; nothing was changed`,
    "name one as it is listed: by the whole profile address, or where there is none by the id",
    "ambiguous_person",
  );
}

function jsonObject(text: string): Readonly<Record<string, JsonValue>> {
  try {
    const value = parseExact(text);
    return isNested(value) && !Array.isArray(value) ? (value as Record<string, JsonValue>) : {};
  } catch {
    return {};
  }
}
