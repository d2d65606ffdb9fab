// Other databases with the same rows: PostgreSQL and SQLite with indexes for the reference queries, DuckDB without our order.
// Each is loaded once and kept in the cache; each gives `count(where)` and `close()`.
import { execFileSync, spawn } from "node:child_process";
import {
  chownSync,
  createReadStream,
  existsSync,
  mkdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { atEnd, CACHE, findProgram, note } from "./harness.mjs";

const COLUMNS = [
  "country",
  "state",
  "city",
  "title",
  "seniority",
  "functional_area",
  "industry",
  "name",
  "headline",
  "department",
];
/** What somebody would index who knows these filters and not which of them come together. */
const INDEXES = [
  "country, department, seniority",
  "department, connections",
  "industry",
  "functional_area",
  "seniority",
  "city",
  "title",
  "headline",
  "name",
];

const TABLE = (text, integer) =>
  `CREATE TABLE people (rid ${integer} PRIMARY KEY, ${COLUMNS.map((column) => `${column} ${text}`).join(", ")}, connections ${integer})`;
const SELECT = `SELECT rid, ${COLUMNS.join(", ")}, connections FROM filters.people`;

// ------------------------------------------------------------------------------------------------------------- PostgreSQL

const PG_BIN = "/usr/lib/postgresql/15/bin";

/** The Debian packages that PostgreSQL needs, for `missing`. */
export const POSTGRES_NEEDS = {
  [join(PG_BIN, "initdb")]: "postgresql-15",
  psql: "postgresql-client-15",
};

/**
 * @param connection a DuckDB connection with the dataset attached as `filters`
 * @param key names what the dataset holds, so that it is loaded again where that changes and not where only our layout does
 */
export async function openPostgres(connection, people, key) {
  const root = process.getuid?.() === 0;
  // PostgreSQL refuses to run as root, and its own user cannot look into root's home.
  const base = root ? join(tmpdir(), "headcount-bench-postgresql") : CACHE;
  const owner = root ? { uid: idOf("-u"), gid: idOf("-g") } : {};
  const data = join(base, `postgresql-${key}`);
  const run = (program, args) =>
    execFileSync(join(PG_BIN, program), args, {
      ...owner,
      stdio: "pipe",
      cwd: "/",
      env: { PATH: process.env.PATH, LC_ALL: "C.UTF-8" },
    });
  mkdirSync(base, { recursive: true });
  if (root) chownSync(base, owner.uid, owner.gid);
  const ready = existsSync(join(data, "headcount-bench-ready"));
  if (!ready) {
    rmSync(data, { recursive: true, force: true });
    run("initdb", ["-D", data, "-U", "postgres", "-A", "trust", "--locale=C", "-E", "UTF8"]);
  }
  const settings = {
    listen_addresses: "",
    unix_socket_directories: base,
    port: "54329",
    shared_buffers: "2GB",
    work_mem: "256MB",
    maintenance_work_mem: "1GB",
    effective_cache_size: "8GB",
    random_page_cost: "1.1",
    jit: "off",
    max_wal_size: "8GB",
    wal_level: "minimal",
    max_wal_senders: "0",
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const server = spawn(join(PG_BIN, "postgres"), ["-D", data, ...flags], {
    ...owner,
    stdio: "ignore",
    cwd: "/",
  });
  const ended = new Promise((resolve) => server.once("close", resolve));
  const stop = async () => {
    server.kill("SIGINT");
    await ended;
  };
  atEnd(stop);
  const { default: pg } = await import("pg");
  const client = await connected(pg, base, server);
  if (!ready) {
    note(`loading PostgreSQL with ${people.toLocaleString("en")} people`);
    const csv = join(CACHE, `people-${people}.csv`);
    await connection.run(`COPY (${SELECT}) TO '${csv}' (FORMAT csv, HEADER false)`);
    await copyIn(base, csv, TABLE("text", "integer").replace(" PRIMARY KEY", ""));
    rmSync(csv);
    for (const columns of INDEXES) await client.query(`CREATE INDEX ON people (${columns})`);
    await client.query("VACUUM (FREEZE, ANALYZE) people");
    await client.query("CHECKPOINT");
    writeFileSync(join(data, "headcount-bench-ready"), "");
  }
  return {
    count: async (where) =>
      Number((await client.query(`SELECT count(*) FROM people WHERE ${where}`)).rows[0].count),
    close: async () => {
      await client.end();
      await stop();
    },
  };
}

const idOf = (flag) => Number(execFileSync("id", [flag, "postgres"], { encoding: "utf8" }));

async function connected(pg, host, server) {
  for (let attempt = 0; ; attempt++) {
    const client = new pg.Client({ host, port: 54_329, user: "postgres", database: "postgres" });
    client.on("error", () => undefined);
    try {
      await client.connect();
      return client;
    } catch (error) {
      if (attempt > 150 || server.exitCode !== null) throw error;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }
}

/** Table and rows in one transaction, which PostgreSQL then need not log. */
function copyIn(host, csv, table) {
  return new Promise((resolve, reject) => {
    const login = ["-h", host, "-p", "54329", "-U", "postgres", "-d", "postgres"];
    const copy = [
      "-q",
      "-1",
      "-v",
      "ON_ERROR_STOP=1",
      "-c",
      table,
      "-c",
      "COPY people FROM STDIN (FORMAT csv)",
    ];
    const psql = spawn(findProgram("psql"), [...login, ...copy], {
      stdio: ["pipe", "ignore", "inherit"],
    });
    psql.once("error", reject);
    psql.once("close", (code) =>
      code === 0 ? resolve() : reject(new Error(`psql: exit ${code}`)),
    );
    // Where psql stops early its exit code is the error that tells.
    psql.stdin.once("error", () => undefined);
    createReadStream(csv, { highWaterMark: 1 << 20 }).pipe(psql.stdin);
  });
}

// ----------------------------------------------------------------------------------------------------------------- SQLite

export async function openSqlite(connection, people, key) {
  const { DatabaseSync } = await import("@photostructure/sqlite");
  const path = join(CACHE, `sqlite-${key}.db`);
  if (!existsSync(path)) {
    note(`loading SQLite with ${people.toLocaleString("en")} people`);
    const draft = `${path}.draft`;
    rmSync(draft, { force: true });
    const db = new DatabaseSync(draft);
    db.exec("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -1000000");
    db.exec(TABLE("TEXT", "INTEGER"));
    const insert = db.prepare(
      `INSERT INTO people VALUES (${["rid", ...COLUMNS, "connections"].map(() => "?").join(", ")})`,
    );
    db.exec("BEGIN");
    const rows = await connection.stream(SELECT);
    for (;;) {
      const chunk = await rows.fetchChunk();
      if (!chunk || chunk.rowCount === 0) break;
      for (const row of chunk.getRows()) insert.run(...row);
    }
    db.exec("COMMIT");
    for (const columns of INDEXES) db.exec(`CREATE INDEX "by ${columns}" ON people (${columns})`);
    db.exec("ANALYZE");
    db.close();
    renameSync(draft, path);
  }
  const db = new DatabaseSync(path, { readOnly: true });
  db.exec("PRAGMA mmap_size = 17179869184; PRAGMA cache_size = -500000");
  return {
    count: async (where) =>
      Number(Object.values(db.prepare(`SELECT count(*) FROM people WHERE ${where}`).get())[0]),
    close: async () => db.close(),
  };
}

// -------------------------------------------------------------------------------------------------------- DuckDB, unsorted

export async function openUnsorted(connection, people, key) {
  const path = join(CACHE, `unsorted-${key}.duckdb`);
  if (!existsSync(path)) {
    note(`writing ${people.toLocaleString("en")} people to DuckDB in no order`);
    const draft = `${path}.draft`;
    rmSync(draft, { force: true });
    await connection.run(`ATTACH '${draft}' AS draft (STORAGE_VERSION 'latest')`);
    await connection.run(
      "CREATE TABLE draft.people AS SELECT * FROM filters.people ORDER BY hash(rid)",
    );
    await connection.run("CHECKPOINT draft; DETACH draft");
    renameSync(draft, path);
  }
  await connection.run(`ATTACH '${path}' AS unsorted (READ_ONLY)`);
  return {
    count: async (where) => {
      const reader = await connection.runAndReadAll(
        `SELECT count(*) FROM unsorted.people WHERE ${where}`,
      );
      return Number(reader.getRowsJS()[0][0]);
    },
    close: async () => undefined,
  };
}
