import { openRuns } from "../../../app/keep/store.ts";
import { rebuildLibrary } from "../../../engine/library/take-in.ts";
import type { Context } from "../../../shared/context.ts";
import { counted } from "../../../shared/contract/text.ts";
import type { Command } from "../../options.ts";
import { Printer } from "../../terminal/printer.ts";
import { addShelfOption, type ShelfOptions, shelfOf } from "./shelf.ts";

/** @param run what is done with the command line: tests of parsing hand in another */
export function register(owned: Command, context: Context, run = rebuild): void {
  addShelfOption(owned.command("rebuild"))
    .description("Make the library again from the runs. What came from removed runs and from files stays.")
    .examples("\n  $ headcount -c sample owned rebuild")
    .does((options: ShelfOptions) => run(options, context));
}

async function rebuild(options: ShelfOptions, context: Context): Promise<void> {
  const printer = new Printer(context, options);
  const opened = await rebuildLibrary(shelfOf(options, context), openRuns(context));
  if (opened === undefined) {
    if (printer.json) printer.document<"owned rebuild">({ people: 0, rows_paid: 0 });
    return printer.note("nothing was bought there yet");
  }
  const { people, purchases } = opened.library.totals();
  opened.library.close();
  if (printer.json) printer.document<"owned rebuild">({ people, rows_paid: purchases });
  printer.note(`${counted(people, "person", "people")} from ${counted(purchases, "paid row")}`);
}
