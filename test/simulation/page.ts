import { type IncomingMessage, request } from "node:http";

/** What a person at the console wants, in a browser that reaches the service by a line that may break. */
export interface Ordered {
  readonly department: string;
  readonly profiles: number;
}

export interface Browser {
  readonly url: string;
  /** By which name the service is asked for. */
  readonly host: () => string;
  readonly key: string;
  readonly sleep: (ms: number) => Promise<void>;
}

/** An export that is ready, and the file that the service wrote of it. */
export interface PageTold {
  readonly id: string;
  readonly version: string;
  readonly rows: number;
  readonly credits: number;
  readonly csv: string;
}

export interface PageEnded {
  readonly code: number;
  readonly said: string;
  readonly page?: PageTold;
}

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly cookie: string;
}

interface View {
  readonly id: string;
  readonly state: "buying" | "stopped" | "ready";
  readonly profiles: number;
  readonly rows: number;
  readonly credits: number;
  readonly credits_left: number;
  readonly version: string;
  readonly why: string;
}

/** A page that looks every few seconds; a service that died is silent for longer than that. */
const LOOK_MS = 5_000;
const LOOKS = 12;
const TRIES = 4;

class Refused extends Error {}

/** Signs in, asks for a quote, orders what it says or goes on with what was ordered before, and takes the file. */
export async function asPage(
  { department, profiles }: Ordered,
  browser: Browser,
): Promise<PageEnded> {
  const tab = new Tab(browser);
  try {
    await tab.signIn();
    const filters = { department };
    const quote = await tab.json("POST", "/quote", { filters, profiles });
    const before = (quote.bought as readonly View[]).find(
      (item) => item.profiles === quote.profiles,
    );
    if (before === undefined && quote.allowed !== true)
      return { code: 4, said: "the balance does not cover it" };
    const { quote_id } = quote;
    let item = before ?? (await tab.view("POST", "/exports", { quote_id }));
    for (let looks = 0; item.state !== "ready"; looks++) {
      if (looks > LOOKS) return { code: 5, said: `${item.state}: ${item.why}` };
      if (item.state === "stopped")
        await tab.view("POST", `/exports/${item.id}/continue`, { credits: item.credits_left });
      await browser.sleep(LOOK_MS);
      item = await tab.view("GET", `/exports/${item.id}`);
    }
    const { credits, id, rows, version } = item;
    const { text: csv } = await tab.call("GET", `/exports/${id}/csv`);
    return { code: 0, said: "", page: { id, version, rows, credits, csv } };
  } catch (error) {
    if (error instanceof Refused) return { code: 3, said: error.message };
    throw error;
  }
}

class Tab {
  readonly #browser: Browser;
  #headers: Readonly<Record<string, string>> = {};

  constructor(browser: Browser) {
    this.#browser = browser;
  }

  async signIn(): Promise<void> {
    const { cookie, text } = await this.call("POST", "/session", { key: this.#browser.key });
    const { proof } = JSON.parse(text) as { proof: string };
    this.#headers = { cookie, "x-console-proof": proof };
  }

  async json(method: string, path: string, body?: object): Promise<Record<string, unknown>> {
    return JSON.parse((await this.call(method, path, body)).text) as Record<string, unknown>;
  }

  async view(method: string, path: string, body?: object): Promise<View> {
    return (await this.json(method, path, body)) as unknown as View;
  }

  /** Again where no answer came: an order is known by its quote. @throws Refused */
  async call(method: string, path: string, body?: object): Promise<Answer> {
    for (let tries = 1; ; tries++) {
      const answer = await this.#send(method, path, body).catch((error: Error) => error);
      const isAnswer = !(answer instanceof Error);
      if (isAnswer && answer.status === 200) return answer;
      const isPassing = !isAnswer || answer.status >= 500 || answer.status === 429;
      if (!isPassing || tries === TRIES)
        throw new Refused(isAnswer ? `${answer.status} ${answer.text}` : answer.message);
      await this.#browser.sleep(1_000);
    }
  }

  #send(method: string, path: string, body?: object): Promise<Answer> {
    const { host, url } = this.#browser;
    const text = body === undefined ? "" : JSON.stringify(body);
    const headers = {
      ...this.#headers,
      host: host(),
      "sec-fetch-site": "same-origin",
      ...(method === "GET" ? {} : { "content-type": "application/json" }),
      "content-length": String(Buffer.byteLength(text)),
    };
    return new Promise((resolve, reject) => {
      const take = (reply: IncomingMessage): void => {
        const parts: Buffer[] = [];
        const cookie = String(reply.headers["set-cookie"] ?? "").split(";")[0] ?? "";
        reply.on("data", (part: Buffer) => parts.push(part));
        reply.on("error", reject);
        reply.on("end", () =>
          resolve({
            status: reply.statusCode ?? 0,
            text: Buffer.concat(parts).toString("utf8"),
            cookie,
          }),
        );
      };
      const call = request(`${url}/console/api${path}`, { method, headers, agent: false }, take);
      call.on("error", reject);
      call.end(text);
    });
  }
}
