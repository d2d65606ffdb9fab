import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { proseOf } from "../support/prose.ts";

const ROOT = resolve(import.meta.dirname, "../..");

/**
 * What the pages measure at most today, and where they are to go (docs/contributing/writing.md). A
 * bound only ever falls; `air` is how much better the pages may be before it has to.
 */
const BOUNDS = {
  "words of all pages": { most: 30_000, goal: 30_000, air: 600 },
  "words of the longest page": { most: 1_500, goal: 1_500, air: 50 },
  "sentences over 30 words, %": { most: 3, goal: 3, air: 0.5 },
  "cells over 25 words": { most: 0, goal: 0, air: 3 },
} as const;

const pages = [
  "README.md",
  "CONTRIBUTING.md",
  ...readdirSync(join(ROOT, "docs"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`),
].map((page) => ({ page, ...proseOf(readFileSync(join(ROOT, page), "utf8")) }));

const sentences = pages.flatMap((page) => page.sentences);
const longest = pages.reduce((one, other) => (other.words > one.words ? other : one));
const TODAY: Readonly<Record<keyof typeof BOUNDS, number>> = {
  "words of all pages": pages.reduce((sum, { words }) => sum + words, 0),
  "words of the longest page": longest.words,
  "sentences over 30 words, %":
    Math.round((1000 * sentences.filter((words) => words > 30).length) / sentences.length) / 10,
  "cells over 25 words": pages.flatMap((page) => page.cells).filter((words) => words > 25).length,
};

describe("words of the pages", () => {
  test.each(Object.entries(BOUNDS))("%s", (name, { most, goal, air }) => {
    const value = TODAY[name as keyof typeof BOUNDS];
    const share = ({ sentences: all }: (typeof pages)[number]): number =>
      all.filter((words) => words > 30).length;
    const worst = [...pages]
      .sort((one, other) => other.words - one.words)
      .slice(0, 8)
      .map((page) => `${page.page}: ${page.words} words, ${share(page)} long sentences`);
    expect(value, `${name}: ${value}\n${worst.join("\n")}`).toBeLessThanOrEqual(most);
    // What became better stays so.
    if (most > goal) expect(most - value, `lower the bound of ${name}: ${value}`).toBeLessThan(air);
  });
});

test("words, sentences and cells are counted as a reader would", () => {
  const page = `# A page

One sentence of six words here. Another, with \`code\` and [a link](https://example.com/a/b/c).
It goes on.

- An item
  of two lines.
- \`Another.\`

\`\`\`sh
not counted at all
\`\`\`

| head | of it |
|---|---|
| \`a \\| b\` | three words here |
`;
  expect(proseOf(page)).toEqual({
    words: 31,
    sentences: [6, 6, 3, 5, 1],
    cells: [1, 2, 0, 0, 2, 3],
  });
});
