import type { Readable, Writable } from "node:stream";

export interface OutputStream extends Writable {
  readonly isTTY?: boolean;
  readonly columns?: number;
}

export interface InputStream extends Readable {
  readonly isTTY?: boolean;
}

/**
 * Everything of the outside world that a command may touch. Nothing below `main.ts` uses `process`, `console`, `Date.now`
 * or timers of its own: tests hand in another context and are in full control.
 */
export interface Context {
  readonly stdin: InputStream;
  readonly stdout: OutputStream;
  /** Everything that a person reads on the way. */
  readonly stderr: OutputStream;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly platform: NodeJS.Platform;
  readonly pid: number;
  readonly now: () => number;
  /** Resolves after `ms`; rejects with the signal's reason when it is aborted. */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
  readonly random: () => number;
  /**
   * Asks a yes/no question on stderr and reads the answer from stdin. Only where both are terminals; commands check
   * {@link canPrompt} first.
   */
  readonly confirm: (question: string) => Promise<boolean>;
  readonly prompt: (question: string, options?: { readonly hidden?: boolean }) => Promise<string>;
  /**
   * Fires at the first SIGINT or SIGTERM (reason: the signal's name). The second signal ends the process at once; `main` sees
   * to that.
   */
  readonly interrupted: AbortSignal;
  /** The arguments as given, for hints that repeat the user's own command. Never contains a key. */
  readonly argv: readonly string[];
}

export const canPrompt = (context: Context): boolean =>
  context.stdin.isTTY === true && context.stderr.isTTY === true && !context.env.CI && !context.env.HEADCOUNT_NO_INPUT;

/**
 * Resolves once the stream has taken everything that was written to it.
 * @throws what kept it from that: a full disk, a reader that is gone
 */
export const written = (stream: OutputStream): Promise<void> =>
  new Promise((resolve, reject) => {
    if (stream.errored) reject(stream.errored);
    else if (stream.destroyed) resolve();
    else stream.write("", (error) => (error ? reject(stream.errored ?? error) : resolve()));
  });
