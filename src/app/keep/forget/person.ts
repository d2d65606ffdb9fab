import { canonicalAddress, isSlug, normalForm, slugOf } from "../../../shared/contract/normalise.ts";
import { isNested, type JsonValue, parseExact, stringifyExact, WRAPPERS } from "../../../shared/rows/values.ts";

/** What a record says of who it is. */
export interface Identity {
  readonly id: string | undefined;
  /** Canonical. */
  readonly address: string | undefined;
  /** What the person is called: tells nobody from others of the same name. */
  readonly name?: string | undefined;
}

const textOf = (value: JsonValue | undefined): string | undefined =>
  value === undefined || value === null || value === "" || typeof value === "object" ? undefined : String(value);

/** Who a value is a record of, also where it wraps the record. */
export function identityIn(value: JsonValue): Identity | undefined {
  if (!isNested(value)) return undefined;
  const address = textOf(value.network_url);
  const id = textOf(value.id);
  if (id === undefined && address === undefined) {
    const inner = WRAPPERS.map((name) => value[name]).find((one) => one !== undefined);
    return inner === undefined ? undefined : identityIn(inner);
  }
  const name = textOf(value.name);
  return { id, address: address === undefined ? undefined : (canonicalAddress(address) ?? address), name };
}

/** Ids that are shorter are in a text by chance. */
const TELLING = 6;

/** Somebody by every name that is known: grows with each record of theirs that is found. */
export class Person {
  readonly #addresses = new Set<string>();
  readonly #slugs = new Set<string>();
  /** By service, since another service may give the same id to somebody else; "" is every service. */
  readonly #ids = new Map<string, Set<string>>();

  /** Whole ones, in normal form. */
  readonly #called = new Set<string>();

  /** @param word a profile address, its last part, or an id */
  constructor(word: string) {
    const address = canonicalAddress(word);
    if (address !== undefined && isSlug(address)) this.#slugs.add(address);
    else if (address !== undefined) this.#addresses.add(address);
    if (!word.includes("/")) this.#ids.set("", new Set([word.trim()]));
  }

  is({ id, address }: Identity, service: string): boolean {
    const known = [this.#ids.get(""), this.#ids.get(service)];
    if (id !== undefined && known.some((ids) => ids?.has(id) === true)) return true;
    return address !== undefined && (this.#addresses.has(address) || this.#slugs.has(slugOf(address)));
  }

  /** @param body a record as JSON text */
  isOf(body: string, service: string): boolean {
    const who = identityIn(parseExact(body));
    return who !== undefined && this.is(who, service);
  }

  /** @returns whether that was new */
  add({ id, address, name }: Identity, service: string): boolean {
    const ids = this.#ids.get(service) ?? new Set<string>();
    this.#ids.set(service, ids);
    const fresh = (id !== undefined && !ids.has(id)) || (address !== undefined && !this.#addresses.has(address));
    if (id !== undefined) ids.add(id);
    if (address !== undefined) this.#addresses.add(address);
    const called = normalForm(name ?? "");
    if (called.length >= TELLING && called.includes(" ")) this.#called.add(called);
    return fresh;
  }

  /** The ids of whom this is, by the service that gave them. */
  get ids(): readonly (readonly [service: string, ids: readonly string[]])[] {
    return [...this.#ids].filter(([service]) => service !== "").map(([service, ids]) => [service, [...ids]]);
  }

  get addresses(): readonly string[] {
    return [...this.#addresses];
  }

  /** As the suppression list takes them. */
  get words(): readonly { readonly word: string; readonly kind: "id" | "address" }[] {
    const ids = new Set([...this.#ids.values()].flatMap((some) => [...some]));
    return [
      ...[...this.#addresses, ...this.#slugs].map((word) => ({ word, kind: "address" as const })),
      ...[...ids].map((word) => ({ word, kind: "id" as const })),
    ];
  }

  /** Whether a text has one of the addresses, their last parts or the ids. */
  isIn(text: string): boolean {
    const lower = text.toLowerCase();
    const ids = [...this.#ids.values()].flatMap((some) => [...some]);
    const names = [...this.#addresses, ...[...this.#addresses].map(slugOf), ...this.#slugs, ...ids];
    return names.some((name) => name.length >= TELLING && lower.includes(name.toLowerCase()));
  }

  /** Whether what was asked for has one of those, or the person's whole name: filters ask for people by it. */
  isNamedIn(question: string): boolean {
    if (this.isIn(question)) return true;
    const text = normalForm(question);
    return [...this.#called].some((name) => text.includes(name));
  }

  /** A reply without the person's records. @returns undefined where it has none */
  without(body: Buffer, service: string): Buffer | undefined {
    let found = 0;
    const left = (value: JsonValue): JsonValue => {
      if (Array.isArray(value)) {
        return value.flatMap((one: JsonValue) => {
          const who = identityIn(one);
          if (who === undefined || !this.is(who, service)) return [left(one)];
          found++;
          return [];
        });
      }
      if (!isNested(value)) return value;
      return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, left(one)]));
    };
    const after = left(parseExact(body.toString("utf8")));
    return found === 0 ? undefined : Buffer.from(stringifyExact(after));
  }
}
