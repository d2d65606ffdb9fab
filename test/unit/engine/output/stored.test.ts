import { createReadStream, mkdtempSync, rmSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { cellRows } from "../../../../src/engine/output/stored.ts";
import { xlsx } from "../../../../src/engine/output/whole/xlsx.ts";
import { Page } from "../../../../src/shared/rows/page.ts";

const file = (text: string) => ({
  path: "people.csv",
  async *bytes() {
    yield Buffer.from(text);
  },
});

test("a row is looked at without what keeps a cell a text, whatever the formula begins with", async () => {
  const seen: unknown[] = [];
  const text = "name\n'=Ada\n'＝Ada\n\"' =Ada\"\n'Ada\n";
  const rows = cellRows(",").without(file(text), (_, read) => seen.push(read()) < 0, undefined);
  let kept = "";
  for await (const bytes of rows) kept += Buffer.from(bytes).toString();
  expect(seen).toEqual([{ name: "=Ada" }, { name: "＝Ada" }, { name: " =Ada" }, { name: "'Ada" }]);
  expect(kept).toBe(text);
});

test("a row of a spreadsheet has every column, as one of CSV has: empty cells stand in no sheet", async () => {
  const folder = mkdtempSync(join(tmpdir(), "hc-stored-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const page = Page.read(
    Buffer.from('[{"name":"Ada","why":null},{"name":null,"why":"none"}]'),
    "person",
  );
  const type = "text" as const;
  const columns = ["name", "why"].map((field) => ({ field, name: field, type, empty: false }));
  await xlsx.load();
  const sheet = { columns, rows: 2, pages: () => [page], onCut: () => undefined };
  const path = join(folder, "people.xlsx");
  await writeFile(path, xlsx.bytes(sheet, folder));

  const seen: unknown[] = [];
  const stored = { path, bytes: () => createReadStream(path) };
  for await (const _ of xlsx.without(stored, (_text, read) => seen.push(read()) < 0, undefined));
  expect(seen).toEqual([
    { name: "Ada", why: null },
    { name: null, why: "none" },
  ]);
});
