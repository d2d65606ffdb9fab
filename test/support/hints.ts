import type { Command } from "../../src/cli/options.ts";
import { buildProgram } from "../../src/cli/program.ts";
import { testContext } from "./client.ts";

/**
 * Every command that a text tells to type, with the prose that follows it. A line of another
 * program's gives ours a name there.
 */
const COMMAND = /(?<![\w/.@-]|\bmcp add [^\n]*)headcount (?=[a-z-])([^\n;`]*)/g;
/** Where prose goes on behind a command. */
const BEHIND = /[,.:)](?=\s|$)/;
/** What somebody is to fill in: a number is taken wherever a text is. */
const BLANK = /^[A-Z][A-Z-]*$/;

/** Words as a shell reads them; what only a shell does ends them. */
export function shellWords(line: string): string[] {
  const words: string[] = [];
  for (const [word] of line.matchAll(/(?:[^\s"'\\]|\\.|"(?:[^"\\]|\\.)*"|'[^']*')+/g)) {
    if (/^[|<>&#]/.test(word)) break;
    words.push(word.replace(/"((?:[^"\\]|\\.)*)"|'([^']*)'|\\(.)/g, "$1$2$3"));
  }
  return words;
}

/** The whole program, whose commands do nothing: what it accepts can be typed. */
async function parser(): Promise<Command> {
  const whole = await buildProgram(testContext().context, ["--help-all"], "all");
  const still = (command: Command): void => {
    command.action(() => undefined);
    for (const child of command.commands) still(child);
  };
  still(whole);
  return whole;
}

let program: Promise<Command> | undefined;

/** @returns undefined where a command line is accepted as it stands, else why not */
async function refusal(words: readonly string[]): Promise<string | undefined> {
  program ??= parser();
  try {
    await (await program).parseAsync(words, { from: "user" });
    return undefined;
  } catch (error) {
    const { code, message } = error as Error & { readonly code?: string };
    return /^commander\.(help|version)/.test(code ?? "") ? undefined : message;
  }
}

async function isName(word: string): Promise<boolean> {
  program ??= parser();
  return (await program).commands.some((command) => command.name() === word);
}

const known = new Map<string, Promise<string | undefined>>();

/** Two that differ in a run, a folder or an amount alone are tried once. */
const shapeOf = (said: string): string =>
  said
    .replace(/\b\d{8}-\d{6}-[0-9a-f]+\b/g, "RUN")
    .replace(/\/[^\s"']+\//g, "/")
    .replace(/\d[\d,.]*/g, "1");

/** Prose may follow a command, behind its last flag and the value of that. */
async function refusalOfSaid(
  said: string,
  isWhole: boolean,
  isFirst: boolean,
): Promise<string | undefined> {
  const clause = isWhole ? said : (said.split(BEHIND, 1)[0] ?? "");
  const words = shellWords(clause).map((word) => (BLANK.test(word) ? "1" : word));
  const last = words.findLastIndex((word) => word.startsWith("-"));
  const least = isWhole ? words.length : Math.max(last + 1, 1);
  // Within a sentence the program may be the one that does something.
  const isCommand =
    isWhole || isFirst || words[0]?.startsWith("-") === true || (await isName(words[0] ?? ""));
  if (words[0] === "help" || !isCommand) return undefined;

  let first: string | undefined;
  for (let length = words.length; length >= least; length--) {
    const reason = await refusal(words.slice(0, length));
    if (reason === undefined) return undefined;
    first ??= reason;
  }
  return `headcount ${said.trim()}: ${first}`;
}

/**
 * What a text tells to type and nobody could: a command that is not there, a flag that it does
 * not have, a value that it refuses.
 * @param form `"whole"`: it is one command and no prose
 */
export async function cannotBeTyped(text: string, form?: "whole"): Promise<string[]> {
  const reasons = [...text.matchAll(COMMAND)].map(({ 1: said = "", index }) => {
    const isFirst = /^(?:hint: )?$/.test(text.slice(0, index));
    const key = `${shapeOf(said)}${form ?? ""}${isFirst}`;
    const asked = known.get(key) ?? refusalOfSaid(said, form === "whole", isFirst);
    known.set(key, asked);
    return asked;
  });
  return (await Promise.all(reasons)).filter((reason) => reason !== undefined);
}
