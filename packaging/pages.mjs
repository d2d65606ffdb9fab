// `npm run completions`: what `headcount help WORD` looks in, offline. Each heading of the docs with the first words below it, and what
// users ask in words of their own (`<!-- asked: ... -->` below the title), then each command with its summary.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";

const ROOT = resolve(import.meta.dirname, "..");
export const FILE = resolve(ROOT, "completions/pages.json");

/** Whoever looks for something to do is answered before whoever wants to understand. */
const FOLDERS = ["how-to", "tutorials", "operate", "reference", "explanation"];
const MOST = 160;

export const ASKED = /^<!-- asked: (.*) -->$/m;

/** As a forge makes them. */
const slugOf = (heading) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replace(/\s/g, "-");

const plain = (text) =>
  text
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/[`*]|<[^>]*>/g, "")
    .replace(/\s+/g, " ")
    .trim();

/** Whole sentences, as many as there is room for. */
function firstWords(text) {
  const sentences = plain(text).split(/(?<=[.!?:]) (?=[A-Z`])/);
  let said = "";
  for (const sentence of sentences) {
    if (said !== "" && said.length + sentence.length > MOST) break;
    said = `${said} ${sentence}`.trim();
  }
  return said.length > MOST ? `${said.slice(0, MOST).replace(/ \S*$/, "")} ...` : said;
}

function entriesOf(path) {
  const page = readFileSync(resolve(ROOT, path), "utf8").replace(/^( *)```[\s\S]*?^\1```/gm, "");
  const asked = ASKED.exec(page)?.[1] ?? "";
  return page
    .split(/^(?=#{1,3} )/m)
    .filter((part) => part.startsWith("#"))
    .map((part, at) => {
      const [head = "", ...lines] = part.split("\n");
      const title = plain(head.replace(/^#+ /, ""));
      const paragraphs = lines
        .join("\n")
        .replace(/<!--[\s\S]*?-->/g, "")
        .split(/\n\s*\n/);
      const first = paragraphs.map((each) => each.trim()).find((each) => /^[^|!#<]/.test(each));
      const place = at === 0 ? path : `${path}#${slugOf(title)}`;
      return [title, place, firstWords(first?.split(/\n(?=[-|])/)[0] ?? ""), at === 0 ? asked : ""];
    });
}

const commandsOf = ({ path, summary, commands }) => [
  ...(path.length === 0 || path[0] === "help"
    ? []
    : [[`headcount ${path.join(" ")}`, `headcount help ${path.join(" ")}`, summary, ""]]),
  ...commands.flatMap(commandsOf),
];

/** @param tree the commands: completions/tree.json */
export function pagesFile(tree) {
  const docs = FOLDERS.flatMap((folder) =>
    readdirSync(resolve(ROOT, "docs", folder))
      .filter((name) => name.endsWith(".md"))
      .flatMap((name) => entriesOf(`docs/${folder}/${name}`)),
  );
  const lines = [...docs, ...commandsOf(tree)].map((entry) => JSON.stringify(entry));
  return `[\n${lines.join(",\n")}\n]\n`;
}

if (import.meta.filename === process.argv[1])
  writeFileSync(
    FILE,
    pagesFile(JSON.parse(readFileSync(resolve(ROOT, "completions/tree.json"), "utf8"))),
  );
