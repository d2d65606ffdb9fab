// `npm run foreign`: what only long tests, benches and pictures use goes into node_modules beside what a clone has, and into no lock
// file. Words after it are installed with it, since npm takes out what the last such command brought.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";

const packages = JSON.parse(readFileSync(resolve(import.meta.dirname, "packages.json"), "utf8"));
// As development packages: npm leaves optional peers out otherwise, without a word.
const argv = [
  "install",
  "--no-save",
  "--save-dev",
  "--no-audit",
  "--no-fund",
  ...packages,
  ...process.argv.slice(2),
];
const { status } = spawnSync("npm", argv, {
  stdio: "inherit",
  cwd: resolve(import.meta.dirname, "../.."),
});
process.exit(status ?? 1);
