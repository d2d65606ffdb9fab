import { nearest } from "../../shared/contract/suggest.ts";
import { echo } from "../../shared/contract/text.ts";
import type { JsonSchema } from "../../shared/schema/build.ts";

/** What a validator's words leave out: which argument is none of the tool's, and what a choice is from. @param schema of the tool's input */
export function argumentProblem(given: unknown, schema: JsonSchema): string | undefined {
  if (typeof given !== "object" || given === null) return undefined;
  const properties = schema.properties as Readonly<Record<string, JsonSchema>>;
  const names = Object.keys(properties);
  for (const [name, value] of Object.entries(given)) {
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (property === undefined) {
      const near = nearest(name, names);
      const meant = near === undefined ? "" : ` (did you mean ${near}?)`;
      const valid = names.length === 0 ? "the tool takes none" : `valid arguments: ${names.join(", ")}`;
      return `unknown argument: ${echo(name)}${meant}; ${valid}`;
    }
    const choices = property.enum as readonly string[] | undefined;
    if (choices === undefined || choices.includes(value as string)) continue;
    const said = typeof value === "string" ? `"${echo(value)}"` : "this";
    return `${name} is one of ${choices.join(", ")}, not ${said}`;
  }
  return undefined;
}
