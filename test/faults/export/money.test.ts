import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parseCredits } from "../../../src/shared/contract/money.ts";
import { fakeClock } from "../../support/client.ts";
import { charged, readCsv, runIds, spentBy, user, visibleFiles } from "../../support/export.ts";
import { type FaultProxy, faultProxy } from "../../support/fault-proxy.ts";
import { long } from "../../support/long.ts";
import { startTestService, type TestService } from "../../support/service.ts";

const SALES = ["search", "--department", "Sales", "-o", "p.csv", "--yes"];
let service: TestService;
let proxy: FaultProxy;
beforeEach(async () => {
  service = await startTestService({ people: 2_000, credits: 200 });
  proxy = await faultProxy({ target: service.url });
});
afterEach(async () => {
  await proxy.close();
  await service.close();
});

/** Somebody else with the same account. */
const foreign = (rows: number): Promise<unknown> =>
  service.call("/v1/person/search", { body: { filters: { department: "Legal" }, per_page: rows } });

describe("a balance that others use too", () => {
  long(
    "shrinks: pages get smaller down to the last credit, then exit 4, resumable; what they spent is recorded",
    async () => {
      const u = user(proxy.url, service.key);
      proxy.decide = async ({ paid }) => {
        if (paid === 2) await foreign(63);
        return { kind: "none" };
      };
      const argv = [...SALES, "--per-page", "40", "--limit", "190", "--concurrency", "1"];
      const ran = await u.run(argv, { clock: fakeClock(Date.now()) });
      expect(ran.code).toBe(4);
      expect(await charged(service, 200)).toBe(200);
      const kept = Number(/(\d+) of 190 rows are paid for/.exec(ran.stderr)?.[1]);
      const { foreign: foreignCredits } = await spentBy(u);
      expect(foreignCredits).toBeGreaterThan(10);
      expect(kept + foreignCredits).toBe(200);
      expect(visibleFiles(u)).toEqual([]);
      await service.store.grant("default", "live", parseCredits("100") ?? (0n as never), "top-up");
      await u.ran(["resume", runIds(u)[0] ?? ""]);
      expect(readCsv(u.read("p.csv")).length).toBe(190);
    },
  );

  test("a 402 lowers the page to what the balance covers", async () => {
    const u = user(proxy.url, service.key);
    let refused = 0;
    proxy.decide = ({ paid, body }) => {
      if (paid === 0 || (JSON.parse(body) as { per_page: number }).per_page <= 10)
        return { kind: "none" };
      refused++;
      return { kind: "error", status: 402, detail: "the balance is too low for this hold" };
    };
    const ran = await u.run([...SALES, "--limit", "60", "--per-page", "20"], {
      clock: fakeClock(Date.now()),
    });
    expect({ code: ran.code, refused }).toEqual({ code: 0, refused: 1 });
    expect(readCsv(u.read("p.csv")).length).toBe(60);
    expect(await charged(service, 200)).toBe(60);
  });

  test("a 402 lowers the page as far as there are smaller ones, and none that is taken is exit 4", async () => {
    const u = user(proxy.url, service.key);
    proxy.decide = ({ paid }) => (paid === 0 ? { kind: "none" } : { kind: "error", status: 402 });
    const never = await u.run([...SALES, "--limit", "5"], { clock: fakeClock(Date.now()) });
    expect(never.code).toBe(4);
    // The balance would do: pages of 5, of 2 and of 1 were tried.
    expect(proxy.seen.filter(({ url }) => url.endsWith("/search")).length).toBe(3);
    expect(await charged(service, 200)).toBe(0);
  });

  test("a 402 that says of as many rows as were asked for that they still fit is not asked for ever", async () => {
    const u = user(proxy.url, service.key);
    const headers = { "X-Affordable-Rows": "5" };
    proxy.decide = ({ paid }) =>
      paid === 0 ? { kind: "none" } : { kind: "error", status: 402, headers };
    const ran = await u.run([...SALES, "--limit", "5"], { clock: fakeClock(Date.now()) });
    expect(ran.code).toBe(4);
    expect(proxy.seen.filter(({ url }) => url.endsWith("/search")).length).toBe(3);
  });
});

test("an intent older than a key's life may have been charged: that is uncertain, and it is asked for under its own key all the same", async () => {
  const u = user(proxy.url, service.key);
  const clock = fakeClock(Date.now());
  const argv = [...SALES, "--limit", "80", "--per-page", "40", "--concurrency", "1"];
  // The second page is charged, its reply is lost, and then the network is gone.
  proxy.decide = ({ paid }) => ({ kind: paid < 2 ? "none" : paid === 2 ? "drop" : "reset" });
  const lost = await u.run(argv, { clock });
  expect({ code: lost.code, spent: await charged(service, 200) }).toEqual({ code: 8, spent: 80 });
  expect(lost.stderr).toContain("1 page in flight may be charged");
  proxy.decide = () => ({ kind: "none" });
  clock.advance(25 * 3_600_000);
  // Agreed to once more, now with what is uncertain on top.
  const second = await u.run([...argv, "--receipt", "r.json"], { clock });
  expect({ code: second.code, spent: await charged(service, 200) }).toEqual({ code: 0, spent: 80 });
  // The service knew the key for longer than it promised.
  expect(await charged(service, 200)).toBe(80);
  expect(JSON.parse(u.read("r.json"))).toMatchObject({
    received: 80,
    credits: 80,
    uncertain_credits: 0,
  });
});

test("what others spend while several pages are in flight is found at the end", async () => {
  const u = user(proxy.url, service.key);
  proxy.decide = async ({ paid }) => {
    if (paid === 3) await foreign(7);
    return paid > 1 ? { kind: "delay", ms: 20 } : { kind: "none" };
  };
  const ran = await u.run([...SALES, "--limit", "100", "--per-page", "10", "--receipt", "r.json"]);
  expect(ran).toMatchObject({ code: 0 });
  expect(ran.stderr).toContain("7 credits more left the balance than the answers tell");
  expect(JSON.parse(u.read("r.json"))).toMatchObject({
    credits: 100,
    foreign_credits: 7,
    balance: 93,
  });
});

test("a price that moved is not paid on: exit 5", async () => {
  const u = user(proxy.url, service.key);
  proxy.decide = ({ url }) =>
    url.endsWith("/search")
      ? {
          kind: "answer",
          status: 200,
          body: JSON.stringify({
            status: true,
            detail: [],
            result: [{ id: "a" }],
            credits_used: 3,
            credits_remaining: 100,
          }),
        }
      : { kind: "none" };
  const ran = await u.run([...SALES, "--limit", "5", "--per-page", "1"], {
    clock: fakeClock(Date.now()),
  });
  expect(ran.code).toBe(5);
  expect(ran.stderr).toContain("charged 3 credits for 1 row quoted at 1");
  expect(proxy.seen.filter(({ paid }) => paid > 0).length).toBe(1);
});

test("a lower cap on resume counts what the run has spent already", async () => {
  const u = user(service.url, service.key);
  await u.run([...SALES, "--max-credits", "50", "--per-page", "20"]);
  expect(await charged(service, 200)).toBe(50);
  const lower = await u.run(["resume", runIds(u)[0] ?? "", "--max-credits", "30", "--yes"]);
  expect(await charged(service, 200)).toBe(50);
  // 30 were allowed and 50 are there: nothing more is bought, and what is there is written.
  expect(lower.code).toBe(0);
  const extended = await u.run([
    "resume",
    runIds(u)[0] ?? "",
    "--max-credits",
    "70",
    "--overwrite",
  ]);
  expect(extended).toMatchObject({ code: 0 });
  expect({ spent: await charged(service, 200), rows: readCsv(u.read("p.csv")).length }).toEqual({
    spent: 70,
    rows: 70,
  });
});

test("what an earlier session may have spent stays at risk under a lower cap: nothing is bought into its place", async () => {
  const u = user(proxy.url, service.key);
  const clock = fakeClock(Date.now());
  // The third page is charged, its reply is lost, and then the network is gone: 80 are settled, 40
  // more are pending.
  proxy.decide = ({ paid }) => ({ kind: paid < 3 ? "none" : paid === 3 ? "drop" : "reset" });
  const argv = [...SALES, "--limit", "160", "--per-page", "40", "--concurrency", "1"];
  expect((await u.run(argv, { clock })).code).toBe(8);
  expect(await charged(service, 200)).toBe(120);
  proxy.decide = () => ({ kind: "none" });
  // 30 would fit beside what is settled, but not beside what is pending.
  const lower = await u.run([...argv, "--max-credits", "110"], { clock });
  expect({ code: lower.code, spent: await charged(service, 200) }).toEqual({ code: 5, spent: 120 });
  await u.ran([...argv, "--max-credits", "160"], { clock });
  expect(readCsv(u.read("p.csv")).length).toBe(160);
  expect(await charged(service, 200)).toBe(160);
});
