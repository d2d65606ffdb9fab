import { describe, expect, test } from "vitest";
import type { ClickHouseServers } from "../../src/dataset/clickhouse/connect.ts";
import { LoadServers } from "../../src/dataset/clickhouse/load/servers.ts";

/** A server that refuses to end a statement so often: some stages cannot be ended, which is hard to time. */
function refusing(times: number, code = "380") {
  const asked: string[] = [];
  const command = async ({ query }: { query: string }): Promise<void> => {
    asked.push(query);
    if (asked.length <= times)
      throw Object.assign(new Error("it consists of internal stages"), { code });
  };
  const watcher = { ping: async () => ({ success: true }) };
  const connected = {
    clients: [{ command }],
    watchers: [watcher],
    urls: ["one"],
  } as unknown as ClickHouseServers;
  return { servers: new LoadServers(connected, "v1"), asked };
}

describe("what a load left running", () => {
  test("a statement in a stage that cannot be ended is ended a little later", async () => {
    const { servers, asked } = refusing(3);
    await servers.endRunning();
    expect(asked).toHaveLength(4);
    expect(new Set(asked)).toEqual(
      new Set(["KILL QUERY WHERE initial_query_id LIKE 'headcount-load-v1-%' SYNC"]),
    );
  });

  test("one that never ends, and every other refusal, is told", async () => {
    const told = /the same command goes on where this one stopped/;
    await expect(refusing(9).servers.endRunning(2)).rejects.toThrow(told);
    const other = refusing(9, "497");
    await expect(other.servers.endRunning()).rejects.toThrow(told);
    expect(other.asked).toHaveLength(1);
  });
});
