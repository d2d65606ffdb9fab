// Tested by test/unit/output-csv-bytes.test.ts and test/unit/engine/dialect/rows.test.ts.

const UTF8_BYTES = 3;
/** A longer span is copied by the system, whose call costs as much. */
const SHORT = 48;

/** What is put together of texts, and of bytes that are copied, in memory that is used again. */
export class GrowingBytes {
  #room = Buffer.allocUnsafeSlow(1 << 16);
  #length = 0;

  clear(): void {
    this.#length = 0;
  }

  /** As long as nothing else is put in. */
  get bytes(): Buffer {
    return this.#room.subarray(0, this.#length);
  }

  /** In memory of its own, that whoever reads it last may give back. */
  copied(): Buffer {
    const own = Buffer.allocUnsafeSlow(this.#length);
    this.#room.copy(own, 0, 0, this.#length);
    return own;
  }

  text(text: string): void {
    this.#reserve(text.length * UTF8_BYTES);
    this.#length += this.#room.write(text, this.#length);
  }

  span(from: Buffer, start = 0, end = from.length): void {
    this.#reserve(end - start);
    const [room, to] = [this.#room, this.#length - start];
    if (end - start > SHORT) from.copy(room, this.#length, start, end);
    else for (let at = start; at < end; at++) room[to + at] = from[at] as number;
    this.#length += end - start;
  }

  #reserve(more: number): void {
    if (this.#length + more <= this.#room.length) return;
    const wider = Buffer.allocUnsafeSlow(Math.max(this.#room.length * 2, this.#length + more));
    this.#room.copy(wider, 0, 0, this.#length);
    this.#room = wider;
  }
}
