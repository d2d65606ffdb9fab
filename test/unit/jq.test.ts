import { Writable } from "node:stream";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { JqOutput } from "../../src/cli/jq.ts";
import { written } from "../../src/shared/context.ts";
import { CliError } from "../../src/shared/errors.ts";
import { long } from "../support/long.ts";

function paper(isTTY = false) {
  let text = "";
  const write = (chunk: Buffer, _encoding: unknown, done: () => void): void => {
    text += chunk.toString();
    done();
  };
  return { stream: Object.assign(new Writable({ write }), isTTY ? { isTTY } : {}), text: () => text };
}

const jqOver = (stdout: Writable, stderr: Writable, interrupted = new AbortController().signal): JqOutput =>
  new JqOutput({ stdout, stderr, interrupted });

/** What stdout and stderr get of these pieces of JSON. @throws what the last of them failed with */
async function through(expression: string, pieces: readonly (string | Buffer)[], isTTY = false) {
  const [out, err] = [paper(isTTY), paper()];
  const jq = jqOver(out.stream, err.stream);
  jq.on("error", () => undefined);
  await jq.begin(expression);
  for (const piece of pieces) jq.write(piece);
  await written(jq).finally(() => jq.destroy());
  return { out: out.text(), err: err.text() };
}

const failure = (error: unknown): CliError => {
  if (!(error instanceof CliError)) throw error;
  return error;
};

describe("--jq on what is written", () => {
  long("values in any pieces come out once each, whole and in their order", async () => {
    const value = fc.oneof(fc.dictionary(fc.string({ unit: "binary" }), fc.jsonValue()), fc.array(fc.jsonValue()));
    await fc.assert(
      fc.asyncProperty(
        fc.array(value, { maxLength: 4 }),
        fc.array(fc.nat()),
        fc.boolean(),
        async (values, cuts, wide) => {
          const bytes = Buffer.from(values.map((one) => JSON.stringify(one, undefined, wide ? 2 : 0)).join("\n"));
          const ends = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
          const pieces = [0, ...ends].map((from, index) => bytes.subarray(from, ends[index] ?? bytes.length));
          const { out } = await through(
            "tojson",
            pieces.filter(({ length }) => length > 0),
          );
          const plain = (one: unknown) => JSON.parse(JSON.stringify(one).toWellFormed()) as unknown;
          const lines = out.split("\n").slice(0, -1);
          expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual(values.map(plain));
        },
      ),
      { numRuns: 12 },
    );
  });

  test("texts are bare, the rest is JSON, one result a line", async () => {
    const { out } = await through(".[]", ['["a\\nb", "", 1.10, null, {"x": [1]}]']);
    expect(out).toBe('a\nb\n\n1.10\nnull\n{"x":[1]}\n');
    expect((await through("empty", ["{}"])).out).toBe("");
  });

  test("numbers that only pass keep their digits", async () => {
    const { out } = await through(".[]", ["[12345678901234567890, 9007199254740993, 0.000001, 1.50]"]);
    expect(out).toBe("12345678901234567890\n9007199254740993\n0.000001\n1.50\n");
  });

  test("half a character is what every output shows for it", async () => {
    const { out } = await through(".a", [String.raw`{"a":"\ud800x\ude00 \\ud800 \ud83d\ude00"}`]);
    expect(out).toBe("�x� \\ud800 😀\n");
  });

  test("on a terminal documents are indented, and nothing acts on it", async () => {
    const { out } = await through(".", [String.raw`{"a":1.10,"b":"\u001b[31m"}`], true);
    expect(out).toBe('{\n  "a": 1.10,\n  "b": "\\u001b[31m"\n}\n');
    expect((await through(".b", [String.raw`{"b":"\u001b[31m"}`], true)).out).toBe("�[31m\n");
  });

  test("what it says beside goes to stderr; an expression may begin with a dash", async () => {
    expect(await through("-.a | debug", ['{"a":1}'])).toEqual({ out: "-1\n", err: '["DEBUG:",-1]\n' });
    expect((await through("--1", ["{}"])).out).toBe("1\n");
  });

  test.each([".a |", "", "nothing", "$nobody", "(", 'import "a" as a; .'])(
    "%j is refused before anything",
    async (text) => {
      const { code, exitCode } = failure(
        await jqOver(paper().stream, paper().stream)
          .begin(text)
          .catch((e) => e),
      );
      expect([code, exitCode]).toEqual(["invalid_jq", 2]);
    },
  );

  test.each(["id,name\n1,x\n", '"text"\n', "5", '{"a":1}\nx{"a":2}\n'])(
    "%j is said to be no document",
    async (text) => {
      const { exitCode, message } = failure(await through(".", [text]).catch((e) => e));
      expect([exitCode, message]).toEqual([5, "--jq: what the command printed is no JSON"]);
    },
  );

  test("a failure in the middle of lines is one, though the last of them goes well", async () => {
    const error = failure(await through(".a", ['{"a":1}\n["x"]\n{"a":2}\n']).catch((e) => e));
    expect([error.code, error.exitCode]).toEqual(["jq_failed", 5]);
    expect(error.message).toContain("Cannot index array");
  });

  long(
    "a value that jq's memory does not hold is named as that, lines are not",
    async () => {
      const many = Array.from({ length: 40_000 }, (_, id) => JSON.stringify({ id, text: "x".repeat(900) }));
      const error = failure(await through("length", ["[", many.join(","), "]"]).catch((e) => e));
      expect([error.code, error.exitCode]).toEqual(["jq_too_large", 5]);
      const { out } = await through(".id", [many.join("\n")]);
      expect(out.split("\n").at(-2)).toBe("39999");
    },
    60_000,
  );
});
