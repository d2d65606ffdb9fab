import { execFile, spawn, spawnSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import type { Command } from "commander";
import fc from "fast-check";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { main } from "../../src/cli/main.ts";
import { buildProgram } from "../../src/cli/program.ts";
import {
  countCommand,
  curlCommand,
  fragmentOf,
  inWords,
  placeInAddress,
  searchCommand,
} from "../../src/console/segment.ts";
import { canonicalJson, checkFilters } from "../../src/shared/contract/filters.ts";
import type { Person } from "../../src/shared/contract/records.ts";
import {
  DEPARTMENTS,
  FILTER_SPECS,
  type Filters,
  SENIORITY_LEVELS,
} from "../../src/shared/contract/vocabulary.ts";
import { shellWord } from "../../src/shared/errors.ts";
import { type RawServer, rawServer, testContext } from "../support/client.ts";
import { startCrm } from "../support/crm.ts";
import { hasPostgres, openDatabase } from "../support/database.ts";
import { charged, type User, user } from "../support/export.ts";
import { long } from "../support/long.ts";
import { ok, ran } from "../support/ran.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { startShell } from "../support/shell.ts";
import { machineNamed, teamOf } from "../support/team.ts";

/**
 * Every example of the help and every shell block of the docs runs as it is written, on the sample:
 * in this process, but for what serves. The built program is tried by release.long.test.ts.
 */
const ROOT = resolve(import.meta.dirname, "../..");
const folder = mkdtempSync(join(tmpdir(), "headcount-examples-"));
const home = join(folder, "home");
const work = join(folder, "work");

/** Examples that need what no test may have, each with the reason. */
const NOT_RUN: readonly (readonly [RegExp, string])[] = [
  [
    /\b(login|logout|connections (?:add|remove))\b/,
    "asks a service on the internet or the keychain; test/keyring runs them",
  ],
  [/k_0a1b2c3d4e5f/, "names a key of somebody else"],
  [
    /forget .* --yes/,
    "ends with 5 where the files of other examples may still hold the person; test/cli/forget.test.ts runs it",
  ],
  [
    /service link$|service link --account/,
    "is of a service that was started; test/service/console-serve.test.ts runs it",
  ],
  [/sessions end 1f2e3d4c5b6a/, "names a session of somebody else"],
  [/credits refund 17/, "names a charge of somebody else"],
  [/ sync \/mnt\/team/, "wants a folder that other machines see; test/cli/sync.test.ts runs it"],
  [/-c apollo /, "asks a vendor; test/cli/vendors-by-ids.test.ts plays it"],
  [/resume \d{8}-|resume a1b2c3/, "names a run of somebody else"],
];

const environment = {
  HOME: home,
  LANG: "C.UTF-8",
  PROFILE: join(home, "profile.ps1"),
  HEADCOUNT_CONNECTION: "sample",
  PATH: process.env.PATH ?? "",
};
const shell = await startShell();
const bash = (script: string, cwd = work) => shell.bash(script, cwd, environment);

beforeAll(async () => {
  for (const path of [home, work, join(home, ".zsh"), join(home, ".config/fish/completions")]) {
    mkdirSync(path, { recursive: true });
  }
  mkdirSync(join(home, ".config/headcount"), { recursive: true });
  const work_ = { baseUrl: "https://api.example.com", keyStore: "keychain" };
  writeFileSync(
    join(home, ".config/headcount/config.json"),
    JSON.stringify({ connections: { work: work_ } }),
  );
  // What the examples take for granted: files of people and companies in the forms that they name.
  const prepared = await bash(`
    search() { headcount search --department Legal --limit 30 --yes --quiet --overwrite "$@"; }
    search -o people.csv; search -o people.ndjson; search -o people-1.parquet
    cp people.ndjson exports-2025.ndjson; cp people.ndjson exports-2024.ndjson; cp people.csv last-year.csv
    headcount enrich zephyr-pulse-co --yes --quiet -o companies.csv --overwrite
    headcount runs export last --format parquet -o companies.parquet
    gzip -k companies.csv
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=people -keyout people.key -out people.pem 2>/dev/null
    echo '{"people": {"title": "title"}}' > map.json
    echo '{"department": "Legal"}' > filters.json; cp filters.json legal.json; echo '{"department": "Sales"}' > sales.json
    echo zephyr-pulse-co.example > domains.txt
    headcount service generate --people 1000 --data ./data; headcount service generate --people 1000
    headcount service keys create --quiet
    echo '{"jobs": {"legal": {"schedule": "0 6 * * 1", "filters": {"department": "Legal"}, "max_credits": 600, "output": "jobs-legal.csv"}}}' > jobs.jsonc
  `);
  if (prepared.code !== 0) throw new Error(prepared.stderr);
});
afterAll(() => {
  shell.close();
  rmSync(folder, { recursive: true, force: true });
});

async function helpExamples(): Promise<string[]> {
  const pages: string[] = [];
  const { context } = testContext({});
  const program = await buildProgram(
    {
      ...context,
      stdout: { write: (text: string) => void pages.push(text), columns: 80 } as never,
    },
    [],
    "all",
  );
  const walk = (command: Command): void => {
    command.outputHelp();
    for (const child of command.commands) walk(child);
  };
  walk(program);
  const lines = pages
    .join("\n")
    .replace(/ \\\n +/g, " ")
    .split("\n");
  const found = lines.filter((line) => /^ {2}\$ /.test(line)).map((line) => line.slice(4));
  // Three spaces and more part an example from what is said of it.
  return found.map((line) => line.replace(/ {3,}.*$/, "").trim());
}

const examples = await helpExamples();

describe("examples of the help", () => {
  test("every command has some", () => expect(examples.length).toBeGreaterThan(40));

  test.each(
    [...new Set(examples)].filter((line) => !NOT_RUN.some(([pattern]) => pattern.test(line))),
  )("%s", async (line) => {
    if (/^headcount serve\b/.test(line)) {
      await serves(line);
      return;
    }
    // A hundred thousand people are generated as a thousand are.
    const result = await bash(line.replace("--people 100000 ", "--people 1000 "));
    expect(result, `${line}\n${result.stderr}`).toMatchObject({ code: 0 });
    expect(result.stderr).not.toMatch(/^error:/m);
  });
});

/** Runs until it says where it listens, then ends on SIGTERM with 0. */
async function serves(line: string): Promise<void> {
  const command = line.includes("--port") ? line : `${line} --port 0`;
  const child = spawn("bash", ["-c", `exec ${command}`], {
    cwd: work,
    env: { ...environment, PATH: `${shell.bin}:${environment.PATH}` },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  const ended = new Promise<number | null>((done) => child.once("exit", (code) => done(code)));
  await new Promise<void>((done, fail) => {
    const onData = (data: Buffer): void => {
      said += data.toString();
      if (/https?:\/\/(127\.0\.0\.1|0\.0\.0\.0):\d+/.test(said)) done();
    };
    child.stdout.on("data", onData);
    child.stderr.on("data", onData);
    void ended.then((code) => fail(new Error(`${line} ended with ${code}: ${said}`)));
  });
  child.kill("SIGTERM");
  expect(await ended).toBe(0);
}

/** All pages with blocks of sh, but the recipes for a CRM, which are tried by crm.long.test.ts. */
const PAGES = readdirSync(join(ROOT, "docs"), { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".md") && name !== "how-to/crm.md")
  .map((name) => `docs/${name}`)
  .filter((page) => readFileSync(join(ROOT, page), "utf8").includes("```sh\n"));

describe("README", () => {
  const readme = readFileSync(join(ROOT, "README.md"), "utf8");
  const blocksOf = (page: string): string[] =>
    [...page.matchAll(/```sh\n([\s\S]*?)```/g)].map((match) => match[1] ?? "");
  const blocks = blocksOf(readme);

  test("opens with the two blocks that a stranger runs", () => {
    expect(blocks[0]).toContain("npm install");
    expect(blocks[1]).toContain("npm install");
    expect(blocks.length).toBeGreaterThan(4);
  });

  // One shell for all of a page, in order, as somebody who reads along would have it.
  const pages: readonly (readonly [string, readonly string[]])[] = [
    ["README.md", blocks.slice(2)],
    ...PAGES.map((page) => [page, blocksOf(readFileSync(join(ROOT, page), "utf8"))] as const),
  ];
  test.each(pages)("every block of %s runs as written", async (page, script) => {
    const own = join(folder, page.replaceAll("/", "-"));
    mkdirSync(own);
    const result = await bash(script.join("\n"), own);
    expect(result, `${result.stdout}\n${result.stderr}`).toMatchObject({ code: 0 });
  });
});

describe("recipes for a CRM", () => {
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
    ])(
      "%s does that and nothing else, and a second time nothing",
      async (how, said, ada, isMade) => {
        const { args, crm, pushed } = await crmOf();
        const first = await push(crm.url, args(how));
        expect(first).toEqual({ code: 0, stdout: `${said}, 1 without network_url\n`, stderr: "" });
        expect(crm.records.get("n.example/in/ada")).toMatchObject({ ...ada, said: "own" });
        // What came empty leaves what was there.
        expect(crm.records.get("n.example/in/o'hara")).toMatchObject({
          title: "kept",
          said: "own",
        });
        expect(crm.records.has("n.example/in/new")).toBe(isMade);

        const noted = readFileSync(pushed, "utf8");
        crm.seen.length = 0;
        const done = new Set(noted.split("\n"));
        const rest = ROWS.filter(({ network_url: key }) => key !== null && !done.has(key)).length;
        expect((await push(crm.url, args(how))).stdout).toContain(
          `0 updated, 0 created, ${rest} left`,
        );
        expect(crm.seen.some((call) => /update|upsert|PATCH/.test(call))).toBe(false);
        expect(readFileSync(pushed, "utf8")).toBe(noted);
      },
    );

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
  });

  test.skipIf(!hasPostgres && !process.env.CI)(
    "PostgreSQL: each way does that and nothing else, and never pushes twice",
    async () => {
      const database = await openDatabase();
      try {
        const rows = join(folder, "people.ndjson");
        writeFileSync(rows, lines);
        const psql = async (...args: string[]) =>
          (await promisify(execFile)("psql", ["-X", "-A", "-t", "-d", database.url, ...args]))
            .stdout;
        const ask = (sql: string) => psql("-c", sql);
        const script = (how: string, ...more: string[]) => {
          const set = [`how=${how}`, `rows=${rows}`, "into=people", "key=network_url", ...more];
          const all = ["fields=name,title,company_domain", ...set].flatMap((one) => ["-v", one]);
          return psql(...all, "-f", join(RECIPES, "to-postgres.sql"));
        };

        await ask(`${blockOf("PostgreSQL", "sql")} ALTER TABLE people ADD own int DEFAULT 7`);
        const work = deskOf("table");
        await work("headcount search --department Legal --limit 3 --yes --quiet > bought.csv");
        const block = () =>
          work(`rm -f people.ndjson\n${blockOf("PostgreSQL")}`, pgOf(database.url));
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
        await database.drop();
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
});

describe("recipes of sync", () => {
  // The recipes of docs/how-to/sync.md, as they stand there.

  const CREDITS = 100_000;
  const PAGE = readFileSync(resolve(import.meta.dirname, "../../docs/how-to/sync.md"), "utf8");
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService({ people: 2_000, credits: CREDITS });
  });
  afterAll(async () => {
    await service.close();
  });

  const recipe = (title: string): string =>
    new RegExp(`## ${title}\\n[\\s\\S]*?\`\`\`text\\n([\\s\\S]*?)\`\`\``).exec(PAGE)?.[1] ?? "";
  const names = (text: string): number => text.trim().split("\n").length - 1;

  long("a CI runner that begins with an empty state folder pays nobody twice", async () => {
    const { folder, key } = await teamOf(["laptop"], service.url, service.key);
    const spent: number[] = [];
    for (const week of ["first", "second"]) {
      const runner = machineNamed(week, service.url, service.key);
      const checkout = join(dirname(folder), week);
      mkdirSync(checkout, { recursive: true });
      const lines = recipe("A CI runner").replaceAll("../team", `../${basename(folder)}`);
      const before = await charged(service, CREDITS);
      const { code, stderr } = await shell.bash(lines, checkout, { ...runner.env, KEY: key });
      // The second week nobody is new.
      expect(code, stderr).toBe(0);
      spent.push((await charged(service, CREDITS)) - before);
      const rows = names(readFileSync(join(checkout, "new.csv"), "utf8"));
      expect(rows).toBe(spent.at(-1));
    }
    expect(spent[0]).toBeGreaterThan(0);
    expect(spent[1]).toBe(0);
  });

  long("a team of three owns what one of them bought, by the lines that each has", async () => {
    const { folder, key, machines } = await teamOf(["ada"], service.url, service.key);
    const [ada] = machines as [User];
    await ok(ada, ["search", "--department", "Sales", "--limit", "3", "--yes", "-o", "s.csv"]);
    const all = [ada];
    const lines = recipe("A team of three").replaceAll("/mnt/team", folder);
    for (const name of ["grace", "mary"]) {
      const me = machineNamed(name, service.url, service.key);
      all.push(me);
      writeFileSync(join(me.dir, "key.txt"), `${key}\n`);
      const { code, stderr } = await shell.bash(lines, me.dir, me.env);
      expect(code, stderr).toBe(0);
    }

    const last = lines.trim().split("\n").at(-1) ?? "";
    for (const me of [...all, ...all])
      await ran(me, last.split(" ").slice(1), { env: { HEADCOUNT_SYNC_KEY: key } });
    for (const me of all) expect(await ok(me, ["count", "--owned"])).toBe("3\n");
  });
});

describe("the skill", () => {
  const text = readFileSync(
    resolve(import.meta.dirname, "../../skills/headcount/SKILL.md"),
    "utf8",
  );
  const sections = text.split(/^## /m).slice(1);
  const commands = sections.flatMap((section) => {
    const [title = ""] = section.split("\n");
    const blocks = [...section.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block = ""]) => block);
    return blocks.flatMap((block) =>
      block
        .trim()
        .split("\n")
        .map((command) => ({ title, command })),
    );
  });
  /** Lines of a table, without the names of its columns. */
  const rowsOf = (name: string): readonly string[] => u.read(name).trim().split("\n").slice(1);

  const CREDITS = 1_000;
  let service: TestService;
  let u: User;
  /** A company of the service, which the text calls acme.com. */
  let domain = "";
  beforeAll(async () => {
    service = await startTestService({ people: 2_000, credits: CREDITS });
    u = user(service.url, service.key);
    const { result } = (
      await service.call("/v1/person/search", { body: { filters: {}, per_page: 50 } })
    ).json;
    domain =
      (result as Person[]).find(({ company_domain }) => company_domain !== null)?.company_domain ??
      "";
  });
  afterAll(() => service.close());

  /** As an agent runs it: in a shell, without a terminal. */
  const bash = (command: string) =>
    shell.bash(`set -o pipefail\n${command.replaceAll("acme.com", domain)}`, u.dir, u.env);

  /** The command of the text that begins so. An agent that knows nothing else changes its values and nothing more. */
  function fromText(begins: string, changes: Readonly<Record<string, string>> = {}): string {
    const { command = "" } = commands.find((each) => each.command.startsWith(begins)) ?? {};
    expect(command, `the text has no ${begins}`).not.toBe("");
    return Object.entries(changes).reduce((line, [from, to]) => {
      expect(line).toContain(from);
      return line.replace(from, to);
    }, command);
  }

  /** Does what rule 6 says: the words of a hint in the place of the filters. */
  async function countByHints(filters: string): Promise<number> {
    const counts = fromText("headcount count --country USA", {
      "--country USA --department Legal 2>&1": filters,
    });
    const { stdout, stderr } = await bash(counts);
    const [, words = ""] =
      /^hint: (?:did you mean )?(--.*?)\??(?: that)? counts /m.exec(stderr) ?? [];
    if (Number(stdout) > 0 || words === "") return Number(stdout);
    return Number((await bash(`headcount count ${words}`)).stdout);
  }

  test("mcp install skill prints what the package has", async () => {
    expect(await u.run(["mcp", "install", "skill"])).toMatchObject({ code: 0, stdout: text });
    expect(text).toMatch(/^---\nname: headcount\ndescription: .{40,1024}\n---\n/);
    for (const argv of [[], ["skill", "claude"]])
      expect(await u.run(["mcp", "install", ...argv])).toMatchObject({ code: 2 });
  });

  test("its commands run as they are written, and cost at most what a person agreed to", async () => {
    expect(commands.length).toBeGreaterThan(20);
    for (const { command } of commands) {
      const before = await charged(service, CREDITS);
      const { code, stdout, stderr } = await bash(command);
      expect(code, `${command}: ${stderr}`).toBe(0);
      if (!command.includes(">")) expect(stdout, command).not.toBe("");
      const [, agreed = "0"] = /--max-credits (\d+)/.exec(command) ?? [];
      const spent = (await charged(service, CREDITS)) - before;
      expect(spent, command).toBeLessThanOrEqual(Number(agreed));
      if (/search .*--limit 20 --max-credits/.test(command)) expect(spent).toBe(20);
    }
    expect(rowsOf("legal.csv").length).toBeGreaterThanOrEqual(20);
    expect(rowsOf("acme.csv").length).toBeGreaterThan(0);
    expect(rowsOf("more.csv")).toHaveLength(5);
    expect(u.read("crm-enriched.csv")).toContain("ours");
  });

  test("no command of it agrees in place of a person", () => {
    for (const { title, command } of commands) {
      expect(command).not.toMatch(/--yes|-y\b|--all\b|keys|--force/);
      if (/headcount (search|enrich|employees|refresh)/.test(command))
        expect(command).toMatch(
          title.startsWith("Buy") ? /--max-credits \d|--dry-run/ : /--dry-run/,
        );
    }
  });

  test("tasks: a segment under other words is found by its hints", async () => {
    const truth = async (filters: object) =>
      (await service.call("/v1/person/count", { method: "POST", body: { filters } })).json.result
        .count as number;
    expect(await countByHints("--country USA")).toBe(await truth({ country: "united states" }));
    expect(await countByHints("--title CTO")).toBe(
      await truth({ title: "chief technology officer" }),
    );
    const { values } = JSON.parse((await bash(fromText("headcount filters title"))).stdout);
    const { value: title } = values[0];
    expect(await countByHints(`--title "${title.replace(" of ", " ")}"`)).toBe(
      await truth({ title }),
    );
    expect(await countByHints("--title chief")).toBe(await truth({ title_prefix: "chief" }));
    const some = fromText("headcount count --country USA --country germany", { " 2>&1": "" });
    const { stdout, stderr } = await bash(some);
    expect(Number(stdout)).toBe(await truth({ country: "germany", department: "Sales" }));
    expect(stderr).toContain('--country USA matches nobody: --country "united states"');
  });

  test("tasks: a price is asked, a person agrees, exactly that is bought, and it is owned afterwards", async () => {
    const before = await charged(service, CREDITS);
    const design = { Legal: "Design" };
    const { rows, credits, balance_after } = JSON.parse(
      (await bash(fromText("headcount search", design))).stdout,
    );
    expect([rows, balance_after]).toEqual([20, CREDITS - before - credits]);
    const buys = fromText("headcount search --department Legal --limit 20 --max-credits", {
      ...{
        Legal: "Design",
        "--max-credits 20": `--max-credits ${credits}`,
        "legal.csv": "design.csv",
      },
    });
    expect(JSON.parse((await bash(buys)).stdout)).toMatchObject({ distinct: 20, credits });
    expect(JSON.parse((await bash(fromText("headcount search", design))).stdout)).toMatchObject({
      owned: 20,
    });
    const fresh = fromText(
      "headcount search --department Legal --limit 5 --new-only --dry-run",
      design,
    );
    expect(JSON.parse((await bash(fresh)).stdout)).toMatchObject({
      new_only: { new: expect.any(Number) },
    });
    const { credits_at_most: most } = JSON.parse(
      (await bash(fromText("headcount refresh legal.csv --dry-run", { "legal.csv": "design.csv" })))
        .stdout,
    );
    const refreshed = fromText("headcount refresh legal.csv --max-credits", {
      ...{ "legal.csv": "design.csv", "--max-credits 60": `--max-credits ${most}` },
    });
    expect((await bash(refreshed)).code).toBe(0);
    // A list that a limit ended stays that list.
    expect(rowsOf("design.csv")).toHaveLength(20);
    expect((await charged(service, CREDITS)) - before).toBeLessThanOrEqual(credits + most);
    expect(
      (
        await bash(
          fromText("headcount enrich acme.com --max-credits", { "acme.com": "nobody.example" }),
        )
      ).code,
    ).toBe(6);
  });
});

describe("commands of the console", () => {
  const nasty = fc.constantFrom(
    "@file",
    "@@file",
    "@",
    "-x",
    "--all",
    "$(id)",
    "`id`",
    "a'b",
    'a"b',
    "a\\b",
    "!!",
    "~root",
    "*",
    "a b",
    "#x",
    "a;b",
    "a|b",
    "a&b",
    "%s",
    "\\n",
    "é 名",
    "\u202e",
    "=cmd",
    "{a,b}",
    "[x]",
    "<b>",
    "a=b",
    "a,b",
    "+",
    "%",
  );
  const text = fc.oneof(nasty, fc.string({ minLength: 1, maxLength: 12, unit: "grapheme" }));
  const unique = (each: fc.Arbitrary<string>) =>
    fc.uniqueArray(each, { minLength: 1, maxLength: 4 });

  /** Filters that the contract takes, every key of them, with values that a shell or a program could misread. */
  const filters: fc.Arbitrary<Filters> = fc
    .record(
      Object.fromEntries(
        FILTER_SPECS.map(({ key, list, match }) => {
          if (match === "range") return [key, fc.nat({ max: 1e9 })];
          if (key === "department")
            return [key, fc.subarray([...DEPARTMENTS], { minLength: 1, maxLength: 3 })];
          if (key === "seniority_level")
            return [key, fc.subarray([...SENIORITY_LEVELS], { minLength: 1 })];
          return [key, list ? unique(text) : text];
        }),
      ),
      { requiredKeys: [] },
    )
    .filter((given) => checkFilters(given).ok) as fc.Arbitrary<Filters>;

  const canonical = (given: unknown): string => {
    const check = checkFilters(given);
    if (!check.ok) throw new Error(JSON.stringify(check.issues));
    return canonicalJson(check.canonical);
  };

  /** The words that a shell makes of each command, by a program of that name. */
  function words(commands: readonly string[]): readonly (readonly string[])[] {
    const tell = `() { printf '%s\\000' "$@"; printf '\\036\\000'; }`;
    const script = `headcount${tell}\ncurl${tell}\n${commands.join("\n")}\n`;
    const { status, stderr, stdout } = spawnSync("/bin/sh", ["-c", script], { encoding: "utf8" });
    expect([status, stderr]).toEqual([0, ""]);
    const all: string[][] = [[]];
    for (const word of stdout.split("\0").slice(0, -1)) {
      if (word === "\u001e") all.push([]);
      else all.at(-1)?.push(word);
    }
    return all.slice(0, -1);
  }

  describe("what the console prints to copy", () => {
    let server: RawServer;
    beforeAll(async () => {
      server = await rawServer((_, response) => {
        response.writeHead(200, { "content-type": "application/json; charset=utf-8" });
        response.end(
          '{"status":true,"detail":[],"result":{"count":7},"credits_used":0,"credits_remaining":9}',
        );
      });
    });
    afterAll(() => server.close());

    const sent = async (argv: readonly string[], file?: string): Promise<string> => {
      const test = testContext({
        env: { HEADCOUNT_API_KEY: "hc_live_x", HEADCOUNT_BASE_URL: server.url },
      });
      if (file !== undefined) writeFileSync(join(test.dir, "segment.json"), file);
      const before = server.seen.length;
      expect([argv, test.stderr(), await main(argv, test.context)]).toEqual([argv, "", 0]);
      // What comes after it are the counts of single values, of which one may match nobody.
      expect(server.seen.length).toBeGreaterThan(before);
      return server.seen[before]?.body ?? "";
    };

    long("the command, the file and the request ask for the very same people", async () => {
      await fc.assert(
        fc.asyncProperty(filters, async (given) => {
          const origin = "http://127.0.0.1:8787";
          const [command = [], curl = [], search = []] = words([
            countCommand(given),
            curlCommand(given, origin),
            searchCommand(given, 25),
          ]);
          const byCommand = await sent(command);
          const byFile = await sent(
            ["count", "-f", "segment.json"],
            JSON.stringify(given, null, 2),
          );
          const wanted = canonical(given);
          expect(canonical(JSON.parse(byCommand).filters)).toBe(wanted);
          expect(canonical(JSON.parse(byFile).filters)).toBe(wanted);
          expect(canonical(JSON.parse(curl.at(-1) ?? "").filters)).toBe(wanted);
          // The command that buys says the filters in the same words.
          const options = command.slice(1);
          const bought = options.length === 0 ? ["--all"] : options;
          expect(search).toEqual(["search", ...bought, "--max-credits", "25", "-o", "people.csv"]);
        }),
        { numRuns: 60 },
      );
    });

    test("any text stays one word of a shell", () => {
      fc.assert(
        fc.property(
          fc.array(
            fc.string({ unit: "binary" }).filter((each) => !/[\0\u001e\ud800-\udfff]/.test(each)),
            { minLength: 1, maxLength: 20 },
          ),
          (texts) => {
            const [found] = words([`headcount ${texts.map(shellWord).join(" ")}`]);
            expect(found).toEqual(texts);
          },
        ),
        { numRuns: 40 },
      );
    });

    test("an address says the segment again, as it was", () => {
      const place = fc.record({
        page: fc.constantFrom("segment", "exports", "account"),
        mode: fc.constantFrom("test" as const, undefined),
        filters,
      });
      fc.assert(
        fc.property(place, (given) => {
          expect(placeInAddress(fragmentOf(given))).toEqual(given);
          expect(
            placeInAddress(new URL(fragmentOf(given), "http://localhost/console/").hash),
          ).toEqual(given);
        }),
      );
      // What is no filter is kept, so that the service refuses it by its name, and nobody is shown everybody.
      const typo = placeInAddress(
        `#/segment?f=${encodeURIComponent('{"departmnt":["Sales"],"country":"france","title":7}')}`,
      );
      expect(typo.filters).toEqual({ departmnt: ["Sales"], country: ["france"], title: ["7"] });
      for (const junk of ["{", "[]", "null", "7"]) {
        const { filters: unread } = placeInAddress(`#/segment?f=${encodeURIComponent(junk)}`);
        expect([unread, inWords(unread)]).toEqual([{ "this address": junk }, "this address"]);
      }
      fc.assert(
        fc.property(fc.string(), (junk) => typeof placeInAddress(`#${junk}`).page === "string"),
      );
    });
  });
});
