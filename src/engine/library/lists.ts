import type { DatabaseSyncInstance } from "@photostructure/sqlite";
import type { Filters } from "../../shared/contract/filters.ts";
import type { SavedView } from "../runs/plan.ts";
import { inTransaction } from "./sqlite.ts";

/** A file that is kept up to date with a segment. */
export interface List {
  readonly n: number;
  /** Absolute path of the file, which names the list. */
  readonly output: string;
  readonly filters: Filters;
  /** The filters in normal form, as JSON. */
  readonly canonical: string;
  readonly view: SavedView;
  /** How often it was refreshed. */
  readonly refreshes: number;
  /** Epoch milliseconds: when it was last known whole. */
  readonly at: number;
}

/** What a refresh found. People are named by their identity. */
export interface Refreshed {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly datasetVersion: string | null;
  readonly count: number;
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /** With the fields that are no longer as they were bought, or that came otherwise. */
  readonly changed: ReadonlyMap<string, readonly string[]>;
  /** Free calls. */
  readonly calls: number;
  /** Millionths of a credit. */
  readonly credits: bigint;
  readonly run: string | null;
}

/**
 * The lists that are followed, with everybody who was ever in them: from which refresh and, who is out, until which. They stand nowhere
 * else, so that a rebuild leaves them as they are; people go by their identity, because a rebuild numbers them anew.
 */
export class Lists {
  readonly #database: DatabaseSyncInstance;

  constructor(database: DatabaseSyncInstance) {
    this.#database = database;
  }

  /** The list that a file is. @param output absolute path */
  at(output: string): List | undefined {
    const row = this.#database
      .prepare(
        `SELECT n, output, filters, canonical, view, at,
           (SELECT count(*) FROM refresh WHERE refresh.list = list.n) AS refreshes FROM list WHERE output = ?`,
      )
      .get(output) as (Omit<List, "filters" | "view"> & { filters: string; view: string }) | undefined;
    if (row === undefined) return undefined;
    return { ...row, filters: JSON.parse(row.filters) as Filters, view: JSON.parse(row.view) as SavedView };
  }

  /** The files of all lists, as absolute paths. */
  outputs(): string[] {
    const rows = this.#database.prepare("SELECT output FROM list ORDER BY n").all() as { output: string }[];
    return rows.map(({ output }) => output);
  }

  /** Who is in a list now. */
  members(list: number): string[] {
    const rows = this.#database.prepare("SELECT person FROM member WHERE list = ? AND until IS NULL").all(list);
    return (rows as { person: string }[]).map(({ person }) => person);
  }

  /**
   * Makes a list of a file that is about to be written for the first time: the files beside it are its own from then on, also after a kill.
   * @param at when those who were in the list were known to be
   */
  begin(list: Pick<List, "output" | "filters" | "canonical" | "view" | "at">, before: readonly string[]): void {
    if (this.at(list.output) !== undefined) return;
    inTransaction(this.#database, () => {
      const { filters, view } = list;
      this.#database
        .prepare("INSERT INTO list (output, filters, canonical, view, at) VALUES (?, ?, ?, ?, ?)")
        .run(list.output, JSON.stringify(filters), list.canonical, JSON.stringify(view), list.at);
      const { n } = this.at(list.output) ?? { n: 0 };
      const join = this.#database.prepare("INSERT INTO member (list, person, since) VALUES (?, ?, 0)");
      for (const person of before) join.run(n, person);
    });
  }

  /**
   * Puts a refresh into the history of the list that a file is; the list is made where there is none. All of it or nothing.
   * @param before who was in the list when the refresh began
   */
  record(
    list: Pick<List, "output" | "filters" | "canonical" | "view">,
    before: readonly string[],
    found: Refreshed,
  ): void {
    inTransaction(this.#database, () => this.#record(list, before, found));
  }

  #record(
    { output, filters, canonical, view }: Pick<List, "output" | "filters" | "canonical" | "view">,
    before: readonly string[],
    found: Refreshed,
  ): void {
    const run = (sql: string, ...values: (string | number | bigint | null)[]): void => {
      this.#database.prepare(sql).run(...values);
    };
    run(
      `INSERT INTO list (output, filters, canonical, view, at) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (output) DO UPDATE SET filters = excluded.filters, canonical = excluded.canonical, view = excluded.view, at = excluded.at`,
      output,
      JSON.stringify(filters),
      canonical,
      JSON.stringify(view),
      found.at,
    );
    const { n, refreshes } = this.at(output) ?? { n: 0, refreshes: 0 };
    const refresh = refreshes + 1;
    const join = this.#database.prepare("INSERT INTO member (list, person, since) VALUES (?, ?, ?)");
    const known = new Set(this.members(n));
    for (const person of before) if (!known.has(person)) join.run(n, person, refresh - 1);
    const leave = this.#database.prepare("UPDATE member SET until = ? WHERE list = ? AND person = ? AND until IS NULL");
    const own = new Set(before);
    for (const person of [...found.removed, ...[...known].filter((other) => !own.has(other))])
      leave.run(refresh, n, person);
    for (const person of found.added) join.run(n, person, refresh);
    const change = this.#database.prepare("INSERT INTO changed (list, refresh, person, fields) VALUES (?, ?, ?, ?)");
    for (const [person, fields] of found.changed) change.run(n, refresh, person, JSON.stringify(fields));
    run(
      "INSERT INTO refresh VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      ...[n, refresh, found.at, found.datasetVersion, found.count],
      ...[found.added.length, found.removed.length, found.changed.size, found.calls, found.credits, found.run],
    );
  }
}
