import { FILTER_COLUMNS } from "../../shared/contract/conditions.ts";
import { canonicalAddress, normalForm, slugOf } from "../../shared/contract/normalise.ts";
import { isPlaced, PLACED_COLUMNS, type PlacedColumn, ROW_INDEXES, type RowIndex, SORT_KEYS } from "../columns.ts";
import type { StoredColumn, StoredColumns } from "../embedded/column-file.ts";
import type { Dictionary } from "../embedded/dictionary.ts";
import { addressKeys, type KeyList } from "../embedded/keys.ts";
import type { RecordStore } from "../embedded/record-store.ts";
import { edgesOf, PEOPLE_A_BLOCK } from "../embedded/scan.ts";
import type { DatasetMeta } from "../layout.ts";

const SAMPLE = 1_000;

/** Sizes, order, columns, indexes, and records by sample. @returns a sentence for each breach */
export async function verifyFiles(columns: StoredColumns, store: RecordStore, meta: DatasetMeta): Promise<string[]> {
  const breaches: string[] = [];
  const expect = (what: string, found: number, wanted: number): void => {
    if (found !== wanted) breaches.push(`${what}: ${found}, expected ${wanted}`);
  };
  const people = store.rows("people");
  expect("people in the row store", people, meta.people);
  expect("companies in the row store", store.rows("companies"), meta.companies);
  for (const [name, column] of columns.byName) {
    for (const wrong of wrongIn(column, meta.people)) breaches.push(`${name}: ${wrong}`);
  }
  expect("people out of order", outOfOrder(columns, meta.people), 0);
  for (const column of PLACED_COLUMNS) {
    expect(`people in the order of ${column}`, columns.orders[column].length, store.rows(`by_${column}`));
  }
  const damaged = store.check();
  breaches.push(...damaged);
  // A hole in the row store is told already, and cannot be read over.
  if (damaged.length > 0 || people !== meta.people) return breaches;
  for (const index of ROW_INDEXES) {
    const twice = `entries of ${index} for people that it has twice or that there are not`;
    expect(twice, store.astray(index, meta.people), 0);
  }
  for (const column of PLACED_COLUMNS) {
    expect(`people whose place in the order of ${column} is another`, await misplaced(columns, store, column), 0);
  }
  expect(`of ${SAMPLE} records those unlike their columns`, await unlike(columns, store, meta.people), 0);
  return breaches;
}

function wrongIn({ before, codes, dictionary, least, most }: StoredColumn, people: number): string[] {
  const { size } = dictionary;
  const wrong: string[] = [];
  if (!isRising(dictionary)) wrong.push("values are out of order");
  if (codes.length !== people) wrong.push(`codes of ${codes.length} of ${people} people`);
  const counted = new Uint32Array(size + 1);
  for (const code of codes) counted[code] = (counted[code] ?? 0) + 1;
  const other = counted.findIndex((n, code) => n !== (before[code + 1] ?? 0) - (before[code] ?? 0));
  if (other >= 0 || before[size + 1] !== people) wrong.push("numbers of people are not those of the codes");
  for (let block = 0; block * PEOPLE_A_BLOCK < people; block++) {
    const [low, high] = edgesOf(codes, block);
    if (least[block] === low && most[block] === high && high <= size) continue;
    wrong.push(`codes of people ${block * PEOPLE_A_BLOCK} and on are not what is known of them`);
    break;
  }
  return wrong;
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

function outOfOrder({ byName }: StoredColumns, people: number): number {
  const keys = SORT_KEYS.map((key) => byName.get(key)?.codes ?? new Uint8Array());
  let unordered = 0;
  for (let person = 1; person < people; person++) {
    const other = keys.find((codes) => codes[person] !== codes[person - 1]);
    if (other && (other[person] ?? 0) < (other[person - 1] ?? 0)) unordered++;
  }
  return unordered;
}

async function misplaced(columns: StoredColumns, store: RecordStore, column: PlacedColumn): Promise<number> {
  const order = columns.orders[column];
  let place = 0;
  let wrong = 0;
  for await (const piece of store.find(column, { from: "", before: undefined })) {
    for (const rid of piece) if (order[place++] !== rid) wrong++;
  }
  return wrong;
}

async function unlike(columns: StoredColumns, store: RecordStore, people: number): Promise<number> {
  const step = Math.max(1, Math.floor(people / SAMPLE));
  const rids = Uint32Array.from({ length: Math.min(SAMPLE, Math.ceil(people / step)) }, (_, index) => index * step);
  const records = (await store.people(rids)).map(
    (record) => JSON.parse(String(record)) as Readonly<Record<string, unknown>>,
  );
  const wrong = new Set<number>();
  const look = async (index: RowIndex, values: readonly unknown[], keysOf: (value: string) => KeyList) => {
    const texts = values.filter((value) => typeof value === "string");
    const found = new Set<number>();
    for (const text of new Set(texts)) {
      for await (const piece of store.find(index, keysOf(text))) for (const rid of piece) found.add(rid);
    }
    for (const [at, rid] of rids.entries()) if (typeof values[at] === "string" && !found.has(rid)) wrong.add(rid);
  };
  for (const column of FILTER_COLUMNS) {
    const own = records.map((record) => formOf(column, record[column]));
    if (isPlaced(column)) {
      const texts = own.map((text) => (text === null ? null : String(text)));
      await look(column, texts, (text) => ({ values: [text] }));
      continue;
    }
    const kept = columns.byName.get(column);
    for (const [index, rid] of rids.entries()) {
      const code = kept?.codes[rid] ?? 0;
      if (own[index] !== (kept && code < kept.dictionary.size ? kept.dictionary.value(code) : null)) wrong.add(rid);
    }
  }
  for (const [index, field] of [["address", "network_url"] as const, ["employer", "company_network_url"] as const]) {
    const addresses = records.map(({ [field]: url }) => (typeof url === "string" ? canonicalAddress(url) : undefined));
    const keys = (address: string) => addressKeys([{ slug: slugOf(address), address }]);
    await look(index, addresses, keys);
  }
  return wrong.size;
}

const formOf = (column: string, own: unknown): unknown =>
  column !== "department" && typeof own === "string" ? normalForm(own) || null : (own ?? null);
