import { execFileSync } from "node:child_process";
import { join, resolve } from "node:path";
import { execPath } from "node:process";
import { DuckDBInstance } from "@duckdb/node-api";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openDataset } from "../../src/dataset/embedded/open.ts";
import type { Engine } from "../../src/dataset/engine.ts";
import { canonicalJson } from "../../src/shared/contract/filters.ts";
import { canonicalAddress } from "../../src/shared/contract/naming/address.ts";
import { normalForm } from "../../src/shared/contract/normalise.ts";
import type { Person } from "../../src/shared/contract/records.ts";
import { DEPARTMENTS } from "../../src/shared/contract/vocabulary.ts";
import { asTyped } from "../support/as-typed.ts";
import { cases, LONG } from "../support/campaign.ts";
import { tempFolder } from "../support/dataset.ts";
import { matches, publicOrder, randomFilters, seededRandom } from "../support/exactness.ts";
import { naiveFacet, randomFacet } from "../support/facets.ts";

// The bench's dirty people, and those of whom no two have a text alike, in small: what an import
// with little heap makes of each value, and what the engine then finds. Of the program only the
// normal form of texts and addresses and the names of the 20 departments are used to say what is
// expected.

const [BIN, STRANGERS] = ["bin/headcount.js", "bench/strangers.mjs"].map((path) =>
  resolve(import.meta.dirname, "../..", path),
) as [string, string];
const PEOPLE = LONG ? 20_000 : 4_000;
const SEED = Number(process.env.HEADCOUNT_SEED ?? 11);
const TIMEOUT_MS = 1_200_000;

type Report = Readonly<{ cleared: Readonly<Record<string, Readonly<{ values: number }>>> }>;
type Raw = Readonly<Record<string, string | number | null>>;

const trimmed = (value: string | number | null | undefined): string | null =>
  String(value ?? "").replace(/^[ \t\r\n]+|[ \t\r\n]+$/g, "") || null;

function wholeNumber(value: string | number | null | undefined): number | null {
  const text = trimmed(value) ?? "";
  const isWhole = /^\d+(\.0)?$|^\d{1,3}( \d{3})+$/.test(text);
  return isWhole ? Number(text.replaceAll(" ", "")) : null;
}

function time(value: string | number | null | undefined): string | null {
  const text = trimmed(value) ?? "";
  const at = /^\d+$/.test(text) ? new Date(1_000 * Number(text)) : new Date(text);
  return Number.isNaN(at.getTime()) ? null : at.toISOString().replace(".000Z", "Z");
}

function domain(value: string | number | null | undefined): string | null {
  const text = trimmed(value) ?? "";
  return /^[^ ]+\.[^ ]+$/.test(text) ? text : null;
}

/**
 * A row as docs/operate/import.md says it is taken. What it lacks of its employer may be completed
 * from others.
 */
function taken(row: Raw, record: Person): Person {
  const text = (field: string): string | null => trimmed(row[field]);
  const [city, state, country] = ["city", "state", "country"].map(text);
  const department = DEPARTMENTS.find(
    (name) => normalForm(name) === normalForm(text("department") ?? ""),
  );
  const address = text("network_url");
  const company_domain = domain(row.company_domain) ?? record.company_domain;
  const company_name = text("company_name") ?? record.company_name;
  const company_network_url = text("company_network_url") ?? record.company_network_url;
  return {
    ...{
      id: text("id") ?? "",
      network_url: address !== null && canonicalAddress(address) ? address : null,
    },
    ...{ name: text("name") ?? `${row.first_name} ${row.last_name}`, headline: text("headline") },
    ...{ first_name: text("first_name"), last_name: text("last_name") },
    ...{
      title: text("title"),
      seniority: text("seniority"),
      seniority_level: text("seniority_level"),
    },
    ...{
      functional_area: text("functional_area"),
      department: department ?? "Other",
      industry: text("industry"),
    },
    ...{
      country,
      state,
      city,
      connections: wholeNumber(row.connections),
      followers: wholeNumber(row.followers),
    },
    location:
      text("location") ??
      ([city, state, country].filter((part) => part !== null).join(", ") || null),
    ...{ company_domain, company_name, company_network_url, updated_at: time(row.updated_at) },
  } as Person;
}

const NOTHING = new Set([null, "n/a", "-"]);

/**
 * How many values there are of each field that cannot be used, and how many departments that are
 * none of the 20.
 */
function lost(rows: Iterable<Raw>): { cleared: Record<string, number>; departments: object } {
  const count = { updated_at: 0, company_domain: 0, connections: 0, followers: 0 };
  const usable = {
    updated_at: time,
    company_domain: domain,
    connections: wholeNumber,
    followers: wholeNumber,
  };
  const departments = { unknown: 0, missing: 0 };
  for (const row of rows) {
    for (const field of Object.keys(count) as (keyof typeof count)[])
      if (!NOTHING.has(trimmed(row[field])) && usable[field](row[field]) === null) count[field]++;
    const department = trimmed(row.department);
    if (department === null) departments.missing++;
    else if (!DEPARTMENTS.some((name) => normalForm(name) === normalForm(department)))
      departments.unknown++;
  }
  const some = Object.entries(count).filter(([, values]) => values > 0);
  return {
    cleared: Object.fromEntries(some.map(([field, values]) => [`people.${field}`, values])),
    departments,
  };
}

async function rowsOf(file: string): Promise<Map<string, Raw>> {
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  const rows = await connection.runAndReadAll(`SELECT * FROM read_parquet('${file}')`);
  const all = rows.getRowObjectsJson() as Raw[];
  instance.closeSync();
  return new Map(all.map((row) => [String(row.id), row]));
}

async function recordsOf(engine: Engine): Promise<Person[]> {
  const records: Person[] = [];
  for (let offset = 0; offset < PEOPLE; offset += 10_000) {
    const page = await engine.people(
      { exact: {}, prefix: {}, range: {} },
      { offset, limit: 10_000 },
    );
    for (const record of page.records) records.push(JSON.parse(String(record)) as Person);
  }
  return records;
}

describe.each(["dirty", "distinct"] as const)("%s people", { timeout: TIMEOUT_MS }, (kind) => {
  let engine: Engine;
  let rows: Map<string, Raw>;
  let people: readonly Person[];
  let report: Report;

  beforeAll(async () => {
    const folder = await tempFolder();
    const file = join(folder, "people.parquet");
    execFileSync(execPath, [STRANGERS, String(PEOPLE), file, kind]);
    const argv = asTyped`${BIN} service import --people ${file} --data ${join(folder, "data")} --json`;
    const small = { ...process.env, HOME: folder, NODE_OPTIONS: "--max-old-space-size=32" };
    report = JSON.parse(execFileSync(execPath, argv, { encoding: "utf8", env: small })) as Report;
    rows = await rowsOf(file);
    engine = await openDataset(join(folder, "data/dataset"));
    people = await recordsOf(engine);
  }, TIMEOUT_MS);
  afterAll(() => engine?.close());

  test("the report counts every row, and each value that cannot be used", () => {
    const { cleared, departments } = lost(rows.values());
    expect(report).toMatchObject({
      people: { rows: PEOPLE, taken: PEOPLE, refused: 0 },
      departments,
    });
    const told = Object.entries(report.cleared).map(([field, { values }]) => [field, values]);
    expect(Object.fromEntries(told)).toEqual(cleared);
  });

  test("each row is taken as the documentation says, and they are in public order", () => {
    for (const record of people) {
      const expected = taken(rows.get(record.id) ?? {}, record);
      const isSame = Object.entries(expected).every(
        ([field, value]) => record[field as keyof Person] === value,
      );
      if (!isSame) expect(record).toEqual(expected);
    }
    expect(new Set(people.map(({ id }) => id)).size).toBe(PEOPLE);
    expect(people).toEqual(publicOrder(people));
  });

  test("counts, pages and facets of random filters are those of a naive matcher", async () => {
    const random = seededRandom(SEED);
    const sets = kind === "dirty" ? cases(100, 10_000) : cases(30, 3_000);
    let found = 0;
    for (let set = 0; set < sets; set++) {
      const filters = randomFilters(people, random);
      const inside = people.filter((person) => matches(person, filters));
      const what = `seed ${SEED}, set ${set}: ${canonicalJson(filters)}`;
      expect(await engine.count(filters), what).toBe(inside.length);
      if (inside.length > 0) found++;
      // From the first page to the last, or a few of them and the last.
      const limit = 1 + Math.floor(random() * 1_000);
      const last = Math.floor(inside.length / limit) * limit;
      const offsets = new Set([0, limit, 2 * limit, Math.floor(random() * inside.length), last]);
      for (const offset of offsets) {
        const { records, total } = await engine.people(filters, { offset, limit });
        const ids = records.map((record) => (JSON.parse(String(record)) as Person).id);
        expect([total, ids], what).toEqual([
          inside.length,
          inside.slice(offset, offset + limit).map(({ id }) => id),
        ]);
      }
      const question = randomFacet(people, random);
      const facet = await engine.facet(filters, question, TIMEOUT_MS);
      expect(facet, `${what} by ${JSON.stringify(question)}`).toEqual(naiveFacet(inside, question));
    }
    expect(found).toBeGreaterThan(sets / 3);
  });
});
