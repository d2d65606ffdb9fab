import type { DatabaseSyncInstance } from "@photostructure/sqlite";
import type { Suppression } from "../../shared/contract/suppression.ts";
import { suppressedIn } from "../output/suppressed.ts";
import { pagewise, recordPage } from "./pages.ts";
import { AMONG, firstRow, queryRows } from "./sqlite.ts";

type Row = { readonly n: number; readonly body: string };
const PEOPLE = "SELECT n, body FROM person JOIN record ON r = person.record";

// Who of a library is on the suppression list is kept beside the people, so that an answer hashes nobody.

/** Everybody, where the list is another than at the last look. To be called in a transaction. */
export function hideAll(database: DatabaseSyncInstance, suppression: Suppression): void {
  if (lookedFor(database) === suppression.digest) return;
  database.exec("DELETE FROM suppressed");
  if (!suppression.isEmpty) hide(database, suppression, queryRows<Row>(database, `${PEOPLE} ORDER BY n`));
  note(database, suppression.digest);
}

export function hideAmong(database: DatabaseSyncInstance, suppression: Suppression, people: Iterable<number>): void {
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

function hide(database: DatabaseSyncInstance, suppression: Suppression, people: Iterable<Row>): void {
  const hidden: number[] = [];
  for (const rows of pagewise(people)) {
    const page = recordPage(rows.map(({ body }) => body));
    for (const index of suppressedIn(page, "person", suppression)) hidden.push(rows[index]?.n ?? 0);
  }
  const add = database.prepare("INSERT OR IGNORE INTO suppressed VALUES (?)");
  for (const n of hidden) add.run(n);
}

const lookedFor = (database: DatabaseSyncInstance): string =>
  firstRow<{ value: string }>(database, "SELECT value FROM meta WHERE key = 'suppression'")?.value ?? "";

function note(database: DatabaseSyncInstance, digest: string): void {
  database.prepare("INSERT OR REPLACE INTO meta VALUES ('suppression', ?)").run(digest);
}
