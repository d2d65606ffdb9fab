import { spawn } from "node:child_process";
import { execPath } from "node:process";

/**
 * With what a person's own program may take: a query
 * that asks for more is wrong, or belongs elsewhere.
 */
export interface ChildOptions {
  /** Milliseconds for one answer. */
  readonly deadlineMs: number;
  /** Megabytes of JavaScript's memory. */
  readonly memoryMb: number;
  /** For errors: "the query". */
  readonly what: string;
  /**
   * The body of a function that returns one of a message,
   * which answers it. It may use `workerData` and `require`.
   */
  readonly text: string;
  readonly data?: unknown;
  /** Ends it: who waits is told the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

type Reply<Answer> =
  | { readonly answer: Answer }
  | { readonly error: string; readonly code?: string };

/**
 * The program of the process, as text: the same from the sources and from
 * a bundle. The work runs in a thread of it, so that what never returns
 * does not keep the process from hearing that its parent is gone.
 */
const programOf = (text: string): string => `
const host = require("node:process");
const { Worker } = require("node:worker_threads");
host.on("disconnect", () => host.kill(host.pid, "SIGKILL"));
host.on("SIGINT", () => undefined);
host.once("message", ({ data, memoryMb, message }) => {
  const resourceLimits = { maxOldGenerationSizeMb: memoryMb };
  const options = { eval: true, workerData: data, resourceLimits };
  const worker = new Worker(${JSON.stringify(workOf(text))}, options);
  const OVER = { code: "ERR_WORKER_OUT_OF_MEMORY" };
  const atFirst = host.memoryUsage.rss();
  const isOver = () => host.memoryUsage.rss() - atFirst > memoryMb * 2 ** 20;
  setInterval(() => isOver() && host.send(OVER, () => host.kill(host.pid, "SIGKILL")), 20);
  worker.on("message", (reply) => host.send(isOver() ? OVER : reply));
  worker.on("error", ({ code, message }) => host.send({ error: message, code }));
  worker.postMessage(message);
});`;

const workOf = (text: string): string => `
const { parentPort, workerData } = require("node:worker_threads");
const work = (() => { ${text} })();
parentPort.on("message", async (message) => {
  try {
    parentPort.postMessage({ answer: await work(message) });
  } catch (error) {
    parentPort.postMessage({ error: error.message });
  }
});`;

/**
 * What ended a child before it answered: its deadline
 * or its memory. What it threw itself is a plain Error.
 */
export class Overrun extends Error {}

/**
 * A process of its own for what a person wrote (SQL):
 * a signal, a deadline and a bound on memory end it.
 */
export async function answerOf<Answer>(message: object, options: ChildOptions): Promise<Answer> {
  const { data, deadlineMs, memoryMb, signal, text, what } = options;
  signal?.throwIfAborted();

  const child = spawn(execPath, ["-e", programOf(text)], {
    stdio: ["ignore", "ignore", "ignore", "ipc"],
    serialization: "advanced",
    signal,
  });
  const overrun = (why: string): Overrun => new Overrun(`${what} was ended: ${why}`);
  let timer: NodeJS.Timeout | undefined;
  try {
    return await new Promise<Answer>((resolve, reject) => {
      timer = setTimeout(
        () => reject(overrun(`it took longer than ${deadlineMs / 1000} s`)),
        deadlineMs,
      );
      const onExit = (): void => reject(signal?.aborted ? signal.reason : overrun("from outside"));

      child.on("exit", onExit);
      child.on("error", onExit);
      child.once("message", (reply: Reply<Answer>) => {
        if ("answer" in reply) resolve(reply.answer);
        else if (reply.code === "ERR_WORKER_OUT_OF_MEMORY")
          reject(overrun(`it takes more than ${memoryMb} MB`));
        else reject(new Error(reply.error));
      });
      child.send({ data, memoryMb, message });
    });
  } finally {
    clearTimeout(timer);
    child.kill("SIGKILL");
  }
}
