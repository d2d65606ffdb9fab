// Tested by test/cli/search.test.ts.
import { usageError } from "../../shared/errors.ts";
import { exists, placeOf } from "../output/paths.ts";
import { fileExists } from "./failures.ts";
import type { ExportOptions } from "./order.ts";

/** Behind a symbolic link the file itself. @throws CliError exit 2 where two are one file */
export async function withPlaces(options: ExportOptions): Promise<ExportOptions> {
  const places = {
    output: await placeOf(options.output),
    receipt: await placeOf(options.receipt),
    misses: await placeOf(options.misses),
  };

  const byPath = new Map<string, string>();
  for (const [option, path] of Object.entries(places)) {
    if (path === undefined) continue;
    const other = byPath.get(path);
    if (other !== undefined)
      throw usageError(
        `--${other} and --${option} name the same file`,
        "give each a name of its own",
      );
    byPath.set(path, option);
  }

  return { ...options, ...places };
}

/**
 * @param own what a run wrote itself
 * @throws CliError exit 5 where something else is there and may not be replaced
 */
export async function requireFree(
  {
    overwrite,
    output,
    receipt,
    misses,
  }: Pick<ExportOptions, "overwrite" | "output" | "receipt" | "misses">,
  own: readonly (string | null | undefined)[] = [],
): Promise<void> {
  if (overwrite) return;
  for (const path of [output, receipt, misses]) {
    if (path !== undefined && !own.includes(path) && (await exists(path))) throw fileExists(path);
  }
}
