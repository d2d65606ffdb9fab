// Tested by test/unit/say.test.ts.
import { type Credits, formatCredits } from "./contract/money.ts";
import { shellWord } from "./contract/text.ts";

const SHORT: Readonly<Record<string, string>> = { output: "-o", connection: "-c" };

/** An option of ours by the one name that all doors know it by (`max_credits`). */
export class Option {
  readonly name: string;
  /** `"N"`: whatever the user chooses. */
  readonly value: Credits | number | string | undefined;

  constructor(name: string, value?: Credits | number | string) {
    this.name = name;
    this.value = value;
  }

  get valueText(): string {
    return typeof this.value === "bigint" ? formatCredits(this.value) : `${this.value}`;
  }

  /** As the command line says it: `--max-credits 20`. */
  toString(): string {
    const flag = SHORT[this.name] ?? `--${this.name.replaceAll("_", "-")}`;
    return this.value === undefined ? flag : `${flag} ${shellWord(this.valueText)}`;
  }
}

interface Words {
  readonly arguments?: readonly string[];
  /** Options of a segment, as they are typed. */
  readonly segment?: string;
  readonly options?: readonly Option[];
}

/** A command of ours to type: `runs export`, what it is given, its options. */
export class OwnCommand {
  readonly name: string;
  readonly words: Words;

  constructor(name: string, words: Words = {}) {
    this.name = name;
    this.words = words;
  }

  /** Whether it goes on where something stopped, so that nothing is paid twice. */
  get resumes(): boolean {
    return this.name === "resume" || this.name === "refresh";
  }

  /** As it is typed: `headcount resume RUN --limit 20`. */
  toString(): string {
    const { arguments: given = [], segment, options = [] } = this.words;
    return ["headcount", this.name, ...given.map(shellWord), segment ?? [], ...options]
      .flat()
      .join(" ");
  }

  toJSON(): string {
    return this.toString();
  }
}

/** A sentence, or a text that holds no part of ours. */
export type Sentence = Said | string;

/**
 * A sentence of which it is known what is an option, what a command and what somebody's own
 * text. Each door has words of its own for the first two, and none touches the last.
 */
export class Said {
  readonly parts: readonly unknown[];
  /** Clauses: a door leaves out the one that it cannot say. */
  readonly isList: boolean;

  constructor(parts: readonly unknown[], isList = false) {
    this.parts = parts;
    this.isList = isList;
  }

  /** As the command line says it. */
  toString(): string {
    return this.parts.join(this.isList ? "; " : "");
  }

  toJSON(): string {
    return this.toString();
  }
}

/** How a door words what is no text: undefined where it has no such thing. */
export interface DoorWords {
  readonly option: (option: Option) => string | undefined;
  readonly command: (command: OwnCommand) => OwnCommand | string | undefined;
  /** What helps at this door, by the code of the failure, in place of what is said elsewhere. */
  readonly hints?: Readonly<Record<string, string>>;
}

/** A sentence with its parts: `` say`${option("limit", 5)} goes on` ``. */
export const say = (texts: readonly string[], ...values: readonly unknown[]): Said =>
  new Said(texts.flatMap((text, at) => (at in values ? [text, values[at]] : [text])));

export const clauses = (...texts: readonly Sentence[]): Said => new Said(texts, true);

export const option = (name: string, value?: Credits | number | string): Option =>
  new Option(name, value);

export const command = (name: string, words?: Words): OwnCommand => new OwnCommand(name, words);

/**
 * A sentence in the words of a door; commands stay known as such.
 * @returns undefined where the door has no word for a part of it
 */
export function inWords(text: Sentence, speech: DoorWords): Sentence | undefined {
  if (typeof text === "string") return text;

  const words = text.parts.map((part) => {
    if (part instanceof Option) return speech.option(part);
    if (part instanceof OwnCommand) return speech.command(part);
    return part instanceof Said ? inWords(part, speech) : `${part}`;
  });
  const known = words.filter((word) => word !== undefined);
  const isWhole = text.isList ? known.length > 0 : known.length === words.length;
  return isWhole ? new Said(known, text.isList) : undefined;
}

/** Whether a sentence tells to type this command. */
export const tells = (text: unknown, wanted: OwnCommand): boolean =>
  text instanceof OwnCommand
    ? `${text}` === `${wanted}`
    : text instanceof Said && text.parts.some((part) => tells(part, wanted));
