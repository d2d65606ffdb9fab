// L4: what a paid search of one key feels of another key that sends the heaviest free calls it may, eight at once.
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { median } from "./arithmetic.mjs";
import { prepareDataFolder, startService } from "./datasets.mjs";
import { BENCH, headcount, inTurn, note, ratioRow, scratch, valueRow } from "./harness.mjs";
import { load, openConnection, requestBytes } from "./load.mjs";

export const name = "neighbours";

const ROWS = 25;
const AT_ONCE = 8;
/** Each of them another one, so that no cache answers. */
const BODIES = 24;
/** Keys that no table in memory counts, with another 166 values each. */
const WIDE = [
  "title",
  "city",
  "state",
  "industry",
  "location",
  "seniority",
  "functional_area",
  "first_name",
  "last_name",
  "name",
];

export async function measure({ quick }) {
  const people = quick ? 200_000 : 1_000_000;
  const folder = join(scratch("neighbours"), "data");
  mkdirSync(folder);
  await prepareDataFolder(people, folder);
  const file = join(scratch("loop"), "longest.json");
  const watch = ["--import", join(BENCH, "loop-watch.mjs")];
  const service = await startService(folder, {
    node: watch,
    extra: { HEADCOUNT_BENCH_LOOP: file },
  });
  try {
    const { stdout } = await headcount(
      ["service", "keys", "create", "--name", "neighbour", "--json", "--data", folder],
      {
        env: service.env,
        capture: true,
      },
    );
    const requests = heavyRequests(JSON.parse(stdout).key);
    return [
      await measureStretches(service, requests, file),
      await measureSearches(service, requests, quick, people),
    ];
  } finally {
    await service.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The heaviest requests that a key may send without a credit, by what makes them heavy: bodies of one kind differ. */
function heavyRequests(key) {
  let serial = 0;
  const word = (index) =>
    `${["manager", "berlin", "ana", "sales", "north"][index % 5]} ${serial++}`;
  const words = (count) => Array.from({ length: count }, (_, index) => word(index));
  const post = (path, body) => requestBytes({ method: "POST", path, key, body });
  const count = (filters) => post("/v1/person/count", JSON.stringify({ filters }));
  const wide = (each) => Object.fromEntries(WIDE.map((name) => [name, words(each)]));
  const kinds = {
    "2,000 values": () => count(wide(200)),
    "1,000 titles": () => count({ title: words(1_000) }),
    "1,000 addresses": () =>
      count({ network_url: words(1_000).map((text) => `x.example/in/${text.replace(" ", "-")}`) }),
    "a facet of 2,000 values": () =>
      post("/facets", JSON.stringify({ filters: wide(200), key: "city" })),
    "a search for nobody": () =>
      post("/v1/person/search", JSON.stringify({ filters: wide(200), per_page: 1_000 })),
    "100,000 characters that grow": () => count({ title: grown(290), city: [word(0)] }),
    "1 MB that grows": () =>
      count({ title: grown(1_000), city: grown(1_000), name: grown(900), state: [word(0)] }),
    "900 unknown keys": () => count(Object.fromEntries(words(900).map((text) => [text, 1]))),
    "40,000 unknown keys": () =>
      post("/v1/person/count", `{"filters":{${words(40_000).map((text) => `"${text}":1`)}}}`),
    "an unknown key of 1 MB": () => count({ [`${word(0)}${"x".repeat(1_000_000)}`]: 1 }),
    "1 MB of blanks": () =>
      post("/v1/person/count", `{"filters":{"title":"${word(0)}"}${" ".repeat(1_040_000)}}`),
  };
  return Object.fromEntries(
    Object.entries(kinds).map(([kind, make]) => [
      kind,
      Array.from({ length: BODIES }, () => make()),
    ]),
  );
}

/** Texts of a character that becomes eighteen in its normal form, as many as 1 MB or the bound of characters lets in. */
const grown = (count) =>
  Array.from({ length: count }, (_, index) => "\ufdfa".repeat(19 - (index % 3)));

/** The longest that any one request keeps the event loop, each sent alone. */
async function measureStretches(service, requests, file) {
  note("L4: the event loop's CPU for each of the heaviest requests");
  const connection = await openConnection(service.url);
  const longest = {};
  for (const [kind, bodies] of Object.entries(requests)) {
    await connection.ask(bodies[0]);
    const stretches = [];
    for (const bytes of bodies.slice(0, 6)) {
      process.kill(service.pid, "SIGUSR2");
      await new Promise((resolve) => setTimeout(resolve, 20));
      await connection.ask(bytes);
      process.kill(service.pid, "SIGUSR2");
      while (!existsSync(file)) await new Promise((resolve) => setTimeout(resolve, 2));
      stretches.push(JSON.parse(readFileSync(file, "utf8"))[0]);
      rmSync(file);
    }
    longest[kind] = Math.max(...stretches);
  }
  connection.close();
  const [worst] = Object.entries(longest).sort(([, a], [, b]) => b - a);
  return valueRow({
    id: "L4",
    part: "event loop",
    work: "CPU of the event loop between two turns, for any one of the heaviest free calls",
    target: { atMost: 100 },
    unit: "ms",
    value: worst[1],
    remark: Object.entries(longest)
      .map(([kind, ms]) => `${kind} ${ms.toFixed(1)}`)
      .join(", "),
  });
}

async function measureSearches(service, requests, quick, people) {
  note(
    `L4: paid searches, ${ROWS} rows, alone and beside a key that sends the heaviest free calls, ${AT_ONCE} at once`,
  );
  const pages = Math.floor((people * 0.08) / ROWS);
  let serial = 0;
  const next = () => {
    const body = JSON.stringify({
      filters: { department: "Sales" },
      page: 1 + (serial++ % pages),
      per_page: ROWS,
    });
    return requestBytes({ method: "POST", path: "/v1/person/search", key: service.key, body });
  };
  const durationMs = quick ? 3_000 : 10_000;
  const p50 = { alone: [], beside: [] };
  const searches = (kept) => async () => {
    const {
      p50: middle,
      p99,
      statuses,
      answers,
    } = await load({ url: service.url, connections: 1, durationMs, next });
    if (statuses["200"] !== answers) throw new Error(`L4: answers ${JSON.stringify(statuses)}`);
    kept.push(middle);
    return p99;
  };
  const sent = {};
  const beside = async () => {
    const neighbour = new Worker(fileURLToPath(import.meta.url), {
      workerData: {
        url: service.url,
        requests: Object.values(requests).flat(),
        durationMs: durationMs + 1_500,
      },
    });
    const ended = new Promise((resolve, reject) =>
      neighbour.once("message", resolve).once("error", reject),
    );
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    const p99 = await searches(p50.beside)();
    for (const [status, count] of Object.entries(await ended))
      sent[status] = (sent[status] ?? 0) + count;
    return p99;
  };
  const p99 = await inTurn({ alone: searches(p50.alone), beside }, quick ? 3 : 5);
  const told = Object.entries(sent).map(([status, count]) => `${count} x ${status}`);
  return ratioRow({
    id: "L4",
    part: "p99",
    work: `a paid search of ${ROWS} rows of ${people.toLocaleString("en")} people beside a key with the heaviest free calls, ${AT_ONCE} at once, no limit a minute`,
    yardstick: "the same search alone",
    target: { atMost: 3 },
    unit: "ms",
    ours: p99.beside,
    theirs: p99.alone,
    remark: `median ${median(p50.alone).toFixed(1)} ms alone, ${median(p50.beside).toFixed(1)} beside; the neighbour's answers: ${told.join(", ")}`,
  });
}

/** The neighbour, in a thread of its own, so that what it sends costs the searches' client nothing. */
if (!isMainThread && workerData?.requests !== undefined) {
  const { durationMs, requests, url } = workerData;
  let at = 0;
  // Kinds alternate.
  const step = BODIES + 1;
  const next = () => {
    at = (at + step) % requests.length;
    return Buffer.from(requests[at]);
  };
  const { statuses } = await load({ url, connections: AT_ONCE, durationMs, next });
  parentPort.postMessage(statuses);
}
