// Tested by test/unit/output-formats.test.ts.
import { canonicalAddress } from "../../shared/contract/naming/address.ts";
import {
  NOBODY_SUPPRESSED,
  type RecordNames,
  type Suppression,
} from "../../shared/contract/suppression.ts";
import { Page } from "../../shared/rows/page.ts";
import { type Cells, ESCAPED } from "../../shared/rows/scan.ts";
import { QUOTE } from "../../shared/rows/tokens.ts";
import type { RecordKind } from "../../shared/rows/values.ts";

const ADDRESSES: Readonly<Record<RecordKind, readonly string[]>> = {
  person: ["network_url"],
  company: ["company_network_url", "domain"],
};

/** What is kept of an identity: 48 bits of a hash, of which others say where. */
const WORDS = 3;
const FULL = 0.9;

// 7 bytes a row. Two among a million are taken for one with a probability of 2 in 100 million.
class Hashes {
  /** Another behind each that is full: what is kept does not say where it would lie elsewhere. */
  readonly #tables: Uint16Array[] = [];
  #most = 0;
  count = 0;

  constructor(expected: number) {
    this.#extend(Math.max(1_024, expected));
  }

  add(identity: string): boolean {
    const units = Uint16Array.from({ length: identity.length }, (_, at) => identity.charCodeAt(at));
    return this.addUnits(units, 0, units.length) === true;
  }

  /**
   * The identity that is these code units. Of bytes they are those of a text alone that is ASCII.
   * @returns whether it is new; undefined: it is another text
   */
  addUnits(units: Uint16Array | Uint8Array, from: number, to: number): boolean | undefined {
    const most = units.BYTES_PER_ELEMENT === 1 ? 0x7f : 0xffff;
    let a = 0x811c9dc5;
    let b = 0x9747b28c;
    let c = 0x2c1b3c6d;
    for (let at = from; at < to; at++) {
      const code = units[at] as number;
      if (code > most) return undefined;
      a = Math.imul(a ^ code, 0x01000193);
      b = Math.imul(b ^ code, 0x5bd1e995);
      b ^= b >>> 15;
      c = Math.imul(c ^ code, 0x297a2d39);
      c ^= c >>> 13;
    }

    const slot = mix(a ^ (to - from)) >>> 0;
    const kept = mix(b + a);
    // 0 is where nothing is kept.
    const mark = mix(c + b) >>> 16 || 1;

    if (this.count === this.#most) this.#extend(this.count);
    let place = 0;
    for (const table of this.#tables) {
      place = placeIn(table, slot, kept, mark);
      if (place < 0) return false;
    }

    const last = this.#tables.at(-1) ?? new Uint16Array();
    last[place] = kept;
    last[place + 1] = kept >>> 16;
    last[place + 2] = mark;
    this.count++;

    return true;
  }

  #extend(more: number): void {
    this.#tables.push(new Uint16Array(WORDS * Math.ceil(more / FULL)));
    this.#most = this.count + more;
  }
}

/** @returns where there is room for it; less than 0: it is there */
function placeIn(table: Uint16Array, slot: number, kept: number, mark: number): number {
  const [low, high] = [kept & 0xffff, kept >>> 16];
  let at = WORDS * (slot % (table.length / WORDS));
  while (table[at + 2] !== 0) {
    if (table[at] === low && table[at + 1] === high && table[at + 2] === mark) return -1;
    at = at + WORDS === table.length ? 0 : at + WORDS;
  }
  return at;
}

/** The finishing step of MurmurHash3. */
function mix(value: number): number {
  let hash = value;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}

/**
 * Lets no row through twice, nor anybody who is suppressed: every output is made of what comes out.
 */
export class Distinct {
  readonly #hashes: Hashes;
  readonly #kind: RecordKind;
  readonly #suppression: Suppression;
  suppressed = 0;
  duplicates = 0;
  repeatedPages = 0;
  #unnamed = 0;

  constructor(kind: RecordKind, expected: number, suppression: Suppression = NOBODY_SUPPRESSED) {
    this.#kind = kind;
    this.#suppression = suppression;
    this.#hashes = new Hashes(Math.min(expected, 10_000_000));
  }

  get distinct(): number {
    return this.#hashes.count + this.#unnamed;
  }

  take(page: Page): Page {
    const fresh: number[] = [];
    const key = page.cells?.keys.indexOf("id") ?? -1;
    for (let index = 0; index < page.length; index++) {
      const isNew = this.#addCopied(page.cells, page.position(index), key);
      if (isNew === true) fresh.push(index);
      if (isNew !== undefined) continue;

      const identity = identityOf(page, index, this.#kind);
      if (identity === undefined) this.#unnamed++;
      else if (!this.#hashes.add(identity)) continue;
      fresh.push(index);
    }

    const again = page.length - fresh.length;
    this.duplicates += again;
    if (again > 0 && fresh.length === 0 && page.length > 1) this.repeatedPages++;

    const distinct = again === 0 ? page : page.select(fresh);
    const rest = shown(distinct, this.#kind, this.#suppression);
    this.suppressed += distinct.length - rest.length;

    return rest;
  }

  /** By its bytes, where its id is a plain text: no text is made of each. */
  #addCopied(cells: Cells | undefined, row: number, key: number): boolean | undefined {
    if (cells === undefined || key < 0 || !cells.knows(row)) return undefined;
    const start = cells.start(row, key);
    const mark = cells.mark(row, key);
    const isPlain = cells.bytes[start] === QUOTE && (mark & ESCAPED) === 0;
    if (start === 0 || !isPlain || (mark >> 2) - start <= 2) return undefined;
    return this.#hashes.addUnits(cells.bytes, start + 1, (mark >> 2) - 1);
  }
}

/** Its own `id`, else `@` and its canonical profile address; undefined where it has neither. */
export function identityOf(page: Page, index: number, kind: RecordKind): string | undefined {
  const id = page.identity(index, ["id"]);
  if (id !== undefined) return id;
  const address = page.identity(index, ADDRESSES[kind]);
  return address === undefined ? undefined : `@${canonicalAddress(address) ?? address}`;
}

interface PaidRows {
  readonly plan: { readonly command: string };
  readonly state: { readonly rows: number };
  readonly suppression: Suppression;
  pages(): AsyncIterable<{ readonly body: Buffer }>;
}

export const kindOf = ({ plan }: Pick<PaidRows, "plan">): RecordKind =>
  plan.command === "enrich" ? "company" : "person";

/** Every row once, in the output's order. */
export async function* distinctPages(run: PaidRows): AsyncGenerator<Page> {
  const kind = kindOf(run);
  const distinct = new Distinct(kind, run.state.rows, run.suppression);
  for await (const { body } of run.pages()) yield distinct.take(Page.read(body, kind));
}

/** An id names a person only: companies have ids of their own. */
const namedBy = (page: Page, index: number, kind: RecordKind): RecordNames =>
  kind === "person"
    ? {
        id: page.identity(index, ["id"]),
        address: page.identity(index, ["network_url"]),
        domain: page.identity(index, ["company_domain"]),
      }
    : {
        address: page.identity(index, ["company_network_url"]),
        domain: page.identity(index, ["domain"]),
      };

export function suppressedIn(page: Page, kind: RecordKind, suppression: Suppression): number[] {
  if (suppression.isEmpty) return [];
  const rows = Array.from({ length: page.length }, (_, index) => index);
  return rows.filter((index) => suppression.hides(namedBy(page, index, kind)));
}

export function shown(page: Page, kind: RecordKind, suppression: Suppression): Page {
  const hidden = new Set(suppressedIn(page, kind, suppression));
  if (hidden.size === 0) return page;
  return page.select(
    Array.from({ length: page.length }, (_, index) => index).filter((index) => !hidden.has(index)),
  );
}
