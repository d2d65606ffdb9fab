import { Page } from "../../shared/rows/page.ts";

const PAGE_ROWS = 1_000;

/** The records as pages of a service, so that every format is made from them as from bought ones. */
export async function* recordPages(owned: Iterable<string>, limit = Number.POSITIVE_INFINITY): AsyncGenerator<Page> {
  const records: string[] = [];
  const page = (): Page => Page.read(Buffer.from(`{"result":[${records.splice(0).join(",")}]}`), "person");
  let left = limit;
  for (const record of owned) {
    if (left-- <= 0) break;
    records.push(record);
    if (records.length === PAGE_ROWS) yield page();
  }
  if (records.length > 0) yield page();
}
