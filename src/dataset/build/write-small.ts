import { join } from "node:path";
import { FILTER_COLUMNS, NUMBER_COLUMNS } from "../../shared/contract/conditions.ts";
import { canonicalAddress, canonicalDomain, normalForm, slugOf } from "../../shared/contract/normalise.ts";
import { COMPANY_FIELDS, type Company, PERSON_FIELDS, type Person } from "../../shared/contract/records.ts";
import { isPlaced, KEY_INDEXES, type KeyIndex, SORT_KEYS } from "../columns.ts";
import { type ColumnValues, ColumnWriter, codesFor, sizeOf, textLines } from "../embedded/column-writer.ts";
import { RecordWriter } from "../embedded/record-writer.ts";
import { packer } from "../embedded/records.ts";
import { FILES } from "../layout.ts";
import { SAMPLES } from "./write-records.ts";

/*
 * What build.ts writes, of people who fit into memory and without DuckDB. Only for generated ones: each company has
 * a name of its own and people name it as it names itself, so that nothing has to be looked for or completed.
 */

interface Coding {
  readonly values: ColumnValues;
  readonly codes: readonly number[];
}

/** A value's place among all of a column in rising order, after the last for none. */
function codingOf(people: readonly Person[], column: string): Coding {
  const stored = people.map((person) => person[column as keyof Person]);
  const formOf = (value: string | number): string | number =>
    typeof value === "number" || column === "department" ? value : normalForm(value);
  const forms = new Map([...new Set(stored)].map((value) => [value, value === null ? "" : formOf(value)]));
  const values = [...new Set(forms.values())].filter((form) => form !== "");
  const rising = values.sort((a, b) => (a < b ? -1 : 1));
  const places = new Map<string | number | undefined, number>(rising.map((form, place) => [form, place]));
  const isNumber = NUMBER_COLUMNS.includes(column);
  const own = isNumber ? Float64Array.from(rising, Number) : textLines(rising.map(String));
  return { values: own, codes: stored.map((value) => places.get(forms.get(value)) ?? rising.length) };
}

/** Slug first, as {@link KeyIndex} `address` has it. */
function addressKey(text: string | null): string | undefined {
  const address = addressOf(text);
  if (address === undefined) return undefined;
  const slug = slugOf(address);
  return `${slug}/${address.slice(0, address.length - slug.length)}`;
}

const addressOf = (text: string | null): string | undefined => canonicalAddress(text ?? "");
const domainOf = (text: string | null): string | undefined => canonicalDomain(text ?? "");
const linesOf = (lines: readonly string[]): Buffer<ArrayBuffer> =>
  Buffer.from(`${lines.join("\n")}\n`.replace(/^\n$/, ""));

/** @returns the position of each company, by all that people may name it by */
function companiesByName(companies: readonly Company[]): (person: Person) => number | undefined {
  const known = new Map<string | undefined, number>();
  for (const [position, { company_network_url, domain, name }] of companies.entries()) {
    for (const key of [addressOf(company_network_url), domainOf(domain), normalForm(name ?? "")]) {
      if (!known.has(key)) known.set(key, position);
    }
  }
  return ({ company_domain, company_name, company_network_url }) => {
    const name = company_name === null ? undefined : normalForm(company_name);
    const key = addressOf(company_network_url) ?? domainOf(company_domain) ?? name;
    return key === undefined ? undefined : known.get(key);
  };
}

const samplesOf = <Row>(rows: readonly Row[]): Row[] =>
  rows.filter((_, place) => place % Math.max(1, Math.floor(rows.length / SAMPLES)) === 0);

/** @param everybody and their companies, in the order in which they were made */
export async function writeSmall(
  draft: string,
  everybody: readonly Person[],
  companies: readonly Company[],
): Promise<void> {
  const writer = new RecordWriter(draft, 1);
  const columns = await ColumnWriter.create(join(draft, FILES.columns), everybody.length);
  try {
    const ranks = new Float64Array(everybody.length);
    for (const column of SORT_KEYS) {
      const { codes, values } = codingOf(everybody, column);
      for (const [place, code] of codes.entries()) ranks[place] = (ranks[place] ?? 0) * (sizeOf(values) + 1) + code;
    }
    const order = [...everybody.keys()].sort(
      (a, b) => (ranks[a] ?? 0) - (ranks[b] ?? 0) || ((everybody[a]?.id ?? "") < (everybody[b]?.id ?? "") ? -1 : 1),
    );
    const people = order.map((place) => everybody[place] as Person);
    const others = FILTER_COLUMNS.filter((column) => !isPlaced(column) && !SORT_KEYS.some((key) => key === column));
    for (const column of [...SORT_KEYS, ...others]) {
      const { codes, values } = codingOf(people, column);
      const own = codesFor(sizeOf(values), people.length);
      own.set(codes);
      await columns.add(column, values, own);
    }
    await writeTables(writer, columns, { everybody, people, companies });
    await columns.finish();
    await writer.finish();
  } catch (error) {
    await columns.abandon();
    await writer.abandon();
    throw error;
  }
}

interface Tables {
  readonly everybody: readonly Person[];
  readonly people: readonly Person[];
  readonly companies: readonly Company[];
}

async function writeTables(
  writer: RecordWriter,
  columns: ColumnWriter,
  { companies: made, everybody, people }: Tables,
): Promise<void> {
  const companies = made.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const [packedPerson, packedCompany] = [packer(PERSON_FIELDS), packer(COMPANY_FIELDS)];
  const documents = companies.map(packedCompany);
  writer.packAgainst("companies", samplesOf(documents));
  await writer.addRecords("companies", linesOf(documents), true);
  writer.packAgainst("people", samplesOf(everybody).map(packedPerson));
  await writer.addRecords("people", linesOf(people.map(packedPerson)), true);
  const headlineKey = ({ headline }: Person): string => normalForm(headline ?? "");
  writer.packAgainst("headline", samplesOf(everybody).map(headlineKey));
  const companyOf = companiesByName(companies);
  const employerKey = (person: Person): string | undefined => {
    const company = companyOf(person);
    return addressKey(person.company_network_url) ?? (company === undefined ? undefined : `/${company}`);
  };
  const keys: Readonly<Record<KeyIndex, readonly (string | undefined)[]>> = {
    name: people.map(({ name }) => normalForm(name ?? "")),
    headline: people.map(headlineKey),
    address: people.map(({ network_url }) => addressKey(network_url)),
    employer: people.map(employerKey),
    company_id: companies.map(({ id }) => id),
    company_domain: companies.map(({ domain }) => domainOf(domain)),
    company_name: companies.map(({ name }) => normalForm(name ?? "")),
    company_address: companies.map(({ company_network_url }) => addressKey(company_network_url)),
  };
  for (const index of KEY_INDEXES) {
    const entries: { readonly key: string; readonly position: number }[] = [];
    for (const [position, key] of keys[index].entries()) if (key) entries.push({ key, position });
    // Texts of generated records have no characters of which the order of code units is not that of code points.
    entries.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : a.position - b.position));
    const lines = entries.map(({ key, position }) => `${position} ${Buffer.byteLength(key)} ${key}`);
    const { rids } = await writer.addKeys(index, linesOf(lines), true);
    if (isPlaced(index)) await columns.addOrder(index, Uint32Array.from(rids));
  }
}
