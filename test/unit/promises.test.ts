import type { Command } from "commander";
import { describe, expect, test } from "vitest";
import { main } from "../../src/cli/main.ts";
import { buildProgram } from "../../src/cli/program.ts";
import { COMPANY_FIELDS, PERSON_FIELDS } from "../../src/shared/contract/records.ts";
import { EXIT } from "../../src/shared/errors.ts";
import { testContext } from "../support/client.ts";

/** What scripts rely on, pinned in a snapshot file: a change is a visible diff. */
describe("promises", () => {
  test("commands, arguments and flags", async () => {
    const { context } = testContext({});
    const lines: string[] = [];
    const walk = (command: Command, path: string): void => {
      const args = command.registeredArguments.map((arg) => {
        const name = `${arg.name()}${arg.variadic ? "..." : ""}`;
        return arg.required ? `<${name}>` : `[${name}]`;
      });
      lines.push([path, ...args].join(" "));
      for (const option of command.options) {
        if (!option.hidden)
          lines.push(
            `  ${option.flags}${option.envVar === undefined ? "" : ` (env ${option.envVar})`}`,
          );
      }
      for (const child of command.commands) walk(child, `${path} ${child.name()}`);
    };
    walk(await buildProgram(context, [], "all"), "headcount");
    await expect(`${lines.join("\n")}\n`).toMatchFileSnapshot("promises/commands.txt");
  });

  test("exit codes", () => {
    expect(EXIT).toEqual({
      ok: 0,
      bug: 1,
      usage: 2,
      auth: 3,
      credits: 4,
      incomplete: 5,
      notFound: 6,
      rateLimit: 7,
      service: 8,
      locked: 9,
      declined: 10,
      interrupted: 130,
      pipeClosed: 141,
    });
  });

  test.each([
    ["a filter that is none", ["count", "--department", "Slaes"], 2],
    ["an unknown command", ["conut"], 2],
    ["an unknown flag", ["count", "--departmnt", "Sales"], 2],
    ["no key", ["account"], 3],
    ["no such topic", ["help", "xyzzy"], 2],
  ])("the JSON of an error: %s", async (_, argv, exitCode) => {
    const run = testContext({});
    expect(await main([...argv, "--json"], run.context)).toBe(exitCode);
    expect(run.stdout()).toBe("");
    const { error } = JSON.parse(run.stderr()) as { error: Record<string, unknown> };
    // Every key is always there; what does not apply is null.
    expect(Object.keys(error)).toEqual([
      "code",
      "message",
      "exit_code",
      "status",
      "request_id",
      "hint",
      "resumable",
      "next",
    ]);
    expect(error).toMatchObject({
      exit_code: exitCode,
      status: null,
      request_id: null,
      resumable: false,
      next: null,
    });
    expect(error.message).not.toBe("");
  });

  test("CSV columns of both records, in published order", async () => {
    await expect(`${PERSON_FIELDS.join(",")}\n${COMPANY_FIELDS.join(",")}\n`).toMatchFileSnapshot(
      "promises/columns.txt",
    );
  });
});
