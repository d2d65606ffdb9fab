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

async function times(schedule: string) {
  const { Cron } = await import("croner");
  return new Cron(schedule, { paused: true, mode: "5-part" });
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
