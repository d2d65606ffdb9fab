import type { BuildOptions, BuildProgress } from "../../../dataset/build/options.ts";
import { present, whenGiven } from "../../../shared/contract/text.ts";
import { failed, systemFailure, usageError } from "../../../shared/errors.ts";
import { type Command, wholeNumber } from "../../options.ts";
import type { Desk } from "../../terminal/printer.ts";
import type { ProgressLine } from "../../terminal/progress.ts";
import { type FolderOptions, folderOf, serviceError } from "./folder.ts";

export interface TextFlags {
  readonly encoding?: string;
  readonly skipLines?: string;
}

export const addTextFlags = (command: Command): Command =>
  command
    .option(
      "--encoding <name>",
      "what CSV and NDJSON are written in, such as windows-1252 (default: told by the file)",
    )
    .option("--skip-lines <n>", "lines of CSV before the header (default: told by the file)");

export function textOptions({ encoding, skipLines }: TextFlags): {
  encoding?: string;
  skipLines?: number;
} {
  let label: string | undefined;
  try {
    label = encoding === undefined ? undefined : new TextDecoder(encoding).encoding;
  } catch {
    throw usageError(
      `--encoding "${encoding}" is not known`,
      "for example --encoding windows-1252, or utf-16le",
    );
  }

  return present({
    encoding: label,
    skipLines: whenGiven(skipLines, wholeNumber("--skip-lines", 0, 1_000)),
  });
}

export type BuildSetup = Required<
  Pick<BuildOptions, "datasetDir" | "now" | "sleep" | "signal" | "onProgress">
>;

/**
 * Runs a build in the data folder of the options, with
 * progress on stderr. Errors become those of the command line.
 */
export async function withBuild<Result>(
  desk: Desk<FolderOptions>,
  work: (setup: BuildSetup) => Promise<Result>,
  whenInterrupted?: string,
): Promise<Result> {
  const { context, options } = desk;
  const dir = await folderOf(options, context);
  const progress = await buildProgress(desk);

  try {
    const { datasetDir } = await import("../../../service/admin/datasets.ts");
    const setup = {
      datasetDir: datasetDir(dir),
      now: context.now,
      sleep: context.sleep,
      signal: context.interrupted,
      onProgress: progress.show,
    };
    return await work(setup);
  } catch (error) {
    progress.clear();
    throw context.interrupted.aborted
      ? failed.interrupted(INTERRUPTED, whenInterrupted)
      : inputError(serviceError(error, dir));
  } finally {
    progress.clear();
  }
}

const INTERRUPTED = "interrupted; the dataset is as it was before";

/**
 * A mistake in a file or a map is the user's to mend: exit 2. So is a machine that is too small.
 */
function inputError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  if (systemFailure(error)?.code === "disk_full") {
    return failed.incomplete(
      "the disk is full; the dataset is as it was before",
      "a build needs about 1 KB of disk for each person, and up to 0.5 KB when it is done; " +
        "choose another --data",
      "disk_full",
      error,
    );
  }

  if ("code" in error && error.code === "ENOMEM") {
    return failed.filesystem(
      "the memory is too small; the dataset is as it was before",
      "a build takes a third of the memory of the machine or container, and wants 0.25 KB of " +
        "that for each person",
      "out_of_memory",
      error,
    );
  }
  if (error.name !== "InputError") return error;

  return usageError(
    error.message,
    "hint" in error && typeof error.hint === "string" ? error.hint : undefined,
    "bad_input",
    error,
  );
}

const DOING = {
  read: "Reading",
  sort: "Sorting",
  records: "Writing records",
  lookups: "Writing indexes",
  copy: "Copying",
} as const;

/** A line on stderr for each phase, on a terminal only. */
async function buildProgress({ context, printer }: Desk<FolderOptions>) {
  const { openProgress } = await import("../../terminal/progress.ts");

  const { stderr, now } = context;
  const { noteStyle: style, quiet, unicode } = printer;
  const enabled = stderr.isTTY === true && !quiet;
  let doing: BuildProgress["phase"] | undefined;
  let line: ProgressLine | undefined;
  return {
    show({ phase, done, total }: BuildProgress): void {
      const [unit, units, size] = phase === "read" ? ["MB", "MB", 1e6] : ["row", "rows", 1];
      if (phase !== doing) {
        line?.stop();
        line = openProgress({ stream: stderr, enabled, now, style, unicode, unit, units });
      }
      doing = phase;
      const whole = total > 0 ? Math.ceil(total / size) : undefined;
      line?.update({ done: Math.floor(done / size), total: whole, detail: DOING[phase] });
    },

    clear: () => line?.stop(),
  };
}
