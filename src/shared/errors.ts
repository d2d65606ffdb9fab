// Tested by test/unit/say.test.ts.
/** A word of a command line as a shell reads it. */
export const shellWord = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** How it is typed with its value where a letter does. */
const SHORT: Readonly<Record<string, string>> = { output: "-o", connection: "-c" };

/** An option of ours by the one name that all doors know it by (`max_credits`). */
export class Option {
  readonly name: string;
  /** `"N"`: whatever the user chooses. */
  readonly value: number | string | undefined;

  constructor(name: string, value?: number | string) {
    this.name = name;
    this.value = value;
  }

  /** As the command line says it: `--max-credits 20`. */
  toString(): string {
    const long = `--${this.name.replaceAll("_", "-")}`;
    if (this.value === undefined) return long;
    return `${SHORT[this.name] ?? long} ${shellWord(`${this.value}`)}`;
  }
}

interface Words {
  readonly arguments?: readonly string[];
  /** Options of a segment, as they are typed. */
  readonly segment?: string;
  readonly options?: readonly Option[];
}

/** A command of ours to type: `runs export`, what it is given, its options. */
export class OwnCommand {
  readonly name: string;
  readonly words: Words;

  constructor(name: string, words: Words = {}) {
    this.name = name;
    this.words = words;
  }

  /** Whether it goes on where something stopped, so that nothing is paid twice. */
  get resumes(): boolean {
    return this.name === "resume" || this.name === "refresh";
  }

  /** As it is typed: `headcount resume RUN --limit 20`. */
  toString(): string {
    const { arguments: given = [], segment, options = [] } = this.words;
    return ["headcount", this.name, ...given.map(shellWord), segment ?? [], ...options]
      .flat()
      .join(" ");
  }

  toJSON(): string {
    return this.toString();
  }
}

/** Text of somebody else within a sentence of ours, as a service's words for what failed. */
class Theirs {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  toString(): string {
    return this.text;
  }
}

/** A sentence, or a text that holds no part of ours. */
export type Sentence = Said | string;

/**
 * A sentence of which it is known what is an option, what a command and what somebody's own
 * text. Each door has words of its own for the first two, and none touches the last.
 */
export class Said {
  readonly parts: readonly unknown[];
  /** Clauses: a door leaves out the one that it cannot say. */
  readonly isList: boolean;

  constructor(parts: readonly unknown[], isList = false) {
    this.parts = parts;
    this.isList = isList;
  }

  /** As the command line says it. */
  toString(): string {
    return this.parts.join(this.isList ? "; " : "");
  }

  toJSON(): string {
    return this.toString();
  }
}

/** How a door words what is no text: undefined where it has no such thing. */
export interface DoorWords {
  readonly option: (option: Option) => string | undefined;
  readonly command: (command: OwnCommand) => OwnCommand | string | undefined;
  /** How it marks what somebody else said; default: not at all. */
  readonly theirs?: (text: string) => string;
  /** What helps at this door, by the code of the failure, in place of what is said elsewhere. */
  readonly hints?: Readonly<Record<string, string>>;
}

/**
 * A sentence with its parts: `` say`${option("limit", 5)} goes on` ``. A line's end in it, with
 * the spaces after it, is one space, so that a long sentence is written on several lines.
 */
export const say = (texts: readonly string[], ...values: readonly unknown[]): Said =>
  new Said(
    texts.flatMap((text, at) => {
      const line = text.replaceAll(/\n */g, " ");
      return at in values ? [line, values[at]] : [line];
    }),
  );

export const theirs = (text: string): Said => new Said([new Theirs(text)]);

export const clauses = (...texts: readonly Sentence[]): Said => new Said(texts, true);

export const option = (name: string, value?: number | string): Option => new Option(name, value);

export const command = (name: string, words?: Words): OwnCommand => new OwnCommand(name, words);

/** Whom a command asks; "environment" is what variables alone make up. */
export const atConnection = (name: string) =>
  name === "environment" ? [] : [option("connection", name)];

/**
 * A sentence in the words of a door; commands stay known as such.
 * @returns undefined where the door has no word for a part of it
 */
export function saidAt(text: Sentence, speech: DoorWords): Sentence | undefined {
  if (typeof text === "string") return text;

  const words = text.parts.map((part) => {
    if (part instanceof Option) return speech.option(part);
    if (part instanceof OwnCommand) return speech.command(part);
    if (part instanceof Theirs) return speech.theirs?.(part.text) ?? part.text;
    return part instanceof Said ? saidAt(part, speech) : `${part}`;
  });
  const known = words.filter((word) => word !== undefined);
  const isWhole = text.isList ? known.length > 0 : known.length === words.length;
  return isWhole ? new Said(known, text.isList) : undefined;
}

/** Whether a sentence tells to type this command. */
export const tells = (text: unknown, wanted: OwnCommand): boolean =>
  text instanceof OwnCommand
    ? `${text}` === `${wanted}`
    : text instanceof Said && text.parts.some((part) => tells(part, wanted));

/** The exit codes. One table, printed by `headcount help exit-codes` and pinned by a test. */
export const EXIT = {
  ok: 0,
  bug: 1,
  usage: 2,
  auth: 3,
  credits: 4,
  incomplete: 5,
  notFound: 6,
  rateLimit: 7,
  service: 8,
  locked: 9,
  declined: 10,
  interrupted: 130,
  pipeClosed: 141,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** The kinds of failures, and what each ends with where nothing says otherwise. */
export const EXIT_OF = {
  internal: EXIT.bug,
  usage: EXIT.usage,
  auth: EXIT.auth,
  credits: EXIT.credits,
  incomplete: EXIT.incomplete,
  not_found: EXIT.notFound,
  rate_limit: EXIT.rateLimit,
  service: EXIT.service,
  network: EXIT.service,
  locked: EXIT.locked,
  declined: EXIT.declined,
  interrupted: EXIT.interrupted,
  pipe_closed: EXIT.pipeClosed,
  filesystem: EXIT.usage,
} as const satisfies Readonly<Record<string, ExitCode>>;

export type ErrorCategory = keyof typeof EXIT_OF;

/**
 * Every code that a failure can have, by its kind and by what to do about it. The types let no
 * other be thrown, `headcount help CODE` prints what stands here, and `npm run completions` writes
 * it into docs/reference/exit-codes.md.
 */
export const CODES = {
  internal: {
    "a bug in headcount: `HEADCOUNT_DEBUG=1` shows where; please report it": ["internal"],
    "install headcount again: docs/how-to/install.md": ["missing_file"],
    "stop selling and restore: docs/operate/backup.md": ["breach ledger_damaged"],
    "the list is right; mend the command of `hand_to`, and read the files beside the list": [
      "not_handed_on",
    ],
  },
  usage: {
    "read the hint: the word, option or value that was meant stands there, or the help to read": [
      "usage unknown_command unknown_option missing_argument option_missing_argument",
      "missing_mandatory_option_value conflicting_option excess_arguments invalid_argument",
      "bad_argument reserved_name nothing_named no_list",
    ],
    "`headcount filters` lists keys and values; `headcount filters KEY --prefix TEXT` looks for one":
      ["invalid_filter unknown_filter unknown_field no_values"],
    "mend the file: the message has its line and column, `headcount schema` its shape": [
      "invalid_filters_file invalid_jobs_file invalid_values_file invalid_dialect_file",
      "invalid_dialect invalid_sql_file invalid_companies_file invalid_people_file",
      "invalid_suppression_file bad_config bad_query",
    ],
    "agree: `--yes`, `--max-credits N` or `--limit N`; in a program `maxCredits` or `agree`": [
      "consent_needed unbounded_purchase unfiltered",
    ],
    "give another name or `-o`; `--overwrite` replaces a file by a whole one": [
      "file_exists segment_exists same_file is_folder not_a_file symlink no_folder",
      "not_writable no_output no_stdout log_file folder_taken",
    ],
    "look the name up: the message lists what there is, or the command that does": [
      "unknown_connection unknown_segment no_such_run no_such_job no_such_list no_such_folder",
      "no_such_dialect no_connection bad_connection_name bad_segment_name bad_name",
      "ambiguous_person not_suppressed",
    ],
    "mend the table or name its column: docs/reference/tables.md": [
      "no_table no_identity no_ids bad_input suppressed refused",
    ],
    "install the package that the message names: docs/how-to/install.md": ["missing_package"],
    "ask otherwise: this service or vendor cannot be asked so (docs/how-to/vendors.md)": [
      "not_of_vendor no_such_filter no_word one_value one_field wider_filter filter_swallowed",
      "too_deep request_refused inseparable segment_by_address",
    ],
    "`headcount search` buys without a count, within `--limit` or `--max-credits`": [
      "uncounted count_costs counts_cost",
    ],
    "allow what the hint says, or leave that option out": [
      "too_many_counts too_many_rows part_of_parcel page_size no_sample",
    ],
    "the hint names the command that goes on with that run or list": [
      "run_of_list run_elsewhere other_segment owned_meanwhile not_owned no_segment",
    ],
    "use the version of headcount that wrote it": ["other_format"],
    "log in at a terminal, or give the key as the hint says: docs/reference/environment.md": [
      "cannot_prompt key_in_argument key_from_environment no_base_url bad_base_url bad_proxy",
    ],
    "`NODE_EXTRA_CA_CERTS=FILE` trusts its authority, or its operator mends it: docs/how-to/proxy.md":
      ["untrusted"],
    "the hint settles it: docs/how-to/sync.md": [
      "no_synced_folder sync_begun sync_in_history copied_state no_copied_state",
    ],
    "`headcount connections add` keeps the file of the vendor anew": ["dialect_missing"],
    "make one with the command of the hint, or name another `--data` or `--store`": [
      "no_accounts no_dataset store_refused dataset_refused",
    ],
    "of a program: docs/how-to/program.md": [
      "closed no_terminal not_of_programs rows_read unknown_quote",
    ],
    "of an agent: ask for a new quote": ["quote_gone"],
    "of `jobs check`: `headcount jobs status` says how each job went": ["jobs_check"],
    "the table or database refuses: the message has its own words": ["table_refused"],
  },
  auth: {
    "`headcount login`, or `HEADCOUNT_API_KEY` with `HEADCOUNT_BASE_URL`": [
      "auth no_key bad_key key_for_another_address",
    ],
    "the service refused the key: `headcount doctor`; its operator knows the scopes": [
      "key_refused forbidden",
    ],
    "a proxy takes the header `Authorization` away: docs/how-to/proxy.md": ["key_lost"],
    "unlock or start the keychain, or keep the key in a file: the hint has the command": [
      "keychain_missing_package keychain_no_bus keychain_silent_bus keychain_no_provider",
      "keychain_locked keychain_hung keychain_no_collection keychain_failed credentials_file",
    ],
    "`headcount sync FOLDER --join` asks for the key of the folder once": [
      "no_sync_key bad_sync_key",
    ],
  },
  credits: {
    "top up, lower `--limit`, or allow more: `--max-credits`, `--max-calls`": [
      "credits insufficient_credits over_cap over_calls",
    ],
    "the budget of the month is used up: `headcount spend --by job`": ["over_budget"],
  },
  incomplete: {
    "make room, then `headcount runs export last -o FILE`": ["disk_full"],
    "not everything came: docs/how-to/exit-5.md": ["incomplete"],
    "run it again, or write what came: the hint has the command": [
      "dataset_moved stale_run run_mismatch cursor_gone not_certain no_input owned_meanwhile",
    ],
    "no value is so: correct the filter, or leave `--strict` out": ["unmatched_value"],
    "the old file stays: set `--min-rows` or `--max-shrink` as you mean it": ["too_few_rows"],
    "somebody else changed the file: rename it, or add `--overwrite`": [
      "file_appeared file_changed",
    ],
    "look at the files and tables that are named: they could not be rewritten": [
      "files_left sync_left",
    ],
    "what was paid is kept as it came; the hint says what asks for it once more": [
      "unreadable_page unreadable_reply unread_rows unread_run page_too_long page_twice",
      "price_moved price_untold impossible_charge cursor_again cursor_too_long not_as_filtered",
      "not_as_declared drawn_short",
    ],
    "say its price in a dialect file: then it is asked about": ["charged_for_free"],
    "a new person was not found by the calls allowed: the details have the commands": [
      "new_unreached",
    ],
    "another format holds it: `.csv.gz`, `.parquet`, NDJSON": ["too_many_rows too_deep"],
    "restore the folder from a backup: docs/how-to/move.md": [
      "damaged_log damaged_run damaged_suppression",
    ],
    "use the version of headcount that wrote it": ["other_layout"],
    "mend the rows that were refused, or raise `--max-refused`": ["too_many_refused"],
    "of `jobs check`: `headcount jobs status` says how each job went": ["jobs_check"],
    "the table or database refuses: the message has its own words": ["table_refused"],
  },
  not_found: {
    "a single look-up matched nothing; it was free": ["not_found"],
    "nobody is kept or listed by that name: use the whole profile address, or an id": [
      "bad_name nobody_kept not_owned not_suppressed",
    ],
    "`accounts list`, `keys list`, `entries` or `dataset list` of `headcount service` shows what there is":
      ["unknown_account unknown_key unknown_entry unknown_version"],
  },
  rate_limit: {
    "try later, or wait longer: `--max-wait SECONDS`": ["rate_limit rate_limited"],
    "the calls of the day are nearly used up: go on tomorrow": ["day_limit_near"],
  },
  service: {
    "`headcount doctor`; the same command goes on": ["service service_failed dataset_moved"],
    "give the address of the API, the part before `/v1`": ["not_the_api redirect"],
    "the answer of the service is not to be believed: tell its operator": [
      "charged_for_error nested_too_deep unreadable_amount unsound_counts",
    ],
    "the service counts nobody: search buys without, within `--limit` or `--max-credits`": [
      "uncounted no_values",
    ],
    "another `--seed`, or a filter that leaves the unreached rows out": ["unreached"],
    "see that the database runs and lets you in": ["store_unavailable dataset_unavailable"],
  },
  network: {
    "`headcount doctor`, then the same command: docs/how-to/exit-5.md": [
      "network lost_reply unreachable",
    ],
    "choose another `--host` or `--port`": ["cannot_listen"],
    "see that the database runs and lets you in": ["table_refused"],
  },
  locked: {
    "another command is at work on the same: `--wait`, or `headcount runs`": ["locked"],
    "close it where it is open, then the same command again": ["in_use table_refused"],
  },
  declined: {
    "you said no, or nobody could be asked; nothing was bought": [
      "declined consent_needed no_question no_answer agree_failed",
    ],
    "ask for a new quote: something moved since": ["quote_changed stale_run"],
    "of an agent: its budget has less left; a person may buy it": ["over_budget"],
  },
  interrupted: {
    "what was paid is kept; the last line names the command that goes on": ["interrupted"],
  },
  pipe_closed: {
    "the reader closed the pipe: `headcount runs export last` writes all of it": ["pipe_closed"],
  },
  filesystem: {
    "see that the path is there and may be read and written": [
      "filesystem config_not_writable no_home sample_folder data_folder tls_files",
    ],
    "give the import more memory: docs/operate/import.md": ["out_of_memory"],
    "take another backup, an older one: docs/operate/backup.md": ["backup_damaged"],
    "import or generate the dataset again, or restore a backup: docs/operate/backup.md": [
      "dataset_damaged",
    ],
    "put the newest ledger back: an older one lacks charges, and `serve --force` accepts that": [
      "ledger_older",
    ],
    "the message says whose it is: upgrade headcount, or name another `--data` or `--store`": [
      "ledger_format",
    ],
    "the disk or mount of the folder loses what is written": ["sync_unsound"],
  },
  any: {
    "ends as the first failure does, which the message names": ["jobs_failed doctor_failed"],
  },
} as const;

type Apart<Text> = Text extends `${infer Word} ${infer Rest}` ? Word | Apart<Rest> : Text;
type ListOf<Groups> = Groups extends unknown
  ? Extract<Groups[keyof Groups], readonly unknown[]>[number]
  : never;

/** The codes that failures of a kind may have; one has the name of the kind. */
export type CodeOf<Category extends ErrorCategory> = Category extends ErrorCategory
  ? Apart<ListOf<(typeof CODES)[Category | "any"]>>
  : never;

/** What must be allowed, all told, so that it goes on; credits in millionths. */
export interface Raise {
  /** Whoever is owned is written beside the others: it is another search. */
  readonly withOwned?: boolean;
  readonly limit?: number | undefined;
  readonly maxCredits?: bigint | undefined;
}

export interface CliErrorInit<Category extends ErrorCategory = ErrorCategory> {
  /** Stable, for machines: `invalid_filter`, `no_key`, `insufficient_credits`. */
  readonly code: CodeOf<Category>;
  /** Says what it ends with, too: {@link EXIT_OF}. */
  readonly category: Category;
  /**
   * What failed and which rule says so. One sentence without a final full stop where it is short.
   */
  readonly message: Sentence;
  /** Where possible the exact command that would work. */
  readonly hint?: Sentence | undefined;
  /** The one command to type next, where there is one. */
  readonly next?: OwnCommand | undefined;
  /** The message without what the call cost: of a run other lines tell that. */
  readonly call?: Sentence | undefined;
  /** The option of ours that lets it through. */
  readonly option?: string | undefined;
  /**
   * Whether `next` goes on where this stopped, and nothing
   * is paid twice. Default: where it resumes or refreshes.
   */
  readonly resumable?: boolean | undefined;
  /** Of a purchase that a bound held up: every door has words of its own for it. */
  readonly raise?: Raise | undefined;
  readonly status?: number | undefined;
  readonly requestId?: string | undefined;
  readonly details?: readonly Sentence[];
  readonly cause?: unknown;
}

/**
 * The one error class of the command line: everything below
 * `main.ts` throws it, and only `report.ts` prints it.
 */
export class CliError<Category extends ErrorCategory = ErrorCategory> extends Error {
  override readonly name = "CliError";
  declare readonly code: CodeOf<ErrorCategory>;
  declare readonly category: ErrorCategory;
  declare readonly exitCode: ExitCode;
  /** The message with its parts; `message` is what the command line says. */
  declare readonly said: Sentence;
  declare readonly hint: Sentence | undefined;
  declare readonly next: OwnCommand | undefined;
  declare readonly call: Sentence | undefined;
  declare readonly option: string | undefined;
  declare readonly resumable: boolean;
  declare readonly raise: Raise | undefined;
  declare readonly status: number | undefined;
  declare readonly requestId: string | undefined;
  declare readonly details: readonly Sentence[];

  constructor({ message: said, cause, ...facts }: CliErrorInit<Category>) {
    super(`${said}`, cause === undefined ? undefined : { cause });
    const { category, next, details = [], resumable = next?.resumes === true } = facts;
    Object.assign(this, { ...facts, said, exitCode: EXIT_OF[category], resumable, details });
  }

  /** The same failure with some of its parts told differently; this one is its cause. */
  with(changes: Partial<CliErrorInit>): CliError {
    return new CliError({
      ...this,
      message: this.said,
      resumable: undefined,
      cause: this,
      ...changes,
    });
  }

  /** The same failure as a door words it: what it has no word for is no hint and no detail. */
  inWordsOf(speech: DoorWords): CliError {
    const { said, hint, code, details, resumable } = this;
    const whole: DoorWords = { ...speech, option: (part) => speech.option(part) ?? `${part}` };

    return this.with({
      message: saidAt(said, whole) ?? this.message,
      hint: speech.hints?.[code] ?? (hint === undefined ? undefined : saidAt(hint, speech)),
      details: details.flatMap((detail) => saidAt(detail, speech) ?? []),
      resumable,
    });
  }
}

/**
 * What whoever types `next` without looking is told: a command that raises a bound is
 * a person's to decide on, so it is a hint, and nothing is resumable within what was allowed.
 */
export function withinBounds({
  hint,
  next,
  raise = {},
  resumable,
}: CliError): Pick<CliError, "hint" | "next" | "resumable"> {
  const isRaised = Object.values(raise).some((bound) => bound !== undefined);
  if (!isRaised || next === undefined) return { hint, next, resumable };
  const above = say`${next} goes on, above what was allowed`;
  return {
    hint: hint === undefined ? above : tells(hint, next) ? hint : clauses(hint, above),
    next: undefined,
    resumable: false,
  };
}

type Failing<Category extends ErrorCategory> = (
  message: Sentence,
  hint?: Sentence,
  code?: CodeOf<Category>,
  cause?: unknown,
) => CliError;

/** A failure of each kind: `failed.locked(message, hint, code)`. */
export const failed = Object.fromEntries(
  (Object.keys(EXIT_OF) as ErrorCategory[]).map((category): [string, Failing<ErrorCategory>] => [
    category,
    (message, hint, code = category, cause) =>
      new CliError({ code, category, message, hint, cause }),
  ]),
) as { readonly [Category in ErrorCategory]: Failing<Category> };

/** A mistake in how the command was called: exit 2, no request made. */
export const usageError = failed.usage;

/**
 * By a code of Node or OpenSSL: the host did not prove who it is. Only a certificate, a setting or
 * another address mends that, so trying again is of no use.
 */
export const isUntrusted = (code: string): boolean =>
  /CERT|SIGNATURE|CRL|INVALID_CA|INVALID_PURPOSE|HOSTNAME_MISMATCH|PATH_LENGTH/.test(code);

/** Somebody said no, or what was agreed to is no longer so: exit 10, nothing done. */
export const { declined } = failed;

/**
 * What was to be written has no room or no device any more. Every other refusal is about the path.
 */
const NO_ROOM: Readonly<Record<string, string>> = {
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is used up",
  EFBIG: "the file is larger than the system allows",
  EIO: "the device failed",
};
// libuv has no name for it.
const EDQUOT = -122;

/**
 * A refusal of the operating system (docs/reference/exit-codes.md):
 * 5 where the room ran out, 2 for a wrong path.
 */
export function systemFailure(error: unknown): CliError | undefined {
  if (!(error instanceof Error) || !("syscall" in error)) return undefined;
  const { code, errno, syscall, message } = error as NodeJS.ErrnoException;
  const full = NO_ROOM[errno === EDQUOT ? "EDQUOT" : (code ?? "")];

  if (syscall === "uv_cwd") {
    return failed.filesystem(
      "the folder that this was started in is gone",
      "change to one that is there",
    );
  }

  if (full === undefined) {
    return failed.filesystem(
      message,
      "check that the path exists, and that it may be read and written",
      undefined,
      error,
    );
  }

  const told = `${full}: ${errno === EDQUOT ? `EDQUOT, ${syscall}` : message}`;
  return failed.incomplete(told, "make room and run it again", "disk_full", error);
}
