import { cpSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { charged } from "../support/export.ts";
import { CREDITS, type Serving, serveUsers } from "../support/serving.ts";

// What the pages promise to scripts, each tried as a script would.

const ROOT = resolve(import.meta.dirname, "../..");
const LEGAL = ["search", "--department", "Legal"];
let { service, u } = {} as Serving;
serveUsers((now) => ({ service, u } = now));

interface Line {
  readonly notice?: string;
  readonly error?: { readonly resumable: boolean; readonly next: string | null };
}

const linesOf = (stderr: string): Line[] =>
  stderr
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);

test("docs/reference/exit-codes.md: with --json every line of stderr is JSON, the error the last, and a cap is not raised by `next`", async () => {
  const buy = [...LEGAL, "--max-credits", "3", "--require-complete", "-o", "a.csv", "--json"];
  const first = await u.ends(5, buy);
  expect(linesOf(first.stderr).at(-1)?.error).toMatchObject({ resumable: false, next: null });

  // The same again buys nothing and ends as before: a loop looks at `resumable`, not at 5.
  const before = await charged(service, CREDITS);
  const again = await u.ends(5, buy);
  expect((await charged(service, CREDITS)) - before).toBe(0);
  const lines = linesOf(again.stderr);
  expect(lines.length).toBeGreaterThan(1);
  expect(lines.at(0)?.notice).toMatch(/^continuing run /);
  expect(lines.at(-1)?.error).toMatchObject({ resumable: false, next: null });
});

test("docs/reference/troubleshooting.md: `runs show` says what bounded a file and who was left out", async () => {
  const who = (await u.json([...LEGAL, "--limit", "5", "-y", "--json"]))[2];
  await u.run(["suppress", "add", String(who.network_url)]);
  await u.ran([...LEGAL, "--limit", "11", "-y", "-o", "b.csv"]);

  const { stdout } = await u.run(["runs", "show", "last"]);
  expect(stdout).toMatch(/^receipt\.bound\tlimit$/m);
  expect(stdout).toMatch(/^receipt\.suppressed\t1$/m);
  const shown = await u.run(["runs", "show", "last"], { tty: true, env: { NO_COLOR: "1" } });
  expect(shown.stdout).toMatch(/why no more +stopped at the limit: \d+ matched; 1 suppressed/);
});

test("docs/how-to/jobs.md: `jobs check` looks whether the connection of a job is there", async () => {
  const job = { filters: { department: "Legal" }, max_credits: 5, output: "c.csv" };
  writeFileSync(
    u.file("jobs.jsonc"),
    JSON.stringify({
      jobs: { weekly: { ...job, connection: "work" }, own: { ...job, output: "d.csv" } },
    }),
  );
  const checked = await u.ends(2, ["jobs", "check", "--file", "jobs.jsonc", "--json"]);
  expect(JSON.parse(checked.stdout)).toMatchObject([
    {
      job: "weekly",
      finding: "invalid",
      message: expect.stringMatching(/^there is no connection "work"/),
    },
  ]);
});

test("docs/how-to/move.md: runs and lists remember the whole path of their file", async () => {
  const bought = await u.run([...LEGAL, "--max-credits", "5", "-y", "-o", "list.csv"]);
  expect(bought.code).toBe(0);
  cpSync(u.file("state"), u.file("moved/state"), { recursive: true });
  renameSync(u.file("list.csv"), u.file("moved/list.csv"));
  const there = { cwd: u.file("moved"), env: { HEADCOUNT_STATE_DIR: u.file("moved/state") } };

  const more = ["resume", "last", "--max-credits", "7", "-y"];
  await u.ran(more, there);
  expect(readFileSync(u.file("list.csv"), "utf8").trimEnd().split("\n")).toHaveLength(8);

  const unknown = await u.run(["refresh", "list.csv", "--max-credits", "5", "-y"], there);
  expect(unknown.code).toBe(2);
  const beside = ["refresh", "list.csv", ...LEGAL.slice(1), "--dry-run"];
  await u.ran(beside, there);
});

test("no page installs a package of our name from a registry: nobody has published one", () => {
  const pages = readdirSync(join(ROOT, "docs"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`);
  for (const page of ["README.md", "CONTRIBUTING.md", ...pages]) {
    const text = readFileSync(join(ROOT, page), "utf8");
    expect(text, page).not.toMatch(
      /(?:npm install|npm i|npx)[^\n`]* headcount(?:-service)?(?:@|`|\s|$)/m,
    );
  }
});
