import { afterEach, describe, expect, test } from "vitest";
import { ask } from "../support/vendors/ask.ts";
import { startVendor } from "../support/vendors/index.ts";

type Options = NonNullable<Parameters<typeof startVendor<"coresignal">>[1]>;

const ROOT = "/cdapi/v2/employee_multi_source";

let stop = async (): Promise<void> => {};
afterEach(() => stop());

async function started(options: Options = {}) {
  const vendor = await startVendor("coresignal", options);
  stop = vendor.stop;
  const call = (line: string, body?: unknown, key = vendor.key) =>
    ask(vendor.url, line, { apikey: key }, body);
  const search = (query: unknown, url = "", more: object = {}) =>
    call(`POST ${ROOT}/search/es_dsl${url}`, { query, ...more });
  return { vendor, call, search };
}

const GERMANY = { match_phrase: { location_country: "Germany" } };
const ALL = { match_all: {} };

/** The ids of a bare list, in all their digits. */
const idsOf = (text: string): string[] => text.match(/\d+/g) ?? [];

describe("Coresignal, as its pages say", () => {
  test("a search gives whole numbers for nothing, of 19 digits too, and tells all else in headers", async () => {
    const { vendor, search } = await started();
    const german = vendor.people.filter(({ country }) => country?.code === "DE");
    const found = await search(GERMANY, "", { sort: ["id"] });
    expect(found.status).toBe(200);
    expect(idsOf(found.text).toSorted()).toEqual(german.map((one) => vendor.id(one)).toSorted());
    expect(idsOf(found.text).some((id) => id.length === 19)).toBe(true);
    expect(found.headers.get("x-total-results")).toBe(String(german.length));
    expect(found.headers.get("x-total-pages")).toBe("1");
    expect(found.headers.get("x-credits-remaining")).toBe("1000");
    expect(vendor.book.charges).toEqual([]);

    const none = await search({ match_phrase: { location_country: "zz nowhere" } });
    expect(none).toMatchObject({ status: 200, text: "[]" });
    expect(none.headers.get("x-total-results")).toBe("0");
    expect(none.headers.get("x-next-page-after")).toBeNull();
  });

  test.each([
    [undefined, /^"2026-\d\d-\d\d",\d+$/],
    [["id"], /^\d+$/],
    [["_score"], /^1\.0,"2026-\d\d-\d\d",\d+$/],
  ])("the cursor of sort %j goes back as it came", async (sort, form) => {
    const { vendor, search } = await started({ people: 300 });
    const ids: string[] = [];
    let after: string | null = null;
    for (;;) {
      const at: string = after === null ? "" : `&after=${encodeURIComponent(after)}`;
      const page = await search(ALL, `?items_per_page=70${at}`, sort === undefined ? {} : { sort });
      if (page.text === "[]") break;
      after = page.headers.get("x-next-page-after");
      expect(after).toMatch(form);
      ids.push(...idsOf(page.text));
    }
    expect(ids).toHaveLength(300);
    expect(new Set(ids)).toEqual(new Set(vendor.people.map((one) => vendor.id(one))));
  });

  test("a record costs 20, by id, slug or address; a miss nothing; the difference of the header tells it", async () => {
    const { vendor, call } = await started({ credits: "65" });
    const [, person] = vendor.people;
    if (person === undefined) throw new Error("nobody");
    const address = encodeURIComponent(`https://www.linkedin.com/in/${person.slug}`);
    for (const [which, left] of [
      [vendor.id(person), "45"],
      [person.slug, "25"],
      ["41999999", "25"],
      [address, "5"],
    ]) {
      const { status, headers, body } = await call(`GET ${ROOT}/collect/${which}`);
      expect(headers.get("x-credits-remaining")).toBe(left);
      if (status === 200) expect(body.full_name).toBe(`${person.first} ${person.last}`);
      else expect(body).toEqual({ detail: "Not Found" });
    }
    expect((await call(`GET ${ROOT}/collect/${person.slug}`)).status).toBe(402);
    expect(vendor.book.charges).toMatchObject(Array(3).fill({ call: "collect", credits: "20" }));
    expect(vendor.book.charged()).toBe("60");
  });

  test("the job of now stands anywhere among the others, and is asked for within its list only", async () => {
    const { vendor, call, search } = await started();
    const company = vendor.companies.find((one) =>
      vendor.people.some((person) => person.former === one),
    );
    const name = { match_phrase: { "experience.company_name": company?.name } };
    const now = { term: { "experience.active_experience": 1 } };
    const nested = (...filter: object[]) => ({
      nested: { path: "experience", query: { bool: { filter } } },
    });
    const employed = vendor.people.filter((one) => one.company === company);
    const ever = vendor.people.filter((one) => one.company === company || one.former === company);

    expect((await search(name)).text).toBe("[]");
    expect((await search(nested(name, GERMANY))).text).toBe("[]");
    expect(idsOf((await search(nested(name, now))).text)).toHaveLength(employed.length);
    expect(idsOf((await search(nested(name))).text)).toHaveLength(ever.length);

    const places = new Set<number>();
    for (const person of vendor.people.slice(0, 20)) {
      const { body } = await call(`GET ${ROOT}/collect/${person.slug}`);
      const at = body.experience.findIndex(
        (job: { active_experience: number }) => job.active_experience === 1,
      );
      if (at >= 0) expect(body.experience[at].company_name).toBe(person.company?.name);
      places.add(at);
    }
    expect(places).toEqual(new Set([0, 1, ...(places.has(-1) ? [-1] : [])]));
  });

  test("words of a text, its whole in .exact, ranges; a name that is not there finds nobody", async () => {
    const { vendor, search } = await started();
    const sales = vendor.people.filter(({ title }) => title.includes("Sales"));
    const director = vendor.people.filter(({ title }) => title === "Sales Director");
    const many = vendor.people.filter(({ connections }) => (connections ?? 0) >= 400);
    for (const [query, people] of [
      [{ match: { active_experience_title: "SALES" } }, sales],
      [{ term: { active_experience_title: "sales" } }, sales],
      [{ term: { active_experience_title: "Sales" } }, []],
      [{ terms: { "active_experience_title.exact": ["Sales Director"] } }, director],
      [{ range: { connections_count: { gte: 400 } } }, many],
      [{ term: { location_nation: "Germany" } }, []],
    ] as const) {
      const { text } = await search(query, "", { sort: ["id"] });
      expect(idsOf(text), JSON.stringify(query)).toHaveLength(people.length);
    }
  });

  test("what is refused: key, no body, structure, page, cursor, method, path, preview", async () => {
    const { vendor, call, search } = await started();
    expect((await call(`POST ${ROOT}/search/es_dsl`, "", "wrong")).status).toBe(401);
    expect((await call(`POST ${ROOT}/search/es_dsl`, "")).status).toBe(400);
    expect((await call(`POST ${ROOT}/search/es_dsl`, {})).status).toBe(422);
    expect((await search({ sounds_like: {} })).status).toBe(400);
    expect((await search(ALL, "?items_per_page=1001")).status).toBe(422);
    expect((await search(ALL, '?after="2020-01-01",1')).status).toBe(400);
    expect((await call(`GET ${ROOT}/search/es_dsl`)).status).toBe(500);
    expect((await call("POST /cdapi/v2/multi_source_employee/search/es_dsl", {})).status).toBe(404);
    expect((await search(ALL, "/preview")).status).toBe(403);
    expect(vendor.book.charges).toEqual([]);

    vendor.options.preview = true;
    expect((await search(ALL, "/preview")).body).toHaveLength(20);
    expect(vendor.book.charges).toMatchObject([{ call: "preview", units: 1, credits: "20" }]);
  });

  test("a call too many tells nothing; a deleted profile is sold or gone; the address has two names", async () => {
    const { vendor, call } = await started({ limitPerMinute: 3, deleted: [4], neutral: true });
    const which = vendor.id(vendor.people[4] as (typeof vendor.people)[0]);
    const { body } = await call(`GET ${ROOT}/collect/${which}`);
    expect(body).toMatchObject({ is_deleted: 1 });
    expect(body).toHaveProperty("professional_network_url");
    expect(body).not.toHaveProperty("linkedin_url");
    vendor.options.deletedAs = "404";
    expect((await call(`GET ${ROOT}/collect/${which}`)).status).toBe(404);
    expect(vendor.book.charged()).toBe("20");

    await call(`GET ${ROOT}/collect/${which}`);
    const over = await call(`GET ${ROOT}/collect/${which}`);
    expect(over).toMatchObject({ status: 429, body: { detail: "Too Many Requests" } });
    expect([...over.headers.keys()].filter((name) => /limit|retry/.test(name))).toEqual([]);
  });

  test("a company costs 20 by its website or slug", async () => {
    const { vendor, call } = await started();
    const [company] = vendor.companies;
    const path = "/cdapi/v2/company_multi_source";
    const found = await call(`GET ${path}/enrich?website=${company?.domain}`);
    expect(found.body).toMatchObject({ company_name: company?.name });
    expect((await call(`GET ${path}/collect/${company?.slug}`)).status).toBe(200);
    expect((await call(`GET ${path}/enrich?website=nobody.example`)).status).toBe(404);
    expect(vendor.book.charged()).toBe("40");
  });
});
