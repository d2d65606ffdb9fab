// Tested by test/unit/output-formats.test.ts.
import { canonicalAddress } from "../../shared/contract/naming/address.ts";
import {
  NOBODY_SUPPRESSED,
  type RecordNames,
  type Suppression,
} from "../../shared/contract/suppression.ts";
import { identityHash } from "../../shared/rows/hashes.ts";
import { Page } from "../../shared/rows/page.ts";
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
  /** Of which each is full: what is kept does not say where it would lie elsewhere. */
  readonly #full: Uint16Array[] = [];
  #table: Uint16Array;
  #most: number;
  count = 0;

  constructor(expected: number) {
    this.#most = Math.max(1_024, expected);
    this.#table = tableFor(this.#most);
  }

  /** @returns whether it is new */
  add(place: number, kept: number, mark: number): boolean {
    if (this.count === this.#most) {
      this.#full.push(this.#table);
      this.#table = tableFor(this.count);
      this.#most += this.count;
    }

    const isIn = (table: Uint16Array): boolean => placeIn(table, place, kept, mark) < 0;
    if (this.#full.some(isIn)) return false;
    const at = placeIn(this.#table, place, kept, mark);
    if (at < 0) return false;

    this.#table[at] = kept;
    this.#table[at + 1] = kept >>> 16;
    this.#table[at + 2] = mark;
    this.count++;

    return true;
  }
}

const tableFor = (rows: number): Uint16Array => new Uint16Array(WORDS * Math.ceil(rows / FULL));

/** @returns where there is room for it; less than 0: it is there */
function placeIn(table: Uint16Array, place: number, kept: number, mark: number): number {
  const low = kept & 0xffff;
  const high = kept >>> 16;
  // Of whole numbers both: of others a remainder takes ten times as long.
  let at = WORDS * ((place >>> 0) % ((table.length / WORDS) >>> 0)) - WORDS;
  for (;;) {
    at += WORDS;
    if (at === table.length) at = 0;
    const held = table[at + 2];
    if (held === 0) return at;
    if (held === mark && table[at] === low && table[at + 1] === high) return -1;
  }
}

/**
 * Lets no row through twice, nor anybody who is suppressed: every output is made of what comes out.
 * One id beside another address is another person: some services number the places of a page.
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
    const again = new Set<number>();
    const ids = page.cells?.ids;
    for (let index = 0; index < page.length; index++) {
      const at = 3 * page.position(index);
      const mark = ids?.[at + 2];
      const isNew =
        ids && mark
          ? this.#hashes.add(ids[at] ?? 0, ids[at + 1] ?? 0, mark)
          : this.#takeNamed(page, index);
      if (!isNew) again.add(index);
    }

    this.duplicates += again.size;
    if (page.length > 1 && again.size === page.length) this.repeatedPages++;

    const distinct = without(page, again);
    const rest = shown(distinct, this.#kind, this.#suppression);
    this.suppressed += distinct.length - rest.length;

    return rest;
  }

  #takeNamed(page: Page, index: number): boolean {
    const id = page.identity(index, ["id"]);
    const identity = id ?? identityOf(page, index, this.#kind);
    if (identity === undefined) {
      this.#unnamed++;
      return true;
    }

    const address = id && page.identity(index, ["network_url"]);
    return this.#hashes.add(...identityHash(identity, address));
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
  return page.indexes.filter((index) => suppression.hides(namedBy(page, index, kind)));
}

export const shown = (page: Page, kind: RecordKind, suppression: Suppression): Page =>
  without(page, new Set(suppressedIn(page, kind, suppression)));

function without(page: Page, rows: ReadonlySet<number>): Page {
  if (rows.size === 0) return page;
  return page.select(page.indexes.filter((index) => !rows.has(index)));
}
