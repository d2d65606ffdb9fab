import { readFileSync } from "node:fs";
import { packageRoot } from "../../shared/paths.ts";

/** The first line of every generated file. */
export const GENERATED = "Generated from the program by `npm run completions`; do not edit.";

/** A script of `templates/`, each `@NAME@` in it replaced. */
export function fill(template: string, values: Readonly<Record<string, string>>): string {
  const text = readFileSync(new URL(`src/cli/completion/templates/${template}`, packageRoot()), "utf8");
  return text.replace(/@([A-Z]+)@/g, (mark, name: string) =>
    name === "GENERATED" ? GENERATED : (values[name] ?? mark),
  );
}
