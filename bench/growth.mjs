// What grows with size: exports, datasets, ledgers and run folders. Tables, and one plot made from them.
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { median } from "./arithmetic.mjs";
import { measureGrowth as datasetGrowth } from "./count.mjs";
import { measureMemory, prepareExports } from "./export.mjs";
import { API_KEY, headcount, note, ROOT, round, scratch, startPageServer, userEnvironment } from "./harness.mjs";
import { chargePairs, openLedger } from "./service.mjs";

export const name = "growth";
export const covers = [];

export async function measure({ quick, people, series = {} }) {
  const measured = {};
  // The export and count families keep these series; only where today's results lack them are they taken here.
  if (series.export === undefined) {
    const exporter = await prepareExports();
    measured.export = (await measureMemory(exporter, quick)).points;
    await exporter.server.stop();
  }
  if (series.dataset === undefined) measured.dataset = await datasetGrowth({ quick, people });
  measured.ledger = await growLedger(quick ? [10_000, 100_000, 1_000_000] : [10_000, 100_000, 1_000_000, 10_000_000]);
  measured.runs = await growRuns(quick ? [10, 100, 1_000] : [10, 100, 1_000, 10_000]);
  return { rows: [], series: measured };
}

/** One ledger that grows; at each size: charges a second, one charge alone, a balance, a whole verification, an opening. */
export async function growLedger(sizes) {
  const path = join(scratch("ledger"), "ledger.db");
  let store = await openLedger(path);
  let entries = 1;
  const points = [];
  for (const size of sizes) {
    note(`ledger of ${size.toLocaleString("en")} entries`);
    while (entries < size) {
      const missing = Math.min(100_000, size - entries);
      await chargePairs(store, 64, Number.POSITIVE_INFINITY, missing);
      // The last clients may each have begun one more.
      entries = countEntries(await openReader(path));
    }
    const single = [];
    for (let index = 0; index < 100; index++)
      single.push(1_000 / (await chargePairs(store, 1, Number.POSITIVE_INFINITY, 1)));
    const balance = await milliseconds(() => store.balance("bench", "live"));
    let breaches;
    const verify = await milliseconds(async () => {
      breaches = await store.verify();
    });
    if (breaches.length > 0) throw new Error(`the ledger is not sound: ${breaches.join("; ")}`);
    // Last, because it adds entries of its own.
    const rate = await chargePairs(store, 64, 1_000);
    await store.close();
    const { openSqliteStore } = await import(join(ROOT, "dist/service/stores/sqlite.js"));
    const open = await milliseconds(async () => {
      store = await openSqliteStore({ path, now: () => Date.now() });
      await store.recover(0);
    });
    entries = countEntries(await openReader(path));
    points.push({
      size,
      "charges/s": round(rate),
      "charge, ms": round(median(single)),
      "balance, ms": round(balance),
      "verify, s": round(verify / 1_000),
      "open, ms": round(open),
      "file, MB": round(statSync(path).size / 1e6),
      "memory, MB": round(process.memoryUsage().rss / 2 ** 20),
    });
  }
  await store.close();
  return points;
}

async function openReader(path) {
  const { DatabaseSync } = await import("@photostructure/sqlite");
  return new DatabaseSync(path, { readOnly: true });
}

function countEntries(database) {
  const { entries } = database.prepare("SELECT max(id) AS entries FROM entries").get();
  database.close();
  return Number(entries);
}

async function milliseconds(work) {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** A state folder with copies of one real run; at each size: `runs list`, and a small search that has to find its place. */
export async function growRuns(sizes) {
  const server = await startPageServer();
  const folder = scratch("runs");
  const env = userEnvironment(folder, { HEADCOUNT_API_KEY: API_KEY, HEADCOUNT_BASE_URL: server.url });
  const output = join(folder, "people.csv");
  const search = (title) =>
    headcount(
      [
        "search",
        "--department",
        "Sales",
        "--title",
        title,
        "--max-credits",
        "10",
        "--quiet",
        "-o",
        output,
        "--overwrite",
      ],
      {
        env,
        watch: true,
      },
    );
  await search("first");
  const runs = join(folder, "state", "headcount", "runs");
  const [model] = readdirSync(runs).filter((entry) => !entry.startsWith("."));
  const plan = readFileSync(join(runs, model, "plan.json"), "utf8");
  const points = [];
  let made = 1;
  for (const size of sizes) {
    note(`folder of ${size.toLocaleString("en")} runs`);
    for (; made < size; made++) {
      const id = `${model.slice(0, -6)}${made.toString(16).padStart(6, "0")}`;
      mkdirSync(join(runs, id));
      cpSync(join(runs, model), join(runs, id), { recursive: true, filter: (path) => !path.endsWith("lock") });
      writeFileSync(join(runs, id, "plan.json"), plan.replaceAll(model, id));
    }
    const lists = [];
    const searches = [];
    let peak = 0;
    for (let index = 0; index < 5; index++) {
      const list = await headcount(["runs", "list", "--json"], { env, watch: true });
      lists.push(list.ms);
      peak = Math.max(peak, list.peakMb);
      searches.push((await search(`title ${size} ${index}`)).ms);
    }
    made += lists.length;
    points.push({
      size,
      "list, ms": round(median(lists)),
      "list, peak MB": round(peak),
      "search, ms": round(median(searches)),
    });
  }
  rmSync(folder, { recursive: true, force: true });
  await server.stop();
  return points;
}
