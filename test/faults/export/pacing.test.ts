import { expect } from "vitest";
import { asTyped } from "../../support/as-typed.ts";
import { fakeClock } from "../../support/client.ts";
import { charged, readCsv, user } from "../../support/export.ts";
import { long } from "../../support/long.ts";
import { startTestService } from "../../support/service.ts";

long(
  "forty pages under twelve calls a minute: paced, shown, complete, hardly a refusal",
  async () => {
    const clock = fakeClock();
    const refused: number[] = [];
    const service = await startTestService({
      people: 2_000,
      credits: 1_000,
      plan: { perMinute: 12, perDay: 10_000 },
      now: clock.now,
      monotonic: clock.now,
      onApp: (app) => {
        app.addHook(
          "onSend",
          async (_, { statusCode }) => void (statusCode === 429 && refused.push(statusCode)),
        );
      },
    });
    try {
      const u = user(service.url, service.key);
      const started = clock.now();
      const argv = asTyped`search --department Sales --limit 120 --per-page 3 --yes -o p.csv`;
      const ran = await u.run(argv, { clock });
      expect(ran).toMatchObject({ code: 0 });
      expect(readCsv(u.read("p.csv")).length).toBe(120);
      expect(await charged(service, 1_000)).toBe(120);
      // 40 pages and two free calls cannot take less than three minutes and a part, and should not take much more.
      const minutes = (clock.now() - started) / 60_000;
      expect(minutes).toBeGreaterThan(2.9);
      expect(minutes).toBeLessThan(6);
      expect(refused.length).toBeLessThanOrEqual(4);
      expect(ran.stderr).toContain("Exported 120 of 194 profiles");
    } finally {
      await service.close();
    }
  },
);

long(
  "a day that is used up ends the run with exit 7; the next day the same command goes on",
  async () => {
    const clock = fakeClock();
    const service = await startTestService({
      people: 2_000,
      credits: 1_000,
      plan: { perMinute: 1_000, perDay: 9 },
      now: clock.now,
      monotonic: clock.now,
    });
    try {
      const u = user(service.url, service.key);
      const argv = asTyped`search --department Sales --limit 100 --per-page 10 --yes -o p.csv`;
      const first = await u.run(argv, { clock });
      expect(first.code).toBe(7);
      expect(first.stderr).toMatch(/60 of 100 rows are paid for and kept/);
      clock.advance(24 * 3_600_000);
      await u.ran(argv, { clock });
      expect(readCsv(u.read("p.csv")).length).toBe(100);
      expect(await charged(service, 1_000)).toBe(100);
    } finally {
      await service.close();
    }
  },
);
