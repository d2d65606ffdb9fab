import { afterEach, describe, expect, test } from "vitest";
import { ask } from "../support/vendors/ask.ts";
import { startVendor } from "../support/vendors/index.ts";

type Options = NonNullable<Parameters<typeof startVendor<"pdl">>[1]>;

let stop = async (): Promise<void> => {};
afterEach(() => stop());

async function started(options: Options = {}) {
  const vendor = await startVendor("pdl", options);
  stop = vendor.stop;
  const call = (line: string, body?: unknown, key = vendor.key) =>
    ask(vendor.url, line, { "X-Api-Key": key }, body);
  const search = (filter: unknown, more: object = {}) =>
    call("POST /v5/person/search", { query: { bool: { filter } }, ...more });
  return { vendor, call, search };
}

const GERMANY = [{ term: { location_country: "germany" } }];
const NOBODY = [{ term: { location_country: "zz headcount" } }];

describe("People Data Labs, as its pages say", () => {
  test("a search costs a credit a person, tells it in headers, and buys one where no size is sent", async () => {
    const { vendor, search } = await started();
    const german = vendor.people.filter(({ country }) => country?.code === "DE");

    const one = await search(GERMANY);
    expect(one).toMatchObject({ status: 200, body: { status: 200, total: german.length } });
    expect(one.body.data).toEqual([vendor.record(german[0] as (typeof german)[0])]);
    expect(one.headers.get("x-call-credits-spent")).toBe("1");
    expect(one.headers.get("x-call-credits-type")).toBe("search");
    expect(one.headers.get("x-totallimit-remaining")).toBe("999");

    const five = await search(GERMANY, { size: 5 });
    expect(five.headers.get("x-call-credits-spent")).toBe("5");
    expect(vendor.book.charges).toMatchObject([
      { call: "search", units: 1, millionths: 1_000_000n, ids: [one.body.data[0].id] },
      { call: "search", units: 5, credits: "5", arrived: true },
    ]);
    expect(vendor.book.charged()).toBe("6");
    expect(vendor.book.balance("search")).toBe("994");
  });

  test("tokens lead through all of them, the last page has one too, and behind it is a free 404", async () => {
    const { vendor, search } = await started({ people: 300 });
    const ids: string[] = [];
    let token: string | undefined;
    let status = 200;
    while (status === 200) {
      const page = await search(GERMANY, { size: 10, scroll_token: token });
      status = page.status;
      token = page.body.scroll_token;
      ids.push(...(page.body.data ?? []).map(({ id }: { id: string }) => id));
    }
    const german = vendor.people.filter(({ country }) => country?.code === "DE");
    expect(status).toBe(404);
    expect(ids).toEqual(german.map((person) => vendor.id(person)));
    expect(vendor.book.sold()).toEqual(ids);
    expect(vendor.book.charged()).toBe(String(german.length));

    vendor.options.lastToken = false;
    const whole = await search(GERMANY, { size: 100 });
    expect(whole.body.data).toHaveLength(german.length);
    expect(whole.body).not.toHaveProperty("scroll_token");
  });

  test("nobody is a 404 for nothing; values are matched as stored; an unknown field finds nobody", async () => {
    const { vendor, search } = await started();
    for (const filter of [
      NOBODY,
      [{ term: { location_country: "Germany" } }],
      [{ term: { location_nation: "germany" } }],
    ]) {
      const none = await search(filter, { size: 10 });
      expect(none).toMatchObject({
        status: 404,
        body: { status: 404, error: { type: "not_found" } },
      });
      expect(none.headers.get("x-call-credits-spent")).toBeNull();
    }
    vendor.options.unknownField = "refused";
    expect((await search([{ term: { location_nation: "germany" } }])).status).toBe(400);
    expect(vendor.book.charges).toEqual([]);
  });

  test("a title is words or one keyword, as it is asked for; levels are a list", async () => {
    const { vendor, search } = await started();
    const { title } = vendor.people.find(({ level }) => level === "vp") ?? { title: "" };
    const exact = [{ term: { job_title: title.toLowerCase() } }];
    expect((await search(exact)).status).toBe(404);
    vendor.options.titleIs = "keyword";
    const same = vendor.people.filter((person) => person.title === title);
    expect((await search(exact)).body.total).toBe(same.length);
    expect((await search([{ prefix: { job_title: "vp of" } }])).status).toBe(200);

    const vps = await search([{ terms: { job_title_levels: ["vp"] } }], { size: 100 });
    expect(vps.body.total).toBe(vendor.people.filter(({ level }) => level === "vp").length);
    const levels = new Set(
      vps.body.data.map((row: object) => JSON.stringify(row).includes('["manager","vp"]')),
    );
    expect(levels).toEqual(new Set([true, false]));
  });

  test("a free plan tells of places only whether they are known", async () => {
    const { search } = await started({ emptyPlan: true });
    const { body } = await search(GERMANY, { size: 60 });
    const cities = new Set(body.data.map((row: Record<string, unknown>) => row.location_locality));
    expect(cities).toEqual(new Set([true, false]));
    expect(body.data[0].location_country).toBe("germany");
  });

  test("what is refused: key, method, size, queries, too many values, a foreign token, no credits left", async () => {
    const { vendor, call, search } = await started({ credits: "7" });
    expect((await call("POST /v5/person/search", {}, "wrong")).status).toBe(401);
    expect(
      (await call("GET /v5/autocomplete?field=country&text=ge&api_key=x", undefined)).status,
    ).toBe(200);
    expect((await call("PUT /v5/person/search", {})).status).toBe(405);
    expect((await call("POST /v5/person/search", { size: 3 })).status).toBe(400);
    expect((await search(GERMANY, { size: 101 })).status).toBe(400);
    expect((await search(GERMANY, { size: 0 })).status).toBe(400);
    expect((await search([{ more_like_this: {} }])).status).toBe(400);
    expect((await search([{ terms: { job_title: Array(101).fill("x") } }])).status).toBe(400);
    expect((await search(GERMANY, { scroll_token: "10$1.5" })).status).toBe(400);
    expect((await search(GERMANY, { from: 10_000 })).status).toBe(400);
    expect(vendor.book.charges).toEqual([]);

    expect(await search(GERMANY, { size: 8 })).toMatchObject({
      status: 402,
      body: { error: { type: "payment_required" } },
    });
    expect(vendor.book.balance("search")).toBe("7");
    vendor.options.partly = true;
    expect((await search(GERMANY, { size: 8 })).body.data).toHaveLength(7);
    expect((await search(GERMANY, { size: 8 })).status).toBe(402);
    expect(vendor.book.charged()).toBe("7");
  });

  test("a call too many is a 429 without a time to come back; limits are objects in single quotes", async () => {
    const { search } = await started({ limitPerMinute: 2 });
    const first = await search(NOBODY);
    expect(first.headers.get("x-ratelimit-limit")).toBe("{'minute': 2}");
    expect(first.headers.get("x-ratelimit-remaining")).toBe("{'minute': 1}");
    expect(Number.isNaN(Date.parse(first.headers.get("x-ratelimit-reset") ?? ""))).toBe(false);
    await search(NOBODY);
    const third = await search(NOBODY);
    expect(third.status).toBe(429);
    expect(third.headers.get("retry-after")).toBeNull();
  });

  test("a company is the top of its reply and has a meter of its own; a miss is free", async () => {
    const { vendor, call } = await started();
    const [company] = vendor.companies;
    const found = await call(`GET /v5/company/enrich?website=${company?.domain}`);
    expect(found.body).toMatchObject({ status: 200, name: company?.name.toLowerCase() });
    expect(found.headers.get("x-call-credits-type")).toBe("enrich_company");
    expect(found.headers.get("x-totallimit-remaining")).toBe("999");
    expect((await call("GET /v5/company/enrich?website=nobody.example")).status).toBe(404);
    expect(vendor.book.balance("search")).toBe("1000");

    const staff = {
      query: { term: { job_company_linkedin_url: `linkedin.com/company/${company?.slug}` } },
    };
    const { body } = await call("POST /v5/person/search", { ...staff, size: 100 });
    expect(body.total).toBe(vendor.people.filter((person) => person.company === company).length);
  });

  test("words of a field are free, the sandbox is too", async () => {
    const { vendor, call, search } = await started();
    const { body } = await call("GET /v5/autocomplete?field=country&text=ger");
    const german = vendor.people.filter(({ country }) => country?.code === "DE").length;
    expect(body.data).toEqual([{ name: "germany", count: german, meta: {} }]);
    vendor.options.sandbox = true;
    expect((await search(GERMANY, { size: 10 })).headers.get("x-call-credits-spent")).toBeNull();
    expect(vendor.book.charged()).toBe("0");
  });
});

describe("habits that any vendor here can have", () => {
  test("it charges twice, or half, of what its pages say, and tells that", async () => {
    const { vendor, search } = await started({ chargeFactor: 2 });
    expect((await search(GERMANY, { size: 3 })).headers.get("x-call-credits-spent")).toBe("6");
    vendor.options.chargeFactor = 0.5;
    expect((await search(GERMANY, { size: 3 })).headers.get("x-call-credits-spent")).toBe("1.5");
    expect(vendor.book.charged()).toBe("7.5");
    vendor.options.silent = true;
    expect((await search(GERMANY)).headers.get("x-totallimit-remaining")).toBeNull();
  });

  test.each(["cut", "drop"] as const)(
    "the second paid reply is lost, %s, and was charged",
    async (lostAs) => {
      const { vendor, search } = await started({ loseReply: [2], lostAs });
      await search(GERMANY, { size: 2 });
      await search(NOBODY);
      await expect(search(GERMANY, { size: 3 })).rejects.toThrow();
      expect((await search(GERMANY, { size: 4 })).status).toBe(200);
      expect(vendor.book.charges.map(({ arrived, units }) => [units, arrived])).toEqual([
        [2, true],
        [3, false],
        [4, true],
      ]);
    },
  );

  test("it swallows a name, misspells a field, moves its total, repeats rows", async () => {
    const { vendor, search } = await started({
      swallow: ["location_country"],
      misspell: "full_name",
      moves: 3,
      repeatIds: 2,
    });
    const first = await search(NOBODY, { size: 5 });
    const { body } = await search(NOBODY, { size: 5, scroll_token: first.body.scroll_token });
    expect([first.body.total, body.total]).toEqual([400, 403]);
    expect(body.data[0]).not.toHaveProperty("full_name");
    expect(body.data[0]).toHaveProperty("full_name_new");
    expect(body.data.slice(0, 2)).toEqual(first.body.data.slice(3));
    expect(vendor.book.sold()).toHaveLength(10);
  });

  test("the same seed has the same people, some of 19 digits, some with nothing known", async () => {
    const { vendor } = await started({ people: 60 });
    const again = await startVendor("pdl", { people: 60 });
    const other = await startVendor("pdl", { people: 60, seed: 8 });
    await Promise.all([again.stop(), other.stop()]);
    expect(again.people).toEqual(vendor.people);
    expect(other.people).not.toEqual(vendor.people);
    const numbers = vendor.people.map(({ number }) => number);
    expect(new Set(numbers).size).toBe(60);
    expect(new Set(numbers.map(Number)).size).toBeLessThan(60);
    for (const field of ["company", "city", "level", "connections"] as const)
      expect(
        vendor.people.some((person) => person[field] === null),
        field,
      ).toBe(true);
  });
});
