import { join } from "node:path";
import { dataDir } from "../connections/paths.ts";
import type { Context } from "../context.ts";
import { CliError, EXIT } from "../errors.ts";

/** The built-in sample service, running inside this process on a port of its own. */
export interface Sample {
  readonly url: string;
  readonly key: string;
  readonly dir: string;
  close(): Promise<void>;
}

/** Where the sample's dataset, accounts and key are kept. */
export const sampleDir = (context: Context): string => join(dataDir(context), "sample");

/**
 * Starts the real service on the sample's data folder: the same API over HTTP, no account needed. The first time makes the
 * dataset of 50,000 synthetic people, which takes a few seconds.
 * @throws CliError (exit 2) where the service's optional packages are not installed
 */
export async function startSample(context: Context, notice: (text: string) => void): Promise<Sample> {
  const dir = sampleDir(context);
  void notice;
  void dir;
  void missingPackages;
  throw new Error("not yet");
}

function missingPackages(error: unknown): unknown {
  if ((error as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") return error;
  return new CliError({
    code: "service_not_installed",
    category: "usage",
    exitCode: EXIT.usage,
    message: "the sample connection runs the service, and its optional packages are not installed",
    hint: "install headcount with them: npm install -g headcount --include=optional",
    cause: error,
  });
}
