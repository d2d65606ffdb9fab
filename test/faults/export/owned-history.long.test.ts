import fc from "fast-check";
import { expect, test } from "vitest";
import { asTyped } from "../../support/as-typed.ts";
import { cases, LONG } from "../../support/campaign.ts";
import { readCsv, seeded, user } from "../../support/export.ts";
import { long } from "../../support/long.ts";
import { Crowd, type Human, personKey, startPeopleService } from "../../support/people-service.ts";
import { spawnUser } from "../../support/spawned.ts";

type Step =
  | { readonly kind: "week"; readonly gone: number; readonly moved: number; readonly born: number }
  | {
      readonly kind: "search" | "new-only" | "with-owned" | "refresh";
      readonly killedAt: number | undefined;
    }
  | { readonly kind: "rebuild" };

const killedAt = fc.option(fc.integer({ min: 2, max: 40 }), { freq: 2, nil: undefined });
const share = fc.double({ min: 0, max: 0.15, noNaN: true });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("week" as const),
      gone: share,
      moved: share,
      born: share,
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constantFrom(
        "search" as const,
        "new-only" as const,
        "with-owned" as const,
        "refresh" as const,
      ),
      killedAt,
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("rebuild" as const) }) },
);

const SEGMENT = ["--department", "Sales"];
const NEW = [...SEGMENT, "--max-calls", "20000", "--min-rows", "0", "--overwrite", "--yes"];

/** Command lines by kind; the file of each holds the segment, or what is new of it. */
const ARGV: Readonly<Record<string, readonly string[]>> = {
  search: asTyped`search ${SEGMENT} --country france --min-rows 0 --overwrite --yes -o some.csv`,
  "new-only": ["search", ...NEW, "--new-only", "-o", "new.csv"],
  "with-owned": ["search", ...NEW, "--with-owned", "-o", "all.csv"],
  refresh: asTyped`refresh list.csv --max-credits 1000 --max-calls 20000 --min-rows 0 --yes`,
};

/** What is owned by the service's own books: who was ever sold. */
async function history(seed: number, steps: readonly Step[]): Promise<void> {
  const crowd = new Crowd(seeded(seed));
  const service = await startPeopleService({
    people: Array.from({ length: 240 }, () => crowd.born()),
    version: "week 0",
  });
  try {
    const me = user(service.url, service.key);
    const run = async (argv: readonly string[], failpoint?: number) =>
      failpoint === undefined
        ? me.run(argv)
        : spawnUser(me, [...argv, "--base-url", service.url], {
            HEADCOUNT_FAILPOINT: String(failpoint),
          });
    const sales = (): string[] => service.matching({ department: "Sales" }).map(personKey).sort();
    const ids = (name: string): string[] => readCsv(me.read(name)).map(({ id = "" }) => id);
    const first = await me.run(["search", ...SEGMENT, "--yes", "-o", "list.csv"]);
    expect(first.code, first.stderr).toBe(0);
    for (const [at, each] of steps.entries()) {
      if (each.kind === "week") {
        service.options.people = crowd.week(service.options.people as Human[], each);
        service.options.version = `week ${at + 1}`;
      } else if (each.kind === "rebuild") {
        const { code, stderr } = await me.run(["owned", "rebuild"]);
        expect(code, stderr).toBe(0);
      } else {
        const argv = ARGV[each.kind] ?? [];
        const owned = new Set(service.sold.keys());
        const before = service.rowsSold();
        if (each.killedAt !== undefined) await run(argv, each.killedAt);
        const { code, stderr } = await run(argv);
        expect(code, `${JSON.stringify(each)}: ${stderr}`).toBe(0);
        const fresh = sales().filter((id) => !owned.has(id));
        const bought = service.rowsSold() - before;
        if (each.kind === "with-owned") expect(ids("all.csv").sort()).toEqual(sales());
        if (each.kind === "refresh") expect(ids("list.csv").sort()).toEqual(sales());
        // Who was owned before is paid again only beside somebody new, within what was said.
        if (each.kind !== "search")
          expect(bought).toBeLessThanOrEqual(Math.ceil(fresh.length * 1.25) + 5);
        if (each.kind !== "search")
          for (const id of fresh) expect([id, service.sold.get(id)]).toEqual([id, 1]);
      }
      const all = await me.run(asTyped`owned export -o owned.csv --overwrite --fields id`);
      expect(all.code, all.stderr).toBe(0);
      expect(ids("owned.csv").sort()).toEqual([...service.sold.keys()].sort());
    }
  } finally {
    await service.close();
  }
}

long(
  "any history of buys, refreshes, kills and weeks: what is owned is what was sold, and nobody new is paid twice",
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat(1_000),
        fc.array(step, { minLength: 3, maxLength: LONG ? 12 : 6 }),
        history,
      ),
      { numRuns: cases(4, 200), seed: LONG ? Date.now() & 0x7fffffff : 11, endOnFailure: true },
    );
  },
  14_400_000,
);

test("a first refresh that is killed between its files has them for its own when it is run again", async () => {
  await history(81, [
    { kind: "refresh", killedAt: 2 },
    { kind: "week", gone: 0.05, moved: 0, born: 0.05 },
    { kind: "refresh", killedAt: 3 },
  ]);
});
