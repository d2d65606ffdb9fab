// Tested by test/cli/output-files.test.ts.

import { readdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { failed, option, say } from "../../shared/errors.ts";
import { isRunning } from "../../shared/process.ts";
import { errorCode, remove } from "../runs/disk.ts";

export const TOO_FEW = "too_few_rows";

/** @throws CliError exit 5 where a file appeared that may not be replaced */
export async function naming(path: string, work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
    throw failed.incomplete(
      `${path} appeared while this was at work: it stays as it is`,
      say`choose another name with ${option("output")}, or add ${option("overwrite")}`,
      "file_appeared",
    );
  }
}

const LEFT = /(?:-(?:export|forget|mcp)|\.owned)-(\d+)\.part(?:\.scratch)?$/;

export async function clearLeftovers(path: string): Promise<void> {
  const folder = dirname(path);
  for (const name of await readdir(folder).catch(() => [])) {
    const pid = name.startsWith(`.${basename(path)}.`) ? LEFT.exec(name)?.[1] : undefined;
    if (pid !== undefined && isRunning({ pid: Number(pid), started: "" }) === false)
      await remove(join(folder, name));
  }
}
