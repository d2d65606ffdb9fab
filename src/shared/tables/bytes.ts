import { createReadStream } from "node:fs";
import { pipeline } from "node:stream";
import { createGunzip } from "node:zlib";
import { decoderOf, encodingJudge, markOf } from "./encoding.ts";
import { InputError, type InputFile } from "./input-file.ts";

const CHUNK = 1 << 20;

export interface ReadingOptions {
  readonly signal?: AbortSignal | undefined;
  readonly onBytes?: ((bytes: number) => void) | undefined;
}

/**
 * A file unpacked, however many members it has.
 * @throws InputError where it is cut off or damaged
 */
export async function* bytesOf(
  file: InputFile,
  options: ReadingOptions = {},
): AsyncGenerator<Buffer> {
  const { signal, onBytes } = options;
  const source = createReadStream(file.path, { highWaterMark: CHUNK, ...(signal && { signal }) });
  let bytes = 0;
  source.on("data", (chunk) => {
    bytes += chunk.length;
    onBytes?.(bytes);
  });
  source.pause();

  try {
    const gunzip = file.packed ? createGunzip({ chunkSize: CHUNK }) : undefined;
    // What goes wrong reaches whoever reads.
    if (gunzip !== undefined) pipeline(source, gunzip, () => undefined);
    yield* rowsOf(file, gunzip ?? source);
  } catch (error) {
    const isDamage = error instanceof Error && "code" in error && /^Z_/.test(String(error.code));
    if (!isDamage) throw error;
    throw new InputError(
      `${file.name} is cut off or damaged`,
      "fetch or pack it again; the dataset is unchanged",
    );
  } finally {
    source.destroy();
  }
}

/** A row a line: of a workbook CSV, of a JSON list an element a line. */
async function* rowsOf(file: InputFile, bytes: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  if (file.kind === "array") {
    const split = elementLines();
    for await (const chunk of bytes) yield split(chunk);
  } else if (file.kind === "workbook") {
    const chunks: Buffer[] = [];
    for await (const chunk of bytes) chunks.push(chunk);
    const { readWorkbook, sheetText } = await import("./workbook.ts");
    yield Buffer.from(sheetText(readWorkbook(file.name, Buffer.concat(chunks)).rows));
  } else yield* bytes;
}

const [QUOTE, BACKSLASH, COMMA, LF, CR, SPACE] = [0x22, 0x5c, 0x2c, 0x0a, 0x0d, 0x20];
const OPENING = new Set([0x5b, 0x7b]);
const CLOSING = new Set([0x5d, 0x7d]);

/** The elements of one JSON list, piece by piece, each a line, every token as it was. */
export function elementLines(): (chunk: Buffer) => Buffer {
  let depth = 0;
  let isText = false;
  let isEscaped = false;

  const place = (byte: number): number => {
    if (isEscaped) isEscaped = false;
    else if (isText) {
      isEscaped = byte === BACKSLASH;
      isText = byte !== QUOTE;
    } else if (byte === QUOTE) isText = true;
    else if (OPENING.has(byte) && depth++ === 0) return SPACE;
    else if (CLOSING.has(byte) && --depth === 0) return LF;
    else if (byte === COMMA && depth === 1) return LF;
    else if (byte === LF || byte === CR) return SPACE;
    return byte;
  };

  return (chunk) => Buffer.from(chunk.map(place));
}

/** UTF-8 without a byte-order mark. @param encoding a label of the WHATWG Encoding Standard */
export async function* utf8Of(
  file: InputFile,
  encoding: string,
  options: ReadingOptions = {},
): AsyncGenerator<Buffer> {
  if (encoding !== "utf-8") {
    const decode = decoderOf(encoding);
    for await (const chunk of bytesOf(file, options)) yield Buffer.from(decode(chunk));
    yield Buffer.from(decode());
    return;
  }

  let first = true;
  for await (const chunk of bytesOf(file, options)) {
    yield first ? withoutByteOrderMark(chunk) : chunk;
    first = false;
  }
}

export const withoutByteOrderMark = (bytes: Buffer): Buffer =>
  bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;

export type TextLook = Awaited<ReturnType<typeof lookAt>>;

const HEAD = 2_200_000;
const PIECE = 64 * 1024;
const MOST_PIECES = 16;

/** Reads all of a file to tell its encoding, unless that is given, and takes samples on the way. */
export async function lookAt(
  file: InputFile,
  encoding: string | undefined,
  options: ReadingOptions,
) {
  const judge = encodingJudge();
  let head = Buffer.alloc(0);
  let later: Buffer[] = [];
  let end: Buffer = Buffer.alloc(0);
  let every = 1;
  let chunks = 0;
  for await (const chunk of bytesOf(file, options)) {
    if (head.length < HEAD) head = Buffer.concat([head, chunk.subarray(0, HEAD - head.length)]);
    else if (chunks++ % every === 0) {
      later.push(Buffer.from(chunk.subarray(0, PIECE)));
      if (later.length > MOST_PIECES) {
        later = later.filter((_, index) => index % 2 === 0);
        every *= 2;
      }
    }

    end = chunk;
    if (encoding === undefined) judge.take(chunk);
  }

  const label = encoding ?? markOf(head) ?? judge.verdict();

  const decoded = (bytes: Buffer): Buffer =>
    label === "utf-8" ? withoutByteOrderMark(bytes) : Buffer.from(decoderOf(label)(bytes));

  // Rows that were added last may have other keys.
  if (head.length === HEAD) later.push(Buffer.from(end.subarray(-PIECE)));

  const wholeLines = later.map(decoded).map((bytes) => bytes.subarray(bytes.indexOf("\n") + 1));
  const pieces = [decoded(head), ...wholeLines];
  return { encoding: label, pieces: pieces.filter((piece) => piece.length > 0) };
}
