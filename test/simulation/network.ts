import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import type { Duplex } from "node:stream";
import type { Scheduler, Token } from "./scheduler.ts";
import { inProcess } from "./wire.ts";

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
  readonly url: string;
  readonly #server: Server;
  /** Of the command that is running: the replies to one that was killed reach nobody. */
  #command = 0;
  #calls = 0;
  readonly #open = new Map<string, () => void>();
  readonly #breaks = new Map<string, () => void>();
  /** Calls for whose replies the command waits that is running. */
  #mine = new Set<string>();
  readonly #sockets = new Set<Duplex>();

  /** @param port is of no system's: clients of this process alone reach it */
  constructor(user: string, port: number) {
    this.user = user;
    this.#server = createServer((incoming, outgoing) => {
      outgoing.on("error", () => undefined);
      void this.#take(incoming, outgoing).catch(() => outgoing.destroy());
    });
    this.#server.on("connection", (socket: Duplex) => {
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
    });
    this.url = inProcess(this.#server, port);
  }

  get isWaiting(): boolean {
    return this.#mine.size > 0;
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
    this.#mine = new Set();
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
    for (const socket of this.#sockets) socket.destroy();
  }

  async #take(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const actor = `${this.user}#${++this.#calls}`;
    const mine = this.#mine.add(actor);
    const call = new Call(actor, outgoing, this.#command, () => mine.delete(actor));
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const { now } = this;
    if (now === undefined) return call.hangUp();
    const body = Buffer.concat(chunks);
    // An export of the page has an id by chance.
    const path = (incoming.url ?? "").split("?")[0]?.replace(/\b[0-9a-f]{16}\b/, "…");
    const what = `${incoming.method} ${path} ${body.toString("utf8").slice(0, 60)}`;
    const refuse = (status: number) => () => call.answer(refusal(status));
    now.scheduler.arrive({
      actor,
      kind: "request",
      detail: what.trim(),
      faults: {
        reset: () => call.hangUp(),
        "error 500": refuse(500),
        "error 503": refuse(503),
        "error 429": refuse(429),
      },
      go: () => this.#forward(now, call, incoming, body),
    });
  }

  #forward(now: Reached, call: Call, incoming: IncomingMessage, body: Buffer): void {
    const { scheduler } = now;
    const { actor } = call;
    scheduler.atService.add(actor);
    let isLost = false;
    const end = (): void => {
      scheduler.atService.delete(actor);
      this.#open.delete(actor);
      this.#breaks.delete(actor);
    };
    const replied = (token: Pick<Token, "detail" | "faults" | "go">): void => {
      end();
      // Who waited for it is dead, or has given it up.
      if (call.isGone || this.now !== now || this.#command !== call.command) return;
      scheduler.arrive({ actor, kind: "reply", ...token });
    };
    const none = { detail: "none", faults: {}, go: () => call.hangUp() };
    this.#open.set(actor, () => {
      isLost = true;
      replied(none);
    });
    this.#breaks.set(actor, () => {
      this.#breaks.delete(actor);
      call.hangUp();
    });
    const done = (answer: Answer | undefined): void => {
      if (isLost) return;
      if (answer === undefined) {
        replied(none);
        return;
      }
      const sold = soldBy(this.user, incoming, answer, scheduler.time);
      if (sold !== undefined) now.sold(sold);
      const faults = { lost: () => call.hangUp(), cut: () => call.cut(answer) };
      replied({ detail: `${answer.status}`, faults, go: () => call.answer(answer) });
    };
    const headers = { ...incoming.headers, connection: "close" };
    const sent = httpRequest(
      now.url() + (incoming.url ?? ""),
      { method: incoming.method, headers, agent: false },
      (reply) => {
        const parts: Buffer[] = [];
        reply.on("data", (chunk: Buffer) => parts.push(chunk));
        reply.on("error", () => done(undefined));
        reply.on("end", () =>
          done({
            status: reply.statusCode ?? 0,
            headers: reply.headers,
            body: Buffer.concat(parts),
          }),
        );
      },
    );
    sent.on("error", () => done(undefined));
    sent.end(body);
  }
}

/** One call as its user sees it: it ends once. */
class Call {
  readonly actor: string;
  readonly command: number;
  readonly #outgoing: ServerResponse;
  readonly #over: () => void;

  constructor(actor: string, outgoing: ServerResponse, command: number, over: () => void) {
    this.actor = actor;
    this.command = command;
    this.#outgoing = outgoing;
    this.#over = over;
    outgoing.on("close", over);
  }

  get isGone(): boolean {
    return this.#outgoing.destroyed;
  }

  hangUp(): void {
    this.#over();
    this.#outgoing.destroy();
  }

  answer({ body, headers, status }: Answer): void {
    this.#over();
    const { "transfer-encoding": _, ...others } = headers;
    this.#outgoing.writeHead(status, {
      ...others,
      connection: "close",
      "content-length": String(body.length),
    });
    this.#outgoing.end(body);
  }

  /** Half of the answer, and then nothing. */
  cut({ body, headers, status }: Answer): void {
    this.#over();
    this.#outgoing.writeHead(status, { ...headers, "content-length": String(body.length) });
    this.#outgoing.write(body.subarray(0, Math.floor(body.length / 2)), () =>
      this.#outgoing.destroy(),
    );
  }
}

function refusal(status: number): Answer {
  const detail = [`simulated ${status}`];
  const body = { status: false, detail, result: null, credits_used: 0, credits_remaining: 0 };
  return {
    status,
    headers: { "content-type": "application/json", "retry-after": "1" },
    body: Buffer.from(JSON.stringify(body)),
  };
}

function soldBy(
  user: string,
  incoming: IncomingMessage,
  { body, headers, status }: Answer,
  at: number,
): Sold | undefined {
  const key = incoming.headers["idempotency-key"];
  if (status !== 200 || typeof key !== "string") return undefined;
  const { credits_used, result } = JSON.parse(body.toString("utf8")) as {
    credits_used: number;
    result: unknown;
  };
  const ids = [...JSON.stringify(result).matchAll(/"id":"(p\d+)"/g)].map((match) => match[1] ?? "");
  return {
    user,
    key,
    replayed: headers["idempotent-replayed"] === "true",
    ids,
    credits: credits_used,
    at,
  };
}
