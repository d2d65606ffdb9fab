import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { asTyped } from "../support/as-typed.ts";
import { type Database, hasPostgres, openDatabase } from "../support/database.ts";
import { modeOf, type Ran, type User, user } from "../support/export.ts";
import { type ForeignService, startForeignService } from "../support/foreign-service.ts";
import { isLeftOut } from "../support/tools.ts";

// Rows that are put into tables: by who they are, all of them or none.

type Row = Readonly<Record<string, unknown>>;

let service: ForeignService;
let u: User;
beforeEach(async () => {
  service = await startForeignService({ people: 4, tellsCosts: true });
  u = user(service.url, service.key);
});
afterEach(() => service.close());

const record = (id: string | undefined, more: object = {}): object => ({
  ...(id === undefined ? {} : { id }),
  name: `Name of ${id}`,
  connections: 5,
  tags: ["a", "b"],
  updated_at: "2026-01-01T12:00:00.5Z",
  ...more,
});
function gives(...rows: readonly object[]): void {
  service.options.people = rows.length;
  service.options.shape = () => rows;
}
const search = (output: string, ...more: string[]): Promise<Ran> =>
  u.run(asTyped`search --country x --yes --quiet --again --json -o ${output} ${more}`);
const added = ({ stdout, stderr }: Ran): unknown => {
  if (stdout === "") throw new Error(stderr);
  return (JSON.parse(stdout) as { output: { added: number } }).output.added;
};

interface Engine {
  output(table: string): string;
  sql(statement: string): Promise<readonly Row[]>;
}

async function duck(statement: string): Promise<readonly Row[]> {
  const instance = await DuckDBInstance.create(u.file("crm.duckdb"));
  try {
    const connection = await instance.connect();
    const rows = (
      await connection.runAndReadAll(statement)
    ).getRowObjectsJson() as unknown as Row[];
    connection.closeSync();
    return rows;
  } finally {
    instance.closeSync();
  }
}

let database: Database | undefined;
const address = (): URL => new URL(database?.url ?? "");
const postgres = async (statement: string): Promise<readonly Row[]> =>
  (await database?.query(statement)) ?? [];

beforeAll(async () => {
  if (!hasPostgres) return;
  database = await openDatabase();
  process.env.PGPASSWORD = address().password;
});
afterAll(async () => {
  delete process.env.PGPASSWORD;
  await database?.drop();
});

const ENGINES: readonly (readonly [string, Engine])[] = [
  ["DuckDB", { output: (table) => `duckdb:crm.duckdb#${table}`, sql: duck }],
  [
    "PostgreSQL",
    {
      output: (table) =>
        `postgres://headcount@127.0.0.1:${address().port}${address().pathname}#${table}`,
      sql: postgres,
    },
  ],
];

describe.each(ENGINES.filter(([name]) => name === "DuckDB" || hasPostgres))(
  "a table of %s",
  (engine, { output, sql }) => {
    test("is made, and updated by who the rows are; what it has beyond them stays", async () => {
      const people = `upserted`;
      const twice = record(undefined, { name: "nobody", connections: null });
      gives(
        record("p1"),
        record("p2"),
        record(undefined, { network_url: "https://Network.example/in/X/" }),
        twice,
        twice,
      );
      expect(added(await search(output(people)))).toBe(4);
      expect(await sql(`SELECT count(*)::int AS n FROM ${people}`)).toEqual([{ n: 4 }]);
      await sql(
        `ALTER TABLE ${people} ADD COLUMN notes text; UPDATE ${people} SET notes = 'mine' WHERE identity = 'p1'`,
      );
      gives(
        record("p1", { name: "New", connections: 9, tags: ["c"], city: "Rome" }),
        record("p3", { connections: null }),
      );
      expect(added(await search(output(people)))).toBe(1);
      const rows = await sql(
        `SELECT identity, name, connections, tags, notes, city FROM ${people} ORDER BY 1`,
      );
      expect(rows.map(({ identity }) => String(identity).slice(0, 20))).toEqual([
        expect.stringMatching(/^#[0-9a-f]{19}$/),
        "@network.example/in/x".slice(0, 20),
        "p1",
        "p2",
        "p3",
      ]);
      expect(rows[2]).toEqual({
        identity: "p1",
        name: "New",
        connections: "9",
        tags: ["c"],
        notes: "mine",
        city: "Rome",
      });
      expect(rows[4]).toMatchObject({ connections: null, notes: null, city: null });
      const types = await sql(
        `SELECT column_name, data_type FROM information_schema.columns WHERE table_name = '${people}'`,
      );
      const type = Object.fromEntries(
        types.map(({ column_name, data_type }) => [column_name, data_type]),
      );
      expect(String(type.connections).toLowerCase()).toBe("bigint");
      expect(String(type.updated_at).toLowerCase()).toBe("timestamp with time zone");
    });

    test("the same rows again change nothing; runs export and resume write the same", async () => {
      service.options.people = 30;
      expect((await search(output("again"), "--limit", "10")).code).toBe(0);
      const exported = await u.run(["runs", "export", "last", "-o", output("again"), "--json"]);
      expect(added(exported)).toBe(0);
      const [run] = (await u.json(["runs", "list", "--json"])) as {
        id: string;
        format: string;
      }[];
      expect(run?.format).toBe(engine === "DuckDB" ? "duckdb" : "postgres");
      await u.ran(["resume", run?.id ?? "", "--limit", "25", "--max-credits", "25", "--yes"]);
      expect(
        await sql("SELECT count(*)::int AS n, count(DISTINCT identity)::int AS d FROM again"),
      ).toEqual([{ n: 25, d: 25 }]);
      expect(service.charged()).toBe(25);
    });

    test("a table that cannot take them is refused before anything is bought", async () => {
      await sql("CREATE TABLE other (a int)");
      await sql("CREATE TABLE narrow (identity text PRIMARY KEY, name int)");
      for (const [table, more, said] of [
        ["other", [], "has no column identity"],
        ["fine", ["--overwrite"], "--overwrite is about files"],
        ["fine", ["--max-shrink", "10%"], "--max-shrink is about files"],
        ["fine", ["--format", "csv"], "--format is about files"],
        ["fine", ["--csv", "excel"], "--csv excel is about CSV"],
        ["a b", [], "is no name of a table"],
        ["nowhere.fine", [], "nowhere"],
      ] as const) {
        const ran = await search(output(table), ...more);
        expect(ran, ran.stderr).toMatchObject({ code: 2, stdout: "" });
        expect(ran.stderr).toContain(said);
      }
      expect(service.charged()).toBe(0);
      // What comes is known once it is there; then nothing is lost either.
      gives(record("p1"));
      const ran = await search(output("narrow"));
      expect(ran.code, ran.stderr).toBe(5);
      expect(ran.stderr).toContain("its column name is");
      expect((await search(output("narrow"), "--fields", "id,title")).code).toBe(0);
      expect(await sql("SELECT identity, name FROM narrow")).toEqual([
        { identity: "p1", name: null },
      ]);
    });

    test("a value that does not fit leaves the table as it was, and what was paid for is kept", async () => {
      gives(record("p1"), record("p2"));
      expect((await search(output("whole"))).code).toBe(0);
      gives(record("p1", { name: "changed" }), record("p3", { connections: "500+" }));
      const ran = await search(output("whole"));
      expect(ran.code, ran.stderr).toBe(5);
      expect(ran.stderr).toContain("was left as it is");
      expect(await sql("SELECT identity, name FROM whole ORDER BY 1")).toEqual([
        { identity: "p1", name: "Name of p1" },
        { identity: "p2", name: "Name of p2" },
      ]);
      await u.ran(["runs", "export", "last", "-o", "kept.csv"]);
      expect(u.read("kept.csv")).toContain("500+");
    });

    test("--min-rows leaves it as it was", async () => {
      gives(record("p1"));
      const ran = await search(output("few"), "--min-rows", "2");
      expect(ran.code).toBe(5);
      expect(service.charged()).toBe(0);
    });
  },
);

describe("DuckDB files", () => {
  test("appear whole, for their owner alone; one that is no database is left alone", async () => {
    gives(record("p1"));
    expect((await search("duckdb:new.duckdb#people")).code).toBe(0);
    expect(modeOf(u.file("new.duckdb"))).toBe("600");
    expect(readdirSync(u.dir).filter((name) => /\.part|\.wal/.test(name))).toEqual([]);
    writeFileSync(u.file("a.csv"), "id\n1\n");
    writeFileSync(u.file("b.bin"), "x".repeat(10_000));
    const spent = service.charged();
    for (const file of ["a.csv", "b.bin"]) {
      const ran = await search(`duckdb:${file}#people`);
      expect(ran, ran.stderr).toMatchObject({ code: 2, stdout: "" });
      expect(ran.stderr).toContain("nothing was spent");
    }
    expect(readFileSync(u.file("a.csv"), "utf8")).toBe("id\n1\n");
    expect((await search("duckdb:none/x.duckdb#people")).stderr).toContain("does not exist");
    expect(service.charged()).toBe(spent);
  });

  test("a purchase that ends early makes no file", async () => {
    service.options.people = 0;
    expect((await search("duckdb:none.duckdb#people", "--min-rows", "1")).code).toBe(5);
    expect(existsSync(u.file("none.duckdb"))).toBe(false);
  });
});

describe.skipIf(isLeftOut(hasPostgres))("PostgreSQL", () => {
  test("passwords are refused in the address, and are nowhere in a run", async () => {
    const { port, password } = address();
    for (const output of [
      `postgres://headcount:${password}@127.0.0.1:${port}${address().pathname}#t`,
      `postgres://headcount@127.0.0.1:${port}${address().pathname}?password=${password}#t`,
    ]) {
      const ran = await search(output);
      expect(ran.code).toBe(2);
      expect(ran.stderr).toContain("PGPASSWORD");
    }
    gives(record("p1"));
    const ran = await search(`postgres://headcount@127.0.0.1:${port}${address().pathname}/secrets`);
    expect(ran.code, ran.stderr).toBe(0);
    const files = readdirSync(join(u.dir, "state"), {
      recursive: true,
      withFileTypes: true,
    }).filter((f) => f.isFile());
    const all = files
      .map((file) => readFileSync(join(file.parentPath, file.name), "latin1"))
      .join("");
    expect(all).toContain(`${address().pathname}#secrets`);
    expect(all + ran.stdout + ran.stderr).not.toContain(password);
  });

  test("a wrong password, a user without rights, and no server are told before anything is bought", async () => {
    const { port } = address();
    await postgres(
      "CREATE ROLE guest LOGIN PASSWORD 'only-for-this-test'; CREATE TABLE closed (identity text PRIMARY KEY)",
    );
    await postgres("REVOKE CREATE ON SCHEMA public FROM PUBLIC");
    for (const [output, said] of [
      [`postgres://guest@127.0.0.1:${port}${address().pathname}#closed`, "closed"],
      [`postgres://guest@127.0.0.1:${port}${address().pathname}#made`, "permission denied"],
      [`postgres://nobody@127.0.0.1:${port}${address().pathname}#made`, "password"],
    ] as const) {
      const ran = await search(output);
      expect(ran, ran.stderr).toMatchObject({ code: 2, stdout: "" });
      expect(ran.stderr).toContain(said);
    }
    // It may be there tomorrow: what tries again on 8 does.
    const down = await search("postgres://guest@127.0.0.1:1/postgres#made");
    expect(down).toMatchObject({
      code: 8,
      stdout: "",
      stderr: expect.stringContaining("ECONNREFUSED"),
    });
    expect(service.charged()).toBe(0);
  });

  test("texts that it cannot hold come as near as they can", async () => {
    gives(record("p1", { name: "a\u0000b\ud800" }));
    expect(
      (await search(`postgres://headcount@127.0.0.1:${address().port}${address().pathname}#odd`))
        .code,
    ).toBe(0);
    expect(await postgres("SELECT name FROM odd")).toEqual([{ name: "a\ufffdb\ufffd" }]);
  });
});

test("a file beside which nothing may be written is refused", async () => {
  if (process.getuid?.() === 0) return;
  chmodSync(u.dir, 0o500);
  expect((await search("duckdb:x.duckdb#t")).stderr).toContain("may not be written");
});
