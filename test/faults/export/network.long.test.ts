import { existsSync } from "node:fs";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { asTyped } from "../../support/as-typed.ts";
import { fakeClock } from "../../support/client.ts";
import {
  charged,
  readCsv,
  runIds,
  spentBy,
  type User,
  user,
  visibleFiles,
} from "../../support/export.ts";
import { type Fault, type FaultProxy, faultProxy } from "../../support/fault-proxy.ts";
import { startTestService, type TestService } from "../../support/service.ts";

const SALES = ["search", "--department", "Sales", "-o", "p.csv", "--yes"];
const CREDITS = 1_000_000;

let service: TestService;
let proxy: FaultProxy;
let u: User;
let quiet: string;
let rows: number;
beforeAll(async () => {
  const perMinute = { perMinute: 1_000_000, perDay: 100_000_000 };
  service = await startTestService({ people: 2_000, credits: CREDITS, plan: perMinute });
  const calm = user(service.url, service.key);
  await calm.run([...SALES, "--per-page", "100"]);
  quiet = calm.read("p.csv");
  rows = readCsv(quiet).length;
});
afterAll(() => service.close());

let before: number;
beforeEach(async () => {
  proxy = await faultProxy({ target: service.url });
  u = user(proxy.url, service.key);
  before = await charged(service, CREDITS);
});
afterEach(() => proxy.close());

const spent = async (): Promise<number> => (await charged(service, CREDITS)) - before;
/** The fault once, at the nth paid request. */
const once =
  (at: number, fault: Fault) =>
  ({ paid }: { readonly paid: number }): Fault =>
    paid === at ? fault : { kind: "none" };

describe("one fault in the middle of an export changes nothing", () => {
  test.each<[string, Fault]>([
    ["the reply is dropped after it was charged", { kind: "drop" }],
    ["the reply is cut at its first byte", { kind: "cut", bytes: 0 }],
    ["the reply is cut in the middle", { kind: "cut", bytes: 5_000 }],
    ["the reply is cut before its last byte", { kind: "cut", bytes: 1_000_000 }],
    ["the reply trickles", { kind: "drip", bytes: 30, pauseMs: 3 }],
    ["the request arrives twice", { kind: "duplicate" }],
    ["the connection is reset before the request", { kind: "reset" }],
    ["the service fails", { kind: "error", status: 500 }],
    ["the service is busy", { kind: "error", status: 503, headers: { "retry-after": "1" } }],
    ["the rate limit is reached", { kind: "error", status: 429, headers: { "retry-after": "2" } }],
    ["a proxy answers with a page, not charged", { kind: "html", status: 502, charged: false }],
    ["a proxy answers with a page, charged", { kind: "html", status: 504, charged: true }],
    ["a portal answers 200 with a page", { kind: "html", status: 200, charged: true }],
  ])("%s", async (_, fault) => {
    for (const at of [1, 3]) {
      proxy.decide = once(proxy.seen.length === 0 ? at : at + 7, fault);
      const ran = await u.run([...SALES, "--per-page", "40", "--again", "--overwrite"], {
        clock: fakeClock(Date.now()),
      });
      expect(ran).toMatchObject({ code: 0 });
      expect(u.read("p.csv")).toBe(quiet);
    }
    expect(await spent()).toBe(2 * rows);
    expect(await spentBy(u)).toMatchObject({ uncertain: 0, foreign: 0 });
  });
});

test("a reply is lost, and the machine sleeps for longer than the service keeps its copy: what was paid twice is told", async () => {
  proxy.decide = once(2, { kind: "drop" });
  const clock = fakeClock(Date.now());
  const slept = {
    ...clock,
    sleep: (ms: number, signal?: AbortSignal) => clock.sleep(ms + 25 * 3_600_000, signal),
  };
  // The service lives through the same hours: it has forgotten the reply.
  const forgetful = await startTestService({
    people: 2_000,
    credits: CREDITS,
    now: clock.now,
    monotonic: clock.now,
  });
  const between = await faultProxy({ target: forgetful.url, decide: proxy.decide });
  try {
    const me = user(between.url, forgetful.key);
    const ran = await me.run([...SALES, "--per-page", "40"], { clock: slept });
    // The quote's price is the cap, and what may be gone counts against it.
    expect(ran.code).toBe(5);
    expect(ran.stderr).toContain("40 credits may have been charged");
    expect(await me.run([...SALES, "--per-page", "40"], { clock: slept })).toMatchObject({
      code: 0,
    });
    expect(me.read("p.csv")).toBe(quiet);
    expect(await charged(forgetful, CREDITS)).toBe(rows + 40);
    expect(await spentBy(me)).toEqual({ settled: rows, uncertain: 40, foreign: 0 });
  } finally {
    await between.close();
    await forgetful.close();
  }
});

describe("a service that ignores idempotency keys", () => {
  let foreign: FaultProxy;
  beforeEach(async () => {
    foreign = await faultProxy({ target: service.url, foreign: true });
    u = user(foreign.url, service.key);
  });
  afterEach(() => foreign.close());

  test("a lost reply that was charged is booked as uncertain, inside the cap, and said everywhere", async () => {
    foreign.decide = once(3, { kind: "drop" });
    const argv = asTyped`search --department Sales -o p.csv --per-page 20 --max-credits 150`;
    const ran = await u.run([...argv, "--receipt", "receipt.json"], {
      clock: fakeClock(Date.now()),
    });
    // 20 of the 150 may be gone, and are: 130 rows fit into what is left.
    expect(await spent()).toBe(150);
    expect(ran.code).toBe(5);
    expect(ran.stderr).toContain("20 credits may have been charged");
    expect(existsSync(u.file("p.csv"))).toBe(false);
    // Once more: nothing is left to spend, and what is missing is still missing.
    const again = await u.run(argv, { clock: fakeClock(Date.now()) });
    expect({ code: again.code, spent: await spent() }).toEqual({ code: 5, spent: 150 });
    expect(again.stderr).toContain("20 credits may have been charged for replies that were lost");
    expect(again.stderr).toContain("130 of 150 rows came");
    expect(existsSync(u.file("p.csv"))).toBe(false);
    expect(await spentBy(u)).toMatchObject({ uncertain: 20 });
  });

  test("a lost reply that was not charged costs nothing and is not booked", async () => {
    foreign.decide = once(3, { kind: "cut", bytes: 0 });
    foreign.decide = ({ paid }) =>
      paid === 3 ? { kind: "html", status: 502, charged: false } : { kind: "none" };
    const ran = await u.run([...SALES, "--per-page", "20"], { clock: fakeClock(Date.now()) });
    expect({ code: ran.code, spent: await spent(), file: u.read("p.csv") }).toEqual({
      code: 0,
      spent: rows,
      file: quiet,
    });
    expect(await spentBy(u)).toMatchObject({ uncertain: 0, foreign: 0 });
  });

  test("with a cap that leaves room the page is bought again, and the receipt says what may be lost", async () => {
    foreign.decide = once(2, { kind: "drop" });
    const argv = asTyped`${SALES} --per-page 20 --limit 60 --max-credits 60 --receipt r.json`;
    const first = await u.run(argv, { clock: fakeClock(Date.now()) });
    expect(first.code).toBe(5);
    const again = await u.run(
      [...argv.slice(0, -4), "--max-credits", "80", "--receipt", "r.json"],
      {
        clock: fakeClock(Date.now()),
      },
    );
    expect(again).toMatchObject({ code: 0 });
    expect(JSON.parse(u.read("r.json"))).toMatchObject({
      received: 60,
      credits: 60,
      uncertain_credits: 20,
    });
    expect(await spent()).toBe(80);
  });
});

describe("what is never repeated", () => {
  test("one 422 behind pages that came is asked for once more, and is no wall", async () => {
    proxy.decide = once(3, { kind: "error", status: 422, detail: "no" });
    await u.ran([...SALES, "--per-page", "40", "--concurrency", "1"], {
      clock: fakeClock(Date.now()),
    });
    expect(u.read("p.csv")).toBe(quiet);
    expect(await spent()).toBe(rows);
  });

  test.each([401, 403])(
    "%i in the middle: one request, what was bought is kept, resume goes on",
    async (status) => {
      proxy.decide = once(3, { kind: "error", status, detail: "no" });
      const ran = await u.run([...SALES, "--per-page", "40", "--concurrency", "1"], {
        clock: fakeClock(Date.now()),
      });
      expect(ran.code).toBe(3);
      expect(ran.stderr).toMatch(/hint: headcount resume \S+ goes on where it stopped/);
      expect(proxy.seen.filter(({ paid }) => paid > 0).length).toBe(3);
      expect(visibleFiles(u)).toEqual([]);
      const resumed = await u.run(["resume", runIds(u)[0] ?? ""]);
      expect(resumed).toMatchObject({ code: 0 });
      expect(u.read("p.csv")).toBe(quiet);
      expect(await spent()).toBe(rows);
    },
  );

  test("a smaller page than asked for is learned from a 422, and from a silent clamp", async () => {
    proxy.decide = ({ body, paid }) => {
      const asked = paid === 0 ? 0 : (JSON.parse(body) as { per_page: number }).per_page;
      return asked > 25
        ? { kind: "error", status: 422, detail: `per_page must be between 1 and 25, not ${asked}` }
        : { kind: "none" };
    };
    const ran = await u.run(SALES);
    expect({ code: ran.code, file: u.read("p.csv") }).toEqual({ code: 0, file: quiet });
    expect(ran.stderr).toContain(
      "the service refused a larger page; going on with 25 profiles a page",
    );
    expect(await spent()).toBe(rows);
  });

  test("a rate limit longer than --max-wait: exit 7, resumable, nothing charged twice", async () => {
    proxy.decide = once(3, { kind: "error", status: 429, headers: { "retry-after": "400" } });
    const ran = await u.run([...SALES, "--per-page", "40"], { clock: fakeClock(Date.now()) });
    expect(ran.code).toBe(7);
    await u.ran(["resume"]);
    expect({ file: u.read("p.csv"), spent: await spent() }).toEqual({ file: quiet, spent: rows });
  });

  test("a service that stays down: bounded attempts, exit 8, resumable", async () => {
    proxy.decide = ({ paid }) => (paid > 2 ? { kind: "error", status: 500 } : { kind: "none" });
    const ran = await u.run([...SALES, "--per-page", "40", "--concurrency", "1"], {
      clock: fakeClock(Date.now()),
    });
    expect(ran.code).toBe(8);
    expect(proxy.seen.filter(({ paid }) => paid > 2).length).toBe(10);
    proxy.decide = () => ({ kind: "none" });
    await u.ran(["resume"]);
    expect({ file: u.read("p.csv"), spent: await spent() }).toEqual({ file: quiet, spent: rows });
  });
});

describe("complete or said", () => {
  const answer = (result: unknown[], headers = {}): Fault => ({
    kind: "answer",
    status: 200,
    body: JSON.stringify({
      status: true,
      detail: [],
      result,
      credits_used: result.length,
      credits_remaining: 5_000,
    }),
    ...headers,
  });
  const people = (from: number, count: number): { id: string }[] =>
    Array.from({ length: count }, (_, index) => ({ id: `p${from + index}` }));
  const pages = (make: (page: number, perPage: number) => unknown[]): void => {
    proxy.decide = ({ url, body }) => {
      if (url.endsWith("/count")) return answer({ count: 40 } as never);
      if (!url.endsWith("/search")) return { kind: "none" };
      const { page, per_page } = JSON.parse(body) as { page: number; per_page: number };
      return answer(make(page, per_page));
    };
  };

  test("a page that comes twice: exit 5, the rows once, paid and reported", async () => {
    pages((page, perPage) => people(page === 3 ? 10 : (page - 1) * perPage, perPage));
    await u.ends(
      5,
      [...SALES, "--per-page", "10"],
      "gave a page twice: 30 different profiles in 40 rows",
    );
    expect(visibleFiles(u)).toEqual([]);
    const kept = await u.run(["runs", "export", "last", "--format", "ndjson"]);
    expect(kept.stdout.trim().split("\n").length).toBe(30);
  });

  test("fewer than were counted: exit 5, with both numbers", async () => {
    pages((page, perPage) =>
      page > 2 ? people(20, page === 3 ? 4 : 0) : people((page - 1) * perPage, perPage),
    );
    const ran = await u.run([...SALES, "--per-page", "10"]);
    expect({ code: ran.code, files: visibleFiles(u) }).toEqual({ code: 5, files: [] });
    expect(ran.stderr).toContain("gave 24 of the 40 profiles that it counted");
  });

  test("a dataset that moves meanwhile: nothing mixes the two, the run is stale, the same command begins anew", async () => {
    const moved = await faultProxy({ target: service.url });
    try {
      u = user(moved.url, service.key);
      await u.ends(5, asTyped`${SALES} --per-page 40 --max-credits 80 --require-complete`);
      moved.decide = ({ url }) =>
        url.endsWith("/account")
          ? answer({
              account: { id: "default" },
              key: { mode: "live" },
              credits: { remaining: 900 },
              dataset: { version: "v2" },
            } as never)
          : { kind: "none" };
      const same = [...SALES, "--per-page", "40"];
      const [id = ""] = runIds(u);
      // Whoever wants to decide for himself is asked again each time, and a unit is not started again by 10.
      for (let again = 0; again < 2; again++) {
        await u.ends(
          10,
          [...same, "--on-new-dataset", "fail"],
          /the dataset version was \S+ and is v2; nothing was spent/,
          "--again begins anew",
        );
      }
      await u.ends(5, ["resume"], /the dataset version was \S+ and is v2; nothing was spent/);
      expect(await spent()).toBe(80);
      await u.ends(0, ["resume"], "Nothing to resume");
      // Said once, with what the stale run holds; the replies are still of the first dataset, so a new run stops here too.
      expect((await u.run(["runs", "show", id])).stdout).toContain("stale");
      expect(
        (await u.run(["runs", "export", id, "--format", "ndjson"])).stdout.trim().split("\n")
          .length,
      ).toBe(80);
    } finally {
      await moved.close();
    }
  });
});
