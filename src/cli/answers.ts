// Tested by test/unit/answers.test.ts.
import { didYouMean } from "../shared/contract/suggest.ts";
import { echo } from "../shared/contract/text.ts";
import { usageError } from "../shared/errors.ts";
import { textOfPackage } from "../shared/paths.ts";
import { broken } from "./help.ts";

/** What a heading of the docs or a command says: completions/pages.json (`npm run completions`). */
type Entry = readonly [title: string, place: string, text: string, asked: string];

const MOST = 4;

const wordsOf = (text: string): readonly string[] => text.toLowerCase().match(/[\p{L}\d]+/gu) ?? [];

/** Endings aside: "budgets" is "budget". */
const isSame = (word: string, wanted: string): boolean =>
  wanted.length > 3 && word.startsWith(wanted.slice(0, Math.max(4, wanted.length - 2)));

/**
 * How well an entry answers: a title and what users ask count for more than its first words, and
 * one that lacks half of the words is no answer.
 */
function scoreOf([title, , text, asked]: Entry, words: readonly string[]): number {
  const [first, second] = [wordsOf(`${title} ${asked}`), wordsOf(text)];
  const scores = words.map((word) =>
    first.includes(word)
      ? 9
      : first.some((other) => isSame(other, word))
        ? 6
        : second.some((other) => isSame(other, word))
          ? 1
          : 0,
  );

  const missing = scores.filter((score) => score === 0).length;
  if (2 * missing >= words.length) return 0;
  return scores.reduce<number>((sum, score) => sum + score, 0) / (1 + missing);
}

/**
 * Where the answer to a word is found, offline: pages of the docs and commands, the best first.
 * @throws CliError exit 2 where nothing has most of the words, with what is nearest
 */
export async function lookUp(phrase: string): Promise<string> {
  const entries: readonly Entry[] = JSON.parse(textOfPackage("completions/pages.json"));
  const words = wordsOf(phrase).filter((word) => word.length > 1 || /\d/.test(word));

  const scored = entries
    .map((entry) => ({ entry, score: words.length === 0 ? 0 : scoreOf(entry, words) }))
    .sort((one, other) => other.score - one.score);
  const best = scored[0]?.score ?? 0;
  const found = scored.slice(0, MOST).filter(({ score }) => score > 0 && score > best / 3);
  if (found.length > 0) {
    return found
      .map(({ entry: [title, place, text] }) => {
        const lines = broken(["  ", ...text.split(" ")], "  ", "", 80);
        return [title, `  ${place}`, ...lines, ""].join("\n");
      })
      .join("\n");
  }

  const known = entries
    .toReversed()
    .flatMap(([title, , , asked]) => [
      title.replace(/^headcount /, ""),
      ...wordsOf(`${title} ${asked}`),
    ])
    .filter((name) => name.length > 3 && name.split(" ").length === phrase.split(" ").length);
  const near = didYouMean(phrase, known, (name) => `headcount help ${name}`);
  throw usageError(
    `no command, page or error code says "${echo(phrase)}"`,
    near ?? "headcount --help lists the commands",
  );
}
