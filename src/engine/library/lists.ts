import type { DatabaseSyncInstance } from "@photostructure/sqlite";
import type { Filters } from "../../shared/contract/vocabulary.ts";
import type { SavedView } from "../runs/plan.ts";
import { AMONG, allRows, firstRow, inTransaction } from "./sqlite.ts";

export interface List {
  readonly n: number;
  readonly output: string;
  readonly filters: Filters;
  /** The filters in normal form, as JSON. */
  readonly canonical: string;
  readonly view: SavedView;
  /** A cap or a limit ended it: it is not the whole segment. */
  readonly isPart: boolean;
  readonly refreshes: number;
  /** Epoch milliseconds: when it was last known whole. */
  readonly at: number;
}

export interface Refreshed {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly datasetVersion: string | null;
  readonly count: number;
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /** With the fields that are no longer as they were bought, or that came otherwise. */
  readonly changed: ReadonlyMap<string, readonly string[]>;
  readonly calls: number;
  /** Millionths of a credit. */
  readonly credits: bigint;
  readonly run: string | null;
}

type ListHead = Pick<List, "output" | "filters" | "canonical" | "view" | "isPart">;

type Stored = Omit<List, "filters" | "view" | "isPart"> & { filters: string; view: string };

/** With everybody ever in them, by identity: a rebuild numbers people anew. */
export class Lists {
  readonly #database: DatabaseSyncInstance;

  constructor(database: DatabaseSyncInstance) {
    this.#database = database;
  }

  at(output: string): List | undefined {
    const row = firstRow<Stored>(
      this.#database,
      `SELECT n, output, filters, canonical, view, at,
        (SELECT count(*) FROM refresh WHERE refresh.list = list.n) AS refreshes FROM list WHERE output = ?`,
      output,
    );
    if (row === undefined) return undefined;

    const { isPart = false, ...view } = JSON.parse(row.view) as SavedView & Partial<ListHead>;
    return { ...row, filters: JSON.parse(row.filters) as Filters, view, isPart };
  }

  outputs(): string[] {
    const rows = allRows<{ output: string }>(this.#database, "SELECT output FROM list ORDER BY n");
    return rows.map(({ output }) => output);
  }

  members(list: number): string[] {
    const sql = "SELECT person FROM member WHERE list = ? AND until IS NULL";
    return allRows<{ person: string }>(this.#database, sql, list).map(({ person }) => person);
  }

  /** @param before who is in it, known so `at` */
  begin(list: ListHead & Pick<List, "at">, before: readonly string[]): void {
    if (this.at(list.output) !== undefined) return;
    inTransaction(this.#database, () => {
      const { n } = this.#put(list, list.at);
      this.#join(n, before, 0);
    });
  }

  /**
   * Into the history of a list, made where there is none.
   * @param before who was in it as it began
   */
  record(list: ListHead, before: readonly string[], result: Refreshed): void {
    inTransaction(this.#database, () => {
      const { n, refreshes } = this.#put(list, result.at);
      const refresh = refreshes + 1;
      const members = new Set(this.members(n));
      const own = new Set(before);

      this.#join(
        n,
        before.filter((person) => !members.has(person)),
        refresh - 1,
      );

      const leaving = [...result.removed, ...[...members].filter((other) => !own.has(other))];
      const leave = `UPDATE member SET until = ? WHERE list = ? AND until IS NULL AND person ${AMONG}`;
      this.#run(leave, refresh, n, JSON.stringify(leaving));
      this.#join(n, result.added, refresh);

      const change =
        "INSERT INTO changed (list, refresh, person, fields) SELECT ?, ?, value ->> 0, value -> 1";
      this.#run(`${change} FROM json_each(?)`, n, refresh, JSON.stringify([...result.changed]));

      const { at, datasetVersion, count, added, removed, changed, calls, credits, run } = result;
      const facts = [
        at,
        datasetVersion,
        count,
        added.length,
        removed.length,
        changed.size,
        calls,
        credits,
        run,
      ];

      this.#run(
        "INSERT INTO refresh VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        n,
        refresh,
        ...facts,
      );
    });
  }

  #put(
    { output, filters, canonical, view, isPart }: ListHead,
    at: number,
  ): Pick<List, "n" | "refreshes"> {
    this.#run(
      `INSERT INTO list (output, filters, canonical, view, at) VALUES (?, ?, ?, ?, ?) ON CONFLICT (output) DO UPDATE
       SET filters = excluded.filters, canonical = excluded.canonical, view = excluded.view, at = excluded.at`,
      output,
      JSON.stringify(filters),
      canonical,
      // Beside the view: a column of its own would be another format of the library.
      JSON.stringify(isPart ? { ...view, isPart } : view),
      at,
    );
    return this.at(output) ?? { n: 0, refreshes: 0 };
  }

  #join(list: number, people: readonly string[], since: number): void {
    const sql = "INSERT INTO member (list, person, since) SELECT ?, value, ? FROM json_each(?)";
    this.#run(sql, list, since, JSON.stringify(people));
  }

  #run(sql: string, ...values: readonly (string | number | bigint | null)[]): void {
    this.#database.prepare(sql).run(...values);
  }
}
