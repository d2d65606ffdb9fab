// The pages of docs/ as a site (docs/contributing/site.md). They stay plain Markdown that reads well on a forge: what a site needs of
// them is made here. `npm run build` writes .vitepress/dist, which any server of files can serve, and nothing is loaded from elsewhere.
import { cpSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join, normalize, relative, resolve } from "node:path";
import { defineConfig } from "vitepress";

const ROOT = resolve(import.meta.dirname, "../..");
const INDEX = "docs/README.md";
const KINDS = {
  tutorials: "Learn",
  "how-to": "Do",
  operate: "Run a service",
  reference: "Look up",
  explanation: "Understand",
  contributing: "Contribute",
};

/** Pages, and what pages link to outside of docs/. */
const PAGES = [
  ...[
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CHANGELOG.md",
    "changelog/README.md",
    "bench/results",
    "findings/README.md",
    "test/campaigns/results.md",
    "test/promises.md",
  ],
  ...[INDEX, "docs/growth.svg", "docs/tour", ...Object.keys(KINDS).map((kind) => `docs/${kind}`)],
];
/** Files beside the pages that a reader may fetch. */
const FETCHED = ["docs/served/icon.svg", "docs/openapi.json", "docs/api.d.ts", "docs/recipes"];

// Vue is looked for from where a page lies, and only this folder has it.
const COPY = resolve(import.meta.dirname, "../pages");
rmSync(COPY, { recursive: true, force: true });
for (const path of PAGES)
  cpSync(join(ROOT, path), join(COPY, path), {
    recursive: true,
    filter: (from) => !/\.(?:json|mjs)$/.test(from),
  });

const read = (path) => readFileSync(join(ROOT, path), "utf8");
const titleOf = (path) => /^# (.*)$/m.exec(read(path))?.[1].replaceAll("`", "") ?? path;

/** Where a file of the repository stands on the site. */
const placeOf = (path) => {
  if (path === INDEX) return "index.md";
  return path === "README.md" ? "about.md" : path.replace(/^docs\//, "");
};

/** Pages as the index names them, first mention first: there is no second list to keep. */
const ordered = [...read(INDEX).matchAll(/\]\(([^)#\s]+\.md)/g)].map(([, target]) =>
  normalize(join(dirname(INDEX), target)),
);
const sidebar = Object.entries(KINDS).map(([kind, text]) => ({
  text,
  collapsed: kind === "contributing",
  items: readdirSync(join(ROOT, "docs", kind))
    .map((name) => `docs/${kind}/${name}`)
    .sort((one, other) => ordered.indexOf(one) - ordered.indexOf(other))
    .map((page) => ({ text: titleOf(page), link: `/${placeOf(page).replace(/\.md$/, "")}` })),
}));

/** A link leads from the file that it stands in; pages have other places on the site. */
function linksOfFiles(markdown) {
  markdown.core.ruler.push("links-of-files", ({ tokens, env }) => {
    const folder = dirname(relative(COPY, env.realPath ?? env.path));
    for (const token of tokens.flatMap((block) => block.children ?? [])) {
      const href = token.type === "link_open" ? token.attrGet("href") : null;
      if (href === null || /^(?:[a-z]+:|#)/.test(href)) continue;
      const [path, anchor] = href.split("#");
      const place = placeOf(normalize(join(folder, path)));
      token.attrSet("href", `/${place}${anchor === undefined ? "" : `#${anchor}`}`);
    }
  });
}

/** What the search looks in: pages for users, with what they ask in words of their own; measured histories answer nobody. */
function searched(source, env, markdown) {
  if (
    /^(?:docs\/)?(?:bench|changelog|findings|test|contributing)\/|^CHANGELOG/.test(env.relativePath)
  )
    return "";
  const asked = /^<!-- asked: (.*) -->$/m.exec(source)?.[1] ?? "";
  return markdown.render(
    source.replace(/^# .*$/m, (title) => `${title}\n\n${asked}\n`),
    env,
  );
}

/** A question's own words say nothing of its answer. The page has this function as text: all that it needs is in it. */
function telling(term) {
  const word = term.toLowerCase();
  const silent =
    /^(?:a|an|and|are|can|did|do|does|during|for|from|get|have|headcount|how|i|in|is|it|many|me|much|my|of|on|or|that|the|this|to|was|what|when|where|which|who|why|with)$/;
  return silent.test(word) ? null : word;
}

/** As a forge makes them, and test/unit/docs.test.ts. */
const slugify = (heading) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replace(/\s/g, "-");

export default defineConfig({
  title: "headcount",
  description: "Count people for free, see what they cost, buy exactly that.",
  lang: "en",
  head: [["link", { rel: "icon", href: "/served/icon.svg" }]],
  srcDir: "pages",
  rewrites: placeOf,
  markdown: {
    config: linksOfFiles,
    anchor: { slugify },
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
  },
  buildEnd: ({ outDir }) => {
    for (const path of FETCHED)
      cpSync(join(ROOT, path), join(outDir, placeOf(path)), { recursive: true });
  },
  themeConfig: {
    nav: [
      { text: "What it is", link: "/about" },
      { text: "Your first list", link: "/tutorials/first-list" },
      { text: "When something goes wrong", link: "/reference/troubleshooting" },
    ],
    sidebar,
    outline: [2, 3],
    search: {
      provider: "local",
      options: { _render: searched, miniSearch: { options: { processTerm: telling } } },
    },
  },
});
