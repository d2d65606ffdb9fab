import { readFile } from "node:fs/promises";
import { inflateRawSync } from "node:zlib";
import type { Form } from "./formats.ts";
import { unpacked } from "./packing.ts";

/** The text of a file that was written here, unpacked. @throws where another program changed what it is */
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

async function* sheetsIn(path: string): AsyncGenerator<Uint8Array> {
  for (const { bytes } of partsOf(await readFile(path))) yield bytes;
}

const ENTRY = 0x02014b50;

/** The parts of a spreadsheet, one after the other: its directory says where each begins and how long it is. */
export function* partsOf(file: Buffer): Generator<{ readonly name: string; readonly bytes: Buffer }> {
  const end = file.lastIndexOf(Buffer.from([0x50, 0x4b, 5, 6]));
  if (end < 0) throw new Error("no spreadsheet");
  for (let at = file.readUInt32LE(end + 16); file.readUInt32LE(at) === ENTRY; ) {
    const [method, size, local] = [file.readUInt16LE(at + 10), file.readUInt32LE(at + 20), file.readUInt32LE(at + 42)];
    const length = file.readUInt16LE(at + 28);
    const begin = local + 30 + file.readUInt16LE(local + 26) + file.readUInt16LE(local + 28);
    const part = file.subarray(begin, begin + size);
    yield { name: file.toString("utf8", at + 46, at + 46 + length), bytes: method === 0 ? part : inflateRawSync(part) };
    at += 46 + length + file.readUInt16LE(at + 30) + file.readUInt16LE(at + 32);
  }
}
