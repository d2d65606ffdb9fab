import { Page } from "../../shared/rows/page.ts";

const PAGE_ROWS = 1_000;

/** So that every format is made from them as from bought ones. */
export const recordPage = (records: readonly string[]): Page =>
  records.length === 0 ? Page.empty : Page.read(Buffer.from(`{"result":[${records.join(",")}]}`), "person");

export function* pagewise<Item>(items: Iterable<Item>): Generator<Item[]> {
  let group: Item[] = [];
  for (const item of items) {
    group.push(item);
    if (group.length < PAGE_ROWS) continue;
    yield group;
    group = [];
  }
  if (group.length > 0) yield group;
}

export async function* recordPages(owned: Iterable<string>): AsyncGenerator<Page> {
  for (const records of pagewise(owned)) yield recordPage(records);
}
