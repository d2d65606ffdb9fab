import { appendFile, open, rm } from "node:fs/promises";
import { join } from "node:path";
import { PERSON_FIELDS } from "../../shared/contract/records.ts";
import { RECORDS_A_BLOCK } from "../embedded/blocks.ts";

export const PEOPLE_A_PART = 1_920 * RECORDS_A_BLOCK;
const NONE: Buffer<ArrayBuffer> = Buffer.alloc(0);
const SPACE = 32;
const ZERO = 48;
const LINE_FEED = 10;

/** Lines of a buffer: where each begins behind the position that leads it, and where it ends behind its line feed. */
interface Lines {
  readonly count: number;
  readonly starts: Uint32Array;
  readonly ends: Uint32Array;
  readonly positions: Uint32Array;
}

/** Stored records on their way to public order, through a file for each part: each is written and read once. */
export class RecordParts {
  readonly #folder: string;
  readonly #first: number;
  readonly #people: number;
  /** Used again and again: memory that is new costs as much as what is copied to it. */
  readonly #piece = Buffer.allocUnsafeSlow(PIECE_BYTES);
  #grouped = Buffer.allocUnsafeSlow(PIECE_BYTES);

  /** @param first the position of the first of them, at the beginning of a part. @param people how many there are */
  constructor(folder: string, first: number, people: number) {
    this.#folder = folder;
    this.#first = first;
    this.#people = people;
  }

  get #count(): number {
    return Math.ceil(this.#people / PEOPLE_A_PART);
  }

  #path(part: number): string {
    return join(this.#folder, `records-${this.#first + part * PEOPLE_A_PART}`);
  }

  /** @param path a file with lines of a position, a space and a record; removed */
  async take(path: string): Promise<void> {
    await inPieces(path, this.#piece, async (text) => {
      const length = text.lastIndexOf(LINE_FEED) + 1;
      await this.#add(text.subarray(0, length));
      return length;
    });
  }

  async #add(text: Buffer): Promise<void> {
    const { count, ends, positions } = this.#lines(text);
    const nexts = new Float64Array(this.#count + 1);
    const partOf = (line: number): number => Math.floor(((positions[line] ?? 0) - this.#first) / PEOPLE_A_PART);
    const begin = (line: number): number => (line === 0 ? 0 : (ends[line - 1] ?? 0));
    for (let line = 0; line < count; line++) {
      const after = partOf(line) + 1;
      nexts[after] = (nexts[after] ?? 0) + (ends[line] ?? 0) - begin(line);
    }
    for (let part = 1; part < nexts.length; part++) nexts[part] = (nexts[part] ?? 0) + (nexts[part - 1] ?? 0);
    if (text.length > this.#grouped.length) this.#grouped = Buffer.allocUnsafeSlow(text.length);
    for (let line = 0; line < count; line++) {
      const part = partOf(line);
      nexts[part] = (nexts[part] ?? 0) + text.copy(this.#grouped, nexts[part], begin(line), ends[line]);
    }
    // Each has moved to where the next one began.
    for (let part = 0; part < this.#count; part++) {
      const some = this.#grouped.subarray(part === 0 ? 0 : nexts[part - 1], nexts[part]);
      if (some.length > 0) await appendFile(this.#path(part), some, { mode: 0o600 });
    }
  }

  /**
   * Each part in public order; its bytes are written over by the part after the next. @throws where a record is
   * missing
   */
  async *inOrder(): AsyncGenerator<Buffer<ArrayBuffer>> {
    const rooms = [NONE, NONE, NONE];
    const room = (index: number, bytes: number): Buffer<ArrayBuffer> => {
      const old = rooms[index] ?? NONE;
      if (old.length >= bytes) return old;
      // Parts differ by little: what is enough for one and a tenth is for most.
      const made = Buffer.allocUnsafeSlow(Math.ceil(1.1 * bytes));
      rooms[index] = made;
      return made;
    };
    for (let part = 0; part < this.#count; part++) {
      const text = await this.#read(part, (bytes) => room(2, bytes));
      const { count, starts, ends, positions } = this.#lines(text);
      const size = Math.min(PEOPLE_A_PART, this.#people - part * PEOPLE_A_PART);
      if (count !== size) throw new Error(`a part of the people has ${count} records, not ${size}`);
      const lineOf = new Uint32Array(size);
      for (let line = 0; line < count; line++)
        lineOf[(positions[line] ?? 0) - this.#first - part * PEOPLE_A_PART] = line;
      const records = room(part % 2, text.length);
      let length = 0;
      for (const line of lineOf) length += text.copy(records, length, starts[line], ends[line]);
      yield records.subarray(0, length);
    }
  }

  async #read(part: number, roomFor: (bytes: number) => Buffer): Promise<Buffer> {
    const file = await open(this.#path(part));
    try {
      const { size } = await file.stat();
      const room = roomFor(size);
      let length = 0;
      while (length < size) length += (await file.read(room, length, size - length, length)).bytesRead;
      return room.subarray(0, size);
    } finally {
      await file.close();
      await rm(this.#path(part));
    }
  }

  #lines(text: Buffer): Lines {
    // Each value has a byte behind it at least.
    const room = Math.ceil(text.length / PERSON_FIELDS.length);
    const [starts, ends, positions] = [new Uint32Array(room), new Uint32Array(room), new Uint32Array(room)];
    let count = 0;
    for (let at = 0; at < text.length; count++) {
      let position = 0;
      for (let byte = text[at++] ?? SPACE; byte !== SPACE; byte = text[at++] ?? SPACE)
        position = position * 10 + byte - ZERO;
      const end = text.indexOf(LINE_FEED, at) + 1;
      if (end === 0 || count === room) throw new Error("records were cut short on their way");
      starts[count] = at;
      ends[count] = end;
      positions[count] = position;
      at = end;
    }
    return { count, starts, ends, positions };
  }
}

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
