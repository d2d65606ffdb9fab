import { constants, createReadStream, openSync, statSync } from "node:fs";
import { Socket } from "node:net";
import { resolve } from "node:path";
import { addAbortSignal, type Readable } from "node:stream";
import type { Context } from "./context.ts";
import { grouped, withoutSecrets } from "./contract/text.ts";
import { CliError, usageError } from "./errors.ts";
import type { InputTable } from "./tables/table.ts";

const WHY: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file",
  EISDIR: "it is a directory",
  EACCES: "it may not be read by this user",
  ENOTDIR: "what its path leads through is a file, not a directory",
  ELOOP: "its symbolic links lead in a circle; name the file itself",
  ENXIO: "it is a socket, or a device that is not there; a file or a pipe can be read",
  ENAMETOOLONG: "its name is longer than the system allows",
};

/** What a file is read as; one that cannot be is `invalid_jobs_file`. */
type What =
  | "companies"
  | "dialect"
  | "filters"
  | "jobs"
  | "people"
  | "sql"
  | "suppression"
  | "values";

/** A pipe that nobody has opened yet would hold a thread, and the end of the process with it. */
const opened = (path: string): Readable =>
  statSync(path).isFIFO()
    ? new Socket({ fd: openSync(path, constants.O_RDONLY | constants.O_NONBLOCK) })
    : createReadStream(path);

/**
 * The bytes of a file, a pipe, or of stdin for `-`.
 * @param most bytes @throws CliError exit 2 where there is no such file, or it is larger
 */
export async function readBytes(
  context: Context,
  file: string,
  what: What,
  most: number,
): Promise<Buffer> {
  const name = inputName(file);
  const refuse = (message: string, hint?: string): CliError =>
    usageError(message, hint, `invalid_${what}_file`);
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    const source = file === "-" ? context.stdin : opened(resolve(context.cwd, file));
    for await (const chunk of addAbortSignal(context.interrupted, source)) {
      size += chunk.length;
      if (size > most)
        throw refuse(
          `${name} is larger than ${grouped(most)} bytes, the most for ${what}`,
          "split it",
        );
      chunks.push(Buffer.from(chunk));
    }
  } catch (cause) {
    context.interrupted.throwIfAborted();
    if (cause instanceof CliError) throw cause;
    const { code = "", message } = cause as NodeJS.ErrnoException;
    throw refuse(`cannot read ${what} from ${name}: ${WHY[code] ?? message}`);
  }

  return Buffer.concat(chunks);
}

/**
 * The text of a file, a pipe, or of stdin for `-`: unpacked, without a byte-order mark.
 * @throws CliError exit 2 as {@link readBytes}, and for what is no text
 */
export async function readInput(
  context: Context,
  file: string,
  what: What,
  most: number,
): Promise<string> {
  const { decoded, plainOf, worded } = await import("./tables/table.ts");
  const name = inputName(file);
  const read = await readBytes(context, file, what, most);

  const { kind, bytes } = worded(() => plainOf(name, read), `invalid_${what}_file`);
  if (kind === "workbook" || kind === "parquet") {
    throw usageError(
      `${name} is a table, not text`,
      "save what is meant as text",
      `invalid_${what}_file`,
    );
  }

  const { text, note } = worded(() => decoded(name, bytes), `invalid_${what}_file`);
  if (note !== undefined) context.stderr.write(`warning: ${note}\n`);
  return text.replace(/^\ufeff/, "");
}

/**
 * A table or list of the caller's. What of its reading is not as expected is told on stderr.
 * @throws CliError exit 2 as {@link readBytes}, and where it is no table
 */
export async function readTableFile(
  context: Context,
  file: string,
  what: What,
  most: number,
): Promise<InputTable> {
  const { readTable } = await import("./tables/table.ts");
  const table = await readTable(inputName(file), await readBytes(context, file, what, most));
  for (const note of table.notes) context.stderr.write(`warning: ${note}\n`);
  return table;
}

/** As it is told: an address is no file, and may hold a password. */
export const inputName = (file: string): string => (file === "-" ? "stdin" : withoutSecrets(file));
