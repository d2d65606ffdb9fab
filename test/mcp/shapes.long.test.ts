import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { FACET_KEYS, FILTER_KEYS } from "../../src/shared/contract/vocabulary.ts";
import { type Agent, startAgent, YES } from "../support/agent.ts";
import { cases } from "../support/campaign.ts";
import { type User, user } from "../support/export.ts";
import { startTestService, type TestService } from "../support/service.ts";

const MOST_BYTES = 25_000;
let service: TestService;
let u: User;
let agent: Agent;
beforeAll(async () => {
  service = await startTestService({ people: 2_000, credits: 100_000 });
  u = user(service.url, service.key);
  agent = await startAgent(u, ["--max-credits", "60", "--output", "."], { answer: YES });
});
afterAll(async () => {
  await agent.close();
  await service.close();
});

/** What was given before, for calls that name it. */
const known = { runs: ["last"], quotes: ["q_none"] };

const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const country = fc.constantFrom("france", "germany", "spain", "nowhere", "Peru ");
const filters = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      country: fc.oneof(country, fc.array(country, { minLength: 1, maxLength: 3 })),
    }),
  },
  fc.record({ department: fc.constantFrom("Sales", "Legal"), connections_min: fc.nat(3_000) }),
  fc.record({
    title_prefix: fc.constantFrom("head", "v"),
    seniority_level: maybe(fc.constantFrom("senior", "cxo")),
  }),
  fc.constant({}),
  fc.dictionary(
    fc.constantFrom("country", "countri", "department", "connections_max"),
    fc.jsonValue({ maxDepth: 1 }),
  ),
);
const field = fc.constantFrom(
  "id",
  "name",
  "title",
  "company_domain",
  "connections",
  "specialties",
  "nothing",
);
const of = (list: readonly string[]) => fc.nat().map((at) => list[at % list.length] ?? "");
let file = 0;

const CALLS: Readonly<Record<string, fc.Arbitrary<object>>> = {
  account: fc.constant({}),
  buy: fc.record({ quote_id: of(known.quotes) }),
  count_people: fc.record({
    filters,
    by: maybe(fc.constantFrom(...FACET_KEYS, "nobody")),
    top: maybe(fc.nat(26)),
  }),
  describe_filters: fc.record({
    key: maybe(fc.constantFrom(...FILTER_KEYS, "countri")),
    prefix: maybe(fc.constantFrom("f", "", "é")),
  }),
  enrich_company: fc.oneof(
    fc.record({ domain: fc.constantFrom("northwind.example", "nobody.example", "no domain") }),
    fc.record({
      company_network_url: fc.constantFrom("zephyr-pulse-co", "https://x/y/z"),
      name: maybe(fc.string()),
    }),
  ),
  export_run: fc.record({
    run: of(known.runs),
    format: fc.constantFrom("csv", "ndjson", "json", "xlsx", "table"),
    fields: maybe(fc.array(field, { minLength: 1, maxLength: 3 })),
    file: fc.constantFrom("a", "../a", "").map((name) => (name === "a" ? `a${++file}` : name)),
  }),
  quote: fc.oneof(
    // Most of what is drawn blindly is refused: one in two is a question that has an answer.
    fc.record({
      kind: fc.constant("people"),
      filters: fc.record({ department: fc.constantFrom("Sales", "Legal") }),
      profiles: fc.integer({ min: 1, max: 6 }),
    }),
    fc.record({
      kind: fc.constantFrom("people", "people", "employees", "enrich", "all"),
      filters: maybe(filters),
      companies: maybe(
        fc.array(fc.constantFrom("zephyr-pulse-co", "northwind.example"), {
          minLength: 1,
          maxLength: 3,
        }),
      ),
      profiles: maybe(fc.integer({ min: 0, max: 6 })),
      per_company: maybe(fc.integer({ min: 1, max: 3 })),
    }),
  ),
  read_rows: fc.record({
    run: fc.oneof(of(known.runs), fc.constant("20200101-000000-nobody")),
    fields: maybe(fc.array(field, { minLength: 1, maxLength: 12 })),
    where: maybe(filters),
    offset: maybe(fc.nat(12)),
    limit: maybe(fc.nat(51)),
  }),
  runs: fc.record({
    state: maybe(fc.constantFrom("finished", "unfinished", "gone")),
    limit: maybe(fc.nat(21)),
    after: maybe(of(known.runs)),
  }),
};

test("whatever a tool is given, it answers in the shape that it told of, or with a sentence", async () => {
  const ajv = new Ajv2020({ strict: true, allowUnionTypes: true });
  const { tools } = await agent.client.listTools();
  expect(tools.map(({ name }) => name)).toEqual(Object.keys(CALLS));
  const fits = new Map(
    tools.map(({ name, outputSchema }) => [name, ajv.compile(outputSchema as object)]),
  );
  for (const { inputSchema } of tools) ajv.compile(inputSchema as object);
  const right = new Set<string>();
  const one = fc
    .constantFrom(...Object.keys(CALLS))
    .chain((name) => fc.tuple(fc.constant(name), CALLS[name] ?? fc.constant({})));
  await fc.assert(
    fc.asyncProperty(one, async ([name, drawn]) => {
      // What is not given is not there: JSON has no undefined.
      const given = JSON.parse(JSON.stringify(drawn)) as object;
      const { bytes, data, failed, text } = await agent.call(name, { ...given });
      expect(bytes).toBeLessThanOrEqual(MOST_BYTES);
      expect(text).not.toMatch(/bug in headcount|\n\s+at |\.ts:\d/);
      if (failed) {
        expect(text).not.toBe("");
        return;
      }
      const shape = fits.get(name);
      expect(
        shape?.(data),
        `${name} ${JSON.stringify(given)}: ${ajv.errorsText(shape?.errors)}`,
      ).toBe(true);
      // A client that reads the text alone is told all of it.
      expect(JSON.parse(text.split("\n")[0] ?? "")).toEqual(data);
      right.add(name);
      if (typeof data.run === "string") known.runs.push(data.run);
      if (typeof data.quote_id === "string") known.quotes.push(data.quote_id);
    }),
    { numRuns: cases(250, 2_000) },
  );
  expect([...right].sort()).toEqual(Object.keys(CALLS));
  const { data } = await agent.call("account");
  expect((data.budget as { spent: number }).spent).toBeLessThanOrEqual(60);
}, 3_600_000);
