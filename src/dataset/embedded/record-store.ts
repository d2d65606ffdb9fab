import { join } from "node:path";
import { DatabaseSync, type DatabaseSyncInstance, type StatementSyncInstance } from "@photostructure/sqlite";
import { COMPANY_FIELDS, PERSON_FIELDS } from "../../contract/records.ts";
import type { TextIndex } from "../columns.ts";
import type { CompanyLookup, FoundCompany } from "../engine.ts";
import { FILES } from "../layout.ts";
import { RowReader, type RowReaderOptions } from "./row-reader.ts";

/** Between the values of a stored record. JSON never contains it, and values without field names are half the size. */
export const SEPARATOR = "\x1f";

const openings = (fields: readonly string[]): string[] =>
  fields.map((field, index) => `${index === 0 ? "{" : ","}${JSON.stringify(field)}:`);
const PERSON_OPENINGS = openings(PERSON_FIELDS);
const COMPANY_OPENINGS = openings(COMPANY_FIELDS);

/** The record as JSON text, fields in published order. @throws Error where the stored row is damaged */
function expand(packed: string, names: readonly string[]): string {
  const values = packed.split(SEPARATOR);
  if (values.length !== names.length)
    throw new Error(`a stored record has ${values.length} values, not ${names.length}`);
  let text = "";
  for (let index = 0; index < names.length; index++) text += `${names[index]}${values[index]}`;
  return `${text}}`;
}

export const packedSql = (fields: readonly string[], column: (field: string) => string = (field) => field): string =>
  `concat(${fields.map((field) => `coalesce(to_json(${column(field)})::VARCHAR, 'null')`).join(", chr(31), ")})`;

/** Every so many entries of an index are marked with the number before it: a count between two keys looks at two marks. */
const MARK_EVERY = 256;

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
  readonly #indexes: Readonly<Record<TextIndex, IndexWriter>>;
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
    this.#indexes = { name: this.#index("name"), headline: this.#index("headline") };
  }

  #index(name: TextIndex): IndexWriter {
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

  addKey(index: TextIndex, key: string, rid: number): void {
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

/** Values of a key, or a range of it by code points (SQLite compares the bytes of UTF-8). */
export type KeyRange =
  | { readonly values: readonly string[] }
  | { readonly from: string; readonly before: string | undefined };

/** Reads `records.db`. Every call is a few look-ups by key, on this thread while they are quick: see {@link RowReader}. */
export class RecordStore {
  readonly #rows: RowReader;

  constructor(folder: string, options: RowReaderOptions = {}) {
    this.#rows = new RowReader(join(folder, FILES.records), options);
  }

  /** The records at these positions, in this order. @throws Error where one is missing */
  async people(rids: Uint32Array): Promise<string[]> {
    const rows = await this.#rows.all(PEOPLE_QUERY, `[${rids.join(",")}]`);
    if (rows.length !== rids.length) throw new Error(`the row store has ${rows.length} of ${rids.length} records`);
    return rows.map(({ doc }) => expand(String(doc), PERSON_OPENINGS));
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

  /** Positions in no order; undefined where there are more than `most`, of values too: that is for a table that is read in bulk. */
  async find(index: TextIndex, wanted: KeyRange, most: number): Promise<Uint32Array | undefined> {
    const table = `people_by_${index}`;
    if ("values" in wanted && wanted.values.length > most) return undefined;
    const rids: number[] = [];
    const add = async (sql: string, ...values: readonly string[]): Promise<void> => {
      for (const { rid } of await this.#rows.all(`${sql} LIMIT ${most + 1}`, ...values)) rids.push(Number(rid));
    };
    if ("values" in wanted) {
      for (const value of wanted.values) {
        await add(`SELECT rid FROM ${table} WHERE key = ?`, value);
        if (rids.length > most) break;
      }
    } else if (wanted.before === undefined) await add(`SELECT rid FROM ${table} WHERE key >= ?`, wanted.from);
    else await add(`SELECT rid FROM ${table} WHERE key >= ? AND key < ?`, wanted.from, wanted.before);
    return rids.length > most ? undefined : Uint32Array.from(rids);
  }

  /** How many {@link find} would find, without looking at each; undefined for more values than `most`. */
  async count(index: TextIndex, wanted: KeyRange, most: number): Promise<number | undefined> {
    if ("values" in wanted) {
      if (wanted.values.length > most) return undefined;
      let sum = 0;
      for (const value of wanted.values) sum += await this.#countOf(index, value);
      return sum;
    }
    const { from, before } = wanted;
    const end = before === undefined ? await this.#entries(index) : await this.#countBelow(index, "<", before);
    return end - (await this.#countBelow(index, "<", from));
  }

  async #countOf(index: TextIndex, value: string): Promise<number> {
    const few = `SELECT count(*) AS n FROM (SELECT 1 FROM people_by_${index} WHERE key = ? LIMIT ${MARK_EVERY})`;
    const count = Number((await this.#rows.get(few, value))?.n);
    if (count < MARK_EVERY) return count;
    return (await this.#countBelow(index, "<=", value)) - (await this.#countBelow(index, "<", value));
  }

  /** Entries below a key (or up to it): those before the last mark below it, and those from there on. */
  async #countBelow(index: TextIndex, below: "<" | "<=", key: string): Promise<number> {
    const row = await this.#rows.get(
      `SELECT before +
        (SELECT count(*) FROM people_by_${index} AS p WHERE (p.key, p.rid) >= (m.key, m.rid) AND p.key ${below} ?1) AS n
      FROM (SELECT key, rid, before FROM marks_by_${index} WHERE key ${below} ?1 ORDER BY key DESC, rid DESC LIMIT 1) AS m`,
      key,
    );
    return Number(row?.n ?? 0);
  }

  async #entries(index: TextIndex): Promise<number> {
    const row = await this.#rows.get(`SELECT before +
        (SELECT count(*) FROM people_by_${index} AS p WHERE (p.key, p.rid) >= (m.key, m.rid)) AS n
      FROM (SELECT key, rid, before FROM marks_by_${index} ORDER BY key DESC, rid DESC LIMIT 1) AS m`);
    return Number(row?.n ?? 0);
  }

  rows(table: "people" | "companies" | `people_by_${TextIndex}`): number {
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
