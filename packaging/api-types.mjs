import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { argv } from "node:process";
import { fileURLToPath } from "node:url";

// `npm run api`: the types of `import "headcount"` as the compiler emits them, into one file that
// imports nothing. It is kept, so that a change of what is public is a visible diff.
const root = fileURLToPath(new URL("..", import.meta.url));
const [, , to = join(root, "docs/api.d.ts")] = argv;

const folder = mkdtempSync(join(tmpdir(), "headcount-types-"));
const options = ["--ignoreConfig", "--declaration", "--emitDeclarationOnly", "--outDir", folder];
const as = ["--target", "es2023", "--module", "nodenext", "--types", "node"];
try {
  const tsc = join(root, "node_modules/.bin/tsc");
  execFileSync(tsc, [join(root, "src/api/index.ts"), ...options, ...as], { cwd: root });
  writeFileSync(to, readFileSync(join(folder, "index.d.ts")));
} finally {
  rmSync(folder, { recursive: true });
}
