import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";

const SRC = resolve(import.meta.dirname, "../../../../src");

test("a connection without the file of a vendor loads nothing of what reads and speaks by one", () => {
  const files = readdirSync(SRC, { recursive: true, encoding: "utf8" }).filter(
    (file) => file.endsWith(".ts") && !/^(engine|shared)\/dialect\//.test(file),
  );
  const eager = (pattern: RegExp): string[] =>
    files.filter((file) => pattern.test(readFileSync(join(SRC, file), "utf8")));
  // A type is no import once it is compiled; `import(...)` waits until it is needed.
  expect(eager(/^import (?!type)[^;]*from "[^"]*\/dialect\/[^"]*";/m)).toEqual([
    "app/vendors.ts",
    // Itself loaded by `doctor --buy` alone.
    "app/doctor/bought.ts",
    "cli/commands/dialects.ts",
  ]);
  expect(eager(/^import (?!type)[^;]*from "[^"]*\/vendors\.ts";/m)).toEqual([
    "app/doctor/bought.ts",
    "cli/commands/dialects.ts",
  ]);
  expect(eager(/^import (?!type)[^;]*from "[^"]*\/doctor\/bought\.ts";/m)).toEqual([]);
});
