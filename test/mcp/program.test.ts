import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { startAgent } from "../support/agent.ts";
import { rawProcess } from "../support/agent-process.ts";
import { charged } from "../support/export.ts";
import { quoteOf, textOf } from "../support/raw-agent.ts";
import { CREDITS, type Serving, serveUsers } from "../support/serving.ts";
import { BIN } from "../support/spawned.ts";

// What is true of the built program only: its streams, and the lines that a person types into a shell.

let { service, u } = {} as Serving;
serveUsers((now) => ({ service, u } = now));

test("stdout is the protocol's alone, and stderr tells neither key nor filter", async () => {
  const agent = rawProcess(u, ["--max-credits", "5", "--ask-over", "5", "--verbose"]);
  const quote = await agent.call("quote", {
    kind: "people",
    filters: { country: "france" },
    profiles: 2,
  });
  const quote_id = quoteOf(quote);
  expect(textOf(await agent.call("buy", { quote_id }))).toContain("2 rows");
  expect(await agent.end()).toBe(0);
  // Every line was read as JSON already.
  expect(agent.lines.map((line) => JSON.parse(line).jsonrpc)).toEqual(["2.0", "2.0"]);
  expect(agent.stderr()).toContain("POST");
  expect(agent.stderr()).not.toContain("france");
  expect(agent.stderr()).not.toContain(service.key);
});

test.each([
  ["claude", "claude mcp add -e "],
  ["codex", "codex mcp add headcount --env "],
])(
  "the line that mcp install prints for %s starts the server when it is typed",
  async (client, begins) => {
    const { stderr } = await u.run(["mcp", "install", "--max-credits", "5/total", client]);
    const line = /; or: (.*)$/m.exec(stderr)?.[1] ?? "";
    expect(line.startsWith(begins)).toBe(true);
    // What stands behind the two hyphens is what the client starts, in the environment that the line names.
    const script = `${client}() { while [ "$1" != -- ]; do shift; done; shift; exec "$@" < /dev/null; }; ${line}`;
    // Nobody asks it anything: it ends with its stdin, where it could be started.
    await promisify(execFile)("sh", ["-c", script], {
      env: { HEADCOUNT_API_KEY: service.key },
      cwd: u.dir,
    });
  },
);

test.each(["modern", "legacy"] as const)(
  "a client that cannot ask gets the command for a person (%s)",
  async (era) => {
    const before = await charged(service, CREDITS);
    const agent = await startAgent(u, ["--max-credits", "10"], { era });
    onTestFinished(() => agent.close());
    const filters = { country: "united states", title_prefix: "s" };
    const quote = await agent.call("quote", { kind: "people", filters, profiles: 2 });
    const refused = await agent.call("buy", { quote_id: quote.data.quote_id });
    expect(refused.failed).toBe(true);
    expect((await charged(service, CREDITS)) - before).toBe(0);
    const [, command = ""] = /a person may buy it: headcount (.*)$/m.exec(refused.text) ?? [];
    const typed = `exec < /dev/null; "${process.execPath}" "${BIN}" ${command} --format ndjson`;
    const { stdout } = await promisify(execFile)("sh", ["-c", typed], {
      env: { PATH: process.env.PATH, ...u.env },
      cwd: u.dir,
    });
    expect(stdout.trim().split("\n")).toHaveLength(2);
    expect((await charged(service, CREDITS)) - before).toBe(2);
  },
);
