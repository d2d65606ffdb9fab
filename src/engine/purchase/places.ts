import { usageError } from "../../shared/errors.ts";
import { checkOutput, exists, placeOf } from "../output/paths.ts";
import { fileExists } from "./failures.ts";
import type { ExportOptions } from "./order.ts";

export async function withPlaces(options: ExportOptions): Promise<ExportOptions> {
  const output = await placeOf(options.output);
  const places: Record<string, string> = {};
  const byPath = new Map<string, string>(output === undefined ? [] : [[output, "--output"]]);
  for (const [name, path] of Object.entries({ receipt: options.receipt, misses: options.misses })) {
    if (path === undefined) continue;
    const real = await checkOutput(path);
    const other = byPath.get(real);
    if (other !== undefined)
      throw usageError(`${other} and --${name} name the same file`, "give each a name of its own");
    byPath.set(real, `--${name}`);
    places[name] = real;
  }

  return { ...options, ...places, output };
}

/**
 * @param own what a run wrote itself
 * @throws CliError exit 5 where something else is there and may not be replaced
 */
export async function requireFree(
  { overwrite, output, receipt, misses }: ExportOptions,
  own: readonly (string | null | undefined)[] = [],
): Promise<void> {
  if (overwrite) return;
  for (const path of [output, receipt, misses]) {
    if (path !== undefined && !own.includes(path) && (await exists(path))) throw fileExists(path);
  }
}
