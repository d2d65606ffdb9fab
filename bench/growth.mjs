// What grows with size: ledgers and run folders here, exports and datasets in their own parts. Tables, and one plot of all four.
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { median } from "./arithmetic.mjs";
import { API_KEY, CACHE, headcount, note, ROOT, round, scratch, startPageServer, userEnvironment } from "./harness.mjs";
import { chargePairs, openLedger } from "./service.mjs";

export const name = "growth";

/** @param what "ledger" or "runs" */
export async function measure({ quick, what }) {
  if (what === "ledger") {
    const sizes = [10_000, 100_000, 1_000_000];
    return { rows: [], series: { ledger: await growLedger(quick ? sizes : [...sizes, 10_000_000]) } };
  }
  return { rows: [], series: { runs: await growRuns(quick ? [10, 100, 1_000] : [10, 100, 1_000, 10_000]) } };
}

/** One ledger that grows; at each size: charges a second, one charge alone, a balance, a whole verification, an opening. */
export async function growLedger(sizes) {
  // Two gigabytes in the end: not where a small /tmp may lie in memory.
  const path = join(scratch("ledger", CACHE), "ledger.db");
  let store = await openLedger(path);
  await chargePairs(store, 1, Number.POSITIVE_INFINITY, 1);
  const { openSqliteStore } = await import(join(ROOT, "dist/service/ledger/sqlite.js"));
  const points = [];
  for (const size of sizes) {
    note(`ledger of ${size.toLocaleString("en")} entries`);
    await store.close();
    await multiplyCharges(path, size);
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

/**
 * Fills a closed ledger up to so many entries: its last charge and the hold behind it again and again, with balances that fit, as
 * the service would have written them. A hundred times faster than charging; `verify` then says whether it is a sound ledger.
 */
export async function multiplyCharges(path, size) {
  const { DatabaseSync } = await import("@photostructure/sqlite");
  const database = new DatabaseSync(path);
  const one = (sql, ...values) => database.prepare(sql).get(...values);
  const last = one("SELECT * FROM entries WHERE kind = 'charge' ORDER BY id DESC LIMIT 1");
  const { balance } = one("SELECT balance FROM balances WHERE account_id = ? AND mode = ?", last.account_id, last.mode);
  const { entries } = one("SELECT max(id) AS entries FROM entries");
  const { holds } = one("SELECT max(id) AS holds FROM holds");
  const missing = size - Number(entries);
  const columns = (table, but) =>
    database
      .prepare(`PRAGMA table_info(${table})`)
      .all()
      .map(({ name: column }) => column)
      .filter((column) => !but.includes(column));
  const others = { holds: columns("holds", ["id"]), entries: columns("entries", ["id", "hold_id", "balance_after"]) };
  database.exec("PRAGMA foreign_keys = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -200000");
  for (let done = 0; done < missing; ) {
    const count = Math.min(500_000, missing - done);
    const numbers = `WITH RECURSIVE n (i) AS (SELECT ${done + 1} UNION ALL SELECT i + 1 FROM n WHERE i < ${done + count})`;
    database.exec(`BEGIN;
      ${numbers} INSERT INTO holds (id, ${others.holds})
        SELECT ${holds} + i, ${others.holds} FROM n, (SELECT * FROM holds WHERE id = ${last.hold_id});
      ${numbers} INSERT INTO entries (id, hold_id, balance_after, ${others.entries})
        SELECT ${entries} + i, ${holds} + i, ${balance} + i * ${last.amount}, ${others.entries}
        FROM n, (SELECT * FROM entries WHERE id = ${last.id});
      COMMIT`);
    done += count;
  }
  if (missing > 0) {
    const charged = BigInt(missing) * BigInt(-last.amount);
    database
      .prepare("UPDATE balances SET balance = balance - ? WHERE account_id = ? AND mode = ?")
      .run(charged, last.account_id, last.mode);
    database
      .prepare("UPDATE usage_days SET charged = charged + ? WHERE account_id = ? AND mode = ? AND day = ?")
      .run(charged, last.account_id, last.mode, last.day);
    database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  }
  database.close();
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
