import { readdirSync, rmSync } from "node:fs";
import fc from "fast-check";
import { expect } from "vitest";
import { fakeClock } from "../../support/client.ts";
import { charged, readCsv, seeded, spentBy, type User, user } from "../../support/export.ts";
import { type FaultProxy, faultProxy } from "../../support/fault-proxy.ts";
import type { TestService } from "../../support/service.ts";
import type { Campaign } from "../campaign.ts";
import { anyFault, argvFor, CREDITS, quietly, startService } from "./scene.ts";

// Any sequence of faults, full disks, interrupts and resumes ends in the same file as a quiet run, charged once a row.
const ROWS = 150;

const stop = fc.record({
  seed: fc.nat(),
  faults: fc.double({ min: 0, max: 0.6, noNaN: true }),
  full: fc.option(fc.integer({ min: 6, max: 120 })),
  interrupt: fc.option(fc.integer({ min: 1, max: 12 })),
  concurrency: fc.integer({ min: 1, max: 5 }),
});
type Stop = typeof stop extends fc.Arbitrary<infer Value> ? Value : never;

/** One command that faults, a full disk or an interrupt may stop. @returns its exit code */
async function runStopped(
  u: User,
  proxy: FaultProxy,
  argv: readonly string[],
  { concurrency, faults, full, interrupt, seed }: Stop,
): Promise<number> {
  const random = seeded(seed);
  let signal = (): void => undefined;
  let paidSoFar = 0;
  proxy.decide = ({ paid }) => {
    if (paid === 0) return { kind: "none" };
    if (++paidSoFar === interrupt) signal();
    return random() < faults ? anyFault(random) : { kind: "none" };
  };
  const { code } = await u.run([...argv, "--concurrency", String(concurrency)], {
    clock: fakeClock(Date.now()),
    before: (context) => {
      signal = () => context.interrupt();
    },
    ...(full === null ? {} : { env: { HEADCOUNT_FAILPOINT: `${full}:ENOSPC` } }),
  });
  return code;
}

async function playSequence(
  {
    expected,
    proxy,
    service,
  }: {
    readonly expected: string;
    readonly proxy: FaultProxy;
    readonly service: TestService;
  },
  stops: readonly Stop[],
  perPage: number,
  isBroken: boolean,
): Promise<void> {
  const u = user(proxy.url, service.key);
  const before = await charged(service, CREDITS);
  const argv = argvFor(ROWS, perPage);
  let code = -1;
  for (const each of stops) {
    code = await runStopped(u, proxy, argv, each);
    if (code === 0) break;
    if (isBroken) rmSync(u.file("state"), { recursive: true, force: true });
  }
  proxy.decide = () => ({ kind: "none" });
  if (code !== 0) {
    const last = await u.run(argv);
    // It was over already: only the very last line of its journal failed to say so in time.
    if (last.code !== 0) expect(last.stderr).toContain("p.csv exists already");
  }

  expect(u.read("p.csv")).toBe(expected);
  const paid = (await charged(service, CREDITS)) - before;
  expect(`${paid} credits`).toBe(`${ROWS} credits`);
  expect((await spentBy(u)).settled).toBe(ROWS);
  expect(readdirSync(u.dir).filter((name) => name.endsWith(".part"))).toEqual([]);
}

export const exportSequences: Campaign = {
  name: "export-sequences",
  seed: 20_261_121,
  cases: { quick: 3, whole: 300 },
  control: { without: "the journal", seen: /^expected '\d+ credits' to be '150 credits'/ },

  async run({ cases, isBroken, seed }) {
    const service = await startService();
    const proxy = await faultProxy({ target: service.url });
    try {
      const expected = await quietly(service, argvFor(ROWS, 20));
      expect(readCsv(expected).length).toBe(ROWS);
      const property = fc.asyncProperty(
        fc.array(stop, { minLength: 1, maxLength: 4 }),
        fc.integer({ min: 1, max: 60 }),
        (stops, perPage) => playSequence({ expected, proxy, service }, stops, perPage, isBroken),
      );
      await fc.assert(property, { numRuns: cases, seed, endOnFailure: true });
      return { sequences: cases };
    } finally {
      await proxy.close();
      await service.close();
    }
  },
};
