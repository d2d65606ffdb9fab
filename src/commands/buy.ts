import { Writable } from "node:stream";
import { stateDir } from "../connections/paths.ts";
import { type Context, canPrompt } from "../context.ts";
import { formatCredits, formatCreditsGrouped, parseCredits, ZERO } from "../contract/money.ts";
import { counted, grouped } from "../contract/text.ts";
import { CliError, EXIT } from "../errors.ts";
import { type ExportDeps, type ExportOptions, type ExportResult, quoteJson } from "../purchase/purchase.ts";
import type { Quote } from "../purchase/quote.ts";
import { Disk } from "../runs/disk.ts";
import { failpoint } from "../runs/failpoint.ts";
import type { Target } from "../runs/plan.ts";
import { duration } from "../terminal/numbers.ts";
import { Printer } from "../terminal/printer.ts";
import type { Progress } from "../terminal/progress.ts";
import { type ExportFlags, sameCommand } from "./export-options.ts";
import { mapError } from "./failures.ts";
import { lowerCaseHint } from "./filter-options.ts";
import { type Session, withSession } from "./session.ts";

/** One purchase from quote to summary, whichever command makes it. */
export interface Purchase {
  readonly target: Target;
  readonly flags: ExportFlags;
  readonly view: Pick<ExportOptions, "output" | "format" | "fields">;
  /** Buys with the world that is handed in: `runExport` or `resumeExport`. */
  readonly buy: (deps: ExportDeps) => Promise<ExportResult>;
  /** Prints what would have gone to stdout, once it is all there, in place of rows as they come. */
  readonly show?: (rows: string, printer: Printer) => Promise<void>;
}

interface Wording {
  readonly one: string;
  readonly many: string;
}

const wordingOf = ({ kind }: Target): Wording =>
  kind === "enrich" ? { one: "company", many: "companies" } : { one: "profile", many: "profiles" };

/**
 * Quote, consent, progress, rows and summary: the ritual of every command that spends.
 * @throws CliError with the exit codes of docs/output.md; whatever was paid for is kept in the run by then
 */
export async function buy(purchase: Purchase, context: Context): Promise<void> {
  const { flags, target } = purchase;
  const printer = new Printer(context, flags);
  await withSession(context, flags, async (session) => {
    const rows = purchase.show === undefined ? undefined : captured();
    const world = await worldOf(purchase, session, printer, context, rows?.stream);
    try {
      const result = await purchase.buy(world.deps);
      world.stopProgress();
      if (rows !== undefined) await purchase.show?.(rows.text(), printer);
      if (result.kind === "quoted") await printQuote(result.quote, target, printer);
      else printSummary(result, purchase, printer);
      const hint = target.kind === "search" && result.quote.matches === 0 ? lowerCaseHint(target.filters) : undefined;
      if (hint !== undefined) printer.note(`hint: ${hint}`);
    } finally {
      world.stopProgress();
    }
  });
}

function captured(): { readonly stream: Writable; readonly text: () => string } {
  const chunks: Buffer[] = [];
  const write = (chunk: Buffer, _encoding: unknown, done: () => void): void => {
    chunks.push(Buffer.from(chunk));
    done();
  };
  return { stream: new Writable({ write }), text: () => Buffer.concat(chunks).toString() };
}

/** The outside world of a purchase: prompts, progress and tables of this terminal, the folders of this environment. */
async function worldOf(
  { target, flags, show }: Purchase,
  session: Session,
  printer: Printer,
  context: Context,
  rows: Writable | undefined,
): Promise<{ readonly deps: ExportDeps; readonly stopProgress: () => void }> {
  const { now, sleep, random, pid, stdout, stderr, interrupted } = context;
  const wording = wordingOf(target);
  // Rows on the same terminal say by themselves how far it is.
  const rowsOnScreen = flags.output === undefined && printer.terminal && stderr.isTTY === true;
  const shown = !printer.quiet && show === undefined && !rowsOnScreen;
  const openProgress = shown ? (await import("../terminal/progress.ts")).openProgress : undefined;
  let progress: Progress | undefined;
  let plan = { rows: 0, cap: "" };
  const deps: ExportDeps = {
    ...{ now, sleep, random, pid, interrupted },
    stdout: rows ?? stdout,
    seller: session,
    stateDir: stateDir(context),
    disk: new Disk(failpoint(context.env)),
    table: () => printer.rowsTable(),
    consent: (quote, resuming) => askConsent(quote, resuming, wording, flags, printer, context),
    mapError: (error) => mapError(error, session.site),
    onNotice: (text) => (progress === undefined ? session.notice(text) : progress.note(text)),
    onStart: ({ kept, rows: total, cap }) => {
      plan = { rows: total, cap: formatCreditsGrouped(cap) };
      progress = openProgress?.({
        stream: stderr,
        enabled: true,
        now,
        style: printer.noteStyle,
        unit: wording.one,
        units: wording.many,
        startedWith: kept,
      });
    },
    onProgress: ({ rows: done, settled, uncertain, wait }) => {
      const unsure = uncertain > 0n ? `, ${formatCreditsGrouped(uncertain)} uncertain` : "";
      const detail = `${formatCreditsGrouped(settled)} of ${plan.cap} credits${unsure}`;
      progress?.update({ done, total: plan.rows, detail });
      progress?.wait(wait?.until, wait?.reason === "retry" ? `trying again (${wait.why})` : wait?.why);
    },
  };
  return { deps, stopProgress: () => progress?.stop() };
}

/** @throws CliError exit 2 without consent where nobody can be asked, exit 10 where it is declined */
async function askConsent(
  quote: Quote,
  resuming: boolean,
  wording: Wording,
  flags: ExportFlags,
  printer: Printer,
  context: Context,
): Promise<void> {
  const asks = canPrompt(context);
  if (flags.yes === true || (!asks && flags.maxCredits !== undefined)) return;
  const what = `${counted(quote.rows - quote.kept, wording.one, wording.many)} for ${formatCreditsGrouped(quote.credits)} credits`;
  if (!asks) {
    throw new CliError({
      code: "consent_needed",
      category: "usage",
      exitCode: EXIT.usage,
      message: `this buys up to ${what}, and there is no terminal to ask at; nothing was spent`,
      hint: sameCommand(context, "--max-credits", formatCredits(quote.credits)),
    });
  }
  await printer.noteCard(quoteEntries(quote, wording));
  if (await context.confirm(`${resuming ? "Go on and export" : "Export"} ${what}? [y/N]`)) return;
  throw new CliError({
    code: "declined",
    category: "declined",
    exitCode: EXIT.declined,
    message: "declined; nothing was spent",
  });
}

const BOUNDS: Readonly<Record<Quote["bound"], string>> = {
  matches: "",
  companies: "",
  limit: " (--limit)",
  cap: " (--max-credits)",
  depth: " (the service goes no deeper)",
};

function quoteEntries(quote: Quote, { one, many }: Wording): readonly (readonly [string, string | undefined])[] {
  const most = quote.matches === null ? "at most " : "";
  const wait = quote.durationMs === 0 ? "no wait for" : `about ${duration(quote.durationMs)} at`;
  return [
    [one === "company" ? many : "matches", quote.matches === null ? "not known beforehand" : grouped(quote.matches)],
    ["kept already", quote.kept === 0 ? undefined : grouped(quote.kept)],
    ["to buy", `${most}${grouped(quote.rows - quote.kept)}${BOUNDS[quote.bound]}`],
    ["price", `${formatCreditsGrouped(quote.unitPrice)} a ${one}`],
    ["credits", `${most}${formatCreditsGrouped(quote.credits)}`],
    ["balance", quote.balance === undefined ? "not told" : formatCreditsGrouped(quote.balance)],
    ["after", quote.balanceAfter === undefined ? undefined : formatCreditsGrouped(quote.balanceAfter)],
    ["requests", grouped(quote.requests)],
    ["time", `${wait} the rate limit`],
  ];
}

async function printQuote(quote: Quote, target: Target, printer: Printer): Promise<void> {
  if (printer.json) printer.document(quoteJson(quote, target));
  else await printer.card(quoteEntries(quote, wordingOf(target)), 2);
}

/** What is said at the end: the summary on stderr, and with `--json` the receipt on stdout. */
function printSummary(
  { receipt, balance, quote, misses, run }: ExportResult & { readonly kind: "finished" },
  { target, flags, view }: Purchase,
  printer: Printer,
): void {
  const { one, many } = wordingOf(target);
  if (printer.json && view.output !== undefined) printer.document(receipt);
  const credits = formatCreditsGrouped(parseCredits(receipt.credits) ?? ZERO);
  const where = view.output === undefined ? "" : ` to ${flags.output ?? view.output}`;
  const left = balance === undefined ? "" : ` (balance ${formatCreditsGrouped(balance)})`;
  const bought = counted(receipt.distinct, one, many);
  printer.say(`Exported ${bought} for ${credits} ${credits === "1" ? "credit" : "credits"}${where}${left}`);
  if (receipt.uncertain_credits > 0) {
    printer.say(`warning: ${receipt.uncertain_credits} more credits may have been charged for replies that were lost`);
  }
  const whole = quote.matches ?? receipt.received;
  const stopped = { cap: "--max-credits", limit: "--limit" }[quote.bound as string];
  if (stopped !== undefined && whole > quote.rows) {
    printer.note(`notice: stopped at ${stopped}; ${grouped(whole)} match`);
  }
  if (receipt.foreign_credits > 0) {
    printer.note(`notice: others spent ${receipt.foreign_credits} credits of this balance meanwhile`);
  }
  if (receipt.duplicates > 0) {
    printer.note(`notice: ${grouped(receipt.duplicates)} rows came twice and are written once`);
  }
  if (misses.length > 0) {
    const some = `${misses.slice(0, 5).join(", ")}${misses.length > 5 ? ", ..." : ""}`;
    printer.note(`notice: ${grouped(misses.length)} not found, free of charge: ${some}`);
  }
  if (view.format === "table" && view.fields === undefined) {
    printer.note(
      `notice: these are the main columns; headcount runs export ${run} -o FILE writes all of them at 0 credits`,
    );
  }
}
