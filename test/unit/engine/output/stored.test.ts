import { expect, test } from "vitest";
import { cellRows } from "../../../../src/engine/output/stored.ts";

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
