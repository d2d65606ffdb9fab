import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { describe, expect, test } from "vitest";

const ROOT = resolve(import.meta.dirname, "../..");
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const pages = [
  "README.md",
  "CONTRIBUTING.md",
  ...readdirSync(join(ROOT, "docs"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`),
];

/** It buys or deletes, and nothing on its line agrees to that. */
const asks = (line: string): boolean =>
  /\bheadcount (?:-c \S+ )?(?:search|employees|enrich|refresh|resume|forget|login|runs (?:remove|prune))\b/.test(
    line,
  ) && !/ (?:--yes|-y|--dry-run|--help)\b/.test(line);

describe("what the pages name", () => {
  test("docs/contributing/how-a-credit-moves.md names functions that are in the files that it names", () => {
    const named = [
      ...read("docs/contributing/how-a-credit-moves.md").matchAll(/`(\w+)`\s*\(([\w/-]+\.ts)\)/g),
    ];
    expect(named.length).toBeGreaterThan(10);
    const missing = named.filter(([, name, file]) => {
      const path = join("src/service", file ?? "");
      return !existsSync(join(ROOT, path)) || !new RegExp(`\\b${name}\\b`).test(read(path));
    });
    expect(missing.map(([text]) => text)).toEqual([]);
  });

  test("docs/contributing/purchase.md names classes and functions that are there", () => {
    const code = readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts"))
      .map((name) => read(join("src", name)))
      .join("\n");
    const steps = read("docs/contributing/purchase.md").split("## Tests")[0] ?? "";
    const named = [...steps.matchAll(/`([A-Za-z]+(?:\.[a-z][A-Za-z]+)?)`/g)].map(
      ([, name]) => name ?? "",
    );
    expect(named.length).toBeGreaterThan(20);
    const known = (name: string): boolean =>
      name.split(".").every((part) => new RegExp(`\\b${part}\\b`).test(code));
    expect(named.filter((name) => !known(name))).toEqual([]);
  });

  test.each(pages)("%s links to files that are there", (page) => {
    const links = [...read(page).matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)/g)].map(
      ([, target]) => target ?? "",
    );
    expect(links.filter((target) => !existsSync(join(ROOT, dirname(page), target)))).toEqual([]);
  });

  test("every page is one click from docs/README.md", () => {
    const linked = new Set(
      [...read("docs/README.md").matchAll(/\]\(([^)#\s]+)/g)].map(([, target = ""]) =>
        join("docs", target),
      ),
    );
    const lost = pages.filter((page) => page !== "docs/README.md" && page !== "README.md");
    expect(lost.filter((page) => !linked.has(page))).toEqual([]);
  });

  /**
   * Pages of the clone's own tools, which CI runs as such, and what other tests run as it stands.
   */
  const WITHOUT_EXAMPLE = new Set([
    "CONTRIBUTING.md",
    "docs/README.md",
    ...["architecture", "dependencies", "site", "writing"].map(
      (name) => `docs/contributing/${name}.md`,
    ),
    "docs/explanation/campaigns.md",
    "docs/explanation/performance.md",
    // A cluster: test/dataset/clickhouse-servers.long.test.ts.
    "docs/operate/clickhouse.md",
    // Its blocks are programs: test/e2e/release.long.test.ts.
    "docs/how-to/program.md",
  ]);

  test("every page has an example that runs (test/e2e/examples.long.test.ts)", () => {
    const bare = pages.filter((page) => !/^```sh$/m.test(read(page)));
    expect(bare.toSorted()).toEqual([...WITHOUT_EXAMPLE].toSorted());
  });

  test("every page lies in the folder of its kind (docs/contributing/writing.md)", () => {
    const kinds = "tutorials|how-to|operate|reference|explanation|contributing";
    const tree = new RegExp(`^(README|CONTRIBUTING|docs/README|docs/(${kinds})/[a-z0-9-]+)\\.md$`);
    expect(pages.filter((page) => !tree.test(page))).toEqual([]);
  });

  test.each(pages)("%s is read in one sitting: at most 200 lines", (page) => {
    expect(read(page).split("\n").length - 1).toBeLessThanOrEqual(200);
  });

  test.each(pages)("%s links to headings that are there", (page) => {
    const slug = (heading: string): string =>
      heading
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\s_-]/gu, "")
        .trim()
        .replace(/\s/g, "-");
    const has = (target: string, anchor: string): boolean =>
      [...read(target).matchAll(/^#+ (.*)$/gm)].some(
        ([, heading = ""]) => slug(heading) === anchor,
      );
    const links = [...read(page).matchAll(/\]\((?!https?:|mailto:)([^)#\s]*)#([^)\s]+)\)/g)];
    const wrong = links.filter(([, file = "", anchor = ""]) => {
      const target = file === "" ? page : join(dirname(page), file);
      return target.endsWith(".md") && existsSync(join(ROOT, target)) && !has(target, anchor);
    });
    expect(wrong.map(([link]) => link)).toEqual([]);
  });

  // Whatever asks takes the next line that was pasted for its answer.
  test.each(pages)("%s has no command that asks before the end of a block", (page) => {
    const blocks = [...read(page).matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(([, text = ""]) =>
      text.replace(/\\\n/g, "").trimEnd().split("\n"),
    );
    const asking = blocks.flatMap((lines) => lines.slice(0, -1).filter(asks));
    expect(asking).toEqual([]);
  });

  test("comments cite pages of this repository, by headings that they have", () => {
    const sources = readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" }).filter(
      (name) => name.endsWith(".ts"),
    );
    const wrong: string[] = [];
    for (const file of sources) {
      const text = read(join("src", file));
      for (const [, page = ""] of text.matchAll(/\b((?:docs\/(?:[a-z-]+\/)?)?[a-z0-9-]+\.md)\b/g)) {
        if (
          page.startsWith("docs/")
            ? !existsSync(join(ROOT, page))
            : !/^(README|CHANGELOG|CONTRIBUTING)/i.test(page)
        )
          wrong.push(`${file}: ${page}`);
      }
      for (const [, heading = ""] of text.matchAll(
        /docs\/reference\/contract\.md, ([A-Z][a-z]+)/g,
      )) {
        if (!new RegExp(`^## ${heading}\\b`, "m").test(read("docs/reference/contract.md")))
          wrong.push(`${file}: docs/reference/contract.md, ${heading}`);
      }
    }
    expect(wrong).toEqual([]);
  });
});
