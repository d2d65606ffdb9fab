import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { startAgent, YES } from "../support/agent.ts";
import { user } from "../support/export.ts";
import { foreignScene } from "../support/foreign-scene.ts";
import type { ForeignOptions } from "../support/foreign-service.ts";
import { startTestService } from "../support/service.ts";

// How long a purchase takes by the limit that is told, and on which pages its quote counts.

test("minutes are those of the requests, at the calls a minute that the account tells", async () => {
  const slow = await startTestService({ people: 2_000, plan: { perMinute: 10, perDay: 10_000 } });
  try {
    const me = user(slow.url, slow.key);
    const quoted = await me.run(["search", "--all", "--per-page", "50", "--dry-run", "--json"]);
    expect(JSON.parse(quoted.stdout)).toMatchObject({ requests: 40, rate_limited_seconds: 180 });
  } finally {
    await slow.close();
  }
});

test("where no limit is told no door says how long it makes a purchase take", async () => {
  const { u, run } = await foreignScene({ people: 300, perMinute: Number.POSITIVE_INFINITY });
  const search = ["search", "--country", "x", "--dry-run"];
  const quoted = await run(...search, "--json");
  expect(JSON.parse(quoted.stdout)).toMatchObject({ requests: 1, rate_limited_seconds: null });
  expect((await run(...search)).stdout).not.toContain("rate limit");
  const plan = await run("refresh", "--country", "x", "--dry-run", "--json", "-o", "list.csv");
  expect(JSON.parse(plan.stdout)).toMatchObject({ rate_limited_seconds: null });
  expect(
    (await run("refresh", "--country", "x", "--dry-run", "-o", "list.csv")).stdout,
  ).not.toContain("rate limit");
  const agent = await startAgent(u, ["--max-credits", "300"], { answer: YES });
  const told = await agent.call("quote", { kind: "people", filters: { country: "x" } });
  expect([told.failed, told.text], told.text).toEqual([
    false,
    expect.not.stringContaining("rate limit"),
  ]);
  await agent.close();
});

test.each<Partial<ForeignOptions>>([
  { maxPerPage: 50, clamp: true },
  { maxPerPage: 50 },
  { fixedPage: 50 },
])(
  "once pages came no larger (%o) the next quote counts on that, and a smaller purchase teaches nothing",
  async (change) => {
    const { service: foreign, u } = await foreignScene({ people: 300, ...change });
    mkdirSync(u.file("config"));
    const work = { baseUrl: foreign.url, dialect: { paging: "page", firstPage: 1 } };
    const file = u.file("config/config.json");
    writeFileSync(file, JSON.stringify({ connections: { work } }));
    const saved = (): object => JSON.parse(readFileSync(file, "utf8")).connections.work.dialect;
    const search = (...more: string[]) =>
      u.run(["-c", "work", "search", "--country", "x", "--again", ...more]);
    const first = await search("--dry-run", "--json");
    expect(JSON.parse(first.stdout)).toMatchObject({ requests: 1, page_rows: null });
    expect((await search("--dry-run")).stdout).toMatch(/requests +at least 1\n$/);
    await search("--limit", "40", "--yes", "-o", "few.csv");
    if (change.clamp === true) expect(saved()).not.toHaveProperty("pageRows");
    const bought = await search("--yes", "-o", "o.csv");
    expect(bought.code, bought.stderr).toBe(0);
    expect(saved()).toMatchObject({ pageRows: 50 });
    expect(bought.stderr).toContain("quotes count on pages of 50 from now on\n");
    const quoted = await search("--dry-run", "--json");
    const pages = foreign.paidCalls();
    expect((await search("--yes", "-o", "again.csv")).code).toBe(0);
    expect(foreign.paidCalls() - pages).toBe(6);
    expect(JSON.parse(quoted.stdout)).toMatchObject({ requests: 6, page_rows: 50 });
    expect((await search("--dry-run")).stdout).toMatch(/requests +6\n +time +no wait/);
  },
);
