import { PAGINGS } from "../../engine/client/dialect.ts";
import { CSV_STYLES, FORMATS } from "../../engine/output/formats.ts";
import { type Credits, creditsMeant, typedCredits } from "../../shared/contract/money.ts";
import {
  echo,
  isObject,
  type Members,
  WAIT,
  waitSeconds,
  whole,
} from "../../shared/contract/text.ts";
import * as s from "../../shared/schema/build.ts";
import { filtersSchema } from "../../shared/schema/filters.ts";
import { PING_FORMS, type Ping } from "./ping.ts";

/** What a key of a job takes: how it is said, how it is read, how an editor checks it. */
interface Kind<T> {
  readonly is: string;
  readonly schema: s.Schema;
  /** Undefined: that is none. */
  readonly read: (value: unknown) => T | undefined;
  /** Of an amount that may be grouped: how to write it. */
  readonly meant?: typeof creditsMeant;
}

const TEXT = s.more(s.text, { pattern: "\\S" });
const SCALAR = s.raw({ type: ["string", "number"] });

const asText = (value: unknown): string | undefined =>
  (typeof value === "string" && value.trim() !== "") || typeof value === "number"
    ? String(value)
    : undefined;
const asTexts = (value: unknown): readonly string[] | undefined => {
  const texts = [value].flat().map(asText);
  return texts.length > 0 && texts.every((one) => one !== undefined) ? texts : undefined;
};

const word: Kind<string> = { is: "a text", schema: TEXT, read: asText };
const words: Kind<readonly string[]> = {
  is: "a text or a list of them",
  schema: s.some(TEXT, s.list(TEXT)),
  read: asTexts,
};
const flag: Kind<boolean> = {
  is: "true or false",
  schema: s.raw({ type: "boolean" }),
  read: (value) => (typeof value === "boolean" ? value : undefined),
};
const number = (least: number, most: number): Kind<number> => ({
  is: `a whole number from ${least} to ${most}`,
  schema: SCALAR,
  read: (value) => whole(asText(value), least, most),
});
const wait: Kind<number> = {
  is: WAIT,
  schema: SCALAR,
  read: (value) => waitSeconds(asText(value) ?? ""),
};
const credits: Kind<Credits> = {
  is: "an amount of credits with at most six decimals",
  schema: SCALAR,
  read: typedCredits,
  meant: creditsMeant,
};
const monthly: Kind<Credits> = {
  is: "credits a month, such as 2000/month",
  schema: s.more(TEXT, { examples: ["2000/month"] }),
  read: (value) => {
    const [amount, period = ""] = asText(value)?.split(/\/(.*)/s, 2) ?? [];
    return period.trim() === "month" ? credits.read(amount) || undefined : undefined;
  },
  meant: (text) => creditsMeant(text.replace(/\/.*/s, "")),
};
const share: Kind<number> = {
  is: "a percentage from 0% to 100%",
  schema: SCALAR,
  read: (value) => {
    const percent = whole(asText(value)?.replace(/%$/, ""), 0, 100);
    return percent === undefined ? undefined : percent / 100;
  },
};
const choice = <T extends string>(values: readonly T[]): Kind<T> => ({
  is: values.join(" or "),
  schema: s.raw({ enum: values }),
  read: (value) => values.find((one) => one === value),
});
/** An object, or names of files: checked where the file is read, with the place of each. */
const filters: Kind<Members | readonly string[]> = {
  is: "an object of filters, or the name of a file of them",
  schema: s.some(s.raw(filtersSchema()), TEXT, s.list(TEXT)),
  read: (value) => (isObject(value) ? value : asTexts(value)),
};
/** The form is declared, never guessed from an address. */
const ping: Kind<Ping> = {
  is: `{"form": ${PING_FORMS.map((form) => `"${form}"`).join(" or ")}, "url": "https://..."}`,
  schema: s.object({
    form: s.raw({ enum: PING_FORMS }),
    url: s.more(TEXT, { pattern: "^https?://" }),
  }),
  read: (value) => {
    const { form, url, ...others } = Object(value) as Members;
    const named = PING_FORMS.find((one) => one === form);
    if (named === undefined || typeof url !== "string" || Object.keys(others).length > 0)
      return undefined;

    const at = URL.canParse(url) ? new URL(url) : undefined;
    const isWeb = at?.protocol === "https:" || at?.protocol === "http:";
    return isWeb && at.username === "" && at.password === "" ? { form: named, url: at } : undefined;
  },
};
const format: Kind<string> = {
  is: "a format",
  schema: s.some(s.raw({ enum: FORMATS }), TEXT),
  read: asText,
};

/** What a job does; the first where it says nothing and writes a file. */
const JOB_COMMANDS = ["refresh", "search"] as const;
export type JobCommand = (typeof JOB_COMMANDS)[number];

interface Key<T> {
  readonly takes: Kind<T>;
  readonly says: string;
  /** The command that has it; undefined: both. */
  readonly of?: JobCommand;
}

const key = <T>(takes: Kind<T>, says: string, of?: JobCommand): Key<T> =>
  of === undefined ? { takes, says } : { takes, says, of };

/** Every key of a job, once: reading, typing, the schema and the nearest word come from here. */
export const KEYS = {
  command: key(
    choice(JOB_COMMANDS),
    "refresh keeps a list (the default of a file), search buys a segment each time",
  ),
  schedule: key(
    word,
    "five fields as in a crontab (minute hour day month weekday) in the machine's zone, or @daily",
  ),
  filters: key(filters, "who is wanted"),
  segment: key(words, "saved segments"),
  except: key(words, "leave out who is in these saved segments or filter files", "search"),
  list: key(word, "the file or run whose list is kept, where it is not the output", "refresh"),
  output: key(
    word,
    "the file, or the table of a search: duckdb:FILE#TABLE, postgres://HOST/DB#TABLE",
  ),
  max_credits: key(credits, "spend at most this each time: the consent to it"),
  warn_at: key(share, "say once that so much of the budget or of max_credits is spent (80%)"),
  format: key(format, "default: by the file's ending"),
  fields: key(word, "only these fields, in this order: a,b,c"),
  csv: key(choice(CSV_STYLES), "excel: byte order mark and CRLF; raw: no guard against formulas"),
  overwrite: key(flag, "replace a file also where this job did not write it"),
  min_rows: key(
    number(0, 1e12),
    "exit 5 and leave the file as it is where fewer rows come; 0: none may replace some",
  ),
  max_shrink: key(share, "exit 5 and leave the file as it is where it would lose more"),
  limit: key(number(1, 1e12), "buy at most so many profiles", "search"),
  per_page: key(number(1, 100_000), "rows a request"),
  concurrency: key(number(1, 16), "pages in flight", "search"),
  require_complete: key(flag, "exit 5 where a limit or cap left something out", "search"),
  strict: key(flag, "exit 5 and buy nothing where a value of a filter matches nobody", "search"),
  on_new_dataset: key(
    choice(["fresh", "fail"] as const),
    "where an unfinished run's dataset is gone: begin anew, or end with 10",
    "search",
  ),
  receipt: key(word, "write the receipt (counts, credits, SHA-256) as JSON", "search"),
  sample: key(
    number(1, 1_000_000),
    "buy so many people by chance instead of the first ones",
    "search",
  ),
  seed: key(number(0, Number.MAX_SAFE_INTEGER), "draw a sample again", "search"),
  new_only: key(flag, "buy only whom you do not own", "search"),
  new_anywhere: key(flag, "the same, and nobody whom you own from another service", "search"),
  with_owned: key(flag, "the same, and write those you own beside them", "search"),
  all: key(flag, "buy without any filter: the whole dataset, up to limit or max_credits", "search"),
  verify_fields: key(
    word,
    "find who no longer has these values, by free counts: title,company",
    "refresh",
  ),
  buy_changed: key(flag, "buy those again whose verified fields changed", "refresh"),
  max_calls: key(number(1, 1e9), "make at most so many free calls"),
  wait: key(flag, "wait for another command at the same file instead of ending with exit 9"),
  log: key(word, "a file that gets one JSON line a run"),
  notify: key(word, "shell command for a failure or a changed file"),
  notify_failure: key(word, "shell command for a failure alone"),
  ping: key(ping, "tell a monitor when it starts, succeeds and fails: its form and its address"),
  hand_to: key(
    word,
    "shell command that gets who was added, removed and changed, a JSON line each",
    "refresh",
  ),
  connection: key(word, 'which connection to use; "sample" is built in'),
  base_url: key(word, "overrides the connection's address"),
  paging: key(choice(PAGINGS), "how the service pages, where it is not known"),
  max_wait: key(wait, "seconds that one call may wait for a rate limit, or an answer"),
} as const;

export type KeyName = keyof typeof KEYS;

export const FILE_KEYS = {
  $schema: key(word, "the schema that an editor checks by"),
  budget: key(monthly, "credits of a calendar month (UTC), over all jobs at one service"),
  warn_at: KEYS.warn_at,
  sync: key(word, "a folder that is synced with before and after what is due"),
  log: KEYS.log,
  notify: KEYS.notify,
  notify_failure: KEYS.notify_failure,
} as const;

export type Keys = Readonly<Record<string, Key<unknown>>>;

export type KeyValues<Of extends Keys> = {
  readonly [Name in keyof Of]?: Of[Name] extends Key<infer T> ? T : never;
};
export type JobValues = KeyValues<typeof KEYS>;

/** @returns what is read, or in words why it is none */
export function readValue(
  keys: Keys,
  name: string,
  value: unknown,
): { readonly value: unknown } | string {
  const kind = keys[name]?.takes;
  const got = kind?.read(value);
  if (got !== undefined) return { value: got };
  // An address may hold a secret, and errors go to logs.
  const isShown = typeof value !== "object" && !String(value).includes("//");
  const amount = kind?.meant?.(String(value)) ?? "";
  const advice = amount === "" ? "" : `: write the amount as ${amount}`;
  return `"${name}" is ${kind?.is ?? "unknown"}${isShown ? `, not "${echo(value)}"${advice}` : ""}`;
}

/** A job's name is a folder and a word of a command line. */
export const JOB_NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;

/** A JSON Schema for files of jobs, from the keys that a job may have. */
export function jobsSchema(): s.JsonSchema {
  const properties = (keys: Keys) =>
    Object.fromEntries(
      Object.entries(keys).map(([name, { says, takes }]) => [
        name,
        { description: says, ...takes.schema },
      ]),
    );

  const job = { ...s.object(properties(KEYS)), required: ["max_credits"] };
  return {
    $schema: s.DIALECT,
    title: "headcount jobs",
    description: "Exports that run on a schedule.",
    ...s.object({
      ...properties(FILE_KEYS),
      jobs: s.raw({
        type: "object",
        propertyNames: { pattern: JOB_NAME.source },
        additionalProperties: job,
      }),
    }),
    required: ["jobs"],
  };
}
