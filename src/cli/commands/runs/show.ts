import { openRuns } from "../../../app/keep/store.ts";
import { describeTarget } from "../../../engine/runs/plan.ts";
import type { Context } from "../../../shared/context.ts";
import { creditsOrNull, formatCreditsGrouped, parseCredits, ZERO } from "../../../shared/contract/money.ts";
import { grouped } from "../../../shared/contract/text.ts";
import { timeText } from "../../../shared/numbers.ts";
import type { Command, GlobalOptions } from "../../options.ts";
import { Printer } from "../../terminal/printer.ts";
import { progressOf, runDocument } from "./list.ts";

export function register(runs: Command, context: Context): void {
  runs
    .command("show <run>")
    .description("Show one run: what it buys, what it cost, where it stands.")
    .examples(`
  $ headcount runs show last
  $ headcount runs show last --json | jq .receipt`)
    .does((options: GlobalOptions, run: string) => show(run, options, context));
}

/** A card, `name<TAB>value` lines in a pipe, or one document. */
async function show(name: string, options: GlobalOptions, context: Context): Promise<void> {
  const printer = new Printer(context, options);
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
    receipt: (await store.receipt(id)) ?? null,
  };
  if (printer.json) return printer.document<"runs show">(document as never);
  if (!printer.terminal) {
    const { receipt: _, ...facts } = document;
    return printer.leaves(facts);
  }
  const amount = (credits: typeof ZERO): string | undefined =>
    credits === ZERO ? undefined : formatCreditsGrouped(credits);
  const resumable = status === "unfinished" || status === "closed";
  await printer.card([
    ["run", id],
    ["status", problem === undefined ? status : `${status}: ${problem}`],
    ["what", `${plan.command} ${describeTarget(plan.target)}`],
    ["from", `${plan.connection} (${plan.base_url})${plan.key_mode === "test" ? ", a test key" : ""}`],
    ["rows", `${progressOf(summary)}${summary.misses > 0 ? `, ${grouped(summary.misses)} not found` : ""}`],
    [
      "credits",
      `${formatCreditsGrouped(summary.settled)} at ${unit === undefined ? "?" : formatCreditsGrouped(unit)} each`,
    ],
    ["uncertain", amount(summary.uncertain)],
    ["others spent", amount(summary.foreign)],
    ["output", `${plan.output ?? "stdout"} (${plan.view.format})`],
    ["dataset", plan.dataset_version ?? undefined],
    ["began", timeText(Date.parse(plan.created_at))],
    ["last", timeText(summary.lastAt)],
    ["kept", `${grouped(document.bytes)} bytes`],
    ["continue", resumable ? `headcount resume ${id}` : undefined],
    ["write again", `headcount runs export ${id} -o FILE`],
  ]);
}
