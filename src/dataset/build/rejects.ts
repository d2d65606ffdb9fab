import { createWriteStream } from "node:fs";
import { copyFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { finished } from "node:stream/promises";
import { newDraftName } from "../layout.ts";

/** Why a row is refused. */
export const REASONS = {
  broken_line: "the line cannot be read: not JSON, wrong number of columns, open quote or not UTF-8",
  not_text: "a text field holds an object, an array or a boolean",
  bad_integer: "a number field holds something that is not a whole number from 0 to 9007199254740991",
  no_identity: "nothing that identifies it: no id, address or name",
  too_long: "a value is longer than 100,000 characters",
  duplicate_id: "an earlier row has the same id",
} as const;
export type Reason = keyof typeof REASONS;

interface Reject {
  readonly file: string;
  /** Where known: the line of the file, else the number of the row in it (the header is not counted). */
  readonly line?: number;
  readonly row_number?: number;
  readonly reason: Reason;
  readonly detail?: string;
  /** The line as it was read, or the fields of the row. */
  readonly row: unknown;
}

/** The reject file: written in the dataset folder, where the next build clears it away after a crash, and moved to its place whole. */
export class RejectFile {
  readonly #path: string;
  readonly #draft: string;
  #stream: ReturnType<typeof createWriteStream> | undefined;

  constructor(path: string, datasetDir: string) {
    this.#path = path;
    this.#draft = join(datasetDir, `${newDraftName()}.ndjson`);
  }

  async write(reject: Reject): Promise<void> {
    // Other people's data: not for every user of the machine.
    this.#stream ??= createWriteStream(this.#draft, { mode: 0o600, flush: true });
    const stream = this.#stream;
    if (stream.errored) throw stream.errored;
    if (!stream.write(`${JSON.stringify(reject)}\n`)) {
      await new Promise<void>((ready, fail) => {
        stream.once("drain", ready);
        stream.once("error", fail);
      });
    }
  }

  /** @returns the path, or null where nothing was refused */
  async finish(): Promise<string | null> {
    const stream = this.#stream;
    if (!stream) return null;
    this.#stream = undefined;
    stream.end();
    await finished(stream);
    try {
      await rename(this.#draft, this.#path);
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "EXDEV")) throw error;
      await copyFile(this.#draft, this.#path);
      await rm(this.#draft);
    }
    return this.#path;
  }

  async abandon(): Promise<void> {
    this.#stream?.destroy();
    await rm(this.#draft, { force: true });
  }
}
