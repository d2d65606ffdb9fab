import { execFile, execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, test } from "vitest";
import { tempDir } from "../support/client.ts";
import { user } from "../support/export.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const TSC = join(ROOT, "node_modules/.bin/tsc");
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const run = promisify(execFile);

/** The programs of the page, by their names. */
const programs = [
  ...read("docs/how-to/program.md").matchAll(/```js\n\/\/ (\S+\.mjs)\n([\s\S]*?)```/g),
].map(([, name = "", text = ""]) => ({ name, text }));

/** A folder of somebody who has installed the package, as built here. */
function project(): string {
  const folder = tempDir("headcount-project-");
  mkdirSync(join(folder, "node_modules"));
  symlinkSync(ROOT, join(folder, "node_modules/headcount"));
  symlinkSync(join(ROOT, "node_modules/@types"), join(folder, "node_modules/@types"));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  for (const { name, text } of programs) writeFileSync(join(folder, name), text);
  return folder;
}

/** What the compiler says of files of a project; nothing where they are right. */
function compiled(folder: string, files: readonly string[]): string {
  const options = ["--ignoreConfig", "--noEmit", "--strict", "--target", "es2023"];
  const as = ["--module", "nodenext", "--types", "node", "--allowJs", "--checkJs"];
  try {
    execFileSync(TSC, [...files, ...options, ...as, "--noImplicitAny", "false"], {
      cwd: folder,
      encoding: "utf8",
    });
    return "";
  } catch (error) {
    return (error as { stdout: string }).stdout;
  }
}

describe("what a program imports", () => {
  test("its types are those that are kept, in one file that imports nothing", () => {
    const file = join(tempDir(), "api.d.ts");
    execFileSync(process.execPath, [join(ROOT, "packaging/api-types.mjs"), file]);
    const types = readFileSync(file, "utf8");
    expect(types, "npm run api writes docs/api.d.ts anew; say the change in changelog/").toBe(
      read("docs/api.d.ts"),
    );
    expect(types).not.toMatch(/\bimport\b|\bfrom "/);
    expect(types).toContain("export { connect, HeadcountError };");
  });

  test("what buys without consent, and what only looks like a quote, does not compile", () => {
    const folder = project();
    const refused = [
      'hc.buy({ filters: { department: "Legal" } });',
      'hc.buy({ filters: { department: "Legal" } }, {});',
      'hc.buy({ credits: "1" }, { maxCredits: 1 });',
      "hc.buy(offer as Offer, { maxCredits: 1 });",
      "hc.count();",
    ];
    const head =
      'import { connect, type Offer } from "headcount";\nconst hc = await connect();\ndeclare const offer: unknown;\n';
    writeFileSync(join(folder, "wrong.ts"), `${head}${refused.join("\n")}\nexport {};\n`);
    const said = compiled(folder, ["wrong.ts"]);
    const lines = [...said.matchAll(/^wrong\.ts\((\d+),/gm)].map(([, line]) => Number(line));
    expect([...new Set(lines)], said).toEqual(refused.map((_, index) => index + 4));
  });
});

describe("the programs of docs/how-to/program.md", () => {
  let folder = "";
  let env: Record<string, string | undefined>;
  beforeAll(() => {
    folder = project();
    const { HEADCOUNT_BASE_URL: _url, HEADCOUNT_API_KEY: _key, ...own } = user("", "").env;
    env = {
      ...own,
      PATH: process.env.PATH,
      HEADCOUNT_CONNECTION: "sample",
      XDG_DATA_HOME: process.env.HEADCOUNT_TEST_DATA_HOME ?? tempDir("headcount-data-"),
    };
  });

  test("are five, and right for the compiler", () => {
    expect(programs.map(({ name }) => name)).toEqual([
      "count.mjs",
      "buy.mjs",
      "ask.mjs",
      "resume.mjs",
      "owned.mjs",
    ]);
    expect(
      compiled(
        folder,
        programs.map(({ name }) => name),
      ),
    ).toBe("");
  });

  test.each([
    ["count.mjs", /^\d+ people\n$/],
    ["buy.mjs", /^20 rows for 20; \d+ left\n$/],
    ["ask.mjs", /rows: 10,\n/],
    ["resume.mjs", /^run \S+ has 15 rows\n$/],
    ["owned.mjs", /^45 people for 45\n(.+\n){23}$/],
  ])("%s runs against the sample", async (name, said) => {
    const { stderr, stdout } = await run(process.execPath, [name], { cwd: folder, env });
    expect({ stderr, stdout }).toEqual({ stderr: "", stdout: expect.stringMatching(said) });
    if (name === "buy.mjs")
      expect(readFileSync(join(folder, "legal.ndjson"), "utf8").trim().split("\n").length).toBe(20);
  });

  test("by require too, and nothing else of the package is to be imported", async () => {
    const text =
      'console.log(typeof require("headcount").connect);require("headcount/dist/program/main.cjs")';
    const ended = await run(process.execPath, ["--input-type=commonjs", "-e", text], {
      cwd: folder,
      env,
    }).catch((error: { stderr: string; stdout: string }) => error);
    expect(ended.stdout).toBe("function\n");
    expect(ended.stderr).toContain("ERR_PACKAGE_PATH_NOT_EXPORTED");
  });
});
