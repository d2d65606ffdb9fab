import { cpSync, existsSync, mkdtempSync, renameSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Where global-setup.ts put everything temporary of this run: in memory, where there is room. */
export const RUN_FOLDER = process.env.HEADCOUNT_TEST_FOLDER ?? tmpdir();
/** The same on a disk. */
export const DISK_FOLDER = process.env.HEADCOUNT_TEST_DISK ?? tmpdir();

/**
 * A folder that takes a second to make and is the same for every file of tests: the first file of a run makes it, and each has a
 * copy of its own. Two that make it at once make it twice.
 */
export async function onceARun(
  name: string,
  make: (folder: string) => Promise<unknown>,
): Promise<string> {
  const shared = join(RUN_FOLDER, name);
  const own = join(mkdtempSync(join(tmpdir(), "headcount-data-")), "dataset");
  if (!existsSync(shared)) {
    const made = join(mkdtempSync(join(RUN_FOLDER, "making-")), name);
    await make(made);
    try {
      renameSync(made, shared);
    } catch (error) {
      if (!existsSync(shared)) throw error;
    }
  }
  cpSync(shared, own, { recursive: true, verbatimSymlinks: true });
  return own;
}
