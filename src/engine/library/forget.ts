import type { DatabaseSyncInstance } from "@photostructure/sqlite";
import { failed } from "../../shared/errors.ts";
import type { Library } from "./library.ts";
import { AMONG, allRows, firstRow, inTransaction, queryRows } from "./sqlite.ts";

/** Suppressed ones too: the person's number and the record as JSON text. */
export const bodiesOf = ({ database }: Pick<Library, "database">) =>
  queryRows<{ readonly n: number; readonly body: string }>(
    database,
    "SELECT person AS n, body FROM record ORDER BY person",
  );

/** Everybody in the histories of lists, also whom nothing else here is of. */
export const listedIn = ({ database }: Pick<Library, "database">): string[] =>
  allRows<{ person: string }>(
    database,
    "SELECT person FROM member UNION SELECT person FROM changed",
  ).map(({ person }) => person);

/**
 * So that no byte is left; what they cost stays.
 * @param isListed whether an identity in a list is theirs
 * @param names whether a run's target names them
 */
export function forgetPeople(
  library: Pick<Library, "database" | "path">,
  is: (body: string) => boolean,
  isListed: (identity: string) => boolean,
  names: (target: string) => boolean,
): void {
  const { database } = library;
  const people = new Set<number>();
  for (const { n, body } of bodiesOf(library)) if (is(body)) people.add(n);

  const list = JSON.stringify([...people]);
  const listed = JSON.stringify(listedIn(library).filter(isListed));
  const run = (sql: string, who = list): void => void database.prepare(sql).run(who);

  database.exec("PRAGMA secure_delete = ON");
  inTransaction(database, () => {
    for (const table of ["member", "changed"])
      run(`DELETE FROM ${table} WHERE person ${AMONG}`, listed);
    run(`UPDATE purchase SET person = -person, record = 0 WHERE person ${AMONG}`);
    for (const table of ["record", "suppressed"]) run(`DELETE FROM ${table} WHERE person ${AMONG}`);
    run(`DELETE FROM person WHERE n ${AMONG}`);
  });
  forgetTargets(database, names);
  wipe(library);
}

/**
 * How many different ones runs for a segment brought, at least.
 * @param version null: of all runs
 */
export function forgottenOf(
  { database }: Library,
  canonical: string,
  version: string | null,
): number {
  const target = `search ${canonical}`;
  // By any command that buys from it: also a sample, and for a list.
  const narrowed = `${target} `;
  // A person whom two runs brought may be two nobodies: those of one run are different people.
  const sql = `SELECT coalesce(max(people), 0) AS people
    FROM (SELECT count(DISTINCT person) AS people
    FROM purchase JOIN run ON run.id = run
      WHERE person < 0 AND (target = ? OR substr(target, 1, ?) = ?)
    AND (? IS NULL OR dataset_version = ?) GROUP BY run)`;
  const values = [target, narrowed.length, narrowed, version, version];
  return firstRow<{ people: number }>(database, sql, ...values)?.people ?? 0;
}

/** What runs were bought by loses its names. A list of such people is no list any more. */
function forgetTargets(database: DatabaseSyncInstance, names: (target: string) => boolean): void {
  const blank = database.prepare("UPDATE run SET target = 'forgotten' WHERE id = ?");
  for (const { id, target } of allRows<{ id: string; target: string }>(
    database,
    "SELECT id, target FROM run",
  ))
    if (names(target)) blank.run(id);

  type ListRow = { n: number; filters: string; canonical: string };

  for (const { n, filters, canonical } of allRows<ListRow>(
    database,
    "SELECT n, filters, canonical FROM list",
  )) {
    if (!names(filters) && !names(canonical)) continue;
    for (const table of ["member", "changed", "refresh"])
      database.prepare(`DELETE FROM ${table} WHERE list = ?`).run(n);
    database.prepare("DELETE FROM list WHERE n = ?").run(n);
  }
}

/** The log beside the file and its free pages have what was deleted. @throws CliError exit 9 */
function wipe({ database, path }: Pick<Library, "database" | "path">): void {
  const isBusy = (): boolean =>
    firstRow<{ busy: number }>(database, "PRAGMA wal_checkpoint(TRUNCATE)")?.busy !== 0;
  if (!isBusy()) {
    database.exec("VACUUM");
    if (!isBusy()) return;
  }
  throw failed.locked(
    `${path} is open in another process: what was deleted is still in its log`,
    "stop it, then the same command again",
  );
}
