/**
 * What the service answered where it refused: a sentence,
 * a word to act on, and what belongs to which field.
 */
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

/**
 * Kept where only pages of this very origin can read it,
 * the port included; a cookie is sent to other ports too.
 */
const PROOF = "headcount-console-proof";

export const keepProof = (proof: string): void => localStorage.setItem(PROOF, proof);
export const dropProof = (): void => localStorage.removeItem(PROOF);
/** Another tab signed in or out: what this one shows may be another account's. */
export const onOtherProof = (act: () => void): void =>
  addEventListener("storage", ({ key }) => {
    if (key === PROOF || key === null) act();
  });
export const hasProof = (): boolean => localStorage.getItem(PROOF) !== null;

type Method = "GET" | "POST" | "DELETE";

/**
 * A service that is busy says so before it does
 * anything: so often a call is made before that is told.
 */
const BUSY_TRIES = 4;

function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}

/**
 * One call of the API, again where the service is busy (503).
 * @throws ApiError, or what `fetch` throws
 */
async function call(
  method: Method,
  path: string,
  body?: unknown,
  signal?: AbortSignal,
): Promise<Response> {
  let response = await send(method, path, body, signal);
  for (let tries = 1; response.status === 503 && tries < BUSY_TRIES; tries++) {
    await pause(Number(response.headers.get("retry-after") ?? 1) * 1_000, signal);
    response = await send(method, path, body, signal);
  }

  if (response.ok) return response;

  // A refusal needs no words.
  const refusal = (await response.json().catch(() => ({}))) as { error?: string; code?: string };
  const seconds = response.headers.get("retry-after");
  throw new ApiError(
    response.status,
    refusal,
    seconds === null ? undefined : Number(seconds) * 1_000,
  );
}

export async function api<Answer>(
  method: Method,
  path: string,
  body?: unknown,
  signal?: AbortSignal,
): Promise<Answer> {
  const response = await call(method, path, body, signal);
  return (await response.json().catch((error: unknown) => {
    // Given up or cut short it is no answer: its numbers would be none.
    throw error instanceof SyntaxError
      ? new TypeError("the answer is cut short", { cause: error })
      : error;
  })) as Answer;
}

/** A file, whole: what is cut short is none. */
export const fileAt = async (path: string): Promise<Blob> => (await call("GET", path)).blob();

const send = (
  method: Method,
  path: string,
  body?: unknown,
  signal?: AbortSignal,
): Promise<Response> =>
  fetch(`/console/api${path}`, {
    method,
    headers: {
      "x-console-proof": localStorage.getItem(PROOF) ?? "",
      ...(method === "GET" ? {} : { "content-type": "application/json" }),
    },
    body: method === "GET" ? null : JSON.stringify(body ?? {}),
    signal: signal ?? null,
  });

export const reasonOf = (error: unknown): string =>
  error instanceof ApiError
    ? error.message
    : error instanceof TypeError
      ? "the service does not answer"
      : String((error as Error)?.message ?? error);
