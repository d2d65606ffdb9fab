import { describe, expect, test } from "vitest";
import { shippedVendor } from "../../../../src/app/vendors.ts";
import { expressionsOf, nobodyBy } from "../../../../src/engine/dialect/expressions.ts";
import type { Filters } from "../../../../src/shared/contract/vocabulary.ts";
import type { DialectFile } from "../../../../src/shared/dialect/shape.ts";

const fileOf = async (name: string): Promise<DialectFile> => (await shippedVendor(name)).file;

describe("as the shipped files say it", () => {
  const cases: readonly (readonly [string, Filters, unknown[]])[] = [
    ["pdl", { country: "United States" }, [{ terms: { location_country: ["united states"] } }]],
    [
      "pdl",
      { seniority_level: ["c-suite", "vp"] },
      [{ terms: { job_title_levels: ["cxo", "vp"] } }],
    ],
    ["pdl", { title_prefix: "Head of" }, [{ prefix: { job_title: "head of" } }]],
    [
      "pdl",
      { company_network_url: "https://www.linkedin.com/company/Acme/" },
      [{ terms: { job_company_linkedin_url: ["linkedin.com/company/acme"] } }],
    ],
    [
      "coresignal",
      { country: "isle of man" },
      [{ match_phrase: { location_country: "Isle of Man" } }],
    ],
    [
      "coresignal",
      { state: ["texas", "new york"] },
      [
        {
          bool: {
            should: [
              { match_phrase: { location_state: "Texas" } },
              { match_phrase: { location_state: "New York" } },
            ],
            minimum_should_match: 1,
          },
        },
      ],
    ],
    ["coresignal", { connections_min: 5 }, [{ range: { connections_count: { gte: 5 } } }]],
    [
      "crustdata",
      { country: ["united states", "germany"] },
      [
        {
          field: "basic_profile.location.country",
          type: "in",
          value: ["United States", "United States of America", "Germany"],
        },
      ],
    ],
    ["explorium", { country: "Germany" }, [{ country_code: { values: ["de"] } }]],
  ];
  test.each(cases)("%s, %j", async (name, filters, wanted) => {
    expect(expressionsOf(await fileOf(name), filters)).toEqual(wanted);
  });
});

describe("what a file cannot say is refused by name", () => {
  const cases: readonly (readonly [string, Filters, string])[] = [
    ["pdl", { headline_prefix: "x" }, "pdl cannot be asked by headline_prefix"],
    ["pdl", { seniority_level: "head" }, 'pdl has no word for seniority_level "head"'],
    ["pdl", { department: "Design" }, 'pdl has no word for department "Design"'],
    ["explorium", { country: "germny" }, '"germny" (did you mean "germany"?)'],
    ["explorium", { title: "cto" }, "explorium can be asked by title only loosely"],
    ["crustdata", { seniority_level: "owner" }, "only loosely"],
    ["apollo", { country: "ireland", city: "dublin" }, "one field for country and city"],
  ];
  test.each(cases)("%s, %j", async (name, filters, why) => {
    const file = await fileOf(name);
    expect(() => expressionsOf(file, filters)).toThrow(why);
  });

  test("several values where one is taken", async () => {
    const { or: _, ...file } = await fileOf("coresignal");
    expect(() => expressionsOf(file, { country: ["a", "b"] })).toThrow(
      "takes one value of country",
    );
  });
});

test("one field is made of several keys, the most of them first, and then neither is asked alone", async () => {
  const file: DialectFile = {
    ...(await fileOf("apollo")),
    words: { country: { "united states": "US", georgia: "GE" } },
    together: [
      {
        of: ["state", "country"],
        as: "{state}, {country:country}",
        case: "title",
        any: { place: "@values" },
      },
      {
        of: ["city", "state", "country"],
        as: "{city}, {state}, {country}",
        case: "title",
        any: { place: "@values" },
      },
    ],
  };
  expect(expressionsOf(file, { state: ["georgia", "texas"], country: "United States" })).toEqual([
    { place: ["Georgia, US", "Texas, US"] },
  ]);
  expect(expressionsOf(file, { city: "dublin", state: "ohio", country: "united states" })).toEqual([
    { place: ["Dublin, Ohio, United States"] },
  ]);
  expect(expressionsOf(file, { state: "ohio" })).toEqual([{ person_locations: ["ohio"] }]);
});

test("nobody is asked for by what nobody has, in the field of the key", async () => {
  const file = await fileOf("coresignal");
  expect(nobodyBy(file, "connections_max")).toEqual({ range: { connections_count: { lte: -1 } } });
  expect(JSON.stringify(nobodyBy(file, "title"))).toMatch(/active_experience_title.exact.*canary/);
  expect(nobodyBy(file, "headline_prefix")).toBeUndefined();
  expect(JSON.stringify(nobodyBy(await fileOf("apollo"), "seniority_level"))).toContain("canary");
});
