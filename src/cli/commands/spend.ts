import { openRuns } from "../../app/keep/store.ts";
import { SAMPLE } from "../../engine/connections/config.ts";
import { type DaySpend, NO_SPENDING } from "../../engine/runs/journal.ts";
import { type RunSpend, readSpend } from "../../engine/runs/spend.ts";
import type { Context } from "../../shared/context.ts";
import {
  type Credits,
  credits,
  creditsText,
  creditsToNumber,
  ZERO,
} from "../../shared/contract/money.ts";
import { grouped } from "../../shared/contract/text.ts";
import { timeText } from "../../shared/numbers.ts";
import { type Command, type GlobalOptions, sinceMs } from "../options.ts";
import {
  type ColumnOf,
  creditsColumn,
  documentsOf,
  printList,
  valueShown,
} from "../terminal/list.ts";
import { atDesk, type Desk } from "../terminal/printer.ts";

const GROUPINGS = ["day", "run", "connection", "job", "machine"] as const;
type Grouping = (typeof GROUPINGS)[number];

interface SpendOptions extends GlobalOptions {
  readonly since: string;
  readonly by: Grouping;
  readonly mode: "live" | "test";
}

export function register(program: Command, context: Context): void {
  program
    .command("spend")
    .description(
      "Show what exports spent: added up from the runs of this machine, and of those that it " +
        "syncs with; removed ones too; offline and free.",
    )
    .option(
      "--since <when>",
      "how far back: 2m (minutes), 12h, 30d, 8w, a date such as 2026-01-31, or all",
      "30d",
    )
    .oneOf("--by <what>", "one line for each", GROUPINGS, "day")
    .oneOf(
      "--mode <mode>",
      "live credits, or the simulated ones of test keys",
      ["live", "test"],
      "live",
    )
    .examples(`
  $ headcount spend                                  30 days, a line a day (UTC)
  $ headcount spend --since 2026-11-01               a month, from its first day on
  $ headcount -c sample spend --by run --since all   of one connection
  $ headcount spend --by connection > spend.csv
  $ headcount spend --by machine                     who of a team spent what
  $ headcount spend --since 7d --json | jq .total.settled

settled:   charged, and the rows are kept.
uncertain: a lost reply, or an answer that should be free, may have cost this.
pending:   requests without a reply may have cost this: headcount resume asks
           again, and finds out.
foreign:   left the same balance meanwhile and no answer tells why: others
           spent them, or the service takes more than it says.
declared:  what the file of a vendor says that these pages cost.
told:      what of it the vendor said, or its balance; the rest is settled
           as declared.
A pipe gets CSV.`)
    .does(
      `reads runs chosen
      exits 5`,
      atDesk(context, spend),
    );
}

type Amount = keyof typeof NO_SPENDING;
const AMOUNTS = Object.keys(NO_SPENDING) as readonly Amount[];
type Sums = Record<Amount, Credits> & { rows: number };

interface Group {
  readonly of: readonly string[];
  readonly sums: Sums;
}

const noSums = (): Sums => ({ ...NO_SPENDING, rows: 0 });

async function spend({ options, printer, context }: Desk<SpendOptions>) {
  const since = sinceMs(options.since, context.now());
  const { runs, damaged } = await readSpend(openRuns(context).folder, since);
  // Its credits are no money: they are in no sum, but where they are asked for.
  const isAsked = (options.connection || context.env.HEADCOUNT_CONNECTION) === SAMPLE;
  const spentOn = (isSample: boolean) =>
    fold(
      runs.filter(({ connection }) => (connection === SAMPLE) === isSample),
      options,
    );
  const { groups, total } = spentOn(isAsked);
  const sample = isAsked ? ZERO : spentOn(true).total.sums.settled;

  for (const id of damaged) {
    printer.say(
      `warning: run ${id} is damaged: what it spent counts only as far as it can be read`,
    );
  }

  // A connection has a name, and an address: "environment"
  // is what all of those are called that variables make up.
  const keys = options.by === "connection" ? ["connection", "service"] : [options.by];

  if (printer.json) {
    return printer.document({
      since: new Date(since).toISOString(),
      by: options.by,
      key_mode: options.mode,
      groups: documentsOf([...keyColumns(keys), ...SUMS], groups),
      total: documentsOf(SUMS, [total])[0],
      sample: creditsToNumber(sample),
      damaged,
    });
  }
  if (sample > 0n)
    printer.note(`${creditsText(sample)} of the sample beside them, which are no money: -c sample`);

  const kind = options.mode === "test" ? "simulated credits" : "credits";
  const span = since === 0 ? "" : ` since ${timeText(since)}`;
  const none = `No ${kind} spent from this machine${span}.`;

  if (!printer.terminal || groups.length === 0)
    return await printList([...keyColumns(keys), ...SUMS], groups, printer, none);

  // Columns that hold nothing are left out for a person; CSV and JSON always have them.
  const shown = SUMS.filter(
    (column) => column.name === "settled" || valueShown(column, total) !== 0,
  );

  await printList([...keyColumns(keys), ...shown], [...groups, total], printer, none);
}

const keyColumns = (keys: readonly string[]): readonly ColumnOf<Group>[] =>
  keys.map((name, index) => ({
    name,
    title: name,
    long: true,
    value: ({ of }) => of[index] ?? null,
  }));

const SUMS: readonly ColumnOf<Group>[] = [
  {
    name: "profiles",
    align: "right",
    value: ({ sums }) => sums.rows,
    show: ({ sums }) => grouped(sums.rows),
  },
  ...AMOUNTS.map((name) => {
    const column = creditsColumn<Group>(name, name, ({ sums }) => sums[name]);
    const isBlank = ({ sums }: Group): boolean => sums[name] === ZERO && name !== "settled";
    return {
      ...column,
      show: (group: Group) => (isBlank(group) ? "" : (column.show?.(group) ?? "")),
    };
  }),
];

function fold(
  runs: readonly RunSpend[],
  options: SpendOptions,
): { groups: readonly Group[]; total: Group } {
  const total = { of: ["total"], sums: noSums() };
  const groups = new Map<string, Group>();
  for (const run of runs) {
    if (options.connection !== undefined && run.connection !== options.connection) continue;
    if ((run.key_mode === "test") !== (options.mode === "test")) continue;

    for (const day of run.days) {
      const of = keyOf(run, day, options.by);
      const group = groups.get(of.join("\n")) ?? { of, sums: noSums() };
      groups.set(of.join("\n"), group);
      for (const { sums } of [group, total]) {
        sums.rows += day.rows;
        for (const name of AMOUNTS) sums[name] = credits(sums[name] + day[name]);
      }
    }
  }

  return {
    groups: [...groups].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, group]) => group),
    total,
  };
}

function keyOf(run: RunSpend, { from }: DaySpend, by: Grouping): readonly string[] {
  if (by === "day") return [new Date(from).toISOString().slice(0, 10)];
  if (by === "job") return [run.job ?? "(by hand)"];
  if (by === "machine") return [run.machine?.name ?? "(here)"];
  return by === "run" ? [run.run] : [run.connection, run.base_url];
}
