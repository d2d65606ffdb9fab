/** What the service answered where it refused: a sentence to show, a word to act on, and what belongs to which field. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  readonly code: string;
  readonly issues: readonly { readonly key: string; readonly message: string }[];
  /** Milliseconds after which the service says that it may be asked again. */
  readonly retryMs: number | undefined;

  constructor(
    status: number,
    body: { readonly error?: string; readonly code?: string; readonly issues?: ApiError["issues"] },
    retryMs?: number,
  ) {
    super(body.error ?? `the service answered ${status}`);
    this.status = status;
    this.code = body.code ?? "";
    this.issues = body.issues ?? [];
    this.retryMs = retryMs;
  }
}

/** A service that is away, or a minute's calls that are used up, end by themselves; a day's are somebody's to wait for. */
const AWAY_MS = 5_000;
const LONGEST_MS = 120_000;

export function patience(error: unknown): number | undefined {
  if (error instanceof TypeError) return AWAY_MS;
  const ms = error instanceof ApiError && (error.status === 429 || error.status === 503) ? error.retryMs : undefined;
  return ms !== undefined && ms <= LONGEST_MS ? ms : undefined;
}
