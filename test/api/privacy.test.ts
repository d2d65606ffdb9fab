import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { asTyped } from "../support/as-typed.ts";
import { readCsv } from "../support/export.ts";
import { connected, failureOf } from "../support/program.ts";
import { type Serving, serveUsers } from "../support/serving.ts";

let { u } = {} as Serving;
serveUsers((now) => ({ u } = now));

const LEGAL = { department: "Legal" };

test("a program forgets whom the command bought: told first, then gone from runs and files", async () => {
  const hc = await connected(u);
  await u.ran(asTyped`search --department Legal --max-credits 5 -o l.csv`);
  const [{ id = "" } = {}] = readCsv(u.read("l.csv"));

  expect(await failureOf(hc.forget(id, {} as { confirmed: true }))).toMatchObject({
    category: "usage",
    code: "consent_needed",
  });
  const there = await hc.forget(id, { dryRun: true });
  expect(there).toMatchObject({ runs: [{ rows: 1, removed: false }], owned: 1, mentions: [] });
  expect(there.outputs).toEqual([{ path: u.file("l.csv"), how: "again" }]);
  expect(u.read("l.csv")).toContain(id);
  expect(await hc.owned.count(LEGAL)).toBe(5);

  const { stdout } = await u.run(["forget", id, "--dry-run", "--json"]);
  expect(JSON.parse(stdout)).toEqual({ would_forget: there });
  expect(await hc.forget(id, { confirmed: true })).toEqual(there);
  expect(readFileSync(u.file("l.csv"), "utf8")).not.toContain(id);
  expect(await hc.owned.summary()).toMatchObject({ people: 4, forgotten: 1 });
  expect(await failureOf(hc.forget("nobody-of-ours", { confirmed: true }))).toMatchObject({
    category: "not_found",
    code: "nobody_kept",
  });
});

test("who is suppressed by a program is shown by nobody, once on the list", async () => {
  const hc = await connected(u);
  await hc.buy({ filters: LEGAL }, { maxCredits: 3 }).receipt;
  const ids: string[] = [];
  for await (const { id } of hc.owned.rows(LEGAL)) ids.push(`${id}`);
  const [first = ""] = ids;

  expect(await hc.suppress(first, "objected, ticket 118")).toEqual({ added: 1, hidden: 1 });
  expect(await hc.suppress(first)).toMatchObject({ added: 0 });
  expect(await hc.owned.summary()).toMatchObject({ people: 2, suppressed: 1 });
  await u.ran(["suppress", "check", first]);
  expect(await failureOf(hc.suppress(first, "two\nlines"))).toMatchObject({ category: "usage" });
  expect(await failureOf(hc.suppress("two words"))).toMatchObject({ category: "not_found" });
});
