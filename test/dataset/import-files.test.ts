import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startDuckDb } from "../../src/dataset/duckdb.ts";
import { withBuildLock } from "../../src/dataset/layout.ts";
import { bytesOf } from "../../src/shared/tables/bytes.ts";
import type { InputFile } from "../../src/shared/tables/input-file.ts";
import { SMALL, tempFolder } from "../support/dataset.ts";
import { importing } from "../support/imports.ts";
import { workbookOf } from "../support/workbook.ts";

const at = importing();
const { write, load, everybody } = at;

test("a packed file that is cut off anywhere is refused, not read short", async () => {
  const instance = await startDuckDb(SMALL);
  const connection = await instance.connect();
  const path = join(at.folder, "p.csv.gz");
  await connection.run(
    `COPY (SELECT range AS id, hash(range) AS name FROM range(50000)) TO '${path}' (FORMAT csv, HEADER, COMPRESSION gzip)`,
  );
  const file: InputFile = { name: path, path, format: "csv", kind: "text", packed: true, bytes: 0 };
  const linesOf = async (): Promise<number> => {
    let lines = 0;
    for await (const bytes of bytesOf(file))
      lines += bytes.toString("latin1").split("\n").length - 1;
    return lines;
  };
  const packed = await readFile(path);
  expect(await linesOf()).toBe(50_001);
  await writeFile(path, Buffer.concat([packed, packed]));
  expect(await linesOf()).toBe(100_002);
  for (const cut of [1, 4, 8, 9, 100, packed.length >> 1, packed.length - 3]) {
    await writeFile(path, packed.subarray(0, packed.length - cut));
    await expect(linesOf(), `without its last ${cut} bytes`).rejects.toThrow(/cut off or damaged/);
  }
  instance.closeSync();
});

const ADA = [
  ["id", "name", "title"],
  ["1", "Ada", "+1 ambassador"],
];

test.each<[string, string, string | Buffer]>([
  ["gzip", "packed.csv", gzipSync("id,name,title\n1,Ada,+1 ambassador\n")],
  ["text", "plain.csv.gz", "id,name,title\n1,Ada,+1 ambassador\n"],
  ["a JSON list", "a.csv", '[\n {"id": 1,\n "name": "Ada", "title": "+1 ambassador"}]'],
  ["a JSON list with a line's end", "a", '[{"id":1,"name":"Ada","title":"+1 ambassador"}\n]\n'],
  ["NDJSON", "a.txt", '\n{"id":1,"name":"Ada","title":"+1 ambassador"}\n \t\n'],
  ["a workbook", "a.dat", workbookOf([["People of 2026"], [], ...ADA])],
  [
    "a workbook whose last cells are empty",
    "b.xlsx",
    workbookOf([
      ["id", "name", "title", "headline", "city", "state"],
      ["1", "Ada", "+1 ambassador", 'of "two"\nlines'],
    ]),
  ],
  ["a guard against formulas", "a", "id,name,title\n1,Ada,'+1 ambassador\n,,\n"],
  ["formulas of a text", "a", 'id,name,title\n="1","=""Ada""",\'+1 ambassador\n'],
  [
    "notes above the header",
    "n.csv",
    'Notes:\n"all, of them"\n\nid;name;title\n1;Ada;+1 ambassador\n',
  ],
])("a file is what its bytes are, whatever its name: %s", async (_, name, bytes) => {
  await write(name, bytes);
  const { people } = await load({ people: [name] });
  expect(people).toMatchObject({ taken: 1, refused: 0 });
  expect(await everybody()).toMatchObject([{ id: "1", name: "Ada", title: "+1 ambassador" }]);
});

describe("files that cannot be imported", () => {
  // One dataset for all of them: none of these may change it.
  let old: string;
  beforeAll(async () => {
    old = await tempFolder();
    at.folder = old;
    await write("people.csv", "id,name\n1,Ada\n");
    await load({});
    await write("empty.csv", "");
    await write("page.csv", "<!doctype html><html></html>");
    await write("ab.csv", "a,b\n1,2\n");
    await write("header.csv", "id,name\n");
    await write("bad.csv", "id,connections\n,x\n");
    await write("fake.parquet", "PAR1 and nothing more");
    const packed = gzipSync(
      "id,name\n".concat(...Array.from({ length: 5_000 }, (_, row) => `${row},Name ${row}\n`)),
    );
    await write("cut.csv.gz", packed.subarray(0, packed.length >> 1));
  });
  beforeEach(() => {
    at.folder = old;
  });

  test.each([
    ["a missing file", ["nope.csv"], /nope\.csv does not exist/],
    ["a folder", ["."], /is a folder, not a file/],
    ["an empty file", ["empty.csv"], /empty\.csv is empty/],
    ["a page by the name of a table", ["page.csv"], /page\.csv is an HTML page, no table/],
    ["a pattern without match", ["*.ndjson"], /no file matches/],
    ["a file twice", ["people.csv", "./people.csv"], /is given twice/],
    ["no usable column", ["ab.csv"], /ab\.csv has no usable column: .* it has a, b/],
    ["a header alone", ["header.csv"], /no rows in header\.csv/],
    ["no row to take", ["bad.csv"], /none of 1 row of people can be taken: no_identity 1/],
    ["no Parquet", ["fake.parquet"], /fake\.parquet cannot be read as parquet/],
    ["a gzip that is cut off", ["cut.csv.gz"], /cut\.csv\.gz is cut off or damaged/],
  ])("%s: a clear error, and the old dataset stays", async (_what, people, message) => {
    await expect(load({ people })).rejects.toThrow(message);
    expect((await everybody()).map((person) => person.name)).toEqual(["Ada"]);
  });
});

test("whoever builds second waits for the first; any other fault of the lock is thrown", async () => {
  const datasetDir = await tempFolder("headcount-builders-");
  const order: string[] = [];
  let letGo: () => void = () => undefined;
  const waited = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const sleep = async (): Promise<void> => {
    order.push("second waits");
    letGo();
    await new Promise((resolve) => setImmediate(resolve));
  };

  let second: Promise<void> | undefined;
  await withBuildLock({ datasetDir, sleep }, async () => {
    second = withBuildLock({ datasetDir, sleep }, async () => void order.push("second"));
    await Promise.race([waited, second]);
    order.push("first");
  });
  await second;
  expect(order.filter((each, index) => each !== order[index - 1]).join()).toMatch(
    /^second waits,first(,second waits)?,second$/,
  );

  await writeFile(join(datasetDir, "lock.db"), "no database".repeat(100));
  await expect(withBuildLock({ datasetDir, sleep }, async () => undefined)).rejects.toThrow(
    "not a database",
  );
});
