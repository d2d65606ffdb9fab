import { readFile } from "node:fs/promises";
import { inflateRawSync } from "node:zlib";
import type { Form } from "./formats.ts";
import { unpacked } from "./packing.ts";

/** What stands in a file that was written here, out of whatever it is packed in. @throws where another program changed what it is */
export function plainTextOf(path: string, form: Form | undefined): AsyncIterable<Uint8Array> {
  if (form?.format === "xlsx") return sheetsIn(path);
  return form?.format === "parquet" ? recordsIn(path) : unpacked(path, form?.packing);
}

async function* recordsIn(path: string): AsyncGenerator<Uint8Array> {
  const { loadDuckDb, LIMITS } = await import("./whole/duck.ts");
  const instance = await (await loadDuckDb()).DuckDBInstance.create(":memory:", LIMITS);
  try {
    const connection = await instance.connect();
    // A name is no pattern.
    const file = path.replace(/[[*?]/g, "[$&]").replaceAll("'", "''");
    const result = await connection.stream(`SELECT to_json(t)::VARCHAR FROM read_parquet('${file}') t`);
    for await (const rows of result.yieldRows())
      yield Buffer.from(rows.map(([record]) => `${String(record)}\n`).join(""));
  } finally {
    instance.closeSync();
  }
}

const ENTRY = 0x02014b50;

/** The parts of a spreadsheet, one after the other: its directory says where each begins and how long it is. */
async function* sheetsIn(path: string): AsyncGenerator<Uint8Array> {
  const bytes = await readFile(path);
  const end = bytes.lastIndexOf(Buffer.from([0x50, 0x4b, 5, 6]));
  if (end < 0) throw new Error("no spreadsheet");
  for (let at = bytes.readUInt32LE(end + 16); bytes.readUInt32LE(at) === ENTRY; ) {
    const [method, size, local] = [
      bytes.readUInt16LE(at + 10),
      bytes.readUInt32LE(at + 20),
      bytes.readUInt32LE(at + 42),
    ];
    const begin = local + 30 + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28);
    const part = bytes.subarray(begin, begin + size);
    yield method === 0 ? part : inflateRawSync(part);
    at += 46 + bytes.readUInt16LE(at + 28) + bytes.readUInt16LE(at + 30) + bytes.readUInt16LE(at + 32);
  }
}
