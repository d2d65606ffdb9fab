// `npm run foreign`: what only long tests, benches and pictures use goes into node_modules beside what a clone has, and into no lock
// file. Words after it are installed with it, since npm takes out what the last such command brought.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";

const ROOT = resolve(import.meta.dirname, "../..");

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
const npm = (words) => spawnSync("npm", words, { stdio: "inherit", cwd: ROOT }).status ?? 1;

// The generator of the site has a lock of its own (docs/contributing/site.md).
const site = ["ci", "--prefix", "site", "--ignore-scripts", "--no-audit", "--no-fund"];
process.exit(npm(argv) || npm(site));
