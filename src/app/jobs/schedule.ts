import { echo } from "../../shared/contract/text.ts";

/**
 * In words: why a text is neither five fields as in a
 * crontab nor `@daily` or the like; undefined where it is.
 */
export async function scheduleProblem(text: string): Promise<string | undefined> {
  const fields = text.trim().split(/\s+/).length;
  if (fields !== 5 && !text.trim().startsWith("@")) {
    return (
      `"${echo(text)}" has ${fields} of the five fields of a schedule: ` +
      "minute, hour, day of the month, month, day of the week"
    );
  }

  try {
    return (await nextTime(text, 0)) === undefined ? `"${echo(text)}" never comes` : undefined;
  } catch (error) {
    return (
      `"${echo(text)}" is no schedule: ` +
      `${(error as Error).message.replace("CronPattern: ", "")}`
    );
  }
}

/**
 * Cron's own rule of the two fields of days: either will do, but where
 * one of them begins with a star, be it one with a step, both must hold.
 */
async function times(schedule: string) {
  const { Cron } = await import("croner");
  const [, , day, , weekday] = schedule.trim().split(/\s+/);
  const domAndDow = [day, weekday].some((field) => field?.startsWith("*"));

  return new Cron(schedule, { paused: true, mode: "5-part", domAndDow });
}

/**
 * The first time after another, in the machine's own time
 * zone. Epoch milliseconds; undefined where there is none.
 */
export const nextTime = async (schedule: string, after: number): Promise<number | undefined> =>
  (await times(schedule)).nextRun(new Date(after))?.getTime();

/** The last time that has come. Epoch milliseconds. */
export const lastTime = async (schedule: string, now: number): Promise<number | undefined> =>
  (await times(schedule))
    .previousRuns(1, new Date(Math.floor(now / 1_000) * 1_000 + 1_000))[0]
    ?.getTime();
