import { request } from "node:http";
import { expect } from "vitest";
import type { Engine } from "../../src/dataset/engine.ts";
import { makeLink } from "../../src/service/console/sessions.ts";
import { wrapped } from "./dataset.ts";
import type { TestService } from "./service.ts";

export interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  readonly json: any;
  readonly text: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

export interface Sent {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string | undefined>>;
}

export interface Session {
  readonly cookie: string;
  readonly proof: string;
}

type Role = "owner" | "viewer";

export const as = ({ cookie, proof }: Session): Record<string, string> => ({
  cookie,
  "x-console-proof": proof,
});

/** A browser's page of the console, as the service sees it. */
export class ConsoleClient {
  readonly #service: TestService;
  readonly #now: () => number;

  constructor(service: TestService, now: () => number) {
    this.#service = service;
    this.#now = now;
  }

  /** As a page of this origin sends it, with whatever a test wants otherwise. */
  send(method: string, path: string, { body, headers }: Sent = {}): Promise<Answer> {
    const url = new URL(this.#service.url);
    const bytes =
      body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body);
    const given: Record<string, string | undefined> = {
      "sec-fetch-site": "same-origin",
      ...(method === "GET" ? {} : { "content-type": "application/json" }),
      ...(bytes === undefined ? {} : { "content-length": String(Buffer.byteLength(bytes)) }),
      ...headers,
    };
    const sent = Object.fromEntries(
      Object.entries(given).filter((entry): entry is [string, string] => entry[1] !== undefined),
    );
    return new Promise((resolve, reject) => {
      const call = request(
        { host: url.hostname, port: url.port, method, path, headers: sent },
        (response) => {
          let text = "";
          response.setEncoding("utf8");
          response.on("data", (data: string) => {
            text += data;
          });
          response.on("end", () => {
            const isJson = String(response.headers["content-type"]).startsWith("application/json");
            resolve({
              status: response.statusCode ?? 0,
              json: isJson ? JSON.parse(text) : undefined,
              text,
              headers: response.headers,
            });
          });
        },
      );
      call.on("error", reject);
      call.end(bytes);
    });
  }

  link(role: Role = "owner", accountId = "default", name = ""): Promise<string> {
    return makeLink(this.#service.store, { accountId, role, name, createdAt: this.#now() }, "test");
  }

  async signIn(body: unknown): Promise<Session> {
    const answer = await this.send("POST", "/console/api/session", { body });
    expect(answer.status).toBe(200);
    const cookie = String(answer.headers["set-cookie"]).split(";")[0] ?? "";
    return { cookie, proof: answer.json.proof };
  }

  /** Signed in by a link of that role. */
  async enter(role: Role = "owner", accountId = "default"): Promise<Session> {
    return this.signIn({ link: await this.link(role, accountId) });
  }

  call(session: Session, method: string, path: string, body?: unknown): Promise<Answer> {
    return this.send(method, `/console/api${path}`, {
      ...(body === undefined ? {} : { body }),
      headers: as(session),
    });
  }

  /** An export once it is no longer being bought. */
  async bought(session: Session, id: string): Promise<Answer["json"]> {
    for (;;) {
      const { json } = await this.call(session, "GET", `/exports/${id}`);
      if (json.state !== "buying") return json;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
}

/** An engine whose pages wait at a gate. */
export function gated() {
  let arrive: () => void = () => undefined;
  let leave: () => void = () => undefined;
  let [arrived, open] = [Promise.resolve(), Promise.resolve()];
  const close = (): void => {
    arrived = new Promise((resolve) => {
      arrive = resolve;
    });
    open = new Promise((resolve) => {
      leave = resolve;
    });
  };
  const wrapEngine = (engine: Engine): Engine =>
    wrapped(engine, {
      people: async (...given: Parameters<Engine["people"]>) => {
        arrive();
        await open;
        return engine.people(...given);
      },
    });
  return { wrapEngine, close, open: () => leave(), arrival: () => arrived };
}
