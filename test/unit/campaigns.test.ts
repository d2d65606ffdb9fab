import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import others from "../campaigns/others.json" with { type: "json" };

const ROOT = resolve(import.meta.dirname, "../..");
const FOLDER = join(ROOT, "test/campaigns");

interface Other {
  readonly script?: string;
  readonly tests?: readonly string[];
}

/** Of the modules, read and not loaded: some of them start programs. */
function namesOfModules(): string[] {
  const files = readdirSync(FOLDER, { recursive: true, encoding: "utf8" });
  return files
    .filter((name) => name.endsWith(".ts"))
    .flatMap((name) => {
      const text = readFileSync(join(FOLDER, name), "utf8");
      return /: Campaign = \{\n {2}name: "([\w-]+)"/.exec(text)?.[1] ?? [];
    });
}

test("test/campaigns/results.md has a line for each campaign, and for nothing else", () => {
  const page = readFileSync(join(ROOT, "test/campaigns/results.md"), "utf8");
  const told = [...page.matchAll(/^\| `([\w-]+)` \| .+ \| .+ \|$/gm)].map(([, name]) => name);
  const all = [...namesOfModules(), ...Object.keys(others)];
  expect(all.length).toBeGreaterThan(20);
  expect(told.sort()).toEqual(all.sort());
});

test("what plays a campaign that is no module is there", () => {
  const paths = Object.values<Other>(others).flatMap(({ script, tests = [] }) => [
    ...(script === undefined ? [] : [script]),
    ...tests,
  ]);
  expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});
