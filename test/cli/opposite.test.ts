import {
  closeSync,
  copyFileSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { startAgent, YES } from "../support/agent.ts";
import { type Ran, readCsv, spentBy, user } from "../support/export.ts";
import { foreignScene } from "../support/foreign-scene.ts";
import type { ForeignOptions } from "../support/foreign-service.ts";
import { spawnUser } from "../support/spawned.ts";

// Behind each sentence that headcount says stands here the opposite truth: then it must not be said.

async function at(change: Partial<ForeignOptions>) {
  const { service: it, u } = await foreignScene(change);
  return { it, u };
}
const said = ({ stdout, stderr }: Ran): string => `${stdout}\n${stderr}`;

const SEARCH = ["search", "--country", "x", "--yes", "-o", "o.csv"];
const ENRICH = ["enrich", "missing.example", "--yes", "-o", "o.csv"];
const ALL_FAIL = () => "500-charged" as const;

describe("nothing was charged", () => {
  test.each(["used", "balance", "nothing"] as const)(
    "an error of a paid call costs, and tells %s of it",
    async (faultTells) => {
      const { u, it } = await at({ mishap: ALL_FAIL, faultCosts: 3, faultTells });
      const ran = await u.run([...SEARCH, "--max-credits", "50"]);
      expect(it.charged()).toBeGreaterThan(0);
      expect(ran.code).not.toBe(0);
      expect(said(ran)).not.toMatch(/nothing (more )?was (charged|spent)/);
    },
  );

  test("a reply is lost each time, after it was charged", async () => {
    const { u, it } = await at({ mishap: () => "drop" });
    const ran = await u.run([...SEARCH, "--max-credits", "5000"]);
    expect(it.charged()).toBeGreaterThan(0);
    expect(said(ran)).not.toMatch(/nothing (more )?was (charged|spent)/);
  });
});

describe("not found, free", () => {
  test.each(["used", "balance"] as const)(
    "a miss costs, and tells %s of it",
    async (faultTells) => {
      const { u, it } = await at({ missCosts: 2, faultTells });
      const ran = await u.run(ENRICH);
      expect(it.charged()).toBe(2);
      expect(said(ran)).not.toMatch(/free of charge|nothing was (charged|spent)/);
    },
  );

  test.each(["used", "balance"] as const)(
    "an agent looks up what costs though it is not found (%s)",
    async (faultTells) => {
      const { u, it } = await at({ missCosts: 2, faultTells });
      const agent = await startAgent(u, ["--max-credits", "50"], { answer: YES });
      const told = await agent.call("enrich_company", { domain: "missing.example" });
      expect(it.charged(), told.text).toBe(2);
      expect(told.text).not.toMatch(/free of charge|nothing was (charged|spent)/);
      await agent.close();
    },
  );
});

describe("a success without a company that was charged finds none", () => {
  const dear = { missCosts: 1, missing: { result: null, used: 1_000 } };

  test("enrich ends, and says so again without asking", async () => {
    const { u, it } = await at(dear);
    const one = ["enrich", "missing.example"];
    const [first, second, third] = [
      await u.run(one),
      await u.run(one),
      await u.run(["resume", "last"]),
    ];
    expect([first.code, said(first)]).toEqual([
      5,
      expect.stringContaining("charged 1 credit for 0 rows quoted at 0"),
    ]);
    for (const ran of [second, third]) {
      expect([ran.code, said(ran)]).toEqual([
        6,
        expect.stringContaining("1 credit charged, though a miss is free"),
      ]);
      expect(said(ran)).not.toContain("resume");
    }
    expect(it.charged()).toBe(1);
    const list = await u.run([...ENRICH, "globex.example", "--misses", "m.txt"]);
    expect(list.code).toBe(5);
    expect((await u.run([...ENRICH, "globex.example", "--misses", "m.txt"])).stderr).toMatch(
      /1 not found.*missing/,
    );
    expect([u.read("m.txt"), it.charged()]).toEqual(["missing.example\n", 3]);
  });

  test("an agent is not told of a company", async () => {
    const { u, it } = await at(dear);
    const agent = await startAgent(u, ["--max-credits", "50"], { answer: YES });
    expect((await agent.call("enrich_company", { domain: "missing.example" })).failed).toBe(true);
    const told = await agent.call("enrich_company", { domain: "missing.example" });
    expect([told.data, it.charged()]).toEqual([{ found: false, credits: 0, budget_left: 49 }, 1]);
    expect(told.text).not.toContain("resume");
    await agent.close();
  });
});

test("nobody there is not said where no number came", async () => {
  const { u } = await at({ countUnder: "sum_of_them" });
  const ran = await u.run(["count", "--country", "x"]);
  expect(ran.code).not.toBe(0);
  expect(said(ran)).not.toMatch(/^0$|nobody matches/m);
});

test("complete: more are counted than ever come", async () => {
  const { u } = await at({ countedTooMany: 30, people: 60 });
  const ran = await u.run([...SEARCH, "--receipt", "r.json"]);
  expect(ran.code).not.toBe(0);
  expect(said(ran)).not.toMatch(/Exported 90|all of it/);
  expect(said(ran)).toMatch(/60 of 90|30 (more|fewer|are missing|rows)|90/);
});

test.each(["search", "agent"])("complete: rows of null are nobody (%s)", async (door) => {
  const shape = (rows: readonly object[]) => ({
    people: rows.map((row, index) => (index === 2 ? null : row)),
  });
  const { u } = await at({ people: 20, shape });
  if (door === "search") {
    const ran = await u.run(SEARCH);
    expect([ran.code, said(ran)]).toEqual([
      5,
      expect.stringContaining("20 credits for 19 rows quoted at 19"),
    ]);
    await u.run(["runs", "export", "last", "-o", "o.csv"]);
    expect(readCsv(u.read("o.csv")).filter(({ id }) => id === "")).toEqual([]);
    expect(readCsv(u.read("o.csv"))).toHaveLength(19);
    return;
  }
  const agent = await startAgent(u, ["--max-credits", "50"], { answer: YES });
  const quote = await agent.call("quote", { kind: "people", filters: { country: "x" } });
  const told = await agent.call("buy", { quote_id: String(quote.data.quote_id) });
  expect([told.failed, told.text]).toEqual([
    true,
    expect.stringContaining("20 credits for 19 rows"),
  ]);
  await agent.close();
});

test("twice: rows that cannot be told apart are not said to be different people", async () => {
  const { u } = await at({ people: 60, shape: (rows) => ({ people: rows.map(() => ({})) }) });
  const ran = await u.run([...SEARCH, "--per-page", "10"]);
  expect([ran.code, said(ran)]).toEqual([
    5,
    expect.stringContaining("twice, of rows without id and address"),
  ]);
});

test("0 credits: an agent is told what the balance says of rows that came for nothing", async () => {
  const { u, it } = await at({ people: 20, usedIs: 0 });
  const agent = await startAgent(u, ["--max-credits", "50"], { answer: YES });
  const quote = await agent.call("quote", { kind: "people", filters: { country: "x" } });
  const told = await agent.call("buy", { quote_id: String(quote.data.quote_id) });
  expect(it.charged()).toBe(20);
  expect(told.data).toMatchObject({ credits: 0, uncertain_credits: 20, budget_left: 30 });
  expect(told.text).toContain("for 0 credits, and 20 more may have been charged");
  await agent.close();
});

test.each([["count", "--country", "x"], ["count", "--by", "department"], SEARCH])(
  "free: a count that costs credits by the service's own words: %s",
  async (...argv) => {
    const { u } = await at({ people: 20, countCosts: 5 });
    const ran = await u.run(argv);
    expect(ran.stderr).toContain("it charged 5 credits for a call that is free by the contract");
  },
);

describe("the key", () => {
  test.each([
    ["account"],
    ["doctor"],
    ["count", "--country", "x"],
    ["search", "--country", "x", "--yes", "-o", "o.csv"],
  ])("is not shown where the service answers with what it was sent: %s", async (...argv) => {
    const echoes = createServer((request, response) => {
      response
        .writeHead(400, { "content-type": "text/plain" })
        .end(`you sent ${request.headers.authorization}`);
    });
    await new Promise<void>((done) => echoes.listen(0, "127.0.0.1", done));
    const key = "acme_live_0123456789abcdefghij";
    const u = user(`http://127.0.0.1:${(echoes.address() as AddressInfo).port}`, key);
    for (const more of [[], ["--json"], ["--verbose"]]) {
      const ran = await u.run([...argv, ...more]);
      expect(ran.code).not.toBe(0);
      expect(said(ran)).toContain("you sent Bearer ...");
      expect(said(ran)).not.toContain(key);
    }
    echoes.close();
  });
});

test.each([
  ["runs", ["runs"]],
  ["runs", ["spend"]],
  ["runs", ["owned"]],
  ["suppression", ["suppress", "list"]],
  ["suppression", ["search", "--country", "x", "--limit", "1", "--yes", "-o", "o.csv"]],
])("nothing there: of a folder that is a file, %s: %j", async (folder, argv) => {
  const { u, it } = await at({ people: 5 });
  mkdirSync(join(u.dir, "state"), { recursive: true });
  writeFileSync(join(u.dir, "state", folder), "");
  const ran = await u.run(argv);
  expect(ran.code, said(ran)).not.toBe(0);
  expect(it.charged()).toBe(0);
});

test("balance: beside a service that is not there", async () => {
  const { u, it } = await at({});
  await u.run(["account"]);
  await it.close();
  const ran = await u.run(["account"]);
  expect(ran.code).not.toBe(0);
  expect(said(ran)).not.toMatch(/5,?000/);
});

test("written again: where it could not be", async () => {
  const { u } = await at({ people: 40 });
  expect((await u.run(SEARCH)).code).toBe(0);
  const ran = await u.run(["runs", "export", "last", "-o", "no-such-folder/o.csv"]);
  expect(ran.code).not.toBe(0);
  expect(said(ran)).not.toMatch(/written again|Wrote|Exported/);
});

test("others spent: what a lost reply cost is nobody else's", async () => {
  const { u, it } = await at({
    people: 150,
    maxPerPage: 100,
    mishap: (call) => (call === 1 ? "drop" : undefined),
  });
  const ran = await u.run([...SEARCH, "--concurrency", "1"]);
  expect(it.charged()).toBeGreaterThan(100);
  expect(said(ran)).not.toContain("others spent");
});

test("added: who is on the list already", async () => {
  const { u } = await at({});
  await u.run(["suppress", "add", "p_0000000042"]);
  const ran = await u.run(["suppress", "add", "p_0000000042"]);
  expect(said(ran)).not.toMatch(/added 1 /);
});

test("forgotten: a copy that headcount was not told of is not said to be gone", async () => {
  const { u } = await at({ people: 20 });
  expect((await u.run(SEARCH)).code).toBe(0);
  copyFileSync(u.file("o.csv"), u.file("copy.csv"));
  const ran = await u.run(["forget", "1000003", "--yes"]);
  expect(readFileSync(u.file("copy.csv"), "utf8")).toContain("1000003");
  expect(u.read("o.csv")).not.toContain("1000003");
  expect(said(ran)).not.toMatch(/everywhere|every copy|nothing is left/);
  expect(said(ran)).not.toContain("copy.csv");
});

test("none has the person: a file that was moved was not looked at, and is named", async () => {
  const { u } = await at({ people: 20 });
  expect((await u.run(SEARCH)).code).toBe(0);
  renameSync(u.file("o.csv"), u.file("moved.csv"));
  const kept = JSON.parse((await u.run(["data", "--json"])).stdout) as {
    kept: { what: string; path: string }[];
  };
  expect(kept.kept).toContainEqual(
    expect.objectContaining({ what: "moved or removed", path: u.file("o.csv") }),
  );
  const line = `moved or removed, cannot be looked at: ${u.file("o.csv")}`;
  for (const how of ["--dry-run", "--yes"])
    expect((await u.run(["forget", "1000003", how])).stdout).toContain(line);
});

test("for 20 credits: of a run that was bought before, how much of it now", async () => {
  const { u } = await at({ people: 20 });
  expect((await u.run([...SEARCH, "--limit", "12"])).code).toBe(0);
  const same = await u.run(["resume", "last", "--yes", "--overwrite"]);
  expect(same.stderr).toContain("for 12 credits (0 of them now) to ");
  const more = await u.run([
    "resume",
    "last",
    "--limit",
    "20",
    "--max-credits",
    "20",
    "--yes",
    "--overwrite",
  ]);
  expect(more.stderr).toContain("for 20 credits (8 of them now) to ");
});

test("unchanged: a list whose fields nobody asked for again", async () => {
  const { u } = await at({ people: 20 });
  expect((await u.run(SEARCH)).code).toBe(0);
  const ran = await u.run(["refresh", "o.csv", "--dry-run"]);
  expect(said(ran)).not.toMatch(/\b0 changed|unchanged/);
  rmSync(u.file("o.csv"));
});

test("may have been charged: for a reply that was lost, once, however often the run is resumed", async () => {
  const { u, it } = await at({
    people: 150,
    maxPerPage: 100,
    mishap: (call) => (call === 1 ? "drop" : undefined),
  });
  const ran = await u.run([...SEARCH, "--concurrency", "1"]);
  expect([ran.code, it.charged()]).toEqual([5, 150]);
  const [, resume = "", cap = ""] =
    /headcount (resume \S+) --max-credits (\d+) buys/.exec(ran.stderr) ?? [];
  const few = await u.run([...resume.split(" "), "--max-credits", String(Number(cap) - 1)]);
  expect([few.code, it.charged()]).toEqual([5, 150]);
  // What it says would buy the rest does.
  const rest = /headcount (resume \S+ --max-credits \d+)/.exec(few.stderr)?.[1] ?? "";
  const all = await u.run(rest.split(" "));
  expect(all.code, all.stderr).toBe(0);
  expect([it.charged(), (await spentBy(u)).uncertain]).toEqual([250, 100]);
});

test("never twice: where the service names no dataset, what is bought once more is said before", async () => {
  const { u, it } = await at({ people: 50 });
  expect((await u.run(SEARCH)).code).toBe(0);
  const dry = await u.run(["search", "--country", "x", "--dry-run"]);
  expect(dry.stderr).toMatch(
    /notice: run \S+ of .* UTC bought 50 rows of the same; the service names no dataset/,
  );
  const [, again = ""] =
    /headcount (runs export \S+) writes those of then for nothing/.exec(dry.stderr) ?? [];
  const written = await u.run([...again.split(" "), "-o", "again.csv"]);
  expect([written.code, it.charged(), u.read("again.csv")]).toEqual([0, 50, u.read("o.csv")]);
});

test("never twice: where the dataset moved, what is bought once more is said before, at every door", async () => {
  let version = "A";
  const { u, run, service } = await foreignScene({
    people: 60,
    version: () => version,
    total: "header",
  });
  const sales = ["search", "--country", "x", "--max-credits", "25"];
  const first = await run(...sales, "-o", "a.csv");
  expect([first.code, service.charged()]).toEqual([0, 25]);
  version = "B";
  const dry = await run("search", "--country", "x", "--dry-run");
  const why = "that was dataset A, and whoever is in the one of today too is paid for again";
  const text = new RegExp(`run \\S+ of .* UTC bought 25 rows of the same; ${why}`);
  expect(dry.stderr).toMatch(text);
  const agent = await startAgent(u, ["--max-credits", "400"]);
  const quote = await agent.call("quote", {
    kind: "people",
    filters: { country: "x" },
    profiles: 25,
  });
  expect(quote.data).toMatchObject({ notice: expect.stringMatching(text) });
  await agent.close();
  const second = await run(...sales, "-o", "b.csv");
  expect([second.code, service.charged(), second.stderr]).toEqual([
    0,
    50,
    expect.stringMatching(text),
  ]);
  const [, again = ""] =
    /headcount (runs export \S+) writes those of then for nothing/.exec(second.stderr) ?? [];
  expect((await run(...again.split(" "), "-o", "again.csv")).code).toBe(0);
  expect(u.read("again.csv")).toBe(u.read("a.csv"));
  expect((await run(...sales, "--overwrite", "-o", "b.csv")).stderr).not.toContain(
    "that was dataset",
  );
});

test("lost: every reply came, and told another charge, or failed and cost", async () => {
  const { u, it } = await at({ people: 60, usedIs: 0 });
  const ran = await u.run([...SEARCH, "--max-credits", "60"]);
  expect(it.charged()).toBe(60);
  expect(said(ran)).toContain("60 more credits may have been charged");
  expect(said(ran)).not.toMatch(/replies that were lost$/m);
});

test("left of the budget: what a refusal cost is counted once", async () => {
  const costly = {
    mishap: (call: number) => (call === 2 ? ("500-charged" as const) : undefined),
    faultCosts: 100,
  };
  const { u, it } = await at({ people: 250, maxPerPage: 100, ...costly });
  const agent = await startAgent(u, ["--max-credits", "400"], { answer: YES });
  const quote = await agent.call("quote", { kind: "people", filters: { country: "x" } });
  await agent.call("buy", { quote_id: quote.data.quote_id });
  expect(it.charged()).toBe(200);
  expect((await agent.call("account", {})).data).toMatchObject({
    budget: { spent: 200, left: 200 },
  });
  await agent.close();
});

test("never twice: what was paid for and could not be written goes elsewhere for nothing", async () => {
  const { u, it } = await at({ people: 50, version: () => "v1" });
  const full = openSync("/dev/full", "w");
  const argv = ["search", "--country", "x", "--max-credits", "50"];
  const stopped = await spawnUser(u, argv, {}, full);
  closeSync(full);
  expect([stopped.code, it.charged()]).toEqual([5, 50]);
  const ran = await u.run([...argv, "-o", "o.csv"]);
  expect([ran.code, it.charged(), readCsv(u.read("o.csv")).length], ran.stderr).toEqual([
    0, 50, 50,
  ]);
});

test.each([
  {
    sentence: /refuses the header|what a filter may be/,
    truth: "the service takes the header, and refuses this key of it",
    change: { refusesKey: "this Idempotency-Key was used for another request" },
    before: [],
    later: {},
    argv: SEARCH,
  },
  {
    sentence: /(are|is) yours already|not paid for again/,
    truth: "what is owned is of an older dataset",
    change: { people: 40, version: () => "a" },
    before: [SEARCH],
    later: { version: () => "b" },
    argv: [...SEARCH, "--overwrite", "--dry-run"],
  },
  {
    sentence: /\b40 credits/,
    truth: "each row costs two",
    change: { people: 40, price: 2 },
    before: [],
    later: {},
    argv: ["search", "--country", "x", "--dry-run"],
  },
  {
    sentence: /nobody|\b0 people|matches 0/,
    truth: "forty are there, and the count has another shape",
    change: { people: 40, countUnder: "sum_of_them" },
    before: [],
    later: {},
    argv: ["search", "--country", "x", "--dry-run"],
  },
])("$sentence is not said where $truth", async ({ sentence, change, before, later, argv }) => {
  const { u, it } = await at(change);
  for (const first of before) expect((await u.run(first)).code).toBe(0);
  Object.assign(it.options, later);
  const ran = await u.run(argv);
  expect(said(ran).trim()).not.toBe("");
  expect(said(ran)).not.toMatch(sentence);
});

test("owned: who is forgotten is counted once, also where the same search takes the rest from the run that paid", async () => {
  const { u } = await at({ people: 20, version: () => "v1" });
  expect((await u.run([...SEARCH, "--limit", "12"])).code).toBe(0);
  expect((await u.run(["forget", "1000003", "--yes"])).code).toBe(0);
  const counted = { rows_paid: 12, forgotten: 1, credits: 12, people: 11 };
  const same = await u.run([...SEARCH.slice(0, -1), "b.csv", "--limit", "12"]);
  expect(same.stderr).toContain("for 0 credits");
  expect(JSON.parse((await u.run(["owned", "--json"])).stdout)).toMatchObject(counted);
  expect((await u.run(["owned", "rebuild"])).code).toBe(0);
  expect(JSON.parse((await u.run(["owned", "--json"])).stdout)).toMatchObject(counted);
});
