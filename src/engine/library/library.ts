import { createHash } from "node:crypto";
import { join } from "node:path";
import type { DatabaseSyncInstance, StatementSyncInstance } from "@photostructure/sqlite";
import { conditionsOf, type SqlDialect, whereSql } from "../../shared/contract/conditions.ts";
import type { CanonicalFilters, FilterKeySpec } from "../../shared/contract/filters.ts";
import { canonicalAddress, isSlug, normalForm } from "../../shared/contract/normalise.ts";
import { NOBODY_SUPPRESSED, type Suppression } from "../../shared/contract/suppression.ts";
import { type CliError, usageError } from "../../shared/errors.ts";
import { askViews, type QueryAnswer } from "./ask.ts";
import { type Body, bodiesOf, forgetPeople, forgetTargets, forgottenOf, keepForgotten, wipe } from "./forget.ts";
import { Hidden } from "./hidden.ts";
import { fieldsOf, type PastPurchase } from "./history.ts";
import { Lists } from "./lists.ts";
import {
  boughtBefore,
  changedAfter,
  membersAt,
  membersMatching,
  membersNamed,
  membersOfRun,
  membersOfSegment,
  type OwnedPerson,
  recordsNamed,
  textsOf,
  type Who,
} from "./members.ts";
import { normalValues, PERSON_COLUMNS } from "./person.ts";
import { FORMAT, NOT_SUPPRESSED, SCHEMA, SHOWN } from "./schema.ts";
import { inTransaction, openToWrite, queryRows } from "./sqlite.ts";
import { type LibraryTotals, totalsOf } from "./totals.ts";

const DIALECT: SqlDialect = {
  placeholder: () => "?",
  addressColumns: (column) => ({ slug: `${column}_slug`, address: `${column}_address` }),
};

const libraryFolder = (stateDir: string): string => join(stateDir, "library");

/** The file of one service and kind of key. @param serviceId the service's address, or `sample:FOLDER` */
export function libraryPath(stateDir: string, serviceId: string, mode: "live" | "test"): string {
  const host = /^https?:\/\/([^/:]+)/.exec(serviceId)?.[1] ?? serviceId.split(":", 1)[0] ?? "";
  const mark = createHash("sha256").update(serviceId).digest("hex").slice(0, 8);
  return join(libraryFolder(stateDir), `${host.replace(/[^\w.-]/g, "_")}-${mark}${mode === "test" ? "-test" : ""}.db`);
}

export interface NewRow {
  readonly position: number;
  /** Who it is: equal for the same person in other runs. */
  readonly identity: string;
  /** One value for each of {@link PERSON_COLUMNS}. */
  readonly values: readonly (string | number | null)[];
  /** Credits, in millionths. */
  readonly price: bigint;
  /** The record as JSON text, as it came. */
  readonly record: string;
}

export interface PaidPage {
  readonly run: string;
  readonly unit: number;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly rows: readonly NewRow[];
  /** What the rows cost that came too and are forgotten since, in millionths. */
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

/** Everybody ever bought from a service, once, with every purchase and every record that came. Answers filters as the service does. */
export class Library {
  readonly path: string;
  readonly lists: Lists;
  readonly #database: DatabaseSyncInstance;
  readonly #hidden: Hidden;
  readonly #statements = new Map<string, StatementSyncInstance>();

  private constructor(path: string, database: DatabaseSyncInstance, suppression: Suppression) {
    this.path = path;
    this.#database = database;
    this.#hidden = new Hidden(database, suppression);
    this.lists = new Lists(database);
  }

  /** Opens a library, made where it is not there. @param suppression who is left out of its answers @throws CliError (exit 2) where another version of headcount wrote it */
  static async open(path: string, suppression: Suppression = NOBODY_SUPPRESSED): Promise<Library> {
    const database = await openToWrite(path);
    const library = new Library(path, database, suppression);
    inTransaction(library.#database, () => {
      const { user_version: version } = database.prepare("PRAGMA user_version").get() as { user_version: number };
      if (version === 0) database.exec(`${SCHEMA}; PRAGMA user_version = ${FORMAT}`);
      else if (version !== FORMAT) throw otherFormat(path, version);
      library.#hidden.settle();
    });
    database.exec(SHOWN);
    return library;
  }

  close(): void {
    this.#statements.clear();
    this.#database.close();
  }

  hasPage(run: string, unit: number): boolean {
    return this.#statement("SELECT 1 FROM page WHERE run = ? AND unit = ?").get(run, unit) !== undefined;
  }

  /** Whether all of a run is in. @param finishedAt when it finished, in epoch milliseconds: one that went on since has more */
  hasRun(id: string, finishedAt: number | undefined): boolean {
    if (finishedAt === undefined) return false;
    return this.#statement("SELECT 1 FROM run WHERE id = ? AND finished_at = ?").get(id, finishedAt) !== undefined;
  }

  /** Whether a run brought anybody, also one that was removed since. */
  knowsRun(id: string): boolean {
    return this.#statement("SELECT 1 FROM run WHERE id = ?").get(id) !== undefined;
  }

  /** Takes in pages, all or none of them; one that is in already changes nothing. */
  addPages(pages: readonly PaidPage[]): void {
    inTransaction(this.#database, () => {
      for (const page of pages) {
        if (this.hasPage(page.run, page.unit)) continue;
        for (const row of page.rows) this.#add(page, row);
        keepForgotten(this.#database, page);
        this.#statement("INSERT INTO page VALUES (?, ?)").run(page.run, page.unit);
      }
      this.#hidden.look();
    });
  }

  /** Forgets what came from these runs, so that it can be taken in again. What came from others stays: it stands nowhere else. */
  forgetRuns(runs: readonly string[]): void {
    const list = JSON.stringify(runs);
    inTransaction(this.#database, () => {
      const stale = "(SELECT value FROM json_each(?))";
      const people = this.#statement(`SELECT DISTINCT person FROM purchase WHERE person > 0 AND run IN ${stale}`).all(
        list,
      );
      for (const table of ["purchase", "page"])
        this.#statement(
          `DELETE FROM ${table} WHERE run IN ${stale}${table === "purchase" ? " AND person > 0" : ""}`,
        ).run(list);
      this.#statement(`DELETE FROM run WHERE id IN ${stale}`).run(list);
      for (const { person } of people as { person: number }[]) this.#settleOn(person);
      this.#hidden.look();
    });
  }

  /** Makes the newest of a person's purchases that are left the one that counts; without any the person goes. */
  #settleOn(person: number): void {
    this.#hidden.touch(person);
    this.#statement(
      "DELETE FROM record WHERE person = ? AND r NOT IN (SELECT record FROM purchase WHERE person = ?)",
    ).run(person, person);
    const newest = this.purchases(person).at(-1);
    const { identity } = this.#statement("SELECT identity FROM person WHERE n = ?").get(person) as { identity: string };
    this.#statement("DELETE FROM person WHERE n = ?").run(person);
    if (newest === undefined) return;
    const { r } = this.#statement("SELECT r FROM record WHERE person = ? AND body = ?").get(person, newest.record) as {
      r: number;
    };
    this.#put(person, identity, r, newest.at, orderOf(newest), normalValues(fieldsOf(newest.record)));
  }

  putRun(run: BoughtRun): void {
    this.#statement("INSERT OR REPLACE INTO run VALUES (?, ?, ?, ?, ?, ?, ?)").run(
      run.id,
      run.command,
      run.target,
      run.datasetVersion,
      run.output,
      run.createdAt,
      run.finishedAt,
    );
  }

  #add({ run, unit, at }: PaidPage, { position, identity, values, price, record }: NewRow): void {
    const known = this.#statement("SELECT n, bought_at, bought_by FROM person WHERE identity = ?").get(identity) as
      | { n: number; bought_at: number; bought_by: string }
      | undefined;
    const order = orderOf({ run, unit, position });
    const person = known?.n ?? this.#nextPerson();
    const body = this.#recordOf(person, record, known !== undefined);
    this.#statement("INSERT INTO purchase VALUES (?, ?, ?, ?, ?, ?, ?)").run(
      person,
      at,
      run,
      unit,
      position,
      price,
      body,
    );
    if (known === undefined || at > known.bought_at || (at === known.bought_at && order > known.bought_by))
      this.#put(person, identity, body, at, order, values);
  }

  #put(person: number, identity: string, record: number, at: number, order: string, values: NewRow["values"]): void {
    this.#hidden.touch(person);
    const marks = PERSON_COLUMNS.map(() => "?").join(", ");
    this.#statement(
      `INSERT OR REPLACE INTO person (n, identity, record, bought_at, bought_by, ${PERSON_COLUMNS.join(", ")}) VALUES (?, ?, ?, ?, ?, ${marks})`,
    ).run(person, identity, record, at, order, ...values);
  }

  #nextPerson(): number {
    return (this.#statement("SELECT coalesce(max(n), 0) + 1 AS n FROM person").get() as { n: number }).n;
  }

  #recordOf(person: number, text: string, known: boolean): number {
    const same = known
      ? (this.#statement("SELECT r FROM record WHERE person = ? AND body = ?").get(person, text) as
          | { r: number }
          | undefined)
      : undefined;
    if (same !== undefined) return same.r;
    return Number(this.#statement("INSERT INTO record (person, body) VALUES (?, ?)").run(person, text).lastInsertRowid);
  }

  /** Every record that came of everybody, suppressed ones too, as JSON text. */
  bodies(): Iterable<Body> {
    return bodiesOf(this.#database);
  }

  /** Deletes the people of some records so that no byte of them is left. @param named whether the text of what a run was bought by names them */
  forget(is: (body: string) => boolean, named: (target: string) => boolean): void {
    forgetPeople(this.#database, is);
    forgetTargets(this.#database, named);
    wipe(this.#database, this.path);
  }

  /** How many who are forgotten a run for a segment had brought, of a version of the dataset or (null) ever: at least so many. */
  forgotten(canonical: string, version: string | null): number {
    return forgottenOf(this.#database, canonical, version);
  }

  /** How many people are in it, suppressed ones too. */
  get size(): number {
    return (this.#statement("SELECT count(*) AS n FROM person").get() as { n: number }).n;
  }

  /** How many of the people match, exactly; nobody is asked. */
  count(filters: CanonicalFilters): number {
    const { text, values } = whereSql(conditionsOf(filters), DIALECT);
    return (this.#statement(`SELECT count(*) AS n FROM shown${text}`).get(...values) as { n: number }).n;
  }

  /** The newest record of everybody who matches, as JSON text, in the order in which they were first taken in. */
  *records(filters: CanonicalFilters): Generator<string> {
    const { text, values } = whereSql(conditionsOf(filters), DIALECT);
    const sql = `SELECT body FROM shown AS person JOIN record ON r = person.record${text} ORDER BY n`;
    for (const { body } of queryRows<{ body: string }>(this.#database, sql, ...values)) yield body;
  }

  /** Those who match by what was bought. */
  members(filters: CanonicalFilters): OwnedPerson[] {
    return [...membersMatching(this.#database, filters, DIALECT)];
  }

  /** Those with these identities, at these canonical addresses, or whom a run, or all runs for a segment, brought. */
  membersBy(who: Who): OwnedPerson[] {
    if ("run" in who) return [...membersOfRun(this.#database, who.run)];
    if ("segment" in who) return [...membersOfSegment(this.#database, who.segment)];
    return [...("addresses" in who ? membersAt(this.#database, who.addresses) : membersNamed(this.#database, who))];
  }

  /** The newest records of those with these identities, as JSON text. */
  recordsBy(identities: readonly string[]): Iterable<string> {
    return recordsNamed(this.#database, identities);
  }

  /** Those of them who may be shown. */
  shown(identities: readonly string[]): string[] {
    const rows = this.#statement(
      "SELECT identity FROM person WHERE n IN (SELECT person FROM suppressed) AND identity IN (SELECT value FROM json_each(?))",
    ).all(JSON.stringify(identities)) as { identity: string }[];
    const hidden = new Set(rows.map(({ identity }) => identity));
    return hidden.size === 0 ? [...identities] : identities.filter((identity) => !hidden.has(identity));
  }

  /** A field of theirs as the service wrote it, by identity. */
  textsBy(identities: readonly string[], field: string): Map<string, string> {
    return textsOf(this.#database, identities, field);
  }

  /** Those of them whose record is another than at a time (epoch milliseconds), with the fields that differ. */
  changedSince(identities: readonly string[], at: number): Map<string, string[]> {
    return changedAfter(this.#database, identities, at);
  }

  /** Those of these identities who were bought by another run than this, or imported, up to a time in epoch milliseconds. */
  boughtBefore(identities: readonly string[], run: string, at: number): Set<string> {
    return boughtBefore(this.#database, identities, run, at);
  }

  /** Values of a key among those who match, most frequent first. */
  valuesOf(
    { key, field }: FilterKeySpec,
    filters: CanonicalFilters,
  ): { readonly value: string; readonly count: number }[] {
    const column = key === "network_url" ? "network_url_address" : field;
    if (!PERSON_COLUMNS.includes(column)) throw new RangeError(`no column ${column}`);
    const { text, values } = whereSql(conditionsOf(filters), DIALECT);
    const all = `SELECT ${column} AS value, count(*) AS count FROM shown${text} GROUP BY 1`;
    const sql = `SELECT * FROM (${all}) WHERE value IS NOT NULL ORDER BY count DESC, value`;
    return this.#statement(sql).all(...values) as { value: string; count: number }[];
  }

  /** The people that a text names: by id, profile address or its slug, or whole name; at most 20. */
  find(text: string): number[] {
    const address = canonicalAddress(text);
    const slug = address !== undefined && isSlug(address) ? address : null;
    const whole = slug === null ? (address ?? null) : null;
    const rows = this.#statement(
      "SELECT n FROM shown WHERE identity IN (?, ?) OR network_url_address = ? OR network_url_slug = ? OR name = ? ORDER BY n LIMIT 20",
    ).all(text, `@${whole ?? ""}`, whole, slug, normalForm(text)) as { n: number }[];
    return rows.map(({ n }) => n);
  }

  purchases(person: number): PastPurchase[] {
    const statement = this.#database.prepare(
      `SELECT at, run, unit, position, price, body AS record FROM purchase JOIN record ON r = purchase.record
       WHERE purchase.person = ? ORDER BY at, run, unit, position`,
      { readBigInts: true },
    );
    const rows = statement.all(person) as (Record<"at" | "unit" | "position" | "price", bigint> & {
      run: string;
      record: string;
    })[];
    return rows.map((row) => ({ ...row, at: Number(row.at), unit: Number(row.unit), position: Number(row.position) }));
  }

  /** Everybody whom one of two runs brought, with the record of each: undefined where it did not bring them. */
  *broughtBy(
    older: string,
    newer: string,
  ): Generator<{ readonly old: string | undefined; readonly now: string | undefined }> {
    const brought = `SELECT purchase.person, max(body) AS body FROM purchase JOIN record ON r = purchase.record
      WHERE run = ? AND purchase.person ${NOT_SUPPRESSED} GROUP BY 1`;
    const sql = `SELECT a.body AS old, b.body AS now FROM (${brought}) AS a FULL JOIN (${brought}) AS b ON a.person = b.person
      ORDER BY coalesce(a.person, b.person)`;
    for (const row of this.#database.prepare(sql).iterate(older, newer)) {
      const { old, now } = row as { old: string | null; now: string | null };
      yield { old: old ?? undefined, now: now ?? undefined };
    }
  }

  /** Answers a query over the views, on a connection that can change nothing. @throws CliError (exit 2) in SQLite's own words */
  ask(sql: string, signal?: AbortSignal): Promise<QueryAnswer> {
    return askViews(this.path, sql, signal);
  }

  totals(): LibraryTotals {
    return totalsOf(this.#database);
  }

  #statement(sql: string): StatementSyncInstance {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = this.#database.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}

/** Purchases of one instant in an order of their own, so that the newest is the same one however they were taken in. */
const orderOf = ({ run, unit, position }: Pick<PastPurchase, "run" | "unit" | "position">): string =>
  `${run} ${String(unit).padStart(9, "0")} ${String(position).padStart(7, "0")}`;

const otherFormat = (path: string, version: number): CliError =>
  usageError(
    `${path} was written by another version of headcount (format ${version}, this one knows ${FORMAT})`,
    "use that version, or move the file away: it is made again from the runs that are there",
    "other_format",
  );
