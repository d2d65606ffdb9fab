import { randomBytes } from "node:crypto";
import type { ClickHouseClient } from "@clickhouse/client";
import { slugOf } from "../../shared/contract/naming/slug.ts";
import type { Person } from "../../shared/contract/records.ts";
import { marksOf, type SuppressedName, Suppression } from "../../shared/contract/suppression.ts";
import { NoDatasetError } from "../layout.ts";
import { isHidden } from "../suppression.ts";
import { type Active, activeDataset } from "./active.ts";
import { type ClickHouseServers, closeAll, connectClickHouse } from "./connect.ts";
import { LoadServers, STATEMENT_MS } from "./load/servers.ts";
import { dropTables, leftOutTable, tablesOf } from "./schema.ts";

const NAMES_AT_ONCE = 200;
const ROWS_AT_ONCE = 10_000;
/** A running service looks for a new step once a second. */
const NOTICED_MS = 1_100;

/**
 * Leaves some of the people out that servers serve. Done
 * again, or cut off and done again, it is the same.
 */
export class ServedPeople {
  readonly #servers: LoadServers;
  readonly #sleep: (ms: number) => Promise<void>;

  constructor(
    servers: ClickHouseServers,
    sleep: (ms: number) => Promise<void>,
    signal?: AbortSignal,
  ) {
    this.#servers = new LoadServers(servers, "left_out", signal);
    this.#sleep = sleep;
  }

  /** @throws InputError for a bad address, DatasetUnavailableError where no server answers */
  static async open(
    address: string,
    password: string,
    {
      sleep,
      signal,
    }: { readonly sleep: (ms: number) => Promise<void>; readonly signal?: AbortSignal },
  ): Promise<ServedPeople> {
    return new ServedPeople(
      await connectClickHouse(address, password, STATEMENT_MS),
      sleep,
      signal,
    );
  }

  /**
   * Records under one of the names, left out already or not.
   * @throws NoDatasetError where nothing is stored
   */
  async records(names: readonly SuppressedName[]): Promise<readonly string[]> {
    return [...(await this.#find((await this.#latest()).version, names)).values()];
  }

  /**
   * @returns how many were not left out before, and the version
   * then. @throws NoDatasetError, DatasetUnavailableError
   */
  async leaveOut(
    names: readonly SuppressedName[],
  ): Promise<{ readonly removed: number; readonly version: string }> {
    const servers = this.#servers;
    await servers.onAll([leftOutTable(servers.connected.topology)]);

    for (;;) {
      const { version, step: activated, stored: people, info } = await this.#latest();
      const before = await this.#step(version, activated);
      // What another that was cut off has written for the step that comes now.
      const next = await this.#step(version, activated + 1);
      for (const rid of (await this.#find(version, names)).keys()) next.add(rid);

      const all = new Set([...before, ...next]);
      const step = all.size === before.size ? activated : activated + 1;
      await this.#fill(version, step, all);
      // An import that became active in between has a later pointer, which this must not go behind.
      await servers.point({ version, activated: step, people, companies: info.companies });
      if ((await this.#latest()).version !== version) continue;

      await this.#sleep(NOTICED_MS);

      return {
        removed: all.size - before.size,
        version: all.size === 0 ? version : `${version}_${all.size}`,
      };
    }
  }

  /**
   * Takes the rows of people who are left out off the servers' tables, and every version before.
   */
  async erase(names: readonly SuppressedName[]): Promise<void> {
    const servers = this.#servers;
    const { version } = await this.#latest();
    const rids = [...(await this.#find(version, names)).keys()];
    // A list has at most 50,000 elements, and a statement 256 KiB.
    for (let at = 0; at < rids.length; at += ROWS_AT_ONCE) {
      const some = rids.slice(at, at + ROWS_AT_ONCE).join(", ");
      await servers.remove(tablesOf(version).people, `rid IN (${some})`);
    }

    const served = await servers.rows(
      `SELECT DISTINCT version FROM ${servers.pathOf("headcount_datasets")}`,
    );

    for (const [name] of served) {
      if (String(name) !== version)
        await servers.onAll(dropTables(String(name), servers.connected.topology));
    }
  }

  close(): Promise<void> {
    return closeAll(this.#servers.connected);
  }

  /** The pointer that was written last on any server: one that was cut off has told only some. */
  async #latest(): Promise<Active> {
    const all = await this.#servers.onEach((client) =>
      activeDataset(client, this.#servers.connected.topology),
    );
    const [latest] = all.flatMap((active) => active ?? []).sort((a, b) => b.step - a.step);
    if (latest === undefined) throw new NoDatasetError("this ClickHouse holds no dataset yet");
    return latest;
  }

  async #find(
    version: string,
    names: readonly SuppressedName[],
  ): Promise<ReadonlyMap<number, string>> {
    const records = new Map<number, string>();
    const key = randomBytes(32);
    const entries = names.map((name) => ({
      marks: marksOf(key, name),
      kind: name.kind,
      at: "",
      note: null,
    }));
    const list = new Suppression({ key, entries });

    for (let at = 0; at < names.length; at += NAMES_AT_ONCE) {
      const some = names.slice(at, at + NAMES_AT_ONCE);
      const domains = [...new Set(some.flatMap(({ domain }) => domain ?? []))];
      const params = {
        ids: some.flatMap(({ id }) => id ?? []),
        slugs: some.flatMap(({ address }) => (address ? slugOf(address) : [])),
        ...Object.fromEntries(domains.map((domain, index) => [`d${index}`, domain])),
      };

      const conditions = [
        ...(params.ids.length > 0 ? ["id IN {ids:Array(String)}"] : []),
        ...(params.slugs.length > 0 ? ["network_slug IN {slugs:Array(String)}"] : []),
        // No column has it. What is escaped or not plain ASCII
        // may be the same domain, and is looked at here.
        ...domains.map((_, index) => `positionCaseInsensitive(record, {d${index}:String}) > 0`),
        ...(domains.length > 0
          ? [`match(record, '(?i)"company_domain":"[^"]*([^"!-~]|%|xn--)')`]
          : []),
      ];
      const people = this.#servers.pathOf(tablesOf(version).people);
      const sql = `SELECT rid, record FROM ${people} WHERE ${conditions.join(" OR ")}`;

      for (const [rid, text] of await this.#servers.rows({ sql, params })) {
        const record = String(text);
        if (isHidden(JSON.parse(record) as Person, list)) records.set(Number(rid), record);
      }
    }

    return records;
  }

  async #step(version: string, step: number): Promise<Set<number>> {
    return new Set(
      (await this.#servers.onEach((client) => this.#rids(version, step, client))).flat(),
    );
  }

  async #rids(version: string, step: number, client: ClickHouseClient): Promise<readonly number[]> {
    const sql =
      `SELECT rid FROM ${this.#servers.pathOf("headcount_left_out")} ` +
      `WHERE version = '${version}' AND step = ${step}`;
    return (await this.#servers.rows(sql, client)).map(([rid]) => Number(rid));
  }

  async #fill(version: string, step: number, all: ReadonlySet<number>): Promise<void> {
    await this.#servers.onEach(async (client) => {
      const own = new Set(await this.#rids(version, step, client));
      const missing = [...all].filter((rid) => !own.has(rid));
      for (let at = 0; at < missing.length; at += ROWS_AT_ONCE) {
        const rows = missing.slice(at, at + ROWS_AT_ONCE).map((rid) => ({ version, step, rid }));
        await this.#servers.insert("headcount_left_out", rows, client);
      }
    });
  }
}
