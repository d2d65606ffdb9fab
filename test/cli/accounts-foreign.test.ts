import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect } from "vitest";
import { asTyped } from "../support/as-typed.ts";
import { readCsv, user } from "../support/export.ts";
import { type ForeignService, startForeignService } from "../support/foreign-service.ts";
import { long } from "../support/long.ts";

// Lists by account at a service of somebody else: filters name one company a request, and it has no call for many.

let service: ForeignService | undefined;
afterEach(() => service?.close());

const calls = (of: ForeignService, path: string): number =>
  of.seen.filter((each) => each.path === path).length;

async function lists(accounts: number, perMinute: number) {
  // Every 40th account has nobody.
  const people = accounts * 3 - Math.floor(accounts / 40);
  service = await startForeignService({
    people,
    accounts,
    perMinute,
    balance: 100_000,
    maxPerPage: 100,
  });
  const { key, url } = service;
  const u = user(url, key);
  writeFileSync(
    join(u.dir, "accounts.csv"),
    `Slug\n${Array.from({ length: accounts }, (_, at) => `account-${at}`).join("\n")}\nnobody-1\n`,
  );
  const argv = asTyped`employees --input accounts.csv --column Slug --seniority-level vp`;
  const line = [...argv, "--per-company", "2", "--max-calls", "5000", "--max-wait", "300"];
  const quote = await u.json([...line, "--dry-run", "--json"]);
  const before = calls(service, "/v1/person/search");
  await u.ran([...line, "--yes", "-o", "people.csv"]);
  const rows = readCsv(u.read("people.csv"));
  const each = new Map<string, number>();
  for (const { company_network_url: at = "" } of rows) each.set(at, (each.get(at) ?? 0) + 1);
  return { quote, rows, each, sent: calls(service, "/v1/person/search") - before, service };
}

long(
  "800 accounts: the quote's credits and requests are what is bought and sent, at most so many of each",
  async () => {
    const { quote, rows, each, sent, service: it } = await lists(800, 100_000);
    expect([quote.credits, quote.requests]).toEqual([1_600, 800]);
    expect([rows.length, it.charged(), sent]).toEqual([1_600, 1_600, 800]);
    expect([...each.values()].every((count) => count === 2)).toBe(true);
    expect(calls(it, "/v1/company/employees")).toBe(0);
  },
);

long(
  "where the service lets so many calls a minute, the quote's time is what buying takes, to a minute",
  async () => {
    const {
      quote,
      sent,
      service: it,
    } = await lists(Number(process.env.HEADCOUNT_ACCOUNTS ?? 60), 100);
    // Those that the service refused for now are sent again.
    expect(sent).toBeGreaterThanOrEqual(quote.requests);
    expect(sent).toBeLessThanOrEqual(quote.requests * 1.2);
    const bought = it.seen.filter(
      ({ path, status }) => path === "/v1/person/search" && status === 200,
    );
    const seconds = ((bought.at(-1)?.done ?? 0) - (bought[0]?.at ?? 0)) / 1_000;
    // The free counts before may have used up the minute in which it begins.
    expect(seconds).toBeGreaterThanOrEqual(quote.rate_limited_seconds);
    expect(seconds).toBeLessThanOrEqual(quote.rate_limited_seconds + 65);
  },
);
