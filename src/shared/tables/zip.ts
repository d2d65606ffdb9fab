// Tested by test/unit/shared/tables.test.ts.
import { inflateRawSync } from "node:zlib";
import { InputError } from "./input-file.ts";

export interface ZipPart {
  readonly name: string;
  /** Unpacked where it is asked for. @throws InputError where it is damaged */
  readonly bytes: () => Buffer;
}

const ENTRY = 0x02014b50;
/** Bytes of one part: more is no text that a program takes whole. */
const MOST_BYTES = 1 << 29;

/**
 * The directory at the end says where each part begins and how long it is.
 * @throws InputError where the end is missing
 */
export function zipParts(file: string, bytes: Buffer): readonly ZipPart[] {
  const damaged = (): InputError =>
    new InputError(`${file} is cut off or damaged`, "fetch it again, or save it again");
  const end = bytes.lastIndexOf(Buffer.from([0x50, 0x4b, 5, 6]));
  if (end < 0 || end + 20 > bytes.length) throw damaged();

  const parts: ZipPart[] = [];
  const last = bytes.length - 46;
  for (let at = bytes.readUInt32LE(end + 16); at <= last && bytes.readUInt32LE(at) === ENTRY; ) {
    const method = bytes.readUInt16LE(at + 10);
    const size = bytes.readUInt32LE(at + 20);
    const local = bytes.readUInt32LE(at + 42);
    const length = bytes.readUInt16LE(at + 28);

    const unpack = (): Buffer => {
      try {
        const begin = local + 30 + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28);
        const part = bytes.subarray(begin, begin + size);
        return method === 0 ? part : inflateRawSync(part, { maxOutputLength: MOST_BYTES });
      } catch {
        throw damaged();
      }
    };

    parts.push({ name: bytes.toString("utf8", at + 46, at + 46 + length), bytes: unpack });
    at += 46 + length + bytes.readUInt16LE(at + 30) + bytes.readUInt16LE(at + 32);
  }

  return parts;
}
