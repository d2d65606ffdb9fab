import { writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, beforeEach, expect, test } from "vitest";
import { startAgent, YES } from "../support/agent.ts";
import { asTyped } from "../support/as-typed.ts";
import { charged, type Ran, readCsv, type User, user } from "../support/export.ts";
import { long } from "../support/long.ts";
import { testService } from "../support/serving.ts";

// What is asked for twice at once is paid for once: the others wait, or end before anything is paid.

const CREDITS = 100_000;
const PERU = ["search", "--country", "peru"];

const service = testService({
  people: 2_000,
  credits: CREDITS,
  // Slow enough that nobody is done before all have begun.
  onApp: (app) => {
    app.addHook("preHandler", async ({ raw: { url = "" } }) => {
      if (!url.includes("count")) await sleep(url.includes("account") ? 0 : 100);
    });
  },
});
let u: User;
let people: number;

const at = (file: string): string[] => ["--yes", "-o", file, "--overwrite"];
const rowsOf = (file: string): number => readCsv(u.read(file)).length;

async function paid<T>(work: () => Promise<T>): Promise<[T, number]> {
  const before = await charged(service, CREDITS);
  const result = await work();
  return [result, (await charged(service, CREDITS)) - before];
}

/** All at once. */
const runAll = (...commands: readonly (readonly string[])[]): Promise<Ran[]> =>
  Promise.all(commands.map((words) => u.run(words)));

const codesOf = (all: readonly Ran[]): number[] => all.map(({ code }) => code).sort();

beforeAll(async () => {
  const own = user(service.url, service.key);
  people = Number((await own.run(["count", "--country", "peru"])).stdout);
});

beforeEach(() => {
  u = user(service.url, service.key);
});

long(
  "three of one segment: one buys it, the others say who does, and take its rows later",
  async () => {
    const files = ["a.csv", "b.csv", "c.csv"];
    const commands = files.map((file) => [...PERU, ...at(file)]);

    const [ran, spent] = await paid(() => runAll(...commands));
    expect([codesOf(ran), spent]).toEqual([[0, 9, 9], people]);
    for (const { code, stderr } of ran)
      if (code === 9)
        expect(stderr).toMatch(/another run is at work on the same segment: process \d+ since/);

    const [again, more] = await paid(async () => {
      const each: Ran[] = [];
      for (const command of commands) each.push(await u.run(command));
      return each;
    });
    expect([codesOf(again), more]).toEqual([[0, 0, 0], 0]);
    expect(files.map(rowsOf)).toEqual(files.map(() => people));
  },
);

test("with --wait the second takes what the first one bought", async () => {
  const [ran, spent] = await paid(() =>
    runAll(
      [...PERU, ...at("a.csv"), "--wait"],
      // However it is spelt.
      ["search", "--country", " PERU", ...at("b.csv"), "--wait"],
    ),
  );

  expect([codesOf(ran), spent]).toEqual([[0, 0], people]);
  expect(ran.map(({ stderr }) => stderr).join()).toMatch(
    /waiting for process \d+, which is at work on the same segment/,
  );
  expect([rowsOf("a.csv"), rowsOf("b.csv")]).toEqual([people, people]);
});

long("other segments, and other companies, do not wait for each other", async () => {
  const companies = ["a", "b"].map((file) => ["enrich", `${file}.example`, ...at(`${file}.csv`)]);
  const searches = ["chile", "ecuador"].map(
    (country) => asTyped`search --country ${country} ${at(`${country}.csv`)}`,
  );

  const ran = await runAll(...companies, ...searches);
  expect(codesOf(ran)).toEqual([0, 0, 6, 6]);
});

long("employees: one company in two lists is asked for once", () => askedOnce("employees"));

long("enrich: one company in two lists is asked for once", () => askedOnce("enrich"));

async function askedOnce(command: "employees" | "enrich"): Promise<void> {
  await u.ran([...PERU, "--limit", "1", ...at("one.csv")]);
  const [{ company_network_url: address = "" } = {}] = readCsv(u.read("one.csv"));
  const [, price] = await paid(() => u.run([command, address, ...at("alone.csv")]));

  u = user(service.url, service.key);
  const [ran, spent] = await paid(() =>
    runAll(
      [command, address, ...at("a.csv"), "--wait"],
      [command, address, ...at("b.csv"), "--wait"],
    ),
  );

  expect([codesOf(ran), spent]).toEqual([[0, 0], price]);
  expect(u.read("a.csv")).toBe(u.read("b.csv"));
}

test("a sample with a seed, a job and an agent wait as well, or say so", async () => {
  const sample = [...PERU, "--sample", "5", "--seed", "1"];
  const [samples, forSamples] = await paid(() =>
    runAll([...sample, ...at("a.csv"), "--wait"], [...sample, ...at("b.csv"), "--wait"]),
  );
  expect([codesOf(samples), forSamples]).toEqual([[0, 0], 5]);

  u = user(service.url, service.key);
  const job = {
    command: "search",
    filters: { country: "peru" },
    max_credits: 500,
    output: "j.csv",
  };
  writeFileSync(u.file("jobs.jsonc"), JSON.stringify({ jobs: { peru: job } }));
  const agent = await startAgent(u, ["--max-credits", "500/total"], { answer: YES });
  const asked = { kind: "people", filters: { country: "peru" }, profiles: people };
  const { data } = await agent.call("quote", asked);

  const [[command, ran, tool], spent] = await paid(() =>
    Promise.all([
      u.run([...PERU, ...at("c.csv")]),
      u.run(["jobs", "run", "peru", "--file", "jobs.jsonc"]),
      agent.call("buy", { quote_id: data.quote_id }),
    ]),
  );
  await agent.close();
  // Whoever came when another one was done took its rows.
  const held = [
    ...[command, ran].filter(({ code }) => code !== 0).map(({ stderr }) => stderr),
    ...(tool.failed ? [tool.text] : []),
  ];
  expect(spent).toBe(people);
  expect(held.length).toBeLessThan(3);
  for (const text of held) expect(text).toContain("at work on the same segment");
});
