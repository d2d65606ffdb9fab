import { writeFileSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { startAgent } from "../support/agent.ts";
import { type Serving, serveUsers } from "../support/serving.ts";

// What a user called something is told as it was typed, whatever it looks like: a door words
// what is ours, and nothing else.

let { u } = {} as Serving;
serveUsers((now) => ({ u } = now));
const VALUE = "Legal --limit 5; --again";
const FILE = "mine --limit 5; --again.csv";
const refused = `"${VALUE}"`;

test("a filter's value at the command, in a job, at a tool", async () => {
  expect((await u.run(["count", "--department", VALUE])).stderr).toContain(refused);

  const job = {
    command: "search",
    filters: { department: VALUE },
    max_credits: 5,
    output: "a.csv",
  };
  writeFileSync(u.file("jobs.jsonc"), JSON.stringify({ jobs: { a: job } }));
  const ran = await u.run(["jobs", "run", "a", "--file", "jobs.jsonc"]);
  expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining(refused)]);

  const agent = await startAgent(u, []);
  onTestFinished(() => agent.close());
  const { text } = await agent.call("count_people", { filters: { department: VALUE } });
  expect(text).toContain(refused);
});

test("the name of a file: a command has its own word for what replaces it, a job its own", async () => {
  writeFileSync(u.file(FILE), "theirs\n");
  const search = ["search", "--department", "Legal", "--max-credits", "5", "--yes"];
  const typed = await u.run([...search, "-o", FILE]);
  expect(typed.stderr).toContain(`${FILE} exists already`);
  expect(typed.stderr).toContain("hint: --overwrite replaces it");

  const job = { command: "search", filters: { department: "Legal" }, max_credits: 5, output: FILE };
  writeFileSync(u.file("jobs.jsonc"), JSON.stringify({ jobs: { a: job } }));
  const ran = await u.run(["jobs", "run", "a", "--file", "jobs.jsonc"]);
  expect(ran.stderr).toContain(`${FILE} exists, and this job did not write it`);
  expect(ran.stderr).toContain('hint: "overwrite": true in the job lets it be replaced');
});

test("a title in a quote, and among the runs", async () => {
  const title = "Head of --limit 5";
  const search = ["search", "--title", title, "-o", "none.csv"];
  const { stdout } = await u.run([...search, "--dry-run", "--json"]);
  expect(JSON.parse(stdout)).toMatchObject({ target: JSON.stringify({ title }) });

  expect(await u.run([...search, "--yes"])).toMatchObject({ code: 0 });
  expect((await u.run(["runs"])).stdout).toContain(title);
});

test("a file of filters that is not there is named as a job names it", async () => {
  const name = "who --limit 5; --again.json";
  const job = { command: "search", filters: [name], max_credits: 5, output: "a.csv" };
  writeFileSync(u.file("jobs.jsonc"), JSON.stringify({ jobs: { a: job } }));
  const ran = await u.run(["jobs", "run", "a", "--file", "jobs.jsonc"]);
  expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining(name)]);
});
