import {
  createServer,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";

/** What the proxy does to one request. "charged" faults reach the service first. */
export type Fault =
  | { readonly kind: "none" }
  /** The service answers, and the answer is thrown away. */
  | { readonly kind: "drop" }
  /** The service answers, and the connection breaks after so many bytes of the body. */
  | { readonly kind: "cut"; readonly bytes: number }
  /** The service answers, and the answer trickles: one byte, then a pause, for so many bytes; then the rest. */
  | { readonly kind: "drip"; readonly bytes: number; readonly pauseMs: number }
  /** The request reaches the service twice; the second answer is passed on. */
  | { readonly kind: "duplicate" }
  /** The connection breaks before the request reaches the service. */
  | { readonly kind: "reset" }
  /** An error of the service, in its envelope. */
  | {
      readonly kind: "error";
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly detail?: string;
    }
  /** A page of somebody else in the place of the service's answer: before it (not charged) or after it (charged). */
  | { readonly kind: "html"; readonly status: number; readonly charged: boolean }
  /** The service's answer comes later. */
  | { readonly kind: "delay"; readonly ms: number }
  /** Answers by itself. */
  | { readonly kind: "answer"; readonly status: number; readonly body: string };

export interface ProxiedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** Number of the request, from 1; of the paid ones, from 1 (0: free). */
  readonly n: number;
  readonly paid: number;
}

export interface FaultProxyOptions {
  readonly target: string;
  /** What to do to a request; none by default. */
  readonly decide?: (request: ProxiedRequest) => Fault | Promise<Fault>;
  /**
   * Makes the service look like somebody else's: idempotency keys are taken away, and nothing of our extensions is passed on.
   */
  readonly foreign?: boolean;
  /** Takes away the idempotency keys alone: for a control, which must notice. */
  readonly withoutKeys?: boolean;
}

export interface FaultProxy {
  readonly url: string;
  readonly seen: ProxiedRequest[];
  /** Faults that were done, by kind. */
  readonly done: Map<string, number>;
  decide: (request: ProxiedRequest) => Fault | Promise<Fault>;
  close(): Promise<void>;
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

const PAID = /^\/v1\/(person\/search|company\/(enrich|employees))/;

/** A proxy on port 0 between a client and the real service that does what networks do. */
export async function faultProxy(options: FaultProxyOptions): Promise<FaultProxy> {
  const seen: ProxiedRequest[] = [];
  const done = new Map<string, number>();
  let paid = 0;
  const server = createServer((incoming, outgoing) => {
    void handle(incoming, outgoing).catch(() => outgoing.destroy());
  });

  async function handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const isPaid = PAID.test(incoming.url ?? "");
    if (isPaid) paid++;
    const request: ProxiedRequest = {
      method: incoming.method ?? "",
      url: incoming.url ?? "",
      headers: incoming.headers,
      body: Buffer.concat(chunks).toString("utf8"),
      n: seen.length + 1,
      paid: isPaid ? paid : 0,
    };
    seen.push(request);
    const fault = await proxy.decide(request);
    done.set(fault.kind, (done.get(fault.kind) ?? 0) + 1);
    switch (fault.kind) {
      case "reset":
        return void outgoing.destroy();
      case "error":
        outgoing.writeHead(fault.status, { "content-type": "application/json", ...fault.headers });
        return void outgoing.end(
          JSON.stringify({
            status: false,
            detail: [fault.detail ?? `injected ${fault.status}`],
            result: null,
            credits_used: 0,
            credits_remaining: 0,
          }),
        );
      case "answer":
        outgoing.writeHead(fault.status, { "content-type": "application/json" });
        return void outgoing.end(fault.body);
      case "html":
        if (fault.charged) await forward(request);
        outgoing.writeHead(fault.status, { "content-type": "text/html" });
        return void outgoing.end(
          "<html><title>Gateway</title><body>Please try later</body></html>",
        );
      case "duplicate":
        await forward(request);
        return pass(await forward(request), outgoing);
      case "drop":
        await forward(request);
        return void outgoing.destroy();
      case "cut": {
        const answer = await forward(request);
        outgoing.writeHead(answer.status, {
          ...answer.headers,
          "content-length": String(answer.body.length),
        });
        const part = answer.body.subarray(0, Math.min(fault.bytes, answer.body.length - 1));
        await new Promise<void>((resolve) =>
          outgoing.write(part.length === 0 ? " " : part, () => resolve()),
        );
        return void outgoing.destroy();
      }
      case "drip": {
        const answer = await forward(request);
        outgoing.writeHead(answer.status, {
          ...answer.headers,
          "content-length": String(answer.body.length),
        });
        const slow = Math.min(fault.bytes, answer.body.length);
        for (let at = 0; at < slow && !outgoing.destroyed; at++) {
          outgoing.write(answer.body.subarray(at, at + 1));
          await new Promise((resolve) => setTimeout(resolve, fault.pauseMs));
        }
        return void outgoing.end(answer.body.subarray(slow));
      }
      case "delay": {
        const answer = await forward(request);
        await new Promise((resolve) => setTimeout(resolve, fault.ms));
        return pass(answer, outgoing);
      }
      default:
        return pass(await forward(request), outgoing);
    }
  }

  function forward(request: ProxiedRequest): Promise<Answer> {
    const headers: Record<string, string | string[] | undefined> = {
      ...request.headers,
      connection: "close",
    };
    delete headers.host;
    if (options.foreign === true || options.withoutKeys === true) delete headers["idempotency-key"];
    return new Promise((resolve, reject) => {
      const call = httpRequest(
        options.target + request.url,
        { method: request.method, headers },
        (response) => {
          const chunks: Buffer[] = [];
          response.on("data", (chunk: Buffer) => chunks.push(chunk));
          response.on("error", reject);
          response.on("end", () => {
            const answer = {
              status: response.statusCode ?? 0,
              headers: response.headers,
              body: Buffer.concat(chunks),
            };
            resolve(options.foreign === true ? asForeign(answer) : answer);
          });
        },
      );
      call.on("error", reject);
      call.end(request.body);
    });
  }

  const proxy: FaultProxy = {
    url: "",
    seen,
    done,
    decide: options.decide ?? (() => ({ kind: "none" })),
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  Object.assign(proxy, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
  return proxy;
}

function pass(answer: Answer, outgoing: ServerResponse): void {
  const { connection: _, "transfer-encoding": __, ...headers } = answer.headers;
  outgoing.writeHead(answer.status, { ...headers, "content-length": String(answer.body.length) });
  outgoing.end(answer.body);
}

/** Without our own extensions: nothing tells that the service honours keys or which dataset it serves. */
function asForeign(answer: Answer): Answer {
  const headers = { ...answer.headers };
  for (const name of [
    "x-dataset-version",
    "idempotent-replayed",
    "x-total-count",
    "x-next-cursor",
    "link",
  ])
    delete headers[name];
  const text = answer.body.toString("utf8");
  if (!text.includes('"dataset"')) return { ...answer, headers };
  const envelope = JSON.parse(text) as { result?: Record<string, unknown> };
  if (envelope.result?.dataset !== undefined) delete envelope.result.dataset;
  const body = Buffer.from(JSON.stringify(envelope));
  return {
    status: answer.status,
    headers: { ...headers, "content-length": String(body.length) },
    body,
  };
}
