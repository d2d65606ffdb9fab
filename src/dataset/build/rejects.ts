import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { copyFile, mkdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { finished } from "node:stream/promises";
import { InputError } from "../../shared/tables/input-file.ts";
import { newDraftName } from "../layout.ts";

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

/**
 * Written in the dataset folder, where a crash leaves
 * it to the next build, and moved to its place whole.
 */
export type RejectFile = Awaited<ReturnType<typeof rejectFileAt>>;

/**
 * Replaces what an import before it left there.
 * @throws InputError where the path is one of the inputs
 */
export async function rejectFileAt(path: string, datasetDir: string, inputs: readonly string[]) {
  const target = await stat(path).catch(() => undefined);
  for (const input of inputs) {
    const source = await stat(input).catch(() => undefined);
    if (
      input === path ||
      (target && source && source.ino === target.ino && source.dev === target.dev)
    ) {
      throw new InputError(
        `${input} is where refused rows go, and is read`,
        "give it another name, and import that",
      );
    }
  }

  const draft = join(datasetDir, `${newDraftName()}.ndjson`);
  let stream: ReturnType<typeof createWriteStream> | undefined;
  return {
    async write(reject: RejectPlace & { readonly row: unknown }): Promise<void> {
      stream ??= createWriteStream(draft, { mode: 0o600, flush: true });
      if (stream.errored) throw stream.errored;
      // The listeners of "once" go when it is settled: hundreds of full buffers leave none behind.
      if (!stream.write(`${JSON.stringify(reject)}\n`)) await once(stream, "drain");
    },

    async finish(): Promise<string | null> {
      if (!stream) {
        await rm(path, { force: true });
        return null;
      }
      const ending = stream;
      stream = undefined;
      ending.end();
      await finished(ending);
      await moveOver(draft, path);
      return path;
    },

    async abandon(): Promise<void> {
      stream?.destroy();
      await rm(draft, { force: true });
    },
  };
}

async function moveOver(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true, mode: 0o700 });
  try {
    await rename(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EXDEV") throw error;
    await copyFile(from, to);
    await rm(from);
  }
}
