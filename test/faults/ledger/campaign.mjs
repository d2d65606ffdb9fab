// The fault campaigns of the ledger: `node test/faults/ledger/campaign.mjs [--long] [name ...]`. Each prints one line of figures
// per campaign on stderr; those of the last long run are in docs/reliability.md. Names are parts of file names: power-loss, model.
import { spawnSync } from "node:child_process";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const root = resolve(here, "../../..");
const names = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
const { status } = spawnSync(
  process.execPath,
  [
    join(root, "node_modules/vitest/vitest.mjs"),
    "run",
    // One at a time: the campaigns load the machine enough as they are.
    "--no-file-parallelism",
    ...(names.length > 0
      ? names.map((name) => `test/faults/ledger/${name}`)
      : ["test/faults/ledger"]),
  ],
  {
    cwd: root,
    stdio: "inherit",
    env: { ...process.env, ...(process.argv.includes("--long") ? { HEADCOUNT_LONG: "1" } : {}) },
  },
);
process.exitCode = status ?? 1;
