import type { LibraryTotals } from "../../../engine/library/totals.ts";
import type { Context } from "../../../shared/context.ts";
import { credits, creditsToNumber, formatCreditsGrouped } from "../../../shared/contract/money.ts";
import { counted, grouped } from "../../../shared/contract/text.ts";
import type { Command } from "../../options.ts";
import { Printer } from "../../terminal/printer.ts";
import { addShelfOption, type ShelfOptions, withLibrary } from "./shelf.ts";

const NOTHING: LibraryTotals = {
  people: 0,
  suppressed: 0,
  forgotten: 0,
  purchases: 0,
  credits: 0n,
  repeatCredits: 0n,
  runs: 0,
  firstAt: null,
  lastAt: null,
};

export function register(owned: Command, context: Context, run = printStatus): void {
  addShelfOption(owned.command("status", { isDefault: true }))
    .description("Say how many people are owned, what they cost, and what was paid for somebody who was owned already.")
    .examples("\n  $ headcount -c sample owned status\n  $ headcount -c sample owned --json | jq .people")
    .does((options: ShelfOptions) => run(options, context));
}

async function printStatus(options: ShelfOptions, context: Context): Promise<void> {
  const printer = new Printer(context, options);
  await withLibrary(options, context, printer, async (library) => {
    const totals = library?.totals() ?? NOTHING;
    const iso = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString());
    const document = {
      people: totals.people,
      suppressed: totals.suppressed,
      forgotten: totals.forgotten,
      rows_paid: totals.purchases,
      rows_repeated: totals.purchases - totals.people - totals.suppressed - totals.forgotten,
      credits: creditsToNumber(credits(totals.credits)),
      credits_for_repeated: creditsToNumber(credits(totals.repeatCredits)),
      runs: totals.runs,
      first_bought_at: iso(totals.firstAt),
      last_bought_at: iso(totals.lastAt),
      file: library?.path ?? null,
    };
    if (printer.json) return printer.document<"owned status">(document);
    if (!printer.terminal) return printer.leaves(document);
    const repeated = document.rows_repeated;
    await printer.card([
      ["owned", counted(totals.people, "person", "people")],
      [
        "suppressed",
        totals.suppressed === 0 ? undefined : `${grouped(totals.suppressed)} more, left out of every answer`,
      ],
      ["forgotten", totals.forgotten === 0 ? undefined : grouped(totals.forgotten)],
      ["paid for", `${counted(totals.purchases, "row")}, ${formatCreditsGrouped(credits(totals.credits))} credits`],
      [
        "bought again",
        repeated === 0
          ? undefined
          : `${grouped(repeated)} of them, ${formatCreditsGrouped(credits(totals.repeatCredits))} credits`,
      ],
      ["runs", grouped(totals.runs)],
      ["first", document.first_bought_at ?? undefined],
      ["last", document.last_bought_at ?? undefined],
      ["kept in", document.file ?? undefined],
    ]);
  });
}
