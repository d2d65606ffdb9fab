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
const EXIT_OF = {
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

/** What must be allowed, all told, so that it goes on; credits in millionths. */
export interface Raise {
  /** Whoever is owned is written beside the others: it is another search. */
  readonly withOwned?: boolean;
  readonly limit?: number | undefined;
  readonly maxCredits?: bigint | undefined;
}

export interface CliErrorInit {
  /** Stable, for machines: `invalid_filter`, `no_key`, `insufficient_credits`. */
  readonly code: string;
  readonly category: ErrorCategory;
  /** Default: what its category ends with. */
  readonly exitCode?: ExitCode;
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
export class CliError extends Error {
  override readonly name = "CliError";
  declare readonly code: string;
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

  constructor({ message: said, cause, ...facts }: CliErrorInit) {
    super(`${said}`, cause === undefined ? undefined : { cause });
    const { category, exitCode = EXIT_OF[category], next, details = [] } = facts;
    const { resumable = next?.resumes === true } = facts;
    Object.assign(this, { ...facts, said, exitCode, resumable, details });
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

type Failing = (message: Sentence, hint?: Sentence, code?: string, cause?: unknown) => CliError;

/** A failure of each kind: `failed.locked(message, hint, code)`. */
export const failed = Object.fromEntries(
  (Object.keys(EXIT_OF) as ErrorCategory[]).map((category): [ErrorCategory, Failing] => [
    category,
    (message, hint, code = category, cause) =>
      new CliError({ code, category, message, hint, cause }),
  ]),
) as Readonly<Record<ErrorCategory, Failing>>;

/** A mistake in how the command was called: exit 2, no request made. */
export const usageError = failed.usage;

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
    return usageError(
      "the folder that this was started in is gone",
      "change to one that is there",
      "filesystem",
    );
  }

  return new CliError({
    code: full === undefined ? "filesystem" : "disk_full",
    category: "filesystem",
    exitCode: full === undefined ? EXIT.usage : EXIT.incomplete,
    message:
      full === undefined
        ? message
        : `${full}: ${errno === EDQUOT ? `EDQUOT, ${syscall}` : message}`,
    hint:
      full === undefined
        ? "check that the path exists, and that it may be read and written"
        : "make room and run it again",
    cause: error,
  });
}
