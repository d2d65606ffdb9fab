import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { main } from "../../src/cli/main.ts";
import { asTyped } from "../support/as-typed.ts";
import { type TestContextOptions, testContext } from "../support/client.ts";
import { noticesIn } from "../support/notices.ts";
import { testService } from "../support/serving.ts";

const service = testService({ people: 2000, credits: 100 });
let sales = 0;
let all = 0;

beforeAll(async () => {
  sales = await countOf({ department: "Sales" });
  all = await countOf({});
});

async function countOf(filters: object): Promise<number> {
  return (await service.call("/v1/person/count", { method: "POST", body: { filters } })).json.result
    .count as number;
}

async function run(
  argv: readonly string[],
  options: TestContextOptions & { files?: Record<string, string> } = {},
) {
  const { env, files, ...others } = options;
  const tested = testContext({
    ...others,
    env: { HEADCOUNT_API_KEY: service.key, ...env },
  });
  for (const [name, text] of Object.entries(files ?? {}))
    writeFileSync(join(tested.context.cwd, name), text);
  const whole = [...argv, "--base-url", service.url];
  const code = await main(whole, { ...tested.context, argv: whole });
  return { code, stdout: tested.stdout(), stderr: tested.stderr() };
}

describe("count", () => {
  test("a pipe gets the bare number and nothing else", async () => {
    expect(await run(["count", "--department", "Sales"])).toEqual({
      code: 0,
      stdout: `${sales}\n`,
      stderr: "",
    });
    expect(await run(["count"])).toEqual({ code: 0, stdout: `${all}\n`, stderr: "" });
  });

  test("a terminal gets count, price, most cost and balance", async () => {
    const { code, stdout, stderr } = await run(["count", "--department", "Sales"], {
      tty: true,
      env: { NO_COLOR: "1" },
    });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const short = sales > 100 ? ", enough for 100 profiles" : "";
    expect(stdout.replace(/^ {2}counted.*\n/m, "")).toBe(
      `${sales.toLocaleString("en")} people\n  price    1 credit a profile\n  at most  ${sales.toLocaleString("en")} credits\n  balance  100 credits${short}\n`,
    );
  });

  test("--json has every documented key, on a terminal too", async () => {
    for (const tty of [false, true]) {
      const { code, stdout, stderr } = await run(["count", "--department", "sales", "--json"], {
        tty,
      });
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect(JSON.parse(stdout)).toEqual({
        count: sales,
        cached: true,
        as_of: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
        filters: { department: "sales" },
        unit_cost: 1,
        max_cost: sales,
        balance: 100,
      });
      // A line for programs, indented for eyes.
      expect(stdout.trim().split("\n").length > 1).toBe(tty);
    }
  });

  test("flags given again are OR, other keys AND, files give way to flags", async () => {
    const expected = await countOf({ department: ["Sales", "Legal"], connections_min: 100 });
    const flags = ["--department", "Sales", "--department", "Legal", "--connections-min", "100"];
    expect((await run(["count", ...flags])).stdout).toBe(`${expected}\n`);
    const files = { "f.json": '{"filters": {"department": "Design", "connections_min": 100}}' };
    const fromFile = await run(
      ["count", "-f", "f.json", "--department", "Sales", "--department", "Legal"],
      { files },
    );
    expect(fromFile).toEqual({ code: 0, stdout: `${expected}\n`, stderr: "" });
    const stdin = JSON.stringify({ department: ["Sales", "Legal"], connections_min: 100 });
    expect((await run(["count", "-f", "-"], { stdin })).stdout).toBe(`${expected}\n`);
  });

  test("bad filters are refused with everything that is wrong, and no request is made", async () => {
    const before = (await service.call("/v1/account")).headers.get("x-ratelimit-remaining");
    const files = {
      "f.json":
        '{"countri": "x", "department": "Salse", "connections_min": 5, "connections_max": 2}',
    };
    const { code, stdout, stderr } = await run(["count", "-f", "f.json"], { files });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain("f.json: unknown filter: countri (did you mean country?)");
    expect(stderr).toContain('unknown department: "Salse" (did you mean "Sales"?)');
    expect(stderr).toContain("connections_min 5 is above connections_max 2");
    const after = (await service.call("/v1/account")).headers.get("x-ratelimit-remaining");
    expect(Number(before) - Number(after)).toBe(1);
  });

  test("with --json an error is one JSON object on stderr", async () => {
    const { code, stdout, stderr } = await run(["count", "--department", "Salse", "--json"]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(JSON.parse(stderr)).toMatchObject({ error: { code: "invalid_filter", exit_code: 2 } });
  });

  test("parts that overlap are said, and what is left over is still right", async () => {
    const [so, soft, legal] = await Promise.all(
      ["so", "soft", "legal"].map((text) => countOf({ industry_prefix: text })),
    );
    expect(soft).toBeGreaterThan(0);
    const argv = asTyped`
      count --by industry_prefix=soft --by=industry-prefix=so --by=industry_prefix=legal
    `;
    const rest = all - (so ?? 0) - (legal ?? 0);
    const piped = await run(argv);
    expect(piped.stderr).toBe(
      `notice: parts overlap: "soft" is counted in "so" too\n${rest.toLocaleString("en")} of ${all.toLocaleString("en")} have another industry prefix or none\n`,
    );
    expect(JSON.parse((await run([...argv, "--json"])).stdout)).toMatchObject({
      count: all,
      unexplained: rest,
    });
    const shown = await run(argv, { tty: true, env: { NO_COLOR: "1" } });
    expect(shown.stdout).toMatch(new RegExp(`another or none\\) +${rest.toLocaleString("en")} `));
  });

  test("nobody: the hint has been counted, so that following it finds somebody", async () => {
    const hints = async (...argv: string[]): Promise<string> => {
      const { code, stdout, stderr } = await run(["count", ...argv]);
      expect({ code, stdout }).toEqual({ code: 0, stdout: "0\n" });
      expect((await run(["count", ...argv, "--quiet"])).stderr).toBe("");
      return stderr;
    };
    const states = await countOf({ country: "united states" });
    const people = (count: number): string => `${count.toLocaleString("en")} people`;
    for (const name of ["USA", "u.s.", "US"]) {
      expect(await hints("--country", name)).toBe(
        `hint: --country "united states" counts ${people(states)}\n`,
      );
    }
    const vps = await countOf({ seniority_level: "vp" });
    const levels = await hints("--seniority-level", "Vice President");
    expect(levels).toMatch(
      /"Vice President" is none of the usual levels: owner, partner, .*\nhint: /,
    );
    expect(levels).toContain(`hint: --seniority-level vp counts ${people(vps)}\n`);
    const both = await countOf({ country: ["germany", "france"] });
    expect(await hints("--country", "germany,france")).toBe(
      `hint: --country germany --country france counts ${people(both)}\n`,
    );
    expect(await hints("--country", "-")).toMatch(/--country @- reads values from stdin/);
    expect(await hints("--title", "chief")).toMatch(
      /^hint: --title-prefix chief counts \d+ people\n$/,
    );
    // Several filters: which of them matches nobody, else what is there without each.
    expect(await hints("--country", "atlantis", "--department", "Sales")).toBe(
      "hint: nobody matches --country atlantis\n",
    );
    expect(
      await hints(
        "--department",
        "Sales",
        "--seniority-level",
        "owner",
        "--connections-min",
        "1",
        "--city",
        "paris",
        "--title",
        "ceo",
      ),
    ).toMatch(/^hint: .*(by itself|without)/);
    // A name that nobody has is nobody's mistake.
    expect(await hints("--country", "Atlantis")).toBe("");
  });

  test("options that do not fit together are refused", async () => {
    for (const argv of [
      ["--by", "connections_min"],
      ["--by", "title_prefix"],
      ["--by", "coutry=x"],
      ["--by", "department=Salse"],
      ["--by", "department=Legal", "--department", "Sales"],
    ]) {
      const { code, stdout, stderr } = await run(["count", ...argv]);
      expect({ argv, code, stdout }).toEqual({ argv, code: 2, stdout: "" });
      expect(stderr).toMatch(/^error: /);
    }
  });
});

describe("count --by", () => {
  test("the parts of department add up to the whole: CSV for a pipe", async () => {
    const { code, stdout, stderr } = await run(["count", "--by", "department"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const [header, ...rows] = stdout.trim().split("\n");
    expect(header).toBe("department,count");
    expect(rows).toHaveLength(20);
    expect(rows.reduce((sum, row) => sum + Number(row.split(",")[1]), 0)).toBe(all);
    expect(rows).toContain(`Sales,${sales}`);
    const counts = rows.map((row) => Number(row.split(",")[1]));
    expect(counts).toEqual([...counts].sort((a, b) => b - a));
  });

  test("what the values leave is said: JSON, CSV and on a terminal", async () => {
    const levels = ["director", "manager"];
    const parts = await Promise.all(levels.map((value) => countOf({ seniority_level: value })));
    const rest = all - parts.reduce((sum, part) => sum + part, 0);
    const argv = ["count", ...levels.map((level) => `--by=seniority-level=${level}`)];
    const json = await run([...argv, "--json"]);
    expect(JSON.parse(json.stdout)).toEqual({
      count: all,
      by: "seniority_level",
      parts: levels
        .map((value, index) => ({ value, count: parts[index] ?? 0 }))
        .sort((a, b) => b.count - a.count),
      unexplained: rest,
      others: null,
      missing: null,
      filters: {},
    });
    const sentence = `${rest.toLocaleString("en")} of ${all.toLocaleString("en")} have another seniority level or none\n`;
    expect(noticesIn(json.stderr)).toBe(sentence);
    const csv = await run(argv);
    expect(csv.stdout.split("\n")[0]).toBe("seniority_level,count");
    expect(csv.stderr).toBe(sentence);
    const table = await run(argv, {
      tty: { stdout: true },
      env: { LANG: "C.UTF-8", NO_COLOR: "1" },
    });
    expect(table.stderr).toBe("");
    const lines = table.stdout.split("\n");
    expect(lines[0]).toMatch(/^seniority level +people +share$/);
    expect(lines.at(-3)).toMatch(/^\(another or none\) +1?,?\d+ +\d+\.\d%$/);
    expect(lines[1]).toMatch(/^(director|manager) +\d+ +\d+\.\d% {2}█{24}$/);
    expect(lines.at(-2)).toBe(`${all.toLocaleString("en")} people in all`);
  });

  test("the segment's own values are its parts", async () => {
    const { stdout, stderr } = await run(
      asTyped`count --department Sales --department legal --by department`,
    );
    expect(stderr).toBe("");
    expect(stdout).toBe(
      `department,count\nSales,${sales}\nlegal,${await countOf({ department: "Legal" })}\n`,
    );
  });

  test("a terminal gets bars, plain ones where block characters cannot be shown", async () => {
    const { stdout } = await run(["count", "--by", "department"], {
      tty: true,
      env: { TERM: "dumb" },
      columns: 60,
    });
    expect(stdout).toMatch(/^Other|^department/m);
    expect(stdout).toContain("####");
    for (const line of stdout.split("\n")) expect(line.length).toBeLessThanOrEqual(60);
  });
});

describe("several files", () => {
  const files = {
    "a.json": '{"department":"Sales"}',
    "b b.json": '{"filters":{"department":"Legal"}}',
  };
  const argv = ["count", "-f", "a.json", "-f", "b b.json"];

  test("one row each, in their order", async () => {
    const legal = await countOf({ department: "Legal" });
    expect(await run(argv, { files })).toEqual({
      code: 0,
      stdout: `segment,count\na.json,${sales}\nb b.json,${legal}\n`,
      stderr: "",
    });
    expect(JSON.parse((await run([...argv, "--json"], { files })).stdout)).toEqual([
      {
        segment: "a.json",
        count: sales,
        filters: { department: "Sales" },
        unit_cost: 1,
        max_cost: sales,
      },
      {
        segment: "b b.json",
        count: legal,
        filters: { department: "Legal" },
        unit_cost: 1,
        max_cost: legal,
      },
    ]);
    const { stdout, stderr } = await run(argv, { files, tty: true, env: { NO_COLOR: "1" } });
    expect(stderr).toBe("");
    expect(stdout.split("\n").map((line) => line.replace(/ {2,}/g, "|"))).toEqual([
      "segment|people|credits at most",
      `a.json|${sales}|${sales}`,
      `b b.json|${legal}|${legal}`,
      "",
    ]);
  });
});
