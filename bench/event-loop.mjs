// node bench/event-loop.mjs [PEOPLE] [SECONDS]: how long the event loop of a process waits in which eight clients count, page through
// large segments and look up companies and employees without a pause, while the dataset is reloaded every five seconds.
import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { loadavg } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { canonicaliser, generated } from "./datasets.mjs";
import { closeAll, ROOT, scratch } from "./harness.mjs";
import { watchOwnWork } from "./loop-watch.mjs";

const CLIENTS = [
  "count",
  "count",
  "segment",
  "employees",
  "company",
  "count",
  "segment",
  "employees",
];
const RELOAD_MS = 5_000;

const people = Number(process.argv[2] ?? 1_000_000);
const seconds = Number(process.argv[3] ?? 25);
const { ReloadingEngine } = await import(join(ROOT, "dist/dataset/embedded/reloading-engine.js"));
const canonical = await canonicaliser();

const { folder, point } = twoVersions(join((await generated(people)).folder, "dataset"));
point("a");
let reloads = 0;
const engine = await ReloadingEngine.open(folder, {
  now: () => performance.now(),
  onError: (error) => process.stderr.write(`${error.stack}\n`),
  onReload: () => reloads++,
});
const known = [];
for (let index = 0; index < 10; index++) {
  const { records } = await engine.people(canonical({}), {
    offset: random(people - 100),
    limit: 40,
  });
  known.push(...records.map((record) => JSON.parse(record)));
}

const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
const ownWork = watchOwnWork();
let version = "a";
const reloader = setInterval(() => {
  version = version === "a" ? "b" : "a";
  point(version);
}, RELOAD_MS);
const calls = {};
const until = performance.now() + seconds * 1_000;
await Promise.all(CLIENTS.map(client));
clearInterval(reloader);
delay.disable();
const longest = ownWork.stop();
await engine.close();
await closeAll();

const ms = (nanoseconds) => (nanoseconds / 1e6).toFixed(1);
process.stdout.write(
  `${people.toLocaleString("en")} people, ${seconds} s, load ${loadavg()[0].toFixed(2)}, ${reloads} reloads, calls ${JSON.stringify(calls)}
the event loop waits, ms: p50 ${ms(delay.percentile(50))}, p99 ${ms(delay.percentile(99))}, p99.9 ${ms(delay.percentile(99.9))}, longest ${ms(delay.max)}
CPU of this thread between two turns of the loop, ms: longest ${longest.map((each) => each.toFixed(1)).join(", ")}\n`,
);

async function client(kind) {
  while (performance.now() < until) {
    await work(kind);
    calls[kind] = (calls[kind] ?? 0) + 1;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function work(kind) {
  const person = any(known);
  if (kind === "count") {
    const filters = {};
    for (const key of ["country", "department", "title", "city", "industry", "seniority", "name"]) {
      if (random(3) === 0 && person[key])
        filters[key] = [person[key], any(known)[key] ?? person[key]];
    }
    if (random(5) === 0 && person.headline)
      filters.headline_prefix = [...person.headline].slice(0, 3 + random(20)).join("");
    if (random(4) === 0) filters.connections_min = random(1_000);
    await engine.count(canonical(filters));
  } else if (kind === "segment") {
    const filters = random(2)
      ? { department: person.department }
      : { connections_min: random(50), seniority: "senior" };
    const limit = random(2) ? 100 : 1_000;
    const { total } = await engine.people(canonical(filters), { offset: 0, limit });
    for (let page = 0; page < 3; page++) {
      await engine.people(canonical(filters), {
        offset: random(Math.max(1, total - limit)),
        limit,
      });
    }
  } else if (kind === "employees") {
    const company =
      person.company_domain &&
      (await engine.company({ by: "domain", value: person.company_domain }));
    if (company) await engine.employees(company.id, { offset: 0, limit: 100 });
  } else if (person.company_name) {
    await engine.company({ by: "name", value: person.company_name.toLowerCase() });
  }
}

function any(list) {
  return list[random(list.length)];
}

function random(below) {
  return Math.floor(Math.random() * below);
}

/** Two versions of one dataset that share its files, and what makes one of them the current one. */
function twoVersions(from) {
  const made = join(from, JSON.parse(readFileSync(join(from, "CURRENT"), "utf8")).folder);
  const folder = scratch("event-loop");
  for (const version of ["a", "b"]) {
    const own = join(folder, `v-${version}`);
    mkdirSync(own);
    for (const file of readdirSync(made)) {
      if (file === "meta.json") {
        const meta = JSON.parse(readFileSync(join(made, file), "utf8"));
        writeFileSync(join(own, file), JSON.stringify({ ...meta, version }));
      } else if (file === "in-use.db") copyFileSync(join(made, file), join(own, file));
      else symlinkSync(join(made, file), join(own, file));
    }
  }
  const point = (version) => {
    writeFileSync(join(folder, "CURRENT.new"), JSON.stringify({ version, folder: `v-${version}` }));
    renameSync(join(folder, "CURRENT.new"), join(folder, "CURRENT"));
  };
  return { folder, point };
}
