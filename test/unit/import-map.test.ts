import { expect, test } from "vitest";
import { parseMap } from "../../src/dataset/build/import-map.ts";

test("a map is read field to column, and the other way round where that is plain", () => {
  const people = { title: "Job Title", name: "Full Name" };
  const maps = [
    { people: { title: "Job Title", name: "Full Name" }, companies: { domain: "Web" } },
    { people: { "Job Title": "title", "Full Name": "name" }, companies: { Web: "domain" } },
  ];
  for (const map of maps) expect(parseMap(JSON.stringify(map), "m")).toEqual({ people, companies: { domain: "Web" } });
  expect(parseMap(JSON.stringify({ "Job Title": "title" }), "m").people).toEqual({ title: "Job Title" });
});

test("what could be meant either way is field to column; what is neither is refused", () => {
  const swapped = { name: "title", title: "name" };
  expect(parseMap(JSON.stringify(swapped), "m").people).toEqual(swapped);
  for (const map of [{ Job: "titel" }, { A: "title", B: "title" }, { "Job Title": "title", name: "Full Name" }]) {
    expect(() => parseMap(JSON.stringify(map), "m")).toThrow("is no field of people");
  }
});
