import { describe, expect, test } from "vitest";
import { lastTime, nextTime, scheduleProblem } from "../../src/app/jobs/schedule.ts";

describe("schedules", () => {
  // Local times, because a schedule is in the zone of the machine.
  const at = (...fields: [number, number, number, number, number]): number =>
    new Date(...fields).getTime();
  test.each([
    ["0 6 * * 1", at(2026, 0, 5, 6, 0)],
    ["30 5 1 * *", at(2026, 1, 1, 5, 30)],
    ["*/15 8-18/2 * * mon-FRI", at(2026, 0, 1, 12, 15)],
    ["5,10 0 */2 jan,jul *", at(2026, 0, 3, 0, 5)],
    ["0 0 * * 7,0,sat", at(2026, 0, 3, 0, 0)],
    ["0 6 13 * 1", at(2026, 0, 5, 6, 0)],
    // Cron's rule: a day field that begins with a star holds beside the other.
    ["0 6 */2 * 1", at(2026, 0, 5, 6, 0)],
    ["0 6 */31 * 1", at(2026, 5, 1, 6, 0)],
    ["0 6 13 * */3", at(2026, 4, 13, 6, 0)],
    ["0 6 1-31/2 * 5", at(2026, 0, 2, 6, 0)],
    ["@weekly", at(2026, 0, 4, 0, 0)],
    ["  0   6 * * *  ", at(2026, 0, 2, 6, 0)],
  ])("%s", async (text, next) => {
    expect(await scheduleProblem(text)).toBe(undefined);
    expect(await nextTime(text, at(2026, 0, 1, 12, 0))).toBe(next);
  });

  test.each([
    ["0 6 * *", "has 4 of the five fields"],
    ["60 6 * * *", 'its minute is "60", and takes * or 0 to 59'],
    ["0 24 * * *", 'its hour is "24"'],
    ["0 6 0 * *", 'its day of the month is "0"'],
    ["0 6 * * Mondays", 'its day of the week is "Mondays", and takes * or 0 to 7, or sun to sat'],
    ["0 6 * * 5-1", 'its day of the week is "5-1"'],
    ["5/10 * * * *", 'its minute is "5/10"'],
    ["*/0 * * * *", 'its minute is "*/0"'],
    ["0 6 30 2 *", "never comes"],
    ["2026-01-31T06:00:00", "has 1 of the five fields"],
    ["@reboot", "the words are @hourly, @daily"],
    ["@weakly", '"@weakly" is no schedule'],
    ["", "has 1 of the five fields"],
  ])("%j is refused: %s", async (text, why) => {
    expect(await scheduleProblem(text)).toContain(why);
  });

  test("the last time is at most now, the next one after it", async () => {
    const now = at(2026, 0, 5, 0, 0);
    expect(await lastTime("@hourly", now)).toBe(now);
    expect(await lastTime("@hourly", now - 1)).toBe(now - 3_600_000);
    expect(await nextTime("@hourly", now)).toBe(now + 3_600_000);
  });
});
