import { cpSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { charged, type User } from "../support/export.ts";
import { long } from "../support/long.ts";
import { ok, ran } from "../support/ran.ts";
import { testService } from "../support/serving.ts";
import { filesBelow, machineNamed, openedFiles, teamOf } from "../support/team.ts";

const CREDITS = 100_000;
const service = testService({ people: 200, credits: CREDITS });

const SEARCH = ["search", "--department", "Sales", "--yes", "--format", "ndjson"];
const BUY = [...SEARCH, "--limit", "3"];
const MORE = ["search", "--department", "Legal", "--limit", "2", "--yes", "--format", "ndjson"];
const team = (...names: string[]) => teamOf(names, service.url, service.key);

/** Another machine over a copy of a state folder. */
function copyOf(me: User, key: string): User {
  const copy = machineNamed("copy", service.url, service.key, { HEADCOUNT_SYNC_KEY: key });
  cpSync(join(me.dir, "state"), join(copy.dir, "state"), { recursive: true });
  return copy;
}

describe("headcount sync, a state folder that was copied", () => {
  test("is refused, and is a machine of its own once that is said", async () => {
    const { folder, key, machines } = await team("laptop");
    const [laptop] = machines as [User];
    await ok(laptop, BUY);
    await ok(laptop, ["sync", folder]);
    // A copy within its disk, as a backup that is brought back beside it.
    const copy = copyOf(laptop, key);
    await ok(laptop, MORE);
    await ok(laptop, ["sync", folder]);

    const before = filesBelow(folder);
    const { code, stderr } = await copy.run(["sync", folder]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("are the same machine, laptop")]);
    expect(stderr).toContain(`headcount sync ${folder} --copied`);
    expect(filesBelow(folder)).toEqual(before);
    await ok(laptop, ["sync", folder]);

    await ok(copy, ["sync", folder, "--copied"]);
    const id = (me: User): string => me.read("state/machine").split(" ")[0] ?? "";
    expect(id(copy)).not.toBe(id(laptop));
    for (const me of [laptop, copy]) await ok(me, ["sync", folder]);
    // What was copied is the other's, and is not paid for again.
    expect(await ok(copy, ["count", "--owned"])).toBe("3\n");
    const [run = ""] = readdirSync(join(copy.dir, "state/runs")).filter((one) => /^\d/.test(one));
    const resumed = await copy.run(["resume", run, "--limit", "5", "--yes"]);
    expect([resumed.code, resumed.stderr]).toEqual([2, expect.stringContaining("begun on laptop")]);
    const paid = await charged(service, CREDITS);
    await ok(copy, BUY);
    expect(await charged(service, CREDITS)).toBe(paid);
  });

  test("that was moved, or kept between two runs of a container, goes on unasked, and the one it came from does not", async () => {
    const { folder, key, machines } = await team("laptop");
    const [laptop] = machines as [User];
    await ok(laptop, ["sync", folder]);
    const moved = copyOf(laptop, key);
    await ok(moved, MORE);
    for (let times = 0; times < 2; times++) await ok(moved, ["sync", folder]);
    expect(moved.read("state/machine")).toBe(laptop.read("state/machine"));
    expect((await laptop.run(["sync", folder])).stderr).toContain("are the same machine");
    expect((await moved.run(["sync", folder, "--moved"])).stderr).toContain("nothing to settle");
  });

  test("of a day before goes on as it once that is said", async () => {
    const { folder, key, machines } = await team("laptop");
    const [laptop] = machines as [User];
    await ok(laptop, ["sync", folder]);
    const backup = copyOf(laptop, key);
    await ok(laptop, MORE);
    await ok(laptop, ["sync", folder]);
    expect((await backup.run(["sync", folder])).stderr).toContain(`sync ${folder} --moved`);
    await ok(backup, ["sync", folder, "--moved"]);
    await ok(backup, ["sync", folder]);
  });

  test("jobs of it buy nothing", async () => {
    const { folder, key, machines } = await team("laptop");
    const [laptop] = machines as [User];
    await ok(laptop, ["sync", folder]);
    const copy = copyOf(laptop, key);
    await ok(laptop, MORE);
    await ok(laptop, ["sync", folder]);
    const job = { filters: { department: "Sales" }, max_credits: 20, output: "l.csv" };
    writeFileSync(copy.file("jobs.json"), JSON.stringify({ sync: folder, jobs: { legal: job } }));
    const paid = await charged(service, CREDITS);
    await copy.ends(2, ["jobs", "run", "legal", "--file", "jobs.json"]);
    expect(await charged(service, CREDITS)).toBe(paid);
  });
});

describe("headcount sync --status", () => {
  test("says who knows whom all forgot, and what waits here; and changes nothing", async () => {
    const { folder, machines } = await team("laptop", "ci");
    const [laptop, ci] = machines as [User, User];
    const rows = (await ok(laptop, BUY)).trim().split("\n");
    for (const me of [laptop, ci]) await ok(me, ["sync", folder]);
    await ok(laptop, ["forget", JSON.parse(rows[0] ?? "").id, "--yes"]);
    await ok(laptop, ["search", "--department", "Marketing", "--limit", "2", "--yes"]);
    await ok(laptop, ["sync", folder]);

    const before = filesBelow(folder).map((path) => `${path} ${readFileSync(path, "hex")}`);
    const status = async () => JSON.parse(await ok(ci, ["sync", folder, "--status", "--json"]));
    const { machines: said, ...sums } = await status();
    const of = Object.fromEntries(
      said.map((one: { machine: string; up_to_date: boolean }) => [one.machine, one]),
    );
    expect(of).toMatchObject({
      laptop: { here: false, up_to_date: true, synced: expect.stringMatching(/^\d{4}-\d\d-\d\d$/) },
      ci: { here: true, up_to_date: false },
    });
    expect(sums.runs).toBe(2);
    expect(sums.waiting).toBeGreaterThan(0);
    expect(filesBelow(folder).map((path) => `${path} ${readFileSync(path, "hex")}`)).toEqual(
      before,
    );

    await ok(ci, ["sync", folder]);
    expect(await status()).toMatchObject({ runs: 2, waiting: 0 });
    expect(await ok(ci, ["sync", folder, "--status"])).toMatch(/^ci,true,\S+,true$/m);
  });
});

describe("headcount sync, what a budget counts", () => {
  const jobsOf = (me: User, folder: string, department: string): void => {
    const output = `${department}.csv`;
    const job = { command: "search", filters: { department }, limit: 4, max_credits: 4, output };
    const file = { sync: folder, budget: "6/month", jobs: { one: job } };
    writeFileSync(me.file("jobs.json"), JSON.stringify(file));
  };

  test("what jobs of all machines spent in the month; two at once pass it by what they buy", async () => {
    const { folder, key } = await team("laptop");
    const [desk, ci, late] = ["desk", "ci", "late"].map((name) =>
      machineNamed(name, service.url, service.key, { HEADCOUNT_SYNC_KEY: key }),
    ) as [User, User, User];
    jobsOf(desk, folder, "Sales");
    jobsOf(ci, folder, "Marketing");
    jobsOf(late, folder, "Operations");
    const run = ["jobs", "run", "one", "--file", "jobs.json"];
    await ok(desk, run);

    const paid = await charged(service, CREDITS);
    const refused = await ci.run(run);
    expect([refused.code, refused.stderr]).toEqual([4, expect.stringContaining("4 of 6 credits")]);
    expect(await charged(service, CREDITS)).toBe(paid);

    // Between two syncs nobody knows of the other: then the bound is passed, by that much.
    const own = machineNamed("own", service.url, service.key, { HEADCOUNT_SYNC_KEY: key });
    jobsOf(own, folder, "Marketing");
    const alone = JSON.parse(own.read("jobs.json"));
    writeFileSync(own.file("alone.json"), JSON.stringify({ ...alone, sync: undefined }));
    await ok(own, ["jobs", "run", "one", "--file", "alone.json"]);
    await ok(own, ["sync", folder]);
    expect((await late.run(run)).stderr).toContain("8 of 6 credits");
  });
});

test("two who bought the same people between two syncs are told so, once", async () => {
  const { folder, machines } = await team("laptop", "ci");
  const [laptop, ci] = machines as [User, User];
  for (const me of [laptop, ci]) await ok(me, BUY);
  for (const me of [laptop, ci]) await ok(me, ["sync", folder]);
  const told = JSON.parse(await ok(laptop, ["sync", folder, "--json"]));
  expect(told).toMatchObject({ took_in: [{ machine: "ci", runs: 1, rows: 3 }], paid_twice: 3 });
  expect(await ok(laptop, ["sync", folder])).toBe("took in nothing; gave nothing\n");
});

test("whom three bought counts once, also where two of them have one name", async () => {
  const { folder, key, machines } = await team("laptop", "ci");
  const [laptop, ci] = machines as [User, User];
  const twin = machineNamed("c", service.url, service.key, { HEADCOUNT_SYNC_KEY: key });
  writeFileSync(twin.file("state/machine"), `${"c".repeat(32)} ci\n`);
  for (const me of [laptop, ci, twin]) await ok(me, BUY);
  await ok(ci, ["sync", folder]);
  const told = async (me: User) => JSON.parse(await ok(me, ["sync", folder, "--json"])).paid_twice;
  expect([await told(twin), await told(laptop)]).toEqual([3, 3]);
});

describe("headcount sync --rekey", () => {
  const keyIn = (text: string): string => /hcsync_[\w-]{43}/.exec(text)?.[0] ?? "";

  long(
    "the old key opens nothing that stays; who joins with the new one owns as before",
    async () => {
      const shared = await team("laptop", "ci");
      const { folder } = shared;
      const [laptop, ci] = shared.machines as [User, User];
      await ok(laptop, BUY);
      for (const me of [laptop, ci]) await ok(me, ["sync", folder]);
      await ok(ci, [...SEARCH, "--limit", "5"]);

      const { stderr } = await ran(laptop, ["sync", folder, "--rekey"]);
      const key = keyIn(stderr);
      for (const [name, text] of openedFiles(shared))
        if (!name.endsWith(".json"))
          expect(() => JSON.parse(text.split("\n", 1)[0] ?? "")).toThrow();
      await ci.ends(3, ["sync", folder]);

      const env = { HEADCOUNT_SYNC_KEY: key };
      expect((await ran(ci, ["sync", folder], { env })).stdout).toMatch(/; gave 1 run\n$/);
      expect((await ran(laptop, ["sync", folder])).stdout).toMatch(/^took in 1 run /);
      for (const me of [laptop, ci]) expect(await ok(me, ["count", "--owned"])).toBe("5\n");
    },
  );

  long(
    "one that is stopped leaves the folder under the old key, and the next one does it",
    async () => {
      const shared = await team("laptop");
      const [laptop] = shared.machines as [User];
      await ok(laptop, BUY);
      await ok(laptop, ["sync", shared.folder]);
      let { key } = shared;
      let stopped = 0;
      // Whoever joins gives a file more, and a new key takes a step more.
      for (let step = 1; step < 1_000; step = Math.ceil(step * 1.4)) {
        const env = { HEADCOUNT_SYNC_KEY: key, HEADCOUNT_FAILPOINT: `${step}:EIO` };
        const { code, stderr } = await laptop.run(["sync", shared.folder, "--rekey"], { env });
        if (code === 0) break;
        stopped++;
        // Somebody new, who owns what the folder has and nothing else.
        const newcomer = machineNamed(`new ${step}`, service.url, service.key);
        const joins = async () =>
          await newcomer.run(["sync", shared.folder], { env: { HEADCOUNT_SYNC_KEY: key } });
        // It may have been done by then: the new key was shown before.
        if ((await joins()).code === 3) key = keyIn(stderr);
        expect((await joins()).code, `${step}: ${stderr}`).toBe(0);
        expect(await ok(newcomer, ["count", "--owned"]), `${step}`).toBe("3\n");
      }
      expect(stopped).toBeGreaterThan(5);
      const names = readdirSync(shared.folder);
      expect(names).toHaveLength(2);
    },
  );
});
