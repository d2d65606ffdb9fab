import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { Readable } from "node:stream";
import { describe, expect, test } from "vitest";
import { PAGE, withCodes } from "../../packaging/error-codes.mjs";
import { allCommands, generatedFiles, programTree } from "../../src/cli/completion/tree.ts";
import { main } from "../../src/cli/main.ts";
import { buildProgram } from "../../src/cli/program.ts";
import { ADVICE, TOPICS } from "../../src/cli/topics.ts";
import { DEPARTMENTS, FILTER_KEYS } from "../../src/shared/contract/vocabulary.ts";
import { testContext } from "../support/client.ts";

const ROOT = resolve(import.meta.dirname, "../..");
describe("generated files", () => {
  test("are what the program makes (npm run build && npm run completions)", async () => {
    for (const [path, text] of generatedFiles(
      await buildProgram(testContext({}).context, [], "all"),
    )) {
      const kept = readFileSync(join(ROOT, path), "utf8");
      expect(kept === text ? path : `${path} is stale: npm run build && npm run completions`).toBe(
        path,
      );
    }
  });

  test("so is the table of error codes, within its page", () => {
    const page = readFileSync(PAGE, "utf8");
    expect(withCodes(page, ADVICE) === page, "npm run build && npm run completions").toBe(true);
    expect(page).toContain("| 3 | `auth`, `no_key`");
  });

  test("the tree knows where values come from", async () => {
    const program = await buildProgram(testContext({}).context, [], "all");
    const tree = programTree(program);
    const count = tree.commands.find(({ path }) => path[0] === "count");
    const flag = (long: string) =>
      [...(count?.flags ?? []), ...tree.flags].find((candidate) => candidate.long === long);
    expect(flag("--department")?.value?.values).toEqual({ kind: "list", values: DEPARTMENTS });
    expect(flag("--connection")?.value?.values).toEqual({ kind: "connections" });
    expect(flag("--filters")?.value?.values).toEqual({ kind: "file" });
    expect(flag("--title")?.value?.values).toEqual({ kind: "listed", values: ["title"] });
    expect(flag("--title-prefix")?.value?.values).toEqual({ kind: "text" });
    expect(flag("--json")?.value).toBeUndefined();
    for (const key of FILTER_KEYS)
      expect(flag(`--${key.replaceAll("_", "-")}`)?.value).toBeDefined();
    const help = tree.commands.find(({ path }) => path[0] === "help")?.arguments[0]?.values;
    for (const name of TOPICS)
      expect(help).toMatchObject({ values: expect.arrayContaining([name, "count"]) });
  });
});

describe("headcount completion", () => {
  test.each([
    ["bash", "headcount.bash"],
    ["zsh", "_headcount"],
    ["fish", "headcount.fish"],
    ["powershell", "headcount.ps1"],
  ])("%s prints the committed script", async (shell, file) => {
    const tested = testContext({});
    expect(await main(["completion", shell], tested.context)).toBe(0);
    expect(tested.stdout()).toBe(readFileSync(join(ROOT, "completions", file), "utf8"));
    expect(tested.stderr()).toBe("");
  });

  test.each([[[]], [["csh"]]])("%j: exit 2, naming the shells", async (argv) => {
    const tested = testContext({});
    expect(await main(["completion", ...argv], tested.context)).toBe(2);
    expect(tested.stdout()).toBe("");
    expect(tested.stderr()).toMatch(/bash.*zsh.*fish.*powershell/s);
  });
});

/** What the program says may stand at the end of a line. */
async function offered(
  tested: ReturnType<typeof testContext>,
  ...words: readonly string[]
): Promise<string> {
  const context = {
    ...tested.context,
    stdin: Object.assign(Readable.from([`${words.join("\n")}\n`]), { isTTY: false }),
  };
  expect(await main(["completion", "--words"], context)).toBe(0);
  expect(tested.stderr()).toBe("");
  return tested.stdout();
}
const values = async (...words: readonly string[]): Promise<readonly string[]> =>
  (await offered(testContext({}), ...words))
    .trimEnd()
    .split("\n")
    .slice(1)
    .map((line) => line.split("\t")[0] ?? "");

describe("headcount completion --words", () => {
  test("every command, and every flag that is not hidden, where it may stand", async () => {
    const tree = programTree(await buildProgram(testContext({}).context, [], "all"));
    for (const { commands, flags, path } of allCommands(tree)) {
      const names = flags.flatMap((flag) => flag.names);
      expect([path, await values(...path, "-")]).toEqual([path, expect.arrayContaining(names)]);
      if (commands.length === 0) continue;
      expect([path, await values(...path, "")]).toEqual([
        path,
        commands.map((child) => child.path.at(-1)),
      ]);
    }
  });

  test.each([
    [["count", "--department", "SAL"], "words\t\nSales\t\n"],
    [["count", "--department=fin"], "words\t--department=\nFinance & Accounting\t\n"],
    // As bash parts it.
    [["count", "--department", "=", "fin"], "words\t\nFinance & Accounting\t\n"],
    [["search", "--fields", "id,headl"], "list\tid,\nheadline\t\n"],
    [["search", "--fields=id,headl"], "list\t--fields=id,\nheadline\t\n"],
    [["count", "-f", "x"], "files\t\n"],
    [["search", "--output=x"], "files\t--output=\n"],
    [["count", "--title-prefix", "x"], "words\t\n"],
    [["count", "--", "--dep"], "words\t\n"],
    [["-c", "sample", "count", "--json", "--connections-mi"], /^words\t\n--connections-min\t.+\n$/],
  ])("%j", async (words, said) => {
    expect(await offered(testContext({}), ...words)).toEqual(
      typeof said === "string" ? said : expect.stringMatching(said),
    );
  });

  test("connections: sample and those of the config, each with its address", async () => {
    const tested = testContext({});
    const folder = join(tested.dir, "config");
    mkdirSync(folder, { recursive: true });
    writeFileSync(
      join(folder, "config.json"),
      '{"connections":{"work":{"baseUrl":"https://api.example:8443"}}}',
    );
    const said = "words\t\nsample\tbuilt in, synthetic people\nwork\thttps://api.example:8443\n";
    expect(await offered(tested, "-c", "")).toBe(said);
  });

  test("runs: the newest first, with what they bought; nothing that is no run", async () => {
    const tested = testContext({});
    const runs = join(tested.dir, "state", "runs");
    const target = { kind: "search", canonical: '{"department":["Sales"]}' };
    for (const id of ["20260101-000000-aaaaaa", "20260102-000000-bbbbbb", ".open", "notes"])
      mkdirSync(join(runs, id), { recursive: true });
    writeFileSync(join(runs, "20260102-000000-bbbbbb", "plan.json"), JSON.stringify({ target }));
    expect(await offered(tested, "runs", "show", "")).toBe(
      'words\t\nlast\tthe newest run\n20260102-000000-bbbbbb\tsearch {"department":["Sales"]}\n20260101-000000-aaaaaa\t\n',
    );
  });

  test("says nothing and ends well where there is nothing to read", async () => {
    const env = {
      HOME: undefined,
      HEADCOUNT_CONFIG_DIR: undefined,
      HEADCOUNT_STATE_DIR: undefined,
    };
    expect(await offered(testContext({ env }), "-c", "")).toBe(
      "words\t\nsample\tbuilt in, synthetic people\n",
    );
    expect(await offered(testContext({ env }), "resume", "")).toBe("words\t\n");
  });

  test("a broken config offers nothing, but no error", async () => {
    const tested = testContext({});
    mkdirSync(join(tested.dir, "config"), { recursive: true });
    writeFileSync(join(tested.dir, "config", "config.json"), "{");
    await offered(tested, "-c", "");
  });
});
