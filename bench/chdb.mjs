// One load into chDB, a ClickHouse in this process: `node bench/chdb.mjs load|bare|steps FILE FOLDER [ROWS A PIECE]`. Prints what it took as JSON; `steps` sends
// one statement at a time and tells the CPU of each kind. Apart, because chDB has one folder for each process.
import { createWriteStream, mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { pipeline } from "node:stream/promises";
import { ROOT } from "./harness.mjs";

const [mode, file, folder, pieceRows] = process.argv.slice(2);
const modules = ["dataset/clickhouse/schema", "dataset/clickhouse/load/import"];
const { createTables, loadIntoClickHouse } = Object.assign(
  {},
  ...(await Promise.all(modules.map((path) => import(join(ROOT, `dist/${path}.js`))))),
);
const { createClient } = await import("@clickhouse/client");
const { createChdbConnection } = await import("chdb/connection");

const topology = { database: "default", replicated: false };
mkdirSync(folder, { recursive: true });
// A connection to chDB has one statement at a time, one to a server as many as are asked for: the idler of two takes each, as a load has two.
const connections = [1, 2].map(() =>
  createClient({ connection: createChdbConnection({ path: join(folder, "chdb") }) }),
);
/** CPU seconds by kind of statement, right where one is sent at a time. Reading, forms and packing are what is left. */
const steps = {};
/** Where a statement writes, or else the first table that it reads. */
const stepOf = (sql) =>
  /(?:INSERT INTO|FROM|TABLE) (?:default\.)?([a-z]+)/.exec(sql)?.[1] ?? "other";
const running = connections.map(() => 0);
let last = Promise.resolve();
const onOne = (method) => async (params) => {
  if (mode !== "steps") return send(method, params);
  const answer = last.then(() => send(method, params));
  last = answer.catch(() => undefined);
  return answer;
};
async function send(method, params) {
  const index = running.indexOf(Math.min(...running));
  running[index]++;
  const before = process.cpuUsage();
  try {
    return await connections[index][method](params);
  } finally {
    running[index]--;
    const { user, system } = process.cpuUsage(before);
    const step = stepOf(params.query ?? params.table);
    steps[step] = (steps[step] ?? 0) + (user + system) / 1e6;
  }
}
const client = { command: onOne("command"), query: onOne("query"), insert: onOne("insert") };
const seconds = async (work) => {
  const from = performance.now();
  await work();
  return (performance.now() - from) / 1_000;
};
/** What a folder takes on the disk; what goes meanwhile is nothing. */
function bytesOf(path) {
  const info = statSync(path, { throwIfNoEntry: false });
  if (!info?.isDirectory()) return (info?.blocks ?? 0) * 512;
  try {
    return readdirSync(path).reduce((sum, name) => sum + bytesOf(join(path, name)), 0);
  } catch {
    return 0;
  }
}
const answer = mode === "bare" ? await bare() : await load();
const cpu = process.cpuUsage();
if (mode !== "bare") answer.merged = await mergedRows();
process.stdout.write(
  JSON.stringify({
    ...answer,
    cpu: (cpu.user + cpu.system) / 1e6,
    ...(mode === "steps" && { steps }),
  }),
);
for (const connection of connections) await connection.close();
process.exit(0);

/** The file's rows into the table that people go to, with its projections and a record: nothing checked, no normal form, no order. */
async function bare() {
  for (const query of createTables("bare", topology)) await client.command({ query });
  const same = [
    "id",
    "country",
    "department",
    "seniority",
    "industry",
    "title",
    "seniority_level",
    "functional_area",
  ];
  same.push("state", "city", "location", "name", "first_name", "last_name", "headline");
  const texts = same.map((column) => `ifNull(${column}, '')`).join(", ");
  const query = `INSERT INTO people_bare (rid, ${same.join(", ")}, network_address, network_slug, company_address, company_slug, company,
      connections, followers, record)
    SELECT rowNumberInAllBlocks(), ${texts}, ifNull(network_url, ''), '', ifNull(company_network_url, ''), '', -1, connections, followers,
      toJSONString(tuple(*)) FROM file('${file}')`;
  return { seconds: await seconds(() => client.command({ query })) };
}

/** Rows that were written again because parts were merged. */
async function mergedRows() {
  const result = await client.query({
    query: "SELECT value FROM system.events WHERE event = 'MergedRows'",
    format: "JSONCompact",
  });
  return Number((await result.json()).data[0]?.[0] ?? 0);
}

async function load() {
  takesFiles();
  let highest = 0;
  const look = setInterval(() => {
    highest = Math.max(highest, bytesOf(folder));
  }, 500);
  const input = {
    people: [file],
    companies: [],
    cwd: "/",
    rejects: join(folder, "rejects"),
    overwrite: true,
  };
  const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  const options = {
    datasetDir: join(folder, "load"),
    now: Date.now,
    sleep,
    ...(pieceRows && { pieceRows: Number(pieceRows) }),
  };
  const servers = { clients: [client], topology };
  let report;
  const took = await seconds(async () => {
    report = await loadIntoClickHouse(servers, "bench", input, options);
  });
  clearInterval(look);
  return {
    seconds: took,
    people: report.people.taken,
    highest,
    left: bytesOf(join(folder, "chdb")),
  };
}

/** chDB's client makes JavaScript text of what is sent, which Parquet is not; a server takes the bytes from its socket. */
function takesFiles() {
  const { insert } = client;
  let sent = 0;
  client.insert = async (params) => {
    if (params.format !== "Parquet") return insert(params);
    // Two are sent beside each other.
    const path = join(folder, `sent-${sent++}.parquet`);
    await pipeline(params.values, createWriteStream(path));
    const columns = params.columns.join(", ");
    const query = `INSERT INTO ${params.table} (${columns}) SELECT ${columns} FROM file('${path}', 'Parquet')`;
    await client.command({ query, clickhouse_settings: params.clickhouse_settings });
    rmSync(path);
    return { executed: true, query_id: "" };
  };
}
