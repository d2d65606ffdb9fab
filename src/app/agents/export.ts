import { lstat, realpath } from "node:fs/promises";
import { join } from "node:path";
import { readView } from "../../cli/arguments/export-options.ts";
import { renderingOf, writePages } from "../../cli/purchase/write-pages.ts";
import { Printer } from "../../cli/terminal/printer.ts";
import { distinctPages, kindOf } from "../../engine/output/distinct.ts";
import { echo } from "../../shared/contract/text.ts";
import { usageError } from "../../shared/errors.ts";
import { quietContext, storeOf, type World } from "./world.ts";

export interface ExportArguments {
  readonly run: string;
  readonly format: string;
  readonly fields?: readonly string[];
  /** A bare name: the folder is the one that a person gave. */
  readonly file?: string;
}

/** Writes a run to the one folder that a person gave, and never over something. @throws CliError exit 2 */
export async function exportTool(
  { run: name, format, fields, file }: ExportArguments,
  world: World,
  signal: AbortSignal,
) {
  const { out } = world;
  if (out === undefined) throw usageError("nothing can be written: the server was started without --out");
  const run = await storeOf(world).open(await storeOf(world).resolve(name));
  const path = await pathIn(out, file ?? `${run.id}.${format}`);
  const inner = quietContext(world, signal);
  const flags = {
    ...world.flags,
    ...{ output: path, format },
    ...(fields === undefined ? {} : { fields: fields.join(",") }),
  };
  const view = readView(inner, flags);
  const pages = () => distinctPages(run);
  const rendering = await renderingOf(pages, kindOf(run), view, flags, new Printer(inner, flags));
  const written = await writePages(pages, path, rendering, {}, `${run.id}-mcp`, inner);
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
