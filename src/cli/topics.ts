import { flagOf } from "../shared/contract/command-line.ts";
import {
  DEPARTMENTS,
  EXACT_KEYS,
  PREFIX_KEYS,
  RANGE_KEYS,
  SENIORITY_LEVELS,
} from "../shared/contract/vocabulary.ts";
import { CODES, type ErrorCategory, EXIT, EXIT_OF, type ExitCode } from "../shared/errors.ts";
import { broken } from "./help.ts";

export const TOPICS = ["exit-codes", "error-codes", "environment", "filters"] as const;

const EXIT_MEANING: Readonly<Record<keyof typeof EXIT, string>> = {
  ok: "done; a cap that you set and that was reached is done too, and is said",
  bug: "a bug in headcount, or a damaged ledger",
  usage: "usage, or an invalid filter (refused here or by the service's 422)",
  auth: "no key, or the key was refused (401)",
  credits: "not enough credits (402), or over a budget",
  incomplete: "incomplete: stopped half-way, what was paid is kept; or the disk is full",
  notFound: "not found: a single look-up's 404",
  rateLimit: "the rate limit holds one call up for longer than --max-wait",
  service: "service or network failure after retries",
  locked: "another run holds the lock on the same output",
  declined: "declined at the prompt, or by --on-new-dataset fail",
  interrupted: "interrupted (Ctrl-C); what was paid is kept",
  pipeClosed: "the reader closed the pipe, as in | head",
};

export const EXIT_CODES: readonly { readonly code: ExitCode; readonly meaning: string }[] = (
  Object.keys(EXIT) as (keyof typeof EXIT)[]
).map((name) => ({ code: EXIT[name], meaning: EXIT_MEANING[name] }));

interface Advice {
  /** Undefined of what ends as its first failure does. */
  readonly exit: ExitCode | undefined;
  readonly codes: readonly string[];
  /** What to do; what is typed stands in `marks`. */
  readonly advice: string;
}

/** What to do about each code, by exit code. */
export const ADVICE: readonly Advice[] = Object.entries(CODES)
  .flatMap(([category, groups]) => {
    const exit = EXIT_OF[category as ErrorCategory];
    return Object.entries<readonly string[]>(groups).map(([advice, words]) => ({
      exit,
      codes: words.join(" ").split(" "),
      advice,
    }));
  })
  .sort((one, other) => (one.exit ?? Infinity) - (other.exit ?? Infinity));

const plain = (advice: string): string => advice.replaceAll("`", "");
const exitText = (exit: ExitCode | undefined): string =>
  exit === undefined ? "" : `exit ${exit}: `;

/** Lines of at most 80 columns, those behind the first further in. */
const hanging = (indent: string, words: readonly string[]): string =>
  broken(
    words.map((word, at) => (at === 0 ? `${indent}${word}` : word)),
    `${indent}  `,
    "",
    80,
  ).join("\n");

/** What `help CODE` says. */
export function codeText(code: string): string | undefined {
  const known = ADVICE.filter(({ codes }) => codes.includes(code));
  if (known.length === 0) return undefined;
  const lines = known.map(({ exit, advice }) =>
    hanging("  ", `${exitText(exit)}${plain(advice)}`.split(" ")),
  );
  return `${code}\n\n${lines.join("\n")}\n`;
}

export const ENVIRONMENT: readonly { readonly name: string; readonly meaning: string }[] = `
HEADCOUNT_SYNC_KEY - the key of a synced folder; before the kept one
HEADCOUNT_API_KEY - the API key; before the keychain and a key file
HEADCOUNT_CONNECTION - the connection to use, as --connection
HEADCOUNT_BASE_URL - the service's address, as --base-url
HEADCOUNT_PAGING - how the service pages, as --paging
HEADCOUNT_CONFIG_DIR - folder of config.json and of saved segments
HEADCOUNT_STATE_DIR - folder of runs
HEADCOUNT_NO_INPUT - any value: never ask a question; so does CI
HEADCOUNT_JSON - 1: errors as JSON on stderr, as with --json
HEADCOUNT_MCP_TOKEN - for mcp --port; else one is made
HEADCOUNT_DEBUG - any value: a stack trace where a bug shows
PGPASSWORD - for -o postgres://...; else ~/.pgpass
HEADCOUNT_CLICKHOUSE_PASSWORD - for serve --dataset clickhouse://...
XDG_CONFIG_HOME - else the config is in its headcount (~/.config)
XDG_STATE_HOME - else runs are in its headcount (~/.local/state)
XDG_DATA_HOME - data of sample and service (~/.local/share)
HTTPS_PROXY, HTTP_PROXY - a proxy; loopback is never proxied
NO_PROXY - hosts that are reached directly
NODE_EXTRA_CA_CERTS - a file of more certificate authorities to trust
NO_COLOR - any value: no colour; as --no-color, TERM=dumb
FORCE_COLOR - any value but 0: colour without a terminal too`
  .trim()
  .split("\n")
  .map((line) => {
    const [name = "", meaning = ""] = line.split(" - ");
    return { name, meaning };
  });

function columns(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join("\n");
}

const list = (words: readonly string[]): string =>
  broken(`  ${words.join(", ")}`.split(/(?<=,) /), "  ", "", 78).join("\n");

const flags = (keys: readonly string[]): readonly string[] => keys.map(flagOf);

const TEXTS: Readonly<Record<(typeof TOPICS)[number], () => string>> = {
  "exit-codes": () => `Exit codes

${columns(EXIT_CODES.map(({ code, meaning }) => [String(code).padStart(3), meaning]))}

--require-complete turns a reached cap or a short result into 5.
With --json the error is one JSON document on stderr; its exit_code is the same.
headcount help CODE says what to do about its code, such as over_cap.
`,

  "error-codes": () => `Error codes

${ADVICE.map(({ exit, codes, advice }) =>
  [
    hanging("  ", codes.join(", ").split(/(?<=,) /)),
    hanging("      ", `${exitText(exit)}${plain(advice)}`.split(" ")),
  ].join("\n"),
).join("\n")}
`,

  environment: () => `Environment

${columns(ENVIRONMENT.map(({ name, meaning }) => [name, meaning]))}

A flag goes before the environment, the environment before the config file.
The key is looked up in HEADCOUNT_API_KEY, then in the keychain, then in the key
file that login --insecure-storage made. It is never taken from an argument.
A stored key goes to the address it was stored for: HEADCOUNT_BASE_URL does not
send it elsewhere, --base-url on the command line does, and says so.
`,

  filters: () => `Filters

Every key is a flag. The same flag again is OR; different flags are AND:

  headcount -c sample count --department Sales --department Legal --country peru

Exact text, in any case (the flag may be repeated):
${list(flags([...EXACT_KEYS, "department"]))}

Beginning of a text:
${list(flags(PREFIX_KEYS))}

Whole numbers (a person whose number is not known never matches):
${list(flags(RANGE_KEYS))}

Profile address of the company, or its slug:
  --company-network-url

Departments:
${list(DEPARTMENTS)}

Seniority levels:
${list(SENIORITY_LEVELS)}

Values are never split at commas; --country @FILE takes them from a file, one a
line (@- is stdin, @@x the value @x). A line of it that begins with # and a
blank is a comment; in quotes, "# x", it is a value. A filter file holds the
same keys with underscores, and a flag replaces the file's value for its key:

  echo '{"department": ["Sales", "Legal"], "country": "france"}' > segment.json
  headcount -c sample count -f segment.json --country germany

headcount segment save NAME keeps filters under a name, and -s NAME uses them.
Several of -f and -s are several segments: count gives a row each, or with
--union one number; search buys whoever is in at least one of them, once.
--except SEGMENT leaves people out.

headcount filters lists the keys with examples; headcount schema filter-file
prints a JSON Schema for such files: an editor completes and checks by it.
`,
};

export function topicText(name: string): string | undefined {
  const topic = TOPICS.find((candidate) => candidate === name);
  return topic && TEXTS[topic]();
}
