import { execFile, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Person } from "../../src/shared/contract/records.ts";
import { charged, type User, user } from "../support/export.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { BIN } from "../support/spawned.ts";

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
/** Lines of a table, without the names of its columns. */
const rowsOf = (name: string): readonly string[] => u.read(name).trim().split("\n").slice(1);

const CREDITS = 1_000;
let service: TestService;
let u: User;
/** A company of the service, which the text calls acme.com. */
let domain = "";
beforeAll(async () => {
  service = await startTestService({ people: 2_000, credits: CREDITS });
  u = user(service.url, service.key);
  mkdirSync(u.file("bin"));
  writeFileSync(u.file("bin/headcount"), `#!/bin/sh\nexec "${process.execPath}" "${BIN}" "$@"\n`, {
    mode: 0o755,
  });
  const { result } = (
    await service.call("/v1/person/search", { body: { filters: {}, per_page: 50 } })
  ).json;
  domain =
    (result as Person[]).find(({ company_domain }) => company_domain !== null)?.company_domain ??
    "";
}, 60_000);
afterAll(() => service.close());

interface Said {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** As an agent runs it: in a shell, without a terminal. */
async function bash(command: string): Promise<Said> {
  const env = { ...u.env, PATH: `${u.file("bin")}:${process.env.PATH}` };
  const line = command.replaceAll("acme.com", domain);
  return await promisify(execFile)("bash", ["-o", "pipefail", "-c", line], {
    cwd: u.dir,
    env,
  }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }: Said) => ({ code, stdout, stderr }),
  );
}

/** The command of the text that begins so. An agent that knows nothing else changes its values and nothing more. */
function fromText(begins: string, changes: Readonly<Record<string, string>> = {}): string {
  const { command = "" } = commands.find((each) => each.command.startsWith(begins)) ?? {};
  expect(command, `the text has no ${begins}`).not.toBe("");
  return Object.entries(changes).reduce((line, [from, to]) => {
    expect(line).toContain(from);
    return line.replace(from, to);
  }, command);
}

/** Does what rule 6 says: the words of a hint in the place of the filters. */
async function countByHints(filters: string): Promise<number> {
  const counts = fromText("headcount count --country USA", {
    "--country USA --department Legal 2>&1": filters,
  });
  const { stdout, stderr } = await bash(counts);
  const [, words = ""] =
    /^hint: (?:did you mean )?(--.*?)\??(?: that)? counts /m.exec(stderr) ?? [];
  if (Number(stdout) > 0 || words === "") return Number(stdout);
  return Number((await bash(`headcount count ${words}`)).stdout);
}

test("mcp install skill prints what the package has", () => {
  const { status, stdout } = spawnSync(process.execPath, [BIN, "mcp", "install", "skill"], {
    encoding: "utf8",
  });
  expect([status, stdout]).toEqual([0, text]);
  expect(text).toMatch(/^---\nname: headcount\ndescription: .{40,1024}\n---\n/);
  for (const argv of [[], ["skill", "claude"]]) {
    expect(spawnSync(process.execPath, [BIN, "mcp", "install", ...argv]).status).toBe(2);
  }
});

test("its commands run as they are written, and cost at most what a person agreed to", async () => {
  expect(commands.length).toBeGreaterThan(20);
  for (const { command } of commands) {
    const before = await charged(service, CREDITS);
    const { code, stdout, stderr } = await bash(command);
    expect(code, `${command}: ${stderr}`).toBe(0);
    if (!command.includes(">")) expect(stdout, command).not.toBe("");
    const [, agreed = "0"] = /--max-credits (\d+)/.exec(command) ?? [];
    const spent = (await charged(service, CREDITS)) - before;
    expect(spent, command).toBeLessThanOrEqual(Number(agreed));
    if (/search .*--limit 20 --max-credits/.test(command)) expect(spent).toBe(20);
  }
  expect(rowsOf("legal.csv").length).toBeGreaterThanOrEqual(20);
  expect(rowsOf("acme.csv").length).toBeGreaterThan(0);
  expect(rowsOf("more.csv")).toHaveLength(5);
  expect(u.read("crm-enriched.csv")).toContain("ours");
}, 180_000);

test("no command of it agrees in place of a person", () => {
  for (const { title, command } of commands) {
    expect(command).not.toMatch(/--yes|-y\b|--all\b|keys|--force/);
    if (/headcount (search|enrich|employees|refresh)/.test(command))
      expect(command).toMatch(title.startsWith("Buy") ? /--max-credits \d|--dry-run/ : /--dry-run/);
  }
});

test("tasks: a segment under other words is found by its hints", async () => {
  const truth = async (filters: object) =>
    (await service.call("/v1/person/count", { method: "POST", body: { filters } })).json.result
      .count as number;
  expect(await countByHints("--country USA")).toBe(await truth({ country: "united states" }));
  expect(await countByHints("--title CTO")).toBe(
    await truth({ title: "chief technology officer" }),
  );
  const { values } = JSON.parse((await bash(fromText("headcount filters title"))).stdout);
  const { value: title } = values[0];
  expect(await countByHints(`--title "${title.replace(" of ", " ")}"`)).toBe(
    await truth({ title }),
  );
  expect(await countByHints("--title chief")).toBe(await truth({ title_prefix: "chief" }));
  const some = fromText("headcount count --country USA --country germany", { " 2>&1": "" });
  const { stdout, stderr } = await bash(some);
  expect(Number(stdout)).toBe(await truth({ country: "germany", department: "Sales" }));
  expect(stderr).toContain('--country USA matches nobody: --country "united states"');
}, 120_000);

test("tasks: a price is asked, a person agrees, exactly that is bought, and it is owned afterwards", async () => {
  const before = await charged(service, CREDITS);
  const design = { Legal: "Design" };
  const { rows, credits, balance_after } = JSON.parse(
    (await bash(fromText("headcount search", design))).stdout,
  );
  expect([rows, balance_after]).toEqual([20, CREDITS - before - credits]);
  const buys = fromText("headcount search --department Legal --limit 20 --max-credits", {
    ...{
      Legal: "Design",
      "--max-credits 20": `--max-credits ${credits}`,
      "legal.csv": "design.csv",
    },
  });
  expect(JSON.parse((await bash(buys)).stdout)).toMatchObject({ distinct: 20, credits });
  expect(JSON.parse((await bash(fromText("headcount search", design))).stdout)).toMatchObject({
    owned: 20,
  });
  const fresh = fromText(
    "headcount search --department Legal --limit 5 --new-only --dry-run",
    design,
  );
  expect(JSON.parse((await bash(fresh)).stdout)).toMatchObject({
    new_only: { new: expect.any(Number) },
  });
  const { credits_at_most: most } = JSON.parse(
    (await bash(fromText("headcount refresh legal.csv --dry-run", { "legal.csv": "design.csv" })))
      .stdout,
  );
  const refreshed = fromText("headcount refresh legal.csv --max-credits", {
    ...{ "legal.csv": "design.csv", "--max-credits 60": `--max-credits ${most}` },
  });
  expect((await bash(refreshed)).code).toBe(0);
  // A list that a limit ended stays that list.
  expect(rowsOf("design.csv")).toHaveLength(20);
  expect((await charged(service, CREDITS)) - before).toBeLessThanOrEqual(credits + most);
  expect(
    (
      await bash(
        fromText("headcount enrich acme.com --max-credits", { "acme.com": "nobody.example" }),
      )
    ).code,
  ).toBe(6);
}, 120_000);
