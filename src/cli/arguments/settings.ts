import { type Credits, creditsMeant, typedCredits } from "../../shared/contract/money.ts";
import { didYouMean } from "../../shared/contract/suggest.ts";
import { echo } from "../../shared/contract/text.ts";
import { usageError } from "../../shared/errors.ts";

/**
 * `NAME=VALUE` words by their names.
 * @throws CliError exit 2 for a name that is none, or without a value
 */
export function settingsOf<Name extends string>(
  what: string,
  words: readonly string[],
  names: readonly Name[],
): { readonly [Each in Name]?: string } {
  const settings: { [Each in Name]?: string } = {};
  for (const word of words) {
    const [label = "", value = ""] = word.split(/=(.*)/s, 2);
    const name = names.find((each) => each === label.trim());
    if (name !== undefined && value.trim() !== "") {
      settings[name] = value.trim();
      continue;
    }

    const near = name === undefined ? didYouMean(label, names) : undefined;
    throw usageError(
      `${what} takes NAME=VALUE, not "${echo(word)}"`,
      near ?? `NAME is one of ${names.join(", ")}`,
    );
  }

  return settings;
}

/** @throws CliError exit 2 for what is no amount of credits, or below 0 */
export function creditsGiven(what: string, text: string): Credits {
  const amount = typedCredits(text);
  if (amount !== undefined) return amount;

  const meant = creditsMeant(text);
  throw usageError(
    `${what} takes credits of 0 or more with at most six decimals, not "${echo(text)}"`,
    meant === "" ? undefined : `write it as ${meant}`,
  );
}

/**
 * Words with commas between, in the order of `words`.
 * @throws CliError exit 2 for one that is none of them
 */
export function wordsGiven<Word extends string>(
  what: string,
  text: string,
  words: readonly Word[],
): readonly Word[] {
  const list = text.split(",").map((word) => word.trim());
  const unknown = list.find((word) => !words.includes(word as Word));
  if (unknown === undefined) return words.filter((word) => list.includes(word));
  throw usageError(
    `${what} takes ${words.join(", ")}, with commas between, not "${echo(unknown)}"`,
    didYouMean(unknown, words) ?? `for example ${what} ${words.slice(0, 2).join(",")}`,
  );
}

/** @throws CliError exit 2 for what is no amount of credits */
export const creditAmount = (text: string): Credits => creditsGiven("--max-credits", text);
