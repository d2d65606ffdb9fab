import { fstatSync, readSync, statSync } from "node:fs";
import type { Duplex, Readable, Writable } from "node:stream";

export interface OutputStream extends Writable {
  readonly isTTY?: boolean;
  readonly columns?: number;
  /** Of a file or device. */
  readonly fd?: number;
}

export interface InputStream extends Readable {
  readonly isTTY?: boolean;
}

/** The built-in service while it runs. */
export interface Sample {
  readonly url: string;
  /** It listens nowhere: whoever is in this process connects so. */
  readonly connect: () => Duplex;
  readonly key: string;
  readonly dir: string;
  close(): Promise<void>;
}

/**
 * All of the outside world that a command may touch: no `process`, clock or timer below `main.ts`.
 */
export interface Context {
  readonly stdin: InputStream;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly platform: NodeJS.Platform;
  readonly pid: number;
  readonly now: () => number;
  /** Resolves after `ms`; rejects with the signal's reason when it is aborted. */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
  readonly random: () => number;
  /** Asks a yes/no question; check {@link canPrompt} first. */
  readonly confirm: (question: string) => Promise<boolean>;
  readonly prompt: (question: string, options?: { readonly hidden?: boolean }) => Promise<string>;
  /** Fires at the first SIGINT or SIGTERM; the second ends the process at once. */
  readonly interrupted: AbortSignal;
  /**
   * Starts the built-in service for the time of a command.
   * @throws CliError exit 2 without the optional packages
   */
  readonly startSample: (context: Context, notice: (text: string) => void) => Promise<Sample>;
  /** The arguments as given, for hints that repeat the user's own command. Never contains a key. */
  readonly argv: readonly string[];
}

/** {@link Context.sleep} of a process: by its timers. */
export async function sleepFor(ms: number, signal?: AbortSignal): Promise<void> {
  const { setTimeout: sleep } = await import("node:timers/promises");
  // Node's own AbortError does not say what ended the wait.
  await sleep(ms, undefined, signal === undefined ? {} : { signal }).catch(() =>
    signal?.throwIfAborted(),
  );
}

export const canPrompt = (context: Context): boolean =>
  context.stdin.isTTY === true &&
  context.stderr.isTTY === true &&
  !context.env.CI &&
  !context.env.HEADCOUNT_NO_INPUT;

/**
 * Whether it was closed before Node began, which then opens
 * /dev/null there: to be read too, unlike `> /dev/null`.
 */
export function isClosed({ fd = -1 }: OutputStream): boolean {
  try {
    const isNull = fstatSync(fd).rdev === statSync("/dev/null").rdev;
    return isNull && readSync(fd, Buffer.alloc(1)) === 0;
  } catch {
    return false;
  }
}

/**
 * Resolves once the stream has taken everything.
 * @throws what kept it from that: a full disk, a reader that is gone
 */
export const written = (stream: OutputStream): Promise<void> =>
  new Promise((resolve, reject) => {
    // One that is open to be read alone (`1< FILE`) is as one that is closed.
    const end = (error?: NodeJS.ErrnoException | null) =>
      error && error.code !== "EBADF" ? reject(error) : resolve();

    if (stream.errored) end(stream.errored);
    else if (stream.destroyed) resolve();
    else stream.write("", (error) => end(error && (stream.errored ?? error)));
  });
