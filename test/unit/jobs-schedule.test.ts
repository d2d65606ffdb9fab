import { spawnSync } from "node:child_process";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { lastTime, nextTime, readSchedule, type Schedule } from "../../src/app/jobs/schedule.ts";
import { isLeftOut } from "../support/tools.ts";

async function read(text: string): Promise<Schedule> {
  const schedule = await readSchedule(text);
  if (typeof schedule === "string") throw new Error(schedule);
  return schedule;
}

describe("schedules", () => {
  test.each([
    ["0 6 * * 1", "0 6 * * 1", "Mon *-*-* 06:00:00"],
    ["30 5 1 * *", "30 5 1 * *", "*-*-01 05:30:00"],
    ["*/15 8-18/2 * * mon-FRI", "*/15 8-18/2 * * 1-5", "Mon,Tue,Wed,Thu,Fri *-*-* 08..18/2:00..59/15:00"],
    ["5,10 0 */2 jan,jul *", "5,10 0 */2 1,7 *", "*-01,07-01..31/2 00:05,10:00"],
    ["0 0 * * 7,0,sat", "0 0 * * 7,0,6", "Sat,Sun *-*-* 00:00:00"],
    ["@weekly", "0 0 * * 0", "Sun *-*-* 00:00:00"],
    ["  0   6 * * *  ", "0 6 * * *", "*-*-* 06:00:00"],
  ])("%s", async (text, cron, calendar) => {
    expect(await readSchedule(text)).toEqual({ text, cron, calendar });
  });

  test.each([
    ["0 6 * *", "has 4 of the five fields"],
    ["60 6 * * *", '"60" is no minute'],
    ["0 24 * * *", '"24" is no hour'],
    ["0 6 0 * *", '"0" is no day of the month'],
    ["0 6 * * Mondays", '"Mondays" is no day of the week'],
    ["0 6 * * 5-1", '"5-1" is no day of the week'],
    ["5/10 * * * *", '"5/10" is no minute'],
    ["*/0 * * * *", '"*/0" is no minute'],
    ["0 */24 * * *", '"*/24" is no hour'],
    ["0 6 L * *", '"L" is no day of the month'],
    ["0 6 1 * 1", "not both"],
    ["0 6 30 2 *", "never comes"],
    ["@reboot", "@hourly, @daily"],
    ["@weakly", "did you mean @weekly?"],
    ["", "has 1 of the five fields"],
  ])("%j is refused: %s", async (text, why) => {
    expect(await readSchedule(text)).toContain(why);
  });

  const day = Date.UTC(2026, 0, 5);
  test("the last time is at most now, the next one after it", async () => {
    const hourly = await read("@hourly");
    const now = new Date(day).setMinutes(0, 0, 0);
    expect(await lastTime(hourly, now)).toBe(now);
    expect(await lastTime(hourly, now - 1)).toBe(now - 3_600_000);
    expect(await nextTime(hourly, now)).toBe(now + 3_600_000);
  });

  const analyze = (calendar: string, from: number) =>
    spawnSync("systemd-analyze", ["calendar", `--base-time=@${from / 1000}`, calendar], {
      encoding: "utf8",
      env: { ...process.env, TZ: "UTC" },
    });
  test.skipIf(isLeftOut(analyze("daily", day).status === 0) || new Date(day).getTimezoneOffset() !== 0)(
    "systemd comes at the same times as cron",
    async () => {
      const field = (least: number, most: number) =>
        fc.oneof(
          fc.constant("*"),
          fc.integer({ min: 2, max: Math.min(9, most) }).map((step) => `*/${step}`),
          fc.integer({ min: least, max: most }).map(String),
          fc
            .tuple(
              fc.integer({ min: least, max: most }),
              fc.integer({ min: least, max: most }),
              fc.integer({ min: 1, max: 5 }),
            )
            .map(([a, b, step]) => {
              const range = `${Math.min(a, b)}-${Math.max(a, b)}`;
              return step === 1 ? range : `${range}/${step}`;
            }),
        );
      const weekly = fc.tuple(field(0, 59), field(0, 23), fc.constant("*"), field(1, 12), field(0, 7));
      const monthly = fc.tuple(field(0, 59), field(0, 23), field(1, 28), field(1, 12), fc.constant("*"));
      // Half of them over the end of a year, where systemd is wrong about steps without an end.
      const when = fc.oneof(fc.integer({ min: 0, max: 400 * 24 }), fc.integer({ min: 355 * 24, max: 361 * 24 }));
      await fc.assert(
        fc.asyncProperty(fc.oneof(weekly, monthly), when, async (fields, hours) => {
          const schedule = await read(fields.join(" "));
          const from = day + hours * 3_600_000 - 1_000;
          const said = /Next elapse: \w+ (\S+) (\S+) UTC/.exec(analyze(schedule.calendar, from).stdout);
          const next = await nextTime(schedule, from);
          expect({ fields, next: said === null ? null : Date.parse(`${said[1]}T${said[2]}Z`) }).toEqual({
            fields,
            next,
          });
        }),
        { numRuns: 60 },
      );
    },
    60_000,
  );
});
