import { join } from "node:path";
import { DatabaseSync, type DatabaseSyncInstance, type StatementSyncInstance } from "@photostructure/sqlite";
import { COMPANY_FIELDS, PERSON_FIELDS } from "../../contract/records.ts";
import { ROW_INDEXES, type RowIndex } from "../columns.ts";
import type { CompanyLookup, FoundCompany } from "../engine.ts";
import { FILES } from "../layout.ts";
import type { FieldsOf, KeyRange, RangeOfKeys } from "./keys.ts";
import { RowReader, type RowReaderOptions } from "./row-reader.ts";

/** Between the values of a stored record. JSON never contains it, and values without field names are half the size. */
export const SEPARATOR = "\x1f";

const openings = (fields: readonly string[]): string[] =>
  fields.map((field, index) => `${index === 0 ? "{" : ","}${JSON.stringify(field)}:`);
const PLACES: ReadonlyMap<string, number> = new Map(PERSON_FIELDS.map((field, place) => [field, place]));
const PERSON_OPENINGS = openings(PERSON_FIELDS);
const COMPANY_OPENINGS = openings(COMPANY_FIELDS);

/** The values of a record, each as JSON text. @throws Error where the stored row is damaged */
function unpack(packed: string, fields: number): string[] {
  const values = packed.split(SEPARATOR);
  if (values.length !== fields) throw new Error(`a stored record has ${values.length} values, not ${fields}`);
  return values;
}

/** The record as JSON text, fields in published order. */
function expand(packed: string, names: readonly string[]): string {
  const values = unpack(packed, names.length);
  let text = "";
  for (let index = 0; index < names.length; index++) text += `${names[index]}${values[index]}`;
  return `${text}}`;
}

export const packedSql = (fields: readonly string[], column: (field: string) => string = (field) => field): string =>
  `concat(${fields.map((field) => `coalesce(to_json(${column(field)})::VARCHAR, 'null')`).join(", chr(31), ")})`;

/** Every so many entries of an index are marked with the number before it: a count between two keys looks at two marks. */
const MARK_EVERY = 256;

/** Keys that are looked up in one statement, and entries that are read by one: about a millisecond each. */
const KEYS_AT_ONCE = 250;
const ENTRIES_AT_ONCE = 2_000;

export interface CompanyRow {
  readonly id: string;
  readonly name: string | null;
  readonly domain: string | null;
  readonly address: string | null;
  readonly slug: string | null;
  readonly doc: string;
}

interface IndexWriter {
  readonly entry: StatementSyncInstance;
  readonly mark: StatementSyncInstance;
  entries: number;
}

/** Writes `records.db`: people and companies are given in the order of their positions. */
export class RecordWriter {
  readonly #db: DatabaseSyncInstance;
  readonly #person: StatementSyncInstance;
  readonly #company: StatementSyncInstance;
  readonly #indexes: Readonly<Record<RowIndex, IndexWriter>>;
  #people = 0;
  #companies = 0;

  constructor(folder: string) {
    this.#db = new DatabaseSync(join(folder, FILES.records));
    // No journal on disk: the file is built apart from readers and flushed whole before it is published.
    this.#db.exec(`PRAGMA page_size = 8192; PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA cache_size = -65536;
      CREATE TABLE people (rid INTEGER PRIMARY KEY, doc TEXT NOT NULL);
      CREATE TABLE companies (seq INTEGER PRIMARY KEY, id TEXT NOT NULL, name TEXT, domain TEXT, address TEXT, slug TEXT, doc TEXT NOT NULL);
      BEGIN`);
    this.#person = this.#db.prepare("INSERT INTO people VALUES (?, ?)");
    this.#company = this.#db.prepare("INSERT INTO companies VALUES (?, ?, ?, ?, ?, ?, ?)");
    const indexes = ROW_INDEXES.map((name) => [name, this.#index(name)] as const);
    this.#indexes = Object.fromEntries(indexes) as Record<RowIndex, IndexWriter>;
  }

  #index(name: RowIndex): IndexWriter {
    this.#db.exec(`CREATE TABLE people_by_${name} (key TEXT, rid INTEGER, PRIMARY KEY (key, rid)) WITHOUT ROWID;
      CREATE TABLE marks_by_${name} (key TEXT, rid INTEGER, before INTEGER, PRIMARY KEY (key, rid)) WITHOUT ROWID`);
    return {
      entry: this.#db.prepare(`INSERT INTO people_by_${name} VALUES (?, ?)`),
      mark: this.#db.prepare(`INSERT INTO marks_by_${name} VALUES (?, ?, ?)`),
      entries: 0,
    };
  }

  addPerson(doc: string): void {
    this.#person.run(this.#people++, doc);
  }

  addCompany(row: CompanyRow): void {
    this.#company.run(this.#companies++, row.id, row.name, row.domain, row.address, row.slug, row.doc);
  }

  addKey(index: RowIndex, key: string, rid: number): void {
    const writer = this.#indexes[index];
    if (writer.entries % MARK_EVERY === 0) writer.mark.run(key, rid, writer.entries);
    writer.entry.run(key, rid);
    writer.entries++;
  }

  finish(): void {
    this.#db.exec(`CREATE UNIQUE INDEX company_id ON companies (id);
      CREATE INDEX company_domain ON companies (domain) WHERE domain IS NOT NULL;
      CREATE INDEX company_slug ON companies (slug) WHERE slug IS NOT NULL;
      CREATE INDEX company_name ON companies (name) WHERE name IS NOT NULL;
      COMMIT`);
    this.#db.close();
  }

  abandon(): void {
    this.#db.close();
  }
}

export interface StoredCompany extends FoundCompany {
  /** Position in the order of ids; what employees refer to. */
  readonly seq: number;
  readonly address: string | undefined;
}

const PEOPLE_QUERY = "SELECT p.doc AS doc FROM json_each(?) AS wanted JOIN people AS p ON p.rid = wanted.value";
const COMPANY_QUERIES = {
  id: "SELECT seq, id, address, doc FROM companies WHERE id = ?",
  domain: "SELECT seq, id, address, doc FROM companies WHERE domain = ? ORDER BY seq LIMIT 1",
  name: "SELECT seq, id, address, doc FROM companies WHERE name = ? ORDER BY seq LIMIT 1",
  slug: "SELECT seq, id, address, doc FROM companies WHERE slug = ? ORDER BY seq LIMIT 1",
  address: "SELECT seq, id, address, doc FROM companies WHERE slug = ? AND address = ? ORDER BY seq LIMIT 1",
} as const;

/** Reads `records.db`. Every call is a few look-ups by key, on this thread while they are quick: see {@link RowReader}. */
export class RecordStore {
  readonly #rows: RowReader;

  constructor(folder: string, options: RowReaderOptions = {}) {
    this.#rows = new RowReader(join(folder, FILES.records), options);
  }

  /** The records at these positions, in this order. @throws Error where one is missing */
  async people(rids: Uint32Array): Promise<string[]> {
    return (await this.#packed(rids)).map((packed) => expand(packed, PERSON_OPENINGS));
  }

  /** The same to look at a few fields, of which each is parsed by itself: reading all would take most of the time. */
  async fields(rids: Uint32Array): Promise<FieldsOf[]> {
    return (await this.#packed(rids)).map((packed) => {
      const values = unpack(packed, PERSON_FIELDS.length);
      return (field) => JSON.parse(values[PLACES.get(field) ?? -1] ?? "null");
    });
  }

  async #packed(rids: Uint32Array): Promise<string[]> {
    const rows = await this.#rows.all(PEOPLE_QUERY, `[${rids.join(",")}]`);
    if (rows.length !== rids.length) throw new Error(`the row store has ${rows.length} of ${rids.length} records`);
    return rows.map(({ doc }) => String(doc));
  }

  async company(lookup: CompanyLookup): Promise<StoredCompany | undefined> {
    if (lookup.by !== "company_network_url") return this.#find(COMPANY_QUERIES[lookup.by], lookup.value);
    const slash = lookup.value.lastIndexOf("/");
    const slug = lookup.value.slice(slash + 1);
    if (slash < 0) return this.#find(COMPANY_QUERIES.slug, slug);
    const whole = await this.#find(COMPANY_QUERIES.address, slug, lookup.value);
    // A company of which only the slug is known may be this one.
    return whole ?? this.#find(COMPANY_QUERIES.address, slug, slug);
  }

  async #find(sql: string, ...values: readonly string[]): Promise<StoredCompany | undefined> {
    const row = await this.#rows.get(sql, ...values);
    return (
      row && {
        seq: Number(row.seq),
        id: String(row.id),
        address: typeof row.address === "string" ? row.address : undefined,
        record: expand(String(row.doc), COMPANY_OPENINGS),
      }
    );
  }

  /** Every company in the order of ids, with its look-up keys; '' where it has none. For copying a dataset elsewhere. */
  *companies(): Generator<Record<string, string | number>> {
    const rows = this.#rows.db.prepare("SELECT seq, id, name, domain, address, slug, doc FROM companies ORDER BY seq");
    for (const row of rows.iterate()) {
      const { doc, name, domain, address, slug, ...rest } = row;
      const keys = { name: name ?? "", domain: domain ?? "", address: address ?? "", slug: slug ?? "" };
      yield { ...rest, ...keys, record: expand(doc, COMPANY_OPENINGS) };
    }
  }

  /** Positions in no order, in pieces of about a millisecond. The same one may come twice where it is wanted twice. */
  async *find(index: RowIndex, wanted: KeyRange): AsyncGenerator<readonly number[]> {
    if (!("values" in wanted)) {
      yield* this.#between(index, wanted.from, "<", wanted.before);
      return;
    }
    const sql = `SELECT p.rid AS rid FROM json_each(?) AS wanted CROSS JOIN people_by_${index} AS p ON p.key = wanted.value
      LIMIT ${ENTRIES_AT_ONCE}`;
    for (let start = 0; start < wanted.values.length; start += KEYS_AT_ONCE) {
      const keys = wanted.values.slice(start, start + KEYS_AT_ONCE);
      const rows = await this.#rows.all(sql, JSON.stringify(keys));
      if (rows.length < ENTRIES_AT_ONCE) yield rows.map(({ rid }) => Number(rid));
      else for (const key of keys) yield* this.#between(index, key, "<=", key);
    }
  }

  /** Entries from a key on, up to (or below) another. */
  async *#between(
    index: RowIndex,
    from: string,
    below: "<" | "<=",
    to: string | undefined,
  ): AsyncGenerator<readonly number[]> {
    const end = to === undefined ? [] : [to];
    const sql = `SELECT key, rid FROM people_by_${index} WHERE (key, rid) > (?, ?)${to === undefined ? "" : ` AND key ${below} ?`}
      ORDER BY key, rid LIMIT ${ENTRIES_AT_ONCE}`;
    let after: readonly [string, number] = [from, -1];
    for (;;) {
      const rows = await this.#rows.all(sql, ...after, ...end);
      yield rows.map(({ rid }) => Number(rid));
      const last = rows.at(-1);
      if (last === undefined || rows.length < ENTRIES_AT_ONCE) return;
      after = [String(last.key), Number(last.rid)];
    }
  }

  /** How many {@link find} would find, without looking at each; undefined for more values than `most`. */
  async count(index: RowIndex, wanted: KeyRange, most: number): Promise<number | undefined> {
    if ("values" in wanted) {
      if (wanted.values.length > most) return undefined;
      let sum = 0;
      for (const value of wanted.values) sum += await this.#countOf(index, value);
      return sum;
    }
    const [first, end] = await this.places(index, wanted);
    return end - first;
  }

  /** Which entries, counted from 0 in the order of the index, lie in a range: from the first to before the second. */
  async places(index: RowIndex, { from, before }: RangeOfKeys): Promise<readonly [number, number]> {
    const end = before === undefined ? await this.#entries(index) : await this.#countBelow(index, "<", before);
    return [await this.#countBelow(index, "<", from), end];
  }

  async #countOf(index: RowIndex, value: string): Promise<number> {
    const few = `SELECT count(*) AS n FROM (SELECT 1 FROM people_by_${index} WHERE key = ? LIMIT ${MARK_EVERY})`;
    const count = Number((await this.#rows.get(few, value))?.n);
    if (count < MARK_EVERY) return count;
    return (await this.#countBelow(index, "<=", value)) - (await this.#countBelow(index, "<", value));
  }

  /** Entries below a key (or up to it): those before the last mark below it, and those from there on. */
  async #countBelow(index: RowIndex, below: "<" | "<=", key: string): Promise<number> {
    const row = await this.#rows.get(
      `SELECT before +
        (SELECT count(*) FROM people_by_${index} AS p WHERE (p.key, p.rid) >= (m.key, m.rid) AND p.key ${below} ?1) AS n
      FROM (SELECT key, rid, before FROM marks_by_${index} WHERE key ${below} ?1 ORDER BY key DESC, rid DESC LIMIT 1) AS m`,
      key,
    );
    return Number(row?.n ?? 0);
  }

  async #entries(index: RowIndex): Promise<number> {
    const row = await this.#rows.get(`SELECT before +
        (SELECT count(*) FROM people_by_${index} AS p WHERE (p.key, p.rid) >= (m.key, m.rid)) AS n
      FROM (SELECT key, rid, before FROM marks_by_${index} ORDER BY key DESC, rid DESC LIMIT 1) AS m`);
    return Number(row?.n ?? 0);
  }

  /** Entries of an index for a person that it has twice, or that there is not. */
  astray(index: RowIndex, people: number): number {
    const sql = `SELECT count(*) - count(DISTINCT CASE WHEN rid < ? THEN rid END) AS n FROM people_by_${index}`;
    return Number(this.#rows.db.prepare(sql).get(people).n);
  }

  rows(table: "people" | "companies" | `people_by_${RowIndex}`): number {
    return Number(this.#rows.db.prepare(`SELECT count(*) AS n FROM ${table}`).get().n);
  }

  check(): string[] {
    const rows: { integrity_check: string }[] = this.#rows.db.prepare("PRAGMA integrity_check(5)").all();
    return rows.map((row) => row.integrity_check).filter((text) => text !== "ok");
  }

  close(): Promise<void> {
    return this.#rows.close();
  }
}
