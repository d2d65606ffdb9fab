import { basename, dirname, join } from "node:path";
import type { Rendering } from "../../../engine/output/formats.ts";
import { checkOutput, exists, type Output, type OutputFacts } from "../../../engine/output/output.ts";
import { packedName } from "../../../engine/output/packing.ts";
import type { Guard } from "../../../engine/output/publish.ts";
import { openSink } from "../../../engine/output/sinks/sink.ts";
import { Disk } from "../../../engine/runs/disk.ts";
import { failpoint } from "../../../engine/runs/failpoint.ts";
import type { Context } from "../../../shared/context.ts";
import { usageError } from "../../../shared/errors.ts";
import type { Page } from "../../../shared/rows/page.ts";
import { registerOf } from "../../keep/store.ts";

export const BESIDE = ["added", "removed", "changed"] as const;
export type Beside = (typeof BESIDE)[number];

/** `people.csv` and `added` make `people.added.csv`. */
export function besideName(path: string, what: Beside): string {
  const name = basename(path);
  const [, stem = name] = /^(.+?)(?:\.[a-z0-9]+)?$/i.exec(packedName(name).inner) ?? [];
  return join(dirname(path), `${stem}.${what}${name.slice(stem.length)}`);
}

/** @throws CliError exit 2 where a file is in the way that is not this list's */
export async function checkFiles(output: string, own: boolean, ownBeside: boolean, overwrite: boolean): Promise<void> {
  if (overwrite) return;
  for (const path of [output, ...BESIDE.map((what) => besideName(output, what))]) {
    if ((path === output ? own : ownBeside) || !(await exists(path))) continue;
    throw usageError(`${path} exists`, "add --overwrite, or choose another name with -o", "file_exists");
  }
}

export interface FileToWrite {
  readonly path: string;
  readonly pages: () => AsyncIterable<Page>;
  readonly guard: Guard;
}

/** Gives files their names only once all are whole, the first one last. */
export async function writeTogether(
  files: readonly FileToWrite[],
  rendering: Rendering,
  context: Context,
): Promise<(OutputFacts | undefined)[]> {
  const disk = new Disk(failpoint(context.env));
  const outputs: Output[] = [];
  try {
    const facts: (OutputFacts | undefined)[] = [];
    for (const { path, pages, guard } of files) {
      const output = await openSink({
        output: await checkOutput(path),
        stream: context.stdout,
        rendering,
        guard,
        place: { name: `owned-${context.pid}`, by: "refresh", disk, register: registerOf(context, disk) },
        interrupted: context.interrupted,
      });
      outputs.push(output);
      for await (const page of pages()) {
        context.interrupted.throwIfAborted();
        await output.write(page);
      }
      facts.push(await output.prepare(pages));
    }
    for (const output of [...outputs.slice(1), ...outputs.slice(0, 1)]) await output.publish();
    return facts;
  } catch (error) {
    for (const output of outputs) await output.abort();
    throw error;
  }
}
