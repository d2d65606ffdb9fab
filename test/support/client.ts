import { mkdtempSync } from "node:fs";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as readline from "node:readline";
import { Readable, Writable } from "node:stream";
import { startSample } from "../../src/app/sample.ts";
import type { Context, InputStream, OutputStream } from "../../src/shared/context.ts";

/** A clock that stands still until something sleeps: waits take no time and are recorded. */
export interface FakeClock {
  readonly now: () => number;
  readonly sleep: Context["sleep"];
  /** Every wait in milliseconds, in order. */
  readonly sleeps: number[];
  advance(ms: number): void;
}

export function fakeClock(start = Date.UTC(2026, 0, 15, 12, 0, 0)): FakeClock {
  let time = start;
  const sleeps: number[] = [];
  return {
    now: () => time,
    sleeps,
    advance: (ms) => {
      time += ms;
    },
    sleep: async (ms, signal) => {
      signal?.throwIfAborted();
      sleeps.push(ms);
      time += ms;
      await new Promise((resolve) => setImmediate(resolve));
      signal?.throwIfAborted();
    },
  };
}

/** A wait is over at once, and has passed; but others that are under way have their turn. */
export function swiftClock(): FakeClock {
  let skipped = 0;
  const sleeps: number[] = [];
  return {
    now: () => Date.now() + skipped,
    sleeps,
    advance: (ms) => {
      skipped += ms;
    },
    sleep: async (ms, signal) => {
      signal?.throwIfAborted();
      sleeps.push(ms);
      const waited = Math.min(ms, 5);
      await new Promise((done) => setTimeout(done, waited));
      skipped += ms - waited;
      signal?.throwIfAborted();
    },
  };
}

export interface TestContextOptions {
  /** Added to the test's own environment, which has throw-away folders and nothing of the real one. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly stdin?: string | Buffer | Readable;
  /** Which streams are terminals; `true` for all three. */
  readonly tty?:
    | boolean
    | { readonly stdin?: boolean; readonly stdout?: boolean; readonly stderr?: boolean };
  readonly columns?: number;
  /** The answers to prompts and confirmations, in order; a question beyond them fails the test. */
  readonly answers?: readonly string[];
  readonly clock?: FakeClock;
  readonly cwd?: string;
  readonly argv?: readonly string[];
  readonly platform?: NodeJS.Platform;
  readonly random?: () => number;
}

export interface TestContext {
  readonly context: Context;
  /** A folder of this context's own: home, config, state and working folder are in it. Removed at the end of the process. */
  readonly dir: string;
  /** What was written so far. */
  stdout(): string;
  stderr(): string;
  stdoutBytes(): Buffer;
  /** Every question asked. */
  readonly questions: readonly string[];
  /** As a signal would: aborts {@link Context.interrupted}. */
  interrupt(signal?: NodeJS.Signals): void;
}

// The keychain package reads the process's environment, not the context's: no test may reach the ring of whoever runs it.
// The keyring tests bring a bus of their own.
process.env.DBUS_SESSION_BUS_ADDRESS = "unix:path=/nonexistent/headcount-test-bus";

/** A throw-away folder that goes with the file of tests ({@link ./own-folder.ts}). */
export const tempDir = (prefix = "headcount-"): string => mkdtempSync(join(tmpdir(), prefix));

let sharedDataHome: string | undefined;

/** Where the `sample` connection keeps its dataset: one per test process, since making it takes seconds. */
function dataHome(): string {
  sharedDataHome ??= process.env.HEADCOUNT_TEST_DATA_HOME ?? tempDir("headcount-data-");
  return sharedDataHome;
}

function capture(
  isTTY: boolean,
  columns: number | undefined,
): { stream: OutputStream; bytes: () => Buffer } {
  const chunks: Buffer[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      chunks.push(Buffer.from(chunk));
      done();
    },
  });
  // What a `tty.WriteStream` has beside: a spinner uses it.
  const terminal = {
    cursorTo: (x: number, y?: number) => readline.cursorTo(stream, x, y),
    moveCursor: (dx: number, dy: number) => readline.moveCursor(stream, dx, dy),
    clearLine: (direction: readline.Direction) => readline.clearLine(stream, direction),
  };
  Object.assign(stream, isTTY ? { isTTY: true, columns: columns ?? 80, ...terminal } : {});
  return { stream, bytes: () => Buffer.concat(chunks) };
}

let contexts: TestContext[] = [];

/** What commands said beside their data since this was asked last. */
export function saidSince(): string[] {
  const said = contexts.map(({ stderr }) => stderr());
  contexts = [];
  return said;
}

/** A context for `main(argv, context)` in this process: streams captured, environment and folders of its own. */
export function testContext(options: TestContextOptions = {}): TestContext {
  const dir = tempDir();
  const tty =
    typeof options.tty === "object"
      ? options.tty
      : { stdin: options.tty, stdout: options.tty, stderr: options.tty };
  const stdout = capture(tty.stdout === true, options.columns);
  const stderr = capture(tty.stderr === true, options.columns);
  const stdin: InputStream =
    options.stdin instanceof Readable
      ? options.stdin
      : Readable.from(options.stdin === undefined ? [] : [Buffer.from(options.stdin)]);
  if (tty.stdin) Object.assign(stdin, { isTTY: true });
  const answers = [...(options.answers ?? [])];
  const questions: string[] = [];
  const answer = async (question: string): Promise<string> => {
    questions.push(question);
    stderr.stream.write(question);
    const next = answers.shift();
    if (next === undefined) throw new Error(`the test has no answer to: ${question}`);
    stderr.stream.write("\n");
    return next;
  };
  const controller = new AbortController();
  const env: Record<string, string | undefined> = {
    HOME: dir,
    HEADCOUNT_CONFIG_DIR: join(dir, "config"),
    HEADCOUNT_STATE_DIR: join(dir, "state"),
    XDG_DATA_HOME: dataHome(),
    PATH: process.env.PATH,
    ...options.env,
  };
  const context: Context = {
    stdin,
    stdout: stdout.stream,
    stderr: stderr.stream,
    env,
    cwd: options.cwd ?? dir,
    platform: options.platform ?? process.platform,
    pid: process.pid,
    now: options.clock?.now ?? Date.now,
    sleep:
      options.clock?.sleep ??
      ((ms, signal) =>
        new Promise((resolve, reject) => {
          const stop = (): void => {
            clearTimeout(timer);
            reject(signal?.reason);
          };
          const timer = setTimeout(() => {
            signal?.removeEventListener("abort", stop);
            resolve();
          }, ms);
          if (signal?.aborted) stop();
          else signal?.addEventListener("abort", stop, { once: true });
        })),
    random: options.random ?? Math.random,
    confirm: async (question) => /^y(es)?$/i.test((await answer(question)).trim()),
    prompt: (question) => answer(question),
    interrupted: controller.signal,
    startSample,
    argv: options.argv ?? [],
  };
  const tested: TestContext = {
    context,
    dir,
    stdout: () => stdout.bytes().toString("utf8"),
    stderr: () => stderr.bytes().toString("utf8"),
    stdoutBytes: stdout.bytes,
    questions,
    interrupt: (signal = "SIGINT") =>
      controller.abort(Object.assign(new Error(signal), { name: "AbortError", code: signal })),
  };
  contexts.push(tested);
  return tested;
}

/** What a server of a test's own saw. */
export interface SeenRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface RawServer {
  readonly url: string;
  readonly port: number;
  readonly seen: SeenRequest[];
  close(): Promise<void>;
}

/** A server on port 0 that answers as the test says: the client's own opposite number, where it must misbehave. */
export async function rawServer(
  answer: (request: SeenRequest, response: ServerResponse, count: number) => void,
): Promise<RawServer> {
  const seen: SeenRequest[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8");
    request.on("data", (chunk: string) => {
      body += chunk;
    });
    request.on("end", () => {
      const entry = {
        method: request.method ?? "",
        url: request.url ?? "",
        headers: request.headers,
        body,
      };
      seen.push(entry);
      answer(entry, response, seen.length);
    });
    request.on("error", () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    seen,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

/** Answers with a success envelope. */
export function answerEnvelope(
  response: ServerResponse,
  result: unknown,
  {
    used = 0,
    remaining = 100,
    headers = {},
  }: { used?: number; remaining?: number; headers?: Record<string, string> } = {},
): void {
  response.writeHead(200, { "content-type": "application/json", ...headers });
  response.end(
    JSON.stringify({
      status: true,
      detail: [],
      result,
      credits_used: used,
      credits_remaining: remaining,
    }),
  );
}

/** Answers with an error envelope. */
export function answerError(
  response: ServerResponse,
  status: number,
  detail: readonly string[],
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, {
    "content-type": "application/json",
    "x-request-id": "req-1",
    ...headers,
  });
  response.end(
    JSON.stringify({
      status: false,
      detail,
      result: null,
      credits_used: 0,
      credits_remaining: 100,
    }),
  );
}
