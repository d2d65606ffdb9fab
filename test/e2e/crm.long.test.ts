import { execFile, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { startCrm } from "../support/crm.ts";
import { startShell } from "../support/shell.ts";
import { postgresBinaries, startCluster } from "../support/store-postgres.ts";

// The recipes of docs/how-to/crm.md.

const RECIPES = resolve(import.meta.dirname, "../../docs/recipes");
const folder = mkdtempSync(join(tmpdir(), "headcount-crm-"));
const ROWS = [
  { network_url: "n.example/in/ada", name: "Ada", title: "CTO", company_domain: "a.example" },
  { network_url: "n.example/in/o'hara", name: "O'Hara", title: "", company_domain: null },
  {
    network_url: "n.example/in/new",
    name: 'New "N" \\ Ü',
    title: "CFO",
    company_domain: "b.example",
  },
  { network_url: null, name: "Nobody", title: "x", company_domain: "c.example" },
];
const lines = ROWS.map((row) => `${JSON.stringify(row)}\n`).join("");
const close: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const each of close.splice(0)) await each();
});

async function push(url: string, args: readonly string[], stdin = lines) {
  const child = spawn(process.execPath, [join(RECIPES, "to-crm.mjs"), ...args], {
    env: { ...process.env, CRM_URL: url, CRM_TOKEN: "t" },
  });
  let [stdout, stderr] = ["", ""];
  child.stdout.on("data", (piece) => (stdout += piece));
  child.stderr.on("data", (piece) => (stderr += piece));
  child.stdin.end(stdin);
  const code = await new Promise((done) => child.on("close", done));
  return { code, stdout, stderr };
}

let files = 0;
const THERE = [
  { key: "n.example/in/ada", said: "own", name: "Countess" },
  { key: "n.example/in/o'hara", said: "own", title: "kept" },
];
const MAP = JSON.stringify({ network_url: "key", name: "name", title: "title" });

describe.each(["hubspot", "salesforce"])("%s", (where) => {
  async function crmOf() {
    const crm = await startCrm("key", THERE);
    close.push(crm.close);
    const pushed = join(folder, `pushed-${files++}`);
    const args = (how: string) => [where, how, "contacts", "network_url", pushed, MAP];
    return { crm, pushed, args };
  }

  test.each([
    ["update", "2 updated, 0 created, 1 left alone", { name: "Ada" }, false],
    ["create", "0 updated, 1 created, 2 left alone", { name: "Countess" }, true],
    ["upsert", "2 updated, 1 created, 0 left alone", { name: "Ada" }, true],
  ])("%s does that and nothing else, and a second time nothing", async (how, said, ada, isMade) => {
    const { args, crm, pushed } = await crmOf();
    const first = await push(crm.url, args(how));
    expect(first).toEqual({ code: 0, stdout: `${said}, 1 without network_url\n`, stderr: "" });
    expect(crm.records.get("n.example/in/ada")).toMatchObject({ ...ada, said: "own" });
    // What came empty leaves what was there.
    expect(crm.records.get("n.example/in/o'hara")).toMatchObject({ title: "kept", said: "own" });
    expect(crm.records.has("n.example/in/new")).toBe(isMade);

    const noted = readFileSync(pushed, "utf8");
    crm.seen.length = 0;
    const done = new Set(noted.split("\n"));
    const rest = ROWS.filter(({ network_url: key }) => key !== null && !done.has(key)).length;
    expect((await push(crm.url, args(how))).stdout).toContain(`0 updated, 0 created, ${rest} left`);
    expect(crm.seen.some((call) => /update|upsert|PATCH/.test(call))).toBe(false);
    expect(readFileSync(pushed, "utf8")).toBe(noted);
  });

  test("a reply that was lost is asked for again and makes nobody twice; a wrong key notes nothing", async () => {
    const { args, crm, pushed } = await crmOf();
    crm.failing.push(200, 503, 429);
    expect((await push(crm.url, args("upsert"))).code).toBe(0);
    expect(crm.records.size).toBe(3);

    const other = await crmOf();
    other.crm.failing.push(401);
    const { code, stderr } = await push(other.crm.url, other.args("upsert"));
    expect([code, stderr]).toEqual([1, expect.stringContaining("was answered 401")]);
    expect([readFileSync(other.pushed, "utf8"), readFileSync(pushed, "utf8")]).toEqual([
      "",
      expect.stringContaining("n.example/in/new\n"),
    ]);
  });
});

test.each([
  ["hubspot", "contacts"],
  ["salesforce", "Contact"],
])("whom %s refuses is named, not noted, and pushed when it is mended", async (where, object) => {
  for (const how of ["upsert", "create"]) {
    const crm = await startCrm("key", THERE);
    close.push(crm.close);
    const args = [where, how, object, "network_url", join(folder, `refused-${files++}`), MAP];
    crm.refuse("n.example/in/new");
    const first = await push(crm.url, args);
    expect(first.stdout).toMatch(/^[02] updated, 0 created, [13] left alone/);
    expect(first.stderr).toContain("n.example/in/new was refused: ");
    expect(first.code).toBe(5);
    crm.refuse(undefined);
    expect(await push(crm.url, args)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("0 updated, 1 created"),
    });
  }
});

describe.each([
  ["hubspot", "contacts"],
  ["salesforce", "Contact"],
])("%s, create only", (where, object) => {
  const make = async (existing: readonly Record<string, unknown>[]) => {
    const crm = await startCrm("key", existing);
    close.push(crm.close);
    const args = [where, "create", object, "network_url", join(folder, `made-${files++}`), MAP];
    return { crm, args };
  };

  test("whom somebody wrote in other letters is there already", async () => {
    const { crm, args } = await make([{ key: "N.Example/in/ADA", name: "Countess" }]);
    expect((await push(crm.url, args)).stdout).toContain("0 updated, 2 created, 1 left alone");
    expect(crm.records.get("n.example/in/ada")).toMatchObject({ name: "Countess" });
  });

  test("who was made since it was looked stays as it is, and the others are made", async () => {
    const { crm, args } = await make([]);
    crm.beforeSending(() => {
      if (!crm.records.has("n.example/in/ada"))
        crm.records.set("n.example/in/ada", {
          Id: "mine",
          key: "n.example/in/ada",
          name: "Countess",
        });
    });
    const { code, stdout, stderr } = await push(crm.url, args);
    expect([code, stdout]).toEqual([
      5,
      "0 updated, 2 created, 1 left alone, 1 without network_url\n",
    ]);
    expect(stderr).toContain("n.example/in/ada was refused: ");
    expect(crm.records.get("n.example/in/ada")).toEqual({
      Id: "mine",
      key: "n.example/in/ada",
      name: "Countess",
    });
    expect((await push(crm.url, args)).code).toBe(0);
  });
});

test("of who moved: who was added once, who changed each time, who left never", async () => {
  const crm = await startCrm("key", []);
  close.push(crm.close);
  const args = ["hubspot", "upsert", "contacts", "network_url", join(folder, "moved"), MAP];
  const moved = (change: string, title: string) =>
    `${JSON.stringify({ change, person: { network_url: "a", name: "Ada", title } })}\n`;
  expect((await push(crm.url, args, moved("added", "CTO"))).stdout).toContain("1 created");
  expect((await push(crm.url, args, moved("added", "CEO"))).stdout).toContain("0 updated");
  expect((await push(crm.url, args, moved("changed", "CFO"))).stdout).toContain("1 updated");
  expect((await push(crm.url, args, moved("removed", "x"))).stdout).toContain("0 updated");
  expect(crm.records.get("a")).toMatchObject({ title: "CFO" });
});

test("a CRM that is not there is said, and nothing is noted", async () => {
  const crm = await startCrm("key", []);
  await crm.close();
  const pushed = join(folder, "nobody");
  const args = ["hubspot", "upsert", "contacts", "network_url", pushed, MAP];
  const { code, stderr } = await push(crm.url, args);
  expect([code, readFileSync(pushed, "utf8")]).toEqual([1, ""]);
  expect(stderr).toMatch(/^to-crm: POST .*ECONNREFUSED/);
});

const shell = await startShell();
afterAll(() => shell.close());

/** Work for the blocks of the page, as it is read: the recipes, and headcount by its name. */
function deskOf(name: string) {
  const desk = join(folder, name);
  mkdirSync(desk);
  symlinkSync(resolve(RECIPES, ".."), join(desk, "docs"));
  return async (script: string, more: Readonly<Record<string, string>> = {}) => {
    const env = { HOME: folder, HEADCOUNT_CONNECTION: "sample", ...more };
    const { code, stderr, stdout } = await shell.bash(`set -o pipefail\n${script}`, desk, env);
    expect(code, stderr).toBe(0);
    return stdout;
  };
}

const PAGE = readFileSync(resolve(RECIPES, "../how-to/crm.md"), "utf8");
const blockOf = (heading: string, language = "sh"): string => {
  const part = PAGE.slice(PAGE.indexOf(`## ${heading}`));
  return new RegExp(`\\n\`\`\`${language}\\n([^]*?)\`\`\``).exec(part)?.[1] ?? "";
};

test("the blocks for HubSpot and Salesforce do what they say, and nothing the second time", async () => {
  const work = deskOf("desk");
  for (const [heading, external, buy, said] of [
    [
      "HubSpot",
      "network_url",
      "search --department Legal --limit 3",
      ["0 updated, 3 created, 0 left alone"],
    ],
    ["Salesforce", "Domain__c", "enrich zephyr-pulse-co", ["1 updated, 0 created, 0 left alone"]],
  ] as const) {
    const crm = await startCrm(external, [
      { Domain__c: "zephyr-pulse-co.example", network_url: "n.example/of/nobody", own: "kept" },
    ]);
    close.push(crm.close);
    await work(`headcount ${buy} --yes --quiet > bought.csv`);
    const reach = { CRM_URL: crm.url, CRM_TOKEN: "t" };
    expect(await work(blockOf(heading), reach)).toContain(said[0]);
    expect(await work(blockOf(heading), reach)).toContain("0 updated, 0 created, 0 left alone");
    expect([...crm.records.values()][0]).toMatchObject({ own: "kept" });
  }
}, 60_000);

test.skipIf(postgresBinaries() === undefined && !process.env.CI)(
  "PostgreSQL: each way does that and nothing else, and never pushes twice",
  async () => {
    const cluster = await startCluster();
    try {
      const rows = join(folder, "people.ndjson");
      writeFileSync(rows, lines);
      const psql = async (...args: string[]) =>
        (await promisify(execFile)("psql", ["-X", "-A", "-t", "-d", cluster.url, ...args])).stdout;
      const ask = (sql: string) => psql("-c", sql);
      const script = (how: string, ...more: string[]) => {
        const set = [`how=${how}`, `rows=${rows}`, "into=people", "key=network_url", ...more];
        const all = ["fields=name,title,company_domain", ...set].flatMap((one) => ["-v", one]);
        return psql(...all, "-f", join(RECIPES, "to-postgres.sql"));
      };

      await ask(`${blockOf("PostgreSQL", "sql")} ALTER TABLE people ADD own int DEFAULT 7`);
      const work = deskOf("table");
      await work("headcount search --department Legal --limit 3 --yes --quiet > bought.csv");
      const block = () => work(`rm -f people.ndjson\n${blockOf("PostgreSQL")}`, pgOf(cluster.url));
      expect(await block()).toMatch(/\n +3\n/);
      await ask("UPDATE people SET name = 'mine'");
      expect(await block()).toMatch(/\n +3\n/);
      expect(await ask("SELECT DISTINCT name, own FROM people")).toBe("mine|7\n");

      for (const [how, names, pushed] of [
        ["update", "Ada|O'Hara", 2],
        ["create", 'Countess|New "N" \\ Ü|O', 1],
        ["upsert", 'Ada|New "N" \\ Ü|O\'Hara', 3],
      ] as const) {
        await ask("TRUNCATE people, pushed");
        await ask(
          "INSERT INTO people VALUES ('n.example/in/ada', 'Countess', 'x', 'y'), " +
            "('n.example/in/o''hara', 'O', 'kept', 'own.example')",
        );
        expect((await script(how)).trim()).toBe(String(pushed));
        const all = "SELECT string_agg(name, '|' ORDER BY name COLLATE \"C\") FROM people";
        expect((await ask(all)).trim(), how).toBe(names);
        expect(await ask("SELECT title, company_domain FROM people WHERE name LIKE 'O%'")).toBe(
          "kept|own.example\n",
        );

        // Somebody's own change after the push stays.
        await ask("UPDATE people SET name = 'mine'");
        await script(how === "create" ? "create" : "update");
        expect((await ask("SELECT DISTINCT name FROM people")).trim()).toBe("mine");
      }

      // Companies by their domain, with columns of their own types, into another table.
      await ask(
        "CREATE TABLE firms (id serial, domain text UNIQUE, specialties text[], staff int)",
      );
      writeFileSync(
        rows,
        '{"domain": "a.example", "staff": 11, "specialties": ["x", "y"], "id": "c1"}\n',
      );
      await script("upsert", "into=firms", "key=domain", "fields=staff,specialties");
      expect(await ask("SELECT * FROM firms")).toBe("1|a.example|{x,y}|11\n");
    } finally {
      await cluster.remove();
    }
  },
  120_000,
);

/** A database by the variables that psql reads where it is named none. */
function pgOf(url: string): Readonly<Record<string, string>> {
  const { hostname, port, username, password, pathname } = new URL(url);
  return {
    PGHOST: hostname,
    PGPORT: port,
    PGUSER: decodeURIComponent(username),
    PGPASSWORD: decodeURIComponent(password),
    PGDATABASE: pathname.slice(1),
  };
}
