import { broken } from "./help.ts";
import type { Command } from "./options.ts";

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
  chosen which connection is meant
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
  chosen HEADCOUNT_CONNECTION
  given
  output
  segments HEADCOUNT_CONFIG_DIR
  sync HEADCOUNT_STATE_DIR HEADCOUNT_SYNC_KEY
  data XDG_DATA_HOME`);

const STATE = "HEADCOUNT_STATE_DIR";

export const EVERY = "0 2 141";

/** What a command that does something says of itself; undefined of one that only has others. */
export const effectsOf = ({ touches }: Command): Effects | undefined => touches && byWord(touches);

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
  const effects = effectsOf(command);
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
