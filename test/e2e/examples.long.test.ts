import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Command } from "commander";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { buildProgram } from "../../src/cli/program.ts";
import { testContext } from "../support/client.ts";
import { startShell } from "../support/shell.ts";

/**
 * Every example of the help and every shell block of the docs runs as it is written, on the sample:
 * in this process, but for what serves. The built program is tried by release.long.test.ts.
 */
const ROOT = resolve(import.meta.dirname, "../..");
const folder = mkdtempSync(join(tmpdir(), "headcount-examples-"));
const home = join(folder, "home");
const work = join(folder, "work");

/** Examples that need what no test may have, each with the reason. */
const NOT_RUN: readonly (readonly [RegExp, string])[] = [
  [
    /\b(login|logout|connections (?:add|remove))\b/,
    "asks a service on the internet or the keychain; test/keyring runs them",
  ],
  [/k_0a1b2c3d4e5f/, "names a key of somebody else"],
  [
    /forget .* --yes/,
    "ends with 5 where the files of other examples may still hold the person; test/cli/forget.test.ts runs it",
  ],
  [/sessions end 1f2e3d4c5b6a/, "names a session of somebody else"],
  [/credits refund 17/, "names a charge of somebody else"],
  [/ sync \/mnt\/team/, "wants a folder that other machines see; test/cli/sync.test.ts runs it"],
  [/-c apollo /, "asks a vendor; test/cli/vendors-by-ids.test.ts plays it"],
  [/resume \d{8}-|resume a1b2c3/, "names a run of somebody else"],
];

const environment = {
  HOME: home,
  LANG: "C.UTF-8",
  PROFILE: join(home, "profile.ps1"),
  HEADCOUNT_CONNECTION: "sample",
  PATH: process.env.PATH ?? "",
};
const shell = await startShell();
const bash = (script: string, cwd = work) => shell.bash(script, cwd, environment);

beforeAll(async () => {
  for (const path of [home, work, join(home, ".zsh"), join(home, ".config/fish/completions")]) {
    mkdirSync(path, { recursive: true });
  }
  mkdirSync(join(home, ".config/headcount"), { recursive: true });
  const work_ = { baseUrl: "https://api.example.com", keyStore: "keychain" };
  writeFileSync(
    join(home, ".config/headcount/config.json"),
    JSON.stringify({ connections: { work: work_ } }),
  );
  // What the examples take for granted: files of people and companies in the forms that they name.
  const prepared = await bash(`
    search() { headcount search --department Legal --limit 30 --yes --quiet --overwrite "$@"; }
    search -o people.csv; search -o people.ndjson; search -o people-1.parquet
    cp people.ndjson exports-2025.ndjson; cp people.ndjson exports-2024.ndjson; cp people.csv last-year.csv
    headcount enrich zephyr-pulse-co --yes --quiet -o companies.csv --overwrite
    headcount runs export last --format parquet -o companies.parquet
    gzip -k companies.csv
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=people -keyout people.key -out people.pem 2>/dev/null
    echo '{"people": {"title": "title"}}' > map.json
    echo '{"department": "Legal"}' > filters.json; cp filters.json legal.json; echo '{"department": "Sales"}' > sales.json
    echo zephyr-pulse-co.example > domains.txt
    headcount service generate --people 1000 --data ./data; headcount service generate --people 1000
    echo '{"jobs": {"legal": {"schedule": "0 6 * * 1", "filters": {"department": "Legal"}, "max_credits": 600, "output": "jobs-legal.csv"}}}' > jobs.jsonc
  `);
  if (prepared.code !== 0) throw new Error(prepared.stderr);
});
afterAll(() => {
  shell.close();
  rmSync(folder, { recursive: true, force: true });
});

async function helpExamples(): Promise<string[]> {
  const pages: string[] = [];
  const { context } = testContext({});
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
  const lines = pages
    .join("\n")
    .replace(/ \\\n +/g, " ")
    .split("\n");
  const found = lines.filter((line) => /^ {2}\$ /.test(line)).map((line) => line.slice(4));
  // Three spaces and more part an example from what is said of it.
  return found.map((line) => line.replace(/ {3,}.*$/, "").trim());
}

const examples = await helpExamples();

describe("examples of the help", () => {
  test("every command has some", () => expect(examples.length).toBeGreaterThan(40));

  test.each(
    [...new Set(examples)].filter((line) => !NOT_RUN.some(([pattern]) => pattern.test(line))),
  )("%s", async (line) => {
    if (/^headcount serve\b/.test(line)) {
      await serves(line);
      return;
    }
    // A hundred thousand people are generated as a thousand are.
    const result = await bash(line.replace("--people 100000 ", "--people 1000 "));
    expect(result, `${line}\n${result.stderr}`).toMatchObject({ code: 0 });
    expect(result.stderr).not.toMatch(/^error:/m);
  });
});

/** Runs until it says where it listens, then ends on SIGTERM with 0. */
async function serves(line: string): Promise<void> {
  const command = line.includes("--port") ? line : `${line} --port 0`;
  const child = spawn("bash", ["-c", `exec ${command}`], {
    cwd: work,
    env: { ...environment, PATH: `${shell.bin}:${environment.PATH}` },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  const ended = new Promise<number | null>((done) => child.once("exit", (code) => done(code)));
  await new Promise<void>((done, fail) => {
    const onData = (data: Buffer): void => {
      said += data.toString();
      if (/https?:\/\/(127\.0\.0\.1|0\.0\.0\.0):\d+/.test(said)) done();
    };
    child.stdout.on("data", onData);
    child.stderr.on("data", onData);
    void ended.then((code) => fail(new Error(`${line} ended with ${code}: ${said}`)));
  });
  child.kill("SIGTERM");
  expect(await ended).toBe(0);
}

/** All pages with blocks of sh, but the recipes for a CRM, which are tried by crm.long.test.ts. */
const PAGES = readdirSync(join(ROOT, "docs"), { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".md") && name !== "how-to/crm.md")
  .map((name) => `docs/${name}`)
  .filter((page) => readFileSync(join(ROOT, page), "utf8").includes("```sh\n"));

describe("README", () => {
  const readme = readFileSync(join(ROOT, "README.md"), "utf8");
  const blocksOf = (page: string): string[] =>
    [...page.matchAll(/```sh\n([\s\S]*?)```/g)].map((match) => match[1] ?? "");
  const blocks = blocksOf(readme);

  test("opens with the two blocks that a stranger runs", () => {
    expect(blocks[0]).toContain("npm install");
    expect(blocks[1]).toContain("npm install");
    expect(blocks.length).toBeGreaterThan(4);
  });

  // One shell for all of a page, in order, as somebody who reads along would have it.
  const pages: readonly (readonly [string, readonly string[]])[] = [
    ["README.md", blocks.slice(2)],
    ...PAGES.map((page) => [page, blocksOf(readFileSync(join(ROOT, page), "utf8"))] as const),
  ];
  test.each(pages)("every block of %s runs as written", async (page, script) => {
    const own = join(folder, page.replaceAll("/", "-"));
    mkdirSync(own);
    const result = await bash(script.join("\n"), own);
    expect(result, `${result.stdout}\n${result.stderr}`).toMatchObject({ code: 0 });
  });
});
