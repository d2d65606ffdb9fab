import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { NATIVES, toInstall } from "../../src/shared/packages.ts";

const ROOTS = [
  "/usr/lib/node_modules/headcount/",
  "/usr/lib/headcount/",
  "/home/me/.npm/_npx/0a1b/node_modules/headcount/",
  "C:\\Users\\me\\AppData\\Roaming\\npm\\node_modules\\headcount\\",
  "/home/me/project/node_modules/headcount/",
];

test("no hint asks a registry for a package of ours, whose name anybody could take there", () => {
  for (const root of ROOTS)
    for (const name of NATIVES) {
      const words = toInstall(name, root).split(": ").at(-1)?.split(" ") ?? [];
      const packages = words.filter((word) => word.startsWith("headcount-"));
      expect(packages, root).toEqual([expect.stringMatching(/^headcount-service-[\d.]+\.tgz$/)]);
    }
});

test("a clone brings all with one command, wherever it is typed", () => {
  expect(toInstall("pg", "/home/me/my clone/")).toBe(
    "install what it needs: npm install --prefix '/home/me/my clone/'",
  );
});

test("npm installs the manual page of every command", () => {
  const root = resolve(import.meta.dirname, "../..");
  const { man } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { man: string[] };
  const pages = readdirSync(join(root, "docs/man")).map((name) => `docs/man/${name}`);
  expect(man).toEqual(pages.sort());
});
