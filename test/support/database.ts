import { existsSync, readdirSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import pg from "pg";
import { RUN_FOLDER } from "./once-a-run.ts";

const ROOT = "/usr/lib/postgresql";

/** The folder with initdb and postgres, of the newest version that is installed. */
export function postgresBinaries(): string | undefined {
  if (!existsSync(ROOT)) return undefined;
  const versions = readdirSync(ROOT).filter((name) =>
    existsSync(join(ROOT, name, "bin", "initdb")),
  );
  const [newest] = versions.sort((a, b) => Number(b) - Number(a));
  return newest === undefined ? undefined : join(ROOT, newest, "bin");
}

export const hasPostgres = postgresBinaries() !== undefined;

/** Where global-setup.ts answers with the run's PostgreSQL, which it starts for the first who asks. */
export const SERVER_SOCKET = join(RUN_FOLDER, "postgres");

export interface Server {
  readonly url: string;
  readonly folder: string;
}

const server = (): Promise<Server> =>
  new Promise((done, fail) => {
    const asked = request({ socketPath: SERVER_SOCKET, path: "/" }, async (response) => {
      done(JSON.parse(Buffer.concat(await response.toArray()).toString()) as Server);
    });
    asked.on("error", fail).end();
  });

export interface Database {
  readonly url: string;
  /** The folder of its files. */
  readonly files: string;
  query(sql: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
  drop(): Promise<void>;
}

/** A connection to PostgreSQL. Whoever asks for it ends it. */
export async function connected(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return client;
}

let made = 0;

/** A database of its own, at the PostgreSQL that all files of the run share. */
export async function openDatabase(): Promise<Database> {
  const { folder, url: shared } = await server();
  const name = `test_${process.pid}_${Date.now().toString(36)}_${made++}`;
  const at = async (place: string, sql: string) => {
    const client = await connected(place);
    try {
      const result: unknown = await client.query(sql);
      return ([result].flat().at(-1) as { rows: Record<string, unknown>[] }).rows;
    } finally {
      await client.end();
    }
  };

  await at(shared, `CREATE DATABASE ${name}`);
  const url = shared.replace(/\/postgres$/, `/${name}`);
  const [{ oid } = {}] = await at(shared, `SELECT oid FROM pg_database WHERE datname = '${name}'`);
  return {
    url,
    files: join(folder, "data", "base", String(oid)),
    query: (sql) => at(url, sql),
    drop: async () => {
      await at(shared, `DROP DATABASE ${name} WITH (FORCE)`);
    },
  };
}
