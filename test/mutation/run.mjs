// Mutation of the files that count money: `npm run mutate [-- FILE...] [--most N]`. Each mutant changes one place of one file in a copy of
// the repository and runs the tests that are to notice. What nobody notices is a survivor: survivors.json names those that were looked
// at, each with the reason why it may live. Another one ends this with 1. Some seconds a mutant: all of them take hours.
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";

const ROOT = resolve(import.meta.dirname, "../..");
/** Which tests are to notice a change of which file. */
const WATCHED = {
  "src/service/ledger/rules.ts": ["test/service/ledger-rules.test.ts", "test/service/store-sqlite.test.ts"],
  "src/service/ledger/facts.ts": ["test/service/ledger-rules.test.ts", "test/service/store-sqlite.test.ts"],
  "src/service/ledger/group.ts": ["test/service/store-sqlite.test.ts", "test/faults/ledger/model.long.test.ts"],
  "src/service/money/billing.ts": ["test/service/billing.test.ts", "test/service/endpoints.test.ts"],
  "src/shared/contract/money.ts": ["test/unit/contract-money.test.ts", "test/unit/quote.test.ts"],
  "src/engine/purchase/budget.ts": [
    "test/unit/flight.test.ts",
    "test/unit/remaining.test.ts",
    "test/cli/search.test.ts",
    "test/cli/foreign.test.ts",
    "test/cli/foreign-forgets.test.ts",
  ],
  "src/engine/purchase/flight.ts": ["test/unit/flight.test.ts", "test/cli/search.test.ts"],
  "src/engine/purchase/next-page.ts": ["test/unit/next-page.test.ts", "test/unit/paging.test.ts"],
  "src/engine/purchase/remaining.ts": ["test/unit/remaining.test.ts", "test/cli/search.test.ts"],
  "src/engine/purchase/settle.ts": [
    "test/unit/journal-replay.test.ts",
    "test/cli/search.test.ts",
    "test/cli/spend.test.ts",
  ],
  "src/engine/planning/parts.ts": ["test/planning/parts.test.ts", "test/planning/descent.test.ts"],
};
/** What may go wrong in a line, each once for each place where it matches. */
const CHANGES = [
  ["equal", / === /g, " !== "],
  ["unequal", / !== /g, " === "],
  ["most", / <= /g, " < "],
  ["below", / < /g, " <= "],
  ["least", / >= /g, " > "],
  ["above", / > /g, " >= "],
  ["and", / && /g, " || "],
  ["or", / \|\| /g, " && "],
  ["sum", / \+ (?!["`])/g, " - "],
  ["difference", / - /g, " + "],
  ["min", /Math\.min\(/g, "Math.max("],
  ["max", /Math\.max\(/g, "Math.min("],
  ["gone", /^\s+(?:await )?[\w.#?]+\([^;{]*\);$/g, ""],
];

function mutantsOf(file) {
  const lines = readFileSync(join(ROOT, file), "utf8").split("\n");
  return lines.flatMap((line, index) => {
    if (/^\s*(?:\/\/|\*|\/\*|import |export (?:type|interface)|type |interface |readonly )/.test(line)) return [];
    return CHANGES.flatMap(([name, pattern, put]) =>
      [...line.matchAll(pattern)].map(({ index: at, 0: old }) => {
        const changed = [...lines];
        changed[index] = line.slice(0, at) + put + line.slice(at + old.length);
        return { file, line: line.trim(), change: name, at, number: index + 1, text: changed.join("\n") };
      }),
    );
  });
}

const { values, positionals } = parseArgs({ allowPositionals: true, options: { most: { type: "string" } } });
const files = positionals.length === 0 ? Object.keys(WATCHED) : positionals;
for (const file of files)
  if (WATCHED[file] === undefined) throw new Error(`${file} is not among the files that are mutated`);
const all = files.flatMap(mutantsOf);
// Spread evenly where not all are wanted: the same ones each time.
const most = Math.min(all.length, Number(values.most ?? all.length));
const mutants = Array.from({ length: most }, (_, index) => all[Math.floor((index * all.length) / most)]);
const known = JSON.parse(readFileSync(join(import.meta.dirname, "survivors.json"), "utf8"));
const isKnown = (mutant) =>
  known.some((one) => ["file", "line", "change", "at"].every((key) => one[key] === mutant[key]));

const copy = mkdtempSync(join(tmpdir(), "headcount-mutation-"));
// What the tests build, they build there.
for (const name of readdirSync(ROOT).filter((each) => !/^(?:node_modules|\.git|coverage)$/.test(each))) {
  cpSync(join(ROOT, name), join(copy, name), { recursive: true });
}
symlinkSync(join(ROOT, "node_modules"), join(copy, "node_modules"));
process.on("exit", () => rmSync(copy, { recursive: true, force: true }));

function notice(file) {
  const argv = ["node_modules/vitest/vitest.mjs", "run", ...WATCHED[file], "--bail=1", "--reporter=dot"];
  const { status } = spawnSync(process.execPath, argv, { cwd: copy, stdio: "ignore", timeout: 180_000 });
  return status !== 0;
}

for (const file of files) if (notice(file)) throw new Error(`the tests of ${file} are red before anything is changed`);
let survivors = 0;
let strange = 0;
for (const mutant of mutants) {
  writeFileSync(join(copy, mutant.file), mutant.text);
  const noticed = notice(mutant.file);
  cpSync(join(ROOT, mutant.file), join(copy, mutant.file));
  if (noticed) continue;
  survivors++;
  const expected = isKnown(mutant);
  if (!expected) strange++;
  const { file, line, change, at, number } = mutant;
  process.stdout.write(
    `${expected ? "known" : "NEW  "} ${file}:${number} ${JSON.stringify({ file, line, change, at })}\n`,
  );
}
process.stdout.write(
  `${mutants.length} mutants of ${all.length}, ${survivors} survivors, ${strange} of them not looked at\n`,
);
process.exitCode = strange === 0 ? 0 : 1;
