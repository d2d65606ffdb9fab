#!/usr/bin/env node
// CommonJS on purpose: Node's ES module loader alone takes longer than all of `--version`.
const { readFileSync } = require("node:fs");
// Streams are opened where they are written to: each costs a part of a millisecond.
const { argv, versions } = process;

const [major, minor] = versions.node.split(".").map(Number);
const only = argv.length === 3 ? argv[2] : undefined;
if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(`headcount needs Node.js 20.19 or newer; this is ${versions.node}\n`);
  process.exitCode = 2;
} else if (only === "--version") {
  print(`${require("../package.json").version}\n`);
} else if (!((only === "--help" || only === "-h") && printHelp())) {
  run();
}

function run() {
  const program = `${__dirname.slice(0, -"bin".length)}dist/program/main.cjs`;
  require("./code.js").keepCode(program);
  require(program).run();
}

/** What cannot be written is left to the program, which says so. */
function print(text) {
  process.stdout.on("error", run).write(text);
}

/** The program's help as the build wrote it, 80 columns wide. A narrower terminal has it wrapped by the program itself. */
function printHelp() {
  if (process.stdout.columns < 80) return false;
  try {
    print(readFileSync(`${__dirname}/../dist/program/help.txt`));
    return true;
  } catch {
    return false;
  }
}
