import { utimesSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parseExact } from "../../src/shared/rows/values.ts";
import { asTyped } from "../support/as-typed.ts";
import { type User, user } from "../support/export.ts";
import { noticesIn } from "../support/notices.ts";
import { testService } from "../support/serving.ts";

const ADA = "network.example/in/ada";
const BO = "network.example/in/bo";

const service = testService({ people: 500, credits: 10_000 });

/** Somebody who bought two segments that overlap. */
async function buyer(): Promise<User> {
  const me = user(service.url, service.key);
  for (const argv of [
    ["search", "--department", "Sales", "--yes", "-o", "sales.ndjson"],
    [
      "search",
      "--connections-min",
      "400",
      "--limit",
      "40",
      "--again",
      "--yes",
      "-o",
      "many.ndjson",
    ],
  ]) {
    await me.ran(argv);
  }
  return me;
}

const lines = (text: string) =>
  text
    .trimEnd()
    .split("\n")
    .map((line) => parseExact(line) as Record<string, unknown>);

describe("headcount owned", () => {
  test("says how many people there are, and what was paid for somebody who was owned", async () => {
    const me = await buyer();
    const rows = [...lines(me.read("sales.ndjson")), ...lines(me.read("many.ndjson"))];
    const ids = new Set(rows.map(({ id }) => id));
    const { code, stdout } = await me.run(["owned", "--json"]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      people: ids.size,
      rows_paid: rows.length,
      rows_repeated: rows.length - ids.size,
      credits: rows.length,
      credits_for_repeated: rows.length - ids.size,
      runs: 2,
    });
    expect((await me.run(["owned"])).stdout).toContain(`people\t${ids.size}\n`);
  });

  test("writes the newest record of those who match, at 0 credits and with the service gone", async () => {
    const me = await buyer();
    const bought = lines(me.read("sales.ndjson"));
    const gone = { env: { HEADCOUNT_API_KEY: "" } };
    const { stdout } = await me.ran(
      ["owned", "export", "--department", "sales", "--format", "ndjson"],
      gone,
    );
    expect(
      lines(stdout)
        .map(({ id }) => id)
        .sort(),
    ).toEqual(bought.map(({ id }) => id).sort());
    const file = await me.run(
      ["owned", "export", "--department", "Sales", "-o", "own.csv", "--json"],
      gone,
    );
    expect(JSON.parse(file.stdout)).toMatchObject({
      rows: bought.length,
      credits: 0,
      output: { format: "csv" },
    });
    expect(me.read("own.csv").split("\n")[0]).toMatch(/^id,network_url,name,/);
    expect((await me.run(["owned", "export", "-o", "own.csv"], gone)).code).toBe(2);
  });

  test("shows a person by id, address, slug or name, with every purchase", async () => {
    const me = await buyer();
    const [person = {}] = lines(me.read("sales.ndjson"));
    const address = String(person.network_url);
    for (const name of [
      person.id,
      address,
      `https://www.${address}/?x=1`,
      address.slice(address.lastIndexOf("/") + 1),
    ]) {
      expect(await me.json(["owned", "show", String(name), "--json"])).toMatchObject({
        record: { id: person.id },
        states: [{ changed: [] }],
      });
    }
    await me.ends(6, ["owned", "show", "nobody-at-all"], 'nobody who is owned is "nobody-at-all"');
  });

  test("takes in files that were bought elsewhere: as owned, at no price, once", async () => {
    const me = user(service.url, service.key);
    writeFileSync(
      me.file("old.csv"),
      "ID,Network URL,name,Connections,title\np-old,,Ada,500,'=CEO\n,https://x.example/in/bo,Bo,,\n" +
        "Total,,,500,\n",
    );
    utimesSync(me.file("old.csv"), new Date("2025-01-31"), new Date("2025-01-31"));
    const would = ["owned", "import", "old.csv", "--dry-run", "--json"];
    const news = async () => (await me.json(would)).would_take_in;
    expect(await news()).toEqual({ files: 1, rows: 2, new: 2, by: ["Network URL", "ID"] });
    expect((await me.json(["owned", "--json"])).people).toBe(0);
    for (let time = 0; time < 2; time++) {
      expect(await me.json(["owned", "import", "old.csv", "--json"])).toEqual({
        files: 1,
        rows: 2,
        new: time === 0 ? 2 : 0,
        by: ["Network URL", "ID"],
      });
    }
    expect(await news()).toEqual({ files: 1, rows: 2, new: 0, by: ["Network URL", "ID"] });
    writeFileSync(me.file("new.csv"), "id\np-new\np-old\n");
    const both = ["owned", "import", "new.csv", "old.csv", "--dry-run", "--json"];
    expect((await me.json(both)).would_take_in).toMatchObject({ files: 2, rows: 4, new: 1 });
    expect((await me.json(["owned", "--json"])).people).toBe(2);
    const shown = await me.json(["owned", "show", "p-old", "--json"]);
    expect(shown).toMatchObject({
      record: { name: "Ada", connections: 500, title: "=CEO" },
      purchases: [{ at: "2025-01-31T00:00:00.000Z", credits: 0 }],
    });
    writeFileSync(me.file("bad.csv"), "name\nAda\n");
    await me.ends(
      2,
      ["owned", "import", "old.csv", "bad.csv"],
      "bad.csv names nobody: no id or profile stands in name",
    );
    // As a CRM writes them: other headings, and contacts without a profile.
    writeFileSync(
      me.file("crm.csv"),
      "Record ID,First Name,LinkedIn URL\n7,Cy,https://www.linkedin.com/in/cy/\n8,Di,\n9,Ed,none\n",
    );
    const taken = await me.run(["owned", "import", "crm.csv"]);
    expect(taken.stderr).toContain(
      "warning: crm.csv has 2 rows without an id or a profile: line 3, 4",
    );
    expect(taken.stderr).toContain("Took in 1 row: 1 person not owned before");
    await me.ran(["owned", "show", "linkedin.com/in/cy"]);
    const list = ["refresh", "crm.csv", "--department", "Sales"];
    await me.ends(2, list, "2 rows without an id");
    await me.ends(2, [...list, "--column", "Perfil"], 'no column "Perfil"; its columns');
  });

  test.each<[layout: string, text: string, column: string | undefined, expected: object | string]>([
    ["profiles alone", `https://${ADA}\n${BO}\n`, undefined, { rows: 2, by: ["value"] }],
    ["ids alone", "p-1\np-2\np-2\n", undefined, { rows: 3, new: 2, by: ["value"] }],
    [
      "a company, a word for nothing and a name where profiles stand",
      `Profile URL\n${ADA}\nnetwork.example/company/acme\nN/A\nAda Lovelace\nacme.example\n`,
      undefined,
      { rows: 1, new: 1, by: ["Profile URL"] },
    ],
    ["a word for nothing as id", "id,name\nN/A,Ada\nTotal,5\n", undefined, "names nobody: no id"],
    [
      "a CRM's ids beside profiles",
      `id,name,linkedin_url\n7,Ada,${ADA}\n8,Ada,https://uk.${ADA}/\n`,
      undefined,
      { rows: 2, new: 2, by: ["linkedin_url", "id"] },
    ],
    [
      "a CRM's ids beside the profiles that are named",
      `id,name,linkedin_url\n7,Ada,${ADA}\n8,Ada,https://uk.${ADA}/\n`,
      "LinkedIn URL",
      { rows: 2, new: 1, by: ["linkedin_url"] },
    ],
    [
      "a heading that nobody knows",
      `Nombre;Perfil\nAda;${ADA}\n`,
      undefined,
      "no column that tells people; its columns: Nombre, Perfil\nhint: --column Perfil:",
    ],
    ["one that is named", `Nombre;Perfil\nAda;${ADA}\n`, "perfil", { new: 1, by: ["Perfil"] }],
    ["ids of another heading", "uuid,name\na:1,Ada\n", "UUID", { new: 1, by: ["uuid"] }],
    ["one that is not there", `Perfil,x\n${ADA},1\n`, "Profil", 'no column "Profil"; its columns'],
  ])("owned import says by which column it tells people: %s", async (_, text, column, expected) => {
    const me = user(service.url, service.key);
    writeFileSync(me.file("in.csv"), text);
    const words = [
      "owned",
      "import",
      "in.csv",
      ...(column === undefined ? [] : ["--column", column]),
    ];
    if (typeof expected === "string") await me.ends(2, words, expected);
    else expect(await me.json([...words, "--json"])).toMatchObject(expected);
  });

  test.each([
    ["all it has", "all"],
    ["ids", "id,name"],
    ["addresses", "network_url,title"],
  ])(
    "a file of %s that a run wrote, taken in, changes nobody and counts nobody twice",
    async (_, fields) => {
      const me = await buyer();
      const owned = () => me.ran(["owned", "export", "--format", "ndjson"]);
      const quote = () => me.ran(["search", "--all", "--limit", "90", "--dry-run", "--json"]);
      const before = [await owned(), await quote()];
      await me.ran(["runs", "export", "last", "--fields", fields, "-o", "again.csv"]);
      const taken = await me.json(["owned", "import", "again.csv", "--json"]);
      expect(taken).toMatchObject({ rows: 40, new: 0 });
      for (const [at, again] of [await owned(), await quote()].entries())
        expect(again.stdout).toBe(before[at]?.stdout);
    },
  );

  test("who was taken in by address is the same person when bought with an id", async () => {
    const me = await buyer();
    await me.ran(["runs", "export", "last", "--fields", "network_url,name", "-o", "a.csv"]);
    const other = user(service.url, service.key);
    writeFileSync(other.file("a.csv"), me.read("a.csv"));
    await other.ran(["owned", "import", "a.csv"]);
    const buys = asTyped`search --connections-min 400 --limit 40 --yes -o b.ndjson`;
    await other.ran(buys);
    expect(await other.json(["owned", "--json"])).toMatchObject({ people: 40, rows_paid: 80 });
    expect((await other.ran(["owned", "export", "--format", "ndjson"])).stdout).toBe(
      other.read("b.ndjson"),
    );
  });

  test("what was bought stays owned when its run is removed, and after a rebuild", async () => {
    const me = await buyer();
    const before = await me.json(["owned", "--json"]);
    await me.ran(["runs", "remove", "last", "--yes"]);
    await me.ran(["owned", "rebuild"]);
    expect(await me.json(["owned", "--json"])).toEqual(before);
  });

  test("nothing bought is no failure", async () => {
    const me = user(service.url, service.key);
    const { code, stdout, stderr } = await me.run(["owned"]);
    expect(code).toBe(0);
    expect(stdout).toContain("people\t0\n");
    expect(stderr).toContain(`nothing was bought from ${service.url}`);
  });
});

describe("--owned", () => {
  test("count and export answer over who is owned, as the service would of those people", async () => {
    const me = await buyer();
    const everybody = [
      ...new Map(
        [...lines(me.read("sales.ndjson")), ...lines(me.read("many.ndjson"))].map((row) => [
          row.id,
          row,
        ]),
      ).values(),
    ];
    const gone = { env: { HEADCOUNT_API_KEY: "" } };
    const inSales = everybody.filter(({ department }) => department === "Sales");
    const counted = await me.run(["count", "--owned", "--department", "Sales"], gone);
    expect(counted, counted.stderr).toMatchObject({ code: 0, stdout: `${inSales.length}\n` });
    const by = await me.json(["count", "--owned", "--by", "country", "--json"], gone);
    expect(by.count).toBe(everybody.length);
    expect(
      by.parts.reduce((sum: number, part: { count: number }) => sum + part.count, 0) +
        by.unexplained,
    ).toBe(everybody.length);
    await me.ran(["owned", "export", "--department", "Sales", "-o", "owned.ndjson"], gone);
    expect(
      lines(me.read("owned.ndjson"))
        .map(({ id }) => id)
        .sort(),
    ).toEqual(inSales.map(({ id }) => id).sort());
  });

  test("parts that hold each other are said, and counted once in what is left over", async () => {
    const me = await buyer();
    const whole = Number((await me.run(["count", "--owned"])).stdout);
    const [wide, narrow] = ["a", "as"];
    const some = Number((await me.run(["count", "--owned", "--title-prefix", wide])).stdout);
    const argv = asTyped`count --owned --by title_prefix=${narrow} --by title_prefix=${wide} --json`;
    const { stdout, stderr } = await me.run(argv);
    expect(some).toBeGreaterThan(0);
    expect(JSON.parse(stdout)).toMatchObject({ count: whole, unexplained: whole - some });
    expect(noticesIn(stderr)).toContain(`"${narrow}" is counted in "${wide}" too`);
  });
});

describe("headcount sql", () => {
  test("answers over people, purchases and runs", async () => {
    const me = await buyer();
    const rows = lines(me.read("sales.ndjson")).length + lines(me.read("many.ndjson")).length;
    const { code, stdout } = await me.run([
      "sql",
      "select count(*) as n, sum(credits) as c from purchases",
    ]);
    expect(code).toBe(0);
    expect(stdout).toBe(`n,c\n${rows},${rows}\n`);
    const most = await me.run(["sql", "select max(times_bought) as most from people", "--json"]);
    expect(JSON.parse(most.stdout)).toEqual([{ most: 2 }]);
    expect((await me.run(["sql", "select id from runs"])).stdout.trim().split("\n")).toHaveLength(
      3,
    );
  });

  test("a semicolon at the end, and what is said behind it, is no second query", async () => {
    const me = await buyer();
    expect(
      (await me.run(["sql", "select 'é;' as a; -- that is all; of it\n /* yes; */ ;"])).stdout,
    ).toBe("a\né;\n");
  });

  test.each([
    ["delete from person", "begins with SELECT"],
    ["attach 'x.db' as x", "begins with SELECT"],
    ["vacuum into 'x.db'", "begins with SELECT"],
    ["with x as (select 1) delete from person", "the query was refused: "],
    ["select nope from people", "no such column: nope"],
    ["select 1 as a; delete from person", "one query at a time"],
    ["select people.id, runs.id from people, runs", "two columns are called", "--json"],
    ["select 'é;' as a; -- so\nselect 2 as b", "one query at a time"],
  ])("%s is refused and changes nothing", async (sql, message, ...flags) => {
    const me = await buyer();
    const before = (await me.run(["owned", "--json"])).stdout;
    const { stderr } = await me.ends(2, ["sql", sql, ...flags]);
    expect(stderr).toContain(message);
    expect((await me.run(["owned", "--json"])).stdout).toBe(before);
  });
});
