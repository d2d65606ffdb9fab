import { createReadStream } from "node:fs";
import { pipeline } from "node:stream";
import { createGunzip } from "node:zlib";
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
    if (/\.gz$/i.test(file.name)) {
      const gunzip = createGunzip({ chunkSize: CHUNK });
      // What goes wrong reaches whoever reads.
      pipeline(source, gunzip, () => undefined);
      yield* gunzip;
    } else yield* source;
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

/** UTF-8 without a byte-order mark. @param encoding a label of the WHATWG Encoding Standard */
export async function* utf8Of(
  file: InputFile,
  encoding: string,
  options: ReadingOptions = {},
): AsyncGenerator<Buffer> {
  if (encoding !== "utf-8") {
    const decoder = new TextDecoder(encoding);
    for await (const chunk of bytesOf(file, options))
      yield Buffer.from(decoder.decode(chunk, { stream: true }));
    yield Buffer.from(decoder.decode());
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
