import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { tempDir } from "../support/client.ts";
import { type Served, startServed } from "../support/served.ts";
import { generatedDataset } from "../support/service.ts";

interface Value {
  readonly stringValue?: string;
  readonly intValue?: number | string;
  readonly doubleValue?: number;
}
interface Attribute {
  readonly key: string;
  readonly value: Value;
}
interface Span {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly attributes: readonly Attribute[];
}
interface Scoped {
  readonly resourceSpans?: readonly {
    readonly resource: object;
    readonly scopeSpans: readonly { readonly spans: Span[] }[];
  }[];
}

/** A collector: what an OTLP exporter sends over HTTP as JSON. */
let collector: Server;
let endpoint: string;
let bodies: string[] = [];
beforeAll(async () => {
  collector = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (text: string) => {
      body += text;
    });
    request.on("end", () => {
      bodies.push(body);
      response.writeHead(200, { "content-type": "application/json" }).end("{}");
    });
  });
  await new Promise<void>((listening) => collector.listen(0, "127.0.0.1", listening));
  endpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
});
afterAll(() => void collector.close());
beforeEach(() => {
  bodies = [];
});
let served: Served | undefined;
afterEach(async () => {
  await served?.stop();
  served = undefined;
});

const sent = (): readonly Scoped[] => bodies.map((body) => JSON.parse(body) as Scoped);
const spans = (): Span[] =>
  sent().flatMap(({ resourceSpans }) => (resourceSpans ?? []).flatMap((one) => one.scopeSpans.flatMap((s) => s.spans)));
const attribute = (span: Span | undefined, key: string): unknown => {
  const value = span?.attributes.find((one) => one.key === key)?.value;
  return value === undefined ? undefined : Object.values(value)[0];
};

const start = async (flags: readonly string[], env: Readonly<Record<string, string>>): Promise<Served> =>
  startServed(["--log", "--data", join(tempDir(), "data"), "--dataset", await generatedDataset(300), ...flags], env);

const call = ({ key, url }: Served, path: string, body: unknown, headers: Readonly<Record<string, string>> = {}) =>
  fetch(`${url}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });

describe("serve, traced", () => {
  test("a paid call is a trace of the caller's, with its steps and credits, and no key, filter value or record", async () => {
    served = await start([], { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_SERVICE_NAME: "people" });
    const trace = "0af7651916cd43dd8448eb211c80319c";
    const body = { filters: { seniority_level: ["Senior", "Entry"], name: "Zzyzx" }, per_page: 25 };
    const filtered = await call(served, "/v1/person/search", body, { traceparent: `00-${trace}-b7ad6b7169203331-01` });
    expect(filtered.status).toBe(200);
    const all = await call(served, "/v1/person/search", { filters: {}, per_page: 3 });
    const { result } = (await all.json()) as {
      readonly result: readonly { readonly name: string }[];
    };
    const { key } = served;
    expect(await served.stop()).toBe(0);
    const [root] = spans().filter((one) => one.traceId === trace && one.name === "POST /v1/person/search");
    expect(root).toMatchObject({ parentSpanId: "b7ad6b7169203331" });
    expect(spans().flatMap((one) => (one.parentSpanId === root?.spanId ? [one.name] : []))).toEqual([
      "hold",
      "work",
      "settle",
    ]);
    const [paid] = spans().filter((one) => attribute(one, "headcount.credits") === 3);
    expect(attribute(paid, "http.response.status_code")).toBe(200);
    expect(served.stderr()).toContain(`"trace_id":"${trace}"`);
    expect(JSON.stringify(sent())).toContain('"people"');
    const told = bodies.join("\n");
    for (const secret of [key, "Zzyzx", "Entry", result[0]?.name ?? "?"]) expect(told).not.toContain(secret);
  });

  test("a charge whose reply nobody took is told by its span and the log", async () => {
    served = await start(["--fault", "search:n=1:drop"], { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint });
    await expect(call(served, "/v1/person/search", { filters: {}, per_page: 2 })).rejects.toThrow();
    expect(await served.stop()).toBe(0);
    const [lost] = spans().filter((one) => attribute(one, "http.response.status_code") === 499);
    expect(attribute(lost, "headcount.credits")).toBe(2);
    expect(served.stderr()).toMatch(/"status":499.*"credits":"2"/);
  });

  test("a collector that is not there holds neither a call nor the end up", async () => {
    served = await start([], { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9" });
    for (let times = 0; times < 5; times++)
      expect((await call(served, "/v1/person/count", { filters: {} })).status).toBe(200);
    expect(await served.stop()).toBe(0);
    expect(served.stderr()).toContain('"msg":"stopped"');
  });
});
