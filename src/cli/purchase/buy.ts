import { Writable } from "node:stream";
import { nearCompany } from "../../app/count/hints.ts";
import { failureOf, mapError } from "../../app/failures.ts";
import { type Session, withSession } from "../../app/session.ts";
import { stateDir } from "../../engine/connections/paths.ts";
import { formName } from "../../engine/output/formats.ts";
import { isNarrowed, newIn } from "../../engine/purchase/owned.ts";
import { type ExportDeps, type ExportOptions, type ExportResult, quoteJson } from "../../engine/purchase/purchase.ts";
import { type Quote, rowsToBuy } from "../../engine/purchase/quote.ts";
import type { Receipt } from "../../engine/purchase/receipt.ts";
import { Disk, errorCode } from "../../engine/runs/disk.ts";
import { failpoint } from "../../engine/runs/failpoint.ts";
import type { Target } from "../../engine/runs/plan.ts";
import { type Context, canPrompt, written } from "../../shared/context.ts";
import {
  type Credits,
  creditsText,
  formatCredits,
  formatCreditsGrouped,
  parseCredits,
  ZERO,
} from "../../shared/contract/money.ts";
import { counted, echo, grouped } from "../../shared/contract/text.ts";
import { CliError, declined, EXIT, systemFailure, usageError } from "../../shared/errors.ts";
import { type ExportFlags, sameCommand } from "../arguments/export-options.ts";
import { boundsOf, type NewOnlyFlags } from "../arguments/new-only.ts";
import { Printer } from "../terminal/printer.ts";
import type { Progress } from "../terminal/progress.ts";
import { quoteEntries, wordingOf } from "./quote-card.ts";

export interface Purchase {
  readonly target: Target;
  readonly flags: ExportFlags & NewOnlyFlags;
  readonly view: Pick<ExportOptions, "output" | "format" | "packing" | "fields">;
  readonly buy: (deps: ExportDeps) => Promise<ExportResult>;
  /** Whether it needs no asking as long as it costs at most HEADCOUNT_ASK_ABOVE (1 credit): one company that was named. */
  readonly small?: boolean;
  /** Whether nothing is bought where nobody matches one of several values of a filter. */
  readonly strict?: boolean | undefined;
  /** Prints what would have gone to stdout, once it is all there, in place of rows as they come. */
  readonly show?: (rows: string, printer: Printer) => Promise<void>;
  /** Told the id of the run before anything is bought. */
  readonly onRun?: (run: string) => void;
}

const ONE_CREDIT = parseCredits(1) ?? ZERO;

/** Quote, consent, progress, rows and summary: the ritual of every command that spends. @returns undefined where the file is young
 * enough @throws CliError; what was paid is kept */
export async function buy(purchase: Purchase, context: Context): Promise<ExportResult | undefined> {
  const { flags, target } = purchase;
  const printer = new Printer(context, flags);
  if (await isFresh(purchase, printer, context)) return undefined;
  return await withSession(context, flags, async (session) => {
    const rows = purchase.show === undefined ? undefined : captured();
    const world = await worldOf(purchase, session, printer, context, rows?.stream);
    try {
      const result = await bought(purchase, world.deps, session, printer, context);
      world.stop();
      if (rows !== undefined) await purchase.show?.(rows.text(), printer);
      // Before anything is called exported.
      await written(context.stdout).catch((error: unknown) => {
        throw result.kind === "quoted" ? error : unread(error, result);
      });
      if (result.kind === "quoted") {
        await printQuote(result.quote, target, printer);
        return result;
      }
      printSummary(result, purchase, printer);
      return result;
    } finally {
      world.stop();
    }
  });
}

/** Whether `--if-older-than` leaves nothing to do, which is said. */
async function isFresh({ flags, view }: Purchase, printer: Printer, context: Context): Promise<boolean> {
  if (flags.ifOlderThan === undefined) return false;
  const { freshness, leftAlone } = await import("../../app/jobs/outcome.ts");
  const fresh = await freshness(view.output, flags.ifOlderThan, context);
  if (fresh === undefined) return false;
  printer.say(leftAlone(fresh, context.now()));
  if (printer.json) {
    const modified_at = new Date(fresh.modified).toISOString();
    printer.document({ skipped: true, output: { file: fresh.file, modified_at } });
  }
  return true;
}

/** Stdout took not all of what was bought: it is kept, so the same command again is not the way to have it. */
function unread(error: unknown, { receipt, run }: ExportResult & { readonly kind: "finished" }): unknown {
  const failure = systemFailure(error);
  if (failure === undefined || errorCode(error) === "EPIPE") return error;
  return failure.with({
    exitCode: EXIT.incomplete,
    details: [
      `${counted(receipt.received, "row")} ${receipt.received === 1 ? "is" : "are"} paid for and kept in run ${run}`,
    ],
    hint: `headcount runs export ${run} writes what it holds at 0 credits`,
  });
}

/** Why nobody matches, and which values match nobody. @param matches of the whole, where that is known */
async function tellWhy(
  { target, strict = false }: Purchase,
  matches: number | null | undefined,
  session: Session,
  printer: Printer,
  context: Context,
): Promise<void> {
  if (target.kind !== "search") return;
  const { filters, union = [filters] } = target;
  const count = (matches === 0 && union.length > 1 ? undefined : matches) ?? undefined;
  const { tellHints } = await import("../hints.ts");
  const segments = union.map((each) => ({ filters: each, count }));
  await tellHints(segments, { strict, session, printer }, context.interrupted);
}

/** Buys, and says why where nobody matches: also where that is refused because a file would be replaced by an empty one. */
async function bought(
  order: Purchase,
  deps: ExportDeps,
  session: Session,
  printer: Printer,
  context: Context,
): Promise<ExportResult> {
  const { target, buy: purchase } = order;
  const explain = (matches?: number | null): Promise<void> => tellWhy(order, matches, session, printer, context);
  try {
    const result = await purchase(deps);
    if (result.kind === "quoted" || result.quote.matches === 0) await explain(result.quote.matches);
    return result;
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    if (error.code === "too_few_rows") await explain();
    const [company] = error.code === "not_found" && target.kind !== "search" ? target.companies : [];
    if (company === undefined) throw error;
    const hint = await nearCompany(company, session, context.interrupted);
    const spelling =
      company.by === "name" ? "a name has to be the service's own; a domain or slug is surer" : error.hint;
    throw error.with({ hint: hint ?? spelling });
  }
}

function captured(): { readonly stream: Writable; readonly text: () => string } {
  const chunks: Buffer[] = [];
  const write = (chunk: Buffer, _encoding: unknown, done: () => void): void => {
    chunks.push(Buffer.from(chunk));
    done();
  };
  return { stream: new Writable({ write }), text: () => Buffer.concat(chunks).toString() };
}

async function worldOf(
  purchase: Purchase,
  session: Session,
  printer: Printer,
  context: Context,
  rows: Writable | undefined,
): Promise<{ readonly deps: ExportDeps; readonly stop: () => void }> {
  const { target, flags, show } = purchase;
  const { now, sleep, random, pid, stderr, interrupted } = context;
  const wording = wordingOf(target);
  // Rows on the same terminal say by themselves how far it is.
  const rowsOnScreen = flags.output === undefined && printer.terminal && stderr.isTTY === true;
  const shown = !printer.quiet && show === undefined && !rowsOnScreen;
  const openProgress = shown ? (await import("../terminal/progress.ts")).openProgress : undefined;
  let progress: Progress | undefined;
  let plan = { rows: 0, cap: "" };
  const asked = flags.dryRun === true || (canPrompt(context) && flags.yes !== true);
  const deps: ExportDeps = {
    ...{ now, sleep, random, pid, interrupted },
    stdout: rows ?? printer.dataStream(formName(purchase.view)),
    seller: session,
    stateDir: stateDir(context),
    disk: new Disk(failpoint(context.env)),
    table: () => printer.rowsTable(),
    consent: async (quote, resuming) => {
      if (!resuming) await tellWhy(purchase, quote.matches, session, printer, context);
      await askConsent(quote, resuming, purchase, printer, context);
    },
    mapError: (error) => mapError(error, session.site),
    onNotice: (text) => (progress === undefined ? session.notice(text) : progress.note(text)),
    onWarning: (text) => (progress === undefined ? printer.say(text) : progress.note(text)),
    onStart: ({ run, kept, rows: total, cap }) => {
      purchase.onRun?.(run);
      plan = { rows: total, cap: formatCreditsGrouped(cap) };
      progress = openProgress?.({
        stream: stderr,
        enabled: true,
        now,
        style: printer.noteStyle,
        unit: wording.one,
        units: wording.many,
        unicode: printer.unicode,
        startedWith: kept,
      });
    },
    onProgress: ({ rows: done, settled, uncertain, wait }) => {
      const unsure = uncertain > 0n ? `, ${formatCreditsGrouped(uncertain)} uncertain` : "";
      const same = formatCreditsGrouped(settled) === grouped(done) && plan.cap === grouped(plan.rows);
      const detail = same ? unsure.slice(2) : `${formatCreditsGrouped(settled)} of ${plan.cap} credits${unsure}`;
      progress?.update({ done, total: plan.rows, detail });
      progress?.wait(wait?.until, `${wait?.why}: ${wait?.reason === "retry" ? "trying again in" : "waiting"}`);
    },
  };
  const known = isNarrowed(target) || (asked && target.kind === "search" && target.sample === undefined);
  if (!known) return { deps, stop: () => progress?.stop() };
  const { ownershipOf } = await import("../../app/own/ownership.ts");
  const { open, close } = ownershipOf(target, boundsOf(flags), deps);
  return {
    deps: { ...deps, ownership: open },
    stop: () => {
      progress?.stop();
      close();
    },
  };
}

/** @throws CliError exit 2 without consent where nobody can be asked, exit 10 where it is declined */
async function askConsent(
  quote: Quote,
  resuming: boolean,
  { target, flags, small }: Purchase,
  printer: Printer,
  context: Context,
): Promise<void> {
  const asks = canPrompt(context);
  if (flags.yes === true || (!asks && flags.maxCredits !== undefined)) return;
  if (small === true && quote.credits <= askAbove(context)) return;
  const { one, many } = wordingOf(target);
  const price = creditsText(quote.credits);
  const fresh = isNarrowed(target) && !resuming ? newIn(quote.known) : undefined;
  const what =
    fresh === undefined
      ? `${counted(rowsToBuy(quote), one, many)} for ${price}`
      : `${counted(fresh, `new ${one}`, `new ${many}`)} for at most ${price}`;
  const spent = quote.kept > 0 ? "nothing more was spent" : "nothing was spent";
  if (!asks) {
    throw usageError(
      `this buys up to ${what}, and there is no terminal to ask at; ${spent}`,
      sameCommand(context, "--max-credits", formatCredits(quote.total)),
      "consent_needed",
    );
  }
  await printer.noteCard(quoteEntries(quote, target, false));
  const agreed = await context.confirm(`${resuming ? "Go on and export" : "Export"} ${what}? [y/N]`).catch((error) => {
    const failure = failureOf(error);
    throw failure.exitCode === EXIT.interrupted ? failure.with({ message: `${failure.message}; ${spent}` }) : error;
  });
  if (agreed) return;
  throw declined(`declined; ${spent}`);
}

/** The most credits that a single look-up may cost without a question. */
function askAbove({ env }: Context): Credits {
  const set = env.HEADCOUNT_ASK_ABOVE;
  const amount = set === undefined || set === "" ? ONE_CREDIT : parseCredits(set);
  if (amount !== undefined && amount >= 0n) return amount;
  throw usageError(`HEADCOUNT_ASK_ABOVE is an amount of credits, not "${echo(set)}"`, "for example 5");
}

async function printQuote(quote: Quote, target: Target, printer: Printer): Promise<void> {
  if (printer.json) printer.document(quoteJson(quote, target));
  else await printer.card(quoteEntries(quote, target, true), 2);
}

/** What is said at the end: the summary on stderr, and with `--json` the receipt on stdout. */
function printSummary(
  { receipt, balance, quote, misses, run }: ExportResult & { readonly kind: "finished" },
  { target, flags, view }: Purchase,
  printer: Printer,
): void {
  const { one, many } = wordingOf(target);
  if (printer.json && view.output !== undefined) printer.document(receipt);
  const whole = wholeOf(target, receipt, quote);
  const short = whole !== undefined && whole > receipt.distinct;
  const most = target.kind === "employees" ? "at most " : "";
  const bought =
    receipt.new_only !== null
      ? newText(receipt.new_only, target, quote)
      : short
        ? `${grouped(receipt.distinct)} of ${most}${counted(whole, one, many)}`
        : counted(receipt.distinct, one, many);
  const { added = null } = receipt.output ?? {};
  const fresh = added === null ? "" : `, ${grouped(added)} of them new there`;
  const where = view.output === undefined ? "" : ` to ${flags.output ?? view.output}${fresh}`;
  const left = balance === undefined ? "" : ` (balance ${formatCreditsGrouped(balance)})`;
  const seed = quote.sample === undefined ? "" : ` by chance (--seed ${quote.sample.seed})`;
  printer.say(`Exported ${bought}${seed} for ${creditsText(parseCredits(receipt.credits) ?? ZERO)}${where}${left}`);
  const again = receipt.new_only?.again ?? 0;
  if (again > 0) {
    printer.note(
      `notice: ${grouped(again)} of the ${grouped(receipt.received)} rows ${again === 1 ? "is of somebody" : "are of people"} you owned: parting them from new ones would have cost more`,
    );
  }
  if (receipt.uncertain_credits > 0) {
    printer.say(
      `warning: ${counted(receipt.uncertain_credits, "more credit")} may have been charged for replies that were lost`,
    );
  }
  const asked = receipt.received + receipt.misses;
  const stopped = { cap: "--max-credits", limit: "--limit" }[quote.bound as string];
  if (stopped !== undefined && short && !receipt.complete && (target.kind === "search" || asked < whole)) {
    const rest = target.kind === "search" ? `buys the other ${grouped(whole - asked)}` : "goes on with the rest";
    const goesOn =
      receipt.new_only === null
        ? `${resumeUpTo(receipt, whole - asked, whole, flags)} ${rest}`
        : "the same command with another -o buys the next ones: these are owned by then";
    printer.note(`notice: stopped at ${stopped}; ${goesOn}`);
  }
  if (receipt.foreign_credits > 0) {
    printer.note(`notice: others spent ${grouped(receipt.foreign_credits)} credits of this balance meanwhile`);
  }
  if (receipt.reused > 0) {
    printer.note(`notice: ${counted(receipt.reused, one, many)} bought before, and not paid for again`);
  }
  if (receipt.withheld > 0) {
    printer.note(
      `notice: the service itself leaves out ${counted(receipt.withheld, "person", "people")} of the segment since it was counted`,
    );
  }
  if (receipt.suppressed > 0) {
    printer.say(
      `notice: ${counted(receipt.suppressed, one, many)} on the suppression list: paid for, and left out of the output`,
    );
  }
  if (receipt.duplicates > 0) {
    const kept = target.kind === "enrich" && target.keep !== undefined;
    const what = kept
      ? "companies are named in more than one way, and paid for each time"
      : "rows came twice and are written once";
    printer.note(`notice: ${grouped(receipt.duplicates)} ${what}`);
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

/** Those who were bought because nobody owned them. */
function newText({ new: fresh }: NonNullable<Receipt["new_only"]>, target: Target, { known }: Quote): string {
  const withOwned = target.kind === "search" && target.owned === "with";
  const people = counted(fresh, "new profile", "new profiles");
  const beside = known === undefined ? "all that you own" : `${grouped(known.owned)} that you own`;
  return withOwned ? `${people} and ${beside}` : people;
}

/** The command that goes on to `whole` where a cap or limit left some out: what is there is not bought again. */
function resumeUpTo(
  { run, credits, uncertain_credits, unit_cost }: Receipt,
  left: number,
  whole: number,
  flags: ExportFlags,
): string {
  const amount = (value: number): bigint => parseCredits(value) ?? ZERO;
  const total = amount(credits) + amount(uncertain_credits) + BigInt(left) * amount(unit_cost);
  const limit = flags.limit === undefined ? "" : ` --limit ${whole}`;
  return `headcount resume ${run}${limit} --max-credits ${formatCredits(total as Credits)}`;
}

/** What there is of what was asked for, where that can be told: people that match, companies that were named. */
function wholeOf(target: Target, receipt: Receipt, quote: Quote): number | undefined {
  if (target.kind === "enrich") return target.companies.length;
  if (quote.sample !== undefined) return quote.sample.rows;
  // The people of companies are counted roughly beforehand: an export that came to its end has all of them.
  if (target.kind === "employees" && receipt.complete) return undefined;
  // Whoever is in two segments was counted in both.
  if (target.kind === "search" && target.union !== undefined && receipt.complete) return undefined;
  return quote.matches ?? undefined;
}
