import { Argument, Command as Commander, Option } from "commander";
import type { Connecting } from "../app/session.ts";
import type { Context } from "../shared/context.ts";
import { ungrouped } from "../shared/contract/money.ts";
import { echo, momentMs, spanMs, whole } from "../shared/contract/text.ts";
import { usageError } from "../shared/errors.ts";

export { Argument, Option };

/** Lines of words of src/cli/effects.ts: a test runs each command and compares. */
export type Touches = "nothing" | `${"asks" | "reads" | "writes" | "exits"} ${string}`;

export class Command extends Commander {
  declare readonly commands: readonly Command[];

  override createCommand(name?: string): Command {
    return new Command(name);
  }

  /** Of an option that takes one value, the last of two would win in silence. */
  override addOption(option: Option): this {
    let first: string | null;
    this.on(`option:${option.name()}`, (value: string | null) => {
      const name = option.attributeName();
      const isAgain = this.getOptionValueSource(name) === "cli";
      if (isAgain && value !== first && !Array.isArray(this.getOptionValue(name))) {
        const both = `"${echo(first)}" and "${echo(value)}"`;
        throw usageError(`${option.long} takes one value, and is given ${both}`, "give it once");
      }
      first = value;
    });
    return super.addOption(option);
  }

  /**
   * For the help: a line each, begun with two spaces
   * and `$`; paragraphs after an empty line are notes.
   */
  exampleText = "";

  examples(text: string): this {
    this.exampleText = text;
    return this;
  }

  /** A whole number within bounds. */
  number(
    flags: string,
    description: string,
    bounds: readonly [least: number, most: number],
    usual?: number,
  ): this {
    const [flag = flags] = /--[\w-]+/.exec(flags) ?? [];
    return this.option(flags, description, wholeNumber(flag, ...bounds, usual), usual);
  }

  oneOf(flags: string, description: string, choices: readonly string[], usual?: string): this {
    return this.addOption(new Option(flags, description).choices(choices).default(usual));
  }

  /** Takes other values than those that are offered too. */
  offers<T>(
    flags: string,
    description: string,
    values: OfferedValues,
    parse?: (text: string, before: T) => T,
  ): this {
    const option = offering(new Option(flags, description), values);
    return this.addOption(Object.assign(option, { parseArg: parse }));
  }

  takes(label: string, description: string, values: OfferedValues): this {
    return this.addArgument(offering(new Argument(label, description), values));
  }

  /** Undefined of one that only has others. */
  touches?: Touches;

  /**
   * What it reads, writes and asks, for man pages and `--help-all`; and what it does: gets its own
   * options with the program's, then its arguments.
   */
  does<Options extends object, Args extends unknown[]>(
    touches: Touches,
    work: (options: Options, ...args: Args) => void | Promise<void>,
  ): this {
    this.touches = touches;
    return this.action((...all: unknown[]) =>
      work(this.optsWithGlobals<Options>(), ...(all.slice(0, -2) as Args)),
    );
  }
}

export interface CommandModule {
  register(program: Command, context: Context): void;
}

export interface GlobalOptions
  extends Pick<Connecting, "connection" | "baseUrl" | "paging" | "maxWait"> {
  readonly json?: boolean;
  readonly quiet?: boolean;
  readonly verbose?: boolean;
  readonly color?: boolean;
}

/** Where the values of an option or an argument come from, for those who complete a word of it. */
export type OfferedValues =
  | { readonly kind: "list"; readonly values: readonly string[] }
  /** Several values of the list in one word, parted by commas. */
  | { readonly kind: "commas"; readonly values: readonly string[] }
  | { readonly kind: "connections" | "runs" | "segments" | "jobs" }
  /** Values that people have of one filter key, as the service or what is owned tells. */
  | { readonly kind: "listed"; readonly values: readonly [key: string] }
  | { readonly kind: "file" | "directory" }
  | { readonly kind: "text" };

const offers = new WeakMap<Option | Argument, OfferedValues>();

/**
 * Declares what is offered for an option or argument that
 * takes other values too: choices say it themselves.
 */
export function offering<T extends Option | Argument>(declared: T, values: OfferedValues): T {
  offers.set(declared, values);
  return declared;
}

export const offersOf = (declared: Option | Argument): OfferedValues | undefined =>
  declared.argChoices === undefined
    ? offers.get(declared)
    : { kind: "list", values: declared.argChoices };

/** @param usual what may be proposed: a number that is copied is done, so no other one is */
export function wholeNumber(flag: string, least: number, most: number, usual?: number) {
  return (text: string): number => {
    const value = whole(text, least, most);
    if (value !== undefined) return value;

    const meant = whole(ungrouped(text), least, most) ?? usual;
    throw usageError(
      `${flag} takes a whole number from ${least} to ${most}, not "${echo(text)}"`,
      meant === undefined ? undefined : `${flag}${/^\w[\w-]*$/.test(flag) ? "=" : " "}${meant}`,
    );
  };
}

/** What browsers reach a service by. @throws CliError where it is not the address of a host */
export function publicOrigin(url: string): string {
  if (/^https?:\/\/[^/?#@]+\/?$/i.test(url) && URL.canParse(url)) return new URL(url).origin;
  throw usageError(
    "--public-url takes an address of scheme, host and port alone, " +
      `as in https://people.example, not "${echo(url)}"`,
    "the console is at /console right below it: give the service a name of its own in the proxy",
  );
}

export const WHO_COLUMN = [
  "--column <name>",
  "the column that alone tells who they are (default: id, profiles)",
] as const;

export const modeOption = (): Option =>
  new Option(
    "--mode <mode>",
    "what live keys bought, or test keys (default: as the key in use)",
  ).choices(["live", "test"]);

/** For an option that may be given again: one value each time, in the order given. */
export const collect = (
  value: string,
  before: readonly string[] | undefined,
): readonly string[] => [...(before ?? []), value];

/**
 * What people write for a moment: how far away it is, a day, or an instant of the calendar.
 * @param away 1: spans go on from now, -1: back
 */
export function momentGiven(flag: string, text: string, now: number, away: 1 | -1): number {
  const span = spanMs(text);
  const at = span === undefined ? momentMs(text) : now + away * span;
  if (!Number.isNaN(at)) return at;

  throw usageError(
    `${flag} takes 2m (minutes), 12h, 30d, 8w, a day of the calendar such as 2027-01-31, ` +
      `2027-01-31T10:03Z, or ${away < 0 ? "all" : "never"}, not "${echo(text)}"`,
    `for example ${flag} 7d`,
  );
}

/** @param flag which one is said, in an error */
export const sinceMs = (text: string, now: number, flag = "--since"): number =>
  text === "all" ? 0 : momentGiven(flag, text, now, -1);
