import { afterEach, expect } from "vitest";
import { saidSince } from "./client.ts";

interface Said {
  readonly text: string;
  /** It is a command and nothing else. */
  readonly isNext?: boolean;
}

/** What is said, of an error as JSON too. */
function sentences(text: string): Said[] {
  return text.split("\n").flatMap((line): Said[] => {
    if (!line.startsWith('{"error":')) return [{ text: line }];
    const { error } = JSON.parse(line) as { error: Record<string, string | null> };
    const { hint, message, next } = error;
    return [{ text: message ?? "" }, { text: hint ?? "" }, { text: next ?? "", isNext: true }];
  });
}

// Whatever a test makes a command say: a command that it tells to type is one that the program
// takes. Nothing is loaded for a test that tells none.
afterEach(async () => {
  const said = saidSince()
    .flatMap(sentences)
    .filter(({ text }) => text.includes("headcount "));
  if (said.length === 0) return;

  const { cannotBeTyped } = await import("./hints.ts");
  const wrong = said.map(({ text, isNext }) => cannotBeTyped(text, isNext ? "whole" : undefined));
  expect((await Promise.all(wrong)).flat()).toEqual([]);
});
