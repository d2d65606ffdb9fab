import { createReadStream } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { ClickHouseClient } from "@clickhouse/client";
import type { BuildProgress } from "../../build/options.ts";
import { createTables, dropTables, pointerTable, tablesOf } from "../schema.ts";
import { columnsOf, POSITION, piecesOf, type RowPiece } from "./pieces.ts";
import { allOf, type LoadServers, loadFailure } from "./servers.ts";
import type { LoadState } from "./state.ts";

export interface LoadOptions {
  readonly servers: LoadServers;
  readonly state: LoadState;
  /** Where its pieces are. */
  readonly folder: string;
  readonly now: () => number;
  readonly onProgress?: ((progress: BuildProgress) => void) | undefined;
}

/** Brings a dataset version to the servers. What they have already is not sent again. */
export class Load {
  readonly #options: LoadOptions;
  readonly #servers: LoadServers;
  readonly #version: string;
  readonly #tables: ReturnType<typeof tablesOf>;

  constructor(options: LoadOptions) {
    this.#options = options;
    this.#servers = options.servers;
    this.#version = options.state.report.version;
    this.#tables = tablesOf(this.#version);
  }

  /** Every row of the version, piece by piece, each counted where it is to be. */
  async send(): Promise<void> {
    const { topology } = this.#servers.connected;
    if (!(await this.#isThere())) {
      await this.drop();
      await this.#servers.onAll([pointerTable(topology), ...createTables(this.#version, topology)]);
    }

    await this.#sendTable("companies", () => undefined);
    const { people: total } = this.#options.state;
    await this.#sendTable("people", (done) =>
      this.#options.onProgress?.({ phase: "copy", done, total }),
    );
  }

  drop(): Promise<void> {
    return this.#servers.onAll(dropTables(this.#version, this.#servers.connected.topology));
  }

  /** Makes the version the one that is served, and clears up. Done again, it does what is left. */
  async publish(): Promise<void> {
    const servers = this.#servers;
    const { topology } = servers.connected;
    const { people, companies } = this.#options.state;
    const pointers = servers.pathOf("headcount_datasets");
    // The same number on all, told by one that was cut off too.
    const query = `SELECT max(activated) FROM ${pointers} WHERE version = '${this.#version}'`;
    const activated = Math.max(
      ...(await servers.onEach((client) => servers.number(query, client))),
    );

    await servers.point({
      version: this.#version,
      activated: activated || this.#options.now(),
      people,
      companies,
    });

    // The version before the new one stays for services that have not noticed yet.
    const versions = await servers.rows(
      `SELECT version FROM ${pointers} GROUP BY version ORDER BY max(activated) DESC`,
    );
    const old = versions.map(([name]) => String(name)).slice(2);
    for (const name of old)
      if (name !== this.#version) await servers.onAll(dropTables(name, topology));
  }

  async #isThere(): Promise<boolean> {
    const servers = this.#servers;
    const answers = await servers.onEach(async (client) => {
      for (const name of Object.values(this.#tables))
        if ((await servers.number(`EXISTS TABLE ${servers.local(name)}`, client)) !== 1)
          return false;
      return true;
    });
    return answers.every((isThere) => isThere);
  }

  async #sendTable(table: RowPiece["table"], onRows: (done: number) => void): Promise<void> {
    const { folder, state } = this.#options;
    const name = this.#tables[table];
    const by = `intDiv(${POSITION[table]}, ${state.pieceRows})`;
    const there = await this.#servers.counts(name, by);
    const next = piecesOf(table, folder, state).entries();
    let rows = 0;

    const work = async (client: ClickHouseClient): Promise<void> => {
      for (const [number, piece] of next) {
        await this.#sendPiece(piece, there.get(number) ?? 0, client);
        rows += piece.before - piece.from;
        onRows(rows);
      }
    };

    await allOf(this.#servers.streams.map(work));
    await this.#holds(name, state[table]);
  }

  /** @param count how many of its rows the servers have */
  async #sendPiece(
    { table, folder, from, before }: RowPiece,
    count: number,
    client: ClickHouseClient,
  ): Promise<void> {
    if (count === before - from) return;

    const servers = this.#servers;
    const name = this.#tables[table];
    const place = `${POSITION[table]} >= ${from} AND ${POSITION[table]} < ${before}`;
    // What a load that was cut off, or a server, left of it.
    if (count !== 0) await servers.remove(name, place);

    for (const file of await readdir(folder))
      await servers.send(name, columnsOf(table), createReadStream(join(folder, file)), client);
    await this.#holds(name, before - from, place);
  }

  async #holds(table: string, rows: number, condition?: string): Promise<void> {
    const stored = await this.#servers.count(table, condition);
    const content = Number.isNaN(stored)
      ? "other rows on one server than on another"
      : `${stored} of ${rows} rows`;
    if (stored !== rows) throw loadFailure(`${table} holds ${content}`);
  }
}
