import { expect, test } from "vitest";
import { parseMap } from "../../src/dataset/build/import-map.ts";

test("a map is read field to column, and the other way round where that is plain", () => {
  const people = { title: "Job Title", name: "Full Name" };
  const maps = [
    { people: { title: "Job Title", name: "Full Name" }, companies: { domain: "Web" } },
    { people: { "Job Title": "title", "Full Name": "name" }, companies: { Web: "domain" } },
  ];
  for (const map of maps)
    expect(parseMap(JSON.stringify(map), "m")).toEqual({ people, companies: { domain: "Web" }, values: {} });
  expect(parseMap(JSON.stringify({ "Job Title": "title" }), "m").people).toEqual({ title: "Job Title" });
});

test("what could be meant either way is field to column; what is neither is refused", () => {
  const swapped = { name: "title", title: "name" };
  expect(parseMap(JSON.stringify(swapped), "m").people).toEqual(swapped);
  for (const map of [{ Job: "titel" }, { A: "title", B: "title" }, { "Job Title": "title", name: "Full Name" }]) {
    expect(() => parseMap(JSON.stringify(map), "m")).toThrow("is no field of people");
  }
});

test("values and the style of numbers are read beside the columns, and checked", () => {
  const values = { department: { Eng: "Engineering and Technical", None: null } };
  expect(parseMap(JSON.stringify({ title: "Job", values, numbers: "de" }), "m")).toEqual({
    ...{ people: { title: "Job" }, companies: {}, values, numbers: "de" },
  });
  for (const [map, message] of [
    [{ people: {}, numbers: "fr" }, 'm: "numbers" must be "en" or "de", not "fr"'],
    [{ people: {}, values: { department: { Eng: "Enginering" } } }, 'm: "Enginering" is none of the 20 departments'],
    [{ people: {}, values: { dept: {} } }, 'm: "dept" is no field of people or companies'],
    [{ people: {}, values: { title: { a: 1 } } }, 'm: "a" of title must become a text or null, not 1'],
    [{ people: {}, values: [] }, 'm: "values" must be an object of field: {value: value}'],
  ] as const) {
    expect(() => parseMap(JSON.stringify(map), "m")).toThrow(message);
  }
});
