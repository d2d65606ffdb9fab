import { type Command, Option } from "commander";
import type { Context } from "../context.ts";
import {
  addCredits,
  type Credits,
  creditsToNumber,
  formatCredits,
  formatCreditsGrouped,
  ZERO,
} from "../contract/money.ts";
import { spanMs } from "../contract/text.ts";
import { usageError } from "../errors.ts";
import type { GlobalOptions } from "../options.ts";
import { creditsOf, type DaySpend } from "../runs/journal.ts";
import type { RunSpend } from "../runs/spend.ts";
import { openStore } from "./open-runs.ts";

type Grouping = "day" | "run" | "connection";

export interface SpendOptions extends GlobalOptions {
  readonly since: string;
  readonly by: Grouping;
  readonly test?: boolean;
  readonly format?: "table" | "csv" | "json";
}

export function register(program: Command, context: Context): void {
  program
    .command("spend")
    .summary("show what was spent, from the runs that are kept")
    .description("Show what exports on this machine spent: added up from its runs, removed ones too; offline and free.")
    .option("--since <when>", "how far back: 12h, 30d, 8w, a date such as 2026-01-31, or all", "30d")
    .addOption(new Option("--by <what>", "one line for each").choices(["day", "run", "connection"]).default("day"))
    .option("--test", "the simulated credits of test keys instead")
    .addOption(new Option("--format <format>", "table, csv or json").choices(["table", "csv", "json"]))
    .addHelpText(
      "after",
      `
Examples:
  $ headcount spend                                     the last 30 days, a line a day (UTC)
  $ headcount -c sample spend --by run --since all      of one connection
  $ headcount spend --by connection --format csv
  $ headcount spend --since 7d --json | jq .total.settled

settled: charged, and the rows are kept. uncertain: a lost reply may have cost this. refunded: uncertain credits that
turned out not to be lost. foreign: others spent them from the same balance while an export ran. A pipe gets CSV.`,
    )
    .action(async (_: unknown, self: Command) => {
      await run(self.optsWithGlobals<SpendOptions>(), context);
    });
}

interface Sums {
  settled: Credits;
  uncertain: Credits;
  refunded: Credits;
  foreign: Credits;
  rows: number;
}

const COLUMNS = ["settled", "uncertain", "refunded", "foreign"] as const;
const noSums = (): Sums => ({ settled: ZERO, uncertain: ZERO, refunded: ZERO, foreign: ZERO, rows: 0 });

async function run(options: SpendOptions, context: Context): Promise<void> {
  const since = sinceMs(options.since, context.now());
  const [{ readSpend }, store] = await Promise.all([import("../runs/spend.ts"), openStore(context)]);
  const { runs, damaged } = await readSpend(store.folder, since);
  const total = noSums();
  const groups = new Map<string, Sums>();
  for (const spend of runs) {
    if (options.connection !== undefined && spend.connection !== options.connection) continue;
    if ((spend.key_mode === "test") !== (options.test === true)) continue;
    for (const day of spend.days) {
      const key = keyOf(spend, day, options.by);
      const group = groups.get(key) ?? noSums();
      groups.set(key, group);
      for (const sums of [group, total]) {
        sums.rows += day.rows;
        for (const name of COLUMNS) sums[name] = addCredits(sums[name], creditsOf(day[name]));
      }
    }
  }
  for (const id of damaged) {
    context.stderr.write(`warning: run ${id} is damaged: what it spent counts only as far as it can be read\n`);
  }
  const sorted = [...groups].sort(([a], [b]) => (a < b ? -1 : 1));
  const format = options.json === true ? "json" : (options.format ?? (context.stdout.isTTY === true ? "table" : "csv"));
  if (format === "json")
    context.stdout.write(`${JSON.stringify(spendDocument(options, since, sorted, total, damaged))}\n`);
  else if (format === "csv") {
    const { csvDocument } = await import("../output/csv.ts");
    // Amounts are decimals without an exponent, so that they stay exact and stay numbers.
    const rows = sorted.map(([key, sums]) => [key, sums.rows, ...COLUMNS.map((name) => formatCredits(sums[name]))]);
    context.stdout.write(csvDocument([options.by, "profiles", ...COLUMNS], rows));
  } else await printTable(options, sorted, total, context);
}

function keyOf(spend: RunSpend, { from }: DaySpend, by: Grouping): string {
  if (by === "day") return new Date(from).toISOString().slice(0, 10);
  return by === "run" ? spend.run : spend.connection;
}

/** Reads `--since`. @returns epoch milliseconds */
export function sinceMs(text: string, now: number): number {
  if (text === "all") return 0;
  const span = spanMs(text);
  if (span !== undefined) return now - span;
  const date = /^\d{4}-\d\d-\d\d(T[\d:.]+(Z|[+-]\d\d:\d\d))?$/.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(date)) return date;
  throw usageError(
    `--since takes 12h, 30d, 8w, a date such as 2026-01-31, or all, not "${text}"`,
    "for example --since 7d",
  );
}

const numbers = (sums: Sums) => ({
  profiles: sums.rows,
  settled: creditsToNumber(sums.settled),
  uncertain: creditsToNumber(sums.uncertain),
  refunded: creditsToNumber(sums.refunded),
  foreign: creditsToNumber(sums.foreign),
});

/** `spend --json`. Credits are JSON numbers. */
function spendDocument(
  options: SpendOptions,
  since: number,
  groups: readonly (readonly [string, Sums])[],
  total: Sums,
  damaged: readonly string[],
) {
  return {
    since: new Date(since).toISOString(),
    by: options.by,
    key_mode: options.test === true ? "test" : "live",
    groups: groups.map(([key, sums]) => ({ [options.by]: key, ...numbers(sums) })),
    total: numbers(total),
    damaged,
  };
}

async function printTable(
  options: SpendOptions,
  groups: readonly (readonly [string, Sums])[],
  total: Sums,
  context: Context,
): Promise<void> {
  const [{ grouped }, { renderTable }, { hasColor, styleFor, widthOfStream }] = await Promise.all([
    import("../terminal/numbers.ts"),
    import("../terminal/table.ts"),
    import("../terminal/style.ts"),
  ]);
  const kind = options.test === true ? "simulated credits" : "credits";
  const span =
    options.since === "all" ? "" : `${/^\d+[hdw]$/.test(options.since) ? " in the last" : " since"} ${options.since}`;
  if (groups.length === 0) {
    if (options.quiet !== true) context.stderr.write(`No ${kind} spent from this machine${span}.\n`);
    return;
  }
  const style = styleFor(hasColor(context.stdout, context.env, options.color));
  // Columns that hold nothing are left out for a person; CSV and JSON always have them.
  const shown = COLUMNS.filter((name) => name === "settled" || total[name] !== ZERO);
  const line = (label: string, sums: Sums): string[] => [
    label,
    grouped(sums.rows),
    ...shown.map((name) => (sums[name] === ZERO && name !== "settled" ? "" : formatCreditsGrouped(sums[name]))),
  ];
  context.stdout.write(
    renderTable(
      [
        { title: options.by },
        { title: "profiles", align: "right", fixed: true },
        ...shown.map((name) => ({ title: name, align: "right" as const, fixed: true })),
      ],
      [...groups.map(([key, sums]) => line(key, sums)), line("total", total)],
      { width: widthOfStream(context.stdout), style },
    ),
  );
}
