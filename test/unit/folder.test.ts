import fs, { existsSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { FOLDER_MODE, makeFolder } from "../../src/shared/folder.ts";

/** Works while another process makes a folder right after it was found missing. */
function besideOneWhoMakes(folder: string, work: () => void): void {
  const { mkdirSync } = fs;
  fs.mkdirSync = ((path: string, options: object) => {
    try {
      return mkdirSync(path, options);
    } finally {
      if (!existsSync(folder)) mkdirSync(folder);
    }
  }) as typeof mkdirSync;
  syncBuiltinESMExports();
  try {
    work();
  } finally {
    fs.mkdirSync = mkdirSync;
    syncBuiltinESMExports();
  }
}

test("a folder is made with those above it, whichever of them another process makes meanwhile", () => {
  for (const [index, made] of ["a", "a/b", "a/b/c"].entries()) {
    const base = join(tmpdir(), `beside-${index}`);
    fs.mkdirSync(join(base, made, ".."), { recursive: true });
    const whole = join(base, "a/b/c/d");
    besideOneWhoMakes(join(base, made), () => makeFolder(whole));
    expect(fs.statSync(whole).mode & 0o777).toBe(FOLDER_MODE);
  }
});

test("where nothing can be made the system's word is thrown, and it ends", () => {
  const file = join(tmpdir(), "is-a-file");
  fs.writeFileSync(file, "");
  expect(() => makeFolder(file)).toThrow("EEXIST");
  expect(() => makeFolder(join(file, "below"))).toThrow("ENOTDIR");
  expect(() => makeFolder("/proc/nobody/below/there")).toThrow(/^E[A-Z]+: /);
});
