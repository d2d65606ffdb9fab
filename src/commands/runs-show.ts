import type { Context } from "../context.ts";
import { creditsToNumber, formatCreditsGrouped, parseCredits, ZERO } from "../contract/money.ts";
import type { GlobalOptions } from "../options.ts";
import { describeTarget } from "../runs/plan.ts";
import type { RunStore, RunSummary } from "../runs/run-store.ts";
import { grouped, timeText } from "../terminal/numbers.ts";
import { hasColor, styleFor, widthOfStream } from "../terminal/style.ts";
import { tsv } from "../terminal/tsv.ts";

/** One run in `runs list --json`. Every key is always there; credits are JSON numbers, times ISO-8601. */
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
    matches: plan.matches,
    expected: run.expected,
    rows: run.rows,
    misses: run.misses,
    settled: creditsToNumber(run.settled),
    uncertain: creditsToNumber(run.uncertain),
    foreign: creditsToNumber(run.foreign),
    pending: run.pending,
    output: plan.output,
    format: plan.view.format,
    created_at: plan.created_at,
    last_at: new Date(run.lastAt).toISOString(),
    problem: run.problem ?? null,
  };
}

/** `runs list`: a table for a person, tab-separated lines for a pipe, an array with `--json`. */
export async function printList(runs: readonly RunSummary[], options: GlobalOptions, context: Context): Promise<void> {
  if (options.json === true) {
    context.stdout.write(`${JSON.stringify(runs.map(runDocument))}\n`);
  } else if (context.stdout.isTTY !== true) {
    context.stdout.write(
      tsv(
        runs.map((run) => {
          const { id, status, command, connection, rows, expected, settled, created_at, output } = runDocument(run);
          return [
            id,
            status,
            command,
            connection,
            rows,
            expected,
            settled,
            created_at,
            output,
            describeTarget(run.plan.target),
          ];
        }),
      ),
    );
  } else if (runs.length === 0) {
    if (options.quiet !== true) context.stderr.write("No runs yet: headcount search makes the first one.\n");
  } else {
    const { renderTable } = await import("../terminal/table.ts");
    const width = widthOfStream(context.stdout);
    const narrow = width < 90;
    context.stdout.write(
      renderTable(
        [
          { title: "run", fixed: true },
          { title: "status", fixed: true },
          { title: "what" },
          { title: "rows", align: "right", fixed: true },
          { title: "credits", align: "right", fixed: true },
          ...(narrow ? [] : [{ title: "output" }]),
        ],
        runs.map((run) => [
          run.id,
          run.status,
          `${run.plan.command} ${describeTarget(run.plan.target)}`,
          progressOf(run),
          formatCreditsGrouped(run.settled),
          ...(narrow ? [] : [shortPath(run.plan.output, context)]),
        ]),
        { width, style: styleFor(hasColor(context.stdout, context.env, options.color)) },
      ),
    );
  }
}

/** `runs show RUN`: a card, `name<TAB>value` lines, or one document. */
export async function printRun(store: RunStore, id: string, options: GlobalOptions, context: Context): Promise<void> {
  const summary = await store.summary(id);
  if (summary === undefined) throw new Error(`run ${id} is gone`);
  const { plan } = summary;
  const receipt = await (await store.open(id)).receipt().catch(() => undefined);
  const unit = parseCredits(plan.unit_price);
  const document = {
    ...runDocument(summary),
    unit_price: unit === undefined ? null : creditsToNumber(unit),
    dataset_version: plan.dataset_version,
    fields: plan.view.fields,
    bytes: await store.size(id),
    receipt: receipt ?? null,
  };
  if (options.json === true) {
    context.stdout.write(`${JSON.stringify(document)}\n`);
    return;
  }
  if (context.stdout.isTTY !== true) {
    const { receipt: _, ...flat } = document;
    context.stdout.write(
      tsv(
        Object.entries(flat).map(([name, value]) => [
          name,
          typeof value === "object" && value !== null ? JSON.stringify(value) : value,
        ]),
      ),
    );
    return;
  }
  const { renderCard } = await import("../terminal/table.ts");
  const unfinished = summary.status === "unfinished";
  context.stdout.write(
    renderCard(
      [
        ["run", id],
        ["status", summary.problem === undefined ? summary.status : `${summary.status}: ${summary.problem}`],
        ["what", `${plan.command} ${describeTarget(plan.target)}`],
        ["from", `${plan.connection} (${plan.base_url})${plan.key_mode === "test" ? ", a test key" : ""}`],
        ["rows", `${progressOf(summary)}${summary.misses > 0 ? `, ${grouped(summary.misses)} not found` : ""}`],
        [
          "credits",
          `${formatCreditsGrouped(summary.settled)} at ${unit === undefined ? "?" : formatCreditsGrouped(unit)} each`,
        ],
        ["uncertain", summary.uncertain === ZERO ? undefined : formatCreditsGrouped(summary.uncertain)],
        ["others spent", summary.foreign === ZERO ? undefined : formatCreditsGrouped(summary.foreign)],
        ["output", `${plan.output ?? "stdout"} (${plan.view.format})`],
        ["dataset", plan.dataset_version ?? undefined],
        ["began", timeText(Date.parse(plan.created_at))],
        ["last", timeText(summary.lastAt)],
        ["kept", `${grouped(document.bytes)} bytes`],
        ["continue", unfinished ? `headcount resume ${id}` : undefined],
        ["write again", `headcount runs export ${id} -o FILE`],
      ],
      { width: widthOfStream(context.stdout), style: styleFor(hasColor(context.stdout, context.env, options.color)) },
    ),
  );
}

/** `400 of 1,000`, or `1,000` where nothing is missing. */
const progressOf = ({ rows, expected }: RunSummary): string =>
  expected === null || expected <= rows ? grouped(rows) : `${grouped(rows)} of ${grouped(expected)}`;

/** A path as a person in this folder would say it. */
function shortPath(path: string | null, context: Context): string {
  if (path === null) return "stdout";
  return path.startsWith(`${context.cwd}/`) ? path.slice(context.cwd.length + 1) : path;
}
