import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { askViews } from "../../src/engine/library/ask.ts";
import { Library } from "../../src/engine/library/library.ts";
import { ownedBy } from "../../src/engine/library/members.ts";
import { importRecords } from "../../src/engine/library/take-in.ts";
import { tempDir } from "../support/client.ts";

const VIEW = { format: "csv", fields: null, excel: false, raw: false };
const LIST = {
  output: "/home/ada/list.csv",
  filters: { department: "Sales" },
  canonical: '{"department":["Sales"]}',
  view: VIEW,
  isPart: false,
};
const found = (more: {
  added?: string[];
  removed?: string[];
  changed?: Map<string, string[]>;
  files?: string[];
}) => ({
  at: 5,
  datasetVersion: null,
  count: 3,
  added: [],
  removed: [],
  changed: new Map<string, string[]>(),
  calls: 7,
  credits: 2_000_000n,
  run: "r1",
  files: [],
  ...more,
});

test("people as a refresh needs them: by filters, by identity, by run", async () => {
  const library = await Library.open(join(tempDir(), "library.db"));
  importRecords(library, [
    {
      name: "old.csv",
      at: 1_000,
      records: [
        {
          id: "p1",
          name: "Ada  LOVELACE",
          network_url: "https://www.net.example/in/Ada/",
          department: "Sales",
        },
        { id: "p2", name: "Bo", network_url: "bo", department: "Legal" },
        { id: "p3", name: "Cy" },
      ],
    },
  ]);
  const all = ownedBy(library.database, { matching: { exact: {}, prefix: {}, range: {} } });
  expect(all.map(({ identity, address, name }) => [identity, address, name])).toEqual([
    ["p1", "https://www.net.example/in/Ada/", "ada lovelace"],
    ["p2", "bo", "bo"],
    ["p3", undefined, "cy"],
  ]);
  expect(all[0]).toMatchObject({ version: null, values: { department: "Sales" } });
  expect(
    ownedBy(library.database, {
      matching: { exact: {}, prefix: {}, range: {}, department: ["Legal"] },
    }),
  ).toHaveLength(1);
  expect(ownedBy(library.database, ["p3", "nobody", "p1"]).map(({ identity }) => identity)).toEqual(
    ["p1", "p3"],
  );
  library.close();
});

test("any history of a list ends with those who are in it", async () => {
  const library = await Library.open(join(tempDir(), "library.db"));
  const { lists } = library;
  expect(lists.at(LIST.output)).toBeUndefined();
  let output = 0;
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.nat(12)),
      fc.array(fc.tuple(fc.uniqueArray(fc.nat(12)), fc.boolean()), { minLength: 1, maxLength: 6 }),
      (first, weeks) => {
        const list = { ...LIST, output: `/list-${output++}.csv` };
        let now = first.map(String);
        for (const [next, elsewhere] of weeks) {
          // Now and then the list begins with others than it ended with: its file was written by a search.
          const before = elsewhere ? [...now].reverse().slice(1) : now;
          const after = next.map(String);
          const added = after.filter((person) => !before.includes(person));
          const removed = before.filter((person) => !after.includes(person));
          lists.record(
            list,
            before,
            found({
              added,
              removed,
              changed: new Map(before.slice(0, 1).map((id) => [id, ["title"]])),
            }),
          );
          now = after;
          expect(lists.members(lists.at(list.output)?.n ?? 0).sort()).toEqual([...now].sort());
        }
        expect(lists.at(list.output)?.refreshes).toBe(weeks.length);
      },
    ),
    { numRuns: 60 },
  );
  library.close();
});

test("is known by what its file was, as it was then, and elsewhere by the same", async () => {
  const library = await Library.open(join(tempDir(), "library.db"));
  const { lists } = library;
  lists.record(LIST, ["a", "b"], found({ added: ["c"], removed: ["a"], files: ["1", "x"] }));
  lists.record(LIST, ["b", "c"], found({ added: ["a"], removed: ["b"], files: ["2", "x"] }));
  lists.record({ ...LIST, canonical: "{}" }, ["a", "c"], found({ files: ["2", "y"] }));
  const copy = lists.copyOf(LIST.output);
  library.close();

  const other = await Library.open(join(tempDir(), "library.db"));
  for (const again of [1, 2]) if (copy) other.lists.takeIn("laptop:1", `laptop ${again}`, copy);
  expect(other.lists.copyOf("laptop:1")).toEqual(copy);
  expect(other.lists.outputs()).toEqual([]);
  expect(other.lists.written("1")?.members).toEqual(["b", "c"]);
  expect(other.lists.written("2")?.members).toEqual(["a", "c"]);
  expect(other.lists.written("x")).toBeUndefined();
  expect(other.lists.wrote("{}", "x")).toBe(true);

  other.lists.record(LIST, ["z"], found({ files: ["1"] }));
  expect(other.lists.written("1")).toBeUndefined();
  other.close();
});

test("a list says what it is, and what each refresh found and cost", async () => {
  const library = await Library.open(join(tempDir(), "library.db"));
  library.lists.record(LIST, ["a", "b"], found({ added: ["c"], removed: ["a"] }));
  expect(library.lists.at(LIST.output)).toMatchObject({ ...LIST, refreshes: 1, at: 5 });
  const { columns, rows } = await askViews(library, "SELECT * FROM refreshes");
  expect(Object.fromEntries(columns.map((name, at) => [name, rows[0]?.[at]]))).toEqual({
    list: LIST.output,
    refresh: 1n,
    at: "1970-01-01T00:00:00.005Z",
    dataset_version: null,
    count: 3n,
    added: 1n,
    removed: 1n,
    changed: 0n,
    calls: 7n,
    credits: 2,
    run: "r1",
  });
  expect(
    (await askViews(library, "SELECT id, since, until FROM list_people ORDER BY id")).rows,
  ).toEqual([
    ["a", 0n, 1n],
    ["b", 0n, null],
    ["c", 1n, null],
  ]);
  expect((await askViews(library, "SELECT list, people FROM lists")).rows).toEqual([
    [LIST.output, 2n],
  ]);
  library.close();
});
