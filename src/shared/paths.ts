import { existsSync, readFileSync } from "node:fs";

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
  const manifest = JSON.parse(readFileSync(new URL("package.json", packageRoot()), "utf8")) as {
    version: string;
  };
  return manifest.version;
}
