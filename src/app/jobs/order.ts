import { resolve } from "node:path";
import { existingConnection, readConfig, SAMPLE } from "../../engine/connections/config.ts";
import { configDir } from "../../engine/connections/paths.ts";
import { FROM_ENVIRONMENT } from "../../engine/connections/resolve.ts";
import { placeOf } from "../../engine/output/paths.ts";
import { searchTarget } from "../../engine/purchase/joined.ts";
import { raiseOptions } from "../../engine/runs/plan.ts";
import type { Context } from "../../shared/context.ts";
import { isUnfiltered } from "../../shared/contract/filters.ts";
import { ARGUMENTS } from "../../shared/contract/hints.ts";
import { credits, formatCredits } from "../../shared/contract/money.ts";
import {
  CliError,
  command,
  type DoorWords,
  type Option,
  option,
  say,
  tells,
  usageError,
} from "../../shared/errors.ts";
import { checkFields } from "../../shared/rows/columns.ts";
import { narrowed, outputGuard, outputView } from "../buy/options.ts";
import type { Order } from "../buy/order.ts";
import { MAX_CALLS } from "../own/bounds.ts";
import type { RefreshOrder } from "../own/refresh/work.ts";
import { readVerified } from "../own/refresh/work.ts";
import { type SegmentSet, segmentSet } from "../segments/segment-set.ts";
import type { Job, JobsFile } from "./file.ts";
import { type JobCommand, KEYS, type Keys } from "./keys.ts";

/**
 * The segments that a job names: files and saved ones are read when it runs.
 * @throws CliError exit 2
 */
async function segmentsOf(
  { filters, segment, except }: Job["values"],
  context: Context,
): Promise<SegmentSet> {
  const isInline = !Array.isArray(filters);
  const files = isInline ? [] : (filters as readonly string[]);
  return segmentSet(context, { filters: files, segment, except }, isInline ? { ...filters } : {});
}

const called = (name: string): string => `"${name}"`;

const jsonOf = ({ value }: Option): string =>
  typeof value === "string" && value !== "N" ? JSON.stringify(value) : `${value}`;

const ANOTHER = '"overwrite": true in the job lets it be replaced; another "output" keeps both';

/** What a filter is called in a file of jobs. */
export const FILTER_WORDS = ARGUMENTS;

/** How a job of this command is spoken to: options are keys, and it has no other. */
export const inKeys = (kind: JobCommand): DoorWords => ({
  option: (option) => {
    const { of = kind } = (KEYS as Keys)[option.name] ?? { of: null };
    if (of !== kind) return undefined;
    return option.value === undefined
      ? called(option.name)
      : `${called(option.name)}: ${jsonOf(option)}`;
  },
  command: (command) => command,
  hints: { file_exists: ANOTHER },
});

/** A failure of a job in its words, with what goes on. */
export function heldUp(thrown: CliError, { command: kind, name }: Job, file: JobsFile): CliError {
  const speech = inKeys(kind);
  const failure = thrown.inWordsOf(speech);
  const next = command("jobs run", { arguments: [name], options: [option("file", file.path)] });

  // What holds it up is what the job itself says: the same job again would buy nothing.
  const { raise = {} } = thrown;
  const keys = raiseOptions(raise).flatMap((part) => speech.option(part) ?? []);
  if (keys.length > 0) {
    const { budget = raise.maxCredits } = file;
    const isOver = raise.maxCredits !== undefined && raise.maxCredits > (budget ?? 0n);
    const least = isOver ? formatCredits(credits(raise.maxCredits)) : undefined;
    const month =
      least === undefined ? "" : ` and a "budget" of at least ${least} a month in the file`;
    return failure.with({
      next: undefined,
      hint: say`with ${keys.join(" and ")} in the job${month}, ${next} goes on where it
      stopped`,
    });
  }

  if (!failure.resumable) return failure;
  const isTold = thrown.next !== undefined && tells(thrown.hint, thrown.next);
  return failure.with({
    next,
    hint: isTold ? say`${next} goes on where it stopped, within its max_credits` : failure.hint,
    resumable: true,
  });
}

/** How the rows are written. @throws CliError exit 2 for what does not go together */
function rowsOf({ output, values }: Job) {
  const view = outputView(values, output, false);
  if (view.fields !== undefined) checkFields(view.fields, "person");
  return view;
}

/** What a job that searches buys. @throws CliError exit 2 */
export async function searchOf(job: Job, context: Context): Promise<Order> {
  const { values } = job;
  const { segments, except } = await segmentsOf(values, context);
  const { sample, seed = null, limit, per_page: perPage, receipt } = values;
  if (
    segments.some(({ canonical }) => isUnfiltered(canonical)) &&
    values.all !== true &&
    sample === undefined
  )
    throw usageError(
      "no filter is given, so this would buy the whole dataset",
      '"all": true agrees to that',
    );

  if (sample !== undefined && limit !== undefined)
    throw usageError(
      '"limit" is the first so many, "sample" so many by chance',
      "leave one of them out",
    );

  const segment = searchTarget(segments, except);
  const drawn =
    sample === undefined ? {} : { sample: { rows: sample, seed, together: perPage ?? null } };

  return {
    ...rowsOf(job),
    target: narrowed(
      { ...segment, ...drawn },
      {
        newAnywhere: values.new_anywhere,
        newOnly: values.new_only,
        withOwned: values.with_owned,
      },
    ),
    ...outputGuard({ ...values, minRows: values.min_rows, maxShrink: values.max_shrink }),
    limit,
    perPage,
    concurrency: values.concurrency ?? 4,
    maxCredits: values.max_credits,
    requireComplete: values.require_complete === true,
    onNewDataset: values.on_new_dataset ?? "fresh",
    wait: values.wait === true,
    strict: values.strict === true,
    receipt: receipt === undefined ? undefined : resolve(context.cwd, receipt),
    maxCalls: values.max_calls,
    job: job.name,
  };
}

/** What a job that refreshes keeps up to date. @throws CliError exit 2 */
export async function refreshOf(job: Job, context: Context): Promise<RefreshOrder> {
  const { values } = job;
  const { segments } = await segmentsOf(values, context);
  const [segment, ...others] = segments;
  if (others.length > 0) {
    throw usageError(
      "a refresh keeps a list of one segment, and several are named",
      '"command": "search" buys several; or make a job of each',
    );
  }

  const verify = values.verify_fields === undefined ? [] : readVerified(values.verify_fields);
  if (values.buy_changed === true && verify.length === 0)
    throw usageError(
      '"buy_changed" goes with "verify_fields"',
      'for example "verify_fields": "title,company"',
    );

  const view = rowsOf(job);
  if (view.format === "table") {
    throw usageError(
      "a list is kept as rows (csv, ndjson, json, xlsx, parquet and so on), not as a table",
      '"command": "search" writes it anew each time',
    );
  }

  return {
    word: values.list,
    segment: segment === undefined || isUnfiltered(segment.canonical) ? undefined : segment,
    output: view.output,
    view,
    verify,
    terms: {
      ...outputGuard({ ...values, minRows: values.min_rows, maxShrink: values.max_shrink }),
      csv: values.csv,
      maxCredits: values.max_credits,
      maxCalls: values.max_calls ?? MAX_CALLS,
      buyChanged: values.buy_changed === true,
      replaces: values.overwrite,
      perPage: values.per_page,
      wait: values.wait === true,
      job: job.name,
    },
  };
}

/**
 * What a run of a job would end with before it asks anything: its connection, a file or a segment
 * is not there, what it says does not go together, or its output cannot be written.
 */
export async function hindrance(
  job: Job,
  { folder }: JobsFile,
  context: Context,
): Promise<CliError | undefined> {
  const { command: kind, output, problem, values } = job;
  const { connection } = values;
  if (problem !== undefined) return problem;

  try {
    if (connection !== undefined && connection !== SAMPLE && connection !== FROM_ENVIRONMENT)
      existingConnection(readConfig(configDir(context)), connection);
    await placeOf(output);
    const inFolder = Object.create(context, { cwd: { value: folder } }) as Context;
    await (kind === "search" ? searchOf : refreshOf)(job, inFolder);
    return undefined;
  } catch (error) {
    if (error instanceof CliError) return error;
    throw error;
  }
}
