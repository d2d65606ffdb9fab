import { copyFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished } from "vitest";
import { seeded, type User } from "../support/export.ts";
import { inSales, keysIn, keysOf, without } from "../support/kept-list.ts";
import { long } from "../support/long.ts";
import { Crowd, startPeopleService } from "../support/people-service.ts";
import { ok } from "../support/ran.ts";
import { filesBelow, machineNamed, openedFiles, teamOf } from "../support/team.ts";

const WEEK = { gone: 0.1, moved: 0.1, born: 0.1 };

/** Two machines, one of which keeps a list, and the weeks of those who are in it. */
async function kept() {
  const crowd = new Crowd(seeded(1), 0);
  const service = await startPeopleService({
    people: Array.from({ length: 200 }, () => crowd.born()),
  });
  onTestFinished(() => service.close());
  const team = await teamOf(["laptop", "ci"], service.url, service.key);
  const [laptop, ci] = team.machines as [User, User];
  await ok(laptop, ["search", "--department", "Sales", "--yes", "-o", "sales.ndjson"]);
  return {
    service,
    team,
    laptop,
    ci,
    week: () => {
      const before = service.options.people.filter(inSales);
      service.options.people = crowd.week(service.options.people, WEEK);
      return { before, now: service.options.people.filter(inSales) };
    },
    sync: async (...machines: readonly User[]) => {
      for (const me of machines) await ok(me, ["sync", team.folder]);
    },
  };
}

const carry = (from: User, to: User, name: string, as = name): void =>
  copyFileSync(from.file(name), to.file(as));

describe("a list that another machine keeps", () => {
  long(
    "is known by its file, whatever that is called: news since it was so, nobody paid twice",
    async () => {
      const { service, team, laptop, ci, week, sync } = await kept();
      await ok(laptop, ["refresh", "sales.ndjson"]);
      expect(await ok(laptop, ["sync", team.folder])).toBe(
        "took in nothing; gave 1 run, 1 history of a list\n",
      );
      expect(await ok(ci, ["sync", team.folder])).toMatch(
        /^took in 1 run \(\d+ rows\) from laptop, 1 history of a list; gave nothing\n$/,
      );

      const { before, now } = week();
      const sold = service.rowsSold();
      carry(laptop, ci, "sales.ndjson", "ours.ndjson");
      await ok(ci, ["refresh", "ours.ndjson", "--max-credits", "100"]);
      expect(keysIn(ci, "ours.added.ndjson")).toEqual(keysOf(without(now, before)));
      expect(keysIn(ci, "ours.removed.ndjson")).toEqual(keysOf(without(before, now)));
      expect(service.rowsSold() - sold).toBeLessThanOrEqual(without(now, before).length * 1.25);

      // The one that keeps it hears of the same people, and pays for none of them.
      await sync(ci, laptop);
      const paid = service.rowsSold();
      await ok(laptop, ["refresh", "sales.ndjson", "--max-credits", "100"]);
      expect(keysIn(laptop, "sales.added.ndjson")).toEqual(keysOf(without(now, before)));
      expect(service.rowsSold()).toBe(paid);
      const lists = JSON.parse(await ok(ci, ["sql", "select list, people from lists", "--json"]));
      expect(lists).toHaveLength(2);
      for (const text of openedFiles(team).values()) expect(text).not.toContain(laptop.dir);

      expect(await ok(laptop, ["sync", team.folder])).toContain("; gave 1 history of a list\n");
      expect(await ok(laptop, ["sync", team.folder])).toBe("took in nothing; gave nothing\n");
    },
  );

  long("is known as the run wrote it, and only as it was written", async () => {
    const { service, laptop, ci, week, sync } = await kept();
    await sync(laptop, ci);
    const { before, now } = week();
    carry(laptop, ci, "sales.ndjson");
    writeFileSync(ci.file("edited.ndjson"), laptop.read("sales.ndjson").slice(0, -2));
    const edited = await ci.run(["refresh", "edited.ndjson", "--max-credits", "100"]);
    expect(edited).toMatchObject({ code: 2, stderr: expect.stringContaining("no finished run") });

    const sold = service.rowsSold();
    await ok(ci, ["refresh", "sales.ndjson", "--max-credits", "100"]);
    expect(keysIn(ci, "sales.added.ndjson")).toEqual(keysOf(without(now, before)));
    expect(service.rowsSold() - sold).toBeLessThanOrEqual(without(now, before).length * 1.25);
  });

  long(
    "whoever is forgotten is in no history, of those who know nobody else of it too",
    async () => {
      const { team, laptop, ci, sync } = await kept();
      await ok(laptop, ["refresh", "sales.ndjson"]);
      await sync(laptop, ci);
      // Nothing but the history has the person there.
      for (const path of filesBelow(join(ci.dir, "state/library"))) rmSync(path);
      const [run = ""] = JSON.parse(await ok(ci, ["runs", "--json"])).map(
        ({ id }: { id: string }) => id,
      );
      await ok(ci, ["runs", "remove", run, "--force", "--yes"]);
      await sync(ci);

      const [gone = ""] = keysIn(laptop, "sales.ndjson");
      const { id, network_url } = JSON.parse(
        await ok(laptop, ["owned", "show", gone, "--json"]),
      ).record;
      await ok(ci, ["forget", id, "--yes"]);
      await sync(ci);
      const holds = (text: string): boolean =>
        [`"${id}"`, network_url].some((name) => text.includes(name));
      expect([...openedFiles(team)].filter(([, text]) => holds(text))).toEqual([]);
      const members = await ok(ci, ["sql", "select id from list_people", "--json"]);
      expect(JSON.parse(members).length).toBeGreaterThan(3);
      expect(members).not.toContain(`"${id}"`);
    },
  );

  long(
    "a job of a container that starts empty goes on with its list, and with its file",
    async () => {
      const { service, team, laptop, week } = await kept();
      mkdirSync(laptop.file("out"));
      const job = { filters: { department: "Sales" }, max_credits: 200 };
      const jobs = {
        list: { ...job, command: "refresh", output: laptop.file("out/list.ndjson") },
        rows: { ...job, output: laptop.file("out/rows.csv") },
      };

      const costs: number[] = [];
      let moved = week();
      for (const name of ["week-1", "week-2"]) {
        if (name === "week-2") moved = week();
        const more = { HEADCOUNT_SYNC_KEY: team.key };
        const container = machineNamed(name, service.url, service.key, more);
        writeFileSync(container.file("jobs.json"), JSON.stringify({ sync: team.folder, jobs }));
        const sold = service.rowsSold();
        for (const one of ["list", "rows"])
          await ok(container, ["jobs", "run", one, "--file", "jobs.json"]);
        costs.push(service.rowsSold() - sold);
      }

      const fresh = without(moved.now, moved.before);
      expect(keysIn(laptop, "out/list.added.ndjson")).toEqual(keysOf(fresh));
      expect(costs[1]).toBeGreaterThan(0);
      expect(costs[1]).toBeLessThanOrEqual(fresh.length * 1.25);
    },
  );
});
