import { expect, test } from "vitest";
import { parseMap, proposedMap } from "../../src/dataset/build/import-map.ts";

test("a map is read field to column, for people and companies or for people alone", () => {
  const people = { title: "Job Title", name: "Full Name" };
  const map = { people, companies: { domain: "Web" } };
  expect(parseMap(map, "m")).toEqual({ ...map, values: {} });
  expect(parseMap({ title: "Job Title" }, "m").people).toEqual({
    title: "Job Title",
  });
  const swapped = { name: "title", title: "name" };
  expect(parseMap(swapped, "m").people).toEqual(swapped);
});

test("what is no field is refused, also where the map is the other way round", () => {
  for (const other of [
    { Job: "titel" },
    { "Job Title": "title" },
    { A: "title", B: "title" },
    { "Job Title": "title", name: "Full Name" },
  ]) {
    expect(() => parseMap(other, "m")).toThrow("is no field of people");
  }
});

test("values and the style of numbers are read beside the columns, and checked", () => {
  const values = { department: { Eng: "Engineering and Technical", None: null } };
  expect(parseMap({ title: "Job", values, numbers: "de" }, "m")).toEqual({
    ...{ people: { title: "Job" }, companies: {}, values, numbers: "de" },
  });
  for (const [map, message] of [
    [{ people: {}, numbers: "fr" }, 'm: "numbers" must be "en" or "de", not "fr"'],
    [
      { people: {}, values: { department: { Eng: "Enginering" } } },
      'm: "Enginering" is none of the 20 departments',
    ],
    [{ people: {}, values: { dept: {} } }, 'm: "dept" is no field of people or companies'],
    [
      { people: {}, values: { title: { a: 1 } } },
      'm: "a" of title must become a text or null, not 1',
    ],
    [{ people: {}, values: [] }, 'm: "values" must be an object of field: {value: value}'],
  ] as const) {
    expect(() => parseMap(map, "m")).toThrow(message);
  }
});

test("a column of the company is never proposed for who a person is, nor the other way round", () => {
  expect(proposedMap("people", {}, ["Company", "Company ID", "Profile URL"])).toEqual({
    network_url: "Profile URL",
    company_name: "Company",
  });
  expect(proposedMap("people", {}, ["Full Name", "Organization"])).toEqual({
    name: "Full Name",
    company_name: "Organization",
  });
  // People have it under many names; capitals within a word part none of them.
  for (const name of ["LinkedIn URL", "linkedin", "Profile URL", "li_url", "URL", "LinkedIn"]) {
    expect(proposedMap("people", {}, ["Name", name])).toEqual({ network_url: name });
  }
  expect(proposedMap("people", {}, ["URL", "Company LinkedIn URL", "LinkedIn URL"])).toEqual({
    network_url: "LinkedIn URL",
    company_network_url: "Company LinkedIn URL",
  });
  expect(proposedMap("companies", {}, ["Name", "LinkedIn URL"])).toEqual({
    company_network_url: "LinkedIn URL",
  });
  expect(proposedMap("companies", {}, ["Contact Name", "Company", "Person ID"])).toEqual({
    name: "Company",
  });
});
