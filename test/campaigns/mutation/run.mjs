// Mutation of the files that count money: `npm run campaign mutation -- [FILE...] [--most N] [--told]`. Each mutant changes one place of one file in a
// copy of the repository and runs the tests that are to notice, the quick ones first, until one fails. What nobody notices is a survivor:
// survivors.json names those that were looked at, each with the reason why it may live. Another one ends this with 1. `--told` says of
// every other mutant which test noticed it. `--control` first plays one that changes nothing, which must survive. About two seconds of CPU a mutant.
import { fork } from "node:child_process";
import {
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";

const ROOT = resolve(import.meta.dirname, "../../..");
/** Which tests are to notice a change of which file. */
const WATCHED = {
  "src/service/ledger/rules.ts": [
    "test/service/ledger-rules.test.ts",
    "test/service/store-sqlite.test.ts",
  ],
  "src/service/ledger/facts.ts": [
    "test/service/ledger-rules.test.ts",
    "test/service/store-sqlite.test.ts",
  ],
  "src/service/ledger/group.ts": [
    "test/service/store-sqlite.test.ts",
    "test/campaigns/campaigns.long.test.ts",
  ],
  "src/service/ledger/writes.ts": ["test/service/store-sqlite.test.ts"],
  "src/service/ledger/key-steps.ts": [
    "test/service/store-sqlite.test.ts",
    "test/service/key-bounds.test.ts",
  ],
  "src/service/money/keys.ts": ["test/service/keys.test.ts"],
  "src/service/money/billing.ts": [
    "test/service/billing.test.ts",
    "test/service/endpoints.test.ts",
    "test/service/console-exports.test.ts",
    "test/service/operations.test.ts",
  ],
  "src/shared/contract/money.ts": ["test/unit/contract-money.test.ts", "test/unit/quote.test.ts"],
  "src/engine/purchase/budget.ts": [
    "test/unit/budget.test.ts",
    "test/unit/flight.test.ts",
    "test/unit/remaining.test.ts",
    "test/cli/search.test.ts",
    "test/scene/contract.test.ts",
    "test/scene/replies.test.ts",
    "test/cli/foreign-forgets.test.ts",
    "test/scene/ends.test.ts",
    "test/scene/errors.test.ts",
    "test/scene/keys.test.ts",
    "test/scene/misses.test.ts",
  ],
  "src/engine/purchase/flight.ts": [
    "test/unit/flight.test.ts",
    "test/unit/engine/purchase/races.test.ts",
    "test/cli/search.test.ts",
  ],
  "src/engine/purchase/reading.ts": [
    "test/unit/engine/purchase/races.test.ts",
    "test/scene/keys.test.ts",
    "test/scene/errors.test.ts",
    "test/scene/replies.test.ts",
    "test/scene/misses.test.ts",
    "test/scene/prices.test.ts",
    "test/scene/contract.test.ts",
    "test/cli/foreign-forgets.test.ts",
  ],
  "src/engine/dialect/charges.ts": [
    "test/unit/engine/dialect/charges.test.ts",
    "test/unit/engine/dialect/charged-alone.test.ts",
    "test/vendors/drawn.test.ts",
  ],
  "src/engine/purchase/next-page.ts": ["test/unit/next-page.test.ts", "test/unit/paging.test.ts"],
  "src/engine/purchase/paging.ts": ["test/unit/paging.test.ts", "test/unit/evenly.test.ts"],
  "src/engine/purchase/remaining.ts": [
    "test/unit/remaining.test.ts",
    "test/cli/search.test.ts",
    "test/scene/ends.test.ts",
  ],
  "src/engine/purchase/settle.ts": [
    "test/unit/journal-replay.test.ts",
    "test/unit/engine/purchase/races.test.ts",
    "test/scene/replies.test.ts",
    "test/scene/prices.test.ts",
    "test/scene/misses.test.ts",
    "test/scene/as-asked.test.ts",
    "test/cli/search.test.ts",
    "test/cli/spend.test.ts",
  ],
  "src/engine/purchase/attempt.ts": [
    "test/unit/engine/purchase/races.test.ts",
    "test/scene/errors.test.ts",
    "test/scene/page-sizes.test.ts",
    "test/scene/walls.test.ts",
    "test/scene/misses.test.ts",
    "test/cli/cursor-gone.test.ts",
    "test/scene/keys.test.ts",
    "test/scene/replies.test.ts",
    "test/scene/contract.test.ts",
    "test/scene/broken.test.ts",
    "test/cli/foreign-forgets.test.ts",
    "test/cli/search.test.ts",
  ],
  "src/engine/runs/books.ts": [
    "test/unit/engine/runs/books.test.ts",
    "test/unit/journal-replay.test.ts",
    "test/cli/spend.test.ts",
    "test/scene/replies.test.ts",
  ],
  "src/engine/runs/journal.ts": [
    "test/unit/journal-replay.test.ts",
    "test/cli/spend.test.ts",
    "test/cli/resume.test.ts",
  ],
  "src/engine/runs/spend.ts": ["test/cli/spend.test.ts", "test/cli/runs-kept.test.ts"],
  "src/app/jobs/budget.ts": ["test/cli/jobs.test.ts", "test/cli/jobs-rely.test.ts"],
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
  ["not", /!(?=[\w.(#])/g, ""],
  ["never", /\bif \(/g, "if (false && "],
  ["gone", /^\s+(?:await )?[\w.#?]+\([^;{]*\);$/g, ""],
  ["unset", /^\s+[\w.#]+ [-+]?= [^;{]*;$/g, ""],
];

function mutantsOf(file) {
  const lines = readFileSync(join(ROOT, file), "utf8").split("\n");
  return lines.flatMap((line, index) => {
    if (
      /^\s*(?:\/\/|\*|\/\*|import |export (?:type|interface)|type |interface |readonly )/.test(line)
    )
      return [];
    return CHANGES.flatMap(([name, pattern, put]) =>
      [...line.matchAll(pattern)].map(({ index: at, 0: old }) => {
        const changed = [...lines];
        changed[index] = line.slice(0, at) + put + line.slice(at + old.length);
        return {
          file,
          line: line.trim(),
          change: name,
          at,
          number: index + 1,
          text: changed.join("\n"),
        };
      }),
    );
  });
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { most: { type: "string" }, told: { type: "boolean" }, control: { type: "boolean" } },
});
const files = positionals.length === 0 ? Object.keys(WATCHED) : positionals;
for (const file of files)
  if (WATCHED[file] === undefined)
    throw new Error(`${file} is not among the files that are mutated`);
const all = files.flatMap(mutantsOf);
// Spread evenly where not all are wanted: the same ones each time.
const most = Math.min(all.length, Number(values.most ?? all.length));
const mutants = Array.from(
  { length: most },
  (_, index) => all[Math.floor((index * all.length) / most)],
);
const known = JSON.parse(readFileSync(join(import.meta.dirname, "survivors.json"), "utf8"));
const isKnown = (mutant) =>
  known.some((one) => ["file", "line", "change", "at"].every((key) => one[key] === mutant[key]));

// Only what is changed, and the tests beside it, is copied. The build is nobody's: what is watched runs from the source.
const copy = mkdtempSync(join(tmpdir(), "headcount-mutation-"));
for (const name of readdirSync(ROOT).filter((each) => !/^(?:\.git|coverage)$/.test(each))) {
  if (name === "src" || name === "test")
    cpSync(join(ROOT, name), join(copy, name), { recursive: true });
  else symlinkSync(join(ROOT, name), join(copy, name));
}

let running;
/** Every process of a run is in one group: a test that loops for ever hears nothing else. */
function end() {
  if (running === undefined) return;
  running.removeAllListeners();
  try {
    process.kill(-running.pid, "SIGKILL");
  } catch {
    // It ended by itself.
  }
  running = undefined;
}
process.on("exit", () => {
  end();
  rmSync(copy, { recursive: true, force: true });
});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => process.exit(1));

const heard = () =>
  new Promise((done) => {
    running.once("message", done);
    running.once("exit", () => done(undefined));
  });

/** @returns which tests failed of this file; undefined where nothing was said within `limit` milliseconds */
async function failures(changed, tests, limit) {
  if (running === undefined) {
    running = fork(join(copy, "test/campaigns/mutation/tests.mjs"), {
      cwd: copy,
      detached: true,
      stdio: "ignore",
      // Of the campaigns the one that knows what money does.
      env: { ...process.env, HEADCOUNT_CAMPAIGN: "model" },
    });
    await heard();
  }
  running.send({ changed: join(copy, changed), tests: join(copy, tests) });
  let timer;
  const late = new Promise((done) => {
    timer = setTimeout(done, limit);
  });
  const answer = await Promise.race([heard(), late]);
  clearTimeout(timer);
  running?.removeAllListeners();
  if (answer === undefined) end();
  return answer;
}

const put = (file, text) => writeFileSync(join(copy, file), text);
const original = (file) => readFileSync(join(ROOT, file), "utf8");
const isLate = (answer) =>
  answer === undefined || answer.failed.some(({ message }) => /timed out/i.test(message));

/** How long each file of tests takes where nothing is changed. */
const took = new Map();
async function unchanged(file, tests) {
  const began = performance.now();
  let answer = await failures(file, tests, 600_000);
  for (let tries = 1; tries < 6 && isLate(answer); tries++)
    answer = await failures(file, tests, 600_000);
  if (answer === undefined || answer.failed.length > 0 || answer.ran === 0)
    throw new Error(
      `${tests} is red before anything is changed: ${JSON.stringify(answer?.failed)}`,
    );
  return performance.now() - began;
}

/** @returns the test that failed; undefined where none did. What is late is late again although nothing else is. */
async function notice({ file, text }) {
  for (const tests of WATCHED[file]) {
    for (let tries = 1; ; tries++) {
      put(file, text);
      const answer = await failures(file, tests, 120_000 + 5 * took.get(tests));
      if (!isLate(answer)) {
        if (answer.failed.length > 0) return `${tests}: ${answer.failed[0].name}`;
        break;
      }
      // Nothing but the machine may be slow: then what is not changed is as late.
      put(file, original(file));
      const isBusy = (await unchanged(file, tests)) > 3 * took.get(tests) + 2_000;
      if (tries >= 2 && !isBusy) return `${tests}: ends late or never`;
      if (tries === 6) throw new Error(`this machine is too busy to tell what ${tests} says`);
    }
  }
  return undefined;
}

for (const file of files)
  for (const tests of WATCHED[file]) {
    await unchanged(file, tests);
    took.set(tests, await unchanged(file, tests));
  }
if (values.control)
  for (const file of files) {
    const noticed = await notice({ file, text: original(file) });
    if (noticed !== undefined)
      throw new Error(`a change that nobody makes was noticed: ${noticed}`);
  }
let survivors = 0;
let strange = 0;
for (const mutant of mutants) {
  const noticed = await notice(mutant);
  put(mutant.file, original(mutant.file));
  const { file, line, change, at, number } = mutant;
  const what = `${file}:${number} ${JSON.stringify({ file, line, change, at })}`;
  if (noticed !== undefined) {
    if (values.told) process.stdout.write(`noticed ${what} ${noticed}\n`);
    continue;
  }
  survivors++;
  const expected = isKnown(mutant);
  if (!expected) strange++;
  process.stdout.write(`${expected ? "known" : "NEW  "} ${what}\n`);
}
process.stdout.write(
  `${mutants.length} mutants of ${all.length}, ${survivors} survivors, ${strange} of them not looked at\n`,
);
process.exit(strange === 0 ? 0 : 1);
