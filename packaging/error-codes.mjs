// `npm run completions`: the table of all error codes in docs/reference/exit-codes.md, from what `headcount help error-codes` prints.
import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";

export const PAGE = resolve(import.meta.dirname, "../docs/reference/exit-codes.md");

/** A page of the docs that is named becomes a link to it. */
const linked = (advice) =>
  advice.replace(/docs\/([\w/-]+\/)([\w-]+)\.md/g, (_, folder, page) =>
    folder === "reference/" ? `[${page}](${page}.md)` : `[${page}](../${folder}${page}.md)`,
  );

export function withCodes(page, advice) {
  const rows = advice.map(
    ({ exit = "", codes, advice: text }) =>
      `| ${exit} | ${codes.map((code) => `\`${code}\``).join(", ")} | ${linked(text)} |`,
  );
  const table = ["| exit | code | what to do |", "|---|---|---|", ...rows].join("\n");
  return page.replace(
    /(?<=<!-- codes:begin -->\n)[\s\S]*(?=<!-- codes:end -->)/,
    () => `\n${table}\n\n`,
  );
}

if (import.meta.filename === process.argv[1]) {
  const { ADVICE } = await import("../dist/cli/topics.js");
  writeFileSync(PAGE, withCodes(readFileSync(PAGE, "utf8"), ADVICE));
}
