// What grows with size: ledgers and run folders here, exports and datasets in their own parts. Tables, and one plot of all four.
import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { median } from "./arithmetic.mjs";
import {
  API_KEY,
  CACHE,
  headcount,
  note,
  ROOT,
  round,
  scratch,
  startPageServer,
  userEnvironment,
} from "./harness.mjs";
import { chargePairs, openLedger } from "./service.mjs";

export const name = "growth";

/** @param what "ledger" or "runs" */
export async function measure({ quick, what }) {
  if (what === "ledger") {
    const sizes = [10_000, 100_000, 1_000_000];
    return {
      rows: [],
      series: { ledger: await growLedger(quick ? sizes : [...sizes, 10_000_000]) },
    };
  }
  return {
    rows: [],
    series: { runs: await growRuns(quick ? [10, 100, 1_000] : [10, 100, 1_000, 10_000]) },
  };
}

/** One ledger that grows; at each size: charges a second, one charge alone, a balance, a whole verification, an opening. */
export async function growLedger(sizes) {
  // Two gigabytes in the end: not where a small /tmp may lie in memory.
  const path = join(scratch("ledger", CACHE), "ledger.db");
  let store = await openLedger(path);
  const { openSqliteStore } = await import(join(ROOT, "dist/service/ledger/sqlite.js"));
  const { DatabaseSync } = await import("@photostructure/sqlite");
  const entriesIn = () => {
    const database = new DatabaseSync(path, { readOnly: true });
    const { entries } = database.prepare("SELECT max(id) AS entries FROM entries").get();
    database.close();
    return entries;
  };
  const points = [];
  for (const size of sizes) {
    note(`ledger of ${size.toLocaleString("en")} entries`);
    // Charged as the service charges: what is written is chained, and nothing else would pass for sound.
    await chargePairs(store, 64, Number.POSITIVE_INFINITY, size - entriesIn());
    await store.close();
    const open = await milliseconds(async () => {
      store = await openSqliteStore({ path, now: () => Date.now() });
      await store.recover(0);
    });
    const single = [];
    for (let index = 0; index < 100; index++)
      single.push(1_000 / (await chargePairs(store, 1, Number.POSITIVE_INFINITY, 1)));
    const balance = await milliseconds(() => store.balance("bench", "live"));
    let breaches;
    const verify = await milliseconds(async () => {
      breaches = await store.verify();
    });
    if (breaches.length > 0) throw new Error(`the ledger is not sound: ${breaches.join("; ")}`);
    const rate = await chargePairs(store, 64, 1_000);
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

async function milliseconds(work) {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** A state folder with copies of one real run; at each size: `runs list`, `spend`, and a small search that has to find its place. */
export async function growRuns(sizes) {
  const server = await startPageServer();
  const folder = scratch("runs");
  const env = userEnvironment(folder, {
    HEADCOUNT_API_KEY: API_KEY,
    HEADCOUNT_BASE_URL: server.url,
  });
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
      cpSync(join(runs, model), join(runs, id), {
        recursive: true,
        filter: (path) => !path.endsWith("lock"),
      });
      writeFileSync(join(runs, id, "plan.json"), plan.replaceAll(model, id));
    }
    const lists = [];
    const spends = [];
    const searches = [];
    let peak = 0;
    for (let index = 0; index < (size < 10_000 ? 5 : 3); index++) {
      const list = await headcount(["runs", "list", "--json"], { env, watch: true });
      lists.push(list.ms);
      peak = Math.max(peak, list.peakMb);
      spends.push((await headcount(["spend", "--since", "all"], { env, watch: true })).ms);
      searches.push((await search(`title ${size} ${index}`)).ms);
    }
    made += lists.length;
    points.push({
      size,
      "list, ms": round(median(lists)),
      "list, peak MB": round(peak),
      "spend, ms": round(median(spends)),
      "search, ms": round(median(searches)),
    });
  }
  rmSync(folder, { recursive: true, force: true });
  await server.stop();
  return points;
}
