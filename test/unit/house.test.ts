import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { parseAst } from "rolldown/parseAst";
import { describe, expect, test } from "vitest";

const SRC = resolve(import.meta.dirname, "../../src");
const FILE_LINES = 400;
const FUNCTION_LINES = 80;
const FLOORS = 6;
const COMMENTS = { least: 0.02, most: 0.07 };

const files = readdirSync(SRC, { recursive: true, encoding: "utf8" })
  .filter((name) => /\.tsx?$/.test(name))
  .sort();
const sources = new Map(files.map((file) => [file, readFileSync(join(SRC, file), "utf8")]));
const linesOf = (text: string): number => text.split("\n").length - 1;

/** Everything that a file names by import: values, types, and what it loads lazily. */
const imports = new Map(
  [...sources].map(([file, source]) => {
    const targets = [...source.matchAll(/(?:\bfrom\s*|\bimport\s*\(?\s*)"(\.[^"]+)"/g)].map(([, specifier = ""]) =>
      relative(SRC, resolve(dirname(join(SRC, file)), specifier)),
    );
    return [file, [...new Set(targets)]] as const;
  }),
);

/** Groups of files that reach each other (Tarjan). */
function circles(): string[][] {
  const found: string[][] = [];
  const index = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const visit = (file: string): number => {
    const mine = index.size;
    index.set(file, mine);
    low.set(file, mine);
    stack.push(file);
    for (const target of imports.get(file) ?? []) {
      if (!index.has(target)) low.set(file, Math.min(low.get(file) ?? mine, visit(target)));
      else if (stack.includes(target)) low.set(file, Math.min(low.get(file) ?? mine, index.get(target) ?? mine));
    }
    const lowest = low.get(file) ?? mine;
    if (lowest === mine) {
      const group = stack.splice(stack.indexOf(file));
      if (group.length > 1) found.push(group.sort());
    }
    return lowest;
  };
  for (const file of files) if (!index.has(file)) visit(file);
  return found;
}

/** How many files of one folder stand on each other. */
function floors(folder: string): number {
  const memo = new Map<string, number>();
  const height = (file: string): number => {
    const known = memo.get(file);
    if (known !== undefined) return known;
    memo.set(file, 0);
    const below = (imports.get(file) ?? []).filter((target) => dirname(target) === folder).map(height);
    const own = 1 + Math.max(0, ...below);
    memo.set(file, own);
    return own;
  };
  return Math.max(...files.filter((file) => dirname(file) === folder).map(height));
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
}

const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";

/** Functions longer than the bound, as `file:line lines`. */
function longFunctions(file: string): string[] {
  const source = sources.get(file) ?? "";
  const found: string[] = [];
  const walk = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(walk);
    if (!isNode(value)) return;
    if (/^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(value.type)) {
      const lines = linesOf(source.slice(value.start, value.end)) + 1;
      if (lines > FUNCTION_LINES) found.push(`${file}:${linesOf(source.slice(0, value.start)) + 1} ${lines}`);
    }
    for (const child of Object.values(value)) walk(child);
  };
  walk(parseAst(source, { lang: file.endsWith("x") ? "tsx" : "ts" }));
  return found;
}

const isComment = (line: string): boolean => /^\s*(\/\/|\/\*|\*(\s|\/|$))/.test(line);

describe("the house", () => {
  test("nothing goes round in a circle, types and lazy imports counted", () => {
    // The program loads each command by its name; a command knows the program's types only.
    expect(circles()).toEqual([]);
  });

  test(`no file is longer than ${FILE_LINES} lines`, () => {
    const long = [...sources].map(([file, text]) => `${file} ${linesOf(text)}`);
    expect(long.filter((entry) => Number(entry.split(" ")[1]) > FILE_LINES)).toEqual([]);
  });

  test(`no function is longer than ${FUNCTION_LINES} lines`, () => {
    expect(files.flatMap(longFunctions)).toEqual([]);
  });

  test(`no wing is taller than ${FLOORS} floors`, () => {
    const wings = [...new Set(files.map((file) => dirname(file)))];
    expect(wings.map((wing) => [wing, floors(wing)]).filter(([, high]) => Number(high) > FLOORS)).toEqual([]);
  });

  test("comments say why, and no more", () => {
    const lines = [...sources.values()].flatMap((text) => text.split("\n"));
    const share = lines.filter(isComment).length / lines.length;
    expect(share).toBeGreaterThanOrEqual(COMMENTS.least);
    expect(share).toBeLessThanOrEqual(COMMENTS.most);
  });
});
