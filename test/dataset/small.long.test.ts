import { hash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "@photostructure/sqlite";
import { expect, test } from "vitest";
import { ensureGenerated, generateDataset } from "../../src/dataset/build/sample.ts";
import { COLUMNS_TAIL, type ColumnFileHeader } from "../../src/dataset/embedded/column-file.ts";
import { currentVersion } from "../../src/dataset/layout.ts";
import { SMALL, sleep, tempFolder } from "../support/dataset.ts";

/** Every column's bytes, and every row of the records' file. Where they lie in the files is not the same twice. */
async function contentOf(datasetDir: string): Promise<Readonly<Record<string, unknown>>> {
  const { folder, meta } = await currentVersion(datasetDir);
  const file = readFileSync(join(folder, "columns.bin"));
  const size = file.readUInt32LE(file.length - COLUMNS_TAIL + 4);
  const text = file.toString("utf8", file.length - COLUMNS_TAIL - size, file.length - COLUMNS_TAIL);
  const header = JSON.parse(text, (_, value) => {
    const span = value as { readonly at?: number; readonly bytes: number } | null;
    return span?.at === undefined
      ? value
      : hash("sha256", file.subarray(span.at, span.at + span.bytes));
  }) as ColumnFileHeader;
  const database = new DatabaseSync(join(folder, "records.db"), { readOnly: true });
  const tables = database
    .prepare("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL")
    .all();
  const rows = tables.map(({ name }) => {
    const values = database
      .prepare(`SELECT * FROM ${name} ORDER BY 1, 2`)
      .all()
      .flatMap(Object.values<unknown>);
    return [
      name,
      values.length,
      hash(
        "sha256",
        values
          .map((value) =>
            value instanceof Uint8Array ? Buffer.from(value).toString("base64") : String(value),
          )
          .join("\n"),
      ),
    ];
  });
  database.close();
  return { companies: meta.companies, ...header, tables, rows };
}

// More companies than there are names at first, so that some are told apart by what comes behind.
test.each([
  [1, 3],
  [700, 0],
  [6_000, 4_294_967_295],
])(
  "%i people with the seed %i are the same, byte for byte, with DuckDB and without",
  async (people, seed) => {
    const [large, small] = [await tempFolder(), await tempFolder()];
    await generateDataset(
      { people, seed },
      { datasetDir: large, now: Date.now, sleep, resources: SMALL },
    );
    expect(
      await ensureGenerated({ name: "small", version: "1", people, seed }, { datasetDir: small }),
    ).toBe(true);
    expect(await contentOf(small)).toEqual(await contentOf(large));
  },
  300_000,
);
