import { mkdirSync, writeFileSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { seeded, user } from "../support/export.ts";
import { keysIn, keysOf, without } from "../support/kept-list.ts";
import { Crowd, personKey, startPeopleService } from "../support/people-service.ts";

// A list that a cap or a limit ended is that list: a refresh tells who of it left, and buys nobody that it was not asked for.

async function boughtPart(bounds: string) {
  const crowd = new Crowd(seeded(3), 0.1);
  const people = Array.from({ length: 300 }, () => crowd.born());
  const service = await startPeopleService({ people });
  onTestFinished(() => service.close());
  const me = user(service.url, service.key);
  const run = (text: string) => me.run(text.replaceAll("'", "").split(" "));
  const bought = await run(`search --department Sales --yes -o p.ndjson ${bounds}`);
  expect(bought.code, bought.stderr).toBe(0);

  const keys = keysIn(me, "p.ndjson");
  const before = people.filter((human) => keys.includes(personKey(human)));
  service.options.people = crowd.week(people, { gone: 0.2, moved: 0.1, born: 0.1 });
  const now = service.matching({ department: "Sales" });
  const stay = before.filter((human) => without([human], now).length === 0);
  expect([before.length, stay.length < 25]).toEqual([25, true]);
  return { service, run, now, stay, listed: () => keysIn(me, "p.ndjson"), me };
}

test.each(["--max-credits 25", "--limit 25"])("after %s: who of these left", async (bounds) => {
  const { service, run, now, stay, listed } = await boughtPart(bounds);
  const sold = service.rowsSold();
  const quoted = await run("refresh p.ndjson --dry-run --json");
  expect(JSON.parse(quoted.stdout)).toMatchObject({ new: 0, credits_at_most: 0 });
  const first = await run("refresh p.ndjson --json");
  expect(first.code, first.stderr).toBe(0);
  const moved = { count: stay.length, added: 0, removed: 25 - stay.length, credits: 0 };
  expect(JSON.parse(first.stdout)).toMatchObject(moved);
  expect(first.stderr).toContain(`${stay.length} of the ${now.length} people of its segment`);

  // It stays that list, also where there would be credits for more.
  for (const line of ["refresh p.ndjson", "refresh p.ndjson --max-credits 300"]) {
    const again = await run(line);
    expect(again.code, again.stderr).toBe(0);
    expect(listed()).toEqual(keysOf(stay));
  }
  expect(service.rowsSold()).toBe(sold);

  // The command that it names is one that asks for more, and says what that costs.
  const [, line = ""] = /headcount (refresh p.ndjson --dep.*) prices/.exec(first.stderr) ?? [];
  expect(await run(line)).toMatchObject({ code: 2 });
  const whole = await run(`${line} --max-credits 300`);
  expect(whole.code, whole.stderr).toBe(0);
  expect(listed()).toEqual(keysOf(now));

  // From then on it is the whole segment's.
  const last = await run("refresh p.ndjson --json");
  expect(JSON.parse(last.stdout)).toMatchObject({ count: now.length, credits: 0 });
  expect(last.stderr).not.toContain("ended this list");
});

test("by the name of its run, with --again, and who changed is bought anew within the cap", async () => {
  const { service, run, me, stay, now } = await boughtPart("--limit 25");
  const [{ id }] = JSON.parse((await run("runs --json")).stdout);
  const byRun = await run(`refresh ${id} -o q.ndjson`);
  expect(byRun.code, byRun.stderr).toBe(0);
  expect(keysIn(me, "q.ndjson")).toEqual(keysOf(stay));
  expect(byRun.stderr).toMatch(/refresh \S+ --department=Sales -o \S+q.ndjson prices/);

  // Somebody else's purchase of the segment adds nobody to it.
  const sold = service.rowsSold();
  await run("search --department Sales --yes -o other.ndjson");
  const bought = service.rowsSold() - sold;
  expect(bought).toBeGreaterThan(0);
  const verified = await run(
    "refresh p.ndjson --verify-fields title --buy-changed --max-credits 9",
  );
  expect(verified.code, verified.stderr).toBe(0);
  expect(keysIn(me, "p.ndjson")).toEqual(keysOf(stay));

  const again = await run("refresh p.ndjson --again --max-credits 300");
  expect(again.code, again.stderr).toBe(0);
  expect(keysIn(me, "p.ndjson")).toEqual(keysOf(now));
});

test("a job that names it as its list keeps that list, and with filters beside it the whole segment", async () => {
  const { service, run, me, stay, now } = await boughtPart("--limit 25");
  const job = { list: "p.ndjson", max_credits: 5 };
  const sold = service.rowsSold();
  writeFileSync(me.file("jobs.json"), JSON.stringify({ jobs: { kept: job } }));
  const kept = await run("jobs run kept --file jobs.json");
  expect(kept.code, kept.stderr).toBe(0);
  expect(keysIn(me, "p.ndjson")).toEqual(keysOf(stay));
  expect(service.rowsSold()).toBe(sold);

  const filters = { department: "Sales" };
  const all = { jobs: { kept: { ...job, filters, max_credits: 300 } } };
  writeFileSync(me.file("jobs.json"), JSON.stringify(all));
  const whole = await run("jobs run kept --file jobs.json");
  expect(whole.code, whole.stderr).toBe(0);
  expect(keysIn(me, "p.ndjson")).toEqual(keysOf(now));
});

test("what it says to type asks the connection that the list is of", async () => {
  const { service, run, me } = await boughtPart("--limit 25");
  mkdirSync(me.file("config"), { recursive: true });
  const connections = { work: { baseUrl: service.url } };
  writeFileSync(me.file("config/config.json"), JSON.stringify({ connections }));
  const bought = await run("search -c work --department Sales --yes -o w.ndjson --limit 25");
  expect(bought.code, bought.stderr).toBe(0);
  const refreshed = await run("refresh -c work w.ndjson");
  expect(refreshed.code, refreshed.stderr).toBe(0);
  expect(refreshed.stderr).toContain(
    "headcount refresh w.ndjson --department=Sales -c work prices",
  );
});
