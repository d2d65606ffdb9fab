import { expect, test } from "vitest";
import { shippedVendor } from "../../../../src/app/vendors.ts";
import { contractRow, strayIn } from "../../../../src/engine/dialect/rows.ts";
import type { Filters } from "../../../../src/shared/contract/vocabulary.ts";
import { type JsonRecord, parseExact } from "../../../../src/shared/rows/values.ts";

const { file } = await shippedVendor("pdl");

test("a row has the fields that its file finds, in our words", () => {
  const text =
    '{"id":1234567890123456789,"full_name":"ada","job_title_levels":["cxo","vp"],"job_title_role":"health",' +
    '"location_country":"france","location_locality":true,"job_company_name":null,"job_title_sub_role":""}';
  const row = contractRow(file, parseExact(text));
  expect(row).toMatchObject({
    id: "1234567890123456789",
    name: "ada",
    seniority: "cxo; vp",
    seniority_level: "c-suite",
    department: "Medical",
    country: "france",
    // A flag says that there is a value, and not which.
    city: null,
    company_name: null,
    functional_area: null,
  });
});

test("a word that no list has stays as the vendor says it", () => {
  expect(contractRow(file, { id: "1", job_title_role: "unemployed" }).department).toBe(
    "unemployed",
  );
});

test("a row is held against what was asked for; of a list any will do, and what is not told proves nothing", () => {
  const stray = (filters: Filters, ...items: readonly JsonRecord[]) => {
    const all = items.map((item) => ({ id: "1", ...item }));
    return strayIn(
      file,
      filters,
      all.map((item) => contractRow(file, item)),
      all,
    );
  };
  const vp = { seniority_level: "vp" };
  expect(stray(vp, { job_title_levels: ["manager", "vp"] })).toBeUndefined();
  expect(stray(vp, {})).toBeUndefined();
  expect(stray({ country: "France" }, { location_country: "france" })).toBeUndefined();
  expect(stray({ department: "Legal" }, { job_title_role: "legal" })).toBeUndefined();
  const others = [{ location_country: "france" }, { location_country: "spain" }];
  expect(stray({ country: ["France", "Italy"] }, ...others)).toEqual({
    field: "country",
    row: 2,
    came: "spain",
  });
});
