import { FILTER_COLUMNS, NORMAL_COLUMNS } from "../../shared/contract/conditions.ts";
import { canonicalAddress } from "../../shared/contract/naming/address.ts";
import { slugOf } from "../../shared/contract/naming/slug.ts";
import { normalForm } from "../../shared/contract/normalise.ts";
import { ADDRESS_INDEXES, isPlaced, PLACED_COLUMNS, SORT_KEYS } from "../columns.ts";
import type { ColumnFile, StoredColumn } from "../embedded/column-file.ts";
import type { Dictionary } from "../embedded/dictionary.ts";
import { addressKeys } from "../embedded/keys.ts";
import type { RecordStore } from "../embedded/record-store.ts";
import { type CodedColumn, type Codes, edgesOf, PEOPLE_A_CHUNK } from "../embedded/scan.ts";
import type { DatasetMeta } from "../layout.ts";

const SAMPLE = 1_000;

/** Sizes, order, columns, indexes, and records by sample. @returns a sentence for each breach */
export async function verifyFiles(
  columns: ColumnFile,
  store: RecordStore,
  meta: DatasetMeta,
): Promise<string[]> {
  const breaches: string[] = [];
  const expect = (what: string, count: number, wanted: number): void => {
    if (count !== wanted) breaches.push(`${what}: ${count}, expected ${wanted}`);
  };

  const people = store.rows("people");
  expect("people in the row store", people, meta.people);
  expect("companies in the row store", store.rows("companies"), meta.companies);

  const damaged: string[] = [];
  for (const file of [store, columns])
    for await (const found of file.damage()) if (found !== undefined) damaged.push(found);
  breaches.push(...damaged);
  // What is damaged is told already, and cannot be read over.
  if (damaged.length > 0) return breaches;

  breaches.push(...(await wrongColumns(columns, store, meta.people)));
  if (people !== meta.people) return breaches;

  for (const index of ADDRESS_INDEXES) {
    const twice = `entries of ${index} for people that it has twice or that there are not`;
    expect(twice, await store.astray(index, meta.people), 0);
  }

  expect(
    `of ${SAMPLE} records those unlike their columns`,
    await unlike(columns, store, meta.people),
    0,
  );

  return breaches;
}

async function wrongColumns(
  columns: ColumnFile,
  store: RecordStore,
  people: number,
): Promise<string[]> {
  const wrong: string[] = [];
  for (const name of columns.names) {
    const breaches = await wrongIn(await columns.column(name), people);
    wrong.push(...breaches.map((breach) => `${name}: ${breach}`));
  }

  const unordered = await outOfOrder(columns, people);
  if (unordered > 0) wrong.push(`people out of order: ${unordered}, expected 0`);

  for (const name of PLACED_COLUMNS) {
    const order = await columns.coded(name);
    const entries = store.rows(name);
    if (order.of.size !== entries)
      wrong.push(`people in the order of ${name}: ${order.of.size}, expected ${entries}`);
    if (!(await countsOf(order))?.subarray(0, order.of.size).every((count) => count === 1))
      wrong.push(`${name}: the places of people are no order of them`);
  }

  return wrong;
}

async function wrongIn(
  { before, coded, dictionary }: StoredColumn,
  people: number,
): Promise<string[]> {
  const { size } = coded.of;
  const wrong: string[] = [];
  if (!isRising(dictionary) || dictionary.size !== size) wrong.push("values are out of order");

  const counted = await countsOf(coded);
  if (!counted) return [...wrong, "codes of people are not what is known of them"];

  const other = counted.findIndex((n, code) => n !== (before[code + 1] ?? 0) - (before[code] ?? 0));
  if (other >= 0 || before[size + 1] !== people)
    wrong.push("numbers of people are not those of the codes");
  return wrong;
}

const codesOf = async (column: CodedColumn, chunk: number): Promise<Codes> =>
  (await column.own(chunk)).codes;

/** How many have each code; undefined where the edges of a chunk are not those of its codes. */
async function countsOf(column: CodedColumn): Promise<Uint32Array | undefined> {
  const { least, most, people, size } = column.of;
  const counted = new Uint32Array(size + 1);
  for (let chunk = 0; chunk * PEOPLE_A_CHUNK < people; chunk++) {
    const codes = await codesOf(column, chunk);
    const [low, high] = edgesOf(codes);
    if (least[chunk] !== low || most[chunk] !== high || high > size) return undefined;
    for (const code of codes) counted[code] = (counted[code] ?? 0) + 1;
  }
  return counted;
}

function isRising(dictionary: Dictionary): boolean {
  let before: string | number | undefined;
  for (let code = 0; code < dictionary.size; code++) {
    const value = dictionary.value(code);
    if (typeof value === "string" && typeof before === "string") {
      if (Buffer.compare(Buffer.from(before), Buffer.from(value)) >= 0) return false;
    } else if (before !== undefined && value <= before) return false;
    before = value;
  }
  return true;
}

async function outOfOrder(columns: ColumnFile, people: number): Promise<number> {
  const keys = await Promise.all(SORT_KEYS.map((key) => columns.column(key)));
  let unordered = 0;
  let last: readonly number[] = [];
  for (let chunk = 0; chunk * PEOPLE_A_CHUNK < people; chunk++) {
    const codes: Codes[] = [];
    for (const { coded } of keys) codes.push(await codesOf(coded, chunk));

    for (let place = 0; place < (codes[0]?.length ?? 0); place++) {
      const before = (key: number): number =>
        (place === 0 ? last[key] : codes[key]?.[place - 1]) ?? 0;
      const key = codes.findIndex((own, at) => own[place] !== before(at));
      if ((codes[key]?.[place] ?? 0) < before(key)) unordered++;
    }

    last = codes.map((own) => own.at(-1) ?? 0);
  }
  return unordered;
}

async function unlike(columns: ColumnFile, store: RecordStore, people: number): Promise<number> {
  const step = Math.max(1, Math.floor(people / SAMPLE));
  const rids = Uint32Array.from(
    { length: Math.min(SAMPLE, Math.ceil(people / step)) },
    (_, index) => index * step,
  );
  const records = (await store.people(rids)).map(
    (record) => JSON.parse(String(record)) as Readonly<Record<string, string | number | null>>,
  );

  const wrong = new Set<number>();
  for (const column of FILTER_COLUMNS) {
    const coded = await columns.coded(column);
    const spanOf = isPlaced(column)
      ? async (value: string | number) => (await store.spans(column, [String(value)]))[0]
      : (await columns.column(column)).dictionary.span;

    for (const [index, rid] of rids.entries()) {
      const codes = await codesOf(coded, Math.floor(rid / PEOPLE_A_CHUNK));
      const code = codes[rid % PEOPLE_A_CHUNK] ?? 0;
      const value = formOf(column, records[index]?.[column]);
      const none = [coded.of.size, Number.POSITIVE_INFINITY] as const;
      const [from, before] = (value === null ? none : await spanOf(value)) ?? [0, 0];
      if (code < from || code >= before) wrong.add(rid);
    }
  }

  for (const [index, field] of [
    ["address", "network_url"] as const,
    ["employer", "company_network_url"] as const,
  ]) {
    const addresses = records.map(({ [field]: url }) =>
      typeof url === "string" ? canonicalAddress(url) : undefined,
    );

    for (const address of new Set(addresses)) {
      if (address === undefined) continue;

      const matches = new Set<number>();
      for await (const piece of store.find(
        index,
        addressKeys([{ slug: slugOf(address), address }]),
      )) {
        for (const rid of piece) matches.add(rid);
      }

      for (const [at, rid] of rids.entries())
        if (addresses[at] === address && !matches.has(rid)) wrong.add(rid);
    }
  }

  return wrong.size;
}

const formOf = (column: string, own: string | number | null = null): string | number | null =>
  NORMAL_COLUMNS.includes(column) ? normalForm(String(own ?? "")) || null : own;
