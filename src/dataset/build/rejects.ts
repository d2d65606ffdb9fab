import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { copyFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { finished } from "node:stream/promises";
import { newDraftName } from "../layout.ts";
import { InputError } from "../text/input-file.ts";

export type Reason = "broken_line" | "not_text" | "no_identity" | "too_long" | "duplicate_id";

export const MOST_EXAMPLES = 5;

export interface RejectPlace {
  readonly file: string;
  readonly line?: number;
  readonly row_number?: number;
  readonly reason: Reason;
  readonly column: string | null;
  readonly value: string | null;
  readonly detail: string;
}

/** Written in the dataset folder, where a crash leaves it to the next build, and moved to its place whole. */
export class RejectFile {
  readonly #path: string;
  readonly #draft: string;
  #stream: ReturnType<typeof createWriteStream> | undefined;

  private constructor(path: string, datasetDir: string) {
    this.#path = path;
    this.#draft = join(datasetDir, `${newDraftName()}.ndjson`);
  }

  /** Replaces what an import before it left there. @throws InputError where the path is one of the inputs */
  static async at(path: string, datasetDir: string, inputs: readonly string[]): Promise<RejectFile> {
    const there = await stat(path).catch(() => undefined);
    for (const input of inputs) {
      const read = await stat(input).catch(() => undefined);
      if (input === path || (there && read && read.ino === there.ino && read.dev === there.dev)) {
        throw new InputError(`${input} is where refused rows go, and is read`, "give it another name, and import that");
      }
    }
    return new RejectFile(path, datasetDir);
  }

  async write(reject: RejectPlace & { readonly row: unknown }): Promise<void> {
    this.#stream ??= createWriteStream(this.#draft, { mode: 0o600, flush: true });
    const stream = this.#stream;
    if (stream.errored) throw stream.errored;
    // The listeners of "once" go when it is settled: hundreds of full buffers leave none behind.
    if (!stream.write(`${JSON.stringify(reject)}\n`)) await once(stream, "drain");
  }

  async finish(): Promise<string | null> {
    const stream = this.#stream;
    if (!stream) {
      await rm(this.#path, { force: true });
      return null;
    }
    this.#stream = undefined;
    stream.end();
    await finished(stream);
    await moveOver(this.#draft, this.#path);
    return this.#path;
  }

  async abandon(): Promise<void> {
    this.#stream?.destroy();
    await rm(this.#draft, { force: true });
  }
}

async function moveOver(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EXDEV") throw error;
    await copyFile(from, to);
    await rm(from);
  }
}
