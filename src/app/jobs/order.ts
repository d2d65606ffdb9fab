import { resolve } from "node:path";
import { searchTarget } from "../../engine/purchase/joined.ts";
import { raiseWords } from "../../engine/runs/plan.ts";
import type { Context } from "../../shared/context.ts";
import { isUnfiltered } from "../../shared/contract/filters.ts";
import { type CliError, usageError } from "../../shared/errors.ts";
import { checkFields } from "../../shared/rows/columns.ts";
import { narrowed, outputGuard, outputView } from "../buy/options.ts";
import type { Order } from "../buy/order.ts";
import { MAX_CALLS } from "../own/bounds.ts";
import type { RefreshOrder } from "../own/refresh/work.ts";
import { readVerified } from "../own/refresh/work.ts";
import { type SegmentSet, segmentSet } from "../segments/segment-set.ts";
import type { Job } from "./file.ts";
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

const OPTION = /headcount .*|(?<![\w./])--([a-z][a-z-]+)(?: ([\d.]+%?|N)\b)?/g;

/**
 * Options as keys, without what is said of one that is
 * none (`others`: with it); commands stay as they are.
 */
export function inKeys(text: string, command: JobCommand, others = false): string {
  const clauses = text.split("; ").map((clause) =>
    clause.replace(OPTION, (whole, option?: string, value?: string) => {
      if (option === undefined) return whole;
      const name = option.replaceAll("-", "_");
      const { of = command } = (KEYS as Keys)[name] ?? { of: null };
      if (of !== command) return others ? whole : "\0";
      return `${called(name)}${value === undefined ? "" : `: ${value}`}`;
    }),
  );
  return clauses.filter((clause) => clause !== "" && !clause.includes("\0")).join("; ");
}

export const raisedKeys = ({ raise = {} }: CliError, command: JobCommand): string =>
  inKeys(raiseWords(raise).join(" ").replaceAll(" --", " and --"), command);

/** How the rows are written. @throws CliError exit 2 for what does not go together */
function rowsOf({ output, values }: Job) {
  const view = outputView(values, output, false, called);
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
      { newOnly: values.new_only, withOwned: values.with_owned },
      called,
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
      perPage: values.per_page,
      wait: values.wait === true,
      job: job.name,
    },
  };
}
