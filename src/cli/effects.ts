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

export const CALLS: Readonly<Record<string, string>> = {
  account: "GET /v1/account",
  key: "GET /key",
  count: "POST /v1/person/count",
  search: "POST /v1/person/search",
  enrich: "GET /v1/company/enrich",
  employees: "GET /v1/company/employees",
  facets: "POST /facets",
  counts: "POST /counts",
  sketch: "POST /sketch",
  people: "POST /people",
};

/** Where something lies, as it is said, and the variables that say where. */
export const PLACES: Readonly<Record<string, readonly [place: string, variables: string]>> = {
  connection: [
    "config.json, the API key",
    "HEADCOUNT_CONFIG_DIR HEADCOUNT_CONNECTION HEADCOUNT_BASE_URL HEADCOUNT_PAGING HEADCOUNT_API_KEY",
  ],
  given: ["files that are named", ""],
  output: ["the output that is named", ""],
  segments: ["saved segments", "HEADCOUNT_CONFIG_DIR"],
  runs: ["runs", "HEADCOUNT_STATE_DIR"],
  library: ["the library", "HEADCOUNT_STATE_DIR"],
  suppression: ["the suppression list", "HEADCOUNT_STATE_DIR"],
  register: ["the register of outputs", "HEADCOUNT_STATE_DIR"],
  jobs: ["histories of jobs", "HEADCOUNT_STATE_DIR"],
  pacing: ["the pace of calls", "HEADCOUNT_STATE_DIR"],
  sync: ["the synced folder", "HEADCOUNT_STATE_DIR HEADCOUNT_SYNC_KEY"],
  data: ["the data folder of a service", "XDG_DATA_HOME"],
};

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
      const [names = "", ...fields] = block.split("\n  ");
      const effects = Object.fromEntries(fields.map((line) => line.split(/ (.*)/)));
      return names.split(/,\s/).map((name): [string, Effects] => [name, effects]);
    }),
);

const words = (text: string | undefined): readonly string[] => text?.split(" ") ?? [];

export const variablesOf = ({ reads, writes }: Effects): readonly string[] => [
  ...new Set(
    [...words(reads), ...words(writes)].flatMap((place) =>
      (PLACES[place]?.[1] ?? "").split(" ").filter((name) => name !== ""),
    ),
  ),
];

export const exitsOf = ({ exits }: Effects): readonly number[] =>
  [...words(EVERY), ...words(exits)].map(Number).sort((one, other) => one - other);

/** What a man page and `--help-all` say of it; nothing of a command that only has others. */
export function effectsText(command: Command, width: number): string {
  const effects = EFFECTS[pathOf(command)];
  if (effects === undefined) return "";

  const places = (list: string | undefined) =>
    words(list).map((place) => PLACES[place]?.[0] ?? place);
  const rows: readonly (readonly [string, readonly string[]])[] = [
    ["Asks", words(effects.asks).map((call) => CALLS[call] ?? call)],
    ["Reads", places(effects.reads)],
    ["Writes", places(effects.writes)],
    ["Variables", variablesOf(effects)],
    ["Exit", exitsOf(effects).map(String)],
  ];

  const line = ([name, list]: (typeof rows)[number]): string => {
    const parts = list.map((each, at) => (at < list.length - 1 ? `${each},` : each));
    return broken([`  ${name.padEnd(10)}`, ...parts], " ".repeat(13), "", width).join("\n");
  };
  const told = rows.filter(([, list]) => list.length > 0).map(line);
  return `\nTouches:\n${told.join("\n")}`;
}
