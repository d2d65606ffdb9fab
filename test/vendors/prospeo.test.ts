import { afterEach, describe, expect, test } from "vitest";
import { ask } from "../support/vendors/ask.ts";
import { startVendor } from "../support/vendors/index.ts";

type Options = NonNullable<Parameters<typeof startVendor<"prospeo">>[1]>;

let stop = async (): Promise<void> => {};
afterEach(() => stop());

async function started(options: Options = {}) {
  const vendor = await startVendor("prospeo", options);
  stop = vendor.stop;
  const call = (line: string, body?: unknown, key = vendor.key) =>
    ask(vendor.url, line, { "X-KEY": key }, body);
  const search = (filters: object, page?: number) =>
    call("POST /search-person", page === undefined ? { filters } : { page, filters });
  return { vendor, call, search };
}

const IN = (...include: string[]) => ({ person_location_search: { include } });
const AMERICA = IN("United States #US");
/** A name that nobody has, which is no value of a closed list. */
const NOBODY = { person_name: { include: ["zz headcount"] } };

describe("Prospeo, as its pages say", () => {
  test("a page of 25 costs one credit, the last one of a few as well, and tells the total", async () => {
    const { vendor, call, search } = await started();
    const american = vendor.people.filter(({ country }) => country?.code === "US");
    const pages = Math.ceil(american.length / 25);
    const ids: string[] = [];
    for (let page = 1; page <= pages; page += 1) {
      const { body, status } = await search(AMERICA, page);
      expect(status).toBe(200);
      expect(body).toMatchObject({
        error: false,
        free: false,
        pagination: {
          current_page: page,
          per_page: 25,
          total_page: pages,
          total_count: american.length,
        },
      });
      ids.push(
        ...body.results.map(({ person }: { person: { person_id: string } }) => person.person_id),
      );
    }
    expect(ids).toEqual(american.map((person) => vendor.id(person)));
    expect(vendor.book.charged()).toBe(String(pages));
    expect(vendor.book.sold()).toEqual(ids);
    expect(american.length % 25).not.toBe(0);
    expect((await search(AMERICA, pages + 1)).body.error_code).toBe("NO_RESULTS");

    const { response } = (await call("GET /account-information")).body;
    expect(response).toMatchObject({ remaining_credits: 1_000 - pages, used_credits: pages });
  });

  test("nobody is an error body with a status of its own, for nothing", async () => {
    const { vendor, search } = await started();
    const none = { error: true, error_code: "NO_RESULTS" };
    expect(await search(NOBODY)).toMatchObject({ status: 400, body: none });
    vendor.options.errorStatus = 404;
    expect(await search(NOBODY)).toMatchObject({ status: 404, body: none });
    expect(vendor.book.charges).toEqual([]);
  });

  test("places of all kinds are one list, an OR; a state and a country of one name are two", async () => {
    const { vendor, search } = await started();
    const count = async (...places: string[]) =>
      (await search(IN(...places))).body.pagination?.total_count ?? 0;
    const inside = (fits: (person: (typeof vendor.people)[0]) => boolean) =>
      vendor.people.filter(fits).length;

    const state = inside((one) => one.state === "Georgia" && one.country?.code === "US");
    const country = inside((one) => one.country?.code === "GE");
    expect(await count("Georgia, United States #US")).toBe(state);
    expect(await count("Georgia #GE")).toBe(country);
    expect(await count("Georgia #GE", "Georgia, United States #US")).toBe(state + country);
    expect(await count("United States #US", "Oakland, California, United States #US")).toBe(
      inside((one) => one.country?.code === "US"),
    );
  });

  test.each([
    ["an old name", { person_location: { include: ["United States #US"] } }],
    ["a place of another spelling", IN("United States")],
    ["a place that nobody knows", IN("zz headcount")],
    ["a level that it has not", { person_seniority: { include: ["Chief"] } }],
    ["an unknown member", { person_seniority: { include: ["Head"], any: true } }],
    ["an unknown part of company", { company: { domain: { include: ["a.example"] } } }],
    ["only who is left out", { person_seniority: { exclude: ["Head"] } }],
    ["a text for a list", { person_seniority: { include: "Head" } }],
    ["no filter", {}],
  ])("refused: %s", async (_, filters) => {
    const { vendor, search } = await started();
    const { body, status } = await search(filters);
    expect(status).toBe(400);
    expect(body).toMatchObject({ error: true, error_code: "INVALID_FILTERS" });
    expect(body.filter_error).toEqual(expect.any(String));
    expect(vendor.book.charges).toEqual([]);
  });

  test("a title is like another one unless it is asked for exactly; two sources, two lists of levels", async () => {
    const { vendor, search } = await started();
    const [word = ""] = vendor.people
      .map((one) => one.title)
      .filter((short) => vendor.people.some((one) => one.title === `Regional ${short}`));
    const title = (more: object) => search({ person_job_title: { include: [word], ...more } });
    const total = async (more: object) => (await title(more)).body.pagination.total_count;
    const exact = vendor.people.filter((one) => one.title === word).length;
    expect(await total({ match_only_exact_job_titles: true })).toBe(exact);
    expect(await total({ match_mode: "EXACT" })).toBe(exact);
    expect(await total({})).toBeGreaterThan(exact);

    const vp = { person_seniority: { include: ["VP"] } };
    expect((await search(vp)).status).toBe(400);
    vendor.options.words = "sdk";
    expect((await search(vp)).body.pagination.total_count).toBe(
      vendor.people.filter(({ level }) => level === "vp").length,
    );
  });

  test("people of a company; the job of now anywhere among the others; addresses are masked", async () => {
    const { vendor, search } = await started();
    const company = vendor.people[0]?.company;
    const staff = vendor.people.filter((one) => one.company === company);
    const { body } = await search({ company: { websites: { include: [company?.domain] } } });
    expect(body.pagination.total_count).toBe(staff.length);
    expect(body.results[0]).toEqual(vendor.record(staff[0] as (typeof staff)[0]));
    expect(body.results[0].person.email.revealed).toBe(false);

    const jobs = (await search(AMERICA)).body.results.map(
      (row: { person: { job_history: { current: boolean }[] } }) =>
        row.person.job_history.findIndex(({ current }) => current),
    );
    expect(new Set(jobs)).toEqual(new Set([0, 1]));
  });

  test("no key, too many calls, no credits; a page asked for again is free where that is so", async () => {
    const { vendor, call, search } = await started({ credits: "1", limitPerMinute: 5 });
    const wrong = await call("GET /account-information", undefined, "wrong");
    expect(wrong).toMatchObject({ status: 401, body: { error_code: "INVALID_API_KEY" } });
    vendor.options.freeAgain = true;
    expect((await search(AMERICA)).body.free).toBe(false);
    const again = await search(AMERICA);
    expect(again.body.free).toBe(true);
    expect(again.headers.get("x-minute-request-left")).toBe("3");
    expect(Number(again.headers.get("x-minute-reset-seconds"))).toBeGreaterThan(0);
    expect((await search(AMERICA, 2)).body.error_code).toBe("INSUFFICIENT_CREDITS");
    await search(NOBODY);
    await search(NOBODY);
    expect(await search(NOBODY)).toMatchObject({
      status: 429,
      body: { error_code: "RATE_LIMITED" },
    });
    expect(vendor.book.charged()).toBe("1");
  });

  test("a company costs a credit once; names of places are free", async () => {
    const { vendor, call } = await started();
    const [company] = vendor.companies;
    const enrich = () =>
      call("POST /enrich-company", { data: { company_website: company?.domain } });
    expect((await enrich()).body).toMatchObject({
      free_enrichment: false,
      company: { name: company?.name },
    });
    expect((await enrich()).body.free_enrichment).toBe(true);
    const none = await call("POST /enrich-company", {
      data: { company_website: "nobody.example" },
    });
    expect(none).toMatchObject({ status: 400, body: { error_code: "NO_MATCH" } });
    const { body } = await call("POST /search-suggestions", { location_search: "georgia" });
    expect(body.location_suggestions).toEqual([
      { name: "Georgia, United States #US" },
      { name: "Georgia #GE" },
    ]);
    expect(vendor.book.charged()).toBe("1");
  });
});
