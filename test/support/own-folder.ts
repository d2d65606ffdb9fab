import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll } from "vitest";
import { RUN_FOLDER } from "./once-a-run.ts";

// Each file of tests, which is a process of its own, has its own folder for temporary files: what it makes there, and what the
// programs make that it starts, goes with it. Names are short, since the path of a socket has at most 107 characters.
const folder = mkdtempSync(join(RUN_FOLDER, "f"));
// PostgreSQL's server is another user than root, and has a folder below this one.
chmodSync(folder, 0o711);
process.env.TMPDIR = folder;
// Registered first, so it runs after every other.
afterAll(() => {
  try {
    rmSync(folder, { recursive: true, force: true });
  } catch {
    // Something that was started here is still at work: the folder goes at the end of the run.
  }
});
