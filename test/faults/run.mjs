// The fault campaigns: `npm run faults` the short form (the one in CI), `npm run faults -- --long` the long one, which takes hours.
// `HEADCOUNT_SHARE=0.1` before it runs a tenth of the long form's cases. What a name after that matches is run alone: `npm run faults -- --long ledger`.
import { spawnSync } from "node:child_process";
import { resolve } from "node:path";

const root = resolve(import.meta.dirname, "../..");
const [long, names] = [
  process.argv.includes("--long"),
  process.argv.slice(2).filter((word) => word !== "--long"),
];
const all = [
  "test/faults",
  "test/simulation",
  "test/scene/scene.test.ts",
  "test/service/fuzz.test.ts",
  "test/service/billing.test.ts",
  "test/dataset/exactness.long.test.ts",
  "test/dataset/clickhouse.long.test.ts",
  "test/dataset/clickhouse-servers.long.test.ts",
];
const files = names.length === 0 ? all : names;
const vitest = resolve(root, "node_modules/vitest/vitest.mjs");
const argv = [
  vitest,
  "run",
  ...files,
  ...(long ? ["--testTimeout=14400000", "--reporter=verbose"] : []),
];
const env = { ...process.env, ...(long ? { HEADCOUNT_LONG: "1" } : {}) };
process.exit(spawnSync(process.execPath, argv, { cwd: root, env, stdio: "inherit" }).status ?? 1);
