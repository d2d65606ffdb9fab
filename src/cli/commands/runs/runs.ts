import { isAbsolute, relative } from "node:path";
import { openRuns } from "../../../app/keep/store.ts";
import { engineOf } from "../../../engine/output/tables/target.ts";
import { describeTarget, fileOf, spokenTarget } from "../../../engine/runs/plan.ts";
import { isResumable, onwardOf, type RunSummary } from "../../../engine/runs/reader.ts";
import type { Context } from "../../../shared/context.ts";
import {
  creditsOrNull,
  creditsToNumber,
  formatCreditsGrouped,
  parseCredits,
  ZERO,
} from "../../../shared/contract/money.ts";
import { counted, grouped } from "../../../shared/contract/text.ts";
import { ago, timeText } from "../../../shared/numbers.ts";
import { type Command, type GlobalOptions, sinceMs } from "../../options.ts";
import type { Documents } from "../../schemas/all.ts";
import { type ColumnOf, iso, printList, SCREENFUL } from "../../terminal/list.ts";
import { atDesk, type Desk, type Printer } from "../../terminal/printer.ts";
import { register as registerExport } from "./export.ts";
import { registerPrune, registerRemove } from "./remove.ts";

export function register(program: Command, context: Context): void {
  const runs = program
    .command("runs")
    .description(
      "Every paid export is a run that keeps what was bought: continue it, " +
        "or write it again in another form at 0 credits.\nRUN is an id of " +
        "`runs list`, its beginning or its end, or `last`.",
    )
    .examples(`
  $ headcount runs                                   every run, the newest first
  $ headcount runs show last
  $ headcount runs export last --fields name,location -o people.parquet
  $ headcount runs prune 90d --dry-run`);

  registerList(runs, context);
  registerShow(runs, context);
  registerRemove(runs, context);
  registerPrune(runs, context);
  registerExport(runs, context);
}

type ListOptions = GlobalOptions & { readonly limit?: number; readonly since: string };

export function registerList(runs: Command, context: Context): void {
  runs
    .command("list", { isDefault: true })
    .description(
      "List runs, the newest first: all of them in a pipe (CSV), the last thirty on a terminal.",
    )
    .number("--limit <n>", "so many at most", [1, 1e9])
    .option(
      "--since <when>",
      "those at work since then: 2m (minutes), 12h, 30d ago, a date as 2026-01-31, or all",
      "all",
    )
    .examples(`
  $ headcount runs list
  $ headcount -c sample runs list --since 7d
  $ headcount runs list --json | jq -r '.[] | select(.rows > 1000) | .id'

-c lists the runs of one connection.`)
    .does(
      `reads runs
      exits 5`,
      atDesk(context, list),
    );
}

async function list({ options, printer, context }: Desk<ListOptions>) {
  const since = sinceMs(options.since, context.now());
  const all = await openRuns(context).list();
  const wanted = all.filter(
    ({ plan, lastAt }) =>
      lastAt >= since &&
      (options.connection === undefined || plan.connection === options.connection),
  );
  const people = printer.terminal && !printer.json;
  const shown = wanted.slice(0, options.limit ?? (people ? SCREENFUL : undefined));
  if (printer.json) return printer.document<"runs list">(shown.map(runDocument));

  const none =
    all.length === 0
      ? "No runs yet: headcount search makes the first one."
      : `None of ${counted(all.length, "run")} fits.`;
  await printList(columns(all, printer, context), shown, printer, none);

  if (people && options.limit === undefined && shown.length < wanted.length) {
    printer.note(
      `${grouped(wanted.length - shown.length)} more: --limit ${wanted.length} lists them`,
    );
  }
}

export function runDocument(run: RunSummary) {
  const { plan } = run;
  return {
    id: run.id,
    status: run.status,
    command: plan.command,
    connection: plan.connection,
    base_url: plan.base_url,
    account_id: plan.account_id,
    key_mode: plan.key_mode,
    target: plan.target.kind === "search" ? plan.target.filters : plan.target.companies,
    sample: sampleOf(plan),
    matches: plan.matches,
    expected: run.expected,
    rows: run.rows,
    misses: run.misses,
    settled: creditsToNumber(run.settled),
    uncertain: creditsToNumber(run.uncertain),
    foreign: creditsToNumber(run.foreign),
    pending: run.pending,
    output: fileOf(plan),
    format: plan.view.format,
    created_at: plan.created_at,
    last_at: new Date(run.lastAt).toISOString(),
    problem: run.problem ?? null,
  };
}

function sampleOf({ target, draw }: RunSummary["plan"]) {
  if (target.kind !== "search" || target.sample === undefined) return null;
  const { rows, seed } = target.sample;
  return { rows, seed: draw?.seed ?? seed };
}

/** Where there is little room, the rows tell of credits and status what is not plain. */
function columns(
  all: readonly RunSummary[],
  printer: Printer,
  context: Context,
): readonly ColumnOf<RunSummary>[] {
  const short = shortIds(all.map(({ id }) => id));
  const isWide = printer.width >= 80;

  return [
    { name: "id", title: "run", show: ({ id }) => short(id) },
    {
      name: "last_at",
      title: "when",
      value: ({ lastAt }) => iso(lastAt),
      show: ({ lastAt }) => ago(context.now() - lastAt, lastAt),
    },
    {
      name: "target",
      title: "what",
      long: true,
      value: ({ plan }) => describeTarget(plan.target),
      show: ({ plan }) => spokenTarget(plan.target),
    },
    {
      name: "rows",
      align: "right",
      show: isWide ? progressOf : progressAndStatus,
    },
    {
      name: "settled",
      title: isWide ? "credits" : null,
      align: "right",
      value: ({ settled }) => creditsToNumber(settled),
      show: ({ settled }) => formatCreditsGrouped(settled),
    },
    {
      name: "output",
      long: "first",
      value: ({ plan }) => fileOf(plan),
      show: ({ plan }) => shortPath(fileOf(plan), context),
    },
    { name: "status", title: isWide ? "status" : null },
    { name: "command", title: null, value: ({ plan }) => plan.command },
    { name: "connection", title: null, value: ({ plan }) => plan.connection },
    { name: "base_url", title: null, value: ({ plan }) => plan.base_url },
    { name: "expected", title: null },
    { name: "created_at", title: null, value: ({ plan }) => plan.created_at },
  ];
}

/** `400 of 1,000` is unfinished and `1,000` finished; whatever else a run is, is said. */
function progressAndStatus(run: RunSummary): string {
  const text = progressOf(run);
  const plain = run.status === "finished" || (run.status === "unfinished" && text.includes(" of "));
  return plain ? text : `${text} ${run.status}`;
}

/**
 * The end of an id, as short as all of them allow, but
 * at least the six characters that were drawn for it.
 */
function shortIds(ids: readonly string[]): (id: string) => string {
  for (let length = 6; length < 24; length++) {
    if (new Set(ids.map((id) => id.slice(-length))).size === ids.length)
      return (id) => id.slice(-length);
  }
  return (id) => id;
}

/** `400 of 1,000`, or `1,000` where nothing is missing. */
export const progressOf = ({ rows, expected }: RunSummary): string =>
  expected === null || expected <= rows
    ? grouped(rows)
    : `${grouped(rows)} of ${grouped(expected)}`;

function shortPath(path: string | null, context: Context): string {
  if (path === null) return "stdout";
  if (engineOf(path) !== undefined) return path;
  const near = relative(context.cwd, path);
  return near === "" || near.startsWith("..") || isAbsolute(near) ? path : near;
}

export function registerShow(runs: Command, context: Context): void {
  runs
    .command("show <run>")
    .description("Show one run: what it buys, what it cost, where it stands.")
    .examples(`
  $ headcount runs show last
  $ headcount runs show last --json | jq .receipt`)
    .does(
      `reads runs suppression
      exits 5`,
      atDesk(context, show),
    );
}

/** What bounded its file, and whom it left out; undefined: it has all that matched. */
function whyNoMore(receipt: Documents["runs show"]["receipt"]): string | undefined {
  if (receipt === null) return undefined;
  const { bound, count, shortfall } = receipt;
  const isAll = ["matches", "companies", "sample"].includes(bound);
  const stopped = `stopped at the ${bound}: ${count ?? "?"} matched`;

  const left = (["suppressed", "withheld", "forgotten", "unread", "duplicates"] as const)
    .filter((name) => (receipt[name] ?? 0) > 0)
    .map((name) => `${receipt[name]} ${name}`);
  const all = [isAll ? [] : stopped, shortfall ?? [], left].flat();
  return all.length === 0 ? undefined : all.join("; ");
}

async function show({ printer, context }: Desk<GlobalOptions>, name: string) {
  const store = openRuns(context);
  const summary = await store.find(name);
  const { id, plan, status, problem } = summary;
  const unit = parseCredits(plan.unit_price);
  const document = {
    ...runDocument(summary),
    unit_price: creditsOrNull(unit),
    dataset_version: plan.dataset_version,
    fields: plan.view.fields,
    bytes: await store.size(id),
    receipt: ((await store.receipt(id)) ?? null) as Documents["runs show"]["receipt"],
  };

  if (printer.json) return printer.document<"runs show">(document);
  if (!printer.terminal) return printer.leaves(document);

  const amount = (credits: typeof ZERO): string | undefined =>
    credits === ZERO ? undefined : formatCreditsGrouped(credits);

  await printer.card([
    ["run", id],
    ["status", problem === undefined ? status : `${status}: ${problem}`],
    ["what", `${plan.command} ${describeTarget(plan.target)}`],
    [
      "from",
      `${plan.connection} (${plan.base_url})${plan.key_mode === "test" ? ", a test key" : ""}`,
    ],
    [
      "rows",
      `${progressOf(summary)}${summary.misses > 0 ? `, ${grouped(summary.misses)} not found` : ""}`,
    ],
    [
      "credits",
      `${formatCreditsGrouped(summary.settled)} at ` +
        `${unit === undefined ? "?" : formatCreditsGrouped(unit)} each`,
    ],
    ["why no more", whyNoMore(document.receipt)],
    ["uncertain", amount(summary.uncertain)],
    ["unexplained", amount(summary.foreign)],
    ["output", `${fileOf(plan) ?? "stdout"} (${plan.view.format})`],
    ["dataset", plan.dataset_version ?? undefined],
    ["began", timeText(Date.parse(plan.created_at))],
    ["last", timeText(summary.lastAt)],
    ["kept", `${grouped(document.bytes)} bytes`],
    ["continue", isResumable(summary) ? onwardOf(summary) : undefined],
    ["write again", `headcount runs export ${id} -o FILE`],
  ]);
}
