// Plays every property of the quick form with seeds that CI does not draw, round after round: `npm run campaign properties`.
// HEADCOUNT_SEED is the seed of the first round, HEADCOUNT_SHARE=0.1 plays a tenth of the rounds. The first round that fails ends it.
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";

const ROUNDS = 100;

const ROOT = resolve(import.meta.dirname, "../..");
const VITEST = resolve(ROOT, "node_modules/vitest/vitest.mjs");

const files = readdirSync(resolve(ROOT, "test"), { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".test.ts") && !name.endsWith(".long.test.ts"))
  .map((name) => `test/${name}`)
  .filter((file) => readFileSync(resolve(ROOT, file), "utf8").includes('from "fast-check"'));

const first = Number(process.env.HEADCOUNT_SEED ?? Date.now() % 1_000_000_000);
const rounds = Math.max(1, Math.round(ROUNDS * Number(process.env.HEADCOUNT_SHARE ?? 1)));

for (let round = 0; round < rounds && process.exitCode === undefined; round++) {
  const seed = first + round;
  const env = { ...process.env, HEADCOUNT_SEED: String(seed), CI: "" };
  const argv = [VITEST, "run", "--mode", "quick", "--reporter=dot", ...files];
  const { status } = spawnSync(process.execPath, argv, { cwd: ROOT, stdio: "inherit", env });

  if (status === 0) continue;
  process.exitCode = 1;
  console.error(`HEADCOUNT_SEED=${seed} fails: it plays the same cases again`);
}

const { exitCode = 0 } = process;
if (exitCode === 0)
  console.error(
    JSON.stringify({ campaign: "properties", seed: first, rounds, files: files.length }),
  );
