import { readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import {
  type ImportInput,
  type ImportReport,
  importDataset,
} from "../../src/dataset/build/import.ts";
import type { ClickHouseServers } from "../../src/dataset/clickhouse/connect.ts";
import { loadIntoClickHouse } from "../../src/dataset/clickhouse/load/import.ts";
import { openDataset } from "../../src/dataset/embedded/open.ts";
import { RecordStore } from "../../src/dataset/embedded/record-store.ts";
import type { Engine } from "../../src/dataset/engine.ts";
import { currentVersion } from "../../src/dataset/layout.ts";
import { canonicalAddress } from "../../src/shared/contract/naming/address.ts";
import { normalForm } from "../../src/shared/contract/normalise.ts";
import {
  COMPANY_FIELDS,
  type Company,
  PERSON_FIELDS,
  type Person,
} from "../../src/shared/contract/records.ts";
import { SMALL, sleep, smallDataset, smallDatasetFolder, tempFolder } from "./dataset.ts";
import { hostilePeople } from "./exactness.ts";

export interface LoadFiles {
  readonly input: ImportInput;
  /** What the embedded engine's import makes of the same files. */
  readonly embedded: Engine;
  readonly report: ImportReport;
  /** What it wrote into the reject file. */
  readonly rejects: string;
  readonly everyone: readonly Person[];
}

const cell = (value: unknown): string => {
  if (value === null) return "";
  const text = Array.isArray(value) ? JSON.stringify(value) : String(value);
  return /[",\n\r]/.test(text) || text.trim() !== text ? `"${text.replaceAll('"', '""')}"` : text;
};

const csv = (fields: readonly string[], rows: readonly object[]): string =>
  [
    fields,
    ...rows.map((row) => fields.map((field) => (row as Record<string, unknown>)[field] ?? null)),
  ]
    .map((row) => row.map(cell).join(","))
    .join("\n");

const ndjson = (rows: readonly object[]): string =>
  rows.map((row) => `${JSON.stringify(row)}\n`).join("");

/** Rows that are refused, or lose values: within a file and across files. */
const odd = (people: readonly Person[]): object[] => [
  { ...people[3], id: people[70]?.id, name: "Second of her id" },
  { ...people[4], id: people[70]?.id, name: "Third of her id" },
  { id: null, title: "Nobody" },
  { id: "odd-1", name: "Tab\tand\\backslash\nand line", department: "Navy", connections: "500+" },
  { id: "odd-2", name: "No department", company_domain: "WWW.Only-Here.example/", followers: 1.5 },
  { id: "odd-3", name: { first: "nested" } },
  { id: "odd-4", network_url: "ftp://nowhere", headline: "x".repeat(100_001) },
  { id: "odd-5", name: "Bare", company_network_url: "acme", updated_at: "yesterday" },
  { id: "odd-6", name: "Whole", company_network_url: "elsewhere.example/c/bare-1" },
  // Forms of which nothing is left, texts that JSON writes with escapes, letters of which databases make other lower ones.
  {
    id: "odd-8",
    name: "\u00a0\u3000",
    headline: "\ufeff",
    company_name: "\u2003",
    city: "\u00a0x\u2003 y",
  },
  {
    id: "odd-9",
    name: 'Say "hi"\u0001',
    title: "\u212aelvin İSTANBUL Straße",
    headline: "ΑΣ ß ς \u0345",
    city: "a:",
  },
  {
    id: "odd-10",
    name: "Blank",
    country: "Nowhere",
    state: "\u2003",
    city: "\u3000\u00a0",
    location: "\ufeff",
    title: "\u00a0",
  },
  // Plain letters whose form is more than their lower case.
  {
    id: "odd-11",
    name: "Two  Spaces",
    title: "A\u007fB",
    headline: "DELETED \u007f",
    city: "UPPER  Case",
    state: "C  D",
  },
  { id: "odd-7", company_name: "Only Named Ltd", name: "Ｆｕｌｌ Ｎａｍｅ" },
];

/** Files of generated and hostile people, of every format, and what the embedded engine makes of them. */
export async function loadFiles(
  people: number,
  seed: number,
  withCompanies: boolean,
): Promise<LoadFiles> {
  const folder = await tempFolder("headcount-load-");
  const generated = await smallDataset(people, seed);
  const page = await generated.people(
    { exact: {}, prefix: {}, range: {} },
    { offset: 0, limit: people },
  );
  await generated.close();
  const made = page.records.map((record) => JSON.parse(record.toString()) as Person);
  const hostile = hostilePeople(people / 5, seed).map((person) => ({
    ...person,
    id: `h${person.id}`,
  }));
  const half = Math.floor(people / 2);
  const files = {
    "a.csv": csv(PERSON_FIELDS, made.slice(0, half)),
    "b.ndjson": ndjson([...made.slice(half), ...odd(made)]),
    "c.ndjson": ndjson([...hostile, ...made.slice(10, 14), { broken: true }]).concat("{not json\n"),
  };
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  const { folder: version } = await currentVersion(await smallDatasetFolder(people, seed));
  const store = await RecordStore.open(version);
  const companies: Company[] = [];
  for await (const record of store.all("companies")) companies.push(JSON.parse(record) as Company);
  await store.close();
  const known = [
    ...companies,
    { ...companies[5], id: companies[6]?.id },
    { id: "bare", name: "Bare 1", company_network_url: "bare-1" },
    { id: "same-1", name: "Same Name" },
    { id: "same-2", name: "same  NAME", domain: "only-here.example" },
  ];
  await writeFile(join(folder, "companies.csv"), csv(COMPANY_FIELDS, known));
  const input: ImportInput = {
    ...{
      people: Object.keys(files),
      companies: withCompanies ? ["companies.csv"] : [],
      cwd: folder,
    },
    rejects: join(folder, "rejects.ndjson"),
  };
  const datasetDir = join(folder, "embedded");
  await mkdir(datasetDir);
  const report = await importDataset(input, { datasetDir, now: () => 1, sleep, resources: SMALL });
  const embedded = await openDataset(datasetDir);
  const all = { offset: 0, limit: embedded.info().people };
  const { records } = await embedded.people({ exact: {}, prefix: {}, range: {} }, all);
  const rejects = readFileSync(input.rejects, "utf8");
  return {
    input,
    embedded,
    report,
    rejects,
    everyone: records.map((record) => JSON.parse(record.toString()) as Person),
  };
}

const EVERYBODY = { exact: {}, prefix: {}, range: {} };

/** A report without what differs from one import to the next. */
export const plain = ({ version: _, ...report }: ImportReport): object => report;

/** Loads files into open servers as `service import` does, in pieces of a hundred rows. */
export async function loadFilesInto(
  servers: ClickHouseServers,
  { input }: Pick<LoadFiles, "input">,
  more: object = {},
): Promise<ImportReport> {
  const datasetDir = await tempFolder("headcount-loading-");
  const options = { datasetDir, now: Date.now, sleep, resources: SMALL, pieceRows: 100 };
  return loadIntoClickHouse(servers, "test", input, { ...options, ...more });
}

/** Everything that an engine holds is what the embedded engine holds: all people in their order, every company with its people. */
export async function sameWhole(engine: Engine, { embedded, everyone }: LoadFiles): Promise<void> {
  const { people, companies } = embedded.info();
  expect(engine.info()).toMatchObject({ people, companies });
  const slice = { offset: 0, limit: people };
  const [found, wanted] = [
    await engine.people(EVERYBODY, slice),
    await embedded.people(EVERYBODY, slice),
  ];
  for (const [index, record] of wanted.records.entries())
    expect(String(found.records[index]), `row ${index}`).toBe(String(record));
  for (const person of everyone.filter(({ id }) => id.startsWith("odd-"))) {
    for (const key of ["name", "title", "city", "state"] as const) {
      const form = normalForm(person[key] ?? "");
      if (form === "") continue;
      const filters = { ...EVERYBODY, exact: { [key]: [form] } };
      expect(await engine.count(filters), `${key} ${form.slice(0, 100)}`).toBe(
        await embedded.count(filters),
      );
    }
  }
  expect(found.total).toBe(wanted.total);
  const lookups = everyone
    .filter((_, index) => index % 61 === 0)
    .flatMap(({ company_domain, company_name, company_network_url }) => [
      { by: "domain", value: company_domain ?? "" } as const,
      { by: "name", value: normalForm(company_name ?? "") } as const,
      {
        by: "company_network_url",
        value: canonicalAddress(company_network_url ?? "") ?? "",
      } as const,
    ]);
  for (const lookup of new Map(lookups.map((one) => [JSON.stringify(one), one])).values()) {
    const company = await embedded.company(lookup);
    expect((await engine.company(lookup))?.record, JSON.stringify(lookup)).toEqual(company?.record);
    if (company === undefined) continue;
    const few = { offset: 0, limit: 20 };
    expect(await engine.employees(company.id, few)).toEqual(
      await embedded.employees(company.id, few),
    );
  }
  const nobody = { records: [], total: 0 };
  expect(await engine.employees("no such id", { offset: 0, limit: 5 })).toEqual(nobody);
  expect(await engine.company({ by: "name", value: "no such company" })).toBeUndefined();
  expect(await engine.verify()).toEqual([]);
}
