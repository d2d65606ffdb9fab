import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { main } from "../../src/cli/main.ts";
import type { Dialect } from "../../src/engine/client/dialect.ts";
import { asTyped } from "../support/as-typed.ts";
import { fakeClock, testContext } from "../support/client.ts";
import { charged, type Ran, readCsv, type User, user } from "../support/export.ts";
import { type FaultProxy, faultProxy } from "../support/fault-proxy.ts";
import { long } from "../support/long.ts";
import { startTestService, type TestService } from "../support/service.ts";

const CREDITS = 100_000;
const SALES = asTyped`-c work search --department Sales -o p.csv --yes --per-page 30`;
let service: TestService;
let proxy: FaultProxy;
let expected: string[];
beforeAll(async () => {
  service = await startTestService({ people: 2_000, credits: CREDITS });
  proxy = await faultProxy({ target: service.url });
  const page = await service.call("/v1/person/search", {
    body: { filters: { department: "Sales" }, per_page: 1_000 },
  });
  expected = (page.json.result as { id: string }[]).map(({ id }) => id);
});
afterAll(async () => {
  await proxy.close();
  await service.close();
});

/** A user whose connection `work` speaks a dialect. */
function speaker(dialect: Dialect): User {
  const u = user(proxy.url, service.key);
  mkdirSync(join(u.dir, "config"));
  const config = { connections: { work: { baseUrl: proxy.url, dialect } } };
  writeFileSync(join(u.dir, "config", "config.json"), JSON.stringify(config));
  const run = async (argv: readonly string[], env: Record<string, string> = {}): Promise<Ran> => {
    const context = testContext({
      cwd: u.dir,
      argv,
      env: { ...u.env, HEADCOUNT_BASE_URL: "", ...env },
      clock: fakeClock(Date.now()),
    });
    return {
      code: await main(argv, context.context),
      stdout: context.stdout(),
      stderr: context.stderr(),
    };
  };
  return {
    ...u,
    run: (argv, options) => run(argv, (options?.env ?? {}) as Record<string, string>),
  };
}
const idsOf = (u: User): (string | undefined)[] => readCsv(u.read("p.csv")).map(({ id }) => id);

describe("a service that pages by cursor", () => {
  const cursor: Dialect = { paging: "cursor", firstPage: 1 };

  test("is read page by page, and a cap only shortens the last page", async () => {
    const u = speaker(cursor);
    const before = await charged(service, CREDITS);
    await u.ran([...SALES, "--max-credits", "77"]);
    expect(idsOf(u)).toEqual(expected.slice(0, 77));
    expect((await charged(service, CREDITS)) - before).toBe(77);
    const sizes = proxy.seen.flatMap(({ url, body }) =>
      url.endsWith("/search") ? [JSON.parse(body).per_page] : [],
    );
    expect(sizes).toEqual([30, 30, 17]);
  });

  long("goes on from the right cursor after a stop at any write", async () => {
    for (let step = 20; step < 75; step += 11) {
      const u = speaker(cursor);
      const before = await charged(service, CREDITS);
      const stopped = await u.run(SALES, { env: { HEADCOUNT_FAILPOINT: `${step}:ENOSPC` } });
      expect(stopped.code).not.toBe(0);
      await u.ran(SALES);
      expect(idsOf(u)).toEqual(expected);
      expect({ step, spent: (await charged(service, CREDITS)) - before }).toEqual({
        step,
        spent: expected.length,
      });
    }
  });
});

test("a service that pages by offset, or counts pages from 0, gets what it wants", async () => {
  for (const dialect of [
    { paging: "offset", firstPage: 1 },
    { paging: "page", firstPage: 0 },
  ] as const) {
    const from = proxy.seen.length;
    proxy.decide = ({ url, body }) => {
      if (!url.endsWith("/search")) return { kind: "none" };
      const { page, offset, per_page } = JSON.parse(body) as {
        page?: number;
        offset?: number;
        per_page: number;
      };
      const start = offset ?? (page ?? 0) * per_page;
      const result = expected.slice(start, start + per_page).map((id) => ({ id }));
      const envelope = {
        status: true,
        detail: [],
        result,
        credits_used: result.length,
        credits_remaining: 9_000,
      };
      return { kind: "answer", status: 200, body: JSON.stringify(envelope) };
    };
    const u = speaker(dialect);
    await u.ran([...SALES, "--limit", "100"]);
    expect(idsOf(u)).toEqual(expected.slice(0, 100));
    expect(proxy.seen.slice(from).filter(({ paid }) => paid > 0).length).toBe(4);
  }
});

test("a service that does not say what a page cost is booked by the price that it quotes", async () => {
  proxy.decide = ({ url, body }) => {
    if (url.endsWith("/account")) {
      const result = { credits: 900, costs: { person_search: 0.25 } };
      const envelope = {
        status: true,
        detail: [],
        result,
        credits_used: 0,
        credits_remaining: 900,
      };
      return { kind: "answer", status: 200, body: JSON.stringify(envelope) };
    }
    if (!url.endsWith("/search")) return { kind: "none" };
    const { page, per_page } = JSON.parse(body) as { page: number; per_page: number };
    const result = expected.slice((page - 1) * per_page, page * per_page).map((id) => ({ id }));
    return {
      kind: "answer",
      status: 200,
      body: JSON.stringify({ status: true, detail: [], result }),
    };
  };
  const u = speaker({ paging: "page", firstPage: 1 });
  const ran = await u.run([...SALES, "--limit", "40"]);
  expect(ran).toMatchObject({ code: 0 });
  expect(ran.stderr).toContain(
    "no amount that can be read tells what a call cost; booked at the price of the quote",
  );
  expect(ran.stderr).toContain("Exported 40 of 194 profiles for 10 credits");
  expect(idsOf(u)).toEqual(expected.slice(0, 40));
});

test("a run goes on with the paging it was begun with, and says so where that is forgotten", async () => {
  const from = proxy.seen.length;
  proxy.decide = ({ url, body }) => {
    if (!url.endsWith("/search")) return { kind: "none" };
    const { page, per_page } = JSON.parse(body) as { page: number; per_page: number };
    const result = expected.slice(page * per_page, (page + 1) * per_page).map((id) => ({ id }));
    const envelope = {
      status: true,
      detail: [],
      result,
      credits_used: result.length,
      credits_remaining: 9_000,
    };
    return { kind: "answer", status: 200, body: JSON.stringify(envelope) };
  };
  const u = speaker({ paging: "page", firstPage: 1 });
  const page0 = { HEADCOUNT_PAGING: "page0" };
  const stopped = await u.run(SALES, { env: { ...page0, HEADCOUNT_FAILPOINT: "40:ENOSPC" } });
  expect(stopped.code).not.toBe(0);
  const bought = proxy.seen.slice(from).filter(({ paid }) => paid > 0).length;
  expect(bought).toBeGreaterThan(0);
  const forgotten = await u.run(SALES);
  expect(forgotten).toMatchObject({ code: 5 });
  expect(forgotten.stderr).toContain("the paging was page0 and is page");
  expect(forgotten.stderr).toContain("hint: --paging page0 goes on with it");
  expect(proxy.seen.slice(from).filter(({ paid }) => paid > 0).length).toBe(bought);
  await u.ran([...SALES, "--paging", "page0"]);
  expect(idsOf(u)).toEqual(expected);
});
