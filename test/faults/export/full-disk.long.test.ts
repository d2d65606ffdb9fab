import { afterAll, beforeAll, expect, test } from "vitest";
import { argvFor, CREDITS, quietly, startService } from "../../campaigns/export/scene.ts";
import { fakeClock } from "../../support/client.ts";
import { charged, user, visibleFiles } from "../../support/export.ts";
import type { TestService } from "../../support/service.ts";

let service: TestService;
beforeAll(async () => {
  service = await startService();
}, 60_000);
afterAll(() => service.close());

test("a disk that is full from any step on: what was paid is not lost, and resume ends in the same file", async () => {
  const argv = argvFor(100, 25);
  const expected = await quietly(service, argv);
  for (let step = 6; step < 110; step += 9) {
    const u = user(service.url, service.key);
    const before = await charged(service, CREDITS);
    const full = await u.run(argv, {
      env: { HEADCOUNT_FAILPOINT: `${step}:ENOSPC` },
      clock: fakeClock(Date.now()),
    });
    if (full.code === 0) break;
    expect([1, 2, 5]).toContain(full.code);
    // The final name holds the whole file or nothing.
    if (visibleFiles(u).includes("p.csv")) expect(u.read("p.csv")).toBe(expected);
    const again = await u.run(argv);
    if (again.code !== 0) expect(again.stderr).toContain("p.csv exists already");
    expect({
      step,
      file: u.read("p.csv"),
      spent: (await charged(service, CREDITS)) - before,
    }).toEqual({
      step,
      file: expected,
      spent: 100,
    });
  }
});
