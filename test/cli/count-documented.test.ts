import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { main } from "../../src/cli/main.ts";
import { asTyped } from "../support/as-typed.ts";
import { testContext } from "../support/client.ts";
import { testService } from "../support/serving.ts";

const service = testService({ people: 500 });

/** The JSON block below a heading of the pages that show what `--json` prints. */
function documented(heading: string): unknown {
  const pages = ["json", "json-runs", "exit-codes"].map((name) =>
    resolve(import.meta.dirname, `../../docs/reference/${name}.md`),
  );
  const text = pages.map((page) => readFileSync(page, "utf8")).join("\n");
  const section = text.slice(text.indexOf(`### ${heading}\n`));
  const block = /```json\n([\s\S]*?)```/.exec(section)?.[1];
  if (block === undefined || !text.includes(`### ${heading}\n`))
    throw new Error(`no page has ${heading}`);
  return JSON.parse(block) as unknown;
}

/**
 * The keys of a document in their order, objects inside objects included; of a list its first
 * element's.
 */
function keys(value: unknown, depth = 2): unknown {
  if (Array.isArray(value)) return value.slice(0, 1).map((item) => keys(item, depth));
  if (typeof value !== "object" || value === null || depth === 0) return null;
  // What a user typed and where a file is are values, not shape.
  return Object.entries(value).map(([key, inner]) => [
    key,
    ["filters", "target", "companies"].includes(key) && !Array.isArray(inner)
      ? null
      : keys(inner, depth - 1),
  ]);
}

test("docs/reference/json.md shows the documents that are printed", async () => {
  const tested = testContext({ env: { HEADCOUNT_API_KEY: service.key } });
  for (const stream of [tested.context.stdout, tested.context.stderr]) stream.setMaxListeners(0);
  let [out, err] = [0, 0];
  const run = async (...words: string[]): Promise<{ stdout: unknown; stderr: string }> => {
    const argv = [...words, "--json", "--base-url", service.url];
    await main(argv, { ...tested.context, argv });
    const [stdout, stderr] = [tested.stdout().slice(out), tested.stderr().slice(err)];
    [out, err] = [out + stdout.length, err + stderr.length];
    return { stdout: stdout === "" ? undefined : JSON.parse(stdout), stderr };
  };
  for (const name of ["a.json", "b.json"])
    writeFileSync(join(tested.context.cwd, name), '{"department":"Sales"}');
  const same = async (heading: string, ...words: string[]): Promise<void> => {
    const { stdout, stderr } = await run(...words);
    expect({ heading, keys: keys(stdout), stderr: stdout === undefined ? stderr : "" }).toEqual({
      heading,
      keys: keys(documented(heading)),
      stderr: "",
    });
  };
  await same("count", "count", "--department", "Sales");
  await same("count --by", "count", "--by", "seniority_level=manager");
  await same("count, several segments", "count", "-f", "a.json", "-f", "b.json");
  await same("account", "account");
  const bought = await run("search", "--department", "Sales", "--limit", "3", "-y", "-o", "x.csv");
  // Now that some of them are owned.
  await same("--dry-run", "search", "--department", "Sales", "--dry-run");
  const receipt = documented("search, employees, enrich") as { readonly output: object };
  expect(Object.keys(bought.stdout as object)).toEqual(Object.keys(receipt));
  const { output } = bought.stdout as { readonly output: object };
  expect(Object.keys(output)).toEqual(expect.arrayContaining(Object.keys(receipt.output)));
  await same("runs list", "runs", "list");
  await same("spend", "spend");
  await same("filters, doctor", "filters", "country");
  const shown = (await run("runs", "show", "last")).stdout as Record<string, unknown>;
  const [listed] = documented("runs list") as Record<string, unknown>[];
  expect(Object.keys(shown)).toEqual([
    ...Object.keys(listed ?? {}),
    ...Object.keys(documented("runs show") as object),
  ]);
  await same("runs export", "runs", "export", "last", "-o", "again.csv");
  await same("runs remove, runs prune", "runs", "remove", "last", "--yes");
  const { stdout, stderr } = await run("count", "--department", "Salse");
  expect(stdout).toBeUndefined();
  expect(keys(JSON.parse(stderr))).toEqual(keys(documented("errors")));

  const login = testContext({ stdin: `${service.key}\n` });
  const argv = asTyped`login work --insecure-storage --key-stdin --json --base-url ${service.url}`;
  await main(argv, { ...login.context, argv });
  expect(keys(JSON.parse(login.stdout()))).toEqual(keys(documented("login, logout, connections")));
});
