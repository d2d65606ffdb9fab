import { execFile, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { BIN, charged, type User, user } from "../support/export.ts";
import { startTestService, type TestService } from "../support/service.ts";

const text = readFileSync(resolve(import.meta.dirname, "../../skills/headcount/SKILL.md"), "utf8");
const sections = text.split(/^## /m).slice(1);
const commands = sections.flatMap((section) => {
  const [title = ""] = section.split("\n");
  const blocks = [...section.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block = ""]) => block);
  return blocks.flatMap((block) =>
    block
      .trim()
      .split("\n")
      .map((command) => ({ title, command })),
  );
});

let service: TestService;
let u: User;
beforeAll(async () => {
  service = await startTestService({ people: 2_000, credits: 1_000 });
  u = user(service.url, service.key);
  mkdirSync(u.file("bin"));
  writeFileSync(u.file("bin/headcount"), `#!/bin/sh\nexec "${process.execPath}" "${BIN}" "$@"\n`, { mode: 0o755 });
}, 60_000);
afterAll(() => service.close());

const bash = async (command: string) => {
  const env = { ...u.env, PATH: `${u.file("bin")}:${process.env.PATH}` };
  // Without a terminal: as an agent runs it.
  const { stdout } = await promisify(execFile)("bash", ["-o", "pipefail", "-c", command], { cwd: u.dir, env });
  return stdout;
};

test("mcp install --skill prints what the package has", () => {
  const { status, stdout } = spawnSync(process.execPath, [BIN, "mcp", "install", "--skill"], { encoding: "utf8" });
  expect([status, stdout]).toEqual([0, text]);
  expect(text).toMatch(/^---\nname: headcount\ndescription: .{40,1024}\n---\n/);
  for (const argv of [[], ["--skill", "--client", "claude"]]) {
    const { status: refused, stderr } = spawnSync(process.execPath, [BIN, "mcp", "install", ...argv], {
      encoding: "utf8",
    });
    expect([refused, stderr]).toEqual([2, expect.stringContaining("give --client or --skill")]);
  }
});

test("its commands run as they are written, and only one of them costs anything", async () => {
  expect(commands.length).toBeGreaterThan(10);
  for (const { title, command } of commands) {
    const before = await charged(service, 1_000);
    const printed = await bash(command);
    expect(printed, command).not.toBe("");
    const spent = (await charged(service, 1_000)) - before;
    expect(spent, command).toBe(title.startsWith("Buy") ? 20 : 0);
  }
  expect(readFileSync(join(u.dir, "legal.csv"), "utf8").trim().split("\n")).toHaveLength(21);
}, 120_000);

test("no command of it agrees in place of a person", () => {
  const buying = commands.filter(({ title }) => title.startsWith("Buy"));
  expect(buying.map(({ command }) => command)).toEqual([expect.stringContaining("--max-credits 20")]);
  for (const { command } of commands) expect(command).not.toMatch(/--yes|-y\b|--all\b|keys|--force/);
});
