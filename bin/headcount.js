#!/usr/bin/env node
// CommonJS on purpose: Node's ES module loader alone takes longer than all of `--version`.
const [major, minor] = process.versions.node.split(".").map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(`headcount needs Node.js 20.19 or newer; this is ${process.versions.node}\n`);
  process.exitCode = 2;
} else if (process.argv.length === 3 && process.argv[2] === "--version") {
  process.stdout.write(`${require("../package.json").version}\n`);
} else {
  require("../dist/cli/main.cjs").run();
}
