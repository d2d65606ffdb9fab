import { nearest } from "../../shared/contract/suggest.ts";
import { echo } from "../../shared/contract/text.ts";

/** When a job is due: five fields as in a crontab, in the machine's own time zone. */
export interface Schedule {
  readonly text: string;
  /** Five fields of numbers, as every cron takes them. */
  readonly cron: string;
  /** The same for systemd's `OnCalendar=`. */
  readonly calendar: string;
}

interface Field {
  readonly name: string;
  readonly least: number;
  readonly most: number;
  readonly names?: readonly string[];
}

const DAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"] as const;
const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"] as const;
const FIELDS: readonly Field[] = [
  { name: "minute", least: 0, most: 59 },
  { name: "hour", least: 0, most: 23 },
  { name: "day of the month", least: 1, most: 31 },
  { name: "month", least: 1, most: 12, names: MONTHS },
  { name: "day of the week", least: 0, most: 7, names: DAYS.map((day) => day.toLowerCase()) },
];
const WORDS: Readonly<Record<string, string>> = {
  "@hourly": "0 * * * *",
  "@daily": "0 0 * * *",
  "@weekly": "0 0 * * 0",
  "@monthly": "0 0 1 * *",
  "@yearly": "0 0 1 1 *",
};

/** One part of a field between commas: from, to, step; the field where `whole`. */
interface Part {
  readonly whole: boolean;
  readonly from: number;
  readonly to: number;
  readonly step: number;
}

/** Reads a schedule. @returns what is wrong with it, in words, where it is none */
export async function readSchedule(text: string): Promise<Schedule | string> {
  const words = WORDS[text.trim().toLowerCase()] ?? text.trim();
  if (words.startsWith("@")) {
    const near = nearest(words, Object.keys(WORDS));
    return `"${echo(text)}" is no schedule${near === undefined ? "" : ` (did you mean ${near}?)`}; there are ${Object.keys(WORDS).join(", ")}`;
  }
  const written = words.split(/\s+/);
  if (written.length !== FIELDS.length) {
    return `"${echo(text)}" has ${written.length} of the five fields of a schedule: minute, hour, day of the month, month, day of the week`;
  }
  const fields: (readonly Part[])[] = [];
  for (const [index, field] of FIELDS.entries()) {
    const parts = readField(written[index] ?? "", field);
    if (typeof parts === "string") return parts;
    fields.push(parts);
  }
  const [minutes = [], hours = [], days = [], months = [], weekdays = []] = fields;
  if (!everything(days) && !everything(weekdays)) {
    return "a schedule names days of the month or days of the week, not both: cron would take either, systemd both; make two jobs of it";
  }
  const cron = fields.map(cronField).join(" ");
  const date = `*-${calendarField(months)}-${calendarField(days)}`;
  const time = `${calendarField(hours)}:${calendarField(minutes)}:00`;
  const named = everything(weekdays) ? [] : [weekdayNames(weekdays)];
  const schedule = { text, cron, calendar: [...named, date, time].join(" ") };
  return (await nextTime(schedule, 0)) === undefined ? `"${echo(text)}" never comes` : schedule;
}

const everything = (parts: readonly Part[]): boolean => parts.some(({ whole, step }) => whole && step === 1);

function readField(text: string, { name, least, most, names = [] }: Field): readonly Part[] | string {
  const number = (word: string | undefined): number => {
    const index = names.indexOf((word ?? "").toLowerCase());
    return index < 0 ? Number(word) : index + least;
  };
  const parts: Part[] = [];
  for (const part of text.split(",")) {
    const [, star, first, last, step] = /^(?:(\*)|(\w+)(?:-(\w+))?)(?:\/(\d+))?$/.exec(part) ?? [];
    const from = star === undefined ? number(first) : least;
    const to = star === undefined ? number(last ?? first) : most;
    const each = step === undefined ? 1 : Number(step);
    const fits = [from, to].every((value) => Number.isInteger(value) && value >= least && value <= most);
    // A step of a single number means one thing to one cron and nothing to another.
    if (
      !fits ||
      from > to ||
      each < 1 ||
      each > most ||
      (step !== undefined && star === undefined && last === undefined)
    ) {
      const called = names.length > 0 ? `, or ${names.slice(0, 2).join(", ")}, ...` : "";
      return `"${echo(part)}" is no ${name}: it is from ${least} to ${most}${called}, a range (${least}-${most}), or a step (*/2)`;
    }
    // From a single number there is nothing to step to: systemd would go on to the field's end.
    parts.push({ whole: star !== undefined, from, to, step: from === to ? 1 : each });
  }
  return parts;
}

const cronField = (parts: readonly Part[]): string =>
  parts
    .map(({ whole, from, to, step }) => {
      const range = whole ? "*" : from === to ? String(from) : `${from}-${to}`;
      return step === 1 ? range : `${range}/${step}`;
    })
    .join(",");

/** Steps have an end: systemd 252 leaves the first time of a year out of "00/9". */
function calendarField(parts: readonly Part[]): string {
  if (everything(parts)) return "*";
  const two = (value: number): string => String(value).padStart(2, "0");
  return parts
    .map(({ from, to, step }) => {
      const range = from === to ? two(from) : `${two(from)}..${two(to)}`;
      return step === 1 ? range : `${range}/${step}`;
    })
    .join(",");
}

/** systemd knows no steps of weekdays, and Sunday by its name alone. */
function weekdayNames(parts: readonly Part[]): string {
  const numbers = new Set<number>();
  for (const { from, to, step } of parts) for (let day = from; day <= to; day += step) numbers.add(day % 7);
  return [1, 2, 3, 4, 5, 6, 0]
    .filter((day) => numbers.has(day))
    .map((day) => DAYS[day])
    .join(",");
}

async function times({ cron }: Pick<Schedule, "cron">) {
  const { Cron } = await import("croner");
  return new Cron(cron, { paused: true, mode: "5-part" });
}

/** The first time after another. Epoch milliseconds; undefined where there is none. */
export const nextTime = async (schedule: Pick<Schedule, "cron">, after: number): Promise<number | undefined> =>
  (await times(schedule)).nextRun(new Date(after))?.getTime();

/** The last time that has come. Epoch milliseconds. */
export const lastTime = async (schedule: Pick<Schedule, "cron">, now: number): Promise<number | undefined> =>
  (await times(schedule)).previousRuns(1, new Date(Math.floor(now / 1_000) * 1_000 + 1_000))[0]?.getTime();
