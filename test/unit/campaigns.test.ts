import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, test } from "vitest";
import { CAMPAIGNS } from "../campaigns/campaigns.ts";
import others from "../campaigns/others.json" with { type: "json" };

const ROOT = resolve(import.meta.dirname, "../..");

interface Other {
  readonly script?: string;
  readonly tests?: readonly string[];
}

test("docs/campaigns.md has a line for each campaign, and for nothing else", () => {
  const page = readFileSync(resolve(ROOT, "docs/campaigns.md"), "utf8");
  const told = [...page.matchAll(/^\| `([\w-]+)` \| .+ \| .+ \|$/gm)].map(([, name]) => name);
  const all = [...CAMPAIGNS.map(({ name }) => name), ...Object.keys(others)];
  expect(told.sort()).toEqual(all.sort());
});

test("what plays a campaign that is no module is there", () => {
  const paths = Object.values<Other>(others).flatMap(({ script, tests = [] }) => [
    ...(script === undefined ? [] : [script]),
    ...tests,
  ]);
  expect(paths.filter((path) => !existsSync(resolve(ROOT, path)))).toEqual([]);
});
