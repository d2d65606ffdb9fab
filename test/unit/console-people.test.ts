import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { arranged, asCells, rowsBetween, rowsIn } from "../../src/console/people.ts";
import { PERSON_FIELDS, type Person } from "../../src/shared/contract/records.ts";

const NOBODY = Object.fromEntries(PERSON_FIELDS.map((field) => [field, null]));
const person = (fields: Partial<Person>): Person => ({ ...NOBODY, ...fields }) as Person;

describe("the rows of an export", () => {
  const people = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, at) => person({ id: `p${from + at}` }));

  test("are the same in every window as in the whole, whichever pages are there and however short they are", () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ here: fc.boolean(), gone: fc.nat(3) }), { maxLength: 6 }),
        fc.nat(40),
        fc.nat(40),
        (pages, from, length) => {
          const extent = { pages: pages.length, perPage: 5, rows: pages.length * 5 };
          const fetched = new Map(
            pages.flatMap(({ gone, here }, page) =>
              here ? [[page, people(page * 5, page * 5 + 5 - gone)] as const] : [],
            ),
          );
          const whole = rowsBetween(extent, fetched, 0, 1_000);
          expect(whole.rows).toHaveLength(rowsIn(extent, fetched));
          expect(whole.missing).toEqual(pages.flatMap(({ here }, page) => (here ? [] : [page])));
          const part = rowsBetween(extent, fetched, from, from + length);
          expect(part.rows).toEqual(whole.rows.slice(from, from + length));
        },
      ),
    );
  });

  test("are found by each word, without case and accents, and sorted with nobody's value last", () => {
    const all = [
      person({ id: "1", name: "Zoë Müller", city: "Graz", followers: 10 }),
      person({ id: "2", name: "adam Ohm", city: "Graz", followers: 9 }),
      person({ id: "3", name: null, city: "Linz", followers: null }),
      person({ id: "4", name: "Éva Graz", city: "Pécs", followers: 100 }),
    ];
    const ids = (words: string, ...sorting: [Parameters<typeof arranged>[2]?]) =>
      arranged(all, words, sorting[0])
        .map(({ id }) => id)
        .join("");
    expect(ids("")).toBe("1234");
    expect(ids("GRAZ")).toBe("124");
    expect(ids("graz muller")).toBe("1");
    expect(ids("eva  pecs")).toBe("4");
    expect(ids("", { field: "name", isDown: false })).toBe("2413");
    expect(ids("", { field: "followers", isDown: false })).toBe("2143");
    expect(ids("", { field: "followers", isDown: true })).toBe("4123");
  });

  test("are a line each for a spreadsheet, and never a formula", () => {
    const text = asCells(
      [person({ name: "=1+1", title: "a\tb\nc", followers: -5 }), person({})],
      ["name", "title", "followers"],
    );
    expect(text).toBe("name\ttitle\tfollowers\n'=1+1\ta b c\t-5\n\t\t");
  });
});
