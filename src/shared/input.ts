import { createReadStream } from "node:fs";
import { resolve } from "node:path";
import type { Context } from "./context.ts";
import { grouped } from "./contract/text.ts";
import { CliError, usageError } from "./errors.ts";

/**
 * What Windows-1252 has from 0x80 on; Node's decoder of that name reads Latin-1. A blank: nothing.
 */
const WINDOWS = [..."€ ‚ƒ„…†‡ˆ‰Š‹Œ Ž  ‘’“”•–—˜™š›œ žŸ"];

const WHY: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file",
  EISDIR: "it is a directory",
  EACCES: "it may not be read by this user",
};

/**
 * The text of a file, a pipe, or of stdin for `-`. @param
 * most bytes @throws CliError exit 2 for no UTF-8 or no file
 */
export async function readInput(
  context: Context,
  file: string,
  what: string,
  most: number,
): Promise<string> {
  const name = inputName(file);
  const refuse = (message: string, hint?: string): CliError =>
    usageError(message, hint, `invalid_${what}_file`);
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of file === "-"
      ? context.stdin
      : createReadStream(resolve(context.cwd, file))) {
      const bytes = typeof chunk === "string" ? Buffer.from(chunk) : (chunk as Buffer);
      size += bytes.length;
      if (size > most)
        throw refuse(
          `${name} is larger than ${grouped(most)} bytes, the most for ${what}`,
          "split it",
        );
      chunks.push(bytes);
    }
  } catch (cause) {
    if (cause instanceof CliError) throw cause;
    const { code, message } = cause as NodeJS.ErrnoException;
    throw refuse(`cannot read ${what} from ${name}: ${WHY[code ?? ""] ?? message}`);
  }

  const bytes = Buffer.concat(chunks);
  // Spreadsheets save "Unicode text" so; its byte order mark tells.
  const wide =
    bytes[0] === 0xff && bytes[1] === 0xfe
      ? "utf-16le"
      : bytes[0] === 0xfe && bytes[1] === 0xff
        ? "utf-16be"
        : undefined;

  try {
    return new TextDecoder(wide ?? "utf-8", { fatal: true }).decode(bytes);
  } catch {
    // What Excel saves as CSV in Western Europe; what has control characters is no text at all.
    if (what === "companies" && wide === undefined && !bytes.some((byte) => byte < 9)) {
      context.stderr.write(`warning: ${name} is not UTF-8: read as Windows-1252\n`);
      return bytes
        .toString("latin1")
        .replace(/[\x80-\x9f]/g, (char) => WINDOWS[char.charCodeAt(0) - 0x80] ?? char);
    }

    throw refuse(
      `${name} is not ${wide === undefined ? "UTF-8" : "UTF-16"} text`,
      "save it as UTF-8",
    );
  }
}

export const inputName = (file: string): string => (file === "-" ? "stdin" : file);
