import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import type { Scheduler, Token } from "./scheduler.ts";

/** A paid reply that left the service. */
export interface Sold {
  readonly user: string;
  readonly key: string;
  readonly replayed: boolean;
  readonly ids: readonly string[];
  readonly credits: number;
  readonly at: number;
}

export interface Reached {
  readonly scheduler: Scheduler;
  /** Where the service listens at the moment. */
  readonly url: () => string;
  readonly sold: (sold: Sold) => void;
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly body: Buffer;
}

/** The way from one user to the service: each request and each reply waits for the scheduler, which may lose, cut or answer it. */
export class Line {
  /** The seed that is being played; requests of commands that were killed in an earlier one are cut. */
  now: Reached | undefined;
  readonly user: string;
  readonly #server: Server;
  /** Of the command that is running: the replies to one that was killed reach nobody. */
  #command = 0;
  #calls = 0;
  readonly #open = new Map<string, () => void>();
  readonly #breaks = new Map<string, () => void>();

  private constructor(user: string) {
    this.user = user;
    this.#server = createServer((incoming, outgoing) => {
      outgoing.on("error", () => undefined);
      void this.#take(incoming, outgoing).catch(() => outgoing.destroy());
    });
  }

  static async open(user: string): Promise<Line> {
    const line = new Line(user);
    await new Promise<void>((resolve) => line.#server.listen(0, "127.0.0.1", resolve));
    return line;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  begin(now: Reached | undefined): void {
    this.now = now;
    this.#calls = 0;
    this.#open.clear();
    this.#breaks.clear();
  }

  /** A command begins, or was killed. */
  turn(): void {
    this.#command++;
  }

  /** Breaks the line to the user of a call that the service goes on with. */
  break(actor: string): void {
    this.#breaks.get(actor)?.();
  }

  /** Whether there is a user behind a call whom it could be broken to. */
  isOpen(actor: string): boolean {
    return this.#breaks.has(actor);
  }

  /** The calls that a dead service leaves without a reply: their users learn it when the scheduler says so. */
  lose(): void {
    for (const lost of [...this.#open.values()]) lost();
  }

  /** Cuts everybody who still waits. */
  drop(): void {
    this.#server.closeAllConnections();
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  async #take(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const { now } = this;
    if (now === undefined) return void outgoing.destroy();
    const body = Buffer.concat(chunks);
    const actor = `${this.user}#${++this.#calls}`;
    const what = `${incoming.method} ${(incoming.url ?? "").split("?")[0]} ${body.toString("utf8").slice(0, 60)}`;
    const refuse = (status: number) => () => answerError(outgoing, status);
    now.scheduler.arrive({
      actor,
      kind: "request",
      detail: what.trim(),
      faults: {
        reset: () => outgoing.destroy(),
        "error 500": refuse(500),
        "error 503": refuse(503),
        "error 429": refuse(429),
      },
      go: () => this.#forward(now, actor, incoming, body, outgoing),
    });
  }

  #forward(now: Reached, actor: string, incoming: IncomingMessage, body: Buffer, outgoing: ServerResponse): void {
    const { scheduler } = now;
    let isLost = false;
    const command = this.#command;
    const isAlone = (): boolean => outgoing.destroyed || this.now !== now || this.#command !== command;
    const replied = (token: Pick<Token, "detail" | "faults" | "go">): void => {
      this.#open.delete(actor);
      this.#breaks.delete(actor);
      // Who waited for it is dead, or has given it up.
      if (isAlone()) scheduler.ended();
      else scheduler.arrive({ actor, kind: "reply", ...token });
    };
    this.#open.set(actor, () => {
      isLost = true;
      this.#open.delete(actor);
      this.#breaks.delete(actor);
      if (isAlone()) return;
      scheduler.waiting.push({ actor, kind: "reply", detail: "none", faults: {}, go: () => outgoing.destroy() });
    });
    const done = (answer: Answer | undefined): void => {
      if (isLost) return;
      if (answer === undefined) {
        replied({ detail: "none", faults: {}, go: () => outgoing.destroy() });
        return;
      }
      const sold = soldBy(this.user, incoming, answer, scheduler.time);
      if (sold !== undefined) now.sold(sold);
      const cut = (): void => {
        outgoing.writeHead(answer.status, { ...answer.headers, "content-length": String(answer.body.length) });
        outgoing.write(answer.body.subarray(0, Math.floor(answer.body.length / 2)), () => outgoing.destroy());
      };
      const faults = { lost: () => outgoing.destroy(), cut };
      replied({ detail: `${answer.status}`, faults, go: () => pass(answer, outgoing) });
    };
    this.#breaks.set(actor, () => {
      this.#breaks.delete(actor);
      outgoing.destroy();
    });
    const headers = { ...incoming.headers, connection: "close" };
    const call = httpRequest(
      now.url() + (incoming.url ?? ""),
      { method: incoming.method, headers, agent: false },
      (reply) => {
        const parts: Buffer[] = [];
        reply.on("data", (chunk: Buffer) => parts.push(chunk));
        reply.on("error", () => done(undefined));
        reply.on("end", () =>
          done({ status: reply.statusCode ?? 0, headers: reply.headers, body: Buffer.concat(parts) }),
        );
      },
    );
    call.on("error", () => done(undefined));
    call.end(body);
  }
}

function pass({ body, headers, status }: Answer, outgoing: ServerResponse): void {
  const { "transfer-encoding": _, ...others } = headers;
  outgoing.writeHead(status, { ...others, connection: "close", "content-length": String(body.length) });
  outgoing.end(body);
}

function answerError(outgoing: ServerResponse, status: number): void {
  outgoing.writeHead(status, { "content-type": "application/json", connection: "close", "retry-after": "1" });
  const detail = [`simulated ${status}`];
  outgoing.end(JSON.stringify({ status: false, detail, result: null, credits_used: 0, credits_remaining: 0 }));
}

function soldBy(
  user: string,
  incoming: IncomingMessage,
  { body, headers, status }: Answer,
  at: number,
): Sold | undefined {
  const key = incoming.headers["idempotency-key"];
  if (status !== 200 || typeof key !== "string") return undefined;
  const { credits_used, result } = JSON.parse(body.toString("utf8")) as { credits_used: number; result: unknown };
  const ids = [...JSON.stringify(result).matchAll(/"id":"(p\d+)"/g)].map((match) => match[1] ?? "");
  return { user, key, replayed: headers["idempotent-replayed"] === "true", ids, credits: credits_used, at };
}
