import { type Transferable, Worker } from "node:worker_threads";
import type { ChildOptions } from "../shared/child.ts";

/**
 * The program of each, as text, since it is the same then
 * from the sources, from the build and from a bundle.
 */
const programOf = (text: string): string => `
const { parentPort } = require("node:worker_threads");
const work = (() => { ${text} })();
parentPort.on("message", ({ id, isLast, message }) => {
  if (isLast) return parentPort.close();
  try {
    const [answer, moved] = work(message);
    parentPort.postMessage({ id, answer }, moved);
  } catch (error) {
    parentPort.postMessage({ id, error: error.message });
  }
});`;

/**
 * A thread that answers in order. It starts with the first message, and keeps
 * no process alive while nobody waits. `text` makes a function of a message
 * that returns `[answer, what of it is handed over]`.
 */
export function threadOf<Message, Answer>({ text, what }: Pick<ChildOptions, "what" | "text">) {
  const waiting = new Map<number, Pick<PromiseWithResolvers<Answer>, "resolve" | "reject">>();
  let running: Worker | undefined;
  let next = 0;

  const lose = (reason: Error): void => {
    running = undefined;
    for (const { reject } of waiting.values()) reject(reason);
    waiting.clear();
  };

  function start(): Worker {
    // Flags of the process, as that its input is a module, are not for a text.
    const worker = new Worker(programOf(text), { eval: true, execArgv: [] });
    worker.unref();
    worker.on(
      "message",
      ({ answer, error, id }: { id: number; answer?: Answer; error?: string }) => {
        const caller = waiting.get(id);
        waiting.delete(id);
        if (waiting.size === 0) worker.unref();
        if (error === undefined) caller?.resolve(answer as Answer);
        else caller?.reject(new Error(error));
      },
    );

    const ended = (error: Error): void => {
      if (running === worker) lose(error);
    };

    worker.on("error", ended);
    worker.on("exit", () => ended(new Error(`${what} has ended`)));

    return worker;
  }

  return {
    /**
     * @param moved what is handed over.
     * @throws Error of the thread, or that it ended: the next message starts one
     */
    ask(message: Message, moved: readonly Transferable[] = []): Promise<Answer> {
      running ??= start();
      const worker = running;
      return new Promise((resolve, reject) => {
        const id = next++;
        if (waiting.size === 0) worker.ref();
        waiting.set(id, { resolve, reject });
        worker.postMessage({ id, message }, moved);
      });
    },

    /** Whoever waits is told the reason. The next message starts another. */
    async end(reason = new Error(`${what} has ended`)): Promise<void> {
      const worker = running;
      lose(reason);
      if (!worker) return;
      // Not terminate(): between the making of a zlib stream
      // and its first use Node aborts the process then.
      const ended = new Promise((resolve) => worker.once("exit", resolve));
      worker.ref();
      worker.postMessage({ isLast: true });
      await ended;
    },
  };
}
