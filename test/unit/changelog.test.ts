import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import {
  changeOf,
  changesIn,
  checkTogether,
  putTogether,
  withVersion,
} from "../../packaging/changelog.mjs";
import { tempDir } from "../support/client.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const changelog = readFileSync(join(ROOT, "CHANGELOG.md"), "utf8");

/** The changelog of this repository in a folder of its own, of that version and with those changes. */
function copyOf(version: string, changes: Readonly<Record<string, string>>): string {
  const root = tempDir("headcount-changelog-");
  cpSync(join(ROOT, "CHANGELOG.md"), join(root, "CHANGELOG.md"));
  mkdirSync(join(root, "changelog"));
  cpSync(join(ROOT, "changelog/README.md"), join(root, "changelog/README.md"));
  writeFileSync(join(root, "package.json"), JSON.stringify({ version }));
  for (const [name, text] of Object.entries(changes))
    writeFileSync(join(root, "changelog", name), text);
  return root;
}

const read = (root: string): string => readFileSync(join(root, "CHANGELOG.md"), "utf8");

describe("what is there", () => {
  test("each change has a kind, and few lines", () => {
    expect(changesIn(ROOT).length).toBe(readdirSync(join(ROOT, "changelog")).length - 1);
  });

  test("the first version is told in at most 60 lines, none of them long", () => {
    const section = changelog.slice(changelog.indexOf("## 0.1.0"));
    expect(section.trimEnd().split("\n").length).toBeLessThanOrEqual(60);
    expect(changelog.split("\n").filter((line) => line.length > 160)).toEqual([]);
  });
});

describe("the form of a change", () => {
  const GOOD = "2026-12-01-sample-again.md";

  test("has a kind, what is different, and what was before", () => {
    expect(changeOf(GOOD, "Fixed: a sample is paid for once.\nIt was paid for twice.\n")).toEqual({
      name: GOOD,
      kind: "Fixed",
      lines: ["a sample is paid for once.", "It was paid for twice."],
    });
  });

  test.each([
    ["a name without a day", "sample.md", "Fixed: it."],
    ["another kind", GOOD, "Improved: it."],
    ["no kind", GOOD, "A sample is paid for once."],
    ["nothing", GOOD, ""],
    ["a sixth line beneath", GOOD, "Fixed: it.\n1\n2\n3\n4\n5\n6\n"],
    ["an empty line", GOOD, "Fixed: it.\n\nMore.\n"],
    ["a long line", GOOD, `Fixed: ${"x".repeat(160)}\n`],
  ])("is refused with %s", (_, name, text) => {
    expect(() => changeOf(name, text)).toThrow(`changelog/${name}`);
  });
});

describe("a release", () => {
  const CHANGES = {
    "2026-12-01-older.md": "Fixed: the older mend.\n",
    "2026-12-03-newer.md": "Fixed: the newer mend.\nIt was worse before.\n",
    "2026-12-02-thing.md": "Added: a thing.\n",
  };

  test("puts the changes above the versions before, by kind, newest first, and removes them", () => {
    const root = copyOf("0.2.0", CHANGES);
    expect(() => checkTogether(root)).toThrow("2026-12-03-newer.md");

    expect(putTogether(root, "2026-12-04")).toBe(3);

    const section = `## 0.2.0 - 2026-12-04

### Added
- a thing.

### Fixed
- the newer mend.
  It was worse before.
- the older mend.

## 0.1.0`;
    expect(read(root)).toBe(changelog.replace("## 0.1.0", section));
    expect(readdirSync(join(root, "changelog"))).toEqual(["README.md"]);
    expect(() => checkTogether(root)).not.toThrow();
  });

  test("dates the version that was described ahead, and puts what came since on top of it", () => {
    const ahead = "# Changelog\n\n## 0.1.0 (not released yet)\n\nThe first.\n";
    const changes = [{ name: "x", kind: "Added", lines: ["a thing of $& 5."] }];

    expect(withVersion(ahead, "0.1.0", "2026-12-04", [])).toBe(
      "# Changelog\n\n## 0.1.0 - 2026-12-04\n\nThe first.\n",
    );
    expect(withVersion(ahead, "0.1.0", "2026-12-04", changes)).toBe(
      "# Changelog\n\n## 0.1.0 - 2026-12-04\n\n### Added\n- a thing of $& 5.\n\nThe first.\n",
    );
  });

  test("is refused where nothing is said of the version", () => {
    const root = copyOf("0.2.0", {});
    expect(() => putTogether(root, "2026-12-04")).toThrow("says nothing of 0.2.0");
    expect(read(root)).toBe(changelog);
    expect(() => checkTogether(root)).toThrow("CHANGELOG.md says nothing of 0.2.0");
  });

  test("is refused where a change has no form, and nothing is touched", () => {
    const root = copyOf("0.2.0", { ...CHANGES, "2026-12-04-odd.md": "It is odd.\n" });
    expect(() => putTogether(root, "2026-12-04")).toThrow("2026-12-04-odd.md");
    expect(read(root)).toBe(changelog);
    expect(readdirSync(join(root, "changelog"))).toHaveLength(5);
  });
});
