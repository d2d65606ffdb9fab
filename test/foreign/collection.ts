import { createRequire } from "node:module";
import type { OpenApiDocument } from "../../src/shared/openapi/document.ts";

const require = createRequire(import.meta.url);

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
interface Item {
  name: string;
  item?: Item[];
  request?: {
    header: { key: string; value: string; disabled?: boolean }[];
    url: { query: Parameter[] };
  };
  response?: { code: number; body: string; name: string; originalRequest: Json; header: Json }[];
  event?: Json;
}
interface Parameter {
  key: string;
  value: string | null;
  disabled?: boolean;
}
export interface Collection {
  info: { name: string };
  item: Item[];
  auth: Json;
  event: Json;
  variable: Json[];
}

type Convert = (
  input: object,
  options: object,
  done: (
    error: Error | null,
    output: { result: boolean; reason?: string; output: { data: Collection }[] },
  ) => void,
) => void;

/** What every request of the collection is tested for when a runner runs it. */
const TESTS = `pm.test("200 in the envelope", () => {
  pm.response.to.have.status(200);
  const body = pm.response.json();
  pm.expect(body).to.have.all.keys("status", "detail", "result", "credits_used", "credits_remaining");
  pm.expect(body.status).to.equal(true);
  pm.expect(body.result).to.not.equal(null);
});
pm.test("says where the rate limit stands", () => {
  for (const name of ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "X-Request-Id"]) pm.response.to.have.header(name);
});
pm.test("charges what it returned", () => {
  const { credits_used, result } = pm.response.json();
  if (Array.isArray(result)) pm.expect(credits_used).to.be.at.most(result.length);
  else pm.expect(credits_used).to.be.at.most(1);
});`;

/** The company of the first person found is looked up by the requests that follow. */
const REMEMBER_COMPANY = `const found = (pm.response.json().result || []).find((person) => person.company_domain);
if (found) pm.collectionVariables.set("company_domain", found.company_domain);`;

const script = (text: string): Json => [
  { listen: "test", script: { type: "text/javascript", exec: text.split("\n") } },
];

function convert(document: OpenApiDocument): Promise<Collection> {
  const { convertV2 } = require("openapi-to-postmanv2") as { convertV2: Convert };
  const options = {
    parametersResolution: "Example",
    folderStrategy: "Tags",
    alwaysInheritAuthentication: true,
  };
  return new Promise((resolve, reject) => {
    convertV2(
      { type: "json", data: structuredClone(document) },
      options,
      (error, { output, reason, result }) => {
        const [first] = output ?? [];
        if (error !== null || !result || first === undefined) reject(error ?? new Error(reason));
        else resolve(first.data);
      },
    );
  });
}

/** Random ids go, so that the same document makes the same collection. */
function withoutIds(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutIds);
  if (typeof value !== "object" || value === null) return value;
  const kept = Object.entries(value).filter(
    ([key, inner]) => !(/^(_postman_)?id$/.test(key) && typeof inner === "string"),
  );
  return Object.fromEntries(kept.map(([key, inner]) => [key, withoutIds(inner)]));
}

function settle(item: Item): void {
  for (const child of item.item ?? []) settle(child);
  const { request } = item;
  if (request === undefined) return;
  request.header = request.header.filter(({ key }) => key !== "X-Request-Id");
  for (const header of request.header)
    if (header.key === "Idempotency-Key") header.value = "{{$guid}}";
  // Where the document has no example the converter invents a value, another one each time.
  for (const parameter of request.url.query) {
    parameter.disabled = parameter.key !== "domain";
    parameter.value = parameter.disabled ? "" : "{{company_domain}}";
  }
  item.response = (item.response ?? [])
    .filter(({ code }) => code === 200)
    .map((response) => ({
      ...response,
      originalRequest: { ...request, header: [] } as unknown as Json,
      header: [],
    }));
  if (request.url.query.length === 0 && JSON.stringify(request).includes("per_page"))
    item.event = script(REMEMBER_COMPANY);
}

/**
 * The document as a request collection (Postman v2.1): one request an operation with the document's own examples, an API key and a
 * base address as variables, and tests that a runner runs.
 */
export async function requestCollection(document: OpenApiDocument): Promise<Collection> {
  const collection = await convert(document);
  for (const item of collection.item) settle(item);
  collection.auth = {
    type: "bearer",
    bearer: [{ key: "token", value: "{{api_key}}", type: "string" }],
  };
  collection.event = script(TESTS);
  collection.variable = [
    { key: "baseUrl", value: "http://127.0.0.1:8787" },
    { key: "api_key", value: "", description: "hc_live_... or hc_test_..." },
    { key: "company_domain", value: "acme.example" },
  ];
  // A copy through JSON: the converter leaves undefined values, which a file cannot hold.
  const plain = JSON.parse(JSON.stringify(collection)) as { [key: string]: Json };
  return withoutIds(plain) as unknown as Collection;
}
