import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startAgent, YES } from "../support/agent.ts";
import { runIds } from "../support/export.ts";
import { foreignScene } from "../support/foreign-scene.ts";

// A service that counts by a filter and sells without it: the first page shows it, and is all that is bought.

const PEOPLE = 60;
const mixed = { people: PEOPLE, maxPerPage: 20, countries: ["Germany", "Peru", "GERMANY "] };

test("a page with other countries than were asked for ends the run, for good, at its own cost", async () => {
  const { run, service } = await foreignScene(mixed);
  const search = ["search", "--country", "germany", "--yes", "-o", "o.csv"];

  const first = await run(...search);
  expect(first.code, first.stderr).toBe(5);
  expect(first.stderr).toContain(
    'row 2 of the first page says country "Peru", which was not asked for, and 7 of 20 rows do so',
  );
  expect(service.charged()).toBe(20);

  // Neither the same command nor the run itself buys more; what came is not lost.
  expect((await run(...search)).code).toBe(5);
  expect((await run("resume", "last", "--yes")).code).toBe(5);
  expect(service.charged()).toBe(20);
  const kept = await run("runs", "export", "last", "--format", "csv");
  expect([kept.code, kept.stdout.trim().split("\n").length - 1]).toEqual([0, 20]);

  // The hint, as it says.
  const without = await run("search", "--all", "--yes", "-o", "all.csv");
  expect(without.code, without.stderr).toBe(0);
});

test("killed before it wrote why it ended, the same command looks at what came and buys no more", async () => {
  const { run, service, u } = await foreignScene(mixed);
  const search = ["search", "--country", "germany", "--yes", "-o", "o.csv"];
  await run(...search);
  const journal = join(u.dir, "state", "runs", runIds(u)[0] ?? "", "journal.ndjson");
  const written = readFileSync(journal);
  const end = written.lastIndexOf('{"t":"ended"');
  expect(end).toBeGreaterThan(0);
  writeFileSync(journal, written.subarray(0, end));

  const again = await run(...search);

  expect([again.code, again.stderr]).toEqual([5, expect.stringContaining('country "Peru"')]);
  expect(service.charged()).toBe(20);
});

test.each<[string, readonly string[], readonly string[]]>([
  ["as asked, in other letters", ["GERMANY", " germany"], ["--country", "germany"]],
  [
    "one of several that were asked for",
    ["Germany", "Peru"],
    ["--country", "peru", "--country", "germany"],
  ],
  ["spelt otherwise in each row", ["DE", "PE"], ["--country", "germany"]],
  ["not said at all", [""], ["--country", "germany"]],
  ["of another filter", ["Germany", "Peru"], ["--title-prefix", "sales"]],
])("%s: bought", async (_, countries, filters) => {
  const { run, service } = await foreignScene({ ...mixed, countries });
  const ran = await run("search", ...filters, "--yes", "-o", "o.csv");
  expect(ran.code, ran.stderr).toBe(0);
  expect(service.charged()).toBe(PEOPLE);
  const isOdd = countries[0] === "DE";
  const warning = 'no row of the first page says country as it was asked for, row 1 says "DE"';
  expect(ran.stderr.includes(warning), ran.stderr).toBe(isOdd);
});

test("a job and an agent are told the same", async () => {
  const { run, service, u } = await foreignScene(mixed);
  const agent = await startAgent(u, ["--max-credits", "100/total"], { answer: YES });
  const asked = { kind: "people", filters: { country: "germany" }, profiles: PEOPLE };
  const { data } = await agent.call("quote", asked);
  const bought = await agent.call("buy", { quote_id: data.quote_id });
  expect([bought.failed, bought.text]).toEqual([true, expect.stringContaining('country "Peru"')]);
  await agent.close();
  expect(service.charged()).toBe(20);

  const job = {
    command: "search",
    filters: { country: "germany" },
    max_credits: 90,
    output: "j.csv",
  };
  writeFileSync(u.file("jobs.jsonc"), JSON.stringify({ jobs: { all: job } }));
  const ran = await run("jobs", "run", "all", "--file", "jobs.jsonc");
  expect([ran.code, ran.stderr]).toEqual([5, expect.stringContaining('country "Peru"')]);
});
