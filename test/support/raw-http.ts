import { connect } from "node:net";

/** An answer as it came over the wire. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
}

export interface RawExchange {
  /** What the server sent until it closed, or until the deadline. */
  readonly text: string;
  /** The server closed the connection. */
  readonly closed: boolean;
  readonly answers: readonly RawAnswer[];
}

export interface RawOptions {
  /** Stop listening after this many milliseconds; default 15,000. */
  readonly deadlineMs?: number;
  /** Pause before each part after the first. */
  readonly pauseMs?: number;
  /** Say that nothing more will come once all parts are sent. */
  readonly end?: boolean;
  /** Stop once so many whole answers came. */
  readonly answers?: number;
}

/** Writes bytes to a port as they are and collects what comes back. */
export function exchange(
  port: number,
  parts: readonly (string | Buffer)[],
  options: RawOptions = {},
): Promise<RawExchange> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    const chunks: Buffer[] = [];
    const finish = (closed: boolean): void => {
      clearTimeout(timer);
      socket.destroy();
      const text = Buffer.concat(chunks).toString("utf8");
      resolve({ text, closed, answers: parseAnswers(text) });
    };
    const timer = setTimeout(() => finish(false), options.deadlineMs ?? 15_000);
    socket.on("data", (chunk) => {
      chunks.push(chunk);
      if (options.answers === undefined) return;
      if (parseAnswers(Buffer.concat(chunks).toString("utf8")).length >= options.answers)
        finish(false);
    });
    socket.on("error", () => undefined);
    socket.on("close", () => finish(true));
    socket.on("connect", async () => {
      for (const [at, part] of parts.entries()) {
        if (at > 0 && options.pauseMs !== undefined)
          await new Promise((wake) => setTimeout(wake, options.pauseMs));
        if (socket.destroyed) return;
        socket.write(typeof part === "string" ? Buffer.from(part, "latin1") : part);
      }
      if (options.end === true) socket.end();
    });
  });
}

/** Every whole answer in a stream of them. */
export function parseAnswers(text: string): RawAnswer[] {
  const answers: RawAnswer[] = [];
  let rest = Buffer.from(text, "utf8");
  for (;;) {
    const end = rest.indexOf("\r\n\r\n");
    if (end < 0) return answers;
    const [first = "", ...lines] = rest.subarray(0, end).toString("utf8").split("\r\n");
    const headers: Record<string, string> = {};
    for (const line of lines)
      headers[line.slice(0, line.indexOf(":")).toLowerCase()] = line
        .slice(line.indexOf(":") + 1)
        .trim();
    const status = Number(first.split(" ")[1]);
    const from = end + 4;
    const length = status === 100 ? 0 : Number(headers["content-length"] ?? 0);
    if (rest.length < from + length) return answers;
    if (status !== 100)
      answers.push({ status, headers, body: rest.subarray(from, from + length).toString("utf8") });
    rest = rest.subarray(from + length);
  }
}
