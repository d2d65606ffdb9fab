import fc from "fast-check";
import { expect, test } from "vitest";
import { filled, holesOf, inRow, placed } from "../../../../src/shared/dialect/holes.ts";
import { parseExact, stringifyExact } from "../../../../src/shared/rows/values.ts";

test.each([
  [{ size: "@rows", token: "@cursor" }, { rows: 3 }, { size: 3 }],
  [{ token: "@cursor?null" }, {}, { token: null }],
  [["@id", "@cursor"], { id: "a" }, ["a"]],
  ["/collect/{id}", { id: "7" }, "/collect/7"],
  ["{state}, {country:names}", { state: "Texas", country: "US" }, "Texas, US"],
  [{ "*": "@filters", page: 1 }, { filters: [{ a: 1 }, { b: 2 }] }, { a: 1, b: 2, page: 1 }],
  [
    { "*": "@filters" },
    { filters: [{ a: [1] }, { a: [2] }, { b: { c: 1 } }, { b: { d: 2 } }] },
    { a: [1, 2], b: { c: 1, d: 2 } },
  ],
  [{ "*": "@filters" }, {}, {}],
])("%j is filled", (template, values, wanted) => {
  expect(filled(template, values)).toEqual(wanted);
});

test("what holds no hole comes as it is, whatever it is filled with", () => {
  const plain = fc
    .json()
    .filter((text) => !/[@{*]/.test(text.replace(/[{}]/g, "")) && !text.includes("*"));
  fc.assert(
    fc.property(plain, fc.dictionary(fc.string(), fc.string()), (text, values) => {
      const value: unknown = JSON.parse(text);
      fc.pre(holesOf(value).length === 0 && !text.includes('"__proto__"'));
      expect(filled(value, values)).toEqual(value);
    }),
  );
});

test.each([
  ["a.b", { a: { b: 1 } }, 1],
  ["a[1]", { a: [1, 2] }, 2],
  [
    "jobs[now=true].name",
    {
      jobs: [
        { now: false, name: "x" },
        { now: true, name: "y" },
      ],
    },
    "y",
  ],
  ["jobs[n=1].name", { jobs: [{ n: 1, name: "y" }] }, "y"],
  ["a|b", { a: null, b: 2 }, 2],
  ["a.b.c", { a: "text" }, undefined],
  ["", 5, 5],
  ["constructor", {}, undefined],
])("%s stands in %j", (place, row, wanted) => {
  expect(inRow(place, row)).toEqual(wanted);
});

test("a header is a place, whatever its case, and a number keeps its digits", () => {
  const body = parseExact('{"id":1234567890123456789}');
  const told = { body, header: (name: string) => (name === "x-total" ? "7" : undefined) };
  expect(placed("header:X-Total", told)).toBe("7");
  expect(stringifyExact(placed("id", told) ?? null)).toBe("1234567890123456789");
});
