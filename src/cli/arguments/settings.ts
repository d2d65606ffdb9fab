import { nearest } from "../../shared/contract/suggest.ts";
import { echo } from "../../shared/contract/text.ts";
import { usageError } from "../../shared/errors.ts";

/** `NAME=VALUE` words by their names. @throws CliError exit 2 for a name that is none, or without a value */
export function settingsOf<Name extends string>(
  what: string,
  words: readonly string[],
  names: readonly Name[],
): { readonly [Each in Name]?: string } {
  const settings: { [Each in Name]?: string } = {};
  for (const word of words) {
    const [given = "", value = ""] = word.split(/=(.*)/s, 2);
    const name = names.find((each) => each === given.trim());
    if (name !== undefined && value.trim() !== "") {
      settings[name] = value.trim();
      continue;
    }
    const near = name === undefined ? nearest(given, names) : undefined;
    throw usageError(
      `${what} takes NAME=VALUE, not "${echo(word)}"`,
      near === undefined ? `NAME is one of ${names.join(", ")}` : `did you mean ${near}=${echo(value) || "VALUE"}?`,
    );
  }
  return settings;
}
