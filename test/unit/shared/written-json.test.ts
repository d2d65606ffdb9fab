import { expect, test } from "vitest";
import { readWrittenJson } from "../../../src/shared/written-json.ts";

const GOOD = '{\n  "a": "x",\n  "b": 1\n}\n';
const DEEP = `{"a": ${"[".repeat(100_000)}${"]".repeat(100_000)}}`;

test.each([
  ["as it is", GOOD],
  ["a comma too many", GOOD.replace("1\n", "1,\n")],
  ["a comment of a line", GOOD.replace("{", "{ // why")],
  ["a comment between", GOOD.replace("1", "/* one */ 1")],
])("%s is read", (_, text) => {
  expect(readWrittenJson(text, "f")).toEqual({ ok: true, value: { a: "x", b: 1 } });
});

// Each slip, and what is said of it.
test.each([
  ["", "f is not JSON: it is empty"],
  [" \n", "f is not JSON: it is empty"],
  [GOOD.replace('"a"', "a"), "f is not valid JSON: line 2, column 3: "],
  [GOOD.replaceAll('"', "'"), "f is not valid JSON: line 2, column 3: "],
  [GOOD.replaceAll('"', "\u201c"), "f is not valid JSON: line 2, column 3: "],
  [GOOD.replace("{\n", "{\n  # why\n"), "f is not valid JSON: line 2, column 3: "],
  [GOOD.replace("1", "NaN"), "f is not valid JSON: line 3, column 8: "],
  [GOOD.replace("1", "Infinity"), "f is not valid JSON: line 3, column 8: "],
  [GOOD.replace("1", "+1"), "f is not valid JSON: line 3, column 8: "],
  [GOOD.replace("1", "01"), "f is not valid JSON: line 3, column 9: "],
  [GOOD.replace("1", "0x1"), "f is not valid JSON: line 3, column 9: "],
  [GOOD.replace(",", ""), "f is not valid JSON: line 3, column 3: "],
  [GOOD.replace(",", ";"), "f is not valid JSON: line 2, column 11: "],
  [GOOD.replace('"x"', '"x\ny"'), "f is not valid JSON: line 2, column 10: "],
  [GOOD.replace("x", "\\x"), "f is not valid JSON: line 2, column 9: "],
  [GOOD.slice(0, -3), "f is not valid JSON: line 3, column 9: "],
  [GOOD.slice(0, 8), "f is not valid JSON: line 2, column 7: "],
  [GOOD + GOOD, "f is not valid JSON: line 5, column 1: "],
  ['{"a": 1}\n{"b": 2}\n', "f is not valid JSON: line 2, column 1: "],
  ["a: 1\n", "f is not valid JSON: line 1, column 1: "],
  ["<!doctype html>", "f is not valid JSON: line 1, column 1: "],
  [GOOD.replace('"b"', '"a"'), "duplicate key in f: a; send each key once"],
  [GOOD.replace('"b"', '"\\u0061"'), "duplicate key in f: a; send each key once"],
  [GOOD.replace("1", "1e400"), "b: the number 1e400 is out of range"],
  [GOOD.replace("1", "9007199254740993"), "b: the number 9007199254740993 is out of range"],
  [GOOD.replace("x", "\\u0000"), "f holds a NUL character"],
  [GOOD.replace("x", "\\ud800"), "f holds a lone surrogate"],
  [DEEP, "f is nested more than 32 levels deep"],
  ["[".repeat(100_000), "f is nested more than 32 levels deep"],
])("%.40j is told", (text, message) => {
  const read = readWrittenJson(text, "f");
  expect(read).toEqual({ ok: false, message: expect.stringContaining(message) });
});

test("a key of an object's own is a key like any other", () => {
  const read = readWrittenJson('{"__proto__": 1}', "f");
  expect(read.ok && Object.entries(read.value as object)).toEqual([["__proto__", 1]]);
});
