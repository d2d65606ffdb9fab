import { existsSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { Person } from "../../src/shared/contract/records.ts";
import { asTyped } from "../support/as-typed.ts";
import { charged, type User } from "../support/export.ts";
import type { FaultProxy } from "../support/fault-proxy.ts";
import { shellWords } from "../support/hints.ts";
import { CREDITS, serveThroughProxy } from "../support/serving.ts";

let { service, proxy, u } = {} as {
  service: Parameters<typeof charged>[0];
  proxy: FaultProxy;
  u: User;
};
serveThroughProxy((now) => ({ service, proxy, u } = now));

const countOf = async (filters: object): Promise<number> =>
  (await service.call("/v1/person/count", { method: "POST", body: { filters } })).json.result
    .count as number;
const people = (count: number): string =>
  `${count.toLocaleString("en")} ${count === 1 ? "person" : "people"}`;
const LISTED = ["--department", "Sales", "--country", "USA", "--country", "germany"];
/** Of two countries, which counts the second alone, what is said. */
const said = async (): Promise<string> => {
  const states = await countOf({ country: "united states" });
  return `hint: --country USA matches nobody: --country "united states" counts ${people(states)} by itself\n`;
};

test("a value of several that matches nobody is named, with the likely one, wherever a segment is counted", async () => {
  const germany = await countOf({ department: "Sales", country: "germany" });
  expect(await u.run(["count", ...LISTED])).toEqual({
    code: 0,
    stdout: `${germany}\n`,
    stderr: await said(),
  });
  const told = await u.run(["count", ...LISTED, "--json"]);
  expect(JSON.parse(told.stderr)).toEqual({ notice: (await said()).trimEnd() });
  expect((await u.run(["count", ...LISTED, "--by", "seniority-level"])).stderr).toContain(
    await said(),
  );
  expect((await u.run(["count", ...LISTED, "--quiet"])).stderr).toBe("");
  const union = await u.run(["count", "-f", "-", "--union"], {
    stdin: '{"country": ["USA", "germany"]}',
  });
  expect(union.stderr).toContain("--country USA matches nobody");
});

test("beside other values too a value is known by its other name, and not taken for one that looks like it", async () => {
  const { stderr } = await u.run(asTyped`
    count --title ${"Head of Saless"} --country USA --country germany --country france
  `);
  expect(stderr).toMatch(
    /--country USA matches nobody: --country "united states" counts [\d,]+ people by itself/,
  );
  expect(stderr).not.toContain("cuba");
});

test("a typing mistake beside right values; values that are there are not named, however few have them", async () => {
  const near = await countOf({ country: "germany" });
  const typo = await u.run(["count", "--country", "germny", "--country", "france"]);
  expect(typo.stderr).toBe(
    `hint: --country germny matches nobody: --country germany counts ${people(near)}\n`,
  );
  const { result } = (
    await service.call("/v1/person/search", { body: { filters: {}, per_page: 100 } })
  ).json;
  let rare = "";
  for (const { city } of result as Person[])
    if (rare === "" && city !== null && city.length > 4 && (await countOf({ city })) <= 2)
      rare = city;
  expect(rare).not.toBe("");
  expect((await u.run(["count", "--city", rare, "--city", "paris"])).stderr).toBe("");
  // Whom few share is not told, so that a mistake in it finds no name.
  const mistaken = await u.run(["count", "--city", `${rare}x`, "--city", "paris"]);
  expect(mistaken.stderr).toBe(
    `hint: nobody matches --city ${/ /.test(rare) ? `"${rare}x"` : `${rare}x`}\n`,
  );
});

test("hints take ten free calls at most, and cost nothing", async () => {
  const before = await charged(service, CREDITS);
  const names = Array.from({ length: 40 }, (_, at) => ["--first-name", `nobody${at}`]).flat();
  for (const argv of [
    [...names, "--first-name", "anna"],
    [...names, "--title", "x", "--country", "USA", "--country", "atlantis"],
    [
      "--title",
      "x",
      "--city",
      "y",
      "--state",
      "z",
      "--industry",
      "q",
      "--country",
      "USA",
      "--first-name",
      "w",
    ],
  ]) {
    proxy.seen.length = 0;
    await u.ran(["count", ...argv]);
    expect(proxy.seen.length).toBeLessThanOrEqual(1 + 10);
  }
  // Our own service tells them in the reply that counts.
  proxy.seen.length = 0;
  await u.run(["count", "--country", "germany", "--country", "france", "--country", "spain"]);
  expect(proxy.seen.map(({ url }) => url)).toEqual(["/v1/person/count"]);
  expect(await charged(service, CREDITS)).toBe(before);
});

test("--strict ends with 5 where nobody matches, or one of several values", async () => {
  const strict = await u.run(["count", ...LISTED, "--strict"]);
  expect(strict).toMatchObject({ code: 5, stdout: expect.stringMatching(/^\d+\n$/) });
  expect(strict.stderr).toContain("error: nobody matches --country USA (--strict)\n");
  await u.ends(5, ["count", "--country", "atlantis", "--strict", "-q"]);
  expect(
    await u.run(["count", "--country", "germany", "--country", "france", "--strict"]),
  ).toMatchObject({
    code: 0,
    stderr: "",
  });
});

test("a search for nobody with --strict leaves the file that was there, and makes none", async () => {
  const nobody = asTyped`search --country atlantis --strict --yes --min-rows 0 --overwrite -o`;
  writeFileSync(u.file("kept.csv"), "mine\n");
  for (const name of ["kept.csv", "none.csv"]) {
    const { code, stderr } = await u.run([...nobody, name]);
    expect([code, stderr]).toEqual([5, expect.stringContaining("nobody matches (--strict)")]);
  }
  expect(u.read("kept.csv")).toBe("mine\n");
  expect(existsSync(u.file("none.csv"))).toBe(false);
});

test("a search says it before it asks and before it buys; --strict buys nothing", async () => {
  const before = await charged(service, CREDITS);
  const quote = await u.run(["search", ...LISTED, "--limit", "3", "--dry-run"]);
  expect(quote).toMatchObject({ code: 0, stderr: await said() });
  const strict = await u.run(asTyped`search ${LISTED} --limit 3 --max-credits 3 -o a.csv --strict`);
  expect(strict).toMatchObject({
    code: 5,
    stderr: expect.stringContaining("nobody matches --country USA (--strict)"),
  });
  expect([existsSync(u.file("a.csv")), await charged(service, CREDITS)]).toEqual([false, before]);
  const bought = await u.run(asTyped`search ${LISTED} --limit 3 --max-credits 3 -o a.csv`);
  expect(bought).toMatchObject({ code: 0, stderr: expect.stringContaining(await said()) });
  expect(bought.stderr.indexOf("hint:")).toBeLessThan(bought.stderr.indexOf("Exported"));
});

test.each(["Sales", "CTO", "vp", "usa", "sales in germany"])(
  "count %j has no flag: the hint, copied, counts somebody",
  async (text) => {
    const { stderr } = await u.ends(2, ["count", text]);
    const said = /values have flags: (.+); headcount help count/.exec(stderr)?.[1] ?? "";
    const counted = await u.run(["count", ...shellWords(said)]);
    expect(counted.code, said).toBe(0);
    expect(Number(counted.stdout), said).toBeGreaterThan(0);
  },
);

test("a flag that takes one value, given again: what the hint says makes the union", async () => {
  const { stderr } = await u.ends(
    2,
    ["count", "--title-prefix", "vice", "--title-prefix", "ch"],
    "error: --title-prefix takes one value, and has 2\n",
  );
  expect(stderr).not.toContain("request");

  const commands = [...stderr.matchAll(/headcount ((?:segment save|count)[^;)]+)/g)];
  expect(commands).toHaveLength(3);
  const ends = [];
  for (const [, words = ""] of commands) ends.push(await u.run(shellWords(words)));
  const each = [await countOf({ title_prefix: "vice" }), await countOf({ title_prefix: "ch" })];
  expect(ends.at(-1)).toMatchObject({ code: 0, stdout: `${(each[0] ?? 0) + (each[1] ?? 0)}\n` });
});
