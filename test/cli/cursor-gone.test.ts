import { existsSync, writeFileSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { startAgent, YES } from "../support/agent.ts";
import { swiftClock } from "../support/client.ts";
import { readCsv, user } from "../support/export.ts";
import { long } from "../support/long.ts";
import { Crowd, type PeopleOptions, startPeopleService } from "../support/people-service.ts";

// A cursor that was good once and is so no more: who came is owned, and the others are bought as new people are.

const SEARCH = "search --department Sales --paging cursor --per-page 10";

async function scene(change: Partial<PeopleOptions> = {}) {
  let seed = 7;
  const random = (): number => {
    seed = (seed * 16_807) % 2_147_483_647;
    return seed / 2_147_483_647;
  };
  const crowd = new Crowd(random);
  const people = Array.from({ length: 40 }, () => crowd.born({ department: "Sales" }));
  const service = await startPeopleService({
    people,
    version: "v1",
    cursors: () => true,
    ...change,
  });
  onTestFinished(() => service.close());

  const u = user(service.url, service.key);
  const clock = swiftClock();
  const run = (line: string) => u.run(line.split(" "), { clock });
  const ids = (name: string) => readCsv(u.read(name)).map(({ id = "" }) => id);
  return { service, u, run, ids };
}

const expire = { cursors: (behind: number) => behind < 20 };

long(
  "a run that a cap ended goes on with those who are not owned, within the higher cap",
  async () => {
    const { service, run, ids } = await scene();
    expect(await run(`${SEARCH} --max-credits 20 -o p.csv`)).toMatchObject({ code: 0 });
    Object.assign(service.options, expire);

    const some = await run("resume last --max-credits 35");
    expect(some, some.stderr).toMatchObject({ code: 0 });
    expect(some.stderr).toContain("no longer takes its cursor of what follows 20 rows");
    expect(service.rowsSold()).toBeGreaterThan(20);
    expect(service.rowsSold()).toBeLessThanOrEqual(35);
    expect(ids("p.csv")).toHaveLength(service.rowsSold());

    const all = await run("search --department Sales --with-owned --yes -o p.csv --overwrite");
    expect(all, all.stderr).toMatchObject({ code: 0 });
    // Few are bought again where parting them takes more counts than they are worth.
    expect(service.rowsSold()).toBeLessThanOrEqual(43);
    expect(ids("p.csv").toSorted()).toEqual(service.options.people.map(({ id }) => id).toSorted());
  },
);

test("in the midst of a command it is the same, also within a limit", async () => {
  const { service, run, ids } = await scene(expire);
  const some = await run(`${SEARCH} --limit 30 --yes -o few.csv`);
  expect(some, some.stderr).toMatchObject({ code: 0 });
  expect([service.rowsSold(), ids("few.csv").length]).toEqual([30, 30]);

  expect([...service.sold.values()].every((times) => times === 1)).toBe(true);
});

test("where a reply breaks off before its cursor it is the same", async () => {
  const { service, run, ids } = await scene({ cuts: (behind) => behind === 10 });
  const some = await run(`${SEARCH} --max-credits 35 -o few.csv`);
  expect(some, some.stderr).toMatchObject({ code: 0 });
  expect(some.stderr).toContain("breaks off before the service's cursor of what follows 20 rows");
  expect(ids("few.csv")).toHaveLength(service.rowsSold());
  expect(service.rowsSold()).toBeGreaterThan(20);
  expect([...service.sold.values()].every((times) => times === 1)).toBe(true);
});

test("where nobody said how it pages, and the first reply breaks off, one row is paid twice", async () => {
  const { service, run } = await scene({ cuts: (behind) => behind === 0, version: undefined });
  const some = await run("search --department Sales --per-page 10 --max-credits 35 -o few.csv");
  expect(some, some.stderr).toMatchObject({ code: 5 });
  expect(some.stderr).toContain("the service gave a page twice: 10 different profiles in 11 rows");
  expect(service.rowsSold()).toBe(11);
});

test("a job and an agent do the same", async () => {
  const { service, u, run, ids } = await scene(expire);
  const sales = {
    command: "search",
    filters: { department: "Sales" },
    paging: "cursor",
    per_page: 10,
    max_credits: 40,
    output: "job.csv",
  };
  writeFileSync(u.file("jobs.json"), JSON.stringify({ jobs: { sales } }));
  const ran = await run("jobs run sales --file jobs.json");
  expect(ran, ran.stderr).toMatchObject({ code: 0 });
  expect([service.rowsSold(), ids("job.csv").length]).toEqual([40, 40]);

  const other = await scene(expire);
  const agent = await startAgent(other.u, ["--paging", "cursor", "--max-credits", "100"], {
    answer: YES,
    clock: swiftClock(),
  });
  onTestFinished(() => agent.close());
  Object.assign(other.service.options, { maxPerPage: 10 });
  const offer = await agent.call("quote", { kind: "people", filters: { department: "Sales" } });
  const bought = await agent.call("buy", { quote_id: String(offer.data.quote_id) });
  expect(bought.failed, bought.text).toBe(false);
  expect(other.service.rowsSold()).toBe(40);
});

test("where no count tells who the others are nothing more is paid, and it is said", async () => {
  const rough = (count: number, call: number) => (call > 4 ? count + 100 * call : count);
  const { service, u, run } = await scene({ ...expire, rough });
  const ran = await run(`${SEARCH} --yes -o p.csv`);
  expect(ran, ran.stderr).toMatchObject({ code: 5 });
  expect(ran.stderr).toContain("error: the service no longer takes its cursor");
  expect(ran.stderr).toContain("writes what there is at 0 credits");
  expect([service.rowsSold(), existsSync(u.file("p.csv"))]).toEqual([20, false]);
});
