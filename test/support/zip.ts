import { crc32, inflateRawSync } from "node:zlib";

const END = 0x06054b50;
const ENTRY = 0x02014b50;

/** The files of a zip archive by their names, by its directory; the sum that stands there is held against the bytes. */
export function filesOfZip(archive: Buffer): Map<string, Buffer> {
  const files = new Map<string, Buffer>();
  const end = archive.lastIndexOf(Buffer.from(Uint32Array.of(END).buffer));
  let at = archive.readUInt32LE(end + 16);
  while (archive.readUInt32LE(at) === ENTRY) {
    const lengths = [28, 30, 32].map((offset) => archive.readUInt16LE(at + offset));
    const [nameLength = 0, extra = 0, comment = 0] = lengths;
    const name = archive.toString("utf8", at + 46, at + 46 + nameLength);
    const size = archive.readUInt32LE(at + 20);
    const local = archive.readUInt32LE(at + 42);
    const start = local + 30 + archive.readUInt16LE(local + 26) + archive.readUInt16LE(local + 28);
    const packed = archive.subarray(start, start + size);
    const bytes = archive.readUInt16LE(at + 10) === 0 ? packed : inflateRawSync(packed);
    if (crc32(bytes) !== archive.readUInt32LE(at + 16)) throw new Error(`${name} is damaged`);
    files.set(name, bytes);
    at += 46 + nameLength + extra + comment;
  }
  return files;
}
