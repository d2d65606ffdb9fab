import { mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { Pacer } from "../../src/engine/client/pacing.ts";
import { type FakeClock, fakeClock, tempDir } from "../support/client.ts";

const BASE = { baseUrl: "https://api.example.com", apiKey: "x_live_12345678" };
const MINUTE = 60_000;

/** A service that counts calls in fixed minutes, as ours does. */
function service(clock: FakeClock, most: number) {
  let limit = most;
  let windowStart = clock.now();
  let used = 0;
  let refused = 0;
  return {
    call(pacer: Pacer): void {
      if (clock.now() >= windowStart + MINUTE) {
        windowStart += Math.floor((clock.now() - windowStart) / MINUTE) * MINUTE;
        used = 0;
      }
      if (used >= limit) refused++;
      else used++;
      pacer.observe({
        limit,
        remaining: Math.max(0, limit - used),
        resetAt: windowStart + MINUTE,
        window: "minute",
      });
    },
    refused: () => refused,
    sells: (more: number) => {
      limit = more;
    },
  };
}

describe("a clock that is set back", () => {
  const DECLARED = { per_minute: 10 };

  test.each(["by whoever waits", "by another process"])(
    "holds nobody up longer than the limit asks, %s",
    (who) => {
      const clock = fakeClock();
      const stateDir = tempDir();
      const begun = (): Pacer => {
        const pacer = new Pacer({ ...BASE, stateDir, now: clock.now });
        pacer.declare(DECLARED);
        return pacer;
      };
      const pacer = begun();
      for (let call = 0; call < 12; call++) clock.advance(pacer.takeRequest());

      pacer.takeAhead();
      clock.advance(-10 * MINUTE);
      const other = who === "by whoever waits" ? pacer : begun();
      const waits = Array.from({ length: 10 }, () => {
        const waitMs = other.takeRequest();
        clock.advance(waitMs);
        return waitMs;
      });
      expect(Math.max(...waits)).toBeLessThanOrEqual(MINUTE + 2_000);
      // As many as the limit has go out, and no more.
      expect(waits.reduce((sum, waitMs) => sum + waitMs, 0)).toBeGreaterThan(MINUTE / 2);
    },
  );

  test.each(["minute", "day"] as const)(
    "a %s that a service told is as far away as it was",
    (window) => {
      const clock = fakeClock();
      const stateDir = tempDir();
      const pacer = new Pacer({ ...BASE, stateDir, now: clock.now });
      pacer.observe({ limit: 9, remaining: 0, resetAt: clock.now() + 30_000, window });
      clock.advance(-10 * MINUTE);
      const other = new Pacer({ ...BASE, stateDir, now: clock.now });
      expect(other.take()).toBe(30_000);
    },
  );

  test("who paid before it is not taken for one who pays from now on", () => {
    const clock = fakeClock();
    const stateDir = tempDir();
    const begun = (): Pacer => new Pacer({ ...BASE, stateDir, now: clock.now });
    const [first, second] = [begun(), begun()];
    first.pays(clock.now() + MINUTE, clock.now());
    clock.advance(-10 * MINUTE);
    expect(second.pays(clock.now(), clock.now())).toBe(true);
    expect(second.pays(clock.now(), clock.now() + 2 * MINUTE)).toBe(false);
  });
});

describe("the bucket", () => {
  test("a 429 that tells a reset and no limit holds up until then, and no call after it", () => {
    const clock = fakeClock();
    for (const stateDir of [tempDir(), undefined]) {
      const pacer = new Pacer({ ...BASE, stateDir, now: clock.now });
      pacer.observe({ limit: 0, remaining: 0, resetAt: clock.now() + 2_000, window: undefined });
      for (const wait of Array.from({ length: 4 }, () => pacer.take()))
        expect(wait).toBeLessThanOrEqual(2_000);
      clock.advance(2_001);
      expect(Array.from({ length: 4 }, () => pacer.take())).toEqual([0, 0, 0, 0]);
    }
  });

  test("nothing is held up, and nothing written, before a service has told a limit", () => {
    const stateDir = tempDir();
    const pacer = new Pacer({ ...BASE, stateDir, now: fakeClock().now });
    pacer.observe(undefined);
    expect(Array.from({ length: 100 }, () => pacer.take())).toEqual(
      Array.from({ length: 100 }, () => 0),
    );
    expect(readdirSync(stateDir)).toEqual([]);
  });

  test("a plan that is changed holds from the next answer on, in the midst of a minute", () => {
    const clock = fakeClock();
    const api = service(clock, 30);
    const pacer = new Pacer({ ...BASE, stateDir: tempDir(), now: clock.now });
    const waits = (calls: number): number => {
      const began = clock.now();
      for (let call = 0; call < calls; call++) {
        clock.advance(pacer.take());
        api.call(pacer);
      }
      return clock.now() - began;
    };

    waits(26);
    api.sells(600);
    expect(waits(57)).toBeLessThan(15_000);
    api.sells(90);
    expect(waits(60)).toBeGreaterThan(15_000);
    expect(api.refused()).toBe(0);
  });

  test("300 calls at 60 a minute: none is refused, and none is waited for longer than the limit asks", () => {
    const clock = fakeClock();
    const api = service(clock, 60);
    const pacer = new Pacer({ ...BASE, stateDir: tempDir(), now: clock.now });
    const start = clock.now();
    for (let call = 0; call < 300; call++) {
      clock.advance(pacer.take());
      api.call(pacer);
      clock.advance(20);
    }
    expect(api.refused()).toBe(0);
    // Five windows hold 300 calls, so the fifth must have begun and need not have ended.
    expect(clock.now() - start).toBeGreaterThanOrEqual(4 * MINUTE);
    expect(clock.now() - start).toBeLessThanOrEqual(5 * MINUTE + 2_000);
  });

  test("three processes with one key share it: none is refused, each gets its part", () => {
    const clock = fakeClock();
    const api = service(clock, 60);
    const stateDir = tempDir();
    const pacers = Array.from(
      { length: 3 },
      () => new Pacer({ ...BASE, stateDir, now: clock.now }),
    );
    // What all know of the service is what its first answer told.
    pacers.slice(0, 1).forEach((pacer) => void api.call(pacer));
    const due = pacers.map((pacer) => clock.now() + pacer.take());
    const made = pacers.map(() => 0);
    for (let call = 0; call < 240; call++) {
      const next = due.indexOf(Math.min(...due));
      const pacer = pacers[next];
      if (pacer === undefined) throw new Error("no pacer");
      clock.advance(Math.max(0, (due[next] ?? 0) - clock.now()));
      api.call(pacer);
      made[next] = (made[next] ?? 0) + 1;
      due[next] = clock.now() + 10 + pacer.take();
    }
    expect(api.refused()).toBe(0);
    expect(Math.min(...made)).toBeGreaterThan(40);
  });

  test("calls that others make are noticed", () => {
    const clock = fakeClock();
    const pacer = new Pacer({ ...BASE, stateDir: undefined, now: clock.now });
    const resetAt = clock.now() + 30_000;
    pacer.observe({ limit: 60, remaining: 50, resetAt, window: "minute" });
    expect(pacer.take()).toBe(0);
    pacer.observe({ limit: 60, remaining: 3, resetAt, window: "minute" });
    const waits = [pacer.take(), pacer.take(), pacer.take(), pacer.take()];
    expect(waits[0]).toBe(0);
    expect(waits[1]).toBeGreaterThan(5_000);
    expect(waits[3]).toBeGreaterThanOrEqual(30_000);
  });

  test("after a 429 the next call waits for the reset", () => {
    const clock = fakeClock();
    const pacer = new Pacer({ ...BASE, stateDir: undefined, now: clock.now });
    pacer.observe({ limit: 60, remaining: 0, resetAt: clock.now() + 9_000, window: "minute" });
    expect(pacer.take()).toBe(9_000);
    clock.advance(9_000);
    expect(pacer.take()).toBe(0);
  });

  test("a day that is used up is told, not waited for; the next day is open", () => {
    const clock = fakeClock();
    const pacer = new Pacer({ ...BASE, stateDir: tempDir(), now: clock.now });
    const resetAt = clock.now() + 5 * 3_600_000;
    pacer.observe({ limit: 1_000, remaining: 2, resetAt, window: "day" });
    expect([pacer.take(), pacer.take(), pacer.take(), pacer.take()]).toEqual([
      0,
      0,
      5 * 3_600_000,
      5 * 3_600_000,
    ]);
    clock.advance(5 * 3_600_000);
    expect(pacer.take()).toBe(0);
  });

  test("a day that is used up is open again where a newer reply has calls left in its minute", () => {
    const clock = fakeClock();
    const stateDir = tempDir();
    const pacer = new Pacer({ ...BASE, stateDir, now: clock.now });
    pacer.observe({
      limit: 600,
      remaining: 0,
      resetAt: clock.now() + 20 * 3_600_000,
      window: "day",
    });
    const other = new Pacer({ ...BASE, stateDir, now: clock.now });
    expect(other.take()).toBe(20 * 3_600_000);
    other.observe({ limit: 600, remaining: 599, resetAt: clock.now() + MINUTE, window: "minute" });
    expect(new Pacer({ ...BASE, stateDir, now: clock.now }).take()).toBe(0);
  });

  test("an unnamed window is a day where its reset is hours away", () => {
    const clock = fakeClock();
    const pacer = new Pacer({ ...BASE, stateDir: undefined, now: clock.now });
    pacer.observe({
      limit: 1_000,
      remaining: 0,
      resetAt: clock.now() + 3_600_000,
      window: undefined,
    });
    expect(pacer.take()).toBe(3_600_000);
  });
});

describe("the shared file", () => {
  test("is not written for one call in plenty, and is from the second call on with what the first one told", () => {
    const clock = fakeClock();
    const stateDir = tempDir();
    const pacer = new Pacer({ ...BASE, stateDir, now: clock.now });
    expect(pacer.take()).toBe(0);
    pacer.observe({ limit: 60, remaining: 59, resetAt: clock.now() + MINUTE, window: "minute" });
    expect(readdirSync(stateDir)).toEqual([]);
    expect(pacer.perMinute()).toBe(60);
    expect(pacer.take()).toBe(0);
    const [name = ""] = readdirSync(join(stateDir, "pacing"));
    const written: unknown = JSON.parse(readFileSync(join(stateDir, "pacing", name), "utf8"));
    expect(written).toMatchObject({ minute: { limit: 60, resetAt: clock.now() + MINUTE } });
  });

  const observed = { limit: 60, remaining: 10, window: "minute" as const };

  test("tells neither address nor key, and is private", () => {
    const clock = fakeClock();
    const stateDir = tempDir();
    new Pacer({ ...BASE, stateDir, now: clock.now }).observe({
      ...observed,
      resetAt: clock.now() + MINUTE,
    });
    const [name = ""] = readdirSync(join(stateDir, "pacing"));
    const file = join(stateDir, "pacing", name);
    expect(name).toMatch(/^[0-9a-f]{32}\.json$/);
    expect(readFileSync(file, "utf8")).not.toMatch(/live|example/);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  test("of another key is another bucket", () => {
    const clock = fakeClock();
    const stateDir = tempDir();
    const one = new Pacer({ ...BASE, stateDir, now: clock.now });
    const other = new Pacer({ ...BASE, apiKey: "x_live_87654321", stateDir, now: clock.now });
    one.observe({ ...observed, remaining: 0, resetAt: clock.now() + MINUTE });
    expect(other.take()).toBe(0);
    expect(new Pacer({ ...BASE, stateDir, now: clock.now }).take()).toBe(MINUTE);
  });

  test.each(["{", "[]", '{"minute":{"limit":"x"}}', "null"])(
    "torn or strange is read as empty: %s",
    (text) => {
      const clock = fakeClock();
      const stateDir = tempDir();
      const pacer = new Pacer({ ...BASE, stateDir, now: clock.now });
      pacer.observe({ ...observed, resetAt: clock.now() + MINUTE });
      const [name = ""] = readdirSync(join(stateDir, "pacing"));
      writeFileSync(join(stateDir, "pacing", name), text);
      expect(new Pacer({ ...BASE, stateDir, now: clock.now }).take()).toBe(0);
    },
  );

  test("a folder that cannot be made costs the sharing alone", () => {
    const clock = fakeClock();
    const stateDir = join(tempDir(), "file");
    writeFileSync(stateDir, "");
    const pacer = new Pacer({ ...BASE, stateDir, now: clock.now });
    pacer.observe({ ...observed, remaining: 0, resetAt: clock.now() + 9_000 });
    expect(pacer.take()).toBe(9_000);
  });

  test("a lock that a dead process left is taken away", () => {
    const clock = fakeClock();
    const stateDir = tempDir();
    const pacer = new Pacer({ ...BASE, stateDir, now: clock.now });
    pacer.observe({ ...observed, resetAt: clock.now() + MINUTE });
    const [name = ""] = readdirSync(join(stateDir, "pacing"));
    const lock = join(stateDir, "pacing", `${name}.lock`);
    mkdirSync(join(stateDir, "pacing"), { recursive: true });
    writeFileSync(lock, "");
    utimesSync(lock, new Date(0), new Date(0));
    pacer.observe({ ...observed, remaining: 9, resetAt: clock.now() + MINUTE });
    expect(readdirSync(join(stateDir, "pacing"))).toEqual([name]);
  });
});

describe("who else is charged", () => {
  test("is told between two looks, of who is gone only what was", () => {
    const clock = fakeClock();
    const stateDir = tempDir();
    const pacer = () => new Pacer({ ...BASE, stateDir, now: clock.now });
    const [one, other] = [pacer(), pacer()];
    const begun = clock.now();
    expect(one.pays(begun + MINUTE, begun)).toBe(false);
    expect(other.pays(begun, begun)).toBe(true);
    clock.advance(10);
    one.pays(clock.now(), begun);
    clock.advance(10);
    expect(other.pays(clock.now(), clock.now())).toBe(false);
    expect(other.pays(clock.now(), begun)).toBe(true);

    const [name = ""] = readdirSync(join(stateDir, "pacing"));
    const file = join(stateDir, "pacing", name);
    const payers = { "999999999/1": clock.now() + MINUTE };
    writeFileSync(file, JSON.stringify({ at: clock.now(), calls: [], payers }));
    expect(pacer().pays(clock.now(), begun)).toBe(false);
  });
});
