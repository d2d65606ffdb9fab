import { FILTER_COLUMNS } from "../../shared/contract/conditions.ts";
import { canonicalAddress } from "../../shared/contract/naming/address.ts";
import { slugOf } from "../../shared/contract/naming/slug.ts";
import { normalForm } from "../../shared/contract/normalise.ts";
import { ADDRESS_INDEXES, isPlaced, PLACED_COLUMNS, SORT_KEYS } from "../columns.ts";
import type { StoredColumn, StoredColumns } from "../embedded/column-file.ts";
import type { Dictionary } from "../embedded/dictionary.ts";
import { addressKeys } from "../embedded/keys.ts";
import type { RecordStore } from "../embedded/record-store.ts";
import { type CodedColumn, edgesOf, PEOPLE_A_CHUNK } from "../embedded/scan.ts";
import type { DatasetMeta } from "../layout.ts";

const SAMPLE = 1_000;

/** Sizes, order, columns, indexes, and records by sample. @returns a sentence for each breach */
export async function verifyFiles(
  columns: StoredColumns,
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

  for (const [name, column] of columns.byName) {
    for (const wrong of wrongIn(column, meta.people)) breaches.push(`${name}: ${wrong}`);
  }

  expect("people out of order", outOfOrder(columns, meta.people), 0);

  for (const column of PLACED_COLUMNS) {
    const order = columns.placed[column];
    expect(`people in the order of ${column}`, order.size, store.rows(`by_${column}`));
    if (!isOrder(order, meta.people))
      breaches.push(`${column}: the places of people are no order of them`);
  }

  const damaged = store.check();

  breaches.push(...damaged);
  // A hole in the row store is told already, and cannot be read over.
  if (damaged.length > 0 || people !== meta.people) return breaches;

  for (const index of ADDRESS_INDEXES) {
    const twice = `entries of ${index} for people that it has twice or that there are not`;
    expect(twice, store.astray(index, meta.people), 0);
  }

  expect(
    `of ${SAMPLE} records those unlike their columns`,
    await unlike(columns, store, meta.people),
    0,
  );

  return breaches;
}

function wrongIn({ before, coded, dictionary }: StoredColumn, people: number): string[] {
  const { size } = coded;
  const wrong: string[] = [];
  if (!isRising(dictionary) || dictionary.size !== size) wrong.push("values are out of order");
  const counted = countsOf(coded);
  const other = counted.findIndex((n, code) => n !== (before[code + 1] ?? 0) - (before[code] ?? 0));
  if (other >= 0 || before[size + 1] !== people)
    wrong.push("numbers of people are not those of the codes");
  if (!areEdges(coded, people)) wrong.push("codes of people are not what is known of them");
  return wrong;
}

function countsOf({ codes, size }: CodedColumn): Uint32Array {
  const counted = new Uint32Array(size + 1);
  for (const code of codes) counted[code] = (counted[code] ?? 0) + 1;
  return counted;
}

function areEdges({ codes, least, most, size }: CodedColumn, people: number): boolean {
  const chunks = Array.from({ length: Math.ceil(people / PEOPLE_A_CHUNK) }, (_, chunk) => chunk);
  const isRight = (chunk: number): boolean => {
    const [low, high] = edgesOf(codes, chunk);
    return least[chunk] === low && most[chunk] === high && high <= size;
  };
  return codes.length === people && chunks.every(isRight);
}

/** Whether each place is one person's, and all others have none. */
const isOrder = (order: CodedColumn, people: number): boolean =>
  areEdges(order, people) &&
  countsOf(order)
    .subarray(0, order.size)
    .every((count) => count === 1);

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

function outOfOrder({ byName }: StoredColumns, people: number): number {
  const keys = SORT_KEYS.map((key) => byName.get(key)?.coded.codes ?? new Uint8Array());
  let unordered = 0;
  for (let person = 1; person < people; person++) {
    const other = keys.find((codes) => codes[person] !== codes[person - 1]);
    if (other && (other[person] ?? 0) < (other[person - 1] ?? 0)) unordered++;
  }
  return unordered;
}

async function unlike(columns: StoredColumns, store: RecordStore, people: number): Promise<number> {
  const step = Math.max(1, Math.floor(people / SAMPLE));
  const rids = Uint32Array.from(
    { length: Math.min(SAMPLE, Math.ceil(people / step)) },
    (_, index) => index * step,
  );
  const records = (await store.people(rids)).map(
    (record) => JSON.parse(String(record)) as Readonly<Record<string, unknown>>,
  );

  const wrong = new Set<number>();
  for (const column of FILTER_COLUMNS) {
    const own = records.map((record) => formOf(column, record[column]));
    const coded = isPlaced(column) ? columns.placed[column] : columns.byName.get(column)?.coded;
    const dictionary = columns.byName.get(column)?.dictionary;

    for (const [index, rid] of rids.entries()) {
      const code = coded?.codes[rid] ?? 0;
      const value = own[index];
      const isOwn = async (): Promise<boolean> => {
        if (!coded || code >= coded.size) return value === null;
        if (!isPlaced(column)) return dictionary?.value(code) === value;
        const [[from, before] = [0, 0]] = await store.spans(column, [String(value)]);
        return code >= from && code < before;
      };
      if (!(await isOwn())) wrong.add(rid);
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

const formOf = (column: string, own: unknown): unknown =>
  column !== "department" && typeof own === "string" ? normalForm(own) || null : (own ?? null);
