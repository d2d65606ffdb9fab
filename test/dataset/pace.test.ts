import { expect, test } from "vitest";
import { Pace, QUICK_BEFORE_RETURN } from "../../src/dataset/embedded/pace.ts";

test("after a slow read others read, until they have been quick for a while", () => {
  let time = 0;
  let stepMs = 0;
  let disk = 7;
  let fromDisk = 0;
  const pace = new Pace({
    slowMs: 60_000,
    monotonic: () => (time += stepMs),
    diskReads: () => (disk += fromDisk),
  });
  const readHere = (ms: number): boolean => {
    stepMs = ms;
    pace.here(() => undefined);
    stepMs = 0;
    return pace.isAway;
  };
  const readElsewhere = (times: number): boolean => {
    for (let read = 0; read < times; read++) pace.away(0);
    return pace.isAway;
  };

  // Slow because the machine is busy: whatever came from a disk came before.
  expect(readHere(60_001)).toBe(false);
  fromDisk = 8;
  expect(readHere(59_999)).toBe(false);
  expect(readHere(60_001)).toBe(true);
  expect(readElsewhere(QUICK_BEFORE_RETURN - 1)).toBe(true);
  expect(readElsewhere(1)).toBe(false);

  // That was too soon: slow again, and this time for longer.
  expect(readHere(60_001)).toBe(true);
  expect(readElsewhere(2 * QUICK_BEFORE_RETURN - 1)).toBe(true);
  expect(readElsewhere(1)).toBe(false);

  // What is slow elsewhere too begins anew.
  expect(readHere(60_001)).toBe(true);
  readElsewhere(4 * QUICK_BEFORE_RETURN - 1);
  pace.away(60_001);
  expect(readElsewhere(QUICK_BEFORE_RETURN - 1)).toBe(true);
  expect(readElsewhere(1)).toBe(false);
});
