import { join } from "node:path";
import {
  FILTER_COLUMNS,
  NORMAL_COLUMNS,
  NUMBER_COLUMNS,
} from "../../shared/contract/conditions.ts";
import { slugOf } from "../../shared/contract/naming/slug.ts";
import { normalForm } from "../../shared/contract/normalise.ts";
import {
  COMPANY_FIELDS,
  type Company,
  PERSON_FIELDS,
  type Person,
} from "../../shared/contract/records.ts";
import { isPlaced, type KeyIndex, ROW_INDEXES, type RowIndex, SORT_KEYS } from "../columns.ts";
import {
  type ColumnValues,
  ColumnWriter,
  codesFor,
  valueLines,
} from "../embedded/column-writer.ts";
import { RecordWriter } from "../embedded/record-writer.ts";
import { packer } from "../embedded/records.ts";
import { FILES } from "../layout.ts";
import { SAMPLES } from "./write-records.ts";

/*
 * What build.ts writes, of people who fit into memory and without DuckDB.
 * Only for generated ones: each company has a name of its own and people name
 * it as it names itself, so that nothing has to be looked for or completed.
 */

interface Coding {
  readonly values: ColumnValues;
  /** By a value's number: its place in rising order, after the last for none. */
  readonly codes: readonly number[];
}

class Column {
  readonly #numbers = new Map<unknown, number>();
  readonly people: number[] = [];

  add(value: unknown): void {
    const number = this.#numbers.get(value);
    this.people.push(number ?? this.#numbers.size);
    if (number === undefined) this.#numbers.set(value, this.#numbers.size);
  }

  coding(name: string): Coding {
    const forms = [...this.#numbers.keys()].map((value) =>
      NORMAL_COLUMNS.includes(name)
        ? formOf(value as string | null)
        : ((value ?? "") as string | number),
    );
    const rising = [...new Set(forms)].filter((form) => form !== "");
    rising.sort((a, b) => (a < b ? -1 : 1));
    const places = new Map(rising.map((form, place) => [form, place]));
    const codes = forms.map((form) => places.get(form) ?? rising.length);
    return { values: valueLines(rising, NUMBER_COLUMNS.includes(name)), codes };
  }
}

const formOf = (text: string | null): string => normalForm(text ?? "");

/**
 * Slug first, as {@link KeyIndex} `address` has it. A
 * generated one is in canonical form but for large letters.
 */
function addressKey(text: string | null): string | undefined {
  if (text === null) return undefined;
  const address = formOf(text);
  const slug = slugOf(address);
  // One text in memory: one of parts is slow to compare.
  return [slug, address.slice(0, address.length - slug.length)].join("/");
}

const COMPANY_KEYS: Readonly<
  Record<Exclude<KeyIndex, RowIndex>, (company: Company) => string | undefined>
> = {
  company_id: ({ id }) => id,
  company_domain: ({ domain }) => domain ?? undefined,
  company_name: ({ name }) => formOf(name),
  company_address: ({ company_network_url }) => addressKey(company_network_url),
};

/** @returns the key of a person's company: its address, or its position where it has none */
function employersAmong(companies: readonly Company[]): (person: Person) => string | undefined {
  const keys = new Map<string | null, string>();
  for (const [position, { company_network_url, domain, name }] of companies.entries()) {
    const key = addressKey(company_network_url) ?? `/${position}`;
    for (const own of [company_network_url, domain, name]) keys.set(own, key);
  }
  keys.delete(null);
  return ({ company_domain, company_name, company_network_url }) =>
    keys.get(company_network_url ?? company_domain ?? company_name);
}

/** As they are made, without the objects: these would be ten times as large. */
class SmallPeople {
  readonly ids: string[] = [];
  readonly records: Buffer[] = [];
  readonly keys: Readonly<Record<RowIndex, (string | undefined)[]>> = {
    name: [],
    headline: [],
    address: [],
    employer: [],
  };
  readonly #columns = new Map(
    [...SORT_KEYS, ...FILTER_COLUMNS]
      .filter((name) => !isPlaced(name))
      .map((name) => [name, new Column()]),
  );

  constructor(people: Iterable<Person>, companies: readonly Company[]) {
    const record = packer(PERSON_FIELDS);
    const employerOf = employersAmong(companies);
    for (const person of people) {
      this.ids.push(person.id);
      this.records.push(Buffer.from(`${record(person)}\n`));
      for (const [name, column] of this.#columns) column.add(person[name as keyof Person]);
      this.keys.name.push(formOf(person.name));
      this.keys.headline.push(formOf(person.headline));
      this.keys.address.push(addressKey(person.network_url));
      this.keys.employer.push(employerOf(person));
    }
  }

  /** @returns everybody's place among those who are made, in public order */
  async writeColumns(columns: ColumnWriter): Promise<Uint32Array> {
    const codings = [...this.#columns].map(([name, column]) => ({
      name,
      people: column.people,
      ...column.coding(name),
    }));
    const ranks = new Float64Array(this.ids.length);

    for (const { codes, people, values } of codings.slice(0, SORT_KEYS.length)) {
      for (const [place, number] of people.entries()) {
        ranks[place] = (ranks[place] ?? 0) * (values.size + 1) + (codes[number] ?? 0);
      }
    }

    const idOf = (place: number): string => this.ids[place] ?? "";
    const order = Uint32Array.from(this.ids.keys());
    order.sort((a, b) => (ranks[a] ?? 0) - (ranks[b] ?? 0) || (idOf(a) < idOf(b) ? -1 : 1));

    for (const { codes, name, people, values } of codings) {
      const own = codesFor(values.size, order.length);
      for (const [position, place] of order.entries())
        own[position] = codes[people[place] ?? 0] ?? 0;
      await columns.add(name, values, own);
    }

    return order;
  }
}

const samplesOf = <Row>(rows: readonly Row[]): Row[] =>
  rows.filter((_, place) => place % Math.max(1, Math.floor(rows.length / SAMPLES)) === 0);
const withoutEnd = (line: Buffer): string => line.toString("utf8", 0, line.length - 1);

/** @returns how many people there are */
export async function writeSmall(
  draft: string,
  all: Iterable<Person>,
  theirs: readonly Company[],
): Promise<number> {
  const companies = theirs.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const people = new SmallPeople(all, companies);
  const writer = await RecordWriter.create(draft, 1);
  const columns = await ColumnWriter.create(join(draft, FILES.columns), people.ids.length);

  try {
    const company = packer(COMPANY_FIELDS);
    const documents = companies.map((each) => Buffer.from(`${company(each)}\n`));
    writer.packAgainst("companies", samplesOf(documents).map(withoutEnd));
    await writer.addRecords("companies", Buffer.concat(documents), true);
    const order = await people.writeColumns(columns);

    writer.packAgainst("people", samplesOf(people.records).map(withoutEnd));

    const records = Buffer.concat(
      Array.from(order, (place) => people.records[place] ?? Buffer.alloc(0)),
    );
    writer.packAgainst("headline", samplesOf(people.keys.headline.map((key) => key ?? "")));

    const writeKeys = async (): Promise<void> => {
      for (const index of ROW_INDEXES) {
        const keys = people.keys[index];
        const { rids } = await writer.addKeys(
          index,
          keyLines(Array.from(order, (place) => keys[place])),
          true,
        );
        if (isPlaced(index)) await columns.addOrder(index, Uint32Array.from(rids));
      }

      for (const [index, keyOf] of Object.entries(COMPANY_KEYS)) {
        await writer.addKeys(index as KeyIndex, keyLines(companies.map(keyOf)), true);
      }
    };

    // A thread packs the records while keys are sorted in this one.
    await Promise.all([writer.addRecords("people", records, true), writeKeys()]);
    await columns.finish();
    await writer.finish();

    return people.ids.length;
  } catch (error) {
    await columns.abandon();
    await writer.abandon();
    throw error;
  }
}

/**
 * Sorted by key and position. Generated texts have no characters that code units sort otherwise.
 */
function keyLines(keys: readonly (string | undefined)[]): Buffer {
  const positions = new Map<string, number[]>();
  for (const [position, key = ""] of keys.entries()) {
    const same = positions.get(key);
    if (same) same.push(position);
    else positions.set(key, [position]);
  }

  positions.delete("");

  // Without a function that compares: in a fifth of the time.
  const lines = [...positions.keys()].sort().flatMap((key) => {
    const end = ` ${Buffer.byteLength(key)} ${key}\n`;
    return (positions.get(key) ?? []).map((position) => position + end);
  });
  return Buffer.from(lines.join(""));
}
