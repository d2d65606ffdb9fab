import fc from "fast-check";
import { expect, test } from "vitest";
import { shippedVendor } from "../../../../src/app/vendors.ts";
import { Records, strayIn } from "../../../../src/engine/dialect/rows.ts";
import { listApart } from "../../../../src/engine/dialect/verbatim.ts";
import { PERSON_FIELDS } from "../../../../src/shared/contract/records.ts";
import { present } from "../../../../src/shared/contract/text.ts";
import type { Filters } from "../../../../src/shared/contract/vocabulary.ts";
import type { DialectFile } from "../../../../src/shared/dialect/shape.ts";
import { Page } from "../../../../src/shared/rows/page.ts";
import type { JsonRecord } from "../../../../src/shared/rows/values.ts";
import { long } from "../../../support/long.ts";

const { file } = await shippedVendor("pdl");

const read = (...items: readonly JsonRecord[]) =>
  new Records(file, { body: Buffer.alloc(0), items });

const rowOf = (records: Records, index: number) =>
  present(Object.fromEntries(PERSON_FIELDS.map((field) => [field, records.value(index, field)])));

/** The same records where they stand in a reply, and read from it. */
function bothWays(texts: readonly string[]) {
  const body = Buffer.from(`{"data":[${texts.join(",")}],"total":3}`);
  const listed = listApart(body, "data");
  if (listed === undefined) throw new Error("no records");
  return {
    stood: new Records(file, { body, ...listed }),
    read: new Records(file, { body, ...listed, cells: undefined }),
  };
}

test("a row has the fields that its file finds, in our words", () => {
  const text =
    '{"id":1234567890123456789,"full_name":"ada","job_title_levels":["cxo","vp"],"job_title_role":"health",' +
    '"location_country":"france","location_locality":true,"job_company_name":null,"job_title_sub_role":""}';
  const { read, stood } = bothWays([text]);
  expect(rowOf(stood, 0)).toEqual(rowOf(read, 0));
  expect(rowOf(stood, 0)).toMatchObject({
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
  expect(read({ id: "1", job_title_role: "unemployed" }).value(0, "department")).toBe("unemployed");
});

test("a row is held against what was asked for; of a list any will do, and what is not told proves nothing", () => {
  const stray = (filters: Filters, ...items: readonly JsonRecord[]) => {
    return strayIn(file, filters, read(...items.map((item) => ({ id: "1", ...item }))));
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

const around = { head: '{"result":[', tail: "]}" };

test("rows have the contract's fields, and the vendor's own row byte by byte", () => {
  const own = '{"id" : 12345678901234567890, "full_name":"\\u00e9","skills":1.50}';
  const { stood } = bothWays([own, '{"id":2,"full_name":"","skills":[]}']);
  const text = stood.written(around).toString();
  expect(text).toContain(`"vendor":${own}}`);
  expect(text).toContain('{"id":"12345678901234567890",');
  expect(Page.read(Buffer.from(text), "person").row(0)).toMatchObject({ name: "é" });
  expect(read().written(around).toString()).toBe('{"result":[]}');
});

const value = fc.constantFrom(
  ...[
    '"ada"',
    '""',
    '"\\u00e9\\n"',
    "null",
    "true",
    "0",
    "-0",
    "1.50",
    "1e3",
    "12345678901234567890",
  ],
  ...['["cxo",null,"vp",{"a":1}]', "[]", "[[1]]", "{}", '{"x":"y"}', '{"x":{"y":1}}'],
);
const member = fc.tuple(
  fc.constantFrom("id", "full_name", "job_title_levels", "job_title_role", "a", "b", "a.x"),
  value,
);

/** Places that lead into records, lists and nothing, and a choice of them. */
const PLACES = ["a.x", "a.x|b", "b.x.y|full_name", "a", "b[0]", "b[x=y].x", "a.x[1]", "a.none|b.x"];
const odd: DialectFile = {
  ...file,
  record: {
    ...file.record,
    ...Object.fromEntries(
      [
        "headline",
        "industry",
        "city",
        "state",
        "location",
        "first_name",
        "last_name",
        "company_name",
      ].map((field, at) => [field, PLACES[at] ?? ""]),
    ),
    connections: "b.x",
  },
};

long("a record is read where it stands as it is by JSON.parse", () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(member, { selector: ([key]) => key, minLength: 1 }),
      fc.array(fc.array(value, { minLength: 7, maxLength: 7 }), { minLength: 1, maxLength: 4 }),
      fc.boolean(),
      (first, others, isLess) => {
        const texts = [first.map(([, text]) => text), ...others].map((values, row) => {
          const members = first.map(([key], at) => `"${key}":${values[at]}`);
          return `{${members.slice(isLess && row > 0 ? 1 : 0).join(",")}}`;
        });
        const body = Buffer.from(`[${texts.join(" , ")}]`);
        const listed = listApart(body, "");
        if (listed === undefined) throw new Error("no records");
        const stood = new Records(odd, { body, ...listed });
        const read = new Records(odd, { body, ...listed, cells: undefined });
        const rows = texts.map((_, index) => rowOf(read, index));
        expect(texts.map((_, index) => rowOf(stood, index))).toEqual(rows);
        const written = Page.read(stood.written(around), "person").rows();
        expect(written).toEqual(Page.read(read.written(around), "person").rows());
        expect(written).toMatchObject(rows.map((row) => ({ ...row })));
      },
    ),
    { numRuns: 3_000 },
  );
});
