import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { env, execPath } from "node:process";
import { fileURLToPath } from "node:url";
import { packageRoot } from "../dist/shared/paths.js";
import { bundleProgram } from "./program.mjs";

// The second step of the build: the compiled files become the program in `dist/program`.
const root = packageRoot();
await bundleProgram({ root, folder: fileURLToPath(new URL("dist/program", root)), whole: false });
// The help of the program never changes after this: `bin` prints it without loading what made it.
const program = fileURLToPath(new URL("bin/headcount.js", root));
// What Windows starts no process without is the one variable that the help is made with.
const { SystemRoot } = env;
const help = execFileSync(execPath, [program, "--help"], { env: { SystemRoot } });
writeFileSync(new URL("dist/program/help.txt", root), help);
