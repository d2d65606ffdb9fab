import { open, rm } from "node:fs/promises";

/** What is read at once: so short that its lines are near by when they are put in groups. */
export const PIECE_BYTES = 2 ** 24;

/** Reads a file piece by piece, and removes it. @param take returns how many bytes it is done with */
export async function inPieces(
  path: string,
  firstRoom: Buffer<ArrayBuffer>,
  take: (piece: Buffer<ArrayBuffer>, isLast: boolean) => Promise<number>,
): Promise<void> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    let room = firstRoom;
    for (let at = 0; at < size; ) {
      const { bytesRead } = await file.read(room, { position: at });
      const isLast = at + bytesRead === size;
      const taken = await take(room.subarray(0, bytesRead), isLast);
      if (taken === 0 && isLast) throw new Error(`${path} was cut short`);
      if (taken === 0) room = Buffer.allocUnsafeSlow(2 * room.length);
      at += taken;
    }
  } finally {
    await file.close();
    await rm(path);
  }
}
