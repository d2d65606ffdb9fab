import { outputGuard } from "../../app/buy/options.ts";
import { MAX_CALLS } from "../../app/own/bounds.ts";
import { planRefresh, refresh } from "../../app/own/refresh/bring.ts";
import type { RefreshEvents, RefreshOrder } from "../../app/own/refresh/work.ts";
import { readVerified, VERIFIABLE } from "../../app/own/refresh/work.ts";
import type { Session } from "../../app/session.ts";
import { engineOf } from "../../engine/output/tables/target.ts";
import type { Context } from "../../shared/context.ts";
import { isUnfiltered } from "../../shared/contract/filters.ts";
import { creditsText } from "../../shared/contract/money.ts";
import { PERSON_FIELDS } from "../../shared/contract/records.ts";
import { usageError } from "../../shared/errors.ts";
import { checkFields } from "../../shared/rows/columns.ts";
import {
  addGuardOptions,
  addViewOptions,
  BUYING,
  type ExportFlags,
  type GuardFlags,
  readView,
  type ViewFlags,
} from "../arguments/export-options.ts";
import { addFilterOptions, type FilterOptions, readFilters } from "../arguments/filter-options.ts";
import { creditAmount } from "../arguments/settings.ts";
import { type Command, WHO_COLUMN } from "../options.ts";
import { agreeToRefresh, askFor, printPlan, printRefreshed } from "../purchase/refresh-card.ts";
import { withSession } from "../session.ts";
import { atDesk, type Desk } from "../terminal/printer.ts";

type BuyingFlags = "maxCredits" | "again" | "yes" | "dryRun" | "perPage" | "wait";

export interface RefreshFlags extends ViewFlags, GuardFlags, Pick<ExportFlags, BuyingFlags> {
  readonly column?: string;
  readonly maxCalls: number;
  readonly verifyFields?: string;
  readonly buyChanged?: boolean;
}

export function register(program: Command, context: Context): void {
  const command = program
    .command("refresh")
    .takes("[list]", "a file that headcount wrote, or a run", { kind: "file" })
    .description(
      "Bring a list of people up to date: who is gone and who is new is found by " +
        "free counts, and only parts with somebody new are bought. Writes the list, " +
        "and beside it who was added, removed and changed.",
    );
  addFilterOptions(command).option(...WHO_COLUMN);

  addGuardOptions(
    addViewOptions(
      command,
      PERSON_FIELDS,
      "write the list there (default: to the file that is named)",
    ),
  )
    .option("--max-credits <n>", "spend at most this (decimals allowed)", creditAmount)
    .number("--max-calls <n>", "make at most so many free calls", [1, 1e9], MAX_CALLS)
    .option("--again", "buy the whole segment again, and pay again for whom you own")
    .offers(
      "--verify-fields <a,b,c>",
      "find who no longer has these values, by free counts (company: its address)",
      {
        kind: "commas",
        values: VERIFIABLE,
      },
    )
    .option("--buy-changed", "buy those again whose verified fields changed")
    .number("--per-page <n>", "rows a request", [1, 100_000])
    .option("-y, --yes", "buy without asking")
    .option("--dry-run", "show what there is to do and buy nothing")
    .option("--wait", "wait for another command at the same list instead of ending with exit 9");

  command
    .examples(`
  $ headcount -c sample search --department Legal --country germany --yes -o legal.csv --overwrite
  $ headcount -c sample refresh legal.csv --max-credits 10
  $ headcount -c sample refresh legal.csv --verify-fields title,seniority_level --max-credits 10 \
--json
  $ headcount -c sample refresh --department Legal --country france --dry-run

A file knows its segment from the run that wrote it. legal.csv is written anew, and beside it \
legal.added.csv, legal.removed.csv and legal.changed.csv: all of them or none.`)
    .does(
      BUYING,
      atDesk(context, async (desk: Desk<RefreshFlags & FilterOptions>, word: string | undefined) =>
        bringUpToDate(await parse(word, desk.options, context), desk),
      ),
    );
}

async function bringUpToDate(order: RefreshOrder, desk: Desk<RefreshFlags>): Promise<void> {
  const { context, options: flags, printer } = desk;
  if (printer.json) printer.requireOpen();

  await withSession(context, flags, async (session) => {
    const events = await eventsOf(order, session, desk);
    if (flags.dryRun === true) {
      await printPlan(await planRefresh(order, session, context, events), order, printer);
      return;
    }
    const { output = "" } = order;
    const receipt = await refresh({ ...order, output }, session, context, events);
    printRefreshed(receipt, flags.output ?? order.word ?? output, printer);
  });
}

async function eventsOf(
  order: RefreshOrder,
  session: Session,
  desk: Desk<RefreshFlags>,
): Promise<RefreshEvents> {
  const { context, options: flags, printer } = desk;
  const { openProgress } = await import("../terminal/progress.ts");
  const { stderr, now } = context;
  const enabled = !printer.quiet && stderr.isTTY === true;
  const { noteStyle: style, unicode } = printer;
  const progress = openProgress({
    stream: stderr,
    enabled,
    now,
    style,
    unicode,
    unit: "free call",
  });
  session.pauses.show = enabled ? progress.wait : undefined;

  return {
    agree: (plan) => agreeToRefresh(plan, order, desk),

    agreeToRest: async (run, most) => {
      if (flags.yes === true) return;
      await askFor(
        `the rest of run ${run}, which was begun for this list, for at most ${creditsText(most)}`,
        most,
        order,
        context,
      );
    },

    warning: (text) => printer.say(text),
    progress: (calls) => (calls === undefined ? progress.stop() : progress.update({ done: calls })),
  };
}

/** Fields in which who is owned is looked at. @throws CliError exit 2 */
function readChanges({ verifyFields, buyChanged, maxCredits }: RefreshFlags) {
  const verify = verifyFields === undefined ? [] : readVerified(verifyFields);
  if (buyChanged === true && verify.length === 0) {
    throw usageError(
      "--buy-changed goes with --verify-fields",
      "for example --verify-fields title,company --buy-changed",
    );
  }

  if (buyChanged === true && maxCredits === undefined) {
    throw usageError(
      "--buy-changed needs --max-credits: how many have changed is not known beforehand",
    );
  }

  return verify;
}

/**
 * The list is written to where it was read from, unless another name is given.
 * @throws CliError exit 2 where it is no name of a file, but for a dry run without one
 */
function pathOf(word: string | undefined, flags: RefreshFlags): string | undefined {
  const path = flags.output ?? (word === undefined || !/\.\w+$/.test(word) ? undefined : word);
  if (path === undefined && flags.dryRun !== true) {
    throw usageError(
      "refresh writes files",
      "name the list with -o, for example -o people.csv",
      "no_output",
    );
  }

  if (path === "-") {
    throw usageError(
      "refresh writes four files, which stdout cannot hold",
      "for example -o people.csv",
      "no_output",
    );
  }

  if (path !== undefined && engineOf(path) !== undefined) {
    throw usageError(
      "refresh writes four files, and -o names a table",
      "-o people.csv; headcount owned export -o fills a table",
    );
  }

  return path;
}

async function parse(
  word: string | undefined,
  flags: RefreshFlags & FilterOptions,
  context: Context,
): Promise<RefreshOrder> {
  const { filters, canonical } = await readFilters(context, flags);
  const segment = isUnfiltered(canonical) ? undefined : { filters, canonical };
  const verify = readChanges(flags);
  const path = pathOf(word, flags);
  const quoting = { ...flags, format: flags.format ?? "csv" };
  const view = readView(context, path === undefined ? quoting : { ...flags, output: path });
  if (view.format === "table") {
    throw usageError(
      "a list is kept as rows (csv, ndjson, json, xlsx, parquet and so on), not as a table",
    );
  }

  if (view.fields !== undefined) checkFields(view.fields, "person");

  const { maxCredits, maxCalls, again, buyChanged, perPage, wait, csv } = flags;
  const bounds = { maxCredits, maxCalls, again, buyChanged, perPage, wait, csv };

  return {
    word,
    column: flags.column,
    segment,
    output: view.output,
    view,
    verify,
    terms: { ...outputGuard(flags), ...bounds, replaces: flags.overwrite },
  };
}
