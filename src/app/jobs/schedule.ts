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
  } catch {
    return `"${echo(text)}" is no schedule: ${await fieldProblem(text.trim().split(/\s+/))}`;
  }
}

const FIELDS = [
  ["minute", "0 to 59"],
  ["hour", "0 to 23"],
  ["day of the month", "1 to 31"],
  ["month", "1 to 12, or jan to dec"],
  ["day of the week", "0 to 7, or sun to sat"],
] as const;

/** Which field is none, each tried alone: in our words, as a library's are its own. */
async function fieldProblem(fields: readonly string[]): Promise<string> {
  for (const [index, [name, values]] of FIELDS.entries()) {
    const field = fields[index];
    // A word with an @ is no field.
    if (field === undefined || fields.length < FIELDS.length) break;
    const alone = FIELDS.map((_, at) => (at === index ? field : "*")).join(" ");
    const isTaken = await times(alone).then(
      () => true,
      () => false,
    );
    if (isTaken) continue;

    return (
      `its ${name} is "${echo(field)}", and takes * or ${values}, ` +
      "a range (8-18), a list (5,10) or a step (*/15, 8-18/2)"
    );
  }

  return "the words are @hourly, @daily, @weekly, @monthly and @yearly";
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
