import { describe, expect, onTestFinished, test } from "vitest";
import { asTyped } from "../support/as-typed.ts";
import { readCsv, seeded, type User, user } from "../support/export.ts";
import { long } from "../support/long.ts";
import {
  Crowd,
  type Human,
  type PeopleOptions,
  type PeopleService,
  personKey,
  startPeopleService,
} from "../support/people-service.ts";

const SEGMENT = ["--department", "Sales"];
async function start(change: Partial<PeopleOptions>): Promise<PeopleService> {
  const service = await startPeopleService(change);
  onTestFinished(() => service.close());
  return service;
}

const ids = (of: User, name: string): string[] => readCsv(of.read(name)).map(({ id = "" }) => id);

const keysOf = (people: readonly Human[]): string[] => people.map(personKey).sort();

/** A crowd of sellers, and a user who owns a part of them. */
async function owner(
  change: Partial<PeopleOptions> = {},
  people = 300,
): Promise<{ me: User; service: PeopleService }> {
  const crowd = new Crowd(seeded(4));
  const made = Array.from({ length: people }, () => crowd.born({ department: "Sales" }));
  const service = await start({ people: made, ...change });
  const me = user(service.url, service.key);
  await me.ran(asTyped`search ${SEGMENT} --connections-max 400 --yes -o own.csv`);
  return { me, service };
}

const argv = (...more: readonly string[]): string[] =>
  asTyped`search ${SEGMENT} --new-only --yes ${more}`;

/** The words of a command that was printed to be copied. */
const words = (command: string): string[] =>
  [...command.matchAll(/(?:'[^']*'|[^\s'])+/g)].map(([word]) => word.replaceAll("'", "")).slice(1);

describe("somebody whom no filter tells from those who are owned", () => {
  const twin = (n: number): Partial<Human> => ({
    name: "ada twin",
    network_url: `people.example/in/twin-${n}`,
    title: null,
    department: "Sales",
    seniority_level: null,
    country: null,
    company_network_url: null,
    connections: null,
  });

  async function twins(count: number): Promise<{ me: User; service: PeopleService; last: Human }> {
    const crowd = new Crowd(seeded(5));
    const people = Array.from({ length: 200 }, () => crowd.born({ department: "Sales" }));
    const same = Array.from({ length: count }, (_, n) => crowd.born(twin(n)));
    const last = same[count - 1] as Human;
    const service = await start({ people: [...people, ...same.slice(0, -1)] });
    const me = user(service.url, service.key);
    await me.ran(["search", ...SEGMENT, "--yes", "-o", "own.csv"]);
    service.options.people = [...people, ...same];
    return { me, service, last };
  }

  test("is bought with them where no more are bought again than the quote said, and they are not written", async () => {
    const { me, service, last } = await twins(3);
    const quote = await me.run(["search", ...SEGMENT, "--new-only", "--dry-run"]);
    expect(quote.stdout).toMatch(/to buy +at most 4, up to 3 of them owned already\n/);
    const before = service.rowsSold();
    await me.ran(argv("-o", "new.csv"));
    expect(ids(me, "new.csv")).toEqual([last.id]);
    expect(service.rowsSold() - before).toBe(3);
  });

  test("is named with the command that buys them where it would be more, and that command does it", async () => {
    const { me, service, last } = await twins(12);
    const crowd = new Crowd(seeded(6));
    const other = crowd.born({
      id: "other",
      department: "Sales",
      name: "zoë quinn",
      connections: 7,
    });
    service.options.people = [...service.options.people, other];
    const ran = await me.ends(
      5,
      argv("-o", "new.csv"),
      "1 new person was not bought, as more of those you own would be bought again",
    );
    expect(() => me.read("new.csv")).toThrow();
    const shown = await me.json(["runs", "show", "last", "--json"]);
    expect(shown).toMatchObject({
      status: "finished",
      problem: expect.stringContaining("1 new person was not bought"),
    });
    await me.ran(["runs", "export", "last", "-o", "got.csv"]);
    expect(ids(me, "got.csv")).toEqual(["other"]);
    const command = /to buy them: (headcount .*)/.exec(ran.stderr)?.[1] ?? "";
    await me.ran([...words(command), "--yes"]);
    expect(ids(me, "others.csv")).toEqual([last.id]);
    const before = service.rowsSold();
    await me.ran(argv("-o", "new.csv", "--min-rows", "0"));
    expect(service.rowsSold()).toBe(before);
    expect(ids(me, "new.csv")).toEqual([]);
  });
});

describe("a service that moves, rounds or remembers", () => {
  const counts = async (service: PeopleService, work: () => Promise<unknown>): Promise<number> => {
    const before = service.asked.length;
    await work();
    return service.asked.slice(before).filter(({ path }) => path.endsWith("/count")).length;
  };

  long("moved while it was looked: nothing is bought, and the same command goes on", async () => {
    const { me, service } = await owner({ version: "monday" });
    const before = service.rowsSold();
    const whole = await counts(service, () =>
      me.run(["search", ...SEGMENT, "--new-only", "--dry-run"]),
    );
    const at = service.asked.length + whole + 20;
    service.options.before = (call) => {
      if (call === at) service.options.version = "tuesday";
    };
    await me.ends(
      5,
      argv("-o", "new.csv"),
      "the service changed its dataset from monday to tuesday",
    );
    expect(service.rowsSold()).toBe(before);
    expect(() => me.read("new.csv")).toThrow();
    await me.ran(argv("-o", "new.csv"));
    const owned = ids(me, "own.csv");
    expect([...ids(me, "new.csv"), ...owned].sort()).toEqual(keysOf(service.options.people));
    expect(new Set(service.sold.values())).not.toContain(3);
  });

  long(
    "moved while it was bought: what was bought is kept, and the next command pays for nobody of it again",
    async () => {
      const { me, service } = await owner({ version: "monday" });
      const crowd = new Crowd(seeded(8));
      let searches = 0;
      service.options.before = (_, path) => {
        if (!path.endsWith("/search") || ++searches !== 4) return;
        service.options.version = "tuesday";
        service.options.people = [
          ...service.options.people.slice(5),
          crowd.born({ id: "late", department: "Sales" }),
        ];
      };
      const owned = new Set(ids(me, "own.csv"));
      await me.ends(5, argv("-o", "new.csv"), "dataset");
      expect(() => me.read("new.csv")).toThrow();
      await me.ran(["runs", "export", "last", "-o", "got.csv"]);
      const first = ids(me, "got.csv").filter((id) => !owned.has(id));
      expect(first.length).toBeGreaterThan(0);
      const before = new Map(service.sold);
      await me.ran(argv("-o", "new.csv"));
      const second = ids(me, "new.csv");
      expect(second.filter((id) => first.includes(id))).toEqual([]);
      const there = keysOf(service.options.people);
      expect(
        there.filter((id) => !owned.has(id) && !first.includes(id) && !second.includes(id)),
      ).toEqual([]);
      const twice = second.filter((id) => service.sold.get(id) !== 1 + (before.get(id) ?? 0));
      expect(twice).toEqual([]);
    },
  );

  test.each([
    ["rounded to tens", (count: number) => Math.round(count / 10) * 10],
    [
      "a few too many or too few",
      (count: number, call: number) => Math.max(0, count + ((call * 7_919) % 5) - 2),
    ],
  ])("counts that are %s end it before anything is bought", async (_, rough) => {
    const { me, service } = await owner();
    const before = service.rowsSold();
    service.options.rough = rough;
    await me.ends(8, argv("-o", "new.csv"), "the counts do not add up");
    expect(service.rowsSold()).toBe(before);
    expect(() => me.read("new.csv")).toThrow();
  });

  long(
    "a service that remembers counts for five minutes: what it remembers is not taken for proof of more than it is",
    async () => {
      let time = Date.now();
      const { me, service } = await owner({ cacheMs: 300_000, now: () => time });
      const crowd = new Crowd(seeded(9));
      await me.ran(argv("-o", "new.csv"));
      expect([...ids(me, "new.csv"), ...ids(me, "own.csv")].sort()).toEqual(
        keysOf(service.options.people),
      );
      // Somebody comes while the old counts are remembered.
      service.options.people = [
        ...service.options.people,
        crowd.born({ id: "late", department: "Sales" }),
      ];
      const second = await me.run(argv("-o", "none.csv", "--min-rows", "0"));
      expect([0, 5, 8]).toContain(second.code);
      time += 300_001;
      await me.ran(argv("-o", "late.csv", "--again"));
      expect(ids(me, "late.csv")).toEqual(["late"]);
      expect(service.sold.get("late")).toBe(1);
    },
  );
});
