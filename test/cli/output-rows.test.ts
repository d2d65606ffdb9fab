import { describe, expect, test } from "vitest";
import { asTyped } from "../support/as-typed.ts";
import { readCsv } from "../support/export.ts";
import { foreignScene } from "../support/foreign-scene.ts";
import type { ForeignOptions } from "../support/foreign-service.ts";

// Where rows and their fields are found in the replies of services that chose otherwise.

const scene = (change: Partial<ForeignOptions>) => foreignScene({ people: 40, ...change });

const SEARCH = ["search", "--country", "x", "--yes", "--per-page", "10", "--overwrite"];

describe("rows", () => {
  test.each<[string, (rows: readonly object[]) => unknown]>([
    ["result.data.people", (rows) => ({ data: { people: rows }, page: 1 })],
    ["hits", (rows) => ({ hits: rows, took: 3 })],
    [
      "result.data.docs beside other objects",
      (rows) => ({ data: { docs: rows }, meta: { tags: ["a"] } }),
    ],
    ["a wrapped record each", (rows) => rows.map((profile) => ({ profile }))],
    [
      "a name of its own beside other lists",
      (rows) => ({
        facets: [{ title: "Sales", department: "Sales", count: 7 }],
        folk: rows.map((row) => ({ ...row, network_url: "https://network.example/in/x" })),
        warnings: [],
      }),
    ],
  ])("are found under %s", async (_, shape) => {
    const { service, u } = await scene({ shape });
    for (const command of [
      SEARCH,
      ["employees", "acme", "--yes", "--per-page", "10", "--limit", "40", "--overwrite"],
    ]) {
      const ran = await u.run([...command, "-o", "o.csv"]);
      expect(ran, ran.stderr).toMatchObject({ code: 0 });
      expect(readCsv(u.read("o.csv")).map(({ id }) => id)).toEqual(service.ids());
    }
    expect(service.charged()).toBe(80);
  });

  test("whose ids are their places in a page are people apart by their addresses", async () => {
    const { service, u } = await scene({
      shape: (rows) =>
        rows.map((row, place) => ({
          ...row,
          id: place,
          network_url: `https://network.example/in/p-${(row as { readonly id: number }).id}`,
        })),
    });
    const addresses = service.ids().map((id) => `https://network.example/in/p-${id}`);

    for (const command of [
      SEARCH,
      asTyped`employees acme --yes --per-page 10 --limit 40 --overwrite`,
    ]) {
      await u.ends(0, [...command, "-o", "o.csv"], "Exported 40 profiles for 40 credits");
      expect(readCsv(u.read("o.csv")).map((row) => row.network_url)).toEqual(addresses);
    }
  });

  test("a container without a list is never a person: kept, said, and said again each time", async () => {
    const { service, u } = await scene({ shape: (rows) => ({ a: rows, b: rows }) });
    for (const command of [
      SEARCH,
      ["employees", "acme", "--yes", "--limit", "40", "--per-page", "10"],
    ]) {
      for (let attempt = 0; attempt < 3; attempt++) {
        await u.ends(
          5,
          [...command, "--concurrency", "1", "-o", `${command[0]}.csv`],
          "list",
          "of profiles",
        );
        await u.ends(
          0,
          ["runs", "export", "last", "--format", "csv"],
          "10 paid rows cannot be read",
        );
        await u.ends(5, asTyped`runs export last --format csv --require-complete`);
      }
    }
    // One page each, and never another one.
    expect(service.charged()).toBe(20);
  });
});

describe("fields", () => {
  const nested = (rows: readonly object[]): unknown =>
    rows.map((row) => ({
      profile: row,
      score: 1,
      company: { name: "Acme", domain: "acme.example" },
    }));

  test("of wrapped records and nested companies are columns where they are asked for", async () => {
    const { u } = await scene({ shape: nested });
    const ran = await u.run(
      asTyped`${SEARCH} --fields name,company_name,company_domain --format csv --limit 1`,
    );
    expect(ran.stdout, ran.stderr).toBe(
      "name,company_name,company_domain\nPerson 0,Acme,acme.example\n",
    );
  });

  test.each([["csv"], ["ndjson"], ["json"], ["table"], ["parquet"]])(
    "that no row has are said: %s",
    async (format) => {
      const { u } = await scene({});
      const file =
        format === "parquet" || format === "csv" ? ["-o", `x.${format}`] : ["--format", format];
      const ran = await u.ends(
        0,
        asTyped`${SEARCH} --fields name,company_domain,current.company ${file}`,
        "notice: no row has company_domain\n",
      );
      expect(ran.stderr.match(/no row has/g)).toHaveLength(1);
      const again = await u.run(asTyped`runs export last --overwrite --fields title,city ${file}`);
      expect(again.stderr).toContain("notice: no row has city\n");
      expect(again.stderr).not.toContain("title");
    },
  );
});

describe("on a terminal", () => {
  test.each(["ndjson", "json", "csv"])(
    "what acts on it is shown instead, and goes into a pipe as it came: %s",
    async (format) => {
      const name = "A\u009b31m\u202eda\u200b";
      const { u } = await scene({ shape: (rows) => rows.map((_, id) => ({ id, name })) });
      const argv = asTyped`search --country x --yes --limit 2 --per-page 2 --format ${format}`;
      const screen = await u.run(argv, { tty: { stdout: true } });
      expect(screen.stdout).not.toMatch(/[\u0080-\u009f\u200b\u202e]/);
      expect(screen.stdout).toContain(
        format === "csv" ? "A\ufffd31m\ufffdda\ufffd" : "A\\u009b31m\\u202eda\\u200b",
      );
      if (format === "json")
        expect((JSON.parse(screen.stdout) as { name: string }[])[0]?.name).toBe(name);
      expect((await u.run(argv)).stdout).toContain(name);
      const again = ["runs", "export", "last", "--format", format];
      expect((await u.run(again, { tty: { stdout: true } })).stdout).toBe(screen.stdout);
      expect((await u.run(again)).stdout).toContain(name);
    },
  );
});

describe("a company", () => {
  test.each<[string, (rows: readonly object[]) => unknown]>([
    ["beside a match", ([company]) => ({ match: true, company })],
    ["as a profile", ([profile]) => ({ profile })],
    ["bare", ([company]) => company],
    ["in a list", (rows) => rows],
  ])("is found %s", async (_, shape) => {
    const { u } = await scene({ shape });
    expect(await u.json(["enrich", "globex.example", "--yes", "--json"])).toMatchObject({
      name: "Globex",
      domain: "globex.example",
      hq: { city: "Springfield" },
    });
  });

  test.each([[null], [[]], [{}], [{ match: false }], [{ company: null }]])(
    "that is missing is a miss: %j",
    async (result) => {
      const { service, u } = await scene({ missing: { result } });
      const single = await u.run(["enrich", "missing.example", "--yes"]);
      expect(single).toMatchObject({ code: 6, stdout: "" });
      expect(single.stderr).toContain("missing.example");
      await u.ran(asTyped`enrich globex.example missing.example --yes -o c.csv --misses m.txt`);
      expect(readCsv(u.read("c.csv"))).toHaveLength(1);
      expect(u.read("m.txt")).toBe("missing.example\n");
      expect(service.charged()).toBe(1);
    },
  );
});

test("numbers in sentences and tables have separators, ids have none", async () => {
  const { u } = await scene({ people: 1_200, duplicateEvery: 2 });
  const ran = await u.ends(
    5,
    ["search", "--country", "x", "--yes", "-o", "o.csv"],
    /\b600 of 1,200 rows came twice and were paid for: 600 different profiles of 1,200/,
  );
  // Nothing is left to buy, so nothing is said to go on.
  expect(ran.stderr).toMatch(/hint: headcount runs export \S+ writes what there is at 0 credits\n/);
  const shape = (): unknown => [{ id: 1_234_567, name: "A", followers: 12_345, connections: 1 }];
  const { u: other } = await scene({ people: 1, shape });
  const { stdout } = await other.run(
    ["search", "--country", "x", "--yes", "--fields", "id,followers,connections"],
    {
      tty: { stdout: true },
      env: { NO_COLOR: "1" },
    },
  );
  expect(stdout).toBe("     id  followers  connections\n1234567     12,345            1\n");
});
