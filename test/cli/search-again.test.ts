import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { asTyped } from "../support/as-typed.ts";
import { charged, readCsv, runIds } from "../support/export.ts";
import { CREDITS, type Serving, serveUsers } from "../support/serving.ts";

// The second time: what is there already is said, and a hint that is copied does what it says.

const SALES = ["search", "--department", "Sales", "--per-page", "20"];
let { service, u } = {} as Serving;
serveUsers((now) => ({ service, u } = now));

/** The command that a text names, to be run as it stands. */
function hinted(text: string, before: RegExp): string[] {
  const [, command = ""] =
    new RegExp(`${before.source}headcount ([^\\n;]+?)(?= buys| writes| tries|\\n|;|$)`).exec(
      text,
    ) ?? [];
  return command.split(" ");
}

test("a cap that was reached names the command that buys the rest, and that command does", async () => {
  const before = await charged(service, CREDITS);
  const capped = await u.run([...SALES, "--max-credits", "30", "-o", "a.csv"]);
  expect(capped.code).toBe(0);
  const rest = hinted(capped.stderr, /stopped at --max-credits; /);
  expect(rest[0]).toBe("resume");
  await u.ran(rest);
  const all = (await charged(service, CREDITS)) - before;
  expect(readCsv(u.read("a.csv")).length).toBe(all);
  expect(capped.stderr).toContain(`buys the other ${all - 30}`);
});

test("a limit that was reached does so too", async () => {
  const before = await charged(service, CREDITS);
  const limited = await u.run([...SALES, "--limit", "30", "--max-credits", "50", "-o", "a.csv"]);
  await u.ran(hinted(limited.stderr, /stopped at --limit; /));
  expect(readCsv(u.read("a.csv")).length).toBe((await charged(service, CREDITS)) - before);
});

test("a finished run that holds the same rows is written, and nothing is bought; --again buys", async () => {
  await u.ran([...SALES, "--max-credits", "18", "-o", "a.csv"]);
  const [id = ""] = runIds(u);
  const before = await charged(service, CREDITS);
  const quote = await u.run([...SALES, "--limit", "18", "--dry-run", "--json"]);
  expect(JSON.parse(quote.stdout)).toMatchObject({
    rows: 18,
    kept: 18,
    credits: 0,
    reuse: { run: id, rows: 18 },
  });
  // Nothing is spent, so nobody is asked.
  await u.ends(
    0,
    [...SALES, "--limit", "18", "-o", "b.csv", "--receipt", "r.json"],
    `notice: run ${id} of `,
  );
  expect(u.read("b.csv")).toBe(u.read("a.csv"));
  expect(JSON.parse(u.read("r.json"))).toMatchObject({
    received: 18,
    reused: 18,
    credits: 0,
    complete: false,
  });
  // What it wrote is a run of its own.
  await u.ran(["runs", "export", "last", "-o", "c.csv"]);
  expect(u.read("c.csv")).toBe(u.read("a.csv"));
  // Fewer of them: the first ones.
  await u.ran([...SALES, "--limit", "7", "-o", "few.csv"]);
  expect(readCsv(u.read("few.csv"))).toEqual(readCsv(u.read("a.csv")).slice(0, 7));
  expect(await charged(service, CREDITS)).toBe(before);
  // In the middle of a page, and more than that of it afterwards.
  const paged = asTyped`search --department Sales --per-page 5 --limit 13 -o cut.csv`;
  await u.ran(paged);
  expect(readCsv(u.read("cut.csv"))).toEqual(readCsv(u.read("a.csv")).slice(0, 13));
  expect(await charged(service, CREDITS)).toBe(before);
  // More of the same: only the rest has to be bought.
  const more = [...SALES, "--limit", "25", "-o", "more.csv"];
  expect((await u.run(more)).stderr).toContain("this buys up to 7 profiles for 7 credits");
  await u.ran([...more, "--yes"]);
  expect(new Set(readCsv(u.read("more.csv")).map(({ id }) => id)).size).toBe(25);
  expect(await charged(service, CREDITS)).toBe(before + 7);
  // What was paid for once is not counted as bought again.
  expect((await u.run(["owned", "--json"])).stdout).toContain('"credits_for_repeated":0');
  await u.ran([...SALES, "--limit", "25", "--again", "--yes", "-o", "anew.csv"]);
  expect(await charged(service, CREDITS)).toBe(before + 7 + 25);
});

test("what a finished run holds is not bought with the rest of one that --again began and that is not finished", async () => {
  const whole = [...SALES, "--yes"];
  await u.ran([...whole, "-o", "a.csv"]);
  await u.ends(5, [...whole, "--again", "--limit", "5", "--require-complete", "-o", "b.csv"]);
  const before = await charged(service, CREDITS);
  const quote = await u.run([...whole, "--dry-run", "--json", "-o", "b.csv"]);
  expect(JSON.parse(quote.stdout)).toMatchObject({ credits: 0, paid_again: 0 });
  await u.ran([...whole, "-o", "b.csv"]);
  expect(u.read("b.csv")).toBe(u.read("a.csv"));
  expect(await charged(service, CREDITS)).toBe(before);
});

test("a higher cap pays for the rest alone where nobody counts beforehand, too: people of a company by its domain", async () => {
  await u.ends(0, [...SALES, "--limit", "60", "--yes", "-o", "own.csv"]);
  const domains = readCsv(u.read("own.csv")).flatMap(({ company_domain: domain }) => domain || []);
  const employees = ["employees", ...new Set(domains.slice(0, 2)), "--per-page", "2"];
  const before = await charged(service, CREDITS);
  const paid = async () => (await charged(service, CREDITS)) - before;
  await u.ends(0, [...employees, "--max-credits", "3", "-o", "a.csv"]);
  // The same again, another cap, and then more than there is.
  const again = await u.run([...employees, "--max-credits", "3", "-o", "again.csv"]);
  expect(again.stderr).toMatch(
    /nothing was bought; there may be more: headcount resume \S+ --max-credits 3 buys up to 3/,
  );
  await u.ran([...employees, "--max-credits", "2", "-o", "less.csv"]);
  const rows = (name: string) => readCsv(u.read(name)).length;
  expect([rows("again.csv"), rows("less.csv"), await paid()]).toEqual([3, 5, 5]);
  for (const name of ["b.csv", "c.csv"]) {
    const ran = await u.ran([...employees, "--max-credits", "900", "-o", name]);
    expect([readCsv(u.read(name)).length, ran.stderr]).toEqual([
      await paid(),
      expect.stringContaining("not paid for"),
    ]);
  }
});

test("where a seeded sample is wanted larger than its cap let it be, only the rest is paid for", async () => {
  const sample = asTyped`search --department Sales --per-page 5 --sample 20 --seed 7`;
  await u.ran([...sample, "--max-credits", "10", "-o", "a.csv"]);
  const more = await u.run([...sample, "--max-credits", "20", "-o", "b.csv"]);
  expect(more.stderr).toContain("by chance (--seed 7) for 10 credits to b.csv");
});

test("going on says what is kept and what is to be bought; the hint for consent counts as the flag does", async () => {
  await u.run([...SALES, "--max-credits", "60", "--require-complete", "-o", "a.csv"]);
  const before = await charged(service, CREDITS);
  const asked = await u.ends(
    2,
    [...SALES, "--limit", "100", "-o", "a.csv"],
    /continuing run \S+: 60 rows are paid for and not bought again, 40 to buy for 40 credits/,
  );
  await u.ran(hinted(asked.stderr, /hint: /));
  expect(readCsv(u.read("a.csv")).length).toBe(100);
  await u.run([...SALES, "--again", "--max-credits", "60", "--require-complete", "-o", "b.csv"]);
  const resumed = await u.run(["resume", "--limit", "70"]);
  // Its own cap of 60 still holds, and so does what was asked for: all of it, or no file.
  expect([resumed.code, resumed.stderr]).toEqual([
    5,
    expect.stringContaining("not complete: 70 of "),
  ]);
  const more = await u.run([
    "resume",
    runIds(u).at(-1) ?? "",
    "--limit",
    "70",
    "--max-credits",
    "70",
  ]);
  expect([more.code, existsSync(u.file("b.csv"))]).toEqual([5, false]);
  await u.ran(["runs", "export", "last", "-o", "b.csv"]);
  expect(readCsv(u.read("b.csv")).length).toBe(70);
  // The ten behind its own sixty are in the first run.
  expect((await charged(service, CREDITS)) - before).toBe(40 + 60);
});

test("a cap bounds no rows that cost none, and a command with --max-credits 0 that an agent is told writes them", async () => {
  await u.ends(0, [...SALES, "--limit", "18", "--yes", "-o", "a.csv"]);
  const before = await charged(service, CREDITS);
  for (const cap of ["3", "0"]) {
    const ran = await u.ran(asTyped`${SALES} --limit 9 --max-credits ${cap} -o cap-${cap}.csv`);
    expect(readCsv(u.read(`cap-${cap}.csv`))).toEqual(readCsv(u.read("a.csv")).slice(0, 9));
    // The run that wrote them would pay for the others, whom the earlier one holds.
    expect(ran.stderr).toContain(
      "stopped at --limit; the same command with a higher --limit and --overwrite goes on\n",
    );
  }
  const copied = asTyped`${SALES} --limit 12 --max-credits 3 -o cap-3.csv --overwrite`;
  await u.ran(copied);
  expect(readCsv(u.read("cap-3.csv"))).toHaveLength(12);
  await u.ran([...SALES, "--limit", "18", "--max-credits", "0", "-o", "more.csv"]);
  expect(u.read("more.csv")).toBe(u.read("a.csv"));
  expect(await charged(service, CREDITS)).toBe(before);
  await u.ends(4, [...SALES, "--limit", "19", "--max-credits", "0", "--again", "-o", "b.csv"]);
});

test("a limit that the run itself has is raised by the command that is named, also where all of it was wanted", async () => {
  await u.run([...SALES, "--limit", "30", "--max-credits", "50", "-o", "a.csv"]);
  const [id = ""] = runIds(u);
  const same = await u.run(["resume", id]);
  expect(same.stderr).toContain("nothing to buy");
  const before = await charged(service, CREDITS);
  await u.ran(hinted(same.stderr, /stopped at --limit; /));
  const all = readCsv(u.read("a.csv")).length;
  expect(all - 30).toBe((await charged(service, CREDITS)) - before);
  expect(all).toBeGreaterThan(30);
  const short = await u.ends(
    5,
    asTyped`${SALES} --again --limit 5 --yes --require-complete -o b.csv`,
  );
  await u.ran(hinted(short.stderr, /at 0 credits; /));
  expect(readCsv(u.read("b.csv"))).toHaveLength(all);
});

test("after somebody was forgotten each door tells how many of the paid rows are left", async () => {
  const buy = [...SALES, "--limit", "18", "--yes"];
  await u.ran([...buy, "-o", "a.csv"]);
  const [id = ""] = runIds(u);
  await u.ends(0, ["forget", readCsv(u.read("a.csv"))[2]?.id ?? "", "--yes"]);
  const again = await u.run([...buy, "-o", "b.csv", "--receipt", "r.json"]);
  expect(again.stderr).toMatch(
    /notice: run \S+ of .* held these 18 rows already, and 1 of its 18 forgotten since: not paid/,
  );
  expect(again.stderr).toContain("Exported 17 of ");
  expect(again.stderr).toContain(
    "notice: 18 profiles bought before, 1 of them forgotten since, and not paid for again",
  );
  expect(JSON.parse(u.read("r.json"))).toMatchObject({
    received: 18,
    distinct: 17,
    reused: 18,
    forgotten: 1,
  });
  for (const run of [id, "last"]) {
    const shown = await u.run(["runs", "show", run, "--no-color"], { tty: true });
    expect(shown.stdout).toMatch(/^why no more +stopped at the limit: .*; 1 forgotten/m);
    const written = await u.run(["runs", "export", run, "-o", "c.csv", "--overwrite"]);
    expect(written.stderr).toContain("Wrote 17 profiles of run ");
  }
  const refreshed = await u.run(["refresh", "a.csv", "--yes"]);
  expect(refreshed.stderr).toContain("a.csv: 17 people, 0 added, 0 removed,");
});

test("going on takes what other finished runs hold: the limit's hint after --require-complete costs nothing where they have it", async () => {
  const whole = [...SALES, "--yes"];
  await u.ran([...whole, "--limit", "47", "-o", "a.csv"]);
  const before = await charged(service, CREDITS);
  const held = await u.ends(5, [...whole, "--limit", "18", "--require-complete", "-o", "b.csv"]);
  const paid = await u.run(asTyped`${whole} --again --limit 18 --require-complete -o c.csv`);
  expect(await charged(service, CREDITS)).toBe(before + 18);
  // In the middle of a page of the other run, and by no more than the limit.
  for (const [name, { stderr }] of Object.entries({ b: held, c: paid })) {
    const [, run = ""] = /headcount resume (\S+) --limit/.exec(stderr) ?? [];
    const quoted = await u.run(asTyped`${whole} --limit 30 --dry-run --json -o ${name}.csv`);
    expect(JSON.parse(quoted.stdout)).toMatchObject({ rows: 30, kept: 30, credits: 0 });
    await u.ends(5, ["resume", run, "--limit", "30"]);
    await u.ran([...whole, "--limit", "30", "-o", `${name}.csv`]);
    expect(readCsv(u.read(`${name}.csv`))).toEqual(readCsv(u.read("a.csv")).slice(0, 30));
  }
  expect(await charged(service, CREDITS)).toBe(before + 18);
  // What the other does not hold is all that is paid for.
  const more = await u.run(asTyped`resume last --limit 50 --max-credits 50 --overwrite`);
  expect([more.code, more.stderr]).toEqual([
    5,
    expect.stringContaining("50 of 50 rows are paid for"),
  ]);
  expect(await charged(service, CREDITS)).toBe(before + 18 + 3);
});

test("a run knows its file also after a resume that fell short, and a cap below what is spent takes nothing more", async () => {
  await u.ends(0, [...SALES, "--limit", "12", "--yes", "-o", "a.csv"]);
  const resume = (...more: string[]) => u.run(["resume", "last", ...more]);
  const short = await resume("--limit", "15", "--max-credits", "15", "--require-complete");
  expect([short.code, short.stderr]).toEqual([5, expect.stringContaining("not complete: 15 of ")]);
  const lower = await resume("--max-credits", "4", "--limit", "15");
  expect(lower.code, lower.stderr).toBe(0);
  expect(lower.stderr).not.toContain("took more than it told");
  expect(readCsv(u.read("a.csv"))).toHaveLength(15);
});

test("what is held counts for nothing in a cap; the same command again is the same purchase", async () => {
  const capped = async (cap: number) => {
    const before = await charged(service, CREDITS);
    const ran = await u.ran([...SALES, "--max-credits", `${cap}`, "-o", "a.csv", "--overwrite"]);
    return {
      ...ran,
      rows: readCsv(u.read("a.csv")).length,
      paid: (await charged(service, CREDITS)) - before,
    };
  };
  await u.run([...SALES, "--limit", "12", "--yes", "-o", "own.csv"]);

  // Below what is held, as much, and above it.
  expect(await capped(11)).toMatchObject({ rows: 12 + 11, paid: 11 });
  expect(await capped(23)).toMatchObject({ rows: 46, paid: 23 });
  expect(await capped(0)).toMatchObject({ rows: 46, paid: 0 });

  // Also where another one was given in between.
  const again = await capped(11);
  expect(again).toMatchObject({ rows: 46, paid: 0 });
  expect(again.stderr).not.toContain("stopped at --max-credits");
  const before = await charged(service, CREDITS);
  await u.ran(hinted(again.stderr, /nothing was bought; /));
  expect(readCsv(u.read("a.csv")).length).toBe(46 + (await charged(service, CREDITS)) - before);
});

test("of several companies those that finished runs hold are not paid for again", async () => {
  await u.ends(0, [...SALES, "--limit", "60", "--yes", "-o", "own.csv"]);
  const domains = new Set(
    readCsv(u.read("own.csv")).flatMap(({ company_domain: domain }) => domain || []),
  );
  const [one = "", two = ""] = domains;
  const buy = (file: string, ...of: string[]) =>
    u.run(["employees", ...of, "--max-credits", "900", "-o", file]);
  const before = await charged(service, CREDITS);
  for (const [file, of] of Object.entries({ "1.csv": one, "2.csv": two })) {
    expect(await buy(file, of)).toMatchObject({ code: 0 });
  }
  const paid = await charged(service, CREDITS);
  const both = await buy("3.csv", "nosuch.example", two, one);
  expect(both.code, both.stderr).toBe(0);
  expect(both.stderr).toContain("not paid for again");
  expect(readCsv(u.read("3.csv"))).toEqual([
    ...readCsv(u.read("2.csv")),
    ...readCsv(u.read("1.csv")),
  ]);
  expect([await charged(service, CREDITS), paid - before]).toEqual([
    paid,
    readCsv(u.read("3.csv")).length,
  ]);
});
