import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const ROOT = resolve(import.meta.dirname, "../..");
const work = mkdtempSync(join(tmpdir(), "headcount-pack-"));
let tarball = "";
let packed: string[] = [];

beforeAll(() => {
  const output = execFileSync("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", work], {
    cwd: ROOT,
    encoding: "utf8",
  });
  const parsed: unknown = JSON.parse(output);
  // npm 10 prints an array, npm 11 may print an object keyed by the package's name.
  const [entry] = (Array.isArray(parsed) ? parsed : Object.values(parsed as object)) as {
    filename: string;
    files: { path: string }[];
  }[];
  if (!entry) throw new Error(`npm pack said nothing: ${output}`);
  tarball = join(work, entry.filename);
  packed = entry.files.map((file) => file.path).sort();
});
afterAll(() => rmSync(work, { recursive: true, force: true }));

function install(name: string, flags: readonly string[]): string {
  const folder = join(work, name);
  execFileSync("mkdir", ["-p", folder]);
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name, private: true }));
  execFileSync("npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund", ...flags, tarball], {
    cwd: folder,
    stdio: "pipe",
  });
  return folder;
}

function headcount(folder: string, args: readonly string[]): { stdout: string; stderr: string; status: number | null } {
  const home = join(folder, "home");
  return spawnSync(join(folder, "node_modules/.bin/headcount"), args, {
    encoding: "utf8",
    env: { PATH: process.env.PATH, HOME: home, LANG: "C.UTF-8" },
    timeout: 60_000,
  });
}

function packages(folder: string): { count: number; bytes: number } {
  let bytes = 0;
  for (const file of readdirSync(join(folder, "node_modules"), { recursive: true, withFileTypes: true })) {
    if (file.isFile()) bytes += statSync(join(file.parentPath, file.name)).size;
  }
  const listed = execFileSync("npm", ["ls", "--all", "--parseable"], { cwd: folder, encoding: "utf8" })
    .trim()
    .split("\n");
  return { count: listed.length - 1, bytes };
}

describe("the package", () => {
  test("holds the program and nothing of its workshop", () => {
    const beside = packed.filter((path) => !/^dist\/(program|console)\//.test(path));
    expect(beside).toMatchInlineSnapshot(`
      [
        "CHANGELOG.md",
        "LICENSE",
        "README.md",
        "SECURITY.md",
        "bin/headcount.js",
        "bin/package.json",
        "completions/_headcount",
        "completions/headcount.bash",
        "completions/headcount.fish",
        "completions/headcount.ps1",
        "docs/headcount.1",
        "docs/openapi.json",
        "docs/reference/collection.json",
        "package.json",
        "skills/headcount/SKILL.md",
      ]
    `);
    expect(packed.filter((path) => /\.ts$|^test|^bench|\.map$/.test(path))).toEqual([]);
    expect(packed).toContain("dist/program/main.cjs");
    expect(packed).toContain("dist/console/index.html");
  });

  test("installed in an empty folder, it counts, prices and buys from the sample", () => {
    const folder = install("whole", []);
    expect(headcount(folder, ["--version"]).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    const count = headcount(folder, ["-c", "sample", "count", "--department", "Sales"]);
    expect(count.stderr).not.toContain("error");
    expect(count.stdout).toMatch(/^\d+\n$/);
    const file = join(folder, "people.csv");
    const search = headcount(folder, [
      "-c",
      "sample",
      "search",
      "--department",
      "Sales",
      "--max-credits",
      "3",
      "-o",
      file,
    ]);
    expect(search.status).toBe(0);
    expect(existsSync(file)).toBe(true);
  });

  test("without its optional parts it is a small client that says what is missing", () => {
    const folder = install("client", ["--omit=optional"]);
    const size = packages(folder);
    expect(size.count).toBeLessThanOrEqual(60);
    expect(size.bytes).toBeLessThanOrEqual(20 * 1024 * 1024);
    expect(headcount(folder, ["filters", "department"]).status).toBe(0);
    const data = join(folder, "data");
    for (const command of [
      ["-c", "sample", "count"],
      ["serve", "--data", data],
      ["service", "import", "--people", join(folder, "package.json"), "--data", data],
      ["service", "dataset", "list", "--data", data],
      ["service", "accounts", "list", "--data", data],
      ["service", "verify", "--data", data],
      ["service", "data", "--data", data],
      ["service", "forget", "canary", "--data", data],
      ["mcp"],
      ["--jq", ".", "-c", "sample", "count", "--json"],
    ]) {
      const { status, stdout, stderr } = headcount(folder, command);
      expect({ command, status, stdout }).toEqual({ command, status: 2, stdout: "" });
      expect(stderr, command.join(" ")).toContain("npm install");
    }
  });
});
