import { type Holding, holdingsHere } from "../../app/keep/holdings.ts";
import { keptRuns } from "../../app/keep/retention.ts";
import { updateConfig } from "../../engine/connections/config.ts";
import { configDir } from "../../engine/connections/paths.ts";
import type { Context } from "../../shared/context.ts";
import { counted, echo, spanMs } from "../../shared/contract/text.ts";
import { usageError } from "../../shared/errors.ts";
import { bytesText } from "../../shared/numbers.ts";
import { settingsOf } from "../arguments/settings.ts";
import type { Command, GlobalOptions } from "../options.ts";
import {
  type ColumnOf,
  countColumn,
  documentsOf,
  iso,
  printList,
  timeColumn,
} from "../terminal/list.ts";
import { atDesk, type Desk } from "../terminal/printer.ts";

export function register(program: Command, context: Context): void {
  const data = program
    .command("data")
    .description(
      "Show all that headcount keeps of people and of what you asked: where it lies, " +
        "how many, how old. `data set` says how long runs are kept. Offline and free.",
    )
    .examples(`
  $ headcount data
  $ headcount data --json | jq '.kept[] | {what, people, oldest}'
  $ headcount data set runs=90d
  $ headcount data set runs=forever

Policy: runs prune and jobs run remove runs that are over and older than that.
See also: headcount forget, headcount suppress`);

  data
    .command("show", { isDefault: true })
    .description("Show what is kept: where it lies, how many, how old.")
    .examples("\n  $ headcount data show --json")
    .does(
      `reads connection runs library suppression register jobs
      writes library
      exits 5`,
      atDesk(context, show),
    );

  data
    .command("set")
    .description("Say how long runs are kept that are over; what is not named stays.")
    .argument("<setting...>", "runs=90d (12h, 8w), runs=forever")
    .examples("\n  $ headcount data set runs=26w\n  $ headcount data set runs=forever")
    .does(
      `reads connection
      writes connection`,
      atDesk(context, set),
    );
}

async function set({ printer, context }: Desk<GlobalOptions>, settings: readonly string[]) {
  const { runs = "" } = settingsOf("data set", settings, ["runs"]);
  const span = spanMs(runs);
  if (runs !== "forever" && span === undefined)
    throw usageError(
      `runs are kept for 90d, 12h, 8w or forever, not "${echo(runs)}"`,
      "for example runs=90d",
    );

  if (span === 0) {
    throw usageError(
      `"runs=${echo(runs)}" would keep no run at all`,
      "headcount runs prune 0h removes all that are over, once",
    );
  }

  await updateConfig(configDir(context), ({ retention: _, ...config }) =>
    runs === "forever" ? config : { ...config, retention: { runs } },
  );

  const term = keptRuns(context) ?? null;
  if (printer.json) printer.document<"data set">({ retention: { runs: term } });
  printer.note(
    term === null
      ? "runs are kept until somebody removes them"
      : `runs are kept for ${term} after the last thing that happened to them`,
  );
}

async function show({ printer, context }: Desk<GlobalOptions>) {
  const rows = await holdingsHere(context);
  const policy = keptRuns(context) ?? null;

  if (printer.json)
    return printer.document({ retention: { runs: policy }, kept: documentsOf(KEPT_COLUMNS, rows) });
  await printList(KEPT_COLUMNS, rows, printer, "nothing is kept yet");

  const runs = rows.find(({ what }) => what === "runs")?.items ?? 0;
  const said =
    policy === null
      ? "are kept until somebody removes them (headcount data set runs=90d)"
      : `are kept for ${policy}`;

  if (printer.terminal) printer.note(`${counted(runs, "run")} ${said}`);
}

const KEPT_COLUMNS: readonly ColumnOf<Holding>[] = [
  { name: "what" },
  countColumn("items"),
  countColumn("people"),
  countColumn("rows", "paid rows"),
  {
    name: "bytes",
    title: "size",
    align: "right",
    show: ({ bytes }) => (bytes === null ? "" : bytesText(bytes)),
  },
  timeColumn("oldest", "oldest", ({ oldest }) => oldest),
  { name: "newest", title: null, value: ({ newest }) => iso(newest) },
  { name: "path", title: "where", long: true },
];
