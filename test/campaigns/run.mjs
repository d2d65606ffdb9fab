// `npm run campaign NAME` plays a campaign whole, which takes minutes or hours; `npm run campaign` alone says which there are and how the last
// whole run of each ended. HEADCOUNT_SEED plays another seed, HEADCOUNT_SHARE=0.1 a tenth of the cases. What is written after the name is for
// those that are scripts (`mutation`, `conformance`).
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";

const ROOT = resolve(import.meta.dirname, "../..");
const VITEST = resolve(ROOT, "node_modules/vitest/vitest.mjs");
const DAY_MS = 86_400_000;

const campaigns = readFileSync(resolve(import.meta.dirname, "results.md"), "utf8")
  .split("\n")
  .flatMap((line) => {
    const [, name, does, last] = /^\| `([\w-]+)` \| (.*) \| (.*) \|$/.exec(line) ?? [];
    return name === undefined ? [] : [{ name, does, last }];
  });
/** Those that are no module of this folder: a script, or tests that have a longer form. */
const others = JSON.parse(readFileSync(resolve(import.meta.dirname, "others.json"), "utf8"));

/** A line each; `| head` may leave before the end. */
function list(stream) {
  const width = Math.max(...campaigns.map(({ name }) => name.length));
  const lines = campaigns.map(
    ({ does, last, name }) => `${name.padEnd(width)}  ${does}; ${last}\n`,
  );
  stream.on("error", () => undefined).write(lines.join(""));
}

/** What plays a campaign: arguments of node, and what its environment has beside. */
function programOf(name, words) {
  const { script, tests } = others[name] ?? {};
  if (script !== undefined) return { argv: [script, ...words], env: {} };

  const files = tests ?? ["test/campaigns/campaigns.long.test.ts"];
  return {
    argv: [VITEST, "run", ...files, `--testTimeout=${DAY_MS}`, "--reporter=verbose"],
    env: { HEADCOUNT_LONG: "1", ...(tests === undefined ? { HEADCOUNT_CAMPAIGN: name } : {}) },
  };
}

const [name, ...words] = process.argv.slice(2);
if (name === undefined) list(process.stdout);
else if (!campaigns.some((each) => each.name === name)) {
  process.stderr.write(`there is no campaign ${JSON.stringify(name)}; there are:\n`);
  list(process.stderr);
  process.exitCode = 2;
} else {
  const { argv, env } = programOf(name, words);
  const options = { cwd: ROOT, stdio: "inherit", env: { ...process.env, ...env } };
  process.exitCode = spawnSync(process.execPath, argv, options).status ?? 1;
}
