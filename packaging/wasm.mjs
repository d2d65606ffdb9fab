import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";

// `npm run wasm` makes the bytes of these sources anew: they are kept, so that nobody else needs the compiler.
for (const [source, kept, ...more] of [
  ["src/shared/rows/rows.as", "src/shared/rows/machine.ts"],
  ["src/dataset/embedded/sweep.as", "src/dataset/embedded/sweep.ts", "--initialMemory", "6"],
]) {
  const folder = mkdtempSync(join(tmpdir(), "headcount-wasm-"));
  let code = "";
  try {
    const made = join(folder, "made.wasm");
    // The compiler takes files of TypeScript's name alone.
    const named = join(folder, "source.ts");
    copyFileSync(source, named);
    const compiler = ["--yes", "--package=assemblyscript@0.28.20", "asc"];
    const options = ["-O3", "--runtime", "stub", "--enable", "simd", "-o", made, ...more];
    execFileSync("npx", [...compiler, named, ...options], { stdio: "inherit" });
    code = readFileSync(made).toString("base64");
  } finally {
    rmSync(folder, { recursive: true });
  }

  const sha256 = createHash("sha256").update(readFileSync(source)).digest("hex");
  const lines = (code.match(/.{1,90}/g) ?? []).join("\n");
  const mark = `// Made of ${basename(source)} by`;
  const [before] = readFileSync(kept, "utf8").split(mark);
  writeFileSync(
    kept,
    `${before}${mark} \`npm run wasm\`, of SHA-256\n// ${sha256}\nconst CODE = \`\n${lines}\n\`;\n`,
  );
}
