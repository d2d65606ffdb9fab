import { open } from "node:fs/promises";

const FRAME = 0xfd2fb528;
const SKIPPABLE = 0x184d2a50;

/** Walks the frames and blocks of a zstd file (RFC 8878, 3.1): they have to end where the file ends. */
export async function isWholeZstd(path: string): Promise<boolean> {
  const file = await open(path, "r");
  try {
    const { size } = await file.stat();
    const header = Buffer.alloc(18);
    const read = async (at: number, length: number): Promise<boolean> =>
      (await file.read(header, 0, length, at)).bytesRead === length;
    let at = 0;
    while (at < size) {
      if (!(await read(at, 5))) return false;
      const magic = header.readUInt32LE(0);
      if ((magic & 0xfffffff0) >>> 0 === SKIPPABLE) {
        if (!(await read(at + 4, 4))) return false;
        at += 8 + header.readUInt32LE(0);
        continue;
      }
      if (magic !== FRAME) return false;
      const descriptor = header[4] ?? 0;
      const single = (descriptor & 0x20) !== 0;
      const sizeBytes = [single ? 1 : 0, 2, 4, 8][descriptor >> 6] ?? 0;
      const dictionaryBytes = [0, 1, 2, 4][descriptor & 3] ?? 0;
      at += 5 + (single ? 0 : 1) + dictionaryBytes + sizeBytes;
      for (let last = false; !last; ) {
        if (!(await read(at, 3))) return false;
        const block = header.readUIntLE(0, 3);
        const type = (block >> 1) & 3;
        if (type === 3) return false;
        last = (block & 1) === 1;
        // A block of one repeated byte stores that byte alone.
        at += 3 + (type === 1 ? 1 : block >> 3);
      }
      if ((descriptor & 4) !== 0) at += 4;
    }
    return at === size;
  } finally {
    await file.close();
  }
}
