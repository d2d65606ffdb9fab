// R5: a list of 10,000 and of 100,000 people after a week in which 5 % left and as many came, brought up to date by the built program
// from a service that gives sketches. The dataset is the generated one, read as it is; who left and who came is hidden by turns.
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { generated } from "./datasets.mjs";
import {
  atEnd,
  headcount,
  note,
  ROOT,
  round,
  scratch,
  userEnvironment,
  valueRow,
} from "./harness.mjs";

export const name = "sketch";

const PEOPLE = 120_000;
const CHURN = 0.05;
const SIZES = { quick: [10_000], full: [10_000, 100_000] };

export async function measure({ quick }) {
  const points = [];
  for (const size of quick ? SIZES.quick : SIZES.full) points.push(await week(size));
  return { rows: points.flatMap(rowsOf), series: {} };
}

function rowsOf({ size, calls, seconds, bytes, credits, fresh }) {
  const row = (part, target, unit, value) =>
    valueRow({
      id: "R5",
      part: `${size.toLocaleString("en")} people: ${part}`,
      target: { atMost: target },
      unit,
      value,
      work: "a refresh at 5 % churn by sketches",
      ours: [value],
    });
  return [
    row("free calls", 5, "calls", calls),
    row("the whole command", 2, "s", round(seconds)),
    row("answers that are sketches", 300, "kB", round(bytes / 1_000)),
    row("credits / new people", 1, "x", round(credits / fresh)),
  ];
}

async function week(size) {
  note(`R5: a list of ${size.toLocaleString("en")}`);
  const [{ openDataset }, { startService }, { openSqliteStore }, { createKey }, { STANDARD_PLAN }] =
    await Promise.all(
      [
        "dataset/embedded/open",
        "service/http/server",
        "service/ledger/sqlite",
        "service/admin/keys",
        "service/ledger/ledger",
      ].map((path) => import(join(ROOT, `dist/${path}.js`))),
    );
  const { folder: made } = await generated(PEOPLE);
  const inner = await openDataset(join(made, "dataset"));
  const countries = await countriesOf(inner, size);
  const engine = turning(inner);
  const folder = scratch("sketch");
  const store = await openSqliteStore({ path: join(folder, "ledger.db"), now: Date.now });
  await store.createAccount("default", "default");
  await store.grant("default", "live", 10n ** 12n, "bench");
  await store.setPlan("default", { ...STANDARD_PLAN, perMinute: 600, perDay: 1_000_000 });
  const { key } = await createKey(store, { name: "bench", mode: "live", now: Date.now });
  let bytes = 0;
  const onApp = (app) =>
    app.addHook("onSend", async ({ url }, _, payload) => {
      if (url === "/sketch") bytes += Buffer.byteLength(payload);
      return payload;
    });
  const service = await startService({ engine, store, onApp });
  atEnd(async () => {
    await service.close();
    await store.close();
    await inner.close();
  });
  const env = {
    ...userEnvironment(folder),
    HEADCOUNT_API_KEY: key,
    HEADCOUNT_BASE_URL: service.url,
  };
  const options = { env, cwd: folder, capture: true };
  const filters = countries.flatMap((country) => ["--country", country]);
  await headcount(
    ["search", ...filters, "--yes", "--per-page", "1000", "-o", "list.ndjson"],
    options,
  );
  // What was bought is taken into the library by the first command that asks who is owned.
  await headcount(["refresh", "list.ndjson", "--json"], options);
  engine.turn();
  bytes = 0;
  const started = performance.now();
  const { stdout } = await headcount(
    ["refresh", "list.ndjson", "--max-credits", String(size), "--json"],
    options,
  );
  const seconds = (performance.now() - started) / 1_000;
  const { added: fresh, credits, free_calls: calls } = JSON.parse(stdout);
  return { size, calls, seconds, bytes, credits, fresh };
}

async function countriesOf(engine, size) {
  const everybody = { exact: {}, prefix: {}, range: {} };
  const question = { key: "country", prefix: "", limit: 100, least: 1 };
  const { values } = await engine.facet(everybody, question, 10_000);
  const chosen = [];
  let left = size / (1 - CHURN);
  for (const { count, value } of values) {
    if (count > left) continue;
    chosen.push(value);
    left -= count;
  }
  return chosen;
}

/** Hides one share of all people, and after a turn another. */
function turning(inner) {
  let [share, version] = [0, 1];
  const shown = new Map();
  const hash = (record) =>
    record.subarray(7, 15).reduce((sum, byte) => (sum * 31 + byte) % 100_003, 7) % 100;
  const all = async (filters) => {
    const key = `${version} ${JSON.stringify(filters)}`;
    if (shown.has(key)) return shown.get(key);
    const found = [];
    for (let offset = 0; ; offset += 1_000) {
      const { records, total } = await inner.people(filters, { offset, limit: 1_000 });
      found.push(...records.filter((record) => Math.floor(hash(record) / (100 * CHURN)) !== share));
      if (offset + 1_000 >= total) break;
    }
    shown.set(key, found);
    return found;
  };
  return {
    facet: inner.facet.bind(inner),
    company: inner.company.bind(inner),
    employees: inner.employees.bind(inner),
    verify: () => inner.verify(),
    close: async () => undefined,
    info: () => ({ ...inner.info(), version: `week-${version}` }),
    count: async (filters) => (await all(filters)).length,
    people: async (filters, { offset, limit }) => {
      const found = await all(filters);
      return { records: found.slice(offset, offset + limit), total: found.length };
    },
    turn() {
      [share, version] = [1, version + 1];
      shown.clear();
    },
  };
}
