import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  addFilterOptions,
  type FilterOptions,
  readFilterSets,
  readFilters,
} from "../../src/cli/arguments/filter-options.ts";
import { Command } from "../../src/cli/options.ts";
import type { Context } from "../../src/shared/context.ts";
import { FILTER_KEYS } from "../../src/shared/contract/vocabulary.ts";
import { CliError } from "../../src/shared/errors.ts";
import { asTyped } from "../support/as-typed.ts";
import { type TestContextOptions, testContext } from "../support/client.ts";

function parse(...argv: string[]): FilterOptions {
  const command = addFilterOptions(
    new Command("count").exitOverride().configureOutput({ writeErr: () => undefined }),
  );
  return command.parse(argv, { from: "user" }).opts<FilterOptions>();
}

const read = async (argv: string[], options: TestContextOptions = {}) =>
  (await readFilters(testContext(options).context, parse(...argv))).filters;

async function refusal(
  argv: string[],
  context: Context = testContext().context,
): Promise<CliError> {
  try {
    await readFilters(context, parse(...argv));
  } catch (error) {
    if (error instanceof CliError && error.exitCode === 2) return error;
    throw error;
  }
  throw new Error("no error");
}

function inFolder(files: Readonly<Record<string, string | Buffer>>): Context {
  const { context } = testContext();
  for (const [name, text] of Object.entries(files)) writeFileSync(join(context.cwd, name), text);
  return context;
}

describe("flags", () => {
  test("every key of the contract is a flag in kebab case", async () => {
    for (const key of FILTER_KEYS) {
      const range = /_(min|max)$/.test(key);
      const value = range ? "7" : key === "department" ? "Sales" : "x, y";
      const filters = await read([`--${key.replaceAll("_", "-")}`, value]).catch(
        (error: CliError) => error.message,
      );
      if (key.endsWith("network_url")) expect(filters).toContain("is not a profile address");
      else expect(filters).toEqual({ [key]: range ? 7 : value });
    }
  });

  test("given again is OR, commas and dashes are part of the value", async () => {
    expect(await read(["--city", "Paris, TX", "--city", "-x", "--title", "A"])).toEqual({
      city: ["Paris, TX", "-x"],
      title: "A",
    });
  });

  test("a key that takes one value refuses two", async () => {
    expect((await refusal(["--title-prefix", "a", "--title-prefix", "b"])).message).toContain(
      "--title-prefix takes one value, and has 2",
    );
    expect((await refusal(["--followers-min", "1", "--followers-min", "2"])).message).toContain(
      "--followers-min takes one value, and has 2",
    );
  });

  test("ranges take whole numbers only", async () => {
    for (const text of ["1.5", "-1", "1e3", "0x10", "", "ten", "9999999999999999"]) {
      expect((await refusal([`--connections-min=${text}`])).message, text).toContain(
        "--connections-min takes a whole number",
      );
    }
    expect(await read(["--connections-min", "0", "--connections-max", "500"])).toEqual({
      connections_min: 0,
      connections_max: 500,
    });
  });

  test("all issues are listed at once", async () => {
    const error = await refusal(
      asTyped`--department Salse --title ${" "} --followers-min 5 --followers-max 1`,
    );
    expect([error.message, ...error.details].map((line) => `${line}`.split(" ")[0])).toEqual([
      "title",
      "unknown",
      "followers_min",
    ]);
    expect(error.code).toBe("invalid_filter");
  });
});

describe("files", () => {
  test("bare or wrapped, with a BOM, from a path, stdin or a named pipe; a flag replaces its key", async () => {
    const context = inFolder({
      "bare.json": '{"country":["fr","de"],"connections_min":5}',
      "wrapped.json": '\ufeff {"filters":{"country":"fr"}} ',
    });
    expect(
      (await readFilters(context, parse("-f", "bare.json", "--country", "es"))).filters,
    ).toEqual({
      country: "es",
      connections_min: 5,
    });
    expect((await readFilters(context, parse("-f", "wrapped.json"))).filters).toEqual({
      country: "fr",
    });
    expect(await read(["-f", "-"], { stdin: '{"country":"fr"}' })).toEqual({ country: "fr" });
  });

  test("what is no filter file is refused with the reason", async () => {
    const context = inFolder({
      "empty.json": "",
      "text.json": "country = fr",
      "yaml.json": "\ndepartment: Legal\n",
      "twice.json": '{"country":"france","country":"germany"}',
      "named.json": '{"the body":"x","the body":"y"}',
      "hole.json": "[".repeat(100_000),
      "deep.json": `{"country":${"[".repeat(100_000)}${"]".repeat(100_000)}}`,
      "list.json": "[1]",
      "inner.json": '{"filters": []}',
      "beside.json": '{"filters": {}, "country": "fr"}',
      "unknown.json": '{"__proto__": 1, "countri": "fr"}',
      "big.json": `{"city":"${"x".repeat(1_048_576)}"}`,
    });
    mkdirSync(join(context.cwd, "folder"));
    for (const [file, message] of Object.entries({
      "empty.json": "empty.json is not JSON: it is empty",
      "text.json": "text.json is not valid JSON: line 1, column 1: ",
      "yaml.json": "yaml.json is not valid JSON: line 2, column 1: JSON value expected but got 'd'",
      "twice.json": "duplicate key in twice.json: country; send each key once",
      // What stands in the file is not rewritten.
      "named.json": "duplicate key in named.json: the body; send each key once",
      "deep.json": "deep.json is nested more than 32 levels deep",
      "hole.json": "hole.json is nested more than 32 levels deep",
      "list.json": "must hold one JSON object",
      "inner.json": '"filters" in inner.json must be a JSON object',
      "beside.json": 'has "country" beside "filters"',
      "unknown.json": "unknown.json: unknown filter: __proto__",
      "big.json": "larger than 1,048,576 bytes",
      folder: "it is a directory",
      "missing.json": "there is no such file",
    })) {
      expect((await refusal(["-f", file], context)).message, file).toContain(message);
    }
  });

  test("a file of a spreadsheet's code page is read as what it says", async () => {
    const context = inFolder({
      "latin1.json": Buffer.from('{"city":"Orl\xe9ans"}', "latin1"),
    });
    const [set] = await readFilterSets(context, parse("-f", "latin1.json"));
    expect(set?.filters).toEqual({ city: "Orléans" });
  });

  test("several files are several segments, and too many for a command that takes one", async () => {
    const context = inFolder({ "a.json": '{"city":"a"}', "b.json": '{"city":"b"}' });
    const sets = await readFilterSets(
      context,
      parse("-f", "a.json", "-f", "b.json", "--title", "x"),
    );
    expect(sets.map(({ name, filters }) => [name, filters])).toEqual([
      ["a.json", { city: "a", title: "x" }],
      ["b.json", { city: "b", title: "x" }],
    ]);
    expect((await refusal(["-f", "a.json", "-f", "b.json"], context)).message).toContain(
      "more than one -f or -s",
    );
    await expect(readFilterSets(context, parse("-f", "-", "-f", "-"))).rejects.toThrow("twice");
  });
});
