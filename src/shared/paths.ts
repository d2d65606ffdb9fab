// Tested by test/unit/shared/paths.test.ts.
import { existsSync, readFileSync } from "node:fs";
import { failed } from "./errors.ts";

/**
 * The folder of the installed package, with a slash: the nearest one
 * above that holds package.json. The program runs from `src`, from `dist`
 * and from the bundle in `dist/program`, which lie at different depths.
 */
export function packageRoot(): URL {
  for (const above of ["../", "../../", "../../../", "../../../../"]) {
    const folder = new URL(above, import.meta.url);
    if (
      existsSync(new URL("package.json", folder)) &&
      existsSync(new URL("bin/headcount.js", folder))
    )
      return folder;
  }
  throw new Error("headcount is not installed whole: package.json is missing; install it again");
}

export function packageVersion(): string {
  return (JSON.parse(textOfPackage("package.json")) as { version: string }).version;
}

/**
 * Reads what comes with headcount.
 * @throws CliError exit 1 where it is not there
 */
export function ofPackage<Value>(path: string, read: (at: URL) => Value): Value {
  try {
    return read(new URL(path, packageRoot()));
  } catch (cause) {
    const why = `${path} is missing from the installation: ${(cause as Error).message}`;
    throw failed.internal(why, "install headcount again", "missing_file", cause);
  }
}

export const textOfPackage = (path: string): string =>
  ofPackage(path, (at) => readFileSync(at, "utf8"));
