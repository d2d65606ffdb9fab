import { afterAll, beforeAll, expect, test } from "vitest";
import type { CompanyLookup } from "../../src/dataset/engine.ts";
import type { CanonicalFilters } from "../../src/shared/contract/vocabulary.ts";
import { ConsoleClient, type Session } from "../support/console.ts";
import { wrapped } from "../support/dataset.ts";
import { long } from "../support/long.ts";
import { NAMINGS } from "../support/naming-table.ts";
import { startTestService, type TestService } from "../support/service.ts";

/** Each form of an address by a number of its own, which the engine counts for it. */
const forms: (string | undefined)[] = [undefined];
const numberOf = (form: string | undefined): number => {
  if (!forms.includes(form)) forms.push(form);
  return forms.indexOf(form);
};
const addressIn = ({ exact, company_network_url: company }: CanonicalFilters) =>
  exact.network_url?.[0] ?? company;

let service: TestService;
let page: ConsoleClient;
let session: Session;
let looked: CompanyLookup | undefined;
let searched: string | undefined;

beforeAll(async () => {
  service = await startTestService({
    people: 200,
    credits: 1_000_000,
    console: {},
    wrapEngine: (engine) =>
      wrapped(engine, {
        count: async (filters) => numberOf(addressIn(filters)),
        people: (filters, slice) => {
          searched = addressIn(filters);
          return engine.people(filters, slice);
        },
        company: async (lookup) => {
          looked = lookup;
          return undefined;
        },
      }),
  });
  page = new ConsoleClient(service, Date.now);
  session = await page.enter();
});
afterAll(() => service.close());

/** The form under which a route was asked; undefined where it refused the text. */
type Route = (key: string, text: string) => Promise<string | undefined>;

const formOf = (status: number, count: number): string | undefined => {
  if (status === 422) return undefined;
  expect(status).toBe(200);
  return forms[count];
};
const api =
  (path: string, countOf: (result: Record<string, number>) => number | undefined): Route =>
  async (key, text) => {
    const { status, json } = await service.call(path, { body: { filters: { [key]: text } } });
    return formOf(status, countOf(json.result ?? {}) ?? -1);
  };
const console =
  (path: string): Route =>
  async (key, text) => {
    const { status, json } = await page.call(session, "POST", path, { filters: { [key]: text } });
    return formOf(status, json.count);
  };
const FILTERS: Readonly<Record<string, Route>> = {
  count: api("/v1/person/count", ({ count }) => count),
  "the console's count": console("/count"),
  "what of it is owned": console("/owned"),
  search: async (key, text) => {
    searched = undefined;
    const body = { filters: { [key]: text } };
    const { status } = await service.call("/v1/person/search", { body });
    expect([text, status]).toEqual([text, searched === undefined ? 422 : 200]);
    return searched;
  },
};

const lookup =
  (path: string): Route =>
  async (by, text) => {
    looked = undefined;
    const { status } = await service.call(`${path}?${by}=${encodeURIComponent(text)}`);
    expect(status).toBe(looked === undefined ? 422 : 404);
    return looked === undefined ? undefined : (looked as CompanyLookup).value;
  };
const LOOKUPS = [lookup("/v1/company/enrich"), lookup("/v1/company/employees")];

async function wrongIn(namings: typeof NAMINGS): Promise<unknown[]> {
  const wrong: unknown[] = [];
  for (const [text, meaning] of namings) {
    const [is = "", value = ""] = meaning.split(" ");
    const isOne = !/[\s;]/.test(text.trim());
    const isProfile = is === "company" || is === "person";

    const profiles: (string | undefined)[] = [];
    for (const route of Object.values(FILTERS))
      for (const key of ["network_url", "company_network_url"])
        profiles.push(await route(key, text));
    for (const route of LOOKUPS) profiles.push(await route("company_network_url", text));
    const domains: (string | undefined)[] = [];
    for (const route of LOOKUPS) domains.push(await route("domain", text));

    const isSame = new Set(profiles).size === 1 && new Set(domains).size === 1;
    const isRight =
      (!isProfile || !isOne || profiles[0] === value) &&
      (is === "domain" ? !isOne || domains[0] === value : !isProfile || domains[0] === undefined);
    if (!isSame || !isRight) wrong.push({ text, meaning, profiles, domains });
  }
  return wrong;
}

const ofEach = [...new Map(NAMINGS.map((each) => [each[1].split(" ")[0], each])).values()];

test("every route reads a text as the table has it: one of each kind", async () => {
  expect(await wrongIn(ofEach)).toEqual([]);
});

long("every route reads every text as the table has it", async () => {
  expect(await wrongIn(NAMINGS)).toEqual([]);
});
