import { createReadStream } from "node:fs";
import { appendFile, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { ClickHouseClient } from "@clickhouse/client";
import type { ImportKind } from "../../build/import-map.ts";
import type { BuildProgress } from "../../build/options.ts";
import type { Statement } from "../dialect.ts";
import { createTables, dropTables, pointerTable, tablesOf } from "../schema.ts";
import { bareSql, deriveSql, linksSql, notRefused, type TableName } from "./companies.ts";
import type { LoadPart, PartReader } from "./parts.ts";
import {
  firstCompaniesSql,
  firstPeopleSql,
  groupsSql,
  hideSql,
  keyedSql,
  peopleSql,
  RANGE_COLUMNS,
} from "./people.ts";
import { type Group, rangeConditions, rangesOf, type TitleAndId } from "./ranges.ts";
import { allOf, type LoadServers, loadFailure } from "./servers.ts";
import { createStage, dropStage, STAGED, type StageTables, stageOf } from "./stage.ts";
import type { LoadState, PartReport } from "./state.ts";

export interface LoadOptions {
  readonly servers: LoadServers;
  readonly state: LoadState;
  readonly parts: readonly LoadPart[];
  readonly reader: PartReader;
  readonly now: () => number;
  /** Rows that are put in order in one statement. Default 500,000. */
  readonly rangeRows?: number;
  readonly onProgress?: ((progress: BuildProgress) => void) | undefined;
}

const ROWS_AT_ONCE = 10_000;
const RANGE_ROWS = 500_000;

/**
 * Makes a dataset version on the servers. What is done stays
 * done: another load of the same state goes on from it.
 */
export class Load {
  readonly #options: LoadOptions;
  readonly #servers: LoadServers;
  readonly #state: LoadState;
  readonly #table: TableName;

  constructor(options: LoadOptions) {
    this.#options = options;
    this.#servers = options.servers;
    this.#state = options.state;
    const names = stageOf(options.state.version);
    this.#table = (table) => options.servers.pathOf(names[table]);
  }

  async isThere(): Promise<boolean> {
    const servers = this.#servers;
    const names = Object.values(stageOf(this.#state.version));
    const answers = await servers.onEach(async (client) => {
      for (const name of names)
        if ((await servers.number(`EXISTS TABLE ${servers.local(name)}`, client)) !== 1)
          return false;
      return true;
    });
    return answers.every((isThere) => isThere);
  }

  async create(): Promise<void> {
    const { topology, dialect } = this.#servers.connected;
    const { version } = this.#state;
    await this.drop();
    await this.#servers.onAll([
      pointerTable(topology),
      ...createStage(version, topology, dialect),
      ...createTables(version, topology, dialect),
    ]);
  }

  drop(): Promise<void> {
    const { topology } = this.#servers.connected;
    return this.#servers.onAll([
      ...dropStage(this.#state.version, topology),
      ...dropTables(this.#state.version, topology),
    ]);
  }

  /** Brings the parts that are not there to the servers; while one is sent the next is read. */
  async stage(): Promise<void> {
    const { parts, reader, onProgress } = this.#options;
    await this.#forgetLost();

    const total = parts.reduce((sum, { plan }) => sum + plan.file.bytes, 0);
    let bytes = 0;
    let sending: Promise<void> = Promise.resolve();
    for (const part of parts) {
      if (this.#state.part(part.number) === undefined) {
        const rows = join(this.#state.folder, `rows-${part.number}`);
        const rejects = this.#state.rejects(part.number);
        const before = bytes;
        const report = await reader.read(part, { rejects, rows }, (done) =>
          onProgress?.({ phase: "read", done: before + done, total }),
        );
        await sending;
        sending = this.#send(part, report, rows);
        sending.catch(() => undefined);
      }

      bytes += part.plan.file.bytes;
      onProgress?.({ phase: "read", done: bytes, total });
    }

    await sending;
  }

  async #send(part: LoadPart, report: PartReport, rows: string): Promise<void> {
    const servers = this.#servers;
    const name = stageOf(this.#state.version)[part.kind];
    const own = `part = ${part.number}`;
    // What a load that was cut off, or a server, left of it.
    if ((await servers.count(name, own)) !== 0) await servers.remove(name, own);

    const files = (await readdir(rows)).values();
    await allOf(
      servers.streams.map(async (client) => {
        for (const file of files)
          await servers.send(name, STAGED[part.kind], createReadStream(join(rows, file)), client);
      }),
    );
    await this.#state.setPart(part.number, report);
    await rm(rows, { recursive: true, force: true });
  }

  /** Parts of which the servers do not hold every row are brought again. */
  async #forgetLost(): Promise<void> {
    for (const kind of ["people", "companies"] as const) {
      const counts = await this.#servers.counts(stageOf(this.#state.version)[kind], "part");
      for (const part of this.#options.parts) {
        const report = this.#state.part(part.number);
        if (
          part.kind !== kind ||
          report === undefined ||
          report.sent === (counts.get(part.number) ?? 0)
        )
          continue;
        await this.#state.setPart(part.number, undefined);
      }
    }
  }

  /**
   * Parts of rows whose id an earlier row has are read
   * again, so that those are refused with their words.
   */
  async refuseTwins(): Promise<void> {
    if (this.#state.isDone("twins")) return;
    const { parts, reader } = this.#options;

    await this.#again("refused");
    const losses = new Map<number, number>();
    for (const kind of ["people", "companies"] as const) await this.#findTwins(kind, losses);

    for (const part of parts) {
      const { number } = part;
      const report = this.#state.part(number);
      const isMarked = report !== undefined && report.taken !== report.sent;
      if (report === undefined || (!losses.has(number) && !isMarked)) continue;

      const places = { rejects: this.#state.rejects(number), twins: this.#state.twins(number) };
      const again = await reader.read(part, places, () => undefined);
      if (again.taken !== report.sent - (losses.get(number) ?? 0)) {
        throw new Error(`${part.plan.file.name} has other rows than when it was read first`);
      }

      await this.#state.setPart(number, { ...again, sent: report.sent });
    }

    await this.#state.setDone("twins");
  }

  async #findTwins(kind: "people" | "companies", losses: Map<number, number>): Promise<void> {
    const servers = this.#servers;
    const names = stageOf(this.#state.version);
    await this.#again("twins");

    // All rows of an id are on one shard, so each server finds those of its own.
    const twins = `SELECT id FROM ${servers.local(names[kind])} GROUP BY id HAVING count() > 1`;
    await servers.onEach((client) =>
      servers.run(`INSERT INTO ${servers.local(names.twins)} ${twins}`, client),
    );

    const first = this.#options.parts.findIndex((part) => part.kind === kind);
    const batches = new Map<number, string[]>();

    const flush = async (part: number, lines: string[]): Promise<void> => {
      await appendFile(this.#state.twins(part), lines.map((line) => `${line}\n`).join(""));
      const rows = lines.map((line) => ({ part, line: line.split(",", 1)[0], why: 1 }));
      await servers.insert(names.refused, rows, servers.connected.clients[0]);
      lines.length = 0;
    };

    for (const part of this.#options.parts)
      if (part.kind === kind) await rm(this.#state.twins(part.number), { force: true });

    let winner: readonly [id: string, file: number, line: string] = ["", 0, ""];
    const sql = `SELECT id, part, line FROM ${this.#table(kind)} WHERE id GLOBAL IN (SELECT id FROM ${this.#table("twins")})
      ORDER BY id, part, line`;

    for await (const [id = "", part = "", line = ""] of servers.stream(sql)) {
      if (id !== winner[0]) winner = [id, Number(part) - first, line];
      else {
        const lines = batches.get(Number(part)) ?? [];
        batches.set(Number(part), lines);
        lines.push(`${line},${winner[1]},${winner[2]}`);
        losses.set(Number(part), (losses.get(Number(part)) ?? 0) + 1);
        if (lines.length === ROWS_AT_ONCE) await flush(Number(part), lines);
      }
    }

    for (const [part, lines] of batches) if (lines.length > 0) await flush(part, lines);
  }

  get #anyRefused(): boolean {
    return this.#options.parts.some(({ number }) => {
      const report = this.#state.part(number);
      return report !== undefined && report.taken !== report.sent;
    });
  }

  /**
   * @param andLinks whether people are linked to them later.
   * @returns how many were derived from people
   */
  async companies(andLinks: boolean): Promise<number> {
    const servers = this.#servers;
    const { companies: table } = tablesOf(this.#state.version);
    const isDerived = !this.#options.parts.some(({ kind }) => kind === "companies");

    if (!this.#state.isDone("companies")) {
      await this.#holdsParts("companies");
      const any = this.#anyRefused;
      if (isDerived) {
        await this.#again("companies");
        const anyBare = (await servers.number(bareSql(this.#table))) > 0;
        for (const statement of deriveSql(this.#table, any, anyBare)) await servers.run(statement);
      }

      await this.#again("keyed");
      await servers.empty(table);

      const most = this.#options.rangeRows ?? RANGE_ROWS;
      const rows = await servers.rows(firstCompaniesSql(this.#table, any, most));
      const firsts = inPlace(rows).map(([id]) => String(id));
      for (const [index, from] of firsts.entries()) {
        await servers.run(
          keyedSql(this.#table, { from, before: firsts[index + 1], offset: index * most }, any),
        );
      }

      const columns = ["seq", "id", "name", "domain", "address", "slug", "record"].join(", ");
      const copied =
        `INSERT INTO ${servers.pathOf(table)} (${columns}) SELECT ` +
        `${columns} FROM ${this.#table("keyed")}`;

      const links = async (): Promise<void> => {
        await this.#again("links");
        await servers.run(linksSql(this.#table));
      };

      await allOf([servers.run(copied), ...(andLinks ? [links()] : [])]);

      const all =
        `SELECT count() FROM ${this.#table("companies")} ` +
        `WHERE ${notRefused(this.#table, any)}`;
      await this.#holds(table, await servers.number(all));
      await this.#state.setDone("companies");
    }

    return isDerived ? servers.count(table) : 0;
  }

  async hide(hiddenDomains: readonly string[]): Promise<void> {
    const servers = this.#servers;
    if (this.#state.isDone("hidden")) return;
    const refused = servers.local(stageOf(this.#state.version).refused);
    await servers.onAll([`ALTER TABLE ${refused} DROP PARTITION 2`]);
    if (hiddenDomains.length > 0) {
      await this.#again("twins");
      const { twins } = stageOf(this.#state.version);
      for (let at = 0; at < hiddenDomains.length; at += ROWS_AT_ONCE) {
        const rows = hiddenDomains.slice(at, at + ROWS_AT_ONCE).map((id) => ({ id }));
        await servers.insert(twins, rows, servers.connected.clients[0]);
      }
      await servers.run(hideSql(this.#table, this.#anyRefused));
    }

    await servers.empty(tablesOf(this.#state.version).people);
    await this.#state.setDone("hidden");
  }

  /** People in public order, range by range; a range that is whole already is left. */
  async people(): Promise<void> {
    const { rangeRows = RANGE_ROWS, onProgress } = this.#options;
    const servers = this.#servers;
    await this.#holdsParts("people");

    const any = (await servers.count(stageOf(this.#state.version).refused)) !== 0;
    const groups = await this.#groups(any, rangeRows);
    const { people } = tablesOf(this.#state.version);
    const total = groups.reduce((sum, { count }) => sum + count, 0);
    const conditions = rangeConditions(RANGE_COLUMNS, groups);
    const ranges = rangesOf(groups, rangeRows);
    let rows = 0;
    const next = ranges.values();

    const work = async (client: ClickHouseClient): Promise<void> => {
      for (const { groups: own, from, before } of next) {
        const place = `rid >= ${from} AND rid < ${before}`;
        const count = await servers.count(people, place);
        if (count !== before - from) {
          if (count !== 0) await servers.remove(people, place);
          await servers.run(
            peopleSql(
              this.#table,
              servers.pathOf(people),
              { where: conditions(own), offset: from },
              any,
            ),
            client,
          );
          await this.#holds(people, before - from, place);
        }

        rows += before - from;
        onProgress?.({ phase: "copy", done: rows, total });
      }
    };

    await allOf(servers.streams.map(work));
    await this.#holds(people, total);
  }

  async #groups(anyRefused: boolean, rangeRows: number): Promise<Group[]> {
    for (let depth = 1; ; depth++) {
      const keys = RANGE_COLUMNS.slice(0, depth);
      const groups = (await this.#servers.rows(groupsSql(this.#table, keys, anyRefused))).map(
        groupOf,
      );
      if (groups.every(({ count }) => count <= rangeRows)) return groups;
      if (depth < RANGE_COLUMNS.length) continue;

      const cut: Group[] = [];
      const conditions = rangeConditions(RANGE_COLUMNS, groups);

      for (const group of groups) {
        const where = conditions([group]);
        cut.push(
          ...(group.count > rangeRows ? await this.#pieces(group, where, anyRefused) : [group]),
        );
      }

      return cut;
    }
  }

  /** Those of a group that is too large to be put in order at once. */
  async #pieces({ count, values }: Group, where: Statement, anyRefused: boolean): Promise<Group[]> {
    const { rangeRows: most = RANGE_ROWS } = this.#options;
    const rows = await this.#servers.rows(firstPeopleSql(this.#table, where, anyRefused, most));
    const firsts = inPlace(rows).map(([title, id]): TitleAndId => [String(title), String(id)]);
    return firsts.map((from, index) => ({
      values,
      count: Math.min(most, count - index * most),
      piece: { from, before: firsts[index + 1] },
    }));
  }

  /** Makes the version the one that is served, and clears up. Done again, it does what is left. */
  async publish(): Promise<void> {
    const servers = this.#servers;
    const { version } = this.#state;
    const tables = tablesOf(version);
    const [people = 0, companies = 0] = await allOf(
      [tables.people, tables.companies].map((table) => servers.count(table)),
    );
    const pointers = servers.pathOf("headcount_datasets");
    // The same number on all, told by one that was cut off too.
    const query = `SELECT max(activated) FROM ${pointers} WHERE version = '${version}'`;
    const activated = Math.max(
      ...(await servers.onEach((client) => servers.number(query, client))),
    );

    await servers.point({
      version,
      activated: activated || this.#options.now(),
      people,
      companies,
    });
    await servers.onAll(dropStage(version, servers.connected.topology));

    // The version before the new one stays for services that have not noticed yet.
    const versions = await servers.rows(
      `SELECT version FROM ${pointers} GROUP BY version ORDER BY max(activated) DESC`,
    );
    const old = versions.map(([name]) => String(name)).slice(2);
    for (const name of old)
      if (name !== version) await servers.onAll(dropTables(name, servers.connected.topology));
  }

  endRunning(): Promise<void> {
    return this.#servers.endRunning();
  }

  async giveUp(): Promise<void> {
    await this.drop();
    await this.#state.remove();
  }

  async #holdsParts(kind: ImportKind): Promise<void> {
    const own = this.#options.parts.filter((part) => part.kind === kind);
    const sizes = own.map(({ number }) => this.#state.part(number)?.sent ?? 0);
    // Without files of companies the table has those that are derived.
    if (own.length > 0)
      await this.#holds(
        stageOf(this.#state.version)[kind],
        sizes.reduce((sum, rows) => sum + rows, 0),
      );
  }

  async #holds(table: string, rows: number, condition?: string): Promise<void> {
    const stored = await this.#servers.count(table, condition);
    const content = Number.isNaN(stored)
      ? "other rows on one server than on another"
      : `${stored} of ${rows} rows`;
    if (stored !== rows) throw loadFailure(`${table} holds ${content}`);
  }

  #again(table: keyof StageTables): Promise<void> {
    return this.#servers.empty(stageOf(this.#state.version)[table]);
  }
}

const groupOf = (row: readonly unknown[]): Group => ({
  values: row.slice(0, -1).map(String),
  count: Number(row.at(-1)),
});

/** Rows that begin with their place, in order and without it. */
const inPlace = (rows: readonly (readonly unknown[])[]): readonly unknown[][] =>
  rows.toSorted(([a], [b]) => Number(a) - Number(b)).map(([, ...row]) => row);
