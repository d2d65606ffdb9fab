import { createClient } from "@clickhouse/client";
import { expect, test } from "vitest";
import { readFileSync } from "node:fs";
import { loadIntoClickHouse } from "../../src/dataset/clickhouse/load/import.ts";
import { connectClickHouse } from "../../src/dataset/clickhouse/open.ts";
import { ClickHouseEngine } from "../../src/dataset/clickhouse/engine.ts";
import { MODERN } from "../../src/dataset/clickhouse/dialect.ts";
import { startCluster } from "../support/clickhouse.ts";
import { SMALL, sleep, tempFolder } from "../support/dataset.ts";
import { loadFiles } from "../support/load-files.ts";

test.each([["18", true], ["18", false], ["chdb", true], ["chdb", false]] as const)("load %s companies %s", async (kind, withCompanies) => {
  const files = await loadFiles(1000, 7, withCompanies);
  const wanted = readFileSync(files.input.rejects, "utf8");
  const cluster = kind === "18" ? await startCluster(2) : undefined;
  const name = "chdb/connection";
  const servers = cluster ? await connectClickHouse(`clickhouse://${cluster.shards.map((s) => `127.0.0.1:${s.httpPort}`).join(",")}/default?cluster=people`)
    : { clients: [createClient({ connection: (await import(name)).createChdbConnection({ path: "/tmp/chouse-try/db" }) } as never)] as never, topology: { database: "default", replicated: false }, dialect: MODERN };
  try {
    const report = await loadIntoClickHouse(servers, "x", files.input, { datasetDir: await tempFolder(), now: () => 1, sleep, resources: SMALL, rangeRows: 200 });
    expect({ ...report, version: "" }).toEqual({ ...files.report, version: "" });
    expect(readFileSync(files.input.rejects, "utf8")).toBe(wanted);
    const engine = await ClickHouseEngine.open({ client: servers.clients[0], topology: servers.topology, dialect: servers.dialect });
    expect(engine.info().people).toBe(files.embedded.info().people);
    expect(engine.info().companies).toBe(files.embedded.info().companies);
    const all = { offset: 0, limit: 5000 };
    const none = { exact: {}, prefix: {}, range: {} };
    const a = await engine.people(none, all), b = await files.embedded.people(none, all);
    for (let i = 0; i < b.records.length; i++) expect(a.records[i], String(i)).toBe(b.records[i]);
    expect(a.total).toBe(b.total);
  } finally { await cluster?.close(); }
}, 120000);
