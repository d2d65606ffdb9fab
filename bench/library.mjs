// R3: everybody of a dataset bought and owned: taking the run in, the eight reference counts, who of a page is owned, bytes a person.
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { median } from "./arithmetic.mjs";
import { canonicaliser, contentKey, generated, startService } from "./datasets.mjs";
import { attachFilterTable } from "./filter-table.mjs";
import { headcount, note, ROOT, scratch, userEnvironment, valueRow } from "./harness.mjs";
import { referenceQueries } from "./queries.mjs";

export const name = "library";

const PEOPLE = { full: 1_000_000, quick: 50_000 };
const PAGE = 1_000;
const ROUNDS = 15;

export async function measure({ quick }) {
  const people = quick ? PEOPLE.quick : PEOPLE.full;
  const { folder } = await generated(people);
  const home = scratch("library");
  const url = await buy(folder, home);
  note(`taking ${people.toLocaleString("en")} people in`);
  const env = userEnvironment(home);
  const from = performance.now();
  await headcount(["owned", "status", "--json", "--base-url", url], { env });
  const seconds = (performance.now() - from) / 1_000;
  const file = libraryFile(join(home, "state", "headcount"));
  const { Library } = await import(join(ROOT, "dist/engine/library/library.js"));
  const library = await Library.open(file);
  try {
    const counts = await countsOf(library, folder);
    const pages = await pagesOf(library);
    const worst = counts.toSorted((a, b) => b.ms - a.ms)[0];
    const row = { id: "R3", yardstick: `a library of ${people.toLocaleString("en")} people` };
    return [
      valueRow({
        ...row,
        part: "taken in",
        work: "people a second",
        target: { atLeast: 10_000 },
        unit: "people/s",
        value: people / seconds,
      }),
      valueRow({
        ...row,
        part: "counts",
        work: "count --owned, median of the eight reference queries",
        target: { atMost: 50 },
        unit: "ms",
        value: median(counts.map(({ ms }) => ms)),
        remark: `${counts.map(({ name: of, ms }) => `${of} ${ms.toFixed(1)}`).join(", ")} ms; the slowest is ${worst.name}`,
      }),
      valueRow({
        ...row,
        part: "a page",
        work: `who of ${PAGE} people is owned`,
        target: { atMost: 5 },
        unit: "ms",
        value: median(pages),
      }),
      valueRow({
        ...row,
        part: "on disk",
        work: "bytes a person, with the record",
        target: { atMost: 1_500 },
        unit: "bytes",
        value: statSync(file).size / people,
      }),
    ];
  } finally {
    library.close();
  }
}

/** One run over everybody, as anybody would buy it. */
async function buy(folder, home) {
  const service = await startService(folder);
  const env = userEnvironment(home, {
    HEADCOUNT_API_KEY: service.key,
    HEADCOUNT_BASE_URL: service.url,
  });
  const argv = [
    "search",
    "--all",
    "--per-page",
    "1000",
    "--concurrency",
    "4",
    "--yes",
    "--quiet",
    "-o",
    join(home, "all.ndjson"),
  ];
  await headcount(argv, { env });
  await service.stop();
  return service.url;
}

function libraryFile(state) {
  const folder = join(state, "library");
  const file = existsSync(folder)
    ? readdirSync(folder).find((each) => each.endsWith(".db"))
    : undefined;
  if (file === undefined) throw new Error(`no library in ${folder}`);
  return join(folder, file);
}

async function countsOf(library, folder) {
  const { readMeta, readPointer } = await import(join(ROOT, "dist/dataset/layout.js"));
  const { startDuckDb, machineResources } = await import(join(ROOT, "dist/dataset/duckdb.js"));
  const dataset = join(folder, "dataset");
  const version = join(dataset, (await readPointer(dataset)).folder);
  const connection = await (await startDuckDb(machineResources())).connect();
  const { people } = await readMeta(version);
  await attachFilterTable(connection, version, people, await contentKey(people));
  const queries = await referenceQueries(
    async (sql) => (await connection.runAndReadAll(sql)).getRowsJS(),
    5,
  );
  const canonical = await canonicaliser();
  return queries.map(({ name: of, variants }) => ({
    name: of,
    ms: median(
      timesOf(() => {
        for (const { filters } of variants) library.count(canonical(filters));
      }).map((ms) => ms / variants.length),
    ),
  }));
}

async function pagesOf(library) {
  const { boughtBefore } = await import(join(ROOT, "dist/engine/library/members.js"));
  const everybody = [];
  for (const record of library.records({ exact: {}, prefix: {}, range: {} })) {
    if (everybody.push(JSON.parse(record).id) === 40 * PAGE) break;
  }
  const identities = everybody.filter((_, index) => index % 40 === 0);
  return timesOf(() => {
    if (
      boughtBefore(library.database, identities, { run: "", at: Number.MAX_SAFE_INTEGER }).size !==
      identities.length
    )
      throw new Error("not all are owned");
  });
}

const timesOf = (work) =>
  Array.from({ length: ROUNDS }, () => {
    const from = performance.now();
    work();
    return performance.now() - from;
  });
