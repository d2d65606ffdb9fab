import { afterAll, beforeAll, expect, test } from "vitest";
import { connectClickHouse } from "../../src/dataset/clickhouse/connect.ts";
import { followClickHouse } from "../../src/dataset/clickhouse/open.ts";
import type { Engine } from "../../src/dataset/engine.ts";
import { type Cluster, hasClickHouseServer, startCluster } from "../support/clickhouse.ts";
import { loadFiles, loadFilesInto } from "../support/load-files.ts";
import { startTestService } from "../support/service.ts";

/** Two servers that hold the same dataset each, as replicas do: what the first has is copied to the second. */
const run = test.skipIf(!hasClickHouseServer);
const all = { exact: {}, prefix: {}, range: {} };
let cluster: Cluster;
let engine: Engine;
let people = 0;

beforeAll(async () => {
  if (!hasClickHouseServer) return;
  cluster = await startCluster(2);
  const [first, second] = cluster.shards;
  const from = await connectClickHouse(`clickhouse://127.0.0.1:${first?.httpPort}/default`);
  const to = await connectClickHouse(`clickhouse://127.0.0.1:${second?.httpPort}/default`);
  await loadFilesInto(from, await loadFiles(300, 7, true));
  const rows = async (query: string): Promise<readonly (readonly unknown[])[]> =>
    (await (await from.clients[0].query({ query, format: "JSONCompact" })).json<readonly unknown[]>()).data;
  for (const [table] of await rows("SHOW TABLES")) {
    const [create] = await rows(`SHOW CREATE TABLE ${table}`);
    await to.clients[0].command({ query: String(create?.[0]) });
    const there = `remote('127.0.0.1:${first?.tcpPort}', default, ${table})`;
    await to.clients[0].command({ query: `INSERT INTO ${table} SELECT * FROM ${there}` });
  }
  for (const client of [...from.clients, ...to.clients]) await client.close();
  engine = await followClickHouse(cluster.url.replace(/\?.*/, ""), "", { now: () => performance.now() });
  people = engine.info().people;
}, 120_000);
afterAll(async () => {
  await engine?.close();
  await cluster?.close();
});

const answers = async (): Promise<number> => {
  const began = performance.now();
  expect(await engine.count(all)).toBe(people);
  expect((await engine.people(all, { offset: 5, limit: 3 })).records).toHaveLength(3);
  return performance.now() - began;
};

run(
  "reads go on when either server is killed, and a server that returns is used again",
  { timeout: 60_000 },
  async () => {
    const service = await startTestService({ engine });
    const [first, second] = cluster.shards;
    await answers();
    await first?.kill();
    expect(await answers()).toBeLessThan(2_000);
    const search = { body: { filters: { department: "Sales" } } };
    expect((await service.call("/v1/person/count", search)).status).toBe(200);
    await first?.start();
    await second?.kill();
    expect(await answers()).toBeLessThan(2_000);
    await first?.kill();
    await expect(engine.count(all)).rejects.toThrow("no ClickHouse server answers");
    await first?.start();
    await second?.start();
    await answers();
  },
);

run("reads go on when either server hangs", { timeout: 60_000 }, async () => {
  for (const one of cluster.shards) {
    await answers();
    one.hang();
    try {
      expect(await answers()).toBeLessThan(2_500);
    } finally {
      one.goOn();
    }
  }
});
