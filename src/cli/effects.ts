import type { Command } from "commander";
import { broken } from "./help.ts";
import { pathOf } from "./reading.ts";

/** Words of {@link CALLS} and {@link PLACES}, and exit codes, each parted by blanks. */
export interface Effects {
  /** What it asks of a service. */
  readonly asks?: string;
  readonly reads?: string;
  readonly writes?: string;
  /** Exit codes beside those that every command has: {@link EVERY}. */
  readonly exits?: string;
}

/** By its first word what the rest of a line says. */
const byWord = (lines: string): Readonly<Record<string, string>> =>
  Object.fromEntries(lines.split(/\n\s*/).map((line) => line.split(/ (.*)/)));

export const CALLS = byWord(`account GET /v1/account
  key GET /key
  count POST /v1/person/count
  search POST /v1/person/search
  enrich GET /v1/company/enrich
  employees GET /v1/company/employees
  facets POST /facets
  counts POST /counts
  sketch POST /sketch
  people POST /people`);

/** Where something lies, as it is said. */
export const PLACES = byWord(`connection config.json, the API key
  given files that are named
  output the output that is named
  segments saved segments
  runs runs
  library the library
  suppression the suppression list
  register the register of outputs
  jobs histories of jobs
  pacing the pace of calls
  sync the synced folder
  data the data folder of a service`);

/** What says where that is; of what is not here, {@link STATE}. */
const VARIABLES = byWord(`connection HEADCOUNT_CONFIG_DIR HEADCOUNT_CONNECTION \
HEADCOUNT_BASE_URL HEADCOUNT_PAGING HEADCOUNT_API_KEY
  given
  output
  segments HEADCOUNT_CONFIG_DIR
  sync HEADCOUNT_STATE_DIR HEADCOUNT_SYNC_KEY
  data XDG_DATA_HOME`);

const STATE = "HEADCOUNT_STATE_DIR";

export const EVERY = "0 2 141";

/**
 * Of commands, with a comma between them, what each of them touches: {@link Effects}. Of a service
 * the ledger that is closed is sealed, also by who only looked.
 */
const TABLE = `
count
  asks account key count facets
  reads connection given segments runs library suppression
  writes library runs pacing
  exits 3 4 5 7 8 9 10 130
account
  asks account key
  reads connection
  writes pacing
  exits 3 7 8 130
filters
  asks facets
  reads connection
  writes pacing
  exits 3 7 8 130
segment list, segment show
  reads segments
segment save
  reads given segments
  writes segments
segment remove
  reads segments
  writes segments
search, read, refresh
  asks account key count search facets sketch people
  reads connection given segments runs library suppression register
  writes output runs library register pacing
  exits 3 4 5 6 7 8 9 10 130
enrich
  asks account key enrich
  reads connection given segments runs library suppression register
  writes output runs library register pacing
  exits 3 4 5 6 7 8 9 10 130
employees
  asks account key count enrich employees counts sketch people search
  reads connection given segments runs library suppression register
  writes output runs library register pacing
  exits 3 4 5 6 7 8 9 10 130
mcp, resume
  asks account key count search facets sketch people enrich employees counts
  reads connection given segments runs library suppression register
  writes output runs library register pacing
  exits 3 4 5 6 7 8 9 10 130
mcp install
  reads connection runs
runs list, spend
  reads runs
  exits 5
runs show
  reads runs suppression
  exits 5
runs export
  reads runs suppression register
  writes output register
  exits 5 8 9 130
runs remove, runs prune
  reads runs library suppression
  writes runs library
  exits 5 9 10
owned status, owned show, owned rebuild
  reads connection runs library suppression
  writes library
  exits 5 6 9 130
owned export
  reads connection runs library suppression
  writes library output register
  exits 5 6 9 130
owned import, sql
  reads connection runs library suppression given
  writes library
  exits 5 6 9 130
suppress add, suppress remove
  reads runs library suppression
  writes suppression library
  exits 5 6 9
suppress import
  reads runs library suppression given
  writes suppression library
  exits 5 6 9
suppress list
  reads suppression
  exits 5 6 9
suppress check
  reads runs library suppression
  writes library
  exits 5 6 9
forget
  reads given output connection segments runs library suppression register jobs
  writes output runs library suppression register jobs
  exits 5 6 9 10 130
data show
  reads connection runs library suppression register jobs
  writes library
  exits 5
data set, logout, connections use, connections set, connections remove
  reads connection
  writes connection
sync
  reads connection segments runs library suppression sync
  writes connection segments runs library suppression register sync
  exits 5 9 130
jobs run
  asks account key count search facets sketch people enrich employees counts
  reads connection given segments runs library suppression register jobs sync
  writes output runs library register pacing jobs sync connection
  exits 1 3 4 5 6 7 8 9 10 130
jobs status
  reads given connection jobs runs
jobs check
  reads given connection jobs runs
  exits 5
login
  asks account
  reads connection
  writes connection
  exits 3 7 8 130
connections list, connections show
  reads connection
connections add
  asks account
  reads connection given
  writes connection pacing
  exits 3 7 8 130
connections dialects, schema, completion
doctor
  asks account count search employees
  reads connection runs
  writes runs
  exits 1 3 4 5 7 8 130
serve
  reads data
  writes data
  exits 1 8 130
service import
  reads data given
  writes data
  exits 1 5 8 9 130
service generate, service dataset rollback, service accounts create, service accounts list,
service accounts suspend, service accounts resume, service keys create, service keys rotate,
service keys list, service keys set, service keys revoke, service credits add,
service credits remove, service credits refund, service credits show, service plan set,
service plan show, service entries, service usage, service audit, service link, service sessions,
service sessions end, service suppress add, service suppress remove
  reads data
  writes data
  exits 1 8 9
service dataset list, service suppress list, service verify
  reads data
  exits 1 8 9
service suppress import
  reads data given
  writes data
  exits 1 8 9
service suppress check
  reads data
  exits 6 8 9
service forget
  reads data
  writes data
  exits 5 6 8 9 10
service backup
  reads data
  writes output
  exits 1 5 8 9
service restore
  reads given
  writes data
  exits 1 5 8 9
`;

/** Every command that does something by itself; test/cli/effects.test.ts runs them and compares. */
export const EFFECTS: Readonly<Record<string, Effects>> = Object.fromEntries(
  TABLE.trim()
    .split(/\n(?=\w)(?<!,\n)/)
    .flatMap((block) => {
      const [names = ""] = block.split("\n  ", 1);
      const effects: Effects = byWord(block.slice(names.length).trim());
      return names.split(/,\s/).map((name) => [name, effects]);
    }),
);

const words = (text = ""): readonly string[] => text.split(" ").filter((word) => word !== "");

export const variablesOf = ({ reads, writes }: Effects): readonly string[] => [
  ...new Set(
    words(`${reads ?? ""} ${writes ?? ""}`).flatMap((place) => words(VARIABLES[place] ?? STATE)),
  ),
];

export const exitsOf = ({ exits }: Effects): readonly number[] =>
  words(`${EVERY} ${exits ?? ""}`)
    .map(Number)
    .sort((one, other) => one - other);

/** What a man page and `--help-all` say of it; nothing of a command that only has others. */
export function effectsText(command: Command, width: number): string {
  const effects = EFFECTS[pathOf(command)];
  if (effects === undefined) return "";

  const said = (list: string | undefined) => words(list).map((word) => CALLS[word] ?? PLACES[word]);
  const told = Object.entries({
    Asks: said(effects.asks),
    Reads: said(effects.reads),
    Writes: said(effects.writes),
    Variables: variablesOf(effects),
    Exit: exitsOf(effects),
  })
    .filter(([, list]) => list.length > 0)
    .map(([name, list]) => {
      const parts = [`  ${name.padEnd(10)}`, ...list.join(", ").split(/(?<=,) /)];
      return broken(parts, " ".repeat(13), "", width).join("\n");
    });
  return `\nTouches:\n${told.join("\n")}`;
}
