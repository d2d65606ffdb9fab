import { afterEach, describe, expect, test } from "vitest";
import { ask } from "../support/vendors/ask.ts";
import { startVendor } from "../support/vendors/index.ts";

type Options = NonNullable<Parameters<typeof startVendor<"crustdata">>[1]>;

const COUNTRY = "basic_profile.location.country";
const JOB = "experience.employment_details.current";
const SORTS = [{ field: "crustdata_person_id", order: "asc" }];

let stop = async (): Promise<void> => {};
afterEach(() => stop());

async function started(options: Options = {}) {
  const vendor = await startVendor("crustdata", options);
  stop = vendor.stop;
  const headers = { authorization: `Bearer ${vendor.key}`, "x-api-version": "2025-11-01" };
  const call = (line: string, body?: unknown, others: Record<string, string> = headers) =>
    ask(vendor.url, line, others, body);
  const search = (filters: unknown, more: object = {}) =>
    call("POST /person/search", { filters, sorts: SORTS, ...more });
  const total = async (filters: unknown) => (await search(filters, { limit: 1 })).body.total_count;
  return { vendor, call, search, total };
}

const is = (field: string, type: string, value: unknown) => ({ field, type, value });
const and = (...conditions: object[]) => ({ op: "and", conditions });
const AMERICA = is(COUNTRY, "in", ["United States", "United States of America"]);
const NOBODY = is(COUNTRY, "=", "zz headcount");

describe("Crustdata, as its pages say", () => {
  test("a row costs 0.03 and no reply says so; the balance stands at an older address", async () => {
    const { vendor, call, search } = await started();
    const { body, headers } = await search(AMERICA);
    const american = vendor.people.filter(({ country }) => country?.code === "US");
    expect(body.profiles).toHaveLength(20);
    expect(body.total_count).toBe(american.length);
    expect([...headers.keys()].filter((name) => name.includes("credit"))).toEqual([]);
    await search(AMERICA, { limit: 7 });
    expect(await search(NOBODY)).toMatchObject({
      status: 200,
      body: { profiles: [], next_cursor: null, total_count: 0 },
    });
    expect(vendor.book.charges).toMatchObject([
      { call: "person/search", units: 20, millionths: 600_000n },
      { units: 7, credits: "0.21" },
    ]);

    const credits = (authorization: string) =>
      call("GET /user/credits", undefined, { authorization });
    expect((await credits(`Token ${vendor.key}`)).text).toBe('{"credits":999.19}');
    expect((await credits(`Bearer ${vendor.key}`)).status).toBe(401);
    vendor.options.balanceTakes = "any";
    expect((await credits(`Bearer ${vendor.key}`)).status).toBe(200);
  });

  test("a cursor leads through all, in order; with another limit or filter it is refused", async () => {
    const { vendor, search } = await started();
    const ids: string[] = [];
    let cursor: string | null = null;
    do {
      const page = await search(AMERICA, { limit: 50, cursor });
      cursor = page.body.next_cursor;
      ids.push(...(page.text.match(/(?<="crustdata_person_id":)\d+/g) ?? []));
      if (cursor !== null) {
        expect((await search(AMERICA, { limit: 49, cursor })).status).toBe(400);
        expect((await search(NOBODY, { limit: 50, cursor })).status).toBe(400);
      }
    } while (cursor !== null);

    const american = vendor.people.filter(({ country }) => country?.code === "US");
    const sorted = american
      .map((one) => vendor.id(one))
      .toSorted((a, b) => Number(BigInt(a) - BigInt(b)));
    expect(ids).toEqual(sorted);
    expect(ids.some((id) => id.length === 19)).toBe(true);
    expect(vendor.book.sold()).toEqual(ids);
  });

  test("without sorts each call has another order", async () => {
    const { search } = await started();
    const pages = await Promise.all([1, 2].map(() => search(AMERICA, { sorts: undefined })));
    expect(pages[0]?.body.profiles).not.toEqual(pages[1]?.body.profiles);
  });

  test("two names of one country; operators; a word that a closed set has not finds nobody", async () => {
    const { vendor, total } = await started();
    const count = (fits: (person: (typeof vendor.people)[0]) => boolean) =>
      vendor.people.filter(fits).length;
    const american = count((one) => one.country?.code === "US");
    const one = await total(is(COUNTRY, "=", "United States"));
    expect(one).toBeLessThan(american);
    expect(one + (await total(is(COUNTRY, "=", "united states of america")))).toBe(american);

    const title = `${JOB}.title`;
    const employed = vendor.people.filter(({ company }) => company !== null);
    const vps = employed.filter((person) => person.title.includes("VP of")).length;
    expect(await total(is(title, "(.)", "vp OF"))).toBe(vps);
    expect(await total(is(title, "(.)", "vp of|zz"))).toBe(0);
    vendor.options.alternation = true;
    expect(await total(is(title, "(.)", "vp of|zz"))).toBe(vps);
    expect(await total(is("professional_network.connections", "=>", 400))).toBe(
      count(({ connections }) => (connections ?? 0) >= 400),
    );
    expect(await total(is(`${JOB}.seniority_level`, "in", ["Chief"]))).toBe(0);
    expect(await total(is(`${JOB}.seniority_level`, "in", ["Director"]))).toBe(
      employed.filter(({ level }) => level === "director").length,
    );
  });

  test("under `and` conditions hold in one and the same job, under all_of in any", async () => {
    const { vendor, total } = await started();
    const past = "experience.employment_details.past";
    const { company, former } =
      vendor.people.find((one) => one.company !== null && one.former !== null) ?? {};
    const domain = is(`${JOB}.company_website_domain`, "=", company?.domain);
    // Who works there and advises the firm of before.
    vendor.options.secondJobEvery = 1;
    const here = vendor.people.filter((one) => one.company === company);
    const advisor = is(`${JOB}.title`, "=", "Advisor");
    const advised = is(`${JOB}.company_name`, "=", former?.name);
    expect(await total(and(domain, advised))).toBe(0);
    expect(await total({ op: "all_of", conditions: [domain, advised] })).toBe(
      here.filter((one) => one.former === former).length,
    );
    expect(await total(and(advised, advisor))).toBe(
      vendor.people.filter((one) => one.former === former).length,
    );
    vendor.options.secondJobEvery = 0;
    expect(await total(and(domain, is(`${past}.company_name`, "=", former?.name)))).toBe(
      vendor.people.filter((one) => one.company === company && one.former === former).length,
    );
    expect(await total({ op: "or", conditions: [domain, NOBODY] })).toBe(
      vendor.people.filter((one) => one.company === company).length,
    );
    expect(await total({ op: "all_of", conditions: [domain, NOBODY] })).toBe(0);
  });

  test.each([
    ["a path of the reply", is("experience.employment_details.current.name", "=", "x")],
    [
      "the network's address",
      is("social_handles.professional_network_identifier.profile_url", "=", "x"),
    ],
    ["an operator", is(COUNTRY, "<=", "x")],
    ["`in` without a list", is(COUNTRY, "in", "x")],
    ["a member", { ...NOBODY, values: [] }],
    ["no filters", undefined],
  ])("refused with 400: %s", async (_, filters) => {
    const { vendor, search } = await started();
    const { body, status } = await search(filters);
    expect(status).toBe(400);
    expect(body.error).toEqual({ type: expect.any(String), message: expect.any(String) });
    expect(vendor.book.charges).toEqual([]);
  });

  test("fields are what comes back; one that the plan has not fails the whole call", async () => {
    const { vendor, search } = await started();
    const fields = ["basic_profile.name", "professional_network.followers"];
    expect((await search(AMERICA, { fields })).status).toBe(403);
    expect((await search(AMERICA, { fields: ["professional_network"] })).status).toBe(403);
    expect((await search(AMERICA, { preview: true })).status).toBe(400);
    expect(vendor.book.charges).toEqual([]);
    const { profiles } = (await search(AMERICA, { fields: ["basic_profile.name"] })).body;
    expect(Object.keys(profiles[0])).toEqual(["basic_profile"]);
    expect(profiles[0].basic_profile).toEqual({ name: expect.any(String) });
    vendor.options.gatedFields = true;
    expect((await search(AMERICA, { fields })).body.profiles[0]).toHaveProperty(
      "professional_network",
    );
  });

  test("no key, no version, too many calls; no credits is the status of not allowed", async () => {
    const { vendor, call, search } = await started({ credits: "0.05", limitPerMinute: 3 });
    const body = { filters: AMERICA };
    const authorization = `Bearer ${vendor.key}`;
    expect((await call("POST /person/search", body, {})).status).toBe(401);
    expect((await call("POST /person/search", body, { authorization })).status).toBe(400);
    expect(await search(AMERICA, { limit: 2 })).toMatchObject({
      status: 403,
      body: { error: { message: "Insufficient credits" } },
    });
    vendor.options.partly = true;
    const one = await search(AMERICA, { limit: 2 });
    expect(one.body.profiles).toHaveLength(1);
    expect(one.headers.get("x-ratelimit-remaining")).toBe("1");
    expect(Number(one.headers.get("x-ratelimit-reset"))).toBeLessThanOrEqual(60);
    await search(NOBODY);
    expect((await search(NOBODY)).status).toBe(429);
    expect(vendor.book.balance()).toBe("0.02");
  });

  test("one domain can be several companies: to identify them is free, each of them costs 2", async () => {
    const { vendor, call } = await started();
    const [first, second] = vendor.companies;
    const domains = [first?.domain, second?.domain, "nobody.example"];
    const known = await call("POST /company/identify", { domains });
    const counts = known.body.map(({ matches }: { matches: unknown[] }) => matches.length);
    expect(counts).toEqual([2, 1, 0]);
    expect(vendor.book.charges).toEqual([]);

    const enrich = (body: object) => call("POST /company/enrich", body);
    await enrich({ domains });
    const id = known.body[0].matches[0].company_data.crustdata_company_id;
    const one = await enrich({ crustdata_company_ids: [id], exact_match: true });
    expect(one.body[0].matches[0].company_data.basic_info.name).toBe(first?.name);
    expect((await enrich({ domains, names: ["x"] })).status).toBe(400);
    expect(vendor.book.charges.map(({ credits }) => credits)).toEqual(["6", "2"]);
  });

  test("words of a field are free", async () => {
    const { vendor, call } = await started();
    const words = (field: string) =>
      call("POST /person/search/autocomplete", { field, query: "united states" });
    const values = (await words(COUNTRY)).body.suggestions.map(
      ({ value }: { value: string }) => value,
    );
    expect(values.toSorted()).toEqual(["United States", "United States of America"]);
    expect((await words("basic_profile.age")).status).toBe(400);
    expect(vendor.book.charges).toEqual([]);
  });
});
