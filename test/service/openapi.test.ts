import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ensureSample } from "../../src/dataset/build/sample.ts";
import { openDataset } from "../../src/dataset/embedded/open.ts";
import { openTestDataset } from "../../src/service/admin/data-folder.ts";
import { API_ROUTES } from "../../src/service/http/calls.ts";
import {
  COMPANY,
  COMPANY_FIELDS,
  MAX_BODY_BYTES,
  PERSON,
  PERSON_FIELDS,
} from "../../src/shared/contract/records.ts";
import { FILTER_KEYS } from "../../src/shared/contract/vocabulary.ts";
import { exampleOf } from "../../src/shared/openapi/convert.ts";
import { openApiDocument, openApiText } from "../../src/shared/openapi/document.ts";
import { API_SCHEMAS } from "../../src/shared/schema/api.ts";
import { wrapped } from "../support/dataset.ts";
import { long } from "../support/long.ts";
import {
  documentedAnswers,
  responseProblems,
  unseenAnswers,
  validateResponse,
} from "../support/openapi.ts";
import {
  type CallInit,
  startTestService,
  type TestService,
  temporaryFolder,
} from "../support/service.ts";

const ROOT = resolve(import.meta.dirname, "../..");

describe("the document", () => {
  test("docs/openapi.json is what the source makes (npm run openapi)", () => {
    expect(readFileSync(join(ROOT, "docs/openapi.json"), "utf8")).toBe(openApiText());
  });

  test("describes the routes of the service, no more and no fewer", () => {
    const documented = Object.entries(openApiDocument().paths).map(([path, item]) => [
      path,
      Object.keys(item),
    ]);
    const served = Object.entries(API_ROUTES).map(([path, { method }]) => [
      path,
      [method.toLowerCase()],
    ]);
    expect(documented).toEqual(served);
  });

  test("describes every filter key and every field of the records, and allows no other", () => {
    const { schemas } = openApiDocument().components;
    const names = (schema: string): string[] => Object.keys(schemas[schema]?.properties ?? {});
    expect(names("Filters")).toEqual([...FILTER_KEYS]);
    expect(names("Person")).toEqual([...PERSON_FIELDS]);
    expect(names("Company")).toEqual([...COMPANY_FIELDS]);
    for (const [name, schema] of Object.entries(schemas)) {
      if (schema.type === "object")
        expect([name, schema.additionalProperties]).toEqual([name, false]);
    }
  });

  // Each of these made a client of somebody's generator send what nobody asked for, go elsewhere, or not compile.
  test("holds nothing that generated clients trip over", () => {
    const document = JSON.parse(openApiText()) as { servers: unknown; paths: object };
    expect(document.servers).toEqual([expect.objectContaining({ url: "/" })]);
    const found: string[] = [];
    const walk = (value: unknown, path: string): void => {
      if (typeof value !== "object" || value === null) return;
      if (/\/examples?$/.test(path)) return;
      const { anyOf, enum: values } = value as { anyOf?: unknown[]; enum?: unknown[] };
      if ("default" in value) found.push(`${path}: default`);
      if (values?.some((item) => typeof item !== "string"))
        found.push(`${path}: enum of ${JSON.stringify(values)}`);
      if (anyOf !== undefined && !/^\/components\/schemas\/\w+$/.test(path))
        found.push(`${path}: anyOf without a name`);
      for (const [key, inner] of Object.entries(value)) walk(inner, `${path}/${key}`);
    };
    walk(document, "");
    expect(found).toEqual([]);
    expect(openApiText()).not.toContain("8787");
  });

  test("gives tools that send every example a call that works", () => {
    const { components, paths } = openApiDocument();
    for (const item of Object.values(paths)) {
      for (const { parameters } of Object.values(item)) {
        const named = parameters.map((entry) =>
          "$ref" in entry ? components.parameters[entry.$ref.split("/").at(-1) ?? ""] : entry,
        );
        const sent = named
          .filter((parameter) => parameter?.example !== undefined)
          .map((parameter) => parameter?.name);
        expect(["", "domain", "domain,per_page"]).toContain(sent.join());
      }
    }
    for (const name of ["Deprecation", "Sunset", "Idempotent-Replayed"])
      expect(components.headers[name]).toBeUndefined();
  });

  long("its examples are of the sample that a new folder starts with", async () => {
    const datasetDir = join(temporaryFolder(), "dataset");
    await ensureSample(datasetDir);
    const engine = await openDataset(datasetDir);
    try {
      const company = await engine.company({ by: "domain", value: COMPANY.domain[0] });
      expect(JSON.parse(company?.record.toString() ?? "null")).toEqual(
        exampleOf(API_SCHEMAS.Company),
      );
      const exact = { network_url: [PERSON.network_url[0]] };
      const people = await engine.people({ exact, prefix: {}, range: {} }, { offset: 0, limit: 2 });
      expect(people.records.map((record) => JSON.parse(record.toString()) as unknown)).toEqual([
        exampleOf(API_SCHEMAS.Person),
      ]);
    } finally {
      await engine.close();
    }
    const testDataset = await openTestDataset(join(temporaryFolder(), "test"));
    expect(await testDataset.company({ by: "domain", value: COMPANY.domain[0] })).toBeDefined();
    await testDataset.close();
  });

  test("its own examples are as it says", () => {
    let looked = 0;
    for (const [path, item] of Object.entries(openApiDocument().paths)) {
      for (const [method, operation] of Object.entries(item)) {
        const entry = operation.responses["200"];
        if (entry === undefined || "$ref" in entry) throw new Error("200 is described in place");
        for (const { value } of Object.values(entry.content["application/json"]?.examples ?? {})) {
          const problems = responseProblems({
            method,
            path,
            status: 200,
            headers: {},
            body: value,
          });
          expect(problems.filter((problem) => !/header|content type/.test(problem))).toEqual([]);
          looked++;
        }
      }
    }
    expect(looked).toBeGreaterThanOrEqual(Object.keys(openApiDocument().paths).length);
  });
});

describe("the check itself", () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService({ people: 200 });
  });
  afterAll(() => service.close());

  async function page() {
    const { headers, json, status } = await service.call("/v1/person/search", {
      body: { filters: {}, per_page: 2 },
    });
    return {
      method: "POST",
      path: "/v1/person/search",
      status,
      headers: Object.fromEntries(headers),
      body: json,
    };
  }

  test("passes what the service sends and sees each kind of deviation", async () => {
    const answer = await page();
    expect(responseProblems(answer)).toEqual([]);
    const [person, second] = answer.body.result as Record<string, unknown>[];
    const withResult = (result: unknown) =>
      responseProblems({ ...answer, body: { ...answer.body, result } });
    expect(withResult([{ ...person, salary: 1 }, second])).not.toEqual([]);
    const { title: _, ...untitled } = person ?? {};
    expect(withResult([untitled, second])).not.toEqual([]);
    expect(withResult([{ ...person, connections: "500" }])).not.toEqual([]);
    expect(withResult([{ ...person, connections: 1.5 }])).not.toEqual([]);
    expect(withResult([{ ...person, department: "Sale" }])).not.toEqual([]);
    expect(withResult([{ ...person, department: null }])).not.toEqual([]);
    expect(withResult([{ ...person, title: null }])).toEqual([]);
    expect(withResult(null)).not.toEqual([]);
    expect(responseProblems({ ...answer, body: { ...answer.body, status: false } })).not.toEqual(
      [],
    );
    expect(responseProblems({ ...answer, body: { ...answer.body, took_ms: 1 } })).not.toEqual([]);
    expect(responseProblems({ ...answer, body: "<html>" })).not.toEqual([]);
    expect(responseProblems({ ...answer, status: 201 })).not.toEqual([]);
    for (const name of ["x-ratelimit-limit", "x-request-id", "x-total-count", "content-type"]) {
      const { [name]: gone, ...headers } = answer.headers;
      expect([name, responseProblems({ ...answer, headers })]).not.toEqual([name, []]);
      expect(gone).toBeDefined();
    }
    expect(
      responseProblems({
        ...answer,
        headers: { ...answer.headers, "x-ratelimit-remaining": "-1" },
      }),
    ).not.toEqual([]);
    expect(
      responseProblems({ ...answer, headers: { ...answer.headers, "x-internal": "1" } }),
    ).not.toEqual([]);
    expect(() => validateResponse({ ...answer, status: 418 })).toThrow("does not list this status");
  });
});

describe("the document's examples", () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService({ people: 500 });
  });
  afterAll(() => service.close());

  test("of request bodies are accepted", async () => {
    let sent = 0;
    for (const [path, item] of Object.entries(openApiDocument().paths)) {
      const examples = item.post?.requestBody?.content["application/json"]?.examples ?? {};
      for (const [name, { value }] of Object.entries(examples)) {
        expect([name, (await service.call(path, { body: value })).status]).toEqual([name, 200]);
        sent++;
      }
    }
    expect(sent).toBeGreaterThanOrEqual(
      Object.values(openApiDocument().paths).filter(({ post }) => post).length,
    );
  });

  const search = "/v1/person/search";
  const errors: readonly (readonly [string, string, string, CallInit])[] = [
    ["Unauthorized", "no_key", "/v1/account", { key: null }],
    ["Unauthorized", "revoked", "/v1/account", { key: "hc_live_wrong" }],
    ["NotFound", "miss", "/v1/company/enrich?domain=nobody.example", {}],
    ["MethodNotAllowed", "wrong_method", "/v1/account", { method: "DELETE" }],
    ["PayloadTooLarge", "too_large", search, { body: " ".repeat(MAX_BODY_BYTES + 1) }],
    [
      "UnsupportedMediaType",
      "not_json",
      search,
      { body: "x", headers: { "content-type": "text/plain" } },
    ],
    [
      "UnprocessableFilters",
      "unknown_filter",
      search,
      { body: { filters: { departement: "Sales" } } },
    ],
    [
      "UnprocessableFilters",
      "unknown_department",
      search,
      { body: { filters: { department: "Saless" } } },
    ],
    ["UnprocessableFilters", "per_page", search, { body: { filters: {}, per_page: 5_000 } }],
    ["UnprocessableFilters", "no_filters", search, { body: {} }],
    ["UnprocessableQuery", "none", "/v1/company/enrich", {}],
    ["UnprocessableQuery", "unknown_parameter", "/v1/company/enrich?url=x", {}],
    ["UnknownParameter", "unknown_parameter", "/v1/account?verbose=1", {}],
  ];
  test.each(errors)(
    "of %s (%s) is what the service says",
    async (response, example, path, init) => {
      const content = openApiDocument().components.responses[response]?.content["application/json"];
      const said = content?.examples[example]?.value as
        | { readonly detail: readonly string[] }
        | undefined;
      const { json } = await service.call(path, init);
      expect(json.detail).toEqual(said?.detail);
    },
  );
});

/** Sends bytes as they are and returns the head and body of the answer. */
function rawCall(port: number, bytes: string) {
  return new Promise<{ status: number; headers: Record<string, string>; body: string }>(
    (done, fail) => {
      const socket = connect(port, "127.0.0.1", () => socket.write(bytes));
      let text = "";
      socket.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
      });
      socket.on("error", fail).on("close", () => {
        const [head = "", body = ""] = text.split("\r\n\r\n");
        const [first = "", ...lines] = head.split("\r\n");
        const headers = Object.fromEntries(
          lines.map((line) => [
            line.slice(0, line.indexOf(":")),
            line.slice(line.indexOf(":") + 1).trim(),
          ]),
        );
        done({ status: Number(first.split(" ")[1]), headers, body });
      });
    },
  );
}

const NOBODY = "?domain=nobody.example";

/** Calls that every operation is asked with, beside those that only some can be. */
const CALLS = [
  { method: "GET", path: "/v1/account", query: "", bodies: [], paid: false },
  {
    method: "POST",
    path: "/v1/person/count",
    query: "",
    bodies: [{ filters: { department: "Sales" } }],
    paid: false,
  },
  {
    method: "POST",
    path: "/v1/person/search",
    query: "",
    bodies: [{ filters: {}, per_page: 5 }],
    paid: true,
  },
  { method: "GET", path: "/v1/company/enrich", query: NOBODY, bodies: [], paid: true },
  { method: "GET", path: "/v1/company/employees", query: NOBODY, bodies: [], paid: true },
  {
    method: "POST",
    path: "/facets",
    query: "",
    bodies: [{ filters: {}, key: "industry" }],
    paid: false,
  },
  {
    method: "POST",
    path: "/counts",
    query: "",
    bodies: [{ filters: {}, companies: ["acme"] }],
    paid: false,
  },
  { method: "POST", path: "/sketch", query: "", bodies: [{ filters: {}, cells: 20 }], paid: false },
  {
    ...{ method: "POST", path: "/people", query: "", paid: true },
    bodies: [{ filters: {}, digests: ["0123456789abcdef"] }],
  },
  { method: "GET", path: "/key", query: "", bodies: [], paid: false },
] as const;

describe("every status of every path", () => {
  long("is answered by the service as the document says", async () => {
    const service = await startTestService({ people: 500 });
    const faulty = await startTestService({
      people: 500,
      onApp: (app) =>
        app.addHook("onRequest", async ({ call }) => {
          if (call.name !== undefined) throw new Error("something is broken");
        }),
    });
    const poor = await startTestService({ people: 500, credits: 0 });
    // Its clock stands still, so that the one call of the minute is used up for good.
    const exhausted = await startTestService({
      people: 500,
      plan: { perMinute: 1 },
      monotonic: () => 0,
    });
    await exhausted.call("/v1/account");
    const suspended = await startTestService({ people: 500 });
    await suspended.store.suspendAccount("default", true);
    // A dataset that answers when it is told to: of two equal calls one is in flight until then.
    let open = (): void => undefined;
    let gate = Promise.resolve();
    const held = await startTestService({
      people: 500,
      wrapEngine: (engine) =>
        wrapped(engine, {
          people: async (...given) => gate.then(() => engine.people(...given)),
          company: async (...given) => gate.then(() => engine.company(...given)),
          employees: async (...given) => gate.then(() => engine.employees(...given)),
        }),
    });
    const hasty = await startTestService({
      people: 500,
      timeouts: { headers: 100, request: 100, check: 20 },
    });
    // Nobody's turn comes.
    const busy = await startTestService({
      people: 500,
      turns: { dataset: 0 },
      timeouts: { turn: 5 },
    });
    const all = [service, faulty, poor, exhausted, suspended, held, hasty, busy];
    const problems: string[] = [];

    async function call(
      at: TestService,
      path: string,
      method: string,
      init: object = {},
    ): Promise<TestAnswer> {
      const answer = await at.call(path, { method, ...init });
      const { json, status, text } = answer;
      problems.push(
        ...responseProblems({
          method,
          path,
          status,
          headers: Object.fromEntries(answer.headers),
          body: text,
        }),
      );
      return { status, json };
    }

    try {
      const found = await call(service, "/v1/person/search", "POST", {
        body: { filters: {}, per_page: 50 },
      });
      const domain = (found.json.result as { company_domain: string | null }[]).find(
        (row) => row.company_domain !== null,
      )?.company_domain;
      for (const { bodies, method, path, paid, query } of CALLS) {
        const [body] = bodies;
        const init = body === undefined ? {} : { body };
        const good = query === "" ? path : `${path}?domain=${domain}`;
        await call(service, good, method, init);
        await call(service, path + query, method, init);
        await call(service, good, method, { ...init, key: null });
        await call(service, good, method, { ...init, key: "hc_live_wrong" });
        await call(service, path, "DELETE");
        await call(service, `${path}?bogus=1`, method, init);
        await call(faulty, good, method, init);
        await call(exhausted, good, method, init);
        await call(suspended, good, method, init);
        await call(busy, good, method, init);
        if (paid) {
          await call(poor, good, method, init);
          const headers = { "idempotency-key": `coverage-${path}` };
          gate = new Promise((resolveGate) => {
            open = resolveGate;
          });
          const both = [1, 2].map(() => call(held, good, method, { ...init, headers }));
          expect((await Promise.race(both)).status).toBe(409);
          open();
          await Promise.all(both);
          await call(held, good, method, { ...init, headers });
        }
        if (method === "POST") {
          await call(service, path, method, { body: " ".repeat(MAX_BODY_BYTES + 1) });
          await call(service, path, method, {
            body: "filters",
            headers: { "content-type": "text/plain" },
          });
          await call(service, path, method, { body: { filters: { departement: "Sales" } } });
        }
        const head = `${method} ${path} HTTP/1.1\r\nConnection: close\r\n`;
        for (const bytes of [`${head}\r\n`, `${head}X: ${"a".repeat(20_000)}\r\n\r\n`, head]) {
          const bad = await rawCall(hasty.port, bytes);
          problems.push(...responseProblems({ method, path, ...bad }));
        }
      }
      await call(service, "/v1/nothing", "GET");
      await call(service, "/v1/nothing", "GET", { key: null });
    } finally {
      open();
      await Promise.all(all.map((each) => each.close()));
    }
    expect(problems).toEqual([]);
    expect(unseenAnswers()).toEqual([]);
    expect(documentedAnswers.length).toBeGreaterThan(40);
  });
});

interface TestAnswer {
  readonly status: number;
  readonly json: { readonly result: unknown };
}
