import {
  findTraces,
  forgetTraces,
  shownTraces,
  type Traces,
} from "../../../app/keep/forget/forget.ts";
import { mentionLines } from "../../../app/keep/forget/mentions.ts";
import type { OutputFound } from "../../../app/keep/forget/outputs.ts";
import type { Context } from "../../../shared/context.ts";
import { counted } from "../../../shared/contract/text.ts";
import type { Command, GlobalOptions } from "../../options.ts";
import { atDesk, type Desk, type Printer } from "../../terminal/printer.ts";
import { agreeToForget, reportForgotten } from "./consent.ts";

type ForgetOptions = GlobalOptions & { readonly yes?: boolean; readonly dryRun?: boolean };

export function register(program: Command, context: Context): void {
  program
    .command("forget <person>")
    .description(
      "Delete a person, named by profile address, its last part, id, e-mail or name, " +
        "from runs, the library and the files that were written from them, and leave the " +
        "person out from now on. What was spent stays known. " +
        "Lists what it finds, and asks first.",
    )
    .option("--dry-run", "only list what would be deleted")
    .option("-y, --yes", "do not ask")
    .examples(`
  $ headcount forget "$(headcount -c sample sql 'select network_url from people limit 1' | tail \
-1)" --dry-run
  $ headcount forget "$(headcount -c sample sql 'select id from people limit 1' | tail -1)" --yes

Files that name the person outside of rows (receipts, text by another program) and tables that do \
not answer are named and left: exit 5.
See also: headcount suppress`)
    .does(
      `reads given output connection segments runs library suppression register jobs
      writes output runs library suppression register jobs
      exits 5 6 9 10 130`,
      atDesk(context, forget),
    );
}

async function forget({ options, printer, context }: Desk<ForgetOptions>, word: string) {
  const traces = await findTraces(word, context);

  if (options.dryRun === true) {
    report(traces, "would_forget", printer);
    if (!printer.json) printer.text("nothing of this was done (--dry-run)\n");
    return;
  }
  if (options.yes !== true) await agreeToForget(linesOf(traces), printer, context);

  const { files, tables, gone, left } = await forgetTraces(traces, context);
  report(traces, "forgot", printer);
  if (left !== undefined) throw left;

  const places = `${counted(files, "file")} and ${counted(tables, "table")}`;
  if (!printer.json)
    printer.text(
      `looked again at ${places} that were written: none has the person` +
        `${gone === 0 ? "" : `; ${gone} moved or removed, not looked at`}\n`,
    );
}

const OUTPUT_LINES: Readonly<Record<OutputFound["how"], (path: string) => string>> = {
  again: (path) => `written again: ${path}`,
  cut: (path) => `rows taken out: ${path}`,
  deleted: (path) => `rows deleted: ${path}`,
  left: (path) => `left, look yourself: ${path}`,
};

function linesOf({ runs, owned, outputs, gone, histories, mentions }: Traces): string[] {
  return [
    ...runs.map(({ plan, rows, isNamed }) =>
      isNamed
        ? `run ${plan.id}: whole, it names the person`
        : `run ${plan.id}: ${counted(rows, "row")}`,
    ),
    `library: ${counted(owned, "person", "people")}`,
    ...histories.map(({ job, lines }) => `history of job ${job}: ${counted(lines, "line")}`),
    ...outputs.map(({ path, how }) => OUTPUT_LINES[how](path)),
    ...mentions.flatMap(mentionLines).map((place) => `left, by hand: ${place}`),
    ...gone.map(({ path }) => `moved or removed, cannot be looked at: ${path}`),
  ];
}

function report(traces: Traces, verb: "forgot" | "would_forget", printer: Printer): void {
  const document = shownTraces(traces);
  const answer = verb === "forgot" ? { forgot: document } : { would_forget: document };
  reportForgotten(answer, linesOf(traces), printer);
}
