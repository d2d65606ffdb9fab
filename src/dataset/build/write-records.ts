import type { DuckDBConnection } from "@duckdb/node-api";
import { ROW_INDEXES } from "../columns.ts";
import type { RecordWriter } from "../embedded/record-store.ts";

const textOrNull = (value: unknown): string | null => (typeof value === "string" ? value : null);

export async function writeCompanies(
  connection: DuckDBConnection,
  writer: RecordWriter,
  signal: AbortSignal,
): Promise<void> {
  const companies = await connection.stream(
    "SELECT id, name_key, domain_key, address, slug, doc FROM keyed_companies ORDER BY seq",
  );
  for await (const chunk of companies) {
    for (const [id, name, domain, address, slug, doc] of chunk.getRows()) {
      writer.addCompany({
        id: String(id),
        name: textOrNull(name),
        domain: textOrNull(domain),
        address: textOrNull(address),
        slug: textOrNull(slug),
        doc: String(doc),
      });
    }
    signal.throwIfAborted();
  }
}

/** Records in public order, then what is looked up in the order of its index. */
export async function writePeople(
  connection: DuckDBConnection,
  writer: RecordWriter,
  people: number,
  signal: AbortSignal,
  onDone: (done: number) => void,
): Promise<void> {
  let done = 0;
  const records = await connection.stream("SELECT doc FROM sorted_people");
  for await (const chunk of records) {
    const docs = chunk.getColumnVector(0);
    for (let row = 0; row < chunk.rowCount; row++) writer.addPerson(String(docs.getItem(row)));
    done += chunk.rowCount;
    signal.throwIfAborted();
    onDone(done);
  }
  if (done !== people) throw new Error(`sorted ${done} of ${people} people`);
  for (const kind of ROW_INDEXES) {
    const sorted = await connection.stream(`SELECT key, rid FROM by_${kind}`);
    for await (const chunk of sorted) {
      const keys = chunk.getColumnVector(0);
      const rids = chunk.getColumnVector(1);
      for (let row = 0; row < chunk.rowCount; row++)
        writer.addKey(kind, String(keys.getItem(row)), Number(rids.getItem(row)));
      signal.throwIfAborted();
    }
  }
}
