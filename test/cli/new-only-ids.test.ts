import { expect, onTestFinished, test } from "vitest";
import { readCsv, seeded, user } from "../support/export.ts";
import { Crowd, startPeopleService } from "../support/people-service.ts";

// Namesakes without addresses: no filter names an id, so nothing tells an owned one of them from a new one, and it is said.

async function namesakes(names: number, share: number) {
  const crowd = new Crowd(seeded(4), share);
  const people = Array.from({ length: 60 }, (_, n) =>
    crowd.born({ department: "Sales", name: `Ann ${(n * n + n) % names}` }),
  );
  const service = await startPeopleService({ people });
  onTestFinished(() => service.close());
  const me = user(service.url, service.key);
  const run = (text: string) =>
    me.run(
      text
        .replaceAll("'ann ", "'ann_")
        .split(" ")
        .map((word) => word.replaceAll("'", "").replace("ann_", "ann ")),
    );
  const first = await run("search --department Sales --yes --limit 40 -o a.csv");
  expect(first.code, first.stderr).toBe(0);
  return { service, run, ids: (name: string) => readCsv(me.read(name)).map(({ id = "" }) => id) };
}

test.each([
  [40, 1],
  [23, 1],
])(
  "of %i names: no more are bought again than was agreed to, and each hint does what it says",
  async (names, share) => {
    const { service, run, ids } = await namesakes(names, share);
    const quoted = await run("search --department Sales --new-only --dry-run --json");
    const { new: fresh, max_credits: most } = JSON.parse(quoted.stdout).new_only;
    expect(fresh).toBe(20);

    const ran = await run("search --department Sales --new-only --yes -o b.csv");
    expect(ran.code, ran.stderr).toBe(5);
    expect(ran.stderr).not.toContain("the dataset moved");
    const left = Number(/error: (\d+) new people were not bought/.exec(ran.stderr)?.[1]);
    const again = service.rowsSold() - 40 - (fresh - left);
    expect(again).toBeLessThanOrEqual(most - fresh);
    expect(again).toBeGreaterThanOrEqual(0);

    // Each of its commands costs what it says, and together they bring everybody else.
    const lines = [...ran.stderr.matchAll(/headcount (search .* --max-credits (\d+) -o (\S+))/g)];
    const found = new Set(ids("a.csv"));
    expect((await run("runs export last -o b.csv")).code).toBe(0);
    for (const id of ids("b.csv")) found.add(id);
    for (const [, line = "", cap, file = ""] of lines) {
      const before = service.rowsSold();
      const other = await run(line);
      expect(other.code, other.stderr).toBe(0);
      expect(service.rowsSold() - before).toBeLessThanOrEqual(Number(cap));
      for (const id of ids(file)) found.add(id);
    }
    expect(found.size).toBe(60);
  },
);

test("where counts contradict each other the records say who is paid for again, and no way around that is refused", async () => {
  const crowd = new Crowd(seeded(4), 0);
  const people = Array.from({ length: 60 }, () => crowd.born({ department: "Sales" }));
  const service = await startPeopleService({ people });
  onTestFinished(() => service.close());
  const me = user(service.url, service.key);
  await me.ran(["search", "--country", "germany", "--yes", "-o", "a.csv"]);

  const owned = readCsv(me.read("a.csv")).length;
  service.options.rough = (count) => count + 7;
  const search = ["search", "--department", "Sales"];
  const quoted = await me.run([...search, "--dry-run", "--json"]);
  expect(JSON.parse(quoted.stdout)).toMatchObject({
    matches: 67,
    owned,
    owned_exact: false,
    paid_again: owned,
  });

  const ran = await me.run([...search, "--max-credits", "70", "--yes", "-o", "b.csv"]);
  expect(ran.stderr).toContain(
    `warning: about ${owned} of the 67 to buy are yours already by your records and would be ` +
      "paid for again; no count tells who the others are",
  );
  await me.ends(8, [...search, "--new-only", "--yes", "-o", "c.csv"]);
});
