import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";

const ROOT = resolve(import.meta.dirname, "../..");
const page = readFileSync(join(ROOT, "docs/explanation/reliability.md"), "utf8");

const sectionOf = (title: string): string =>
  page.split(/^## /m).find((section) => section.startsWith(`${title}\n`)) ?? "";

const rows = readFileSync(join(ROOT, "test/promises.md"), "utf8")
  .split("\n")
  .filter((line) => line.startsWith("| ") && !line.startsWith("| what |"))
  .map((line) => line.split("|").map((cell) => cell.trim()))
  .map(([, what = "", kept = "", beside = ""]) => ({ what, kept, beside }));

const promises = [...sectionOf("What is promised").matchAll(/^(\d+)\. /gm)].map(
  ([, n]) => `promise ${n}`,
);
const invariants = [...sectionOf("Invariants").matchAll(/^\| (I\d+|usage) /gm)].map(
  ([, name]) => name,
);

describe("what docs/explanation/reliability.md promises", () => {
  test("has a test for each promise and invariant", () => {
    expect(promises.length).toBe(5);
    expect(invariants.length).toBeGreaterThan(12);

    const told = rows.flatMap(({ what }) => what.match(/promise \d+|I\d+|usage/g) ?? []);
    expect(told.sort()).toEqual([...promises, ...invariants].sort());
  });

  test.each(rows.map(({ what, kept, beside }) => [what, `${kept}; ${beside}`] as const))(
    "%s: its tests are where it says",
    (_, cells) => {
      const named = [...cells.matchAll(/`(test\/[^`]+)`(?:: ([^;|]+?))?(?:;|$)/g)];
      expect(named.length).toBeGreaterThan(0);

      for (const [, file = "", title] of named) {
        expect(existsSync(join(ROOT, file)), file).toBe(true);
        if (title !== undefined)
          expect(readFileSync(join(ROOT, file), "utf8"), file).toContain(title);
      }

      const campaigns = readFileSync(join(ROOT, "test/campaigns/results.md"), "utf8");
      for (const [, list = ""] of cells.matchAll(/campaigns? ([\w-]+(?:, [\w-]+)*)/g))
        for (const name of list.split(", "))
          expect(campaigns).toMatch(new RegExp(`^\\| \`${name}\` `, "m"));
    },
  );
});
