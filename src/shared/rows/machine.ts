// Tested by test/unit/output-csv-bytes.test.ts and test/unit/rows-broken.test.ts.
// The memory in which rows are scanned and written as CSV, by the code of rows.as. It is fast from
// the first row on: a page of 1,000 is over before Node has compiled as much of JavaScript.
import { ROWS_CODE } from "./rows-code.ts";

/** Where a page begins; behind it are zeros. */
export const ORIGIN = 64;
const ZEROS = 32;
const PAGE_BYTES = 65_536;
/** A larger memory is given up where pages are small again: it never shrinks. */
const KEPT_BYTES = 2 ** 24;
const MOST_BYTES = 2 ** 31;

type Numbers = (...numbers: number[]) => number;

interface Code {
  readonly memory: { readonly buffer: ArrayBuffer; readonly grow: (pages: number) => number };
  readonly scan: Numbers;
  readonly found: Numbers;
  readonly ended: Numbers;
  readonly csv: Numbers;
  readonly stoppedRow: Numbers;
  readonly stoppedColumn: Numbers;
}

/** As much of it as is used; nothing under `node --jitless`. */
interface WebAssemblyApi {
  readonly Module: new (code: Buffer) => object;
  readonly Instance: new (module: object) => { readonly exports: Code };
}

const { WebAssembly } = globalThis as unknown as { readonly WebAssembly: WebAssemblyApi };
let compiled: object | undefined;

export class Machine {
  readonly code: Code;
  /** All of its memory, in bytes and in numbers of four: anew whenever it has grown. */
  bytes = Buffer.alloc(0);
  words = new Int32Array(0);
  #held: Buffer | undefined;

  static #shared: Machine | undefined;

  private constructor(code: Code) {
    this.code = code;
    this.#look();
  }

  /**
   * The one of this process, which is used up to the next call: Node sets gigabytes of addresses
   * aside for each. @returns undefined where there is no WebAssembly, or no room: rows are parsed
   */
  static for(page: Buffer): Machine | undefined {
    const size = Machine.#shared?.bytes.length ?? Number.POSITIVE_INFINITY;
    if (size <= Math.max(KEPT_BYTES, page.length * 8)) return Machine.#shared;
    try {
      compiled ??= new WebAssembly.Module(Buffer.from(ROWS_CODE, "base64"));
      Machine.#shared = new Machine(new WebAssembly.Instance(compiled).exports);
    } catch {
      Machine.#shared = undefined;
    }
    return Machine.#shared;
  }

  /** @returns the first place behind the page, undefined: there is no room for it */
  hold(page: Buffer): number | undefined {
    const end = ORIGIN + page.length;
    if (!this.reserve(end + ZEROS)) return undefined;
    if (this.#held !== page) {
      page.copy(this.bytes, ORIGIN);
      this.bytes.fill(0, end, end + ZEROS);
      this.#held = page;
    }
    return aligned(end + ZEROS);
  }

  /** @returns whether there are so many bytes; `bytes` and `words` are others then */
  reserve(size: number): boolean {
    const more = size - this.bytes.length;
    if (more <= 0) return true;
    if (size > MOST_BYTES) return false;
    try {
      // By an eighth more: each growth costs a call of the system.
      this.code.memory.grow(Math.ceil((more + size / 8) / PAGE_BYTES));
    } catch {
      return false;
    }
    this.#look();
    return true;
  }

  #look(): void {
    const { buffer } = this.code.memory;
    this.bytes = Buffer.from(buffer);
    this.words = new Int32Array(buffer);
  }
}

export const aligned = (place: number): number => (place + 15) & ~15;
