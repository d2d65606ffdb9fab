import { afterEach, describe, expect, test } from "vitest";
import { industryTagOf } from "../support/vendors/apollo.ts";
import { ask } from "../support/vendors/ask.ts";
import { startVendor } from "../support/vendors/index.ts";

type Options = NonNullable<Parameters<typeof startVendor<"apollo">>[1]>;

const SEARCH = "POST /api/v1/mixed_people/api_search";

let stop = async (): Promise<void> => {};
afterEach(() => stop());

async function started(options: Options = {}) {
  const vendor = await startVendor("apollo", options);
  stop = vendor.stop;
  const call = (line: string, body?: unknown, key = vendor.key) =>
    ask(vendor.url, line, { "x-api-key": key }, body);
  const total = async (body: object) =>
    (await call(SEARCH, { per_page: 1, ...body })).body.total_entries;
  const bulk = (ids: readonly string[]) =>
    call("POST /api/v1/people/bulk_match", { details: ids.map((id) => ({ id })) });
  return { vendor, call, total, bulk };
}

describe("Apollo, as its pages say", () => {
  test("a search is free, by query or body, and its rows identify nobody but by id", async () => {
    const { vendor, call, total } = await started();
    const heads = vendor.people.filter(({ level }) => level === "head");
    const inUrl = await call(`${SEARCH}?person_seniorities[]=head&per_page=3&page=2`);
    expect(inUrl.body.total_entries).toBe(heads.length);
    expect(inUrl.body.people.map(({ id }: { id: string }) => id)).toEqual(
      heads.slice(3, 6).map((person) => vendor.id(person)),
    );
    expect(Object.keys(inUrl.body.people[0])).not.toEqual(
      expect.arrayContaining(["last_name", "linkedin_url", "name"]),
    );
    expect(inUrl.body.people[0].last_name_obfuscated).toContain("***");
    expect(await total({ person_seniorities: ["head"] })).toBe(heads.length);
    expect(await total({ person_seniorities: ["zz headcount"] })).toBe(0);
    expect((await call(SEARCH, {})).body.people).toHaveLength(10);
    expect(vendor.book.charges).toEqual([]);
  });

  test("an unknown name is swallowed: everybody is found", async () => {
    const { vendor, call, total } = await started();
    expect(await total({ seniorities: ["head"] })).toBe(400);
    expect(await total({ "person_seniorities[]": ["head"] })).toBe(400);
    expect((await call(`${SEARCH}?person_seniorities=head`)).body.total_entries).toBe(400);
    expect(await total({ person_departments: ["sales"] })).toBe(400);
    vendor.options.departments = true;
    expect(await total({ person_departments: ["sales"] })).toBe(
      vendor.people.filter(({ department }) => department === "sales").length,
    );
    vendor.options.swallow = ["person_seniorities"];
    expect(await total({ person_seniorities: ["zz headcount"] })).toBe(400);
  });

  test("places are one OR, names of filters an AND; titles are like others unless they may not be", async () => {
    const { vendor, total } = await started();
    const count = (fits: (person: (typeof vendor.people)[0]) => boolean) =>
      vendor.people.filter(fits).length;
    const places = count((one) => one.country?.code === "DE" || one.city === "Oakland");
    expect(await total({ person_locations: ["germany", "oakland"] })).toBe(places);
    expect(await total({ person_locations: ["georgia"] })).toBe(
      count((one) => one.state === "Georgia" || one.country?.name === "Georgia"),
    );
    expect(await total({ person_locations: ["germany"], person_seniorities: ["vp", "head"] })).toBe(
      count((one) => one.country?.code === "DE" && ["vp", "head"].includes(one.level ?? "")),
    );

    const word = vendor.people.find(({ title }) =>
      count((one) => one.title === `Regional ${title}`),
    );
    const title = { person_titles: [word?.title.toLowerCase()] };
    const exact = count((one) => one.title === word?.title);
    expect(await total({ ...title, include_similar_titles: false })).toBe(exact);
    expect(await total(title)).toBeGreaterThan(exact);

    const { company } = vendor.people.find((one) => one.company !== null) ?? {};
    const ever = count((one) => one.company === company || one.former === company);
    expect(await total({ q_organization_domains_list: [company?.domain] })).toBe(ever);
    expect(await total({ organization_industry_tag_ids: [industryTagOf("Retail")] })).toBe(
      count((one) => one.company?.industry === "Retail"),
    );
    const address = `http://www.linkedin.com/company/${company?.slug}`;
    expect(await total({ organization_linkedin_url: address })).toBe(
      count((one) => one.company === company),
    );
  });

  test("ten are revealed at a time, a credit each; who is missing leaves no gap", async () => {
    const { vendor, call, bulk } = await started({ missing: [1] });
    const ids = vendor.people.slice(0, 3).map((person) => vendor.id(person));
    const { body, text } = await bulk([...ids, "0".repeat(24)]);
    expect(body).toMatchObject({
      credits_consumed: 2,
      unique_enriched_records: 2,
      missing_records: 2,
      total_requested_enrichments: 4,
    });
    expect(body.matches.map(({ id }: { id: string }) => id)).toEqual([ids[0], ids[2]]);
    expect(body.matches[0]).toEqual(vendor.record(vendor.people[0] as (typeof vendor.people)[0]));
    expect(text).toMatch(/"request_id":\d{19}[,}]/);
    expect(Number.isSafeInteger(body.request_id)).toBe(false);

    vendor.options.missingAs = "null";
    expect((await bulk(ids)).body.matches[1]).toBeNull();
    expect((await bulk(Array(11).fill(ids[0]))).status).toBe(422);
    expect((await bulk([])).status).toBe(422);
    expect(vendor.book.charges).toMatchObject(Array(2).fill({ call: "bulk_match", units: 2 }));
    expect(vendor.book.sold()).toEqual([ids[0], ids[2], ids[0], ids[2]]);

    const usage = await call("POST /api/v1/usage_stats/credit_usage_stats");
    expect(usage.body.credit_usage_stats).toMatchObject({
      lead_credit: { limit: 1_000, consumed: 4, left_over: 996 },
      export_credit: { consumed: 0 },
    });
  });

  test("one by one, again for money; nobody is a 200 that says so; a company", async () => {
    const { vendor, call } = await started();
    const id = vendor.id(vendor.people[5] as (typeof vendor.people)[0]);
    const { body } = await call("POST /api/v1/people/match", { id });
    expect(body.person).toMatchObject({ id, email: "email_not_unlocked@domain.com" });
    expect(body).not.toHaveProperty("credits_consumed");
    expect((await call(`GET /api/v1/people/${id}`)).body.person.id).toBe(id);
    expect(vendor.book.charged()).toBe("2");
    const none = await call(`POST /api/v1/people/match?id=${"0".repeat(24)}`);
    expect(none).toMatchObject({ status: 200, body: { person: null } });

    const organizations = "GET /api/v1/organizations/enrich?domain=";
    const [company] = vendor.companies;
    const found = await call(`${organizations}${company?.domain}`);
    expect(found.body.organization.name).toBe(company?.name);
    expect((await call(`${organizations}nobody.example`)).body.organization).toBeNull();
    expect(vendor.book.charged()).toBe("3");
  });

  test("what is refused: key in plain text, pages behind the wall, the old search, no credits", async () => {
    const { vendor, call, bulk } = await started({ credits: "1" });
    const wrong = await call(SEARCH, {}, "wrong");
    expect([wrong.status, wrong.headers.get("content-type")]).toEqual([
      401,
      "text/plain; charset=utf-8",
    ]);
    expect(wrong.headers.get("x-rate-limit-minute")).toBeNull();
    expect((await call(SEARCH, { page: 501 })).status).toBe(422);
    const old = await call("POST /api/v1/mixed_people/search", {});
    expect(old).toMatchObject({ status: 403, body: { error_code: "API_INACCESSIBLE" } });
    expect(old.headers.get("x-rate-limit-minute")).toBeNull();

    const ids = vendor.people.slice(0, 2).map((person) => vendor.id(person));
    expect(await bulk(ids)).toMatchObject({
      status: 403,
      body: { error: expect.stringContaining("insufficient credits") },
    });
    vendor.options.outAs = 422;
    expect((await bulk(ids)).status).toBe(422);
    expect(vendor.book.charges).toEqual([]);
  });

  test("a large page is clamped in silence, or refused; three windows; a time to come back", async () => {
    const { vendor, call } = await started({ limitPerMinute: 3 });
    const large = await call(SEARCH, { per_page: 300 });
    expect(large.body.people).toHaveLength(100);
    expect(large.headers.get("x-minute-requests-left")).toBe("2");
    expect(large.headers.get("x-rate-limit-24-hour")).toBe("1800");
    vendor.options.overSize = "refused";
    expect((await call(SEARCH, { per_page: 300 })).status).toBe(422);
    vendor.options.olderTotal = true;
    const older = await call(SEARCH, {});
    expect(older.body).not.toHaveProperty("total_entries");
    expect(older.body.pagination.total_entries).toBe(400);
    const over = await call(SEARCH, {});
    expect(over).toMatchObject({ status: 429, body: { message: expect.any(String) } });
    expect(Number(over.headers.get("retry-after"))).toBeGreaterThan(0);
  });
});
