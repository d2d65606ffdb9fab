import type { Context } from "../context.ts";
import { formatCredits, formatCreditsGrouped, parseCredits, ZERO } from "../contract/money.ts";
import { grouped } from "../contract/text.ts";
import { CliError, EXIT } from "../errors.ts";
import type { ExportDeps, ExportOptions, ExportResult } from "../purchase/purchase.ts";
import type { Quote } from "../purchase/quote.ts";
import type { Target } from "../runs/plan.ts";
import type { Progress } from "../terminal/progress.ts";
import { consentMode, type ExportFlags, sameCommand } from "./export-options.ts";
import type { Session } from "./session.ts";

/** What is bought: for texts. */
export interface Wording {
  readonly one: string;
  readonly many: string;
}

export const PROFILES: Wording = { one: "profile", many: "profiles" };
export const COMPANIES: Wording = { one: "company", many: "companies" };

export interface Terminal {
  readonly deps: ExportDeps;
  /** Takes progress away before anything else is printed. */
  stop(): void;
}

/** The outside world of an export: prompts, progress and tables of this terminal, the folders of this environment. */
export async function exportTerminal(
  session: Session,
  context: Context,
  flags: Pick<ExportFlags, "yes" | "maxCredits" | "quiet" | "color" | "output">,
  wording: Wording,
): Promise<Terminal> {
  const { now, sleep, random, pid, stdout, interrupted } = context;
  const shown =
    flags.quiet !== true &&
    // Rows on the same terminal say by themselves how far it is.
    (flags.output !== undefined || stdout.isTTY !== true || context.stderr.isTTY !== true);
  const [{ Disk }, { failpoint }, { stateDir }, { mapError }, style, progressModule] = await Promise.all([
    import("../runs/disk.ts"),
    import("../runs/failpoint.ts"),
    import("../connections/paths.ts"),
    import("./failures.ts"),
    import("../terminal/style.ts"),
    shown ? import("../terminal/progress.ts") : undefined,
  ]);
  const onStderr = style.styleFor(style.hasColor(context.stderr, context.env, flags.color));
  let progress: Progress | undefined;
  let plan = { rows: 0, cap: "" };
  const deps: ExportDeps = {
    now,
    sleep,
    random,
    pid,
    stdout,
    interrupted,
    seller: session,
    stateDir: stateDir(context),
    disk: new Disk(failpoint(context.env)),
    table: async () => {
      const { createRowsTable } = await import("../terminal/table.ts");
      const onStdout = style.styleFor(style.hasColor(stdout, context.env, flags.color));
      return (columns) => createRowsTable(columns, { width: style.widthOfStream(stdout), style: onStdout });
    },
    consent: (quote, resuming) => askConsent(quote, resuming, context, flags, wording),
    mapError: (error) => mapError(error, session.site),
    onNotice: (text) => (progress === undefined ? session.notice(text) : progress.note(text)),
    onStart: ({ kept, rows, cap }) => {
      plan = { rows, cap: formatCreditsGrouped(cap) };
      progress = progressModule?.openProgress({
        stream: context.stderr,
        enabled: true,
        now,
        style: onStderr,
        unit: wording.one,
        units: wording.many,
        startedWith: kept,
      });
    },
    onProgress: ({ rows, settled, uncertain, wait }) => {
      const unsure = uncertain > 0n ? `, ${formatCreditsGrouped(uncertain)} uncertain` : "";
      progress?.update({
        done: rows,
        total: plan.rows,
        detail: `${formatCreditsGrouped(settled)} of ${plan.cap} credits${unsure}`,
      });
      progress?.wait(wait?.until, wait?.reason === "retry" ? `trying again (${wait.why})` : wait?.why);
    },
  };
  return { deps, stop: () => progress?.stop() };
}

/** The rules of cli.md, "Export options" 2. @throws CliError exit 2 without consent off a terminal, exit 10 where declined */
async function askConsent(
  quote: Quote,
  resuming: boolean,
  context: Context,
  flags: Pick<ExportFlags, "yes" | "maxCredits" | "color">,
  wording: Wording,
): Promise<void> {
  const mode = consentMode(context, flags);
  if (mode === "given") return;
  const rows = quote.rows - quote.kept;
  const what = `${rows === 1 ? `1 ${wording.one}` : `${grouped(rows)} ${wording.many}`} for ${formatCreditsGrouped(quote.credits)} credits`;
  if (mode === "missing") {
    throw new CliError({
      code: "consent_needed",
      category: "usage",
      exitCode: EXIT.usage,
      message: `this buys up to ${what}, and there is no terminal to ask at; nothing was spent`,
      hint: sameCommand(context, "--max-credits", formatCredits(quote.credits)),
    });
  }
  context.stderr.write(await quoteTable(quote, context, flags, wording));
  const verb = resuming ? "Go on and export" : "Export";
  if (await context.confirm(`${verb} ${what}? [y/N]`)) return;
  throw new CliError({
    code: "declined",
    category: "declined",
    exitCode: EXIT.declined,
    message: "declined; nothing was spent",
  });
}

/** The quote for a person. */
export async function quoteTable(
  quote: Quote,
  context: Context,
  flags: Pick<ExportFlags, "color">,
  wording: Wording,
): Promise<string> {
  const [{ renderCard }, { duration }, { hasColor, styleFor, widthOfStream }] = await Promise.all([
    import("../terminal/table.ts"),
    import("../terminal/numbers.ts"),
    import("../terminal/style.ts"),
  ]);
  const style = styleFor(hasColor(context.stderr, context.env, flags.color));
  const why = {
    matches: "",
    companies: "",
    limit: " (--limit)",
    cap: " (--max-credits)",
    depth: " (the service goes no deeper)",
  };
  return renderCard(
    [
      [
        wording === COMPANIES ? "companies" : "matches",
        quote.matches === null ? "not known beforehand" : grouped(quote.matches),
      ],
      ["kept already", quote.kept === 0 ? undefined : grouped(quote.kept)],
      ["to buy", `${quote.matches === null ? "at most " : ""}${grouped(quote.rows - quote.kept)}${why[quote.bound]}`],
      ["price", `${formatCreditsGrouped(quote.unitPrice)} a ${wording.one}`],
      ["credits", `${quote.matches === null ? "at most " : ""}${formatCreditsGrouped(quote.credits)}`],
      ["balance", quote.balance === undefined ? "not told" : formatCreditsGrouped(quote.balance)],
      ["after", quote.balanceAfter === undefined ? undefined : formatCreditsGrouped(quote.balanceAfter)],
      ["requests", grouped(quote.requests)],
      [
        "time",
        quote.durationMs === 0 ? "no wait for the rate limit" : `about ${duration(quote.durationMs)} at the rate limit`,
      ],
    ],
    { width: widthOfStream(context.stderr), style, indent: 2 },
  );
}

/** What is said at the end: the summary on stderr, and with `--json` the receipt or the quote on stdout. */
export async function printResult(
  result: ExportResult,
  target: Target,
  options: Pick<ExportOptions, "output" | "format" | "fields">,
  flags: Pick<ExportFlags, "json" | "color" | "quiet" | "output">,
  context: Context,
  wording: Wording,
): Promise<void> {
  if (result.kind === "quoted") {
    if (flags.json === true) {
      const { quoteJson } = await import("../purchase/purchase.ts");
      context.stdout.write(`${JSON.stringify(quoteJson(result.quote, target))}\n`);
    } else context.stdout.write(await quoteTable(result.quote, context, flags, wording));
    return;
  }
  const { receipt, balance, quote, misses, run } = result;
  if (flags.json === true && options.output !== undefined) context.stdout.write(`${JSON.stringify(receipt)}\n`);
  const rows = receipt.distinct === 1 ? `1 ${wording.one}` : `${grouped(receipt.distinct)} ${wording.many}`;
  const credits = formatCreditsGrouped(parseCredits(receipt.credits) ?? ZERO);
  const where = options.output === undefined ? "" : ` to ${flags.output ?? options.output}`;
  const left = balance === undefined ? "" : ` (balance ${formatCreditsGrouped(balance)})`;
  const say = (text: string): void => void context.stderr.write(`${text}\n`);
  say(`Exported ${rows} for ${credits} ${credits === "1" ? "credit" : "credits"}${where}${left}`);
  if (receipt.uncertain_credits > 0) {
    say(`warning: ${receipt.uncertain_credits} more credits may have been charged for replies that were lost`);
  }
  if (flags.quiet === true) return;
  const whole = quote.matches ?? receipt.received;
  if (quote.bound === "cap" && whole > quote.rows) say(`notice: stopped at --max-credits; ${grouped(whole)} match`);
  if (quote.bound === "limit" && whole > quote.rows) say(`notice: stopped at --limit; ${grouped(whole)} match`);
  if (receipt.foreign_credits > 0)
    say(`notice: others spent ${receipt.foreign_credits} credits of this balance meanwhile`);
  if (receipt.duplicates > 0) say(`notice: ${grouped(receipt.duplicates)} rows came twice and are written once`);
  if (misses.length > 0) {
    const some = misses.slice(0, 5).join(", ");
    say(`notice: ${grouped(misses.length)} not found, free of charge: ${some}${misses.length > 5 ? ", ..." : ""}`);
  }
  if (options.format === "table" && options.fields === undefined) {
    say(`notice: these are the main columns; headcount runs export ${run} -o FILE writes all of them at 0 credits`);
  }
}
