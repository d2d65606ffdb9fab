import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseSuppressed, SUPPRESSION_FILES } from "./contract/suppression.ts";
import { ifMissing } from "./folder.ts";

/** A list and its key. @throws what `damaged` makes of why it cannot be read whole */
export async function readSuppressionList(folder: string, damaged: (why: string) => Error) {
  const read = (name: string) => readFile(join(folder, name)).catch(ifMissing(undefined));
  const before = await read(SUPPRESSION_FILES.list);
  const key = await read(SUPPRESSION_FILES.key);
  // Both may have been made between the two readings.
  const list =
    before === undefined && key !== undefined ? await read(SUPPRESSION_FILES.list) : before;

  try {
    return { key, entries: parseSuppressed(list?.toString(), key) };
  } catch (error) {
    throw damaged((error as Error).message);
  }
}
