import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, test } from "vitest";
import { main } from "../../src/cli/main.ts";
import { checkFilters } from "../../src/shared/contract/filters.ts";
import { DEPARTMENTS, FILTER_KEYS, FILTER_SPECS } from "../../src/shared/contract/vocabulary.ts";
import { filterFileSchema } from "../../src/shared/schema/filters.ts";
import { testContext } from "../support/client.ts";
import { readCsv } from "../support/export.ts";

async function headcount(argv: readonly string[], tty = false) {
  const tested = testContext({ tty });
  const code = await main(argv, tested.context);
  return { code, stdout: tested.stdout(), stderr: tested.stderr() };
}

describe("headcount filters", () => {
  test("piped: CSV with a header, a line a key, in the order of the contract", async () => {
    const { code, stdout, stderr } = await headcount(["filters"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const rows = readCsv(stdout);
    expect(rows.map(({ key }) => key)).toEqual([...FILTER_KEYS]);
    expect(Object.keys(rows[0] ?? {})).toEqual(["key", "match", "value", "example", "description"]);
  });

  test("to a terminal: a table with headings, no tabs", async () => {
    const { stdout } = await headcount(["filters"], true);
    expect(stdout).toMatch(/key +match +value +example/);
    expect(stdout).not.toContain("\t");
    for (const key of FILTER_KEYS) expect(stdout).toContain(`\n${key} `);
    expect(stdout.split("\n").filter((line) => line.length > 90)).toEqual([]);
  });

  test("--json: one document with every key, example and value", async () => {
    const { stdout } = await headcount(["filters", "--json"]);
    const { filters } = JSON.parse(stdout) as {
      filters: { key: string; flag: string; values: string[] }[];
    };
    expect(filters.map(({ key }) => key)).toEqual([...FILTER_KEYS]);
    expect(filters.find(({ key }) => key === "department")?.values).toEqual([...DEPARTMENTS]);
    expect(filters.find(({ key }) => key === "title_prefix")?.flag).toBe("--title-prefix");
  });

  test.each(["department", "Department", "DEPARTMENT"])(
    "one key, spelled %s: its values",
    async (key) => {
      const piped = await headcount(["filters", key]);
      const values = [...piped.stdout.matchAll(/^values\t(.+)$/gm)].map((match) => match[1]);
      expect(values).toEqual([...DEPARTMENTS]);
      const terminal = await headcount(["filters", key], true);
      for (const department of DEPARTMENTS)
        expect(terminal.stdout.replace(/,\s+/g, ", ")).toContain(department.split(" ")[0]);
    },
  );

  test("a key as people write it: with hyphens", async () => {
    const { stdout } = await headcount(["filters", "title-prefix", "--json"]);
    expect(JSON.parse(stdout)).toMatchObject({ key: "title_prefix", match: "prefix" });
  });

  test("an unknown key: exit 2, the valid ones, the nearest", async () => {
    const { code, stdout, stderr } = await headcount(["filters", "departement"]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain('unknown filter: "departement"');
    expect(stderr).toContain("did you mean department?");
    for (const key of FILTER_KEYS) expect(stderr).toContain(key);
  });
});

describe("headcount schema filter-file", () => {
  async function validator(): Promise<(value: unknown) => boolean> {
    const { stdout } = await headcount(["schema", "filter-file"]);
    expect(JSON.parse(stdout)).toEqual(JSON.parse(JSON.stringify(filterFileSchema())));
    return new Ajv2020({ strict: true, strictTypes: false }).compile(JSON.parse(stdout));
  }

  const cases: readonly (readonly [string, unknown, boolean])[] = [
    ["everything", {}, true],
    ["a text", { country: "france" }, true],
    [
      "several",
      { country: ["france", "germany"], department: ["Sales", "customer service"] },
      true,
    ],
    ["wrapped", { filters: { title_prefix: "head of", connections_min: 100 } }, true],
    [
      "every key with its example",
      Object.fromEntries(FILTER_SPECS.map(({ example, key }) => [key, example])),
      true,
    ],
    ["an unknown key", { departement: "Sales" }, false],
    ["an unknown department", { department: "Saless" }, false],
    ["an unknown department among others", { department: ["Sales", "Saless"] }, false],
    ["an empty text", { city: "" }, false],
    ["a blank text", { city: "  " }, false],
    ["an empty array", { city: [] }, false],
    ["an array where one text is taken", { title_prefix: ["a"] }, false],
    ["a number as text", { followers_min: "5" }, false],
    ["a negative number", { followers_min: -1 }, false],
    ["a broken number", { followers_min: 1.5 }, false],
    ["no object", ["france"], false],
    ["null", { country: null }, false],
  ];

  test("says what the check before a request says", async () => {
    const validate = await validator();
    for (const [name, value, valid] of cases) {
      const filters = (value as { filters?: unknown }).filters ?? value;
      expect([name, validate(value)]).toEqual([name, valid]);
      expect([name, checkFilters(filters).ok]).toEqual([name, valid]);
    }
  });
});
