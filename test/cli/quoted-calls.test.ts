import { describe, expect, test } from "vitest";
import { asTyped } from "../support/as-typed.ts";
import { readCsv, seeded, user } from "../support/export.ts";
import { long } from "../support/long.ts";
import {
  Crowd,
  type Human,
  type PeopleOptions,
  startPeopleService,
} from "../support/people-service.ts";
import { testService } from "../support/serving.ts";

let counts = 0;
const service = testService({
  people: 6_000,
  credits: 100_000,
  // Where sketches are given three calls do: test/cli/sketched.test.ts.
  sketches: false,
  onApp: (app) =>
    app.addHook("onRequest", async ({ url }) => {
      if (url.endsWith("/count")) counts++;
    }),
});

/** What was done is neither more than twice what was quoted nor less than a third of it. */
function expectNear(quoted: number, done: number): void {
  expect(done, `${quoted} free counts quoted, ${done} made`).toBeLessThan(2 * quoted);
  expect(quoted, `${quoted} free counts quoted, ${done} made`).toBeLessThan(3 * done);
}

describe("free counts that a quote of --new-only tells are those that are made", () => {
  const histories: Readonly<Record<string, readonly string[]>> = {
    "few followers are owned": ["--followers-max", "1500"],
    "a sample of nine in ten is owned": ["--sample", "430", "--seed", "4"],
    "one country is owned": ["--country", "united states"],
  };
  long.for(Object.entries(histories))("%s", async ([, owned]) => {
    const me = user(service.url, service.key);
    const sales = ["search", "--department", "Sales"];
    await me.ran([...sales, ...owned, "--yes", "-o", "own.csv"]);
    const quote = await me.run([...sales, "--new-only", "--dry-run", "--json"]);
    const { new_only: told } = JSON.parse(quote.stdout);
    const before = counts;
    await me.ran(asTyped`${sales} --new-only --max-calls 20000 --yes -o new.csv`);
    expectNear(told.calls, counts - before);
  });
});

test("where nobody is new, nobody is looked for: the calls that are allowed need not do for it", async () => {
  const me = user(service.url, service.key);
  for (const [department, output] of [
    ["Sales", "sales.csv"],
    ["Legal", "legal.csv"],
  ] as const)
    expect((await me.run(["search", "--department", department, "--yes", "-o", output])).code).toBe(
      0,
    );
  await me.ran(asTyped`search --department Sales --new-only --max-calls 60 --yes -o n.csv`);
});

test("of several companies, nobody owned of whom is bought again, each is told as it is done, and what was counted so far", async () => {
  const me = user(service.url, service.key);
  await me.ran(["search", "--department", "Sales", "--yes", "-o", "sales.csv"]);
  const people = new Map<string, number>();
  for (const { company_network_url: at = "" } of readCsv(me.read("sales.csv")))
    if (at !== "") people.set(at, (people.get(at) ?? 0) + 1);
  const companies = [...people].sort(([, a], [, b]) => b - a).slice(3, 7);
  const own = user(service.url, service.key);
  const argv = asTyped`employees ${companies.map(([at]) => at)} --department Sales --max-credits 500`;
  await own.ran([...argv, "--per-company", "1", "-o", "own.csv"]);
  const before = counts;
  const quote = await own.json([...argv, "--new-only", "--dry-run", "--json"]);
  expectNear(quote.owned_calls, counts - before);
  const looked = counts;
  const ran = await own.run([...argv, "--new-only", "-o", "new.csv"]);
  expectNear(quote.new_only.calls, counts - looked);
  const told = [...ran.stderr.matchAll(/about (\d+) free counts\n.* found by (\d+) free counts/g)];
  expect(told.length).toBeGreaterThan(0);
  for (const [, about, done] of told) expectNear(Number(about), Number(done));
});

describe("free counts that a quote of refresh tells are those that are made", () => {
  const crowds: Readonly<
    Record<string, Partial<PeopleOptions> & { readonly addressless?: number }>
  > = {
    "everybody has an address": {},
    "one in ten has none": { addressless: 0.1 },
    "lists of 50": { maxValues: 50 },
  };
  long.for(Object.entries(crowds))("%s", async ([, { addressless = 0, ...options }]) => {
    const crowd = new Crowd(seeded(5), addressless);
    const people: readonly Human[] = Array.from({ length: 2_000 }, () => crowd.born());
    const foreign = await startPeopleService({ people, ...options });
    try {
      const me = user(foreign.url, foreign.key);
      await me.ran(["search", "--department", "Sales", "--yes", "-o", "sales.csv"]);
      foreign.options.people = crowd.week(people, { gone: 0.03, moved: 0.02, born: 0.03 });
      const quote = await me.run(["refresh", "sales.csv", "--dry-run", "--json"]);
      const { free_calls: quoted, credits_at_most: most } = JSON.parse(quote.stdout);
      const { free_calls: done, credits } = await me.json([
        "refresh",
        "sales.csv",
        "--max-credits",
        String(most),
        "--json",
      ]);
      expectNear(quoted, done);
      expect(credits).toBeLessThanOrEqual(most);
    } finally {
      await foreign.close();
    }
  });
});
