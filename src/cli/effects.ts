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

const ASKING = "3 7 8 130";
const BUYING: Effects = {
  asks: "account key count search facets sketch people",
  reads: "connection given segments runs library suppression register",
  writes: "output runs library register pacing",
  exits: "3 4 5 6 7 8 9 10 130",
};
const OWNED: Effects = {
  reads: "connection runs library suppression",
  writes: "library",
  exits: "5 6 9 130",
};
const LISTED: Effects = { reads: "runs library suppression", exits: "5 6 9" };
const SERVED: Effects = { reads: "data", exits: "1 8 9" };
/** A ledger that is closed is sealed, also by who only looked. */
const SERVING: Effects = { ...SERVED, writes: "data" };

/** Every command that does something by itself; the test runs them and compares. */
export const EFFECTS: Readonly<Record<string, Effects>> = {
  count: {
    asks: "account key count facets",
    reads: "connection given segments runs library suppression",
    writes: "library runs pacing",
    exits: `4 5 9 10 ${ASKING}`,
  },
  account: { asks: "account key", reads: "connection", writes: "pacing", exits: ASKING },
  filters: { asks: "facets", reads: "connection", writes: "pacing", exits: ASKING },
  "segment list": { reads: "segments" },
  "segment save": { reads: "given segments", writes: "segments" },
  "segment show": { reads: "segments" },
  "segment remove": { reads: "segments", writes: "segments" },

  search: BUYING,
  read: BUYING,
  enrich: { ...BUYING, asks: "account key enrich" },
  employees: { ...BUYING, asks: "account key count enrich employees counts sketch people search" },
  refresh: BUYING,
  mcp: { ...BUYING, asks: `${BUYING.asks} enrich employees counts` },
  "mcp install": { reads: "connection runs" },

  "runs list": { reads: "runs", exits: "5" },
  "runs show": { reads: "runs suppression", exits: "5" },
  "runs export": {
    reads: "runs suppression register",
    writes: "output register",
    exits: "5 8 9 130",
  },
  "runs remove": {
    reads: "runs library suppression",
    writes: "runs library",
    exits: "5 9 10",
  },
  "runs prune": { reads: "runs library suppression", writes: "runs library", exits: "5 9 10" },
  resume: { ...BUYING, asks: `${BUYING.asks} enrich employees counts` },
  spend: { reads: "runs", exits: "5" },
  "owned status": OWNED,
  "owned show": OWNED,
  "owned export": { ...OWNED, writes: "library output register" },
  "owned import": { ...OWNED, reads: `${OWNED.reads} given` },
  "owned rebuild": OWNED,
  sql: { ...OWNED, reads: `${OWNED.reads} given` },

  "suppress add": { ...LISTED, writes: "suppression library" },
  "suppress import": { ...LISTED, reads: `${LISTED.reads} given`, writes: "suppression library" },
  "suppress list": { ...LISTED, reads: "suppression" },
  "suppress check": { ...LISTED, writes: "library" },
  "suppress remove": { ...LISTED, writes: "suppression library" },
  forget: {
    reads: "given output connection segments runs library suppression register jobs",
    writes: "output runs library suppression register jobs",
    exits: "5 6 9 10 130",
  },
  "data show": {
    reads: "connection runs library suppression register jobs",
    writes: "library",
    exits: "5",
  },
  "data set": { reads: "connection", writes: "connection" },
  sync: {
    reads: "connection segments runs library suppression sync",
    writes: "connection segments runs library suppression register sync",
    exits: "5 9 130",
  },
  "jobs run": {
    asks: `${BUYING.asks} enrich employees counts`,
    reads: `${BUYING.reads} jobs sync`,
    writes: `${BUYING.writes} jobs sync connection`,
    exits: `1 ${BUYING.exits}`,
  },
  "jobs status": { reads: "given connection jobs runs" },
  "jobs check": { reads: "given connection jobs runs", exits: "5" },

  login: { asks: "account key", reads: "connection", writes: "connection pacing", exits: ASKING },
  logout: { reads: "connection", writes: "connection" },
  "connections list": { reads: "connection" },
  "connections use": { reads: "connection", writes: "connection" },
  "connections set": { reads: "connection", writes: "connection" },
  "connections remove": { reads: "connection", writes: "connection" },
  "connections add": {
    asks: "account",
    reads: "connection given",
    writes: "connection pacing",
    exits: ASKING,
  },
  "connections dialects": {},
  "connections show": { reads: "connection" },
  doctor: {
    asks: "account count search employees",
    reads: "connection runs",
    writes: "runs",
    exits: `1 4 5 ${ASKING}`,
  },

  serve: { ...SERVING, exits: "1 8 130" },
  "service import": { reads: "data given", writes: "data", exits: "1 5 8 9 130" },
  "service generate": SERVING,
  "service dataset list": SERVED,
  "service dataset rollback": SERVING,
  "service accounts create": SERVING,
  "service accounts list": SERVING,
  "service accounts suspend": SERVING,
  "service accounts resume": SERVING,
  "service keys create": SERVING,
  "service keys rotate": SERVING,
  "service keys list": SERVING,
  "service keys set": SERVING,
  "service keys revoke": SERVING,
  "service credits add": SERVING,
  "service credits remove": SERVING,
  "service credits refund": SERVING,
  "service credits show": SERVING,
  "service plan set": SERVING,
  "service plan show": SERVING,
  "service entries": SERVING,
  "service usage": SERVING,
  "service audit": SERVING,
  "service link": SERVING,
  "service sessions": SERVING,
  "service sessions end": SERVING,
  "service suppress add": SERVING,
  "service suppress import": { ...SERVING, reads: "data given" },
  "service suppress list": SERVED,
  "service suppress check": { ...SERVED, exits: "6 8 9" },
  "service suppress remove": SERVING,
  "service forget": { ...SERVING, exits: "5 6 8 9 10" },
  "service backup": { ...SERVED, writes: "output", exits: "1 5 8 9" },
  "service verify": SERVED,
  "service restore": { reads: "given", writes: "data", exits: "1 5 8 9" },

  schema: {},
  completion: {},
};

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
