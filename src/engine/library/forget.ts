import type { DatabaseSyncInstance } from "@photostructure/sqlite";
import { CliError } from "../../shared/errors.ts";
import { queryRows } from "./sqlite.ts";

export interface Body {
  /** The person's number. */
  readonly n: number;
  readonly body: string;
}

export const bodiesOf = (database: DatabaseSyncInstance): Iterable<Body> =>
  queryRows<Body>(database, "SELECT person AS n, body FROM record ORDER BY person");

const THESE = "(SELECT value FROM json_each(?))";

function peopleOf(database: DatabaseSyncInstance, is: (body: string) => boolean): string {
  const people = new Set<number>();
  for (const { n, body } of bodiesOf(database)) if (is(body)) people.add(n);
  return JSON.stringify([...people]);
}

/**
 * Takes people out of a library with every record, list and change of theirs. What they cost stays, as purchases of nobody: under the
 * negative of the number that they had.
 */
export function forgetPeople(database: DatabaseSyncInstance, is: (body: string) => boolean): void {
  const list = peopleOf(database, is);
  const named = `(SELECT identity FROM person WHERE n IN ${THESE})`;
  database.exec("PRAGMA secure_delete = ON; BEGIN IMMEDIATE");
  try {
    for (const table of ["member", "changed"]) {
      database.prepare(`DELETE FROM ${table} WHERE person IN ${named}`).run(list);
    }
    database.prepare(`UPDATE purchase SET person = -person, record = 0 WHERE person IN ${THESE}`).run(list);
    database.prepare(`DELETE FROM record WHERE person IN ${THESE}`).run(list);
    database.prepare(`DELETE FROM suppressed WHERE person IN ${THESE}`).run(list);
    database.prepare(`DELETE FROM person WHERE n IN ${THESE}`).run(list);
    database.exec("COMMIT");
  } catch (error) {
    database.exec("ROLLBACK");
    throw error;
  }
}

/** Whoever was forgotten before the library knew of it. */
const NOBODY = -(2 ** 40);

/** Keeps what was paid for rows that are gone, where the library does not know it yet. */
export function keepForgotten(
  database: DatabaseSyncInstance,
  page: {
    readonly run: string;
    readonly unit: number;
    readonly at: number;
    readonly rows: readonly unknown[];
    readonly forgotten?: readonly bigint[];
  },
): void {
  const { run, unit, at, rows, forgotten = [] } = page;
  if (forgotten.length === 0) return;
  const sql = "SELECT count(*) AS known FROM purchase WHERE person < 0 AND run = ? AND unit = ?";
  const { known } = database.prepare(sql).get(run, unit) as { known: number };
  const add = database.prepare("INSERT OR IGNORE INTO purchase VALUES (?, ?, ?, ?, ?, ?, 0)");
  for (const [index, price] of forgotten.slice(known).entries()) {
    add.run(NOBODY, at, run, unit, rows.length + index, price);
  }
}

/**
 * How many people who are forgotten a run for this segment had brought: at least so many different ones.
 * @param canonical the segment's filters in normal form, as JSON
 * @param version only of runs that bought from this version of the dataset, where they still are; null: of all runs
 */
export function forgottenOf(database: DatabaseSyncInstance, canonical: string, version: string | null): number {
  const target = `search ${canonical}`;
  // By any command that buys from it: also of those who were not owned alone, of a sample, and for a list.
  const narrowed = `${target} `;
  // A person whom two runs brought may be two nobodies: those of one run are different people.
  const sql = `SELECT coalesce(max(people), 0) AS people FROM (SELECT count(DISTINCT person) AS people FROM purchase JOIN run ON run.id = run
    WHERE person < 0 AND (target = ? OR substr(target, 1, ?) = ?) AND (? IS NULL OR dataset_version = ?) GROUP BY run)`;
  return (database.prepare(sql).get(target, narrowed.length, narrowed, version, version) as { people: number }).people;
}

/** What a library's runs were bought by is text: those that name somebody lose it. A list of such people is no list any more. */
export function forgetTargets(database: DatabaseSyncInstance, names: (target: string) => boolean): void {
  const rows = database.prepare("SELECT id, target FROM run").all() as { id: string; target: string }[];
  const blank = database.prepare("UPDATE run SET target = 'forgotten' WHERE id = ?");
  for (const { id, target } of rows) if (names(target)) blank.run(id);
  const lists = database.prepare("SELECT n, filters, canonical FROM list").all() as {
    n: number;
    filters: string;
    canonical: string;
  }[];
  for (const { n, filters, canonical } of lists) {
    if (!names(filters) && !names(canonical)) continue;
    for (const table of ["member", "changed", "refresh"]) {
      database.prepare(`DELETE FROM ${table} WHERE list = ?`).run(n);
    }
    database.prepare("DELETE FROM list WHERE n = ?").run(n);
  }
}

/** Overwrites what was deleted: the log beside the file and free pages of it still have it. @throws CliError exit 9 where the file is open elsewhere */
export function wipe(database: DatabaseSyncInstance, path: string): void {
  database.exec("PRAGMA secure_delete = ON");
  const busy = (): boolean =>
    (database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get() as { busy: number }).busy !== 0;
  if (!busy()) {
    database.exec("VACUUM");
    if (!busy()) return;
  }
  throw new CliError({
    code: "locked",
    category: "locked",
    message: `${path} is open in another process: what was deleted is still in its log`,
    hint: "stop it, then the same command again",
  });
}
