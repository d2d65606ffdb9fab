import { Writable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import type { Finished } from "../engine/purchase/deliver.ts";
import { usageError } from "../shared/errors.ts";
import { HeadcountError } from "./errors.ts";
import type { Purchase, Receipt, Row } from "./index.ts";
import { shownReceipt } from "./views.ts";

/** So much is held for a reader; then a purchase waits for one. */
const HELD_BYTES = 1 << 24;

type Done = (error?: Error) => void;

/** Rows on their way from a purchase to its one reader. */
class Rows extends Writable {
  readonly #decoder = new StringDecoder("utf8");
  #text = "";
  #lines: string[] = [];
  #held = 0;
  #full: Done | undefined;
  #wake: (() => void) | undefined;
  #isOver = false;
  /** `nobody`: only the receipt was asked for so far. */
  reader: "awaited" | "nobody" | "reading" | "too late" = "awaited";

  constructor() {
    super();
    this.on("error", () => undefined);
  }

  override _write(chunk: Buffer, _encoding: unknown, done: Done): void {
    if (this.reader === "too late") {
      done();
      return;
    }

    const lines = `${this.#text}${this.#decoder.write(chunk)}`.split("\n");
    this.#text = lines.pop() ?? "";
    for (const line of lines) this.#lines.push(line);
    this.#held += chunk.length;
    this.#wake?.();

    this.#full = done;
    if (this.#held < HELD_BYTES) this.#go();
    else this.#makeRoom();
  }

  /** Nobody reads: what is held is in the run too. */
  needNoReader(): void {
    if (this.reader !== "awaited") return;
    this.reader = "nobody";
    this.#makeRoom();
  }

  #makeRoom(): void {
    if (this.#full === undefined || this.reader !== "nobody") return;
    this.reader = "too late";
    this.#lines = [];
    this.#go();
  }

  #go(error?: Error): void {
    const full = this.#full;
    this.#full = undefined;
    full?.(error);
  }

  over(): void {
    this.#isOver = true;
    this.#wake?.();
  }

  /** As the reader of a pipe that ends: pages in flight are kept. */
  stop(): void {
    this.#go(Object.assign(new Error("nobody reads any more"), { code: "EPIPE" }));
    this.destroy();
  }

  /** All lines that came; none once it is over. */
  async take(): Promise<readonly string[]> {
    while (this.#lines.length === 0 && !this.#isOver) {
      await new Promise<void>((wake) => {
        this.#wake = wake;
      });
    }

    const lines = this.#lines;
    this.#lines = [];
    this.#held = 0;
    this.#go();
    return lines;
  }
}

/** A purchase as it goes, its rows, and how it ended. */
export class Purchasing implements Purchase {
  readonly run: Promise<string>;
  /** Resolves once it is over, however it ended. */
  readonly settled: Promise<void>;
  readonly #receipt: Promise<Receipt>;
  readonly #rows = new Rows();
  #isOver = false;

  /** @param begin tells of its run as soon as that is there */
  constructor(begin: (rows: Writable, began: (run: string) => void) => Promise<Finished>) {
    let began: (run: string) => void = () => undefined;
    const named = new Promise<string>((resolve) => {
      began = resolve;
    });
    const finished = begin(this.#rows, began).finally(() => {
      this.#isOver = true;
      this.#rows.over();
    });

    this.#receipt = finished.then(({ receipt }) => shownReceipt(receipt));
    // One that fails before it began has no run.
    this.run = Promise.race([named, finished.then(({ run }) => run)]);
    this.settled = finished.then(
      () => undefined,
      () => undefined,
    );
    // Whoever only iterates hears there what failed.
    for (const promise of [this.#receipt, this.run]) promise.catch(() => undefined);
  }

  get receipt(): Promise<Receipt> {
    this.#rows.needNoReader();
    return this.#receipt;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Row, void, undefined> {
    for await (const page of this.pages()) yield* page;
  }

  async *pages(): AsyncGenerator<readonly Row[], void, undefined> {
    const rows = this.#rows;
    const { reader } = rows;
    if (reader === "reading" || reader === "too late") throw readTwice(reader);

    rows.reader = "reading";
    try {
      for (let lines = await rows.take(); lines.length > 0; lines = await rows.take())
        yield lines.map((line) => JSON.parse(line) as Row);

      await this.#receipt;
    } finally {
      await this[Symbol.asyncDispose]();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#isOver) this.#rows.stop();
    await this.settled;
  }
}

function readTwice(reader: "reading" | "too late"): HeadcountError {
  const why =
    reader === "reading"
      ? "the rows of a purchase are read once"
      : "nobody read the rows while they came, and the receipt was asked for: they are in the run";
  return new HeadcountError(usageError(why, undefined, "rows_read"));
}
