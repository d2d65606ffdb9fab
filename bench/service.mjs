// L1-L3: what the service's ledger and its HTTP layer cost.
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { median } from "./arithmetic.mjs";
import { prepareDataFolder, startService } from "./datasets.mjs";
import {
  BENCH,
  cpuMs,
  headcount,
  inTurn,
  note,
  peakMb,
  ROOT,
  ratioRow,
  scratch,
  startServer,
  valueRow,
} from "./harness.mjs";
import { load, requestBytes } from "./load.mjs";

export const name = "service";

const CLIENTS = 64;
const ROWS = 25;

export async function measure({ quick }) {
  return [...(await measureStore(quick)), ...(await measureHttp(quick))];
}

// --------------------------------------------------------------------------------------------------------------------- L1

/** Charges for `durationMs` by `clients` at once, each hold settled before its client comes again. @returns pairs a second */
export async function chargePairs(store, clients, durationMs, limit = Number.POSITIVE_INFINITY) {
  const { credits } = await import(join(ROOT, "dist/shared/contract/money.js"));
  const amount = credits(25_000_000n);
  const request = {
    accountId: "bench",
    mode: "live",
    keyId: "key-1",
    call: "person_search",
    amount,
  };
  const reply = () => ({ status: 200, headers: {}, body: "{}" });
  const start = performance.now();
  const end = start + durationMs;
  let pairs = 0;
  const client = async (index) => {
    while (performance.now() < end && pairs < limit) {
      const hold = await store.hold({ ...request, requestId: `r-${index}` });
      if (hold.kind !== "held") throw new Error(`a hold was ${hold.kind}`);
      await store.settle({ holdId: hold.holdId, amount, reply });
      pairs++;
    }
  };
  await Promise.all(Array.from({ length: clients }, (_, index) => client(index)));
  return (pairs / (performance.now() - start)) * 1_000;
}

export async function openLedger(path, options = {}) {
  const { openSqliteStore } = await import(join(ROOT, "dist/service/ledger/sqlite.js"));
  const { credits } = await import(join(ROOT, "dist/shared/contract/money.js"));
  const store = await openSqliteStore({ path, now: () => Date.now(), ...options });
  await store.createAccount("bench", "bench");
  const key = {
    id: "key-1",
    name: "bench",
    mode: "live",
    prefix: "hc_live_",
    hash: "0".repeat(64),
    accountId: "bench",
  };
  await store.createKey({ ...key, createdAt: Date.now() });
  await store.grant("bench", "live", credits(1_000_000_000_000_000n), "bench");
  return store;
}

async function measureStore(quick) {
  note("L1: hold and settle, groups of up to 64 and one commit at a time");
  const folder = scratch("store");
  const grouped = await openLedger(join(folder, "grouped.db"));
  const single = await openLedger(join(folder, "single.db"), { groupSize: 1 });
  const rates = await inTurn(
    {
      grouped: () => chargePairs(grouped, CLIENTS, quick ? 500 : 1_000),
      single: () => chargePairs(single, CLIENTS, quick ? 500 : 1_000),
    },
    quick ? 5 : 10,
  );
  const breaches = [...(await grouped.verify()), ...(await single.verify())];
  await grouped.close();
  await single.close();
  if (breaches.length > 0)
    throw new Error(`the ledger is not sound after L1: ${breaches.join("; ")}`);
  return [
    ratioRow({
      id: "L1",
      work: "charges of the SQLite ledger, synced before they are acknowledged, 64 clients, groups of up to 64",
      yardstick: "the same store, one commit a charge",
      target: { atLeast: 12 },
      unit: "charges/s",
      // Rates, not times: ours stands above the line.
      ours: rates.grouped,
      theirs: rates.single,
    }),
  ];
}

// ------------------------------------------------------------------------------------------------------------------ L2, L3

async function measureHttp(quick) {
  const people = quick ? 200_000 : 1_000_000;
  const folder = join(scratch("service"), "data");
  mkdirSync(folder);
  await prepareDataFolder(people, folder);
  const service = await startService(folder);
  try {
    return [
      ...(await measureSearches(service, quick, people)),
      ...(await measureFreeCalls(service, quick)),
    ];
  } finally {
    await service.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

const balanceOf = async ({ url, key }) => {
  const reply = await fetch(`${url}/v1/account`, { headers: { authorization: `Bearer ${key}` } });
  const { result } = await reply.json();
  return { remaining: result.credits.remaining, held: result.credits.held };
};

async function measureSearches(service, quick, people) {
  note(`L2: charged searches over HTTP, ${ROWS} rows, ${CLIENTS} clients`);
  const pages = Math.floor((people * 0.08) / ROWS);
  let serial = 0;
  const request = (page, headers) => {
    const body = JSON.stringify({ filters: { department: "Sales" }, page, per_page: ROWS });
    return requestBytes({
      method: "POST",
      path: "/v1/person/search",
      key: service.key,
      body,
      headers,
    });
  };
  const plain = () => request(1 + (serial++ % pages), {});
  const keyed = () =>
    request(1 + (serial++ % pages), { "Idempotency-Key": `bench-${process.pid}-${serial}` });
  const durationMs = quick ? 3_000 : 10_000;
  const statuses = {};
  let answers = 0;
  const shares = { plain: [], keyed: [], rate: [], p99: [] };
  const before = await balanceOf(service);
  const run = async (next, kept) => {
    const cpu = cpuMs(service.pid);
    const result = await load({ url: service.url, connections: CLIENTS, durationMs, next });
    kept.push(((cpuMs(service.pid) - cpu) * 1_000) / result.answers);
    answers += result.answers;
    for (const [status, count] of Object.entries(result.statuses))
      statuses[status] = (statuses[status] ?? 0) + count;
    return result;
  };
  await run(plain, []);
  for (let round = 0; round < (quick ? 3 : 5); round++) {
    const { ms, answers: count, p99 } = await run(plain, shares.plain);
    shares.rate.push((count / ms) * 1_000);
    shares.p99.push(p99);
    await run(keyed, shares.keyed);
  }
  const after = await balanceOf(service);
  const wrong = answers - (statuses["200"] ?? 0);
  const charged = before.remaining - after.remaining;
  const unexplained = Math.abs(charged - (statuses["200"] ?? 0) * ROWS) + after.held;
  const verify = await headcount(["service", "verify", "--data", service.folder], {
    env: service.env,
    capture: true,
    allow: [0, 1],
  });
  const work = `charged searches over HTTP, ${ROWS} rows of ${people.toLocaleString("en")} people, ${CLIENTS} clients`;
  const remark =
    `${median(shares.rate).toFixed(0)} searches/s, p99 ${median(shares.p99).toFixed(1)} ms, ` +
    `${answers.toLocaleString("en")} answers, server's peak memory ${peakMb(service.pid).toFixed(0)} MB; ` +
    `with an Idempotency-Key on each: ${median(shares.keyed).toFixed(0)} us CPU a request`;
  return [
    valueRow({
      id: "L2",
      part: "CPU a request",
      work,
      target: { atMost: 400 },
      unit: "us",
      value: median(shares.plain),
      ours: shares.plain,
      remark,
    }),
    valueRow({
      id: "L2",
      part: "wrong statuses",
      work,
      target: { atMost: 0 },
      unit: "answers",
      value: wrong,
    }),
    valueRow({
      id: "L2",
      part: "ledger",
      work: `${work}: credits that balance and entries do not explain`,
      target: { atMost: 0 },
      unit: "credits",
      value: verify.code === 0 ? unexplained : Number.MAX_SAFE_INTEGER,
      ...(verify.code === 0
        ? {}
        : {
            remark: `service verify: ${verify.stdout.slice(0, 500)}${verify.stderr.slice(0, 500)}`,
          }),
    }),
  ];
}

async function measureFreeCalls(service, quick) {
  note("L3: account and cached count, against a Fastify server that only answers");
  const countBody = JSON.stringify({ filters: { department: "Sales" } });
  const calls = {
    account: { method: "GET", path: "/v1/account" },
    count: { method: "POST", path: "/v1/person/count", body: countBody },
  };
  const lengths = [];
  for (const { method, path, body } of Object.values(calls)) {
    const headers = {
      authorization: `Bearer ${service.key}`,
      ...(body && { "content-type": "application/json" }),
    };
    lengths.push(
      String(
        (await (await fetch(service.url + path, { method, headers, body })).arrayBuffer())
          .byteLength,
      ),
    );
  }
  const bare = await startServer(process.execPath, [
    join(BENCH, "yardsticks/bare-fastify.mjs"),
    ...lengths,
  ]);
  const durationMs = quick ? 2_000 : 5_000;
  const rate = (url, pid, call) => async () => {
    const bytes = requestBytes({ ...call, key: service.key });
    const cpu = cpuMs(pid);
    const { answers, statuses, ms } = await load({
      url,
      connections: 50,
      durationMs,
      next: () => bytes,
    });
    if (statuses["200"] !== answers) throw new Error(`L3: answers ${JSON.stringify(statuses)}`);
    cpuShares.push(((cpuMs(pid) - cpu) * 1_000) / answers);
    return (answers / ms) * 1_000;
  };
  const cpuShares = [];
  const rows = [];
  for (const [part, call] of Object.entries(calls)) {
    cpuShares.length = 0;
    const rates = await inTurn(
      { ours: rate(service.url, service.pid, call), bare: rate(bare.url, bare.pid, call) },
      quick ? 3 : 5,
    );
    const own = median(cpuShares.filter((_, index) => index % 2 === 0));
    const floor = median(cpuShares.filter((_, index) => index % 2 === 1));
    rows.push(
      ratioRow({
        id: "L3",
        part: part === "count" ? "cached count" : part,
        work: `${call.method} ${call.path} over HTTP, 50 clients`,
        yardstick: "a bare Fastify route with an answer as long",
        target: { atLeast: 0.5 },
        unit: "calls/s",
        ours: rates.ours,
        theirs: rates.bare,
        remark: `${own.toFixed(0)} us CPU a call, the bare route ${floor.toFixed(0)} us`,
      }),
    );
  }
  await bare.stop();
  return rows;
}
