import { expect, test } from "vitest";
import { countedBy } from "../support/counted-engine.ts";
import { startTestService } from "../support/service.ts";
import { testService } from "../support/serving.ts";

// POST /v1/person/count: values that nobody has, in `unmatched` and in words in `detail`.

const service = testService({ plan: { perMinute: 100_000, perDay: 1_000_000 } });

const counted = async (filters: object, at = service) =>
  (await at.call("/v1/person/count", { body: { filters } })).json;
const countOf = async (filters: object): Promise<number> => (await counted(filters)).result.count;
const people = (count: number): string => `${count.toLocaleString("en")} people`;

test("a value that goes by another name is named as it was sent, with the nearest and its count", async () => {
  const count = await countOf({ country: "united states" });
  for (const value of ["USA", " u.s. ", "US"]) {
    const { detail, result, credits_used } = await counted({ country: value });
    expect([result.count, credits_used]).toEqual([0, 0]);
    expect(result.unmatched).toEqual([
      { key: "country", value, near: { key: "country", value: "united states", count } },
    ]);
    expect(detail).toEqual([
      `country "${value}" matches nobody; "united states" has ${people(count)}`,
    ]);
  }
});

test.each([
  ["a mistake", { country: "germny" }, { country: "germany" }],
  ["a level", { seniority_level: "Vice President" }, { seniority_level: "vp" }],
  ["an abbreviation", { title: "CTO" }, { title: "chief technology officer" }],
  ["a list in one text", { country: "USA, germany" }, { country: ["united states", "germany"] }],
  ["a beginning", { title: "chief" }, { title_prefix: "chief" }],
  [
    "a beginning with a mistake",
    { title_prefix: "cheif technology" },
    { title_prefix: "chief technology" },
  ],
] as const)("%s: %j has nobody, %j has", async (_, filters, meant) => {
  const [[key, value] = []] = Object.entries(meant);
  expect((await counted(filters)).result.unmatched).toMatchObject([
    { near: { key, value, count: await countOf(meant) } },
  ]);
});

test("of a list whose other values find somebody, in any case; a value that somebody has is not named", async () => {
  const { detail, result } = await counted({
    country: ["GERMANY", "Atlantis", "germany", "France"],
    department: "Sales",
  });
  expect(result.count).toBeGreaterThan(0);
  expect(result.unmatched).toEqual([{ key: "country", value: "Atlantis", near: null }]);
  expect(detail).toEqual(['country "Atlantis" matches nobody']);

  const all = await counted({ country: ["GERMANY", "France"], department: ["Sales", "Legal"] });
  expect([all.detail, all.result.unmatched]).toEqual([[], []]);
});

test("ranges and addresses have no nearest; filters that only together find nobody say so", async () => {
  expect((await counted({ followers_min: 999_999_999 })).detail).toEqual([
    "followers_min 999999999 matches nobody",
  ]);
  expect((await counted({ company_network_url: "no-such" })).result.unmatched).toEqual([
    { key: "company_network_url", value: "no-such", near: null },
  ]);
  const none = await counted({
    connections_min: 1,
    title_prefix: "chief",
    seniority_level: "intern",
  });
  expect([none.result, none.detail]).toEqual([
    expect.objectContaining({ count: 0, unmatched: [] }),
    ["each filter matches somebody, all of them together nobody"],
  ]);
});

test("a long list of mistakes is told whole to programs, and in few lines to people", async () => {
  const names = Array.from({ length: 90 }, (_, at) => `nobody-${at}`);
  const { detail, result } = await counted({ first_name: [...names, "anna"] });
  expect([result.unmatched.length, detail.length, detail.at(-1)]).toEqual([
    90,
    6,
    "85 other values match nobody",
  ]);
});

test("what all have is asked of the dataset once, and no list of values is made for it", async () => {
  const calls: string[] = [];
  const one = await startTestService({
    wrapEngine: (engine) =>
      Object.assign(Object.create(engine), {
        looksUp: engine.looksUp,
        info: () => engine.info(),
        people: () => expect.unreachable("people"),
        count: (filters: Parameters<typeof engine.count>[0]) => {
          calls.push(JSON.stringify(filters.exact));
          return engine.count(filters);
        },
        facet: () => expect.unreachable("a facet"),
        close: () => engine.close(),
      }),
  });
  try {
    await counted({ country: "germany", city: "nowhere-at-all" }, one).catch(() => undefined);
    calls.length = 0;
    for (let times = 0; times < 3; times++) await counted({ country: ["germany", "france"] }, one);
    // The segment, both as one, and each by itself.
    expect(calls.length).toBeLessThanOrEqual(4);
    calls.length = 0;
    await counted({ country: "spain" }, one);
    expect(calls.length).toBe(1);
  } finally {
    await one.close();
  }
});

test("where each count is a search, lists are not looked at, and a segment of nobody is", async () => {
  const one = await startTestService({
    wrapEngine: (engine) =>
      new Proxy(engine, {
        get: (target, name) => {
          if (name === "looksUp") return false;
          const value = Reflect.get(target, name);
          return typeof value === "function" ? value.bind(target) : value;
        },
      }),
  });
  try {
    const list = await counted({ country: ["USA", "germany"] }, one);
    expect([list.detail, list.result.unmatched]).toEqual([[], undefined]);
    const none = await counted({ country: "USA" }, one);
    expect(none.result.unmatched).toMatchObject([{ near: { value: "united states" } }]);
    const many = await counted(
      {
        title: Array.from({ length: 30 }, (_, at) => `x${at}`),
        country: ["germany", "USA"],
        city: "nowhere",
      },
      one,
    );
    expect(many.result.count).toBe(0);
  } finally {
    await one.close();
  }
});

test("an account whose small counts are bounded is told nothing by a notice that a count would not tell it", async () => {
  const one = await startTestService({ plan: { smallCounts: 1_000 } });
  try {
    // What few have is not named.
    expect((await counted({ country: "USA" }, one)).result.unmatched).toEqual([
      { key: "country", value: "USA", near: null },
    ]);
    // Each value that nobody has weighs as a count of it; when they are used up the count stands.
    const names = Array.from({ length: 150 }, (_, at) => `nobody-${at}`);
    await counted({ country: "germany" }, one);
    const { result, status } = await counted({ first_name: names }, one);
    expect([status, result.count, result.unmatched]).toEqual([true, 0, undefined]);
  } finally {
    await one.close();
  }
});

test("a value that somebody has is counted once, whatever list it stands in", async () => {
  let looks = 0;
  const own = await startTestService({
    wrapEngine: countedBy(() => looks++),
  });
  try {
    const country = ["germany", "france", "spain"];
    await counted({ country }, own);
    const first = looks;
    const { result } = await counted({ country, department: "Sales" }, own);
    expect(result.unmatched).toEqual([]);
    expect([first, looks - first]).toEqual([5, 1]);
  } finally {
    await own.close();
  }
});
