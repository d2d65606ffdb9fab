import { afterEach, expect } from "vitest";
import { saidSince } from "./client.ts";
import { wordedSince } from "./worded.ts";

/** What is said, of an error as JSON too. */
function sentences(text: string): string[] {
  return text.split("\n").flatMap((line) => {
    if (!line.startsWith('{"error":')) return line;
    const { error } = JSON.parse(line) as { error: Record<string, string | null> };
    return [error.message ?? "", error.hint ?? "", error.next ?? ""];
  });
}

// Whatever a test makes a command say: a command that it tells to type is one that the program
// takes. What a sentence or an error carries as a command is tried as it is; the rest of the text
// is looked through for those that are spelled in it. Nothing is loaded for a test that tells none.
afterEach(async () => {
  const worded = wordedSince();
  const said = saidSince()
    .flatMap(sentences)
    .filter((text) => text.includes("headcount "));
  if (said.length === 0) return;

  const { cannotBeTyped } = await import("./hints.ts");
  const carried = worded.filter((command) => said.some((text) => text.includes(command)));
  const rest = said.map((text) =>
    carried.reduce((left, command) => left.replaceAll(command, "it"), text),
  );
  const wrong = [
    ...carried.map((command) => cannotBeTyped(command, "whole")),
    ...rest.map((text) => cannotBeTyped(text)),
  ];
  expect((await Promise.all(wrong)).flat()).toEqual([]);
});
