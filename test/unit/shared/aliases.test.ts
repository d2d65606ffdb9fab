import { expect, test } from "vitest";
import { filterFor, otherNames } from "../../../src/shared/contract/aliases.ts";

test.each([
  ["country", "U.S.A.", "united states"],
  ["country", "DEU", "germany"],
  ["country", "gb", "united kingdom"],
  ["country", "The Netherlands", "netherlands"],
  ["country", "Czech Republic", "czechia"],
  ["state", "CA", "california"],
  ["seniority", "V.P.", "vp"],
  ["seniority_level", "Vice President", "vp"],
  ["seniority_level", "C Level", "c-suite"],
  ["title", "CTO", "chief technology officer"],
  ["title", "VP Sales", "vice president sales"],
  ["title_prefix", "Sr. Manager", "senior manager"],
  ["title", "SW Engineer", "software engineer"],
  ["seniority_level", "Snr", "senior"],
])("%s %j is %j too", (key, value, other) => {
  expect(otherNames(key, value)[0]).toBe(other);
});

test("names go both ways, and a value is no other name of its own", () => {
  expect(otherNames("country", "United States")).toContain("usa");
  expect(otherNames("title", "vice president of sales")).toContain("vp of sales");
  expect(otherNames("country", "united states")).not.toContain("united states");
});

test("nothing is said of a word within a country, of an unknown value, or of a key without names", () => {
  expect(otherNames("country", "usa east")).toEqual([]);
  expect(otherNames("country", "atlantis")).toEqual([]);
  expect(otherNames("city", "usa")).toEqual([]);
});

test.each([
  ["Sales", ["department", "Sales"]],
  ["vp", ["seniority_level", "vp"]],
  ["usa", ["country", "united states"]],
  ["CTO", ["title", "chief technology officer"]],
  ["in", undefined],
  ["atlantis", undefined],
])("%j alone is %j", (text, filter) => {
  expect(filterFor(text)).toEqual(filter);
});
