import type { EventEmitter } from "node:events";
import type { Command } from "commander";

/** Examples are what most readers of a help came for: they come before the usage, notes stay at the end. */
export function examplesFirst(command: Command): void {
  // A Command is an EventEmitter; its type declarations only show part of that.
  const events = command as unknown as EventEmitter;
  const parts: string[] = [];
  const write = (part: string): void => void parts.push(part);
  for (const listener of events.listeners("afterHelp")) listener({ error: false, command, write });
  if (parts.length === 0) return;
  const paragraphs = parts
    .join("")
    .trim()
    .split(/\n{2,}/);
  const isExamples = (paragraph: string): boolean => paragraph.startsWith("Examples:");
  const fitted = (chosen: readonly string[]): string =>
    chosen.map((paragraph) => fitTo(command.configureOutput().getOutHelpWidth?.() ?? 80, paragraph)).join("\n\n");
  events.removeAllListeners("afterHelp");
  const examples = paragraphs.filter(isExamples);
  if (examples.length > 0) command.addHelpText("before", () => `${fitted(examples)}\n`);
  const notes = paragraphs.filter((paragraph) => !isExamples(paragraph));
  if (notes.length > 0) command.addHelpText("after", () => `\n${fitted(notes)}`);
}

const EXAMPLE = /^ {2}\$ (.*?)(?: {2,}(\S.*))?$/;

/** Prose broken at spaces, a command continued as a shell reads it, what is said of it beside or beneath. */
function fitTo(width: number, paragraph: string): string {
  const lines = paragraph.split("\n");
  const said = lines.map((line) => EXAMPLE.exec(line)).filter((match) => match?.[2] !== undefined);
  const column = Math.max(0, ...said.map((match) => match?.[1]?.length ?? 0)) + 3;
  return lines
    .flatMap((line) => {
      const [, example, comment] = EXAMPLE.exec(line) ?? [];
      if (comment === undefined && line.length <= width) return [line];
      if (example === undefined) return broken(line.split(" "), "", "", width);
      // An option and its value stay together.
      const chunks: string[] = [];
      for (const word of example.match(/(?:[^\s"']|"[^"]*"|'[^']*')+/g) ?? []) {
        if (chunks.length === 0 || /^[-|]/.test(word)) chunks.push(word);
        else chunks.push(`${chunks.pop()} ${word}`);
      }
      const command = broken(chunks, "      ", " \\", width - 4);
      const beside = comment !== undefined && command.length === 1 && column + comment.length <= width - 4;
      if (beside) return [`  $ ${example.padEnd(column)}${comment}`];
      return [`  $ ${command.join("\n")}`, ...(comment === undefined ? [] : [`      ${comment}`])];
    })
    .join("\n");
}

function broken(words: readonly string[], indent: string, joint: string, width: number): string[] {
  const lines = [""];
  for (const word of words) {
    const line = lines.at(-1) ?? "";
    const longer = line.trim() === "" ? `${line}${word}` : `${line} ${word}`;
    if (line.trim() !== "" && longer.length + joint.length > width) lines.splice(-1, 1, line + joint, indent + word);
    else lines.splice(-1, 1, longer);
  }
  return lines;
}
