import { afterEach, describe, expect, test } from "vitest";
import { ask } from "../support/vendors/ask.ts";
import { startVendor } from "../support/vendors/index.ts";

type Options = NonNullable<Parameters<typeof startVendor<"explorium">>[1]>;

let stop = async (): Promise<void> => {};
afterEach(() => stop());

async function started(options: Options = {}) {
  const vendor = await startVendor("explorium", options);
  stop = vendor.stop;
  const call = (line: string, body?: unknown, headers: Record<string, string> = {}) =>
    ask(vendor.url, line, { api_key: vendor.key, ...headers }, body);
  const fetched = (filters: object, more: object = {}, headers = {}) =>
    call(
      "POST /v1/prospects",
      { mode: "full", size: 400, page_size: 50, filters, ...more },
      headers,
    );
  const total = async (filters: object) =>
    (await call("POST /v1/prospects/stats", { filters })).body.total_results;
  return { vendor, call, fetched, total };
}

const GERMANY = { country_code: { values: ["de"] } };
const NOBODY = { company_name: { values: ["zz headcount"] } };
const idsOf = (body: { data: { prospect_id: string }[] }): string[] =>
  body.data.map(({ prospect_id: id }) => id);

describe("Explorium, as its pages say", () => {
  test("the statistic is free and true, the total of a fetch is no more than its size", async () => {
    const { vendor, call, fetched, total } = await started();
    const german = vendor.people.filter(({ country }) => country?.code === "DE");
    expect(await total(GERMANY)).toBe(german.length);
    expect(await total(NOBODY)).toBe(0);
    expect(vendor.book.charges).toEqual([]);

    const one = await fetched(GERMANY, { size: 1, page_size: 1 });
    expect(one.body).toMatchObject({ total_results: 1, page: 1, total_pages: 1 });
    expect(one.body.data).toEqual([vendor.record(german[0] as (typeof german)[0])]);
    const none = await fetched(NOBODY);
    expect(none).toMatchObject({ status: 200, body: { data: [], total_results: 0 } });

    const { body } = await fetched(GERMANY, { page_size: 10 }, { "credit-usage": "true" });
    expect(body.credit_usage).toEqual({ total_results: 10 });
    expect(one.body).not.toHaveProperty("credit_usage");
    vendor.options.creditName = "credits_used";
    const told = await fetched(GERMANY, { page_size: 5 }, { "credit-usage": "true" });
    expect(told.body.credit_usage).toEqual({ total_results: 5, credits_used: 5 });
    expect(vendor.book.charges.map(({ credits }) => credits)).toEqual(["1", "10", "5"]);
    expect((await call("GET /v1/credits")).body).toEqual({
      remaining_credits: 984,
      allocated_credits: 1_000,
    });
  });

  test("pages by number, by cursor, and without those whom one has", async () => {
    const { vendor, fetched } = await started();
    const german = vendor.people.filter(({ country }) => country?.code === "DE");
    const hexes = german.map((person) => vendor.id(person));
    const numbered = [1, 2, 3].map((page) => fetched(GERMANY, { page, page_size: 25 }));
    expect((await Promise.all(numbered)).flatMap(({ body }) => idsOf(body))).toEqual(
      hexes.slice(0, 75),
    );

    const ids: string[] = [];
    let next: string | null = null;
    do {
      const { body } = await fetched(GERMANY, { size: 1_000, page_size: 20, next_cursor: next });
      expect(body.total_results).toBe(german.length);
      next = body.page.next_cursor;
      ids.push(...idsOf(body));
    } while (next !== null);
    expect(ids).toEqual(hexes);

    const rest = await fetched(GERMANY, { exclude: hexes.slice(0, 3) });
    expect(idsOf(rest.body)).toEqual(hexes.slice(3, 53));
  });

  test("titles by their words, regions by code, the company's place; a person's country by its name", async () => {
    const { vendor, fetched, total } = await started();
    const count = (fits: (person: (typeof vendor.people)[0]) => boolean) =>
      vendor.people.filter(fits).length;
    expect(await total({ job_title: { values: ["director sales"] } })).toBe(
      count(({ title }) => title.endsWith("Sales Director")),
    );
    expect(await total({ region_country_code: { values: ["us-ga"] } })).toBe(
      count((one) => one.state === "Georgia" && one.country?.code === "US"),
    );
    expect(await total({ city_region_country: { values: ["New York, NY, US"] } })).toBe(
      count((one) => one.company?.place.city === "New York"),
    );
    expect(await total({ job_level: { values: ["director", "partner"], negate: true } })).toBe(
      count(({ level }) => level !== "director" && level !== "partner"),
    );
    const { body } = await fetched(GERMANY);
    expect(body.data[0].country_name).toBe("germany");
    const arrays = body.data.map((row: { job_level_array: unknown[] }) => row.job_level_array);
    expect(arrays.some((words: unknown[]) => words.length > 1 && words[0] === null)).toBe(true);
  });

  test.each([
    ["an unknown filter", { country: { values: ["de"] } }, {}, ["filters", "country"]],
    ["a name where a code is", { country_code: { values: ["Germany"] } }, {}, ["values", 0]],
    ["a code in upper case", { country_code: { values: ["DE"] } }, {}, ["values", 0]],
    ["a level of its examples", { job_level: { values: ["director", "cxo"] } }, {}, ["values", 1]],
    ["the older form of a title", { job_title: { value: "x" } }, {}, ["job_title", "value"]],
    ["an unknown member", GERMANY, { limit: 5 }, ["body", "limit"]],
    ["no mode", GERMANY, { mode: undefined }, ["body", "mode"]],
    ["no page size", GERMANY, { page_size: undefined }, ["body", "page_size"]],
    ["no size", GERMANY, { size: undefined }, ["body", "size"]],
    ["a page of 501", GERMANY, { page_size: 501 }, ["body", "page_size"]],
    ["a cursor's page of 101", GERMANY, { page_size: 101, next_cursor: null }, ["page_size"]],
    ["a page and a cursor", GERMANY, { page: 1, next_cursor: null }, ["body", "page"]],
    ["a page behind the wall", GERMANY, { page: 1_201 }, ["body", "page"]],
    ["too many left out", GERMANY, { exclude: Array(1_001).fill("a") }, ["body", "exclude"]],
  ])("refused with 422 and its place: %s", async (_, filters, more, place) => {
    const { vendor, fetched } = await started();
    const { body, status } = await fetched(filters, more);
    expect(status).toBe(422);
    expect(body.detail).toEqual([
      { loc: expect.arrayContaining(place), msg: expect.any(String), type: expect.any(String) },
    ]);
    expect(vendor.book.charges).toEqual([]);
  });

  test("what the two descriptions say differently", async () => {
    const { vendor, fetched } = await started({ upperCodes: true, sizeRequired: false });
    const upper = { country_code: { values: ["DE"] } };
    expect((await fetched(upper, { size: undefined })).status).toBe(200);
    vendor.options.mostCursorPage = 500;
    expect((await fetched(upper, { page_size: 500, next_cursor: null })).status).toBe(200);
    vendor.options.mostPage = 100;
    expect((await fetched(upper, { page_size: 101 })).status).toBe(422);
  });

  test("no key, no credits, too many calls", async () => {
    const { vendor, call, fetched } = await started({ credits: "4", limitPerMinute: 2 });
    const wrong = await call("GET /v1/credits", undefined, { api_key: "wrong" });
    expect(wrong).toMatchObject({ status: 401, text: expect.stringContaining("Partner ID") });
    const out = await fetched(GERMANY);
    expect(out).toMatchObject({
      status: 403,
      body: { details: expect.stringContaining("credits") },
    });
    const reset = Number(out.headers.get("x-ratelimit-reset"));
    expect(reset).toBeGreaterThan(Date.now() / 1_000 - 1);
    await fetched(NOBODY);
    const over = await fetched(NOBODY);
    expect(over).toMatchObject({
      status: 429,
      body: { code: 429, retry_after: expect.any(Number) },
    });
    expect(over.headers.get("retry-after")).toBeNull();
    expect(vendor.book.charges).toEqual([]);
  });

  test("a domain is matched to an id, and the id finds its people", async () => {
    const { vendor, call, total } = await started();
    const company = vendor.people.find((one) => one.company !== null)?.company;
    const { body } = await call("POST /v1/businesses/match", {
      businesses_to_match: [{ domain: company?.domain }, { domain: "nobody.example" }],
    });
    const [{ business_id: id }, none] = body.matched_businesses;
    expect(none.business_id).toBeNull();
    expect(await total({ business_id: { values: [id] } })).toBe(
      vendor.people.filter((one) => one.company === company).length,
    );
    expect(vendor.book.charges).toEqual([]);
  });
});
