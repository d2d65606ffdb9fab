import { beforeAll, expect, test } from "vitest";
import { cannotBeTyped } from "../support/hints.ts";

// The whole program is loaded once.
beforeAll(() => cannotBeTyped("headcount runs"));

test.each([
  "hint: headcount runs lists them",
  "headcount login NAME --base-url https://a.example; a key is needed",
  "headcount search --title 'vp, sales' --limit N -o people.csv goes on",
  "headcount help count shows how it is called",
  "see (headcount filters lists them), or leave it out",
])("what can be typed: %s", async (text) => {
  expect(await cannotBeTyped(text)).toEqual([]);
});

test.each([
  "hint: headcount prices lists them",
  "headcount count --al shows everybody",
  "headcount search --limit none -o people.csv",
])("what cannot: %s", async (text) => {
  expect(await cannotBeTyped(text)).toHaveLength(1);
});

test("what is to be typed next is a command whole, without prose", async () => {
  expect(await cannotBeTyped("headcount runs export 1 --force", "whole")).toEqual([]);
  expect(await cannotBeTyped("headcount account shows it", "whole")).toHaveLength(1);
});
