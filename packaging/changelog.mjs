// node packaging/changelog.mjs [FOLDER] [DAY]: puts the files of changelog/ under the version of package.json in CHANGELOG.md,
// newest first, and removes them (`npm version` does it). With --check: whether that was done, which the release asks.
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { argv, exit, stderr, stdout } from "node:process";
import { fileURLToPath } from "node:url";

export const KINDS = ["Added", "Changed", "Removed", "Fixed", "Security"];
/** Lines that a change may have beneath its first. */
const MOST_LINES = 5;
const LONGEST_LINE = 160;
const NAME = /^\d{4}-\d\d-\d\d-[a-z0-9-]+\.md$/;

/** A change as its file has it. @throws Error that says what is wrong with its form */
export function changeOf(name, text) {
  const [first = "", ...rest] = text.trimEnd().split("\n");
  const [, kind, what] = /^([A-Z][a-z]+): (\S.*)$/.exec(first) ?? [];
  const wrong = [
    [!NAME.test(name), "its name is not like 2026-12-01-what-it-is.md"],
    [!KINDS.includes(kind), `its first line does not begin with one of ${KINDS.join(": ")}:`],
    [rest.length > MOST_LINES, `more than ${MOST_LINES} lines follow the first`],
    [rest.some((line) => line.trim() === ""), "a line is empty"],
    [[first, ...rest].some((line) => line.length > LONGEST_LINE), "a line is too long"],
  ];
  const problem = wrong.find(([isWrong]) => isWrong)?.[1];
  if (problem !== undefined) throw new Error(`changelog/${name}: ${problem}`);

  return { name, kind, lines: [what, ...rest] };
}

/** All changes of a checkout that no version has yet, newest first. */
export function changesIn(root) {
  const names = readdirSync(join(root, "changelog")).filter((name) => name !== "README.md");
  return names
    .sort()
    .reverse()
    .map((name) => changeOf(name, readFileSync(join(root, "changelog", name), "utf8")));
}

/** What a version brought, by kind. */
function sectionOf(changes) {
  const groups = KINDS.map((kind) => changes.filter((change) => change.kind === kind));
  return groups
    .filter((group) => group.length > 0)
    .map((group) => {
      const items = group.map(({ lines }) => `- ${lines.join("\n  ")}\n`);
      return `### ${group[0].kind}\n${items.join("")}`;
    })
    .join("\n");
}

/** The text of CHANGELOG.md with a version of that day above all others; one that was described ahead is dated. */
export function withVersion(text, version, day, changes) {
  const heading = `## ${version} - ${day}`;
  const section = sectionOf(changes);
  const ahead = `## ${version} (not released yet)`;
  const said = section === "" ? "" : `\n${section}`;
  if (text.includes(`\n${ahead}\n`)) {
    return text.replace(`${ahead}\n`, () => `${heading}\n${said}`);
  }

  if (section === "") throw new Error(`changelog/ says nothing of ${version}`);
  const above = text.search(/^## /m);
  const at = above === -1 ? text.length : above;
  return `${text.slice(0, at)}${heading}\n${said}\n${text.slice(at)}`;
}

const versionIn = (root) => JSON.parse(readFileSync(join(root, "package.json"), "utf8")).version;

/** @returns how many changes were put into CHANGELOG.md */
export function putTogether(root, day) {
  const changes = changesIn(root);
  const file = join(root, "CHANGELOG.md");
  writeFileSync(file, withVersion(readFileSync(file, "utf8"), versionIn(root), day, changes));

  for (const { name } of changes) rmSync(join(root, "changelog", name));
  return changes.length;
}

/** @throws Error where a change has no version, or the version no section with its day */
export function checkTogether(root) {
  const version = versionIn(root);
  const left = changesIn(root).map(({ name }) => name);
  if (left.length > 0) throw new Error(`not in CHANGELOG.md yet: ${left.join(", ")}`);

  const text = readFileSync(join(root, "CHANGELOG.md"), "utf8");
  if (text.split("\n").some((line) => line.startsWith(`## ${version} - `))) return;
  throw new Error(`CHANGELOG.md says nothing of ${version}`);
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  const words = argv.slice(2).filter((word) => word !== "--check");
  const [root = fileURLToPath(new URL("..", import.meta.url)), day] = words;
  try {
    if (argv.includes("--check")) checkTogether(resolve(root));
    else {
      const count = putTogether(resolve(root), day ?? new Date().toISOString().slice(0, 10));
      stdout.write(`CHANGELOG.md has ${count} changes more\n`);
    }
  } catch (error) {
    stderr.write(`${error.message}\n`);
    exit(1);
  }
}
