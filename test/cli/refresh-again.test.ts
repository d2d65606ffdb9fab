import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { asTyped } from "../support/as-typed.ts";
import { seeded, user } from "../support/export.ts";
import { long } from "../support/long.ts";
import {
  Crowd,
  type PeopleOptions,
  personKey,
  startPeopleService,
} from "../support/people-service.ts";

// Refreshes that meet what was there before: people who were written beside bought ones, a refresh that was stopped in the middle of its
// purchase, one of another list at the same time.

/** Somebody who bought two lists that have people in common, a week ago. */
async function twoLists(more: Partial<PeopleOptions> = {}) {
  const crowd = new Crowd(seeded(14), 0);
  const people = Array.from({ length: 600 }, () => crowd.born());
  const service = await startPeopleService({ people, ...more });
  onTestFinished(() => service.close());
  const me = user(service.url, service.key);
  for (const [list, ...filters] of [
    ["sales.ndjson", "--department", "Sales"],
    ["france.ndjson", "--country", "france"],
  ] as const) {
    await me.ran(asTyped`search ${filters} --new-only --yes -o bought.ndjson --overwrite`);
    await me.ran(["owned", "export", ...filters, "-o", list]);
  }
  const rowsBefore = service.rowsSold();
  service.options.people = crowd.week(people, { gone: 0.02, moved: 0, born: 0.2 });
  return { service, me, rowsBefore };
}

long(
  "what was begun before and is finished now is in the receipt, and within --max-credits",
  async () => {
    const { service, me, rowsBefore } = await twoLists();
    const argv = ["refresh", "sales.ndjson", "--department", "Sales", "--json"];
    let searches = 0;
    const stopped = await me.run([...argv, "--max-credits", "200"], {
      before: ({ interrupt }) => {
        service.options.before = (_, path) => {
          if (path.endsWith("search") && ++searches === 2) interrupt("SIGTERM");
        };
      },
    });
    expect(stopped.code, stopped.stderr).toBe(130);
    // The pages in flight are waited for and kept; then nothing of it is at work.
    expect(stopped.stderr).toMatch(/rows are paid for and kept in run/);
    let asked = 0;
    service.options.before = (_, path) => {
      if (path.endsWith("search")) asked++;
    };
    const refused = await me.run([...argv, "--max-credits", "2"]);
    expect([refused.code, asked], refused.stderr).toEqual([4, 0]);
    const first = service.rowsSold() - rowsBefore;
    const [, left = ""] =
      /may cost (\d+) credits more, and --max-credits is 2/.exec(refused.stderr) ?? [];
    expect(JSON.parse(refused.stderr.trim().split("\n").at(-1) ?? "").error.hint).toBe(
      `--max-credits ${left} finishes it first`,
    );
    const { stdout } = await me.ran([...argv, "--max-credits", left]);
    const now = service.rowsSold() - rowsBefore - first;
    expect(now).toBeGreaterThan(0);
    expect(JSON.parse(stdout)).toMatchObject({
      credits: now,
      bought: now,
      runs: [expect.stringMatching(/^\d{8}-/)],
    });
  },
);

long(
  "files that cannot be written: what was bought is told, and the same refresh writes it at 0 credits",
  async () => {
    const { service, me } = await twoLists();
    const argv = asTyped`refresh sales.ndjson --department Sales --json --max-credits 200`;
    const inTheWay = join(me.dir, "sales.added.ndjson");
    service.options.before = (_, path) => {
      if (path.endsWith("search")) mkdirSync(inTheWay, { recursive: true });
    };
    const before = service.rowsSold();
    const failed = await me.run(argv);
    const bought = service.rowsSold() - before;
    expect(bought).toBeGreaterThan(1);
    expect(failed.code).toBe(5);
    const { error } = JSON.parse(failed.stderr.trim().split("\n").at(-1) ?? "");
    expect(error).toMatchObject({
      resumable: true,
      next: `headcount refresh --department=Sales -o ${join(me.dir, "sales.ndjson")}`,
    });
    expect(error.message).toContain(`${bought} profiles bought for ${bought} credits are kept`);
    rmSync(inTheWay, { recursive: true });
    expect(await me.json(argv)).toMatchObject({ credits: 0, bought: 0 });
    expect(service.rowsSold() - before).toBe(bought);
  },
);

long(
  "two lists at once: one after the other, and nobody who is new in both is paid for twice",
  async () => {
    const { service, me, rowsBefore } = await twoLists();
    const owned = new Set(service.sold.keys());
    const [sales, france] = await Promise.all([
      me.run(["refresh", "sales.ndjson", "--department", "Sales", "--max-credits", "200"]),
      me.run(["refresh", "france.ndjson", "--country", "france", "--max-credits", "200"]),
    ]);
    expect([sales.code, france.code], sales.stderr + france.stderr).toEqual([0, 0]);
    const both = service.matching({ department: "Sales", country: "france" }).map(personKey);
    const fresh = both.filter((person) => !owned.has(person));
    expect(fresh.length).toBeGreaterThan(0);
    for (const person of fresh) expect(service.sold.get(person), person).toBe(1);
    expect(service.rowsSold()).toBeGreaterThan(rowsBefore);
  },
);

/** A user of a service that gives pages of ten, and a command that is stopped at its second page. */
async function stoppable() {
  const crowd = new Crowd(seeded(5), 0);
  const born = Array.from({ length: 400 }, () => crowd.born());
  const people = born.filter(({ department }) => department === "Sales").slice(0, 60);
  const service = await startPeopleService({ people, maxPerPage: 10 });
  onTestFinished(() => service.close());
  const me = user(service.url, service.key);
  const stopped = async (argv: readonly string[]): Promise<void> => {
    let searches = 0;
    const { code, stderr } = await me.run(argv, {
      before: ({ interrupt }) => {
        service.options.before = (_, path) => {
          if (path.endsWith("search") && ++searches === 2) interrupt("SIGTERM");
        };
      },
    });
    service.options.before = () => undefined;
    expect(code, stderr).toBe(130);
    // What is copied goes on: a job by its own command.
    const isJob = argv[0] === "jobs";
    expect(stderr).toContain(
      isJob ? "headcount jobs run x" : "headcount refresh --department=Sales",
    );
    expect(stderr.includes("headcount refresh")).toBe(!isJob);
  };
  return { people, service, me, stopped };
}

test("a list's first refresh that was stopped: all are added by the one that finishes it, and handed on", async () => {
  const list = ["refresh", "--department", "Sales", "-o", "l.ndjson", "--max-credits", "60"];
  for (const argv of [list, ["jobs", "run", "x", "--file", "jobs.json"]]) {
    const { people, me, stopped } = await stoppable();
    const job = {
      filters: { department: "Sales" },
      max_credits: 60,
      output: "l.ndjson",
      hand_to: "cat > handed",
    };
    writeFileSync(me.file("jobs.json"), JSON.stringify({ jobs: { x: job } }));
    await stopped(argv);
    expect(existsSync(me.file("l.ndjson"))).toBe(false);
    await me.ran(argv);
    for (const name of ["l.added.ndjson", ...(argv === list ? [] : ["handed"])])
      expect(readFileSync(me.file(name), "utf8").trim().split("\n")).toHaveLength(people.length);
    // The next one knows the list.
    expect((await me.run(argv)).stderr).toContain("60 people, 0 added");
  }
});

test("a first refresh that bought all, and whose proof failed: the next one adds them", async () => {
  const { people, service, me } = await stoppable();
  const argv = asTyped`refresh --department Sales -o l.ndjson --max-credits 70 --json`;
  const came = people.slice(0, 1).map((human) => ({
    ...human,
    id: "h999",
    network_url: "https://people.example/in/h999",
  }));
  service.options.before = (_, path) => {
    if (service.sold.size === people.length && path.endsWith("count"))
      service.options.people = [...people, ...came];
  };
  const failed = await me.run(argv);
  expect([failed.code, service.sold.size], failed.stderr).toEqual([5, people.length]);
  service.options.before = () => undefined;
  service.options.people = people;
  expect(await me.json(argv)).toMatchObject({ added: people.length, credits: 0 });
});

test("who left between the purchase and its proof is not in the list, which is whole", async () => {
  const { people, service, me } = await stoppable();
  service.options.before = (_, path) => {
    if (service.sold.size === people.length && path.endsWith("count"))
      service.options.people = people.slice(1);
  };
  const argv = ["refresh", "--department", "Sales", "-o", "l.ndjson", "--max-credits", "70"];
  expect(await me.json([...argv, "--json"])).toMatchObject({
    added: people.length - 1,
    credits: people.length,
  });
});

test("a file that somebody wrote to where a refresh was begun is not replaced", async () => {
  const { me, stopped } = await stoppable();
  const argv = ["refresh", "--department", "Sales", "-o", "l.ndjson", "--max-credits", "60"];
  await stopped(argv);
  writeFileSync(me.file("l.ndjson"), "mine");
  const refused = await me.run(argv);
  expect([refused.code, readFileSync(me.file("l.ndjson"), "utf8")], refused.stderr).toEqual([
    2,
    "mine",
  ]);
  await me.ran([...argv, "--overwrite"]);
});

test("who was bought again by what was stopped is told by the refresh that finishes it", async () => {
  const { people, service, me, stopped } = await stoppable();
  service.options.people = people.slice(0, 20);
  await me.ran(["search", "--department", "Sales", "--yes", "-o", "l.ndjson"]);
  service.options.people = people;
  const argv = ["refresh", "l.ndjson", "--max-credits", "60", "--json"];
  await stopped(argv);
  const { stdout, stderr } = await me.ran(argv);
  const again = service.rowsSold() - service.sold.size;
  expect(again).toBeGreaterThan(0);
  expect(JSON.parse(stdout)).toMatchObject({ added: 40, bought_again: again });
  expect(stderr).toContain(`${again} of those bought were yours already`);
});

long(
  "--again buys the whole segment also where nobody is new, and says what it costs before",
  async () => {
    const { service, me } = await twoLists();
    const list = ["refresh", "sales.ndjson", "--department", "Sales"];
    await me.ran([...list, "--max-credits", "500"]);
    const count = service.matching({ department: "Sales" }).length;
    const sold = service.rowsSold();
    const plan = await me.run([...list, "--again", "--dry-run", "--json"]);
    expect(JSON.parse(plan.stdout)).toMatchObject({
      new: 0,
      credits_at_most: count,
      rebuy_credits: count,
    });
    await me.ends(
      4,
      [...list, "--again", "--max-credits", String(count - 1)],
      `--max-credits ${count} buys it again`,
    );
    await me.ends(2, [...list, "--again"]);
    expect(service.rowsSold()).toBe(sold);
    expect(await me.json([...list, "--again", "--yes", "--json"])).toMatchObject({
      added: 0,
      removed: 0,
      credits: count,
      bought_again: count,
    });
    expect(service.rowsSold() - sold).toBe(count);
  },
);

test("a price that nobody told, and that what was agreed to does not pay for, is no dataset that moved", async () => {
  const { service, me } = await twoLists();
  Object.assign(service.options, { price: 2, tellsPrice: false });
  const count = service.matching({ country: "germany" }).length;
  const argv = ["refresh", "--country", "germany", "--again", "-o", "germany.ndjson", "--yes"];
  const { stderr } = await me.ends(
    5,
    argv,
    new RegExp(`a row costs 2 credits, which the account did not tell: \\d+ of ${count} rows came`),
  );
  expect(stderr).not.toContain("moved");
});

long(
  "a list of --with-owned holds those whom its run did not buy: they are neither added nor forgotten when they leave",
  async () => {
    const { service, me } = await twoLists();
    await me.ran(asTyped`search --department Sales --with-owned --yes -o all.csv`);
    const before = service.matching({ department: "Sales" });
    const people = service.options.people.filter(
      (human) => personKey(human) !== personKey(before[0] ?? human),
    );
    service.options.people = people;
    expect(await me.json(["refresh", "all.csv", "--max-credits", "20", "--json"])).toMatchObject({
      count: before.length - 1,
      added: 0,
      removed: 1,
      credits: 0,
    });
  },
);
