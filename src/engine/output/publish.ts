import { readdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { kill } from "node:process";
import { counted, grouped } from "../../shared/contract/text.ts";
import { CliError } from "../../shared/errors.ts";
import { errorCode, remove } from "../runs/disk.ts";
import { rowsIn } from "./formats.ts";

export interface Guard {
  readonly overwrite: boolean;
  /** Whether nothing may take the place of something. */
  readonly allowEmpty: boolean;
  readonly minRows: number | undefined;
  /** The most that the rows may become fewer by, as a share (0.5: half). */
  readonly maxShrink: number | undefined;
}

export const TOO_FEW = "too_few_rows";

const tooFew = (message: string, hint: string): CliError =>
  new CliError({ code: TOO_FEW, category: "incomplete", message, hint });

/** Asked before anything is bought, and before a file (undefined: a stream) is replaced. @throws CliError exit 5 */
export async function checkRows(rows: number, path: string | undefined, guard: Guard, said = ""): Promise<void> {
  const { allowEmpty, minRows, maxShrink } = guard;
  const came = counted(rows, "row");
  if (minRows !== undefined && rows < minRows) {
    throw tooFew(`${came}: fewer than --min-rows ${minRows}${said}`, "a smaller --min-rows takes them");
  }
  if (path === undefined || (rows === 0 ? allowEmpty : maxShrink === undefined)) return;
  const before = await rowsIn(path);
  if (before === 0) return;
  const there = before === undefined ? "a file whose rows cannot be counted" : `the ${grouped(before)} in ${path}`;
  if (rows === 0) {
    throw tooFew(`0 rows would take the place of ${there}: it stays as it is${said}`, "--allow-empty replaces it");
  }
  if (before === undefined || rows < before * (1 - (maxShrink ?? 1))) {
    const percent = Math.round((maxShrink ?? 1) * 100);
    throw tooFew(
      `${came} instead of ${there}: more than --max-shrink ${percent}% fewer, so it stays as it is${said}`,
      "a larger --max-shrink, or none, replaces it",
    );
  }
}

/** @throws CliError exit 5 where a file appeared that may not be replaced */
export async function naming(path: string, work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
    throw new CliError({
      code: "file_appeared",
      category: "incomplete",
      message: `${path} appeared while this was at work: it stays as it is`,
      hint: "choose another name with -o, or add --overwrite",
    });
  }
}

const LEFT = /(?:-(?:export|forget|mcp)|\.owned)-(\d+)\.part(?:\.scratch)?$/;

export async function clearLeftovers(path: string): Promise<void> {
  const folder = dirname(path);
  for (const name of await readdir(folder).catch(() => [])) {
    const pid = name.startsWith(`.${basename(path)}.`) ? LEFT.exec(name)?.[1] : undefined;
    if (pid !== undefined && !isAlive(Number(pid))) await remove(join(folder, name));
  }
}

function isAlive(pid: number): boolean {
  try {
    kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) !== "ESRCH";
  }
}
