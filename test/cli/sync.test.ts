import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { tempDir } from "../support/client.ts";
import { charged, runIds, type User } from "../support/export.ts";
import { long } from "../support/long.ts";
import { ok, ran } from "../support/ran.ts";
import { testService } from "../support/serving.ts";
import { filesBelow, machineNamed, openedFiles, teamOf } from "../support/team.ts";

const CREDITS = 100_000;
const service = testService({ people: 400, credits: CREDITS });

type Row = Readonly<Record<"id" | "name" | "network_url", string>>;
const rowsOf = (text: string): Row[] =>
  text.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line) as Row]));

const SEARCH = ["search", "--department", "Sales", "--yes", "--format", "ndjson"];
const team = (...names: string[]) => teamOf(names, service.url, service.key);
const owned = async (me: User): Promise<number> => Number(await ok(me, ["count", "--owned"]));

/** Files in which somebody is found by address, id or name: of machines, and of their folder opened. */
function holding(row: Row, users: readonly User[], opened: ReadonlyMap<string, string>): string[] {
  const names = [row.id, row.name, row.network_url.split("/").at(-1) ?? ""];
  const isIn = (text: string): boolean => names.some((name) => text.includes(name));
  const own = users.flatMap(({ dir }) =>
    filesBelow(dir).filter((path) => isIn(readFileSync(path, "utf8"))),
  );
  return [...own, ...[...opened].filter(([, text]) => isIn(text)).map(([name]) => name)];
}

describe("headcount sync", () => {
  test("whom another machine bought is owned here: counted, written and not paid for again", async () => {
    const { folder, machines } = await team("laptop", "ci");
    const [laptop, ci] = machines as [User, User];
    const bought = await ok(laptop, SEARCH);
    const people = rowsOf(bought).length;
    expect(await ok(laptop, ["sync", folder])).toBe("took in nothing; gave 1 run\n");

    expect(await ok(ci, ["sync", folder])).toBe(
      `took in 1 run (${people} rows) from laptop; gave nothing\n`,
    );
    expect(await owned(ci)).toBe(people);
    const before = await charged(service, CREDITS);
    const again = await ran(ci, SEARCH);
    expect(rowsOf(again.stdout)).toEqual(rowsOf(bought));
    expect((await ran(ci, [...SEARCH, "--new-only"])).stdout).toBe("");
    expect(await charged(service, CREDITS)).toBe(before);

    const spend = JSON.parse(await ok(ci, ["spend", "--by", "machine", "--json"]));
    expect(spend.groups).toMatchObject([{ machine: "laptop", profiles: people, settled: people }]);
    // Nothing more to say: what is there is not read again.
    await ok(laptop, ["sync", folder]);
    expect(await ok(laptop, ["sync", folder])).toBe("took in nothing; gave nothing\n");
  });

  test("a run that stopped half-way is owned elsewhere, and gone on with where it began", async () => {
    const { folder, machines } = await team("laptop", "ci");
    const [laptop, ci] = machines as [User, User];
    // Its disk fails after the first page.
    for (let step = 12; runIds(laptop).length === 0 || (await owned(laptop)) === 0; step++)
      await laptop.run(SEARCH, { env: { HEADCOUNT_FAILPOINT: `${step}:EIO` } });
    const [{ id, status }] = JSON.parse(await ok(laptop, ["runs", "--json"]));
    expect(status).toBe("unfinished");
    const people = await owned(laptop);
    await ok(laptop, ["sync", folder]);
    await ok(ci, ["sync", folder]);
    expect(await owned(ci)).toBe(people);
    expect(await ran(ci, ["resume"])).toMatchObject({ code: 0, stdout: "" });

    await ok(laptop, ["resume", id, "--yes"]);
    await ok(laptop, ["sync", folder]);
    await ok(ci, ["sync", folder]);
    expect(await owned(ci)).toBe(await owned(laptop));
  });

  test("keys, connections and paths never travel, and nothing in the folder is readable", async () => {
    const shared = await team("laptop", "ci");
    const [laptop, ci] = shared.machines as [User, User];
    await ok(laptop, [...SEARCH, "-o", "sales.ndjson", "--receipt", "receipt.json"]);
    await ok(laptop, ["sync", shared.folder]);
    await ok(ci, ["sync", shared.folder]);

    const texts = [...openedFiles(shared).values()];
    expect(texts.some((text) => text.includes('"network_url"'))).toBe(true);
    for (const text of texts) {
      expect(text).not.toContain(service.key);
      expect(text).not.toContain(laptop.dir);
      expect(text).not.toContain("sales.ndjson");
    }
    for (const path of filesBelow(shared.folder))
      expect(readFileSync(path, "latin1")).not.toContain("network");
    const [run = ""] = runIds(ci);
    expect(JSON.parse(await ok(ci, ["runs", "show", run, "--json"]))).toMatchObject({
      output: null,
    });
  });

  long(
    "whoever is forgotten on one machine is in no file of any, and comes back with nobody",
    async () => {
      const shared = await team("laptop", "ci", "desk");
      const [laptop, ci, desk] = shared.machines as [User, User, User];
      const all = rowsOf(await ok(laptop, [...SEARCH, "-o", "-"]));
      const gone = all[3] as Row;
      await ok(laptop, ["runs", "export", "last", "-o", "sales.csv"]);
      for (const each of [laptop, ci]) await ok(each, ["sync", shared.folder]);
      await ok(ci, ["owned", "export", "-o", "everybody.csv"]);
      expect(holding(gone, [laptop, ci], openedFiles(shared)).length).toBeGreaterThan(5);

      await ok(ci, ["forget", gone.network_url, "--yes"]);
      for (const each of [ci, laptop, desk]) await ok(each, ["sync", shared.folder]);
      expect(holding(gone, shared.machines, openedFiles(shared))).toEqual([]);
      expect(await owned(desk)).toBe(all.length - 1);

      // Bought again with the segment, and still nowhere once it is synced.
      await ok(desk, [...SEARCH, "--again"]);
      expect(holding(gone, [desk], new Map())).not.toEqual([]);
      for (const each of [desk, laptop, ci]) await ok(each, ["sync", shared.folder]);
      expect(holding(gone, shared.machines, openedFiles(shared))).toEqual([]);
      expect(await owned(laptop)).toBe(all.length - 1);
    },
  );

  long("a machine that was away with the person gives nobody back", async () => {
    const shared = await team("laptop", "away");
    const [laptop, away] = shared.machines as [User, User];
    const all = rowsOf(await ok(laptop, SEARCH));
    const gone = all[0] as Row;
    await ok(laptop, ["sync", shared.folder]);
    await ok(away, ["sync", shared.folder]);
    await ok(away, [...SEARCH, "--again"]);

    await ok(laptop, ["forget", gone.id, "--yes"]);
    await ok(laptop, ["sync", shared.folder]);
    await ok(away, ["sync", shared.folder]);
    await ok(laptop, ["sync", shared.folder]);
    expect(holding(gone, shared.machines, openedFiles(shared))).toEqual([]);
  });

  long(
    "who is left out on one machine is left out on all, until one lets the person in again",
    async () => {
      const { folder, machines } = await team("laptop", "ci");
      const [laptop, ci] = machines as [User, User];
      const [one] = rowsOf(await ok(laptop, SEARCH)) as [Row];
      await ok(laptop, ["suppress", "add", one.network_url, "--note", `asked by ${one.name}`]);
      for (const each of [laptop, ci]) await ok(each, ["sync", folder]);
      await ci.ends(6, ["owned", "show", one.id]);

      await ok(ci, ["suppress", "remove", one.network_url]);
      for (const each of [ci, laptop]) await ok(each, ["sync", folder]);
      for (const each of [ci, laptop])
        expect((await each.run(["owned", "show", one.id])).code).toBe(0);
    },
  );

  long(
    "only the machine that began a run goes on with it; elsewhere the same search takes what it holds",
    async () => {
      const { folder, machines } = await team("laptop", "ci");
      const [laptop, ci] = machines as [User, User];
      await ok(laptop, [...SEARCH, "--limit", "5"]);
      for (const each of [laptop, ci]) await ok(each, ["sync", folder]);
      const [run = ""] = runIds(ci);

      const refused = await ci.run(["resume", run, "--limit", "9", "--yes"]);
      expect(refused).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(`run ${run} was begun on laptop`),
      });
      expect(refused.stderr).toContain("headcount search --department=Sales begins a new run");
      const before = await charged(service, CREDITS);
      expect(rowsOf(await ok(ci, [...SEARCH, "--limit", "9"]))).toHaveLength(9);
      expect((await charged(service, CREDITS)) - before).toBe(4);
      await ok(laptop, ["resume", run, "--limit", "7", "--yes"]);

      for (const each of [laptop, ci, laptop]) await ok(each, ["sync", folder]);
      for (const each of [laptop, ci]) {
        const { total } = JSON.parse(await ok(each, ["spend", "--json"]));
        expect(total).toMatchObject({ settled: 11 });
      }
    },
  );

  long(
    "a sync that fails at any step is done by the next one, and shows nobody who was forgotten",
    async () => {
      for (let step = 1, failed = true; failed; step += 3) {
        const shared = await team("laptop", "ci");
        const [laptop, ci] = shared.machines as [User, User];
        const all = rowsOf(await ok(laptop, [...SEARCH, "--limit", "40"]));
        const gone = all[step % all.length] as Row;
        await ok(laptop, ["sync", shared.folder]);
        await ok(ci, [...SEARCH, "--again", "--limit", "30"]);
        await ok(laptop, ["forget", gone.network_url, "--yes"]);
        await ok(laptop, ["sync", shared.folder]);

        const env = { HEADCOUNT_FAILPOINT: `${step}:EIO` };
        const { code } = await ci.run(["sync", shared.folder], { env });
        failed = code !== 0;
        for (const each of [ci, laptop]) await ok(each, ["sync", shared.folder]);
        expect(holding(gone, shared.machines, openedFiles(shared))).toEqual([]);
        expect([runIds(ci).length, runIds(laptop).length]).toEqual([2, 2]);
        const own = [await owned(ci), await owned(laptop)];
        expect(own).toEqual([all.length - 1, all.length - 1]);
        if (!failed) expect(step).toBeGreaterThan(20);
      }
    },
  );

  test("a file that is torn or mixed is left and named, and given again by whoever has it", async () => {
    const { folder, machines } = await team("laptop", "ci");
    const [laptop, ci] = machines as [User, User];
    await ok(laptop, SEARCH);
    await ok(laptop, ["sync", folder]);
    const [name = ""] = readdirSync(join(folder, "runs"));
    const path = join(folder, "runs", name);
    const whole = readFileSync(path);

    const halves = [whole.subarray(0, whole.length >> 1), Buffer.alloc(0), Buffer.alloc(500, 7)];
    for (const half of halves) {
      writeFileSync(path, half);
      const torn = await ci.run(["sync", folder]);
      expect(torn).toMatchObject({ code: 5, stderr: expect.stringContaining(name) });
      expect(runIds(ci)).toEqual([]);
    }
    expect(await ok(laptop, ["sync", folder])).toBe("took in nothing; gave 1 run\n");
    await ok(ci, ["sync", folder]);
    expect(runIds(ci)).toEqual(runIds(laptop));
    rmSync(path);
    for (const each of [laptop, ci]) await ok(each, ["sync", folder]);
    expect(readdirSync(join(folder, "runs"))).toEqual([name]);
  });

  test("a job of a container that starts empty buys the second week only who is new", async () => {
    const { folder, key, machines } = await team("laptop");
    const more = { HEADCOUNT_SYNC_KEY: key };
    const jobs = { legal: { filters: { department: "Legal" }, max_credits: 100, output: "l.csv" } };
    const costs: number[] = [];
    for (const week of ["week-1", "week-2"]) {
      const container = machineNamed(week, service.url, service.key, more);
      writeFileSync(container.file("jobs.json"), JSON.stringify({ sync: folder, jobs }));
      const before = await charged(service, CREDITS);
      await ok(container, ["jobs", "run", "legal", "--file", "jobs.json"]);
      costs.push((await charged(service, CREDITS)) - before);
      expect(container.read("l.csv").split("\n").length).toBeGreaterThan(5);
    }
    expect(costs).toEqual([expect.any(Number), 0]);
    expect(costs[0]).toBeGreaterThan(0);

    const [laptop] = machines as [User];
    expect(await ok(laptop, ["sync", folder])).toMatch(
      /^took in 1 run \(\d+ rows\) from week-1, 2 histories of lists; /,
    );
    const lost = machineNamed("unmounted", service.url, service.key, more);
    writeFileSync(lost.file("jobs.json"), JSON.stringify({ sync: tempDir("headcount-no-"), jobs }));
    await lost.ends(2, ["jobs", "run", "legal", "--file", "jobs.json"]);
    expect(runIds(lost)).toEqual([]);
  });

  test.each(["no key", "another key", "not mounted", "in use", "no folder", "later format"])(
    "%s: nothing is read or written",
    async (which) => {
      const { folder, machines } = await team("laptop");
      const [laptop] = machines as [User];
      const other = machineNamed("ci", service.url, service.key, { PATH: "" });
      const empty = tempDir("headcount-empty-");
      const used = tempDir("headcount-used-");
      writeFileSync(join(used, "notes.txt"), "mine");
      const newer = tempDir("headcount-newer-");
      writeFileSync(join(newer, "headcount-sync.json"), '{"format":2}');
      mkdirSync(join(folder, "kept"));
      const wrong = { HEADCOUNT_SYNC_KEY: `hcsync_${"A".repeat(43)}` };

      const cases: Record<string, [User, string, object, number, RegExp]> = {
        "no key": [other, folder, {}, 3, /is not kept here.*--join/s],
        "another key": [other, folder, wrong, 3, /the key is not that of/],
        "not mounted": [other, empty, wrong, 2, /is empty: .*not mounted/],
        "in use": [laptop, used, {}, 2, /holds other things/],
        "no folder": [laptop, join(empty, "gone"), {}, 2, /there is no folder/],
        "later format": [laptop, newer, {}, 2, /another version/],
      };
      const [me, path, env, code, said] = cases[which] as (typeof cases)[string];
      const before = [folder, empty, used, newer].flatMap(filesBelow);
      const { stderr, ...result } = await me.run(["sync", path], { env: { ...env } });
      expect({ code: result.code, stderr }).toEqual({ code, stderr: expect.stringMatching(said) });
      expect([folder, empty, used, newer].flatMap(filesBelow)).toEqual(before);
    },
  );
});
