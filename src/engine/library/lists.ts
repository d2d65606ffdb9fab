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
  /** SHA-256 of the list and of the files beside it, as they were then. */
  readonly files: readonly string[];
}

/** The tables of a list's history, without its number: rows of values, in order. */
const HISTORY = ["refresh", "member", "changed"] as const;

/** A list as another machine is told of it: without the path of its file. */
export interface ListCopy extends Record<(typeof HISTORY)[number], readonly Values[]> {
  readonly filters: string;
  readonly canonical: string;
  readonly view: string;
  readonly at: number;
}

type Values = readonly (string | number | null)[];

/** A list as of one refresh. */
export interface ListThen extends Pick<List, "filters" | "canonical" | "view" | "isPart" | "at"> {
  /** Identities. */
  readonly members: readonly string[];
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
        (SELECT count(*) FROM refresh WHERE refresh.list = list.n) AS refreshes FROM list
          WHERE output = ?`,
      output,
    );
    return row && { ...row, ...headOf(row) };
  }

  /** The files of the lists that are kept here. */
  outputs(): string[] {
    const own = "SELECT output FROM list WHERE kept_by IS NULL ORDER BY n";
    return allRows<{ output: string }>(this.#database, own).map(({ output }) => output);
  }

  /** Whoever keeps it: the list whose file was so. Undefined where several segments' were. */
  written(sha256: string): ListThen | undefined {
    const rows = allRows<Stored & { refresh: number }>(
      this.#database,
      `SELECT list.*, refresh.at, refresh FROM refresh JOIN list ON n = list
        WHERE files ->> 0 = ? ORDER BY refresh.at DESC`,
      sha256,
    );
    const [row] = rows;
    if (row === undefined || rows.some(({ canonical }) => canonical !== row.canonical))
      return undefined;

    const members = allRows<{ person: string }>(
      this.#database,
      "SELECT person FROM member WHERE list = ? AND since <= ? AND coalesce(until > ?, TRUE)",
      row.n,
      row.refresh,
      row.refresh,
    ).map(({ person }) => person);
    const { canonical, at } = row;
    return { ...headOf(row), canonical, at, members };
  }

  /** Whether a list of that segment, or a file beside it, was so. */
  wrote(canonical: string, sha256: string): boolean {
    const sql = `SELECT 1 FROM refresh JOIN list ON n = list, json_each(files)
      WHERE canonical = ? AND value = ?`;
    return firstRow(this.#database, sql, canonical, sha256) !== undefined;
  }

  /** Undefined where nothing was written to it yet. */
  copyOf(output: string): ListCopy | undefined {
    const sql = "SELECT n, filters, canonical, view, at FROM list WHERE output = ?";
    const head = firstRow<Omit<ListCopy, (typeof HISTORY)[number]> & { n: number }>(
      this.#database,
      sql,
      output,
    );
    if (head === undefined) return undefined;

    const { n, filters, canonical, view, at } = head;
    const [refresh = [], member = [], changed = []] = HISTORY.map((table) =>
      allRows<Record<string, string | number | null>>(
        this.#database,
        `SELECT * FROM ${table} WHERE list = ? ORDER BY 2, 3`,
        n,
      ).map((row) => Object.values(row).slice(1)),
    );
    if (refresh.length === 0) return undefined;
    return { filters, canonical, view, at, refresh, member, changed };
  }

  /** In place of what is here of it. @param output what it is called here: no path */
  takeIn(output: string, keptBy: string, copy: ListCopy): void {
    inTransaction(this.#database, () => {
      const before = this.at(output);
      if (before !== undefined)
        for (const table of HISTORY) this.#run(`DELETE FROM ${table} WHERE list = ?`, before.n);

      const { filters, canonical, view, at } = copy;
      this.#run(
        "INSERT OR REPLACE INTO list VALUES (?, ?, ?, ?, ?, ?, ?)",
        before?.n ?? null,
        output,
        filters,
        canonical,
        view,
        at,
        keptBy,
      );

      const { n } = this.at(output) as List;
      for (const table of HISTORY)
        for (const row of copy[table])
          this.#run(`INSERT INTO ${table} VALUES (?, ${row.map(() => "?").join(", ")})`, n, ...row);
    });
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
      const leave = `UPDATE member SET until = ?
        WHERE list = ? AND until IS NULL AND person ${AMONG}`;
      this.#run(leave, refresh, n, JSON.stringify(leaving));
      this.#join(n, result.added, refresh);

      const change =
        "INSERT INTO changed (list, refresh, person, fields) SELECT ?, ?, value ->> 0, value -> 1";
      this.#run(`${change} FROM json_each(?)`, n, refresh, JSON.stringify([...result.changed]));

      const { at, datasetVersion, count, added, removed, changed, calls, credits, run, files } =
        result;
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
        JSON.stringify(files),
      ];

      this.#run(
        "INSERT INTO refresh VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
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
      `INSERT INTO list (output, filters, canonical, view, at) VALUES (?, ?, ?, ?, ?)
        ON CONFLICT (output) DO UPDATE
       SET filters = excluded.filters, canonical = excluded.canonical, view = excluded.view,
         at = excluded.at`,
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

function headOf({ filters, view: text }: Pick<Stored, "filters" | "view">) {
  const { isPart = false, ...view } = JSON.parse(text) as SavedView & Partial<ListHead>;
  return { filters: JSON.parse(filters) as Filters, view, isPart };
}
