import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { join, resolve } from "node:path";

const ROOT = resolve(import.meta.dirname, "../..");

/** The time of the newest file below a folder, in epoch milliseconds. */
function newest(folder: string): number {
  if (!existsSync(folder)) return 0;
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return Math.max(0, ...entries.map((entry) => statSync(join(entry.parentPath, entry.name)).mtimeMs));
}

/** End-to-end tests run the built program: build it once where it is older than its source. */
export default function setup(): void {
  if (newest(join(ROOT, "dist")) > newest(join(ROOT, "src"))) return;
  const tsc = join(ROOT, "node_modules/typescript/bin/tsc");
  // tsc writes what it can; type errors are what `npm run typecheck` is for, and must not hide every other test's result.
  spawnSync(process.execPath, [tsc, "-p", "tsconfig.build.json"], { cwd: ROOT, stdio: "inherit" });
  const bundled = spawnSync(process.execPath, ["dist/publish/bundle.js"], { cwd: ROOT, stdio: "inherit" });
  if (bundled.status !== 0) throw new Error("the bundle could not be made");
}
