import type { DatabaseSyncInstance } from "@photostructure/sqlite";
import type { Suppression } from "../../shared/contract/suppression.ts";
import { Page } from "../../shared/rows/page.ts";
import { suppressedIn } from "../output/suppressed.ts";
import { queryRows } from "./sqlite.ts";

/** Rows that are looked at together. */
const AT_ONCE = 1_000;

/** Who of a library is on the suppression list: kept beside the people, so that an answer hashes nobody. */
export class Hidden {
  readonly #database: DatabaseSyncInstance;
  readonly #suppression: Suppression;
  readonly #touched = new Set<number>();

  constructor(database: DatabaseSyncInstance, suppression: Suppression) {
    this.#database = database;
    this.#suppression = suppression;
  }

  /** Looks at everybody where the list is another than it was at the last look. To be called in a transaction. */
  settle(): void {
    if (this.#known() === this.#suppression.digest) return;
    this.#database.exec("DELETE FROM suppressed");
    if (!this.#suppression.isEmpty) {
      const everybody = "SELECT n, body FROM person JOIN record ON r = person.record ORDER BY n";
      this.#hide(queryRows<Row>(this.#database, everybody));
    }
    this.#note(this.#suppression.digest);
  }

  touch(person: number): void {
    this.#touched.add(person);
  }

  /** Looks at those who were touched, in the transaction that did. */
  look(): void {
    const touched = JSON.stringify([...this.#touched]);
    this.#touched.clear();
    const known = this.#known();
    if (known === "" && this.#suppression.isEmpty) return;
    // Another process knows another list: the next one looks at everybody.
    if (known !== this.#suppression.digest) {
      this.#note("unknown");
      return;
    }
    const named = "IN (SELECT value FROM json_each(?))";
    this.#database.prepare(`DELETE FROM suppressed WHERE person ${named}`).run(touched);
    const sql = `SELECT n, body FROM person JOIN record ON r = person.record WHERE n ${named}`;
    this.#hide(queryRows<Row>(this.#database, sql, touched));
  }

  #hide(people: Iterable<Row>): void {
    const hidden: number[] = [];
    let rows: Row[] = [];
    const look = (): void => {
      const page = Page.read(Buffer.from(`{"result":[${rows.map(({ body }) => body).join(",")}]}`), "person");
      for (const index of suppressedIn(page, "person", this.#suppression)) hidden.push(rows[index]?.n ?? 0);
      rows = [];
    };
    for (const row of people) {
      rows.push(row);
      if (rows.length === AT_ONCE) look();
    }
    if (rows.length > 0) look();
    const add = this.#database.prepare("INSERT OR IGNORE INTO suppressed VALUES (?)");
    for (const n of hidden) add.run(n);
  }

  #known(): string {
    const row = this.#database.prepare("SELECT value FROM meta WHERE key = 'suppression'").get();
    return (row as { value: string } | undefined)?.value ?? "";
  }

  #note(digest: string): void {
    this.#database.prepare("INSERT OR REPLACE INTO meta VALUES ('suppression', ?)").run(digest);
  }
}

interface Row {
  readonly n: number;
  readonly body: string;
}
