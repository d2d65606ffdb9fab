import { readdirSync } from "node:fs";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cases, everyNth, LONG } from "../../support/campaign.ts";
import { fakeClock } from "../../support/client.ts";
import { charged, readCsv, seeded, spentBy, user, visibleFiles } from "../../support/export.ts";
import { type Fault, type FaultProxy, faultProxy } from "../../support/fault-proxy.ts";
import { long } from "../../support/long.ts";
import { startTestService, type TestService } from "../../support/service.ts";
import { spawnUser } from "../../support/spawned.ts";

const CREDITS = 10_000_000;
const argvFor = (limit: number, perPage: number): string[] => [
  "search",
  "--department",
  "Sales",
  "--limit",
  String(limit),
  "--per-page",
  String(perPage),
  "--yes",
  "-o",
  "p.csv",
];

let service: TestService;
beforeAll(async () => {
  service = await startTestService({
    people: 2_000,
    credits: CREDITS,
    plan: { perMinute: 1_000_000, perDay: 100_000_000 },
  });
}, 60_000);
afterAll(() => service.close());

async function quietly(argv: readonly string[]): Promise<string> {
  const calm = user(service.url, service.key);
  expect(await calm.run(argv)).toMatchObject({ code: 0 });
  return calm.read("p.csv");
}

describe("SIGKILL at every durable write in turn, then the same command again", () => {
  const argv = [...argvFor(130, LONG ? 10 : 40), "--concurrency", "2"];

  /** @returns whether the process got to its end before the step */
  async function killAt(step: number, expected: string): Promise<boolean> {
    const u = user(service.url, service.key);
    const killed = await spawnUser(u, argv, { HEADCOUNT_FAILPOINT: String(step) });
    const whole = visibleFiles(u).includes("p.csv");
    if (killed.code !== 137) {
      expect({ step, ...killed }).toEqual({
        step,
        code: 0,
        stdout: "",
        stderr: expect.stringContaining("Exported"),
      });
      return true;
    }
    // The final name holds the whole file or nothing.
    if (whole) expect({ step, file: u.read("p.csv") }).toEqual({ step, file: expected });
    const again = await spawnUser(u, argv);
    // Killed after the run was over: the file is there, and nothing is bought again.
    if (whole && again.code === 2 && again.stderr.includes("exists already")) return false;
    expect({ step, ...again }).toEqual({
      step,
      code: 0,
      stdout: "",
      stderr: expect.stringContaining("Exported"),
    });
    expect({ step, file: u.read("p.csv") }).toEqual({ step, file: expected });
    expect({ step, files: visibleFiles(u) }).toEqual({ step, files: ["p.csv"] });
    expect({ step, booked: (await spentBy(u)).settled }).toEqual({ step, booked: 130 });
    return false;
  }

  long(
    "rows exact, credits exact, no half file under the final name",
    async () => {
      const expected = await quietly(argv);
      const before = await charged(service, CREDITS);
      let runs = 0;
      let points = 0;
      const stride = everyNth(3);
      for (let step = 1; ; step += 2 * stride) {
        const ended = await Promise.all([killAt(step, expected), killAt(step + stride, expected)]);
        runs += 2;
        points += ended.filter((end) => !end).length;
        if (ended.every((end) => end)) break;
      }
      expect(points).toBeGreaterThanOrEqual(cases(20, 140));
      // However often it was killed, each run was charged for its 130 rows once.
      expect((await charged(service, CREDITS)) - before).toBe(130 * runs);
    },
    900_000,
  );
});

test("a disk that is full from any step on: what was paid is not lost, and resume ends in the same file", async () => {
  const argv = argvFor(100, 25);
  const expected = await quietly(argv);
  for (let step = 6; step < 110; step += everyNth(9)) {
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
}, 300_000);

describe("any sequence of faults, full disks, interrupts and resumes", () => {
  let proxy: FaultProxy;
  beforeAll(async () => {
    proxy = await faultProxy({ target: service.url });
  });
  afterAll(() => proxy.close());

  const stop = fc.record({
    seed: fc.nat(),
    faults: fc.double({ min: 0, max: 0.6, noNaN: true }),
    full: fc.option(fc.integer({ min: 6, max: 120 })),
    interrupt: fc.option(fc.integer({ min: 1, max: 12 })),
    concurrency: fc.integer({ min: 1, max: 5 }),
  });

  long(
    "ends in the same file as a quiet run, charged once a row",
    async () => {
      const expected = await quietly(argvFor(150, 20));
      expect(readCsv(expected).length).toBe(150);
      await fc.assert(
        fc.asyncProperty(
          fc.array(stop, { minLength: 1, maxLength: 4 }),
          fc.integer({ min: 1, max: 60 }),
          async (stops, perPage) => {
            const u = user(proxy.url, service.key);
            const before = await charged(service, CREDITS);
            const argv = argvFor(150, perPage);
            let code = -1;
            for (const { seed, faults, full, interrupt, concurrency } of stops) {
              const random = seeded(seed);
              let signal = (): void => undefined;
              let paidSoFar = 0;
              proxy.decide = ({ paid }) => {
                if (paid === 0) return { kind: "none" };
                if (++paidSoFar === interrupt) signal();
                return random() < faults ? anyFault(random) : { kind: "none" };
              };
              const ran = await u.run([...argv, "--concurrency", String(concurrency)], {
                clock: fakeClock(Date.now()),
                before: (context) => {
                  signal = () => context.interrupt();
                },
                ...(full === null ? {} : { env: { HEADCOUNT_FAILPOINT: `${full}:ENOSPC` } }),
              });
              code = ran.code;
              if (code === 0) break;
            }
            proxy.decide = () => ({ kind: "none" });
            if (code !== 0) {
              const last = await u.run(argv);
              // It was over already: only the very last line of its journal failed to say so in time.
              if (last.code !== 0) expect(last.stderr).toContain("p.csv exists already");
            }
            expect(u.read("p.csv")).toBe(expected);
            expect((await charged(service, CREDITS)) - before).toBe(150);
            expect((await spentBy(u)).settled).toBe(150);
            expect(readdirSync(u.dir).filter((name) => name.endsWith(".part"))).toEqual([]);
          },
        ),
        { numRuns: cases(20, 300), endOnFailure: true },
      );
    },
    900_000,
  );
});

function anyFault(random: () => number): Fault {
  const faults: Fault[] = [
    { kind: "drop" },
    { kind: "cut", bytes: Math.floor(random() * 3_000) },
    { kind: "duplicate" },
    { kind: "reset" },
    { kind: "error", status: 500 },
    { kind: "html", status: 502, charged: random() > 0.5 },
    { kind: "error", status: 429, headers: { "retry-after": "1" } },
  ];
  return faults[Math.floor(random() * faults.length)] ?? { kind: "none" };
}
