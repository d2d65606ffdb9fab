import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { copyFile, open, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { finished } from "node:stream/promises";
import { newDraftName } from "../layout.ts";
import { InputError } from "./import-map.ts";

/** Why a row is refused. */
export const REASONS = {
  broken_line: "the line cannot be read: not JSON, wrong number of columns, open quote or not UTF-8",
  not_text: "a text field holds an object, an array or a boolean",
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

  private constructor(path: string, datasetDir: string) {
    this.#path = path;
    this.#draft = join(datasetDir, `${newDraftName()}.ndjson`);
  }

  /** @param inputs files that are read. @throws InputError where the path is one of them, or a file that is no reject file */
  static async at(path: string, datasetDir: string, inputs: readonly string[]): Promise<RejectFile> {
    const there = await stat(path).catch(() => undefined);
    for (const input of inputs) {
      const read = await stat(input);
      if (input === path || (there && read.ino === there.ino && read.dev === there.dev)) {
        throw new InputError(`--rejects is ${input}, which is read`, "name another file for the refused rows");
      }
    }
    if (there && there.size > 0 && !(await isRejectFile(path))) {
      throw new InputError(`${path} is there already and holds no refused rows`, "name another file with --rejects");
    }
    return new RejectFile(path, datasetDir);
  }

  async write(reject: Reject): Promise<void> {
    // Other people's data: not for every user of the machine.
    this.#stream ??= createWriteStream(this.#draft, { mode: 0o600, flush: true });
    const stream = this.#stream;
    if (stream.errored) throw stream.errored;
    // The listeners of "once" go when it is settled: hundreds of full buffers leave none behind.
    if (!stream.write(`${JSON.stringify(reject)}\n`)) await once(stream, "drain");
  }

  /** @returns the path, or null where nothing was refused */
  async finish(): Promise<string | null> {
    const stream = this.#stream;
    if (!stream) {
      // Those of an earlier import are not of this one.
      await rm(this.#path, { force: true });
      return null;
    }
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

/** Whether a file begins as this class writes it. */
async function isRejectFile(path: string): Promise<boolean> {
  const file = await open(path, "r").catch(() => undefined);
  if (!file) return false;
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(2_000), 0, 2_000, 0);
    return /^\{"file":".*?","(line|row_number)":\d+,"reason":"[a-z_]+"/.test(buffer.toString("utf8", 0, bytesRead));
  } finally {
    await file.close();
  }
}
