import { lstat, realpath } from "node:fs/promises";
import { join } from "node:path";
import { distinctPages, kindOf } from "../../engine/output/distinct.ts";
import { chooseForm } from "../../engine/output/formats.ts";
import { echo } from "../../shared/contract/text.ts";
import { usageError } from "../../shared/errors.ts";
import { parseFields } from "../../shared/rows/columns.ts";
import { nowhere } from "../buy/order.ts";
import { renderingOf, writePages } from "../keep/write-pages.ts";
import type { Given } from "./schemas.ts";
import { type AgentWorld, runsOf, withinFolder } from "./world.ts";

const NEW = { overwrite: false, allowEmpty: true, minRows: undefined, maxShrink: undefined };

/** Writes a run to the one folder that a person gave, and never over something. @throws CliError exit 2 */
export async function exportTool(
  { run: name, format, fields, file }: Given<"export_run">,
  world: AgentWorld,
  signal: AbortSignal,
) {
  const { out } = world;
  if (out === undefined) throw usageError("nothing can be written: the server was started without --out");
  const run = await runsOf(world).open(await runsOf(world).resolve(name));
  const path = await pathIn(out, file ?? `${run.id}.${format}`);
  const view = {
    ...chooseForm(format, path, false),
    ...{ fields: fields && parseFields(fields.join(",")), excel: false, raw: false },
  };
  const pages = () => distinctPages(run);
  const rendering = await renderingOf(pages, kindOf(run), view);
  const writing = { output: path, stream: nowhere(), rendering, guard: NEW, name: `${run.id}-mcp` };
  const written = await writePages(pages, writing, withinFolder(world, signal));
  return { path, rows: written.rows, sha256: written.file?.sha256 ?? "" };
}

/** @throws CliError exit 2 where the name leads out of the folder, or to something that is there */
async function pathIn(folder: string, name: string): Promise<string> {
  if (!/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}$/.test(name))
    throw usageError(
      `"${echo(name)}" is no plain file name: it goes into the folder of --out and nowhere else`,
      "letters, digits, dots, hyphens and underscores",
    );
  const path = join(await realpath(folder), name);
  const there = await lstat(path).catch(() => undefined);
  if (there !== undefined)
    throw usageError(
      `${name} ${there.isSymbolicLink() ? "is a link" : "exists"} in the folder of --out, and stays as it is`,
      "give another name with file",
      "file_exists",
    );
  return path;
}
