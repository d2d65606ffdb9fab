import type { OfferedValues } from "../options.ts";
import type { CommandSpec, FlagSpec } from "./tree.ts";

export interface Candidates {
  readonly values: OfferedValues | { readonly kind: "words"; readonly words: readonly Word[] };
  /** What of the word stays before each value: `--country=`, `id,name,`. */
  readonly head: string;
  /** What the values begin with, in any case. */
  readonly typed: string;
  /** The file of jobs that the line names. */
  readonly file: string;
}

export type Word = readonly [value: string, description: string];

/**
 * @param words of the line behind the program's name, without quotes, the one at the cursor last
 */
export function offerAt(tree: CommandSpec, words: readonly string[]): Candidates {
  // bash parts --country=germany into three words; shells give empty ones beside the cursor.
  const before = words.slice(0, -1).filter((word) => word !== "" && word !== "=");
  const last = words.at(-1) ?? "";
  const current = last === "=" ? "" : last;
  const { command, pending, isLiteral, position, file } = placeAfter(before, tree);
  const flags = [...command.flags, ...tree.flags];

  const [, name = "", rest = ""] = /^(--[^=]+)=(.*)$/s.exec(isLiteral ? "" : current) ?? [];
  if (pending === undefined && name !== "") {
    return within({
      values: flagNamed(name, flags)?.value?.values ?? { kind: "text" },
      head: `${name}=`,
      typed: rest,
      file,
    });
  }

  const offer = { head: "", typed: current, file };
  const isFlag = current.startsWith("-") && !isLiteral;
  if (pending !== undefined && !(pending.many && isFlag))
    return within({ ...offer, values: pending.values });

  if (isFlag) {
    const words = new Map(
      flags.flatMap(({ description, names }) => names.map((flag) => [flag, description])),
    );
    return { ...offer, values: { kind: "words", words: [...words] } };
  }

  if (position === 0 && command.commands.length > 0) {
    const children = command.commands.map(
      ({ path, summary }): Word => [path.at(-1) ?? "", summary],
    );
    return { ...offer, values: { kind: "words", words: children } };
  }

  const argument =
    command.arguments[position] ?? command.arguments.filter(({ many }) => many).at(-1);
  return within({ ...offer, values: argument?.values ?? { kind: "text" } });
}

const flagNamed = (name: string, flags: readonly FlagSpec[]): FlagSpec | undefined =>
  flags.find(({ names }) => names.includes(name));

/** Where the words before the cursor lead: the command, its next argument, a flag's open value. */
function placeAfter(words: readonly string[], tree: CommandSpec) {
  let command = tree;
  let pending: FlagSpec["value"];
  let [isLiteral, position, file] = [false, 0, ""];

  for (const [index, word] of words.entries()) {
    if (pending !== undefined && !(pending.many && word.startsWith("-"))) {
      if (words[index - 1] === "--file") file = word;
      // A flag that takes several values takes every word up to the next flag.
      if (!pending.many) pending = undefined;
      continue;
    }

    const child =
      position === 0 ? command.commands.find(({ path }) => path.at(-1) === word) : undefined;

    if (isLiteral) position++;
    else if (word.startsWith("-")) {
      isLiteral = word === "--";
      pending = flagNamed(word, [...command.flags, ...tree.flags])?.value;
      if (word.startsWith("--file=")) file = word.slice("--file=".length);
    } else if (child !== undefined) command = child;
    else position++;
  }

  return { command, pending, isLiteral, position, file };
}

/** Of values that commas part, the last one is at the cursor. */
function within(offer: Candidates): Candidates {
  if (offer.values.kind !== "commas") return offer;
  const end = offer.typed.lastIndexOf(",") + 1;
  return { ...offer, head: offer.head + offer.typed.slice(0, end), typed: offer.typed.slice(end) };
}
