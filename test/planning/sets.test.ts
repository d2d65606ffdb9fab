import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  InseparableError,
  joinedFilters,
  meet,
  type Segment,
  Sets,
} from "../../src/engine/planning/algebra.ts";
import { DEPARTMENTS, SENIORITY_LEVELS } from "../../src/shared/contract/vocabulary.ts";

interface Somebody {
  readonly country?: string;
  readonly department?: string;
  readonly seniority_level?: string;
  readonly title?: string;
  readonly connections?: number;
  readonly network_url?: string;
  readonly company_network_url?: string;
}

/** Who matches, by the words of docs/reference/contract.md and none of ours. */
function matches(person: Somebody, segment: Segment): boolean {
  return Object.entries(segment).every(([key, wanted]) => {
    if (key.endsWith("_prefix")) return person.title?.startsWith(String(wanted)) === true;
    if (key === "connections_min")
      return person.connections !== undefined && person.connections >= Number(wanted);
    if (key === "connections_max")
      return person.connections !== undefined && person.connections <= Number(wanted);
    const own = person[key as keyof Somebody];
    if (own === undefined) return false;
    const values = [wanted].flat().map(String);
    if (!key.endsWith("network_url")) return values.includes(String(own));
    return values.some(
      (value) => value === own || (!value.includes("/") && String(own).split("/").at(-1) === value),
    );
  });
}

const optional = <T>(of: fc.Arbitrary<T>) => fc.option(of, { nil: undefined, freq: 5 });
const some = (of: readonly string[]) =>
  fc.uniqueArray(fc.constantFrom(...of), { minLength: 1, maxLength: 3 });
const compact = <T extends object>(of: T): T =>
  Object.fromEntries(Object.entries(of).filter(([, value]) => value !== undefined)) as T;

const COUNTRIES = ["france", "germany", "spain"];
const TITLES = ["chief", "chief cook", "vp", "vp of sales", "cook"];
const ADDRESSES = ["a.example/x", "b.example/x", "a.example/y"];
const [departments, levels] = [DEPARTMENTS.slice(0, 3), SENIORITY_LEVELS.slice(0, 3)];

const person: fc.Arbitrary<Somebody> = fc
  .record({
    country: optional(fc.constantFrom(...COUNTRIES)),
    department: optional(fc.constantFrom(...departments)),
    seniority_level: optional(fc.constantFrom(...levels)),
    title: optional(fc.constantFrom(...TITLES)),
    connections: optional(fc.integer({ min: 0, max: 6 })),
    network_url: optional(fc.constantFrom(...ADDRESSES)),
    company_network_url: optional(fc.constantFrom(...ADDRESSES)),
  })
  .map((each) => compact(each) as Somebody);

const rarely = <T>(of: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 4, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: of });
const segment: fc.Arbitrary<Segment> = fc
  .record({
    country: rarely(some(COUNTRIES)),
    department: rarely(some(departments)),
    seniority_level: rarely(some(levels)),
    title: rarely(some(TITLES)),
    title_prefix: rarely(fc.constantFrom("chief", "vp", "c")),
    connections_min: rarely(fc.integer({ min: 0, max: 4 })),
    connections_max: rarely(fc.integer({ min: 4, max: 6 })),
    network_url: rarely(some([...ADDRESSES, "x"])),
    company_network_url: rarely(fc.constantFrom(...ADDRESSES, "x")),
  })
  .map((each) => compact(each) as Segment);

const people = fc.array(person, { maxLength: 40 });
const countIn = (all: readonly Somebody[]) => async (wanted: Segment) =>
  all.filter((each) => matches(each, wanted)).length;
const inAny = (each: Somebody, segments: readonly Segment[]): boolean =>
  segments.some((one) => matches(each, one));
const knowing = (all: readonly Somebody[], isTold: boolean) =>
  new Sets(countIn(all), async (wanted, key) =>
    isTold && key === "country"
      ? [
          ...new Set(
            all.filter((each) => matches(each, wanted)).flatMap(({ country }) => country ?? []),
          ),
        ]
      : undefined,
  );

describe("segments as sets", () => {
  test("what two have in common is exactly who is in both", () => {
    fc.assert(
      fc.property(people, segment, segment, (all, a, b) => {
        const both = meet(a, b);
        for (const each of all)
          expect(both !== undefined && matches(each, both)).toBe(
            matches(each, a) && matches(each, b),
          );
      }),
      { numRuns: 500 },
    );
  });

  test("joined by their filters alone they are the same people", () => {
    fc.assert(
      fc.property(people, fc.array(segment, { maxLength: 4 }), (all, segments) => {
        const fewer = joinedFilters(segments);
        expect(fewer.length).toBeLessThanOrEqual(segments.length);
        for (const each of all) expect(inAny(each, fewer)).toBe(inAny(each, segments));
      }),
      { numRuns: 500 },
    );
    expect(joinedFilters([{ country: ["france"] }, { country: ["spain"] }])).toEqual([
      { country: ["france", "spain"] },
    ]);
    const [a, b] = [
      { country: ["france"], title: ["vp"] },
      { country: ["spain"], title: ["cook"] },
    ];
    expect(joinedFilters([a, b])).toEqual([a, b]);
  });

  test("the people of a union are counted exactly", async () => {
    await fc.assert(
      fc.asyncProperty(people, fc.array(segment, { maxLength: 4 }), async (all, segments) => {
        expect(await knowing(all, false).people(segments)).toBe(
          all.filter((each) => inAny(each, segments)).length,
        );
      }),
      { numRuns: 300 },
    );
  });

  test("parts hold everybody of the union and nobody else, each once but for the overlap that is told", async () => {
    let [apart, overlapping, refused] = [0, 0, 0];
    const sets = fc.array(segment, { minLength: 1, maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(
        people,
        sets,
        fc.array(segment, { maxLength: 1 }),
        fc.boolean(),
        async (all, ...rest) => {
          const [segments, except, isTold] = rest;
          const found = await knowing(all, isTold)
            .parts(segments, except)
            .catch((error: unknown) => {
              if (error instanceof InseparableError) return undefined;
              throw error;
            });
          if (found === undefined) return void refused++;
          const { parts, overlap } = found;
          let again = 0;
          for (const each of all) {
            const times = parts.filter((part) => matches(each, part.segment)).length;
            expect(times > 0).toBe(inAny(each, segments) && !inAny(each, except));
            again += Math.max(0, times - 1);
          }
          expect(again).toBeLessThanOrEqual(overlap);
          if (overlap === 0) apart++;
          else overlapping++;
          for (const { segment: part, count } of parts)
            expect(count).toBe(await countIn(all)(part));
        },
      ),
      { numRuns: 1_500, seed: 7 },
    );
    // All three ends were seen, and the good one most.
    expect(apart).toBeGreaterThan(1_000);
    expect(Math.min(overlapping, refused)).toBeGreaterThan(5);
  });
});
