import { spawn } from "node:child_process";
import { afterAll, beforeAll, expect, test } from "vitest";
import { charged, readCsv, runIds, user } from "../support/export.ts";
import { faultProxy } from "../support/fault-proxy.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { BIN, spawnUser } from "../support/spawned.ts";

const CREDITS = 100_000;
let service: TestService;
beforeAll(async () => {
  service = await startTestService({
    people: 2_000,
    credits: CREDITS,
  });
}, 60_000);
afterAll(() => service.close());

test("a sample that is killed twice goes on where it was: the same rows, each paid once", async () => {
  const argv = ["search", "--department", "Sales", "--sample", "60", "--yes", "-o", "p.csv"];
  const proxy = await faultProxy({ target: service.url });
  try {
    const u = user(proxy.url, service.key);
    proxy.decide = ({ paid }) => (paid > 0 ? { kind: "delay", ms: 20 } : { kind: "none" }) as never;
    for (const paid of [10, 25]) {
      const child = spawn(process.execPath, [BIN, ...argv], {
        cwd: u.dir,
        env: { PATH: process.env.PATH ?? "", ...u.env },
      });
      const ended = new Promise((resolve) => child.on("close", resolve));
      while (proxy.seen.filter((request) => request.paid > 0).length < paid) {
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      child.kill("SIGKILL");
      await ended;
    }
    const whole = await spawnUser(u, argv);
    expect(whole.code, whole.stderr).toBe(0);
    expect(whole.stderr).toMatch(
      /continuing run \S+: [\d,]+ rows? (is|are) paid for and not bought again/,
    );
    const [, seed = ""] = /by chance \(--seed (\d+)\)/.exec(whole.stderr) ?? [];
    expect(runIds(u)).toHaveLength(1);
    expect(await charged(service, CREDITS)).toBe(60);
    const other = user(service.url, service.key);
    const straight = await spawnUser(other, [...argv, "--seed", seed]);
    expect(straight.code, straight.stderr).toBe(0);
    expect(u.read("p.csv")).toBe(other.read("p.csv"));
    expect(new Set(readCsv(u.read("p.csv")).map(({ id }) => id)).size).toBe(60);
  } finally {
    await proxy.close();
  }
});
