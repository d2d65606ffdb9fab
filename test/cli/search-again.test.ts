import { expect, test } from "vitest";
import { charged, readCsv, runIds } from "../support/export.ts";
import { CREDITS, type Serving, serveUsers } from "../support/serving.ts";

// The second time: what is there already is said, and a hint that is copied does what it says.

const SALES = ["search", "--department", "Sales", "--per-page", "20"];
let { service, u } = {} as Serving;
serveUsers((now) => ({ service, u } = now));

/** The command that a text names, to be run as it stands. */
function hinted(text: string, before: RegExp): string[] {
  const [, command = ""] =
    new RegExp(`${before.source}headcount ([^\\n;]+?)(?= buys| writes|\\n|;|$)`).exec(text) ?? [];
  return command.split(" ");
}

test("a cap that was reached names the command that buys the rest, and that command does", async () => {
  const before = await charged(service, CREDITS);
  const capped = await u.run([...SALES, "--max-credits", "30", "-o", "a.csv"]);
  expect(capped.code).toBe(0);
  const rest = hinted(capped.stderr, /stopped at --max-credits; /);
  expect(rest[0]).toBe("resume");
  expect(await u.run(rest)).toMatchObject({ code: 0 });
  const all = (await charged(service, CREDITS)) - before;
  expect(readCsv(u.read("a.csv")).length).toBe(all);
  expect(capped.stderr).toContain(`buys the other ${all - 30}`);
});

test("a limit that was reached does so too", async () => {
  const before = await charged(service, CREDITS);
  const limited = await u.run([...SALES, "--limit", "30", "--max-credits", "50", "-o", "a.csv"]);
  expect(await u.run(hinted(limited.stderr, /stopped at --limit; /))).toMatchObject({ code: 0 });
  expect(readCsv(u.read("a.csv")).length).toBe((await charged(service, CREDITS)) - before);
});

test("a finished run that holds the same rows is named before anything is bought", async () => {
  expect(await u.run([...SALES, "--max-credits", "18", "-o", "a.csv"])).toMatchObject({ code: 0 });
  const [id = ""] = runIds(u);
  const before = await charged(service, CREDITS);
  const again = await u.run([...SALES, "--limit", "18", "-o", "b.csv"]);
  expect(again).toMatchObject({ code: 2, stderr: expect.stringContaining(`notice: run ${id} of `) });
  const writes = hinted(again.stderr, /rows already: /);
  expect(writes).toEqual(["runs", "export", id]);
  expect(await u.run([...writes, "-o", "c.csv"])).toMatchObject({ code: 0 });
  expect(readCsv(u.read("c.csv")).length).toBe(18);
  expect(await charged(service, CREDITS)).toBe(before);
  // More of the same into the same file: only the rest has to be bought.
  const more = await u.run([...SALES, "--limit", "25", "-o", "a.csv", "--overwrite"]);
  expect(more.stderr).toContain("holds 18 of these 25 rows");
  expect(await u.run(hinted(more.stderr, /of these 25 rows: /))).toMatchObject({ code: 0 });
  expect(readCsv(u.read("a.csv")).length).toBe(25);
  expect(await charged(service, CREDITS)).toBe(before + 7);
});

test("going on says what is kept and what is to be bought; the hint for consent counts as the flag does", async () => {
  await u.run([...SALES, "--max-credits", "60", "--require-complete", "-o", "a.csv"]);
  const before = await charged(service, CREDITS);
  const asked = await u.run([...SALES, "--limit", "100", "-o", "a.csv"]);
  expect(asked.code).toBe(2);
  expect(asked.stderr).toMatch(/continuing run \S+: 60 rows are kept and not bought again, 40 to buy for 40 credits/);
  expect(await u.run(hinted(asked.stderr, /hint: /))).toMatchObject({ code: 0 });
  expect(readCsv(u.read("a.csv")).length).toBe(100);
  await u.run([...SALES, "--max-credits", "60", "--require-complete", "-o", "b.csv"]);
  const resumed = await u.run(["resume", "--limit", "70"]);
  // Its own cap of 60 still holds, and no more than that was wanted.
  expect(resumed.code).toBe(0);
  const more = await u.run(["resume", runIds(u).at(-1) ?? "", "--limit", "70", "--max-credits", "70"]);
  expect(more.code, more.stderr).toBe(0);
  expect(readCsv(u.read("b.csv")).length).toBe(70);
  expect((await charged(service, CREDITS)) - before).toBe(40 + 70);
});
