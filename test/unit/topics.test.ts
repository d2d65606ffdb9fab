import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { describe, expect, test } from "vitest";
import { main } from "../../src/cli/main.ts";
import { buildProgram } from "../../src/cli/program.ts";
import { pathOf } from "../../src/cli/reading.ts";
import {
  ADVICE,
  codeText,
  ENVIRONMENT,
  EXIT_CODES,
  TOPICS,
  topicText,
} from "../../src/cli/topics.ts";
import { DEPARTMENTS, FILTER_KEYS } from "../../src/shared/contract/vocabulary.ts";
import { EXIT } from "../../src/shared/errors.ts";
import { testContext } from "../support/client.ts";

const ROOT = join(import.meta.dirname, "../..");
const sourcesOf = (folder: string): (readonly [string, string])[] =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((file) => /\.[jt]s$/.test(file))
    .map((file) => [file, readFileSync(join(ROOT, folder, file), "utf8")] as const);

describe("help topics", () => {
  test.each(TOPICS)("headcount help %s prints the topic on stdout", async (name) => {
    const tested = testContext({});
    expect(await main(["help", name], tested.context)).toBe(0);
    expect(tested.stdout()).toBe(topicText(name));
    expect(tested.stderr()).toBe("");
  });

  test("lines fit a terminal of 82 columns", () => {
    const long = TOPICS.flatMap((name) => (topicText(name) ?? "").split("\n")).filter(
      (line) => line.length > 82,
    );
    expect(long).toEqual([]);
  });

  test("exit-codes names every code once, in order", () => {
    expect(EXIT_CODES.map(({ code }) => code)).toEqual(Object.values(EXIT));
    const shown = [...(topicText("exit-codes") ?? "").matchAll(/^ +(\d+) {2}\S/gm)].map((match) =>
      Number(match[1]),
    );
    expect(shown).toEqual(Object.values(EXIT));
  });

  test("every code of an error has what to do, at the exit code that it ends with", async () => {
    const sources = sourcesOf("src").filter(([file]) => !file.endsWith("shared/codes.ts"));
    const words = new Set(
      sources.flatMap(([, source]) => [...source.matchAll(/"(\w+)"/g)].map(([, word]) => word)),
    );
    // That no other code is thrown is the compiler's to say (CodeOf). These are put together.
    const made = /^(invalid_\w+_file|bad_(connection|segment)_name|keychain_\w+)$/;
    const commander = sourcesOf("node_modules/commander/lib").flatMap(([, source]) =>
      [...source.matchAll(/'commander\.(\w+)'/g)].map(([, name = ""]) =>
        name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      ),
    );
    const codes = ADVICE.flatMap((each) => each.codes);
    expect(
      codes.filter((code) => !words.has(code) && !made.test(code) && !commander.includes(code)),
    ).toEqual([]);
    // What is no error of whoever typed a command, or has another code by then.
    const others = ["help", "help_displayed", "version", "execute_sub_command_async", "error"];
    expect(commander.filter((code) => !codes.includes(code) && !others.includes(code))).toEqual([]);
    expect(codeText("over_cap")).toBe(
      "over_cap\n\n  exit 4: top up, lower --limit, or allow more: --max-credits, --max-calls\n",
    );
    const stale = testContext({});
    expect(await main(["help", "stale_run"], stale.context)).toBe(0);
    expect(stale.stdout()).toMatch(/ exit 5: .*\n {2}exit 10: ask for a new quote/);
  });

  test("filters names every flag and every department", () => {
    const text = topicText("filters") ?? "";
    for (const key of FILTER_KEYS) expect(text).toContain(`--${key.replaceAll("_", "-")}`);
    const listed = text.replaceAll(/,\s+/g, ", ");
    for (const department of DEPARTMENTS) expect(listed).toContain(department);
  });

  test("environment names every variable that the sources read", () => {
    const read = new Set(
      sourcesOf("src").flatMap(([, source]) => source.match(/\bHEADCOUNT_[A-Z_]+[A-Z]\b/g) ?? []),
    );
    // The failpoint is for tests of crash safety alone.
    const documented = new Set([
      "HEADCOUNT_FAILPOINT",
      ...ENVIRONMENT.flatMap(({ name }) => name.split(", ")),
    ]);
    expect([...read].filter((name) => !documented.has(name))).toEqual([]);
  });

  test("there is no text for a name that is no topic", () => {
    expect(topicText("exit")).toBeUndefined();
    expect(topicText("__proto__")).toBeUndefined();
  });

  test("the name of a command is told as that first, also where it is an error code", async () => {
    const { commands } = await buildProgram(testContext({}).context, []);
    const codes = ADVICE.flatMap((each) => each.codes);
    const both = commands.map((each) => each.name()).filter((name) => codes.includes(name));
    expect(both).toContain("service");
    for (const name of both) {
      const [told, help] = [testContext({}), testContext({})];
      expect(await main(["help", name], told.context)).toBe(0);
      expect(await main([name, "--help"], help.context)).toBe(0);
      expect(told.stdout()).toBe(`${help.stdout()}\nAs an error code: ${codeText(name)}`);
    }
  });
});

test("every help is short enough to be read at once, and --help-all has what it leaves out", async () => {
  const short = async (...argv: string[]): Promise<readonly string[]> => {
    const tested = testContext({});
    expect(await main(argv, tested.context)).toBe(0);
    return tested.stdout().trimEnd().split("\n");
  };
  const program = await buildProgram(testContext({}).context, [], "all");
  const every = (command: Command): Command[] => [command, ...command.commands.flatMap(every)];
  for (const command of every(program)) {
    const path = pathOf(command);
    const lines = await short(...path.split(" ").filter(Boolean), "--help");
    const most = path === "" ? 45 : 60;
    expect(lines.length > most ? `${path}: ${lines.length} lines` : path).toBe(path);
    expect(lines.filter((line) => line.startsWith("  $ ")).length, path).toBeLessThanOrEqual(3);
  }
  expect(await short()).toEqual(await short("--help"));
  const all = (await short("help", "all")).join("\n");
  for (const child of program.commands) expect(all).toContain(`\n  ${child.name()}`);
  expect((await short("search", "-h")).join("\n")).not.toContain("--with-owned");
  const whole = (await short("search", "--help-all")).join("\n");
  for (const option of program.commands.find((each) => each.name() === "search")?.options ?? [])
    expect(whole).toContain(option.long);
});

test("one way for one question: a person has few flags to know", async () => {
  const program = await buildProgram(testContext({}).context, [], "all");
  const every = (command: Command): Command[] => [command, ...command.commands.flatMap(every)];
  const shown = every(program).flatMap(({ options }) => options.filter(({ hidden }) => !hidden));
  const flags = [...new Set(shown.map(({ long }) => long))];
  // A flag more is a flag less elsewhere, or one of another command that says the same.
  expect(flags.length, flags.join(" ")).toBeLessThanOrEqual(122);
});

test("no help has a line of more than 80 columns; what is broken is still one command", async () => {
  const pages: string[] = [];
  const { context } = testContext();
  const program = await buildProgram(
    {
      ...context,
      stdout: { write: (text: string) => void pages.push(text), columns: 80 } as never,
    },
    [],
    "all",
  );
  const walk = (command: Command): void => {
    command.outputHelp();
    for (const child of command.commands) walk(child);
  };
  walk(program);
  const text = pages.join("");
  // A quoted word is one word.
  const long = text.split("\n").filter((line) => line.length > 80 && !/"[^"]{50,}"/.test(line));
  expect(long).toEqual([]);
  // Nor prose that is broken where the next word had room, as text that was broken twice is.
  const lines = text.split("\n");
  const isProse = (line = ""): boolean => /^[a-z]/i.test(line) && !/^[\w ]+:/.test(line);
  const ragged = lines.filter((line, at) => {
    const next = lines[at + 1] ?? "";
    const [word = ""] = next.split(" ");
    const goesOn = isProse(next) && !/^(?:Usage|See also|Exit code)/.test(next);
    return isProse(line) && goesOn && /[^.:]$/.test(line) && line.length + 1 + word.length <= 72;
  });
  expect(ragged).toEqual([]);
  expect(text).toContain("--per-page");
  expect(text).toMatch(/ {2}\$ headcount -c sample search .* \\\n {6}-o legal\.csv --overwrite\n/);
});
