import { afterEach, expect, test } from "vitest";
import { DEFAULT_DIALECT } from "../../src/engine/client/dialect.ts";
import { ServiceError } from "../../src/engine/client/errors.ts";
import { createClient } from "../../src/engine/client/http-client.ts";
import type { FacetView } from "../../src/engine/client/types.ts";
import { answerEnvelope, answerError, rawServer } from "../support/client.ts";

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((thing) => thing.close()));
});

type Respond = Parameters<typeof rawServer>[0];

async function facetsFrom(respond: Respond): Promise<FacetView | undefined> {
  const server = await rawServer(respond);
  const baseUrl = `${server.url}/prefix/v1`;
  const client = createClient({
    baseUrl,
    apiKey: "svc_live_x",
    dialect: DEFAULT_DIALECT,
    now: Date.now,
    env: {},
  });
  open.push(server, client);
  const facet = await client.facets({ department: "Sales" }, "city", { prefix: "pa", limit: 5 });
  const [request] = server.seen;
  expect([request?.method, request?.url]).toEqual(["POST", "/prefix/facets"]);
  expect(JSON.parse(String(request?.body))).toEqual({
    filters: { department: "Sales" },
    key: "city",
    prefix: "pa",
    limit: 5,
  });
  return facet;
}

const GOOD = {
  key: "city",
  count: 10,
  values: [{ value: "paris", count: 6 }],
  others: 3,
  missing: 1,
  distinct: 1,
  least: 3,
  exact: true,
  as_of: "2026-01-01T00:00:00.000Z",
};

test("values, what is left and what is missing are read", async () => {
  expect(await facetsFrom((_, response) => answerEnvelope(response, GOOD))).toMatchObject({
    ...{
      key: "city",
      values: GOOD.values,
      count: 10,
      others: 3,
      missing: 1,
      distinct: 1,
      least: 3,
      exact: true,
    },
    ...{ reason: undefined, asOf: "2026-01-01T00:00:00.000Z" },
  });
});

test.each<readonly [string, unknown]>([
  ["a sum that is not the count", { ...GOOD, others: 4 }],
  ["no count", { ...GOOD, count: null }],
  ["another key", { ...GOOD, key: "state" }],
  ["a value that is no text", { ...GOOD, values: [{ value: 5, count: 6 }] }],
  ["a number", 5],
  ["rows", [{ id: "1" }]],
])("%s is no facet", async (_, result) => {
  expect(
    await facetsFrom((_request, response) => answerEnvelope(response, result)),
  ).toBeUndefined();
});

test.each([404, 405, 501])("a %i of a service that has none", async (status) => {
  expect(
    await facetsFrom((_, response) => answerError(response, status, ["no such route"])),
  ).toBeUndefined();
});

test.each([200, 301, 400, 403, 404])(
  "the %i of a website or a gateway that knows no such path",
  async (status) => {
    const page: Respond = (_, response) =>
      response.writeHead(status, { "content-type": "text/html" }).end("<html>");
    expect(await facetsFrom(page)).toBeUndefined();
  },
);

test.each([401, 402, 422, 429, 500])(
  "a %i is an error and not a service without facets",
  async (status) => {
    await expect(
      facetsFrom((_, response) => answerError(response, status, ["no"])),
    ).rejects.toThrow(ServiceError);
  },
);
