// C1-C5: counts, pages and look-ups over generated datasets, against DuckDB itself and against other databases.
import { cpSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { growthExponent, median, ratioOf, summarise, verdict, within } from "./arithmetic.mjs";
import { canonicaliser, contentKey, generated, startService } from "./datasets.mjs";
import { attachFilterTable } from "./filter-table.mjs";
import {
  absentRow,
  BENCH,
  missing,
  note,
  ROOT,
  ratioRow,
  round,
  runProgram,
  scratch,
  valueRow,
} from "./harness.mjs";
import { openConnection, requestBytes } from "./load.mjs";
import { referenceQueries } from "./queries.mjs";
import { openPostgres, openSqlite, openUnsorted, POSTGRES_NEEDS } from "./rivals.mjs";

export const name = "count";
export const covers = ["C1", "C2", "C3", "C4", "C5"];

export async function measure({ quick, people }) {
  const sizes = sizesOf({ quick, people });
  const main = sizes.filter((size) => size <= 10_000_000).at(-1) ?? sizes[0];
  const rounds = quick ? 5 : 9;
  const rows = [];
  const points = [];
  for (const size of sizes) {
    const made = await generated(size);
    const data = await openData(made.folder, size, rounds);
    note(`${size.toLocaleString("en")} people: the eight queries in the engine`);
    points.push(await growthPoint(data, size, made));
    if (size === main) {
      rows.push(...(await measureOverHttp(data, size)));
      rows.push(...(await measureRivals(data, size)));
      rows.push(...(await measurePages(data, size)));
      rows.push(...(await measureLookups(data)));
    }
    await data.close();
  }
  rows.push(...growthRows(points));
  return { rows, series: { dataset: points } };
}

const sizesOf = ({ quick, people }) =>
  [...(people ?? (quick ? [200_000, 1_000_000] : [1_000_000, 10_000_000]))].sort((a, b) => a - b);

/** The engine over a dataset, the same people as a table of plain DuckDB, and the queries with the SQL of each. */
async function openData(folder, size, rounds) {
  const datasetDir = join(folder, "dataset");
  const { readPointer } = await import(join(ROOT, "dist/dataset/layout.js"));
  const { startDuckDb, machineResources } = await import(join(ROOT, "dist/dataset/duckdb.js"));
  const { openDataset } = await import(join(ROOT, "dist/dataset/embedded/open.js"));
  const pointer = await readPointer(datasetDir);
  const version = join(datasetDir, pointer.folder);
  const instance = await startDuckDb(machineResources());
  const connection = await instance.connect();
  await attachFilterTable(connection, version, size, await contentKey(size));
  const rowsOf = async (sql, values) => (await connection.runAndReadAll(sql, values)).getRowsJS();
  const queries = await referenceQueries(rowsOf, rounds + 1);
  const engine = await openDataset(datasetDir);
  const canonical = await canonicaliser();
  for (const { variants } of queries) {
    for (const variant of variants) {
      variant.expected = await engine.count(canonical(variant.filters));
      variant.sql = `SELECT count(*) FROM filters.people WHERE ${variant.where}`;
    }
  }
  return {
    folder,
    datasetDir,
    version,
    connection,
    engine,
    queries,
    rounds,
    canonical,
    close: async () => {
      await engine.close();
      connection.closeSync();
      instance.closeSync();
    },
  };
}

const timed = async (work) => {
  const start = performance.now();
  const value = await work();
  return { ms: performance.now() - start, value };
};

/** Runs each of `ways` in turn over the variants of a query; the first variant warms up. Every way has to find the same number. */
async function race(query, ways) {
  const samples = Object.fromEntries(Object.keys(ways).map((way) => [way, []]));
  for (const [index, variant] of query.variants.entries()) {
    for (const [way, count] of Object.entries(ways)) {
      const { ms, value } = await count(variant);
      if (value !== undefined && value !== variant.expected) {
        throw new Error(
          `${query.name} ${JSON.stringify(variant.filters)}: ${way} counts ${value}, the engine ${variant.expected}`,
        );
      }
      if (index > 0) samples[way].push(ms);
    }
  }
  return samples;
}

const inEngine =
  ({ engine, canonical }) =>
  (variant) =>
    timed(() => engine.count(canonical(variant.filters)));

// --------------------------------------------------------------------------------------------------------------------- C1

/** A service over a copy of the dataset that shares its blocks, with a ledger of its own. */
async function serve(data) {
  const folder = join(scratch("count"), "data");
  mkdirSync(folder);
  cpSync(data.datasetDir, join(folder, "dataset"), { recursive: true, mode: 2 });
  return startService(folder);
}

async function measureOverHttp(data, size) {
  note(`C1: uncached counts over HTTP, ${size.toLocaleString("en")} people`);
  const service = await serve(data);
  const line = await openConnection(service.url);
  const overHttp = async (variant) => {
    const body = JSON.stringify({ filters: variant.filters });
    const {
      ms,
      status,
      body: answer,
    } = await line.ask(
      requestBytes({ method: "POST", path: "/v1/person/count", key: service.key, body }),
    );
    const { result } = JSON.parse(answer.toString());
    if (status !== 200 || result.cached)
      throw new Error(`C1: status ${status}, ${JSON.stringify(result)}`);
    return { ms, value: result.count };
  };
  const raw = async (variant) => {
    const { ms, value } = await timed(async () =>
      (await data.connection.runAndReadAll(variant.sql)).getRowsJS(),
    );
    return { ms, value: Number(value[0][0]) };
  };
  const rows = [];
  for (const query of data.queries) {
    const samples = await race(query, { ours: overHttp, raw });
    const ratio = ratioOf(samples.ours, samples.raw);
    rows.push({
      id: "C1",
      part: query.name,
      work: `uncached count over HTTP, ${size.toLocaleString("en")} people`,
      yardstick: "plain SQL on a table of the same people in DuckDB, in the same order",
      target: "<= 1.2x",
      unit: "ms",
      ours: rounded(samples.ours),
      theirs: rounded(samples.raw),
      measured: round(ratio.value),
      measured_min: round(ratio.min),
      measured_max: round(ratio.max),
      verdict: within(median(samples.ours), median(samples.raw), 1.2, 1),
      remark: `${signed(median(samples.ours) - median(samples.raw))} ms (1 ms more is allowed where that is more than 1.2x)`,
    });
  }
  line.close();
  await service.stop();
  return rows;
}

const signed = (ms) => `${ms < 0 ? "" : "+"}${ms.toFixed(2)}`;

const rounded = (samples) =>
  Object.fromEntries(
    Object.entries(summarise(samples)).map(([key, value]) => [key, round(value, 4)]),
  );

// --------------------------------------------------------------------------------------------------------------------- C2

async function measureRivals(data, size) {
  note(`C2: PostgreSQL, SQLite and unsorted DuckDB, ${size.toLocaleString("en")} people`);
  const key = await contentKey(size);
  const lacking = missing(POSTGRES_NEEDS);
  const rivals = {
    ...(lacking === undefined
      ? { postgresql: await openPostgres(data.connection, size, key) }
      : {}),
    sqlite: await openSqlite(data.connection, size, key),
    unsorted: await openUnsorted(data.connection, size, key),
  };
  const ways = { ours: inEngine(data) };
  for (const [rival, { count }] of Object.entries(rivals))
    ways[rival] = ({ where }) => timed(() => count(where));
  const rows = [];
  const sums = {};
  for (const query of data.queries) {
    const samples = await race(query, ways);
    const medians = Object.fromEntries(
      Object.entries(samples).map(([way, values]) => [way, median(values)]),
    );
    for (const [way, value] of Object.entries(medians)) sums[way] = (sums[way] ?? 0) + value;
    const [best] = Object.keys(rivals).sort((a, b) => medians[a] - medians[b]);
    rows.push(
      ratioRow({
        id: "C2",
        part: query.name,
        work: `count in the engine, ${size.toLocaleString("en")} people`,
        yardstick: `the best of the others: ${best}`,
        target: { atMost: 2 },
        ours: samples.ours,
        theirs: samples[best],
        remark: Object.entries(medians)
          .map(([way, value]) => `${way} ${value.toFixed(2)}`)
          .join(", "),
      }),
    );
  }
  for (const rival of Object.values(rivals)) await rival.close();
  const [best, bestSum] = Object.entries(sums)
    .filter(([way]) => way !== "ours")
    .sort(([, a], [, b]) => a - b)[0];
  rows.push({
    id: "C2",
    part: "sum of the eight",
    work: `the sum of the medians, ${size.toLocaleString("en")} people`,
    yardstick: `the best of the others: ${best}`,
    target: "<= 1x",
    unit: "ms",
    measured: round(sums.ours / bestSum),
    verdict: verdict(sums.ours / bestSum, { atMost: 1 }),
    remark: Object.entries(sums)
      .map(([way, value]) => `${way} ${value.toFixed(1)} ms`)
      .join(", "),
  });
  if (lacking !== undefined) {
    rows.push(
      absentRow({
        id: "C2",
        part: "PostgreSQL",
        work: "the eight",
        yardstick: "PostgreSQL 15",
        target: "<= 2x",
        reason: lacking,
      }),
    );
  }
  return rows;
}

// --------------------------------------------------------------------------------------------------------------------- C3

async function growthPoint(data, size, made) {
  const point = { size };
  for (const query of data.queries) {
    const { ours } = await race(query, { ours: inEngine(data) });
    point[query.name] = round(median(ours));
  }
  point["sum, ms"] = round(
    Object.entries(point).reduce((sum, [key, value]) => (key === "size" ? sum : sum + value), 0),
  );
  point["memory, MB"] = round(await countingMemory(data));
  point["on disk, MB"] = round(folderBytes(data.version) / 1e6);
  if (made.seconds !== undefined) {
    point["generate, s"] = round(made.seconds);
    point["generate, peak MB"] = round(made.peakMb);
  }
  return point;
}

/** Peak memory of a process of its own that opens the dataset and counts the eight. */
async function countingMemory({ datasetDir, queries }) {
  const filters = queries.flatMap(({ variants }) => variants.map((variant) => variant.filters));
  const args = [join(BENCH, "open-dataset.mjs"), datasetDir, JSON.stringify(filters)];
  return (await runProgram(process.execPath, args, { env: process.env, watch: true })).peakMb;
}

const folderBytes = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);

/** Growth as the exponent of size: 1 is linear. */
function growthRows(points) {
  const sizes = points.map(({ size }) => size.toLocaleString("en")).join(" -> ");
  const base = { id: "C3", work: `counts in the engine, ${sizes} people`, yardstick: "itself" };
  if (points.length < 2) {
    return [
      absentRow({
        ...base,
        target: "<= 1 (exponent)",
        reason: "one size only: --people N,M measures growth",
      }),
    ];
  }
  const exponent = (columns) =>
    growthExponent(
      points.map((point) => [point.size, columns.reduce((sum, column) => sum + point[column], 0)]),
    );
  const row = (part, columns, atMost) =>
    valueRow({
      ...base,
      part,
      text: `<= ${atMost} (exponent)`,
      target: { atMost },
      unit: "exponent",
      value: exponent(columns),
      remark: points
        .map(
          (point) =>
            `${point.size.toLocaleString("en")}: ${columns.reduce((sum, column) => sum + point[column], 0).toFixed(2)} ms`,
        )
        .join(", "),
    });
  return [
    row("the eight", ["sum, ms"], 1.05),
    row(
      "leading keys",
      ["department", "country + department + seniority", "country in five"],
      0.85,
    ),
    row("look-ups", ["headline prefix", "full name"], 0.85),
  ];
}

// ----------------------------------------------------------------------------------------------------------------- C4, C5

async function measurePages(data, size) {
  const [{ variants }] = data.queries;
  const [largest] = [...variants].sort((a, b) => b.expected - a.expected);
  const perPage =
    largest.expected >= 1_000_000 ? 100 : Math.max(1, Math.floor(largest.expected / 10_000));
  note(
    `C4: page 10,000 and page 1 of a segment of ${largest.expected.toLocaleString("en")}, ${perPage} rows a page`,
  );
  const service = await serve(data);
  const line = await openConnection(service.url);
  const page = (number) => async () => {
    const body = JSON.stringify({ filters: largest.filters, page: number, per_page: perPage });
    const {
      ms,
      status,
      body: answer,
    } = await line.ask(
      requestBytes({ method: "POST", path: "/v1/person/search", key: service.key, body }),
    );
    const { result } = JSON.parse(answer.toString());
    if (status !== 200 || result.length !== perPage)
      throw new Error(`C4: status ${status}, ${result?.length} rows`);
    return ms;
  };
  const cold = await page(1)();
  const samples = { first: [], deep: [] };
  for (let index = 0; index < 25; index++) {
    // Neighbouring pages, so that neither is answered from the pages that SQLite read a moment ago.
    samples.first.push(await page(1 + index)());
    samples.deep.push(await page(10_000 - index)());
  }
  line.close();
  await service.stop();
  return [
    ratioRow({
      id: "C4",
      work: `page 10,000 of a segment of ${largest.expected.toLocaleString("en")}, ${perPage} rows a page, charged, over HTTP, ${size.toLocaleString("en")} people`,
      yardstick: "page 1",
      target: { atMost: 1.5 },
      ours: samples.deep,
      theirs: samples.first,
      remark: `the first page of a segment that nobody asked for before: ${cold.toFixed(1)} ms`,
    }),
  ];
}

async function measureLookups({ engine, canonical }) {
  note("C5: a company, and the first page of its employees");
  const { people } = engine.info();
  const count = 200;
  const domains = new Set();
  const everybody = canonical({});
  for (let index = 0; domains.size < count && index < 20; index++) {
    const { records } = await engine.people(everybody, {
      offset: Math.floor((people / 20) * index),
      limit: 200,
    });
    for (const record of records) {
      const { company_domain: domain } = JSON.parse(record);
      if (domain && domains.size < count) domains.add(domain);
    }
  }
  const companies = [];
  const lookups = [];
  for (const value of domains) {
    const { ms, value: found } = await timed(() => engine.company({ by: "domain", value }));
    if (found === undefined) throw new Error(`no company with the domain ${value}`);
    lookups.push(ms);
    companies.push(found.id);
  }
  const pages = [];
  let rows = 0;
  for (const id of companies) {
    const { ms, value } = await timed(() => engine.employees(id, { offset: 0, limit: 100 }));
    pages.push(ms);
    rows += value.records.length;
  }
  const work = `in the engine, ${people.toLocaleString("en")} people, ${companies.length} companies that nobody asked for before`;
  return [
    valueRow({
      id: "C5",
      part: "company",
      work: `look-up by domain ${work}`,
      target: { atMost: 1 },
      unit: "ms",
      value: median(lookups),
      ours: lookups,
    }),
    valueRow({
      id: "C5",
      part: "employees",
      work: `first page of up to 100 employees ${work}`,
      target: { atMost: 5 },
      unit: "ms",
      value: median(pages),
      ours: pages,
      remark: `${(rows / companies.length).toFixed(0)} employees a company`,
    }),
  ];
}
