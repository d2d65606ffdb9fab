import { afterEach, describe, expect, test } from "vitest";
import { type Answered, ask } from "../support/vendors/ask.ts";
import { startVendor, VENDOR_NAMES, type VendorName } from "../support/vendors/index.ts";
import type { Habits } from "../support/vendors/shared.ts";

// What any vendor here can do against its own pages, tried at each of them by a hand of its own.

type Vendor = Awaited<ReturnType<typeof startVendor>>;

interface Way {
  /** Theirs, of the name of a company's field. */
  readonly filter: string;
  /** A field of a record. */
  readonly field: string;
  /** Page from 1, of 25 rows, of whom a filter finds; `cursor`: what the page before gave. */
  find(
    vendor: Vendor,
    who: "everybody" | "nobody",
    page: number,
    cursor?: string,
  ): Promise<Answered>;
  total(answer: Answered): unknown;
  ids(answer: Answered): unknown[];
  cursor?(answer: Answered): string | undefined;
  /** Buys something of the people that a page found; a search that sells did so already. */
  buy?(vendor: Vendor, at: number): Promise<Answered>;
}

const apart = (name: "everybody" | "nobody", one: string): string =>
  name === "nobody" ? `zz ${one}` : one;

const WAYS: Readonly<Record<VendorName, Way>> = {
  pdl: {
    filter: "dataset_of",
    field: "full_name",
    find: ({ key, url }, who, _, cursor) =>
      ask(
        url,
        "POST /v5/person/search",
        { "x-api-key": key },
        {
          query: who === "everybody" ? { match_all: {} } : { term: { dataset_of: "zz headcount" } },
          size: 25,
          scroll_token: cursor,
        },
      ),
    total: ({ body }) => body.total ?? 0,
    ids: ({ body }) => body.data.map(({ id }: { id: string }) => id),
    cursor: ({ body }) => body.scroll_token,
  },
  coresignal: {
    filter: "location_country",
    field: "full_name",
    find: ({ key, url }, who, _, cursor) =>
      ask(
        url,
        `POST /cdapi/v2/employee_multi_source/search/es_dsl?items_per_page=25${
          cursor === undefined ? "" : `&after=${cursor}`
        }`,
        { apikey: key },
        {
          query:
            who === "everybody"
              ? { match_all: {} }
              : { match_phrase: { location_country: "zz headcount" } },
          sort: ["id"],
        },
      ),
    total: ({ headers }) => Number(headers.get("x-total-results")),
    ids: ({ text }) => text.match(/\d+/g) ?? [],
    cursor: ({ headers }) => headers.get("x-next-page-after") ?? undefined,
    buy: ({ key, people, url }, at) =>
      ask(url, `GET /cdapi/v2/employee_multi_source/collect/${people[at]?.slug}`, { apikey: key }),
  },
  prospeo: {
    filter: "person_seniority",
    field: "full_name",
    find: ({ key, url }, who, page) =>
      ask(
        url,
        "POST /search-person",
        { "x-key": key },
        {
          page,
          filters: { person_seniority: { include: SENIORITIES.map((one) => apart(who, one)) } },
        },
      ),
    total: ({ body }) => body.pagination?.total_count ?? 0,
    ids: ({ body }) =>
      body.results.map((row: { person: { person_id: string } }) => row.person.person_id),
  },
  apollo: {
    filter: "person_seniorities",
    field: "name",
    find: ({ key, url }, who, page) =>
      ask(
        url,
        "POST /api/v1/mixed_people/api_search",
        { "x-api-key": key },
        {
          page,
          per_page: 25,
          person_seniorities: who === "everybody" ? [] : ["zz headcount"],
        },
      ),
    total: ({ body }) => body.total_entries,
    ids: ({ body }) => body.people.map(({ id }: { id: string }) => id),
    buy: ({ key, people, url }, at) =>
      ask(
        url,
        "POST /api/v1/people/bulk_match",
        { "x-api-key": key },
        {
          details: [{ id: people[at]?.hex.slice(0, 24) }],
        },
      ),
  },
  crustdata: {
    filter: "basic_profile.name",
    field: "crustdata_person_id",
    find: ({ key, url }, who, _, cursor) =>
      ask(
        url,
        "POST /person/search",
        { authorization: `Bearer ${key}`, "x-api-version": "2025-11-01" },
        {
          filters: {
            field: "basic_profile.name",
            type: who === "everybody" ? "!=" : "=",
            value: "zz headcount",
          },
          sorts: [{ field: "crustdata_person_id", order: "asc" }],
          limit: 25,
          cursor,
        },
      ),
    total: ({ body }) => body.total_count,
    ids: ({ text }) => text.match(/(?<="crustdata_person_id":)\d+/g) ?? [],
    cursor: ({ body }) => body.next_cursor,
  },
  explorium: {
    filter: "company_name",
    field: "full_name",
    find: ({ key, url }, who, page) =>
      ask(
        url,
        "POST /v1/prospects",
        { api_key: key },
        {
          mode: "full",
          size: 1_000,
          page_size: 25,
          page,
          filters: { company_name: { values: ["zz headcount"], negate: who === "everybody" } },
        },
      ),
    total: ({ body }) => body.total_results,
    ids: ({ body }) => body.data.map((row: { prospect_id: string }) => row.prospect_id),
  },
};

const SENIORITIES =
  "Founder/Owner,C-Suite,Partner,Vice President,Head,Director,Manager,Senior,Entry,Intern".split(
    ",",
  );

let stop = async (): Promise<void> => {};
afterEach(() => stop());

async function started(name: VendorName, habits: Partial<Habits>): Promise<Vendor> {
  const vendor = await startVendor(name, { people: 120, ...habits });
  stop = vendor.stop;
  return vendor;
}

describe.each(VENDOR_NAMES)("%s", (name) => {
  const way = WAYS[name];
  const buy = (vendor: Vendor, at: number): Promise<Answered> =>
    way.buy?.(vendor, at) ?? way.find(vendor, "everybody", 1);

  test("swallows a name: nobody becomes everybody", async () => {
    const vendor = await started(name, {});
    expect(way.total(await way.find(vendor, "nobody", 1)) ?? 0).toBe(0);
    vendor.options.swallow = [way.filter];
    expect(way.total(await way.find(vendor, "nobody", 1))).toBe(120);
  });

  test("charges twice, then half, and the book says so", async () => {
    const vendor = await started(name, {});
    for (const factor of [1, 2, 0.5]) {
      vendor.options.chargeFactor = factor;
      expect((await buy(vendor, 3)).status).toBe(200);
    }
    const [once = 0n, twice, half] = vendor.book.charges.map(({ millionths }) => millionths);
    expect(once).toBeGreaterThan(0n);
    expect([twice, half]).toEqual([once * 2n, once / 2n]);
    expect(vendor.book.charges.every(({ arrived, ids }) => arrived && ids.length > 0)).toBe(true);
  });

  test("loses the second paid reply after it was charged", async () => {
    const vendor = await started(name, { loseReply: [2] });
    expect((await buy(vendor, 1)).status).toBe(200);
    await expect(buy(vendor, 2)).rejects.toThrow();
    expect((await buy(vendor, 2)).status).toBe(200);
    expect(vendor.book.charges.map(({ arrived }) => arrived)).toEqual([true, false, true]);
  });

  test("moves its total and repeats rows on the next page", async () => {
    const vendor = await started(name, { moves: 4, repeatIds: 3 });
    const first = await way.find(vendor, "everybody", 1);
    const second = await way.find(vendor, "everybody", 2, way.cursor?.(first));
    expect(Number(way.total(second)) - Number(way.total(first))).toBe(4);
    expect(way.ids(second).slice(0, 3)).toEqual(way.ids(first).slice(-3));
  });

  test("has another name for a field, and is late", async () => {
    const vendor = await started(name, { misspell: way.field, delay: 30 });
    const since = performance.now();
    const { text } = await buy(vendor, 1);
    expect(performance.now() - since).toBeGreaterThan(25);
    expect(text).toContain(`"${way.field}_new"`);
    expect(text).not.toContain(`"${way.field}"`);
  });

  test("takes up calls again when its minute is over", async () => {
    const vendor = await started(name, { limitPerMinute: 1 });
    await way.find(vendor, "everybody", 1);
    expect((await way.find(vendor, "everybody", 1)).status).toBe(429);
    vendor.options.windowMs = 0;
    expect((await way.find(vendor, "everybody", 1)).status).toBe(200);
  });
});
