import { expect, test } from "vitest";
import { type FreeAnswers, hintsFor, questionsTo } from "../../../src/shared/contract/hints.ts";
import { noticesOf, readUnmatched } from "../../../src/shared/contract/unmatched.ts";
import type { Filters } from "../../../src/shared/contract/vocabulary.ts";

/** A service that has these people, tells their values and says nothing of values that nobody has. */
function serviceWith(people: readonly Readonly<Record<string, string>>[]) {
  const seen: Filters[] = [];
  const having = (filters: Filters) =>
    people.filter((person) =>
      Object.entries(filters).every(([key, value]) =>
        key.endsWith("_prefix")
          ? person[key.slice(0, -7)]?.startsWith(String(value))
          : [value].flat().includes(person[key] ?? ""),
      ),
    );
  const answers: FreeAnswers = {
    count: async (filters) => {
      seen.push(filters);
      return { count: having(filters).length, unmatched: null };
    },
    facets: async (filters, key) => {
      seen.push(filters);
      const all = having(filters).map((person) => person[key] ?? "");
      // Whom few share is not told.
      const values = [...new Set(all)].filter(
        (value) => all.indexOf(value) < all.lastIndexOf(value),
      );
      return { exact: true, values: values.map((value) => ({ value })) };
    },
  };
  return { seen, questions: () => questionsTo(answers, new AbortController().signal) };
}

const WORLD = [
  { country: "united states", city: "austin", title: "vice president of sales" },
  { country: "germany", city: "berlin", title: "head of sales" },
  { country: "germany", city: "hamburg", title: "head of sales" },
];

test("another name of a value beside it is no slip of something else", async () => {
  const service = serviceWith([
    { country: "cuba" },
    { country: "cuba" },
    { country: "united states" },
  ]);
  const filters = { country: ["united states", "USA"] };
  const { hints } = await hintsFor({ filters, count: 1 }, service.questions());
  expect(hints).toEqual(["nobody matches --country USA"]);
});

test.each([
  [{ country: "USA" }, 0, ['--country "united states" counts 1 person']],
  // The service here folds no case.
  [{ country: "Germany" }, 0, ["--country germany counts 2 people"]],
  [{ country: "germny" }, 0, ["--country germany counts 2 people"]],
  [{ country: "usa,germany" }, 0, ['--country "united states" --country germany counts 3 people']],
  [{ title: "head" }, 0, ["--title-prefix head counts 2 people"]],
  [{ title: "VP of sales" }, 0, ['--title "vice president of sales" counts 1 person']],
  [{ country: "Atlantis" }, 0, []],
  [
    { country: ["USA", "germany"] },
    2,
    ['--country USA matches nobody: --country "united states" counts 1 person'],
  ],
  [{ country: ["atlantis", "germany"] }, 2, ["nobody matches --country atlantis"]],
  [
    { country: "united states", city: "berlin" },
    0,
    [
      "each filter matches somebody, all together nobody; " +
        "without --country: 1 person; without --city: 1 person",
    ],
  ],
] as const)("of another service it is asked: %j with %d people", async (filters, count, hints) => {
  const { questions, seen } = serviceWith(WORLD);
  expect((await hintsFor({ filters, count, unmatched: null }, questions())).hints).toEqual(hints);
  expect(seen.length).toBeLessThanOrEqual(10);
});

test("what could not be looked at within ten calls is said to be unchecked", async () => {
  const { questions, seen } = serviceWith(WORLD);
  const first_name = Array.from({ length: 30 }, (_, at) => `n${at}`);
  const people = [...first_name.slice(0, 1), ...first_name];
  const world = serviceWith([...WORLD, { first_name: "n29" }]);
  const asked = { filters: { first_name: people }, count: 1, unmatched: null };
  const { unchecked } = await hintsFor(asked, world.questions());
  expect(unchecked.length).toBeGreaterThan(0);
  expect(world.seen.length).toBeLessThanOrEqual(10);

  // What a service told is not asked again.
  await hintsFor({ filters: { country: ["x", "germany"] }, count: 2, unmatched: [] }, questions());
  expect(seen).toEqual([]);
});

test("what another service tells in a form of its own is not believed", () => {
  expect(readUnmatched("USA")).toBeNull();
  expect(readUnmatched(undefined)).toBeNull();
  expect(
    readUnmatched([
      { key: "country", value: "USA", near: { key: "country", value: 7, count: 2 } },
      { key: "planet", value: "earth" },
      { key: "country", value: "UK", near: { key: "country", value: "x", count: -1 } },
      null,
    ]),
  ).toEqual([
    { key: "country", value: "USA", near: null },
    { key: "country", value: "UK", near: null },
  ]);
});

test("in words: a value of another key is named with it, and control characters are not repeated", () => {
  const near = { key: "title_prefix", value: "head of", count: 1 } as const;
  expect(noticesOf({}, 0, [{ key: "title", value: "head\u001b of", near }])).toEqual([
    'title "head\ufffd of" matches nobody; title_prefix "head of" has 1 person',
  ]);
});
