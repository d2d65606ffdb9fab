import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { World, type WorldPerson } from "../../../bench/world.mjs";
import { importDataset } from "../../../src/dataset/build/import.ts";
import { openDataset } from "../../../src/dataset/embedded/open.ts";
import type { Engine } from "../../../src/dataset/engine.ts";
import { asTyped } from "../../support/as-typed.ts";
import { cases, everyNth, LONG } from "../../support/campaign.ts";
import { SMALL, sleep, tempFolder } from "../../support/dataset.ts";
import { type User, user } from "../../support/export.ts";
import { startTestService, type TestService } from "../../support/service.ts";
import { spawnUser } from "../../support/spawned.ts";

/** A dataset of these people, as `service import` makes it. */
async function datasetOf(people: Iterable<WorldPerson>): Promise<Engine> {
  const folder = await tempFolder("headcount-refresh-");
  const lines = [...people].map((person) => `${JSON.stringify(person)}\n`).join("");
  await writeFile(join(folder, "people.ndjson"), lines);
  const datasetDir = join(folder, "dataset");
  const report = await importDataset(
    {
      people: ["people.ndjson"],
      companies: [],
      cwd: folder,
      rejects: join(folder, "rejects.ndjson"),
    },
    { datasetDir, now: () => 0, sleep, resources: SMALL },
  );
  expect(report.people.refused).toBe(0);
  return openDataset(datasetDir);
}

const inSales = ({ department }: WorldPerson): boolean => department === "Sales";

/** Our own service over one world, a week later over the same world after the week. */
let weeks: { readonly people: WorldPerson[]; readonly engine: Engine }[] = [];
let service: TestService;
let now = 0;
/** Before rows are read. */
let onRows: (() => void) | undefined;

beforeAll(async () => {
  const world = new World(6_000, { seed: 3 });
  const keep = async (): Promise<void> => {
    weeks.push({
      people: [...world.people.values()].map((person) => ({ ...person })),
      engine: await datasetOf(world.people.values()),
    });
  };
  await keep();
  for (let week = 0; week < 2; week++) {
    world.drift({ job: 0.02, place: 0.1 });
    let at = 0;
    for (const id of [...world.people.keys()]) if (++at % 60 === week) world.people.delete(id);
    for (let born = 0; born < 60; born++) world.add(born % 3 === 0 ? { department: "Sales" } : {});
    await keep();
  }
  // The service goes on, its dataset is exchanged.
  const current = (): Engine => weeks[now]?.engine ?? (weeks[0] as { engine: Engine }).engine;
  const engine = new Proxy({} as Engine, {
    get: (_, name) => {
      if (name === "people") onRows?.();
      const value = Reflect.get(current(), name) as unknown;
      return typeof value === "function" ? value.bind(current()) : value;
    },
  });
  service = await startTestService({ engine, credits: 100_000, plan: { perMinute: 100_000 } });
}, 120_000);
afterAll(async () => {
  await service?.close();
  for (const { engine } of weeks) await engine.close();
  weeks = [];
});

const idsIn = (me: User, name: string): string[] =>
  me
    .read(name)
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => (JSON.parse(line) as { id: string }).id)
    .sort();
const salesOf = (week: number): string[] =>
  (weeks[week]?.people ?? [])
    .filter(inSales)
    .map(({ id }) => id)
    .sort();
const without = (ids: readonly string[], others: readonly string[]): string[] =>
  ids.filter((id) => !others.includes(id));
const balance = async (): Promise<number> =>
  (await service.call("/v1/account")).json.credits_remaining;

async function buyer(): Promise<User> {
  now = 0;
  const me = user(service.url, service.key);
  const { code, stderr } = await me.run(asTyped`search --department Sales --yes -o sales.ndjson`);
  expect(code, stderr).toBe(0);
  return me;
}

/** Of durable writes: plan, journal, receipt, and the four files. */
const STEPS = LONG
  ? Array.from({ length: cases(6, 60) }, (_, at) => 1 + at * everyNth(10))
  : [3, 9, 14, 20, 31, 6];

const REFRESH = asTyped`refresh sales.ndjson --max-credits 400 --max-calls 20000 --json`;

describe("a list of our own service, week after week", () => {
  test("removed, added and changed are those of the imported people; credits are about those who are new", async () => {
    const me = await buyer();
    for (now = 1; now <= 2; now++) {
      const [before, after] = [salesOf(now - 1), salesOf(now)];
      const had = await balance();
      const { code, stdout, stderr } = await me.run([
        ...REFRESH,
        "--verify-fields",
        "title,seniority_level,city",
      ]);
      expect(code, stderr).toBe(0);
      expect(idsIn(me, "sales.ndjson")).toEqual(after);
      expect(idsIn(me, "sales.added.ndjson")).toEqual(without(after, before));
      expect(idsIn(me, "sales.removed.ndjson")).toEqual(without(before, after));
      const spent = had - (await balance());
      const receipt = JSON.parse(stdout);
      expect(receipt).toMatchObject({
        credits: spent,
        certificate: { count: after.length, owned: after.length, equal: true },
      });
      expect(spent).toBeLessThanOrEqual(Math.ceil(without(after, before).length * 1.3) + 2);
      const old = new Map(weeks[now - 1]?.people.map((person) => [person.id, person]));
      const moved = (weeks[now]?.people ?? []).filter((person) => {
        const was = old.get(person.id);
        if (was === undefined || !inSales(person) || !inSales(was)) return false;
        return (["title", "seniority_level", "city"] as const).some(
          (field) => was[field] !== null && was[field] !== person[field],
        );
      });
      expect(moved.length).toBeGreaterThan(3);
      const named = new Set(idsIn(me, "sales.changed.ndjson"));
      // Who changed in an earlier week and was not bought again is not as bought now, too.
      for (const { id } of moved) expect(named).toContain(id);
    }
  });

  test("killed at every step of what is written: the same command ends whole, and nobody is paid for twice", async () => {
    const me = await buyer();
    const [before, after] = [salesOf(0), salesOf(1)];
    now = 1;
    const had = await balance();
    // A quiet refresh of somebody else says what it costs.
    const quiet = await buyer();
    const paid = await balance();
    now = 1;
    expect((await quiet.run(REFRESH)).code).toBe(0);
    const cost = paid - (await balance());
    const gone = had - paid;
    let killed = 0;
    for (const step of STEPS) {
      const { code, stderr } = await spawnUser(me, [...REFRESH, "--base-url", service.url], {
        HEADCOUNT_FAILPOINT: String(step),
      });
      if (code === 137) killed++;
      else expect(code, `${step}: ${stderr}`).toBe(0);
    }
    // What was written is not written again: the later steps find fewer writes than they would be killed at.
    expect(killed).toBeGreaterThan(cases(3, 20));
    const end = await spawnUser(me, [...REFRESH, "--base-url", service.url]);
    expect(end.code, end.stderr).toBe(0);
    expect(idsIn(me, "sales.ndjson")).toEqual(after);
    expect(had - (await balance()) - gone - cost).toBe(cost);
    expect(
      idsIn(me, "sales.removed.ndjson").every((id) => before.includes(id) && !after.includes(id)),
    ).toBe(true);
  }, 120_000);
});

test("what came from two versions in one run is taken for neither when the first one is served again", async () => {
  const me = user(service.url, service.key);
  const argv = asTyped`search --department Sales --new-only --limit 300 --per-page 100`;
  const bought = [...argv, "--concurrency", "1", "--yes", "-o", "new.ndjson"];
  let pages = 0;
  now = 0;
  onRows = () => {
    if (++pages === 2) now = 1;
  };
  const moved = await me.run(bought);
  expect([moved.code, moved.stderr], moved.stderr).toEqual([5, expect.stringContaining("dataset")]);
  onRows = undefined;
  const told = await me.run(["sql", "select dataset_version from runs", "--json"]);
  expect(JSON.parse(told.stdout), told.stderr).toMatchObject([{ dataset_version: null }]);
  now = 0;
  const again = await me.run(bought);
  expect(again.code, again.stderr).toBe(0);
  expect(without(idsIn(me, "new.ndjson"), salesOf(0))).toEqual([]);
});
