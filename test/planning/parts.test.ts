import { expect, test } from "vitest";
import { LETTERS } from "../../src/engine/planning/names.ts";
import { divide } from "../../src/engine/planning/parts.ts";
import { UnsoundCountsError } from "../../src/engine/planning/question.ts";
import { checkFilters } from "../../src/shared/contract/filters.ts";
import { normalForm } from "../../src/shared/contract/normalise.ts";
import type { Person } from "../../src/shared/contract/records.ts";
import type { Filters } from "../../src/shared/contract/vocabulary.ts";
import { hostilePeople, matches } from "../support/exactness.ts";

const FIRST = [
  "Ada",
  "Anna",
  "Bo",
  "Omar",
  "Omar Ali",
  "Chris",
  "Dana",
  "Eve",
  "Zoë",
  "Jean-Luc",
  "O'Neil",
  "Łukasz",
];
const LAST = [
  "Smith",
  "Smithers",
  "Müller",
  "de la Cruz",
  "Li",
  "Lee",
  "Øst",
  "Zhang",
  "Ng",
  "Okafor",
];
const DEPARTMENTS = ["Sales", "Legal", "Marketing", "Other", "Product"] as const;

/** People with names that repeat and begin alike; the first department has nearly half of them. */
function crowd(count: number): Person[] {
  const [template] = hostilePeople(1, 1);
  if (template === undefined) throw new Error("nobody");
  return Array.from({ length: count }, (_, index) => ({
    ...template,
    id: `p${index}`,
    name: `${FIRST[(index * 7) % FIRST.length]} ${LAST[(index * 13 + (index >> 4)) % LAST.length]}`,
    department: DEPARTMENTS[index % 9 < 4 ? 0 : index % 5] ?? "Other",
    seniority_level: index % 3 === 0 ? null : "manager",
  }));
}

/** A service that counts these people, and how often it was asked. */
function service(people: readonly Person[], answer: (count: number) => number = (count) => count) {
  const asked: Filters[] = [];
  const matching = (filters: Filters): Person[] => {
    const checked = checkFilters(filters);
    if (!checked.ok) throw new Error(`${JSON.stringify(filters)}: ${checked.issues[0]?.message}`);
    return people.filter((person) => matches(person, checked.canonical));
  };
  const count = async (filters: Filters): Promise<number> => {
    asked.push(filters);
    return answer(matching(filters).length);
  };
  return { asked, count, matching };
}

test.each([
  [900, 130, {}],
  [900, 40, {}],
  [900, 130, { department: ["Sales", "Legal"] }],
  [900, 60, { department: "Sales" }],
  [900, 30, { name_prefix: "omar" }],
  [900, 10_000, {}],
] as const)(
  "%d people behind a wall of %d, filters %j: everybody once, or named",
  async (size, wall, segment) => {
    const { count, matching } = service(crowd(size));
    const total = matching(segment).length;
    const { parts, unreached } = await divide({ filters: segment, count: total }, wall, count);
    const times = new Map<string, number>();
    for (const part of parts) {
      expect(part.count).toBeLessThanOrEqual(wall);
      const people = matching(part.filters);
      expect(people).toHaveLength(part.count);
      for (const { id } of people) times.set(id, (times.get(id) ?? 0) + 1);
    }
    expect([...times.values()].every((each) => each === 1)).toBe(true);
    const missing = unreached.reduce((sum, each) => sum + each.count, 0);
    expect(times.size + missing).toBe(total);
    // A limit that ends in a part is told by it: how many people come before.
    let before = 0;
    for (const { count: people, from } of parts) {
      expect(from).toBeGreaterThanOrEqual(before);
      if (missing === 0) expect(from).toBe(before);
      before = from + people;
    }
    expect(before).toBeLessThanOrEqual(total);
  },
);

test("nobody is in two parts where a service counts people in two values of a key", async () => {
  const people = crowd(300).flatMap((person, index): Person[] =>
    index % 7 === 0 ? [person, { ...person, department: "Customer Service" }] : [person],
  );
  const { matching } = service(people);
  const idsOf = (filters: Filters): readonly string[] => [
    ...new Set(matching(filters).map(({ id }) => id ?? "")),
  ];
  const count = async (filters: Filters): Promise<number> => idsOf(filters).length;
  const { parts, unreached } = await divide({ filters: {}, count: 300 }, 60, count);
  const bought = parts.flatMap(({ filters }) => idsOf(filters));
  expect(new Set(bought).size).toBe(bought.length);
  expect(bought.length + unreached.reduce((sum, each) => sum + each.count, 0)).toBe(300);
});

test("a key that covers takes a few counts, names take more", async () => {
  const { count, asked, matching } = service(crowd(900));
  const { parts } = await divide({ filters: {}, count: matching({}).length }, 520, count);
  expect(parts.length).toBeLessThanOrEqual(4);
  expect(asked.length).toBeLessThanOrEqual(36);
});

test("who is called the same is named where they are more than the wall", async () => {
  const people = crowd(400).map(
    (person) => ({ ...person, name: "Omar Ali", department: "Sales" }) as Person,
  );
  const { count } = service(people);
  const { parts, unreached } = await divide({ filters: {}, count: 400 }, 100, count);
  expect(parts).toEqual([]);
  expect(unreached).toEqual([{ where: 'who are all called "omar ali"', count: 400 }]);
});

test("a step is its own normal form, and begins nothing that another step begins", () => {
  for (const letter of LETTERS) {
    expect(normalForm(`x${letter}`)).toBe(`x${letter}`);
    const others = [...LETTERS].filter((other) => other !== letter);
    expect(others.filter((other) => normalForm(`x${other}`).startsWith(`x${letter}`))).toEqual([]);
  }
  expect(new Set(LETTERS).size).toBe([...LETTERS].length);
});

test("names with ss beside accents: nobody twice", async () => {
  const names = ["Jess", "Jessa", "Jeß", "Ješin", "Jeso", "Jé"];
  const [template] = crowd(1);
  const people = Array.from({ length: 60 }, (_, index) => ({
    ...(template as Person),
    id: `p${index}`,
    name: `${names[index % names.length]} ${index % 2 === 0 ? "" : "a"}`.trim(),
    department: "Sales" as const,
  }));
  const { count, matching } = service(people);

  const { parts, unreached } = await divide({ filters: {}, count: 60 }, 12, count);
  const ids = parts.flatMap(({ filters }) => matching(filters).map(({ id }) => id));
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.length + unreached.reduce((sum, { count }) => sum + count, 0)).toBe(60);
});

test("a service that takes no notice of accents sells nobody twice; who is left is named", async () => {
  const bare = (text: string): string =>
    text.normalize("NFD").replace(/\p{M}/gu, "").replaceAll("ø", "o").replaceAll("ł", "l");
  const all = [
    ...crowd(300),
    ...crowd(30).map((one, at) => ({ ...one, id: `x${at}`, name: "李 明" })),
  ];
  const folded = all.map((person) => ({ ...person, name: bare(person.name?.toLowerCase() ?? "") }));
  const { matching } = service(folded);
  const asked = (filters: Filters): Filters =>
    typeof filters.name_prefix === "string"
      ? { ...filters, name_prefix: bare(filters.name_prefix.toLowerCase()) }
      : filters;
  const count = async (filters: Filters): Promise<number> => matching(asked(filters)).length;

  const { parts, unreached } = await divide({ filters: {}, count: all.length }, 20, count);
  const ids = parts.flatMap(({ filters }) => matching(asked(filters)).map(({ id }) => id));
  expect(new Set(ids).size).toBe(ids.length);
  const left = unreached.reduce((sum, { count }) => sum + count, 0);
  expect(ids.length + left).toBe(all.length);
  expect(left).toBeGreaterThanOrEqual(30);
});

test("names in other scripts are named with their number", async () => {
  const people = crowd(300).map(
    (person, index) =>
      ({
        ...person,
        department: "Sales",
        ...(index % 3 === 0 ? { name: "東京 花" } : {}),
      }) as Person,
  );
  const { count } = service(people);
  const { parts, unreached } = await divide({ filters: {}, count: 300 }, 90, count);
  expect(unreached).toEqual([{ where: "whose names begin with another character", count: 100 }]);
  expect(parts.reduce((sum, part) => sum + part.count, 0)).toBe(200);
});

test("approximate counts are noticed, and nothing is planned", async () => {
  const { count, matching } = service(crowd(900), (exact) => Math.round(exact * 1.02));
  await expect(
    divide(
      { filters: { department: "Sales" }, count: matching({ department: "Sales" }).length },
      100,
      count,
    ),
  ).rejects.toThrow(UnsoundCountsError);
});
