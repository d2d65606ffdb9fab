import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect } from "vitest";
import { DISK_FOLDER, RUN_FOLDER } from "./once-a-run.ts";

/** What a file promises of a disk is tried on one; everything else is in memory, which saves a third of its time. */
const ON_DISK = /\/test\/(?:faults|campaigns)\//;

// Each file of tests has its own folder for temporary files: what it makes there, and what the programs make that it starts, goes
// with it. Names are short, since the path of a socket has at most 107 characters.
const home = ON_DISK.test(expect.getState().testPath ?? "") ? DISK_FOLDER : RUN_FOLDER;
const folder = mkdtempSync(join(home, "f"));
// PostgreSQL's server is another user than root, and has a folder below this one.
chmodSync(folder, 0o711);
process.env.TMPDIR = folder;

// Of files that share a process a module may keep what it made for the next one: their folders go at the end of the run.
// Registered first, so it runs after every other.
if (process.env.HEADCOUNT_KIND === "apart")
  afterAll(() => {
    try {
      rmSync(folder, { recursive: true, force: true });
    } catch {
      // Something that was started here is still at work: the folder goes at the end of the run.
    }
  });
