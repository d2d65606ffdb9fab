import { mkdirSync, writeFileSync } from "node:fs";
import type { Context } from "../../shared/context.ts";
import { packageRoot } from "../../shared/paths.ts";
import { buildProgram } from "../program.ts";
import { generatedFiles } from "./tree.ts";

// Runs no command: a context that can do nothing is enough.
const context = {
  stdout: process.stdout,
  stderr: process.stderr,
  stdin: process.stdin,
  env: {},
  cwd: process.cwd(),
  platform: process.platform,
  argv: [],
} as unknown as Context;

const root = packageRoot();
for (const [path, text] of generatedFiles(await buildProgram(context, [], "all"))) {
  const file = new URL(path, root);
  mkdirSync(new URL("./", file), { recursive: true });
  writeFileSync(file, text);
}
