import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

// `npm run wasm` makes the bytes of src/shared/rows/rows.as anew: they are kept, so that nobody else needs the compiler.
const source = "src/shared/rows/rows.as";
const folder = mkdtempSync(join(tmpdir(), "headcount-wasm-"));
const made = join(folder, "rows.wasm");
// The compiler takes files of TypeScript's name alone.
const named = join(folder, "rows.ts");
copyFileSync(source, named);
const compiler = ["--yes", "--package=assemblyscript@0.28.20", "asc"];
const options = ["-O3", "--runtime", "stub", "--enable", "simd", "-o", made];
execFileSync("npx", [...compiler, named, ...options], { stdio: "inherit" });
const code = readFileSync(made).toString("base64");
rmSync(folder, { recursive: true });

const sha256 = createHash("sha256").update(readFileSync(source)).digest("hex");
const lines = (code.match(/.{1,90}/g) ?? []).join("\n");
const kept = "src/shared/rows/machine.ts";
const [before] = readFileSync(kept, "utf8").split("// Made of rows.as");
writeFileSync(
  kept,
  `${before}// Made of rows.as by \`npm run wasm\`.\nexport const SOURCE_SHA256 = "${sha256}";\nconst ROWS_CODE = \`\n${lines}\n\`;\n`,
);
