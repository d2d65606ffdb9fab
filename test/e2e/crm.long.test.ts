import { execFile, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterEach, describe, expect, test } from "vitest";
import { startCrm } from "../support/crm.ts";
import { postgresBinaries, startCluster } from "../support/store-postgres.ts";

// The recipes of docs/crm.md.

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

test("whom Salesforce refuses is named, not noted, and pushed when it is mended", async () => {
  const crm = await startCrm("key", THERE);
  close.push(crm.close);
  const args = ["salesforce", "upsert", "Contact", "network_url", join(folder, "refused"), MAP];
  crm.refuse("n.example/in/new");
  const first = await push(crm.url, args);
  expect(first.stdout).toContain("2 updated, 0 created, 1 left alone");
  expect(first.stderr).toContain("n.example/in/new was refused: REQUIRED_FIELD_MISSING");
  crm.refuse(undefined);
  expect((await push(crm.url, args)).stdout).toContain("0 updated, 1 created, 0 left alone");
});

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
      const script = (how: string) =>
        psql("-v", `how=${how}`, "-v", `rows=${rows}`, "-f", join(RECIPES, "to-postgres.sql"));

      const [tables = ""] =
        /CREATE TABLE people[^`]*/.exec(readFileSync(resolve(RECIPES, "../crm.md"), "utf8")) ?? [];
      await ask(tables);
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
    } finally {
      await cluster.remove();
    }
  },
  120_000,
);
