import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { vendorUser } from "../support/vendor-user.ts";

// What a file declares of calls a minute, against vendors that count them by the same clock, which
// goes by as whoever asks waits.

async function userOf(
  name: Parameters<typeof vendorUser>[0],
  limitPerMinute: number,
  limits: object = { per_minute: limitPerMinute },
) {
  const user = await vendorUser(name, { limitPerMinute, people: 200 });
  onTestFinished(() => user.vendor.stop());
  user.vendor.options.now = user.clock.now;

  const file = JSON.parse((await user.run("connections show v")).stdout);
  const declare = async (): Promise<void> => {
    file.limits = limits;
    file.calls.search.pages.size[1] = 5;
    writeFileSync(join(user.dir, "mine.json"), JSON.stringify(file));
    const added = await user.run(
      `connections add v --dialect ./mine.json --base-url ${user.vendor.url}${name === "apollo" ? "/api" : ""}`,
    );
    expect(added.code, added.stderr).toBe(0);
  };
  await declare();

  const { calls } = user.vendor.book;
  /** The most calls of any minute, wherever it begins. */
  const most = (): number =>
    Math.max(
      ...calls.map(
        ({ at }) => calls.filter((each) => each.at >= at && each.at < at + 60_000).length,
      ),
    );
  const refused = (): number => calls.filter(({ status }) => status === 429).length;
  return { ...user, calls, most, refused };
}

test.each([
  ["pdl", "--limit 16"],
  ["coresignal", "--limit 6"],
] as const)(
  "%s: no minute of a purchase has more calls than the file declares",
  async (name, limit) => {
    const { run, calls, most, refused, vendor } = await userOf(name, 4);
    const ran = await run(`search -c v --country Germany -o o.ndjson --yes ${limit}`);
    expect(ran.code, ran.stderr).toBe(0);
    expect(calls.length).toBeGreaterThan(4);
    expect([refused(), most()]).toEqual([0, 4]);

    // Another process of the same minute keeps to it, too.
    const before = vendor.book.charges.length;
    const again = await run("search -c v --country Ireland -o i.ndjson --yes --limit 4");
    expect(again.code, again.stderr).toBe(0);
    expect(vendor.book.charges.length).toBeGreaterThan(before);
    expect([refused(), most()]).toEqual([0, 4]);
  },
);

test("a second has no more calls than the file declares for it", async () => {
  const { run, calls } = await userOf("pdl", 600, { per_second: 2 });
  const ran = await run("search -c v --country Germany -o o.ndjson --yes --limit 16");
  expect(ran.code, ran.stderr).toBe(0);
  // The first may be late by what a process takes to begin.
  const [first = 0, ...others] = calls.map(({ at }) => at);
  expect(others.length).toBeGreaterThan(3);
  expect(Math.max(...others) - first).toBeGreaterThan(500 * (others.length - 2));
});

test("counts, the names that they try and doctor keep to it", async () => {
  const { run, calls, most, refused } = await userOf("apollo", 6);
  for (const country of ["Germany", "Ireland", "Georgia"]) {
    const ran = await run(`count -c v --country ${country}`);
    expect(ran.code, ran.stderr).toBe(0);
  }
  await run("doctor -c v");
  expect(calls.length).toBeGreaterThan(12);
  expect([refused(), most()]).toEqual([0, 6]);
});

test("a turn that is further away than --max-wait is not taken: exit 7, and nothing more is sent", async () => {
  const { run, calls, most, spend, dir } = await userOf("pdl", 3);
  const ran = await run("search -c v --country Germany -o o.ndjson --yes --limit 19 --max-wait 5");
  expect(ran.code, ran.stderr).toBe(7);
  expect(ran.stderr).toContain("longer than --max-wait 5");
  expect(calls.length).toBe(3);
  expect(most()).toBe(3);
  expect((await spend()).uncertain).toBe(0n);

  const on = await run("resume --yes --overwrite");
  expect(on.code, on.stderr).toBe(0);
  expect(readFileSync(join(dir, "o.ndjson"), "utf8").trimEnd().split("\n").length).toBe(19);
});

test("a page that waits for its turn has no intent: whoever is killed then is in no doubt", async () => {
  const { clock, run, pending } = await userOf("pdl", 3);
  const { sleep } = clock;
  const doubts: bigint[] = [];
  const looking: typeof sleep = async (ms, signal) => {
    await new Promise((done) => setTimeout(done, 30));
    // A millisecond that a turn is early by is waited for by the call itself.
    if (ms > 1_000) doubts.push(await pending());
    return sleep(ms, signal);
  };
  Object.assign(clock, { sleep: looking });
  const ran = await run(
    // One after the other: whoever waits has nobody under way beside it.
    "search -c v --country Germany -o o.ndjson --yes --limit 19 --concurrency 1",
  );
  expect(ran.code, ran.stderr).toBe(0);
  expect(new Set(doubts)).toEqual(new Set([0n]));
});
