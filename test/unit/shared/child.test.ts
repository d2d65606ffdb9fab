import { expect, test } from "vitest";
import { answerOf, type ChildOptions } from "../../../src/shared/child.ts";

const options: Omit<ChildOptions, "text"> = { deadlineMs: 30_000, memoryMb: 64, what: "the work" };

test.each([
  ["JavaScript", 'return () => Array.from({ length: 4e7 }, (_, n) => "a" + n).length;'],
  ["what is beside JavaScript's", "return () => Buffer.alloc(2 ** 28, 1).length;"],
  ["an answer that is large itself", "return () => Buffer.alloc(2 ** 27, 1);"],
])("memory is bound for the whole process: %s", async (_, text) => {
  await expect(answerOf({}, { ...options, text })).rejects.toThrow(
    "the work was ended: it takes more than 64 MB",
  );
});

test("what stays within its memory is answered", async () => {
  const text = "return () => Buffer.alloc(2 ** 24, 1).length;";
  expect(await answerOf({}, { ...options, text })).toBe(2 ** 24);
});
