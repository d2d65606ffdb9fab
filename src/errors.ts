/** Exit codes of cli.md. One table, printed by `headcount help exit-codes` and pinned by a test. */
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

/** What went wrong in one word, for `--json` readers and for tests. */
export type ErrorCategory =
  | "internal"
  | "usage"
  | "auth"
  | "credits"
  | "incomplete"
  | "not_found"
  | "rate_limit"
  | "service"
  | "network"
  | "locked"
  | "declined"
  | "interrupted"
  | "pipe_closed"
  | "filesystem";

export interface CliErrorInit {
  /** Stable, for machines: `invalid_filter`, `no_key`, `insufficient_credits`. */
  readonly code: string;
  readonly category: ErrorCategory;
  readonly exitCode: ExitCode;
  /** What failed and which rule says so. One sentence without a final full stop where it is short. */
  readonly message: string;
  /** How to fix it: where possible the exact command that would work. */
  readonly hint?: string;
  /** Where a service answered: its HTTP status and request id. */
  readonly status?: number;
  readonly requestId?: string;
  /** More lines for a person (each shown below the message). */
  readonly details?: readonly string[];
  readonly cause?: unknown;
}

/** The one error class of the command line: everything below `main.ts` throws it, and only `main.ts` reports it. */
export class CliError extends Error {
  override readonly name = "CliError";
  readonly code: string;
  readonly category: ErrorCategory;
  readonly exitCode: ExitCode;
  readonly hint: string | undefined;
  readonly status: number | undefined;
  readonly requestId: string | undefined;
  readonly details: readonly string[];

  constructor(init: CliErrorInit) {
    super(init.message, init.cause === undefined ? undefined : { cause: init.cause });
    this.code = init.code;
    this.category = init.category;
    this.exitCode = init.exitCode;
    this.hint = init.hint;
    this.status = init.status;
    this.requestId = init.requestId;
    this.details = init.details ?? [];
  }
}

/** A mistake in how the command was called: exit 2, no request made. */
export const usageError = (message: string, hint?: string, code = "usage"): CliError =>
  new CliError({ code, category: "usage", exitCode: EXIT.usage, message, ...(hint === undefined ? {} : { hint }) });
