import { openRuns } from "../../app/keep/store.ts";
import { pagingName } from "../../engine/client/dialect.ts";
import { selectionOf } from "../../engine/connections/resolve.ts";
import { savedForm } from "../../engine/output/formats.ts";
import { isElsewhere, resumeOf, spokenTarget } from "../../engine/runs/plan.ts";
import { isResumable, onwardOf, type RunSummary } from "../../engine/runs/reader.ts";
import type { Context } from "../../shared/context.ts";
import { counted, present, someOf } from "../../shared/contract/text.ts";
import { CliError, command, option, say, usageError } from "../../shared/errors.ts";
import {
  addBuyingOptions,
  type ExportFlags,
  readBuyingOptions,
} from "../arguments/export-options.ts";
import { keptJoin } from "../arguments/kept-join.ts";
import type { Command } from "../options.ts";
import { buy } from "../purchase/buy.ts";
import type { ParsedPurchase } from "../purchase/purchase.ts";

export function register(program: Command, context: Context): void {
  const resume = program
    .command("resume")
    .argument("[run]", "id of a run, or part of it (default: the one that is unfinished)")
    .description(
      "Continue an export where it stopped. What it bought is read from its run and " +
        "not bought again; the output is written as if nothing had happened. " +
        "--limit and --max-credits count from the run's beginning.",
    );

  addBuyingOptions(resume, "buy at most so many rows")
    .option("--dry-run", "show what going on would cost and buy nothing")
    .examples(`
  $ headcount -c sample resume
  $ headcount -c sample resume --dry-run
  $ headcount -c sample resume --max-credits 50 --yes

Where several runs are unfinished, name one: headcount runs lists them.`)
    .does(
      `asks account key count search facets sketch people enrich employees counts
      reads connection given segments runs library suppression register
      writes output runs library register pacing
      exits 3 4 5 6 7 8 9 10 130`,
      async (options: ExportFlags, run: string | undefined) => {
        const purchase = await parse(run, options, context);
        if (purchase === undefined) return;

        await buy(purchase, context).catch(async (error: unknown) => {
          if (!(error instanceof CliError) || error.code !== "no_base_url") throw error;
          const { base_url: address } = await openRuns(context).readPlan(purchase.run ?? "");
          const next = command("resume", {
            arguments: [purchase.run ?? ""],
            options: [option("base_url", address)],
          });
          throw error.with({
            hint: say`${next} goes on at the address that it was bought from`,
            next,
          });
        });
      },
    );
}

async function parse(
  run: string | undefined,
  options: ExportFlags,
  context: Context,
): Promise<ParsedPurchase | undefined> {
  const store = openRuns(context);
  const all = run === undefined ? await store.list() : [];
  const runs = all.filter(({ plan }) => !isElsewhere(plan, store.machine));
  const id = run === undefined ? theUnfinished(runs) : await store.resolve(run);
  if (id === undefined) {
    if (options.quiet !== true) context.stderr.write(nothingToResume(runs, options));
    return undefined;
  }

  const { connection: saved, target, output, view, ...plan } = await store.readPlan(id);
  if (target.kind === "search" && target.list !== undefined) {
    throw usageError(
      `run ${id} buys for the list ${target.list}, which is more than its rows`,
      say`${resumeOf({ id, target })} goes on with it`,
      "run_of_list",
    );
  }

  // "environment" is what a connection is called that variables alone make up.
  const connection = options.connection ?? (saved === "environment" ? undefined : saved);
  const begun = pagingName({ paging: plan.paging, firstPage: plan.first_page });
  const paging = selectionOf(options, context).paging ?? begun;
  const flags = { ...options, paging, ...present({ connection }) };

  return {
    order: {
      ...readBuyingOptions(flags),
      target,
      output: output ?? undefined,
      ...savedForm(view.format),
      fields: view.fields ?? undefined,
      join: await keptJoin(store, id, target),
    },
    flags,
    run: id,
  };
}

function nothingToResume(runs: readonly RunSummary[], options: ExportFlags): string {
  const closed = runs.find(isResumable);
  const isMore = (options.limit ?? options.maxCredits) !== undefined;
  const last = closed ?? (isMore ? runs.find(({ status }) => status === "finished") : undefined);
  const which =
    last === closed ? "one whose reader closed the pipe" : "the last one that is finished";
  const working = runs.flatMap(({ id, status }) => (status === "running" ? [id] : []));
  if (working.length > 0) {
    const are = working.length === 1 ? "a run is" : `${working.length} runs are`;
    return `Nothing to resume: ${are} at work in another process: ${someOf(working)}\n`;
  }
  const but = last === undefined ? "" : `; ${onwardOf(last)} goes on with ${which}`;
  return `Nothing to resume: no run is unfinished${but}\n`;
}

/** The one unfinished run. @throws CliError exit 2 where there are several */
function theUnfinished(runs: readonly RunSummary[]): string | undefined {
  const open = runs.filter(({ status }) => status === "unfinished");
  const [first, second] = open;
  if (first === undefined || second === undefined) return first?.id;

  const each = open.map(
    ({ id, rows, plan: { output, target } }) =>
      `${id} (${counted(rows, "row")}, ${output ?? "stdout"}, ${spokenTarget(target)})`,
  );

  throw usageError(
    `${open.length} runs are unfinished: ${someOf(each)}`,
    `name one: ${onwardOf(first)}`,
  );
}
