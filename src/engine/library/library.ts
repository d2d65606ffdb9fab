import type { DatabaseSyncInstance, StatementSyncInstance } from "@photostructure/sqlite";
import { canonicalAddress } from "../../shared/contract/naming/address.ts";
import { isSlug } from "../../shared/contract/naming/slug.ts";
import { normalForm } from "../../shared/contract/normalise.ts";
import { NOBODY_SUPPRESSED, type Suppression } from "../../shared/contract/suppression.ts";
import type { CanonicalFilters, FilterKeySpec } from "../../shared/contract/vocabulary.ts";
import { usageError } from "../../shared/errors.ts";
import { Page } from "../../shared/rows/page.ts";
import { suppressedIn } from "../output/distinct.ts";
import { fieldsOf, type PastPurchase, recordStatesOf, TAKEN_IN } from "./history.ts";
import { Lists } from "./lists.ts";
import { matching } from "./members.ts";
import { normalValues, PERSON_COLUMNS } from "./person.ts";
import { FORMAT, SCHEMA, SHOWN } from "./schema.ts";
import { AMONG, firstRow, inTransaction, openToWrite, queryRows } from "./sqlite.ts";

const NOBODY = -(2 ** 40);

const COLUMNS = ["n", "identity", "record", "bought_at", "bought_by", ...PERSON_COLUMNS];
const PUT =
  `INSERT OR REPLACE INTO person (${COLUMNS.join(", ")}) ` +
  `VALUES (${COLUMNS.map(() => "?").join(", ")})`;

const ADDRESS = PERSON_COLUMNS.indexOf("network_url_slug");

type Known = Record<"n" | "at" | "files", number> & Record<"name" | "by", string>;

/** By what they are known, or by the address where one of the two has no id. */
const KNOWN_AS = `SELECT n, iif(identity GLOB '@*', ?1, identity) AS name,
  bought_at AS at, bought_by AS by, ?4 GLOB '${TAKEN_IN}*' OR EXISTS
    (SELECT 1 FROM purchase WHERE person = n AND run GLOB '${TAKEN_IN}*') AS files FROM person
  WHERE identity = ?1 OR (network_url_slug = ?2 AND network_url_address = ?3
    AND '@' IN (substr(identity, 1, 1), substr(?1, 1, 1)))
  ORDER BY identity = ?1 DESC, n LIMIT 1`;

/** Its record as JSON text, as it came, its price in millionths of a credit. */
export interface NewRow extends Pick<PastPurchase, "position" | "price" | "record"> {
  readonly identity: string;
  /** One value for each of {@link PERSON_COLUMNS}. */
  readonly values: readonly (string | number | null)[];
}

export interface PaidPage extends Pick<PastPurchase, "run" | "unit" | "at"> {
  readonly rows: readonly NewRow[];
  /** In millionths, what the rows cost that are forgotten since. */
  readonly forgotten?: readonly bigint[];
}

export interface BoughtRun {
  readonly id: string;
  readonly command: string;
  readonly target: string;
  readonly datasetVersion: string | null;
  readonly output: string | null;
  readonly createdAt: string;
  /** Epoch milliseconds; null while it goes on. */
  readonly finishedAt: number | null;
}

/** Everybody ever bought from a service, once. Answers filters as the service does. */
export class Library {
  readonly path: string;
  readonly database: DatabaseSyncInstance;
  readonly lists: Lists;
  readonly #suppression: Suppression;
  readonly #touched = new Set<number>();
  readonly #statements = new Map<string, StatementSyncInstance>();

  private constructor(path: string, database: DatabaseSyncInstance, suppression: Suppression) {
    this.path = path;
    this.database = database;
    this.lists = new Lists(database);
    this.#suppression = suppression;
  }

  /** Made where it is not there. @throws CliError (exit 2) where another version wrote it */
  static async open(path: string, suppression: Suppression = NOBODY_SUPPRESSED): Promise<Library> {
    const database = await openToWrite(path);
    inTransaction(database, () => {
      const { user_version: version } = database.prepare("PRAGMA user_version").get() as {
        user_version: number;
      };

      if (version === 0) database.exec(`${SCHEMA}; PRAGMA user_version = ${FORMAT}`);
      else if (version !== FORMAT) {
        throw usageError(
          `${path} was written by another version of headcount ` +
            `(format ${version}, this one knows ${FORMAT})`,
          "use that version, or move the file away: it is made again from the runs that are there",
          "other_format",
        );
      }

      hideAll(database, suppression);
    });
    database.exec(SHOWN);

    return new Library(path, database, suppression);
  }

  close(): void {
    this.#statements.clear();
    this.database.close();
  }

  hasPage(run: string, unit: number): boolean {
    return this.#first("SELECT 1 FROM page WHERE run = ? AND unit = ?", run, unit) !== undefined;
  }

  /** @param finishedAt epoch milliseconds: one that went on since has more */
  hasRun(id: string, finishedAt: number | undefined): boolean {
    if (finishedAt === undefined) return false;
    return (
      this.#first("SELECT 1 FROM run WHERE id = ? AND finished_at = ?", id, finishedAt) !==
      undefined
    );
  }

  /** All of them or none; one that is in already changes nothing. */
  addPages(pages: readonly PaidPage[]): void {
    this.#changing(() => {
      for (const page of pages) {
        if (this.hasPage(page.run, page.unit)) continue;
        for (const row of page.rows) this.#add(page, row);
        this.#addForgotten(page);
        this.#run("INSERT INTO page VALUES (?, ?)", page.run, page.unit);
      }
    });
  }

  #addForgotten({ run, unit, at, rows, forgotten = [] }: PaidPage): void {
    if (forgotten.length === 0) return;
    const sql = "SELECT count(*) AS known FROM purchase WHERE person < 0 AND run = ? AND unit = ?";
    const count = this.#first<{ known: number }>(sql, run, unit)?.known;
    const add = "INSERT OR IGNORE INTO purchase VALUES (?, ?, ?, ?, ?, ?, 0)";
    for (const [index, price] of forgotten.slice(count).entries())
      this.#run(add, NOBODY, at, run, unit, rows.length + index, price);
  }

  /** So that it can be taken in again. What came from others stays. */
  forgetRuns(runs: readonly string[]): void {
    const list = JSON.stringify(runs);
    this.#changing(() => {
      const brought = `purchase WHERE person > 0 AND run ${AMONG}`;
      const sql = `SELECT n, identity FROM person WHERE n IN (SELECT person FROM ${brought})`;
      const people = this.#statement(sql).all(list) as { n: number; identity: string }[];
      this.#run(`DELETE FROM ${brought}`, list);
      this.#run(`DELETE FROM page WHERE run ${AMONG}`, list);
      this.#run(`DELETE FROM run WHERE id ${AMONG}`, list);
      for (const { n, identity } of people) this.#settleOn(n, identity);
    });
  }

  #changing(work: () => void): void {
    inTransaction(this.database, () => {
      this.#touched.clear();
      work();
      hideAmong(this.database, this.#suppression, this.#touched);
    });
  }

  /** The newest purchase that is left counts; without any the person goes. */
  #settleOn(person: number, identity: string): void {
    this.#touched.add(person);
    const own = "SELECT record FROM purchase WHERE person = ?";
    this.#run(`DELETE FROM record WHERE person = ? AND r NOT IN (${own})`, person, person);

    const state = recordStatesOf(this.purchases(person)).at(-1);

    this.#run("DELETE FROM person WHERE n = ?", person);
    if (state === undefined) return;

    const { newest, record: text } = state;
    const record = this.#recordOf(person, text);
    this.#put(
      person,
      { identity, record, at: newest.at, by: orderOf(newest) },
      normalValues(fieldsOf(text)),
    );
  }

  putRun({ id, command, target, datasetVersion, output, createdAt, finishedAt }: BoughtRun): void {
    const values = [id, command, target, datasetVersion, output, createdAt, finishedAt];
    this.#run("INSERT OR REPLACE INTO run VALUES (?, ?, ?, ?, ?, ?, ?)", ...values);
  }

  #add(
    { run, unit, at }: PaidPage,
    { position, identity, values, price, record: text }: NewRow,
  ): void {
    const address = values.slice(ADDRESS, ADDRESS + 2);
    const row = this.#first<Known>(KNOWN_AS, identity, ...address, run);
    const name = row?.name ?? identity;
    const by = orderOf({ run, unit, position });
    const newNumber = "SELECT coalesce(max(n), 0) + 1 AS n FROM person";
    const person = row?.n ?? this.#first<{ n: number }>(newNumber)?.n ?? 1;
    const record = this.#recordOf(person, text);

    this.#run(
      "INSERT INTO purchase VALUES (?, ?, ?, ?, ?, ?, ?)",
      person,
      at,
      run,
      unit,
      position,
      price,
      record,
    );
    if (row?.files) this.#settleOn(person, name);
    else if (row === undefined || at > row.at || (at === row.at && by > row.by))
      this.#put(person, { identity: name, record, at, by }, values);
  }

  #put(
    person: number,
    row: { identity: string; record: number; at: number; by: string },
    values: NewRow["values"],
  ) {
    this.#touched.add(person);
    this.#run(PUT, person, row.identity, row.record, row.at, row.by, ...values);
  }

  #recordOf(person: number, text: string): number {
    const same = this.#first<{ r: number }>(
      "SELECT r FROM record WHERE person = ? AND body = ?",
      person,
      text,
    );
    if (same !== undefined) return same.r;
    return Number(
      this.#run("INSERT INTO record (person, body) VALUES (?, ?)", person, text).lastInsertRowid,
    );
  }

  get size(): number {
    return this.#first<{ n: number }>("SELECT count(*) AS n FROM person")?.n ?? 0;
  }

  count(filters: CanonicalFilters): number {
    const { text, values } = matching(filters);
    return this.#first<{ n: number }>(`SELECT count(*) AS n FROM shown${text}`, ...values)?.n ?? 0;
  }

  /** As JSON text, in the order in which people were first taken in. */
  *records(filters: CanonicalFilters): Generator<string> {
    const { text, values } = matching(filters);
    const sql = `SELECT body FROM shown AS person JOIN record ON r = person.record${text}
      ORDER BY n`;
    for (const { body } of queryRows<{ body: string }>(this.database, sql, ...values)) yield body;
  }

  shown(identities: readonly string[]): string[] {
    const sql =
      "SELECT identity FROM person WHERE n IN (SELECT person " +
      `FROM suppressed) AND +identity ${AMONG}`;
    const rows = this.#statement(sql).all(JSON.stringify(identities)) as { identity: string }[];
    const hidden = new Set(rows.map(({ identity }) => identity));
    return identities.filter((identity) => !hidden.has(identity));
  }

  valuesOf(
    { field }: FilterKeySpec,
    filters: CanonicalFilters,
  ): { value: string; count: number }[] {
    const column = field.endsWith("network_url") ? `${field}_address` : field;
    if (!PERSON_COLUMNS.includes(column)) throw new RangeError(`no column ${column}`);
    const { text, values } = matching(filters);
    const all = `SELECT ${column} AS value, count(*) AS count FROM shown${text} GROUP BY 1`;
    const sql = `SELECT * FROM (${all}) WHERE value IS NOT NULL ORDER BY count DESC, value`;
    return this.#statement(sql).all(...values) as { value: string; count: number }[];
  }

  /** By id, profile address or its slug, or whole name; at most 20. */
  find(text: string): number[] {
    const address = canonicalAddress(text);
    const slug = address !== undefined && isSlug(address) ? address : null;
    const whole = slug === null ? (address ?? null) : null;
    const sql = `SELECT n FROM shown
      WHERE identity IN (?, ?) OR network_url_address = ? OR network_url_slug = ? OR name = ?
      ORDER BY n LIMIT 20`;

    const rows = this.#statement(sql).all(
      text,
      `@${whole ?? ""}`,
      whole,
      slug,
      normalForm(text),
    ) as { n: number }[];
    return rows.map(({ n }) => n);
  }

  purchases(person: number): PastPurchase[] {
    const sql = `SELECT at, run, unit, position, CAST(price AS TEXT) AS price, body AS record
      FROM purchase JOIN record ON r = purchase.record
      WHERE purchase.person = ? ORDER BY at, run, unit, position`;
    const rows = this.#statement(sql).all(person) as unknown as PastPurchase[];
    return rows.map((row) => ({ ...row, price: BigInt(row.price) }));
  }

  #first<Row>(sql: string, ...values: readonly (string | number | null)[]): Row | undefined {
    return this.#statement(sql).get(...values) as Row | undefined;
  }

  #run(sql: string, ...values: readonly (string | number | bigint | null)[]) {
    return this.#statement(sql).run(...values);
  }

  #statement(sql: string): StatementSyncInstance {
    const before = this.#statements.get(sql);
    if (before !== undefined) return before;
    const statement = this.database.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}

/** Of one instant: the newest is the same one however they were taken in. */
const orderOf = ({
  run,
  unit,
  position,
}: Pick<PastPurchase, "run" | "unit" | "position">): string =>
  `${run} ${String(unit).padStart(9, "0")} ${String(position).padStart(7, "0")}`;

type Row = { readonly n: number; readonly body: string };
const PEOPLE = "SELECT n, body FROM person JOIN record ON r = person.record";

// Who of a library is on the suppression list is kept
// beside the people, so that an answer hashes nobody.

/** Everybody, where the list is another than at the last look. To be called in a transaction. */
function hideAll(database: DatabaseSyncInstance, suppression: Suppression): void {
  if (lookedFor(database) === suppression.digest) return;
  database.exec("DELETE FROM suppressed");
  if (!suppression.isEmpty)
    hide(database, suppression, queryRows<Row>(database, `${PEOPLE} ORDER BY n`));
  note(database, suppression.digest);
}

function hideAmong(
  database: DatabaseSyncInstance,
  suppression: Suppression,
  people: Iterable<number>,
): void {
  const last = lookedFor(database);
  if (last === "" && suppression.isEmpty) return;
  if (last !== suppression.digest) {
    note(database, "unknown");
    return;
  }
  const list = JSON.stringify([...people]);
  database.prepare(`DELETE FROM suppressed WHERE person ${AMONG}`).run(list);
  hide(database, suppression, queryRows<Row>(database, `${PEOPLE} WHERE n ${AMONG}`, list));
}

function hide(
  database: DatabaseSyncInstance,
  suppression: Suppression,
  people: Iterable<Row>,
): void {
  const hidden: number[] = [];
  for (const rows of pagewise(people)) {
    const page = recordPage(rows.map(({ body }) => body));
    for (const index of suppressedIn(page, "person", suppression)) hidden.push(rows[index]?.n ?? 0);
  }
  const add = database.prepare("INSERT OR IGNORE INTO suppressed VALUES (?)");
  for (const n of hidden) add.run(n);
}

const lookedFor = (database: DatabaseSyncInstance): string =>
  firstRow<{ value: string }>(database, "SELECT value FROM meta WHERE key = 'suppression'")
    ?.value ?? "";

function note(database: DatabaseSyncInstance, digest: string): void {
  database.prepare("INSERT OR REPLACE INTO meta VALUES ('suppression', ?)").run(digest);
}

const EARLIER = `EXISTS (SELECT 1 FROM purchase AS o WHERE o.person = purchase.person
  AND (o.at, o.run, o.unit, o.position) <
    (purchase.at, purchase.run, purchase.unit, purchase.position))`;
const SQL = `SELECT (SELECT count(*) FROM shown) AS people,
  (SELECT count(*) FROM suppressed) AS suppressed,
  (SELECT count(DISTINCT person) FROM purchase WHERE person < 0) AS forgotten,
  count(*) FILTER (WHERE price > 0 OR NOT ${EARLIER}) AS purchases,
    coalesce(sum(price), 0) AS credits,
  coalesce(sum(price) FILTER (WHERE ${EARLIER}), 0) AS repeatCredits,
  min(at) AS firstAt, max(at) AS lastAt, (SELECT count(*) FROM run) AS runs FROM purchase`;

/** People without the suppressed. Credits in millionths, times in epoch milliseconds. */
export function totalsOf(database?: DatabaseSyncInstance) {
  const sums = database?.prepare(SQL, { readBigInts: true }).get() as
    | Partial<Record<string, bigint | null>>
    | undefined;
  const count = (name: string): number => Number(sums?.[name] ?? 0n);
  const time = (name: string): number | null =>
    typeof sums?.[name] === "bigint" ? count(name) : null;

  return {
    people: count("people"),
    suppressed: count("suppressed"),
    forgotten: count("forgotten"),
    purchases: count("purchases"),
    credits: sums?.credits ?? 0n,
    repeatCredits: sums?.repeatCredits ?? 0n,
    runs: count("runs"),
    firstAt: time("firstAt"),
    lastAt: time("lastAt"),
  };
}

const PAGE_ROWS = 1_000;

/** So that every format is made from them as from bought ones. */
export const recordPage = (records: readonly string[]): Page =>
  records.length === 0
    ? Page.empty
    : Page.read(Buffer.from(`{"result":[${records.join(",")}]}`), "person");

export function* pagewise<Item>(items: Iterable<Item>): Generator<Item[]> {
  let group: Item[] = [];
  for (const item of items) {
    group.push(item);
    if (group.length < PAGE_ROWS) continue;
    yield group;
    group = [];
  }
  if (group.length > 0) yield group;
}

export async function* recordPages(owned: Iterable<string>): AsyncGenerator<Page> {
  for (const records of pagewise(owned)) yield recordPage(records);
}
