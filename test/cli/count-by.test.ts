import { writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Person } from "../../src/shared/contract/records.ts";
import { asTyped } from "../support/as-typed.ts";
import { user } from "../support/export.ts";
import { type FaultProxy, faultProxy } from "../support/fault-proxy.ts";
import { noticesIn } from "../support/notices.ts";
import { startTestService, type TestService } from "../support/service.ts";

let service: TestService;
/** The same service as one that lists no values. */
let silent: FaultProxy;
let everybody: readonly Person[];

beforeAll(async () => {
  service = await startTestService({
    people: 2_000,
    credits: 100_000,
  });
  silent = await faultProxy({
    target: service.url,
    decide: ({ url }) =>
      url.startsWith("/facets") ? { kind: "error", status: 404 } : { kind: "none" },
  });
  const pages = [1, 2].map(async (page) => {
    const reply = await service.call("/v1/person/search", {
      body: { filters: {}, per_page: 1_000, page },
    });
    return reply.json.result as Person[];
  });
  everybody = (await Promise.all(pages)).flat();
});
afterAll(async () => {
  await silent.close();
  await service.close();
});

const someone = (): ReturnType<typeof user> => user(service.url, service.key);
const stranger = (): ReturnType<typeof user> => user(silent.url, service.key);
const having = (wanted: Partial<Record<keyof Person, string>>): number =>
  everybody.filter((one) =>
    Object.entries(wanted).every(
      ([key, value]) =>
        String(one[key as keyof Person] ?? "").toLowerCase() === value.toLowerCase(),
    ),
  ).length;

describe("--by", () => {
  test("values are said with their key", async () => {
    const u = someone();
    writeFileSync(u.file("c.txt"), "france\ngermany\n");
    const { parts } = await u.json(["count", "--by", "Country=@c.txt", "--json"]);
    expect(parts.map(({ value }: { value: string }) => value).sort()).toEqual([
      "france",
      "germany",
    ]);
    for (const { value, count } of parts) expect(count).toBe(having({ country: value }));
  });

  test.each([
    [["--by", "department", "--by", "department"], "--by takes one key"],
    [["--by", "department", "--by", "country"], "a value of one as a filter"],
    [["--by", "department", "--by", "seniority-level", "--owned"], "--by takes one key"],
    [["--top", "3"], "--top goes with --by"],
    [["--by", "country=@none.txt"], "there is no such file"],
  ])("%j is refused", async (more, message) => {
    const { code, stdout, stderr } = await someone().run(["count", ...more]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(message);
  });
});

describe("values that the service lists", () => {
  test("one call: the most frequent with exact counts, who has another and who has none", async () => {
    const { code, stdout, stderr } = await someone().run(
      asTyped`count --by country --top 3 --json --verbose`,
    );
    const found = JSON.parse(stdout);
    expect(code).toBe(0);
    expect(found.parts).toHaveLength(3);
    for (const { value, count } of found.parts)
      expect(count, value).toBe(having({ country: value }));
    expect(found.missing).toBe(everybody.filter(({ country }) => !country).length);
    expect(found.others + found.missing).toBe(found.unexplained);
    expect(found.unexplained).toBe(
      2_000 - found.parts.reduce((sum: number, part: { count: number }) => sum + part.count, 0),
    );
    expect(noticesIn(stderr).match(/^POST \S+/gm)).toEqual(["POST /facets"]);
  });

  test("on a terminal what is another and what is none are lines of their own; CSV says it beside", async () => {
    const argv = ["count", "--by", "country", "--top", "2"];
    const shown = await someone().run(argv, {
      tty: { stdout: true },
      columns: 80,
      env: { NO_COLOR: "1" },
    });
    expect(shown.stdout).toMatch(/^\(another\) +[\d,]+/m);
    expect(shown.stdout).toMatch(/^\(none\) +[\d,]+/m);
    expect((await someone().run(argv)).stderr).toMatch(
      /^[\d,]+ of 2,000 have another country, [\d,]+ none\n$/,
    );
  });

  test("filters KEY --prefix: those that begin so, in any case; the nearest where none does", async () => {
    const u = someone();
    const { stdout } = await u.run(["filters", "country", "--prefix", "UNI"]);
    const [head, ...rows] = stdout
      .trim()
      .split("\n")
      .map((line) => line.split(","));
    expect(head).toEqual(["country", "count"]);
    expect(rows.length).toBeGreaterThan(1);
    for (const [value = "", count] of rows) {
      expect(value.startsWith("uni")).toBe(true);
      expect(Number(count)).toBe(having({ country: value }));
    }
    const none = await u.run(["filters", "country", "--prefix", "germny"]);
    expect(none).toMatchObject({
      code: 0,
      stdout: "country,count\n",
      stderr: 'no country begins with "germny" (did you mean "germany"?)\n',
    });
    expect(await u.json(["filters", "industry", "--top", "2", "--json"])).toMatchObject({
      key: "industry",
      prefix: null,
      from: "service",
      values: [{}, {}],
    });
  });

  test("a count of nobody and a search of nobody name the value that is near", async () => {
    const u = someone();
    const near = `hint: --country germany counts ${having({ country: "germany" })} people\n`;
    expect((await u.run(["count", "--country", "germny"])).stderr).toBe(near);
    expect((await u.run(["search", "--country", "germny", "--dry-run"])).stderr).toBe(near);
  });

  test("the shells are told them, from the service or what is owned, and nothing where neither tells", async () => {
    const complete = ["completion", "--words"];
    const stdin = "count\n--country\nger\n";
    const told = await someone().run(complete, { stdin });
    expect(told.stdout).toBe(`words\t\ngermany\t${having({ country: "germany" })}\n`);
    const u = stranger();
    expect(await u.run(complete, { stdin })).toEqual({ code: 0, stdout: "words\t\n", stderr: "" });
    await u.run(["search", "--country", "germany", "--limit", "3", "--yes", "-o", "g.csv"]);
    expect((await u.run(complete, { stdin })).stdout).toBe("words\t\ngermany\t3\n");
    // Nor is a key needed for that.
    const keyless = await u.run(complete, { env: { HEADCOUNT_API_KEY: "" }, stdin });
    expect(keyless).toEqual({ code: 0, stdout: "words\t\ngermany\t3\n", stderr: "" });
  });

  test("segments are taken apart by them where a stranger's cannot be", async () => {
    // A first and a last name that share somebody: everybody of the last one has a first name that is listed, as three or more have it.
    const times = (key: "first_name" | "last_name", value: string | null | undefined): number =>
      everybody.filter((one) => one[key] === value).length;
    const pair = everybody.find(
      ({ first_name, last_name }) =>
        Boolean(first_name && last_name) &&
        everybody
          .filter((one) => one.last_name === last_name)
          .every((one) => times("first_name", one.first_name) >= 3) &&
        times("last_name", last_name) > 1,
    );
    const quoteOf = async (
      u: ReturnType<typeof user>,
    ): Promise<{ matches: number; overlap: number }> => {
      writeFileSync(u.file("a.json"), JSON.stringify({ first_name: pair?.first_name }));
      writeFileSync(u.file("b.json"), JSON.stringify({ last_name: pair?.last_name }));
      return await u.json(["search", "-f", "a.json", "-f", "b.json", "--dry-run", "--json"]);
    };
    const either = everybody.filter(
      (one) => one.first_name === pair?.first_name || one.last_name === pair?.last_name,
    ).length;
    const both = having({ first_name: pair?.first_name ?? "", last_name: pair?.last_name ?? "" });
    expect(await quoteOf(someone())).toMatchObject({ matches: either, overlap: 0 });
    expect(await quoteOf(stranger())).toMatchObject({ matches: either + both, overlap: both });
  });
});

describe("values that the service does not list", () => {
  test("are those that are owned, counted exactly in the segment, with what they leave", async () => {
    const u = stranger();
    await u.ends(
      2,
      ["count", "--by", "country"],
      /needs values: neither the service nor what you own.*\nhint: .*@FILE/,
    );
    await u.run(["search", "--country", "france", "--country", "germany", "--yes", "-o", "x.csv"]);
    await u.run(["search", "--country", "spain", "--limit", "1", "--yes", "-o", "y.csv"]);
    const { code, stdout, stderr } = await u.run(["count", "--by", "country"]);
    const parts = ["france", "germany", "spain"].map(
      (country) => [country, having({ country })] as const,
    );
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: `country,count\n${parts
        .toSorted((a, b) => b[1] - a[1])
        .map(([value, count]) => `${value},${count}\n`)
        .join("")}`,
    });
    expect(stderr).toContain("counted are the 3 most frequent values among who you own");
    const rest = 2_000 - parts.reduce((sum, [, count]) => sum + count, 0);
    expect(stderr).toContain(`${rest.toLocaleString("en")} of 2,000 have another country or none`);
  });

  test("may come from a file, and --top shows the largest of them", async () => {
    const u = stranger();
    writeFileSync(u.file("countries.txt"), "france\nGermany\nspain\natlantis\n");
    const argv = ["count", "--by", "country=@countries.txt"];
    const parts = (await u.json([...argv, "--json"])).parts as {
      value: string;
      count: number;
    }[];
    expect(parts.map(({ value }) => value).sort()).toEqual([
      "Germany",
      "atlantis",
      "france",
      "spain",
    ]);
    for (const { value, count } of parts) expect(count, value).toBe(having({ country: value }));
    const top = await u.json([...argv, "--top", "2", "--json"]);
    expect(top.parts).toEqual(parts.slice(0, 2));
    expect(top.unexplained).toBe(
      2_000 - parts.slice(0, 2).reduce((sum, { count }) => sum + count, 0),
    );
  });
});
