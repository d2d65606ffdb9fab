import {
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { asTyped } from "../support/as-typed.ts";
import { modeOf, readCsv, type User, user, visibleFiles } from "../support/export.ts";
import { type ForeignService, startForeignService } from "../support/foreign-service.ts";
import { long } from "../support/long.ts";

// What is there stays, unless the user says otherwise and the new file is a good one.

let service: ForeignService;
let u: User;
beforeEach(async () => {
  service = await startForeignService({ people: 300, tellsCosts: true });
  u = user(service.url, service.key);
});
afterEach(() => service.close());

const CRON = ["search", "--country", "x", "--max-credits", "500", "--overwrite", "--quiet"];
const cron = (file: string, ...more: string[]) => u.run([...CRON, "-o", file, ...more]);
const rows = (): number => readCsv(u.read("weekly.csv")).length;

describe("a good file and a bad result", () => {
  long("nothing never replaces something, and nothing is spent; --min-rows 0 does", async () => {
    for (const file of ["weekly.csv", "weekly.ndjson", "weekly.json", "weekly.parquet"]) {
      service.options.people = 300;
      expect((await cron(file)).code).toBe(0);
      const before = readFileSync(u.file(file));
      const spent = service.charged();
      service.options.people = 0;
      const ran = await cron(file);
      expect(ran).toMatchObject({ code: 5, stdout: "" });
      expect(ran.stderr).toContain(
        `0 rows would take the place of the 300 in ${u.file(file)}: it stays as it is; nothing was spent`,
      );
      expect(ran.stderr).toContain("--min-rows 0");
      expect(readFileSync(u.file(file)).equals(before)).toBe(true);
      expect((await cron(file, "--min-rows", "0")).code).toBe(0);
      expect(readFileSync(u.file(file)).equals(before)).toBe(false);
      // What is empty may be replaced by what is empty.
      expect((await cron(file)).code).toBe(0);
      expect(service.charged()).toBe(spent);
    }
    expect(visibleFiles(u).sort()).toEqual([
      "weekly.csv",
      "weekly.json",
      "weekly.ndjson",
      "weekly.parquet",
    ]);
    expect((await u.run(["runs", "list", "--json"])).stdout).not.toContain("unfinished");
  });

  test("a price above the cap leaves the file as it is", async () => {
    expect((await cron("weekly.csv")).code).toBe(0);
    service.options.price = 1_000;
    service.options.balance += 1_000_000;
    const ran = await cron("weekly.csv");
    // Over a budget, which is said as such: no flag about few rows would help.
    expect(ran.code).toBe(4);
    expect(ran.stderr).toContain("nothing was spent");
    expect(rows()).toBe(300);
  });

  test("--max-shrink and --min-rows are looked at before anything is bought", async () => {
    expect((await cron("weekly.csv", "--max-shrink", "50%", "--min-rows", "100")).code).toBe(0);
    const spent = service.charged();
    service.options.people = 149;
    const shrunk = await cron("weekly.csv", "--max-shrink", "50%");
    expect(shrunk.code).toBe(5);
    expect(shrunk.stderr).toContain("149 rows instead of the 300");
    expect(shrunk.stderr).toContain("--max-shrink 50% fewer");
    const few = await cron("weekly.csv", "--min-rows", "150");
    expect(few.code).toBe(5);
    expect(few.stderr).toContain("149 rows: fewer than --min-rows 150; nothing was spent");
    expect({ rows: rows(), charged: service.charged() }).toEqual({ rows: 300, charged: spent });
    expect((await cron("weekly.csv", "--max-shrink", "51%")).code).toBe(0);
    expect(rows()).toBe(149);
    // A new file has nothing to shrink from, and its fewest rows all the same.
    expect((await cron("new.csv", "--max-shrink", "1")).code).toBe(0);
    expect((await cron("other.csv", "--min-rows", "150")).code).toBe(5);
    expect(existsSync(u.file("other.csv"))).toBe(false);
    expect((await cron("x.csv", "--max-shrink", "200%")).code).toBe(2);
  });

  test("a service that gives fewer than it counted: the rows are kept, the old file stays, the next run is a fresh one", async () => {
    expect((await cron("weekly.csv")).code).toBe(0);
    // Half of the rows come twice.
    service.options.duplicateEvery = 2;
    for (let week = 0; week < 2; week++) {
      const ran = await cron("weekly.csv", "--max-shrink", "20%");
      expect(ran.code).toBe(5);
      expect(rows()).toBe(300);
    }
  });

  test("rows are counted in files of others too; what cannot be counted has some", async () => {
    const files: Readonly<Record<string, readonly [text: string, rows: string]>> = {
      "a.json": ['[{"id":1},{"id":2}]', "the 2 in"],
      "b.json": ['[\n  {\n    "id": 1\n  }\n]\n', "the 1 in"],
      "c.json": ["not JSON", "a file whose rows cannot be counted"],
      "d.csv": ["id\r\n1\r\n\r\n2", "the 2 in"],
      "e.jsonl": ['{"id":1}\n\n{"id":2}', "the 2 in"],
      "f.parquet": ["not Parquet", "a file whose rows cannot be counted"],
    };
    service.options.people = 0;
    for (const [file, [text, rows]] of Object.entries(files)) {
      writeFileSync(u.file(file), text);
      const ran = await cron(file);
      expect(ran.code, file).toBe(5);
      expect(ran.stderr, file).toContain(rows);
      expect(u.read(file)).toBe(text);
    }
    for (const [file, text] of [
      ["g.csv", "id,name\n"],
      ["h.json", "[]\n"],
      ["i.ndjson", ""],
    ] as const) {
      writeFileSync(u.file(file), text);
      expect((await cron(file)).code, file).toBe(0);
    }
  });

  test("runs export is guarded as well", async () => {
    expect((await cron("weekly.csv", "--limit", "10")).code).toBe(0);
    writeFileSync(u.file("old.csv"), `id,name\n${'"a\nb",x\n'.repeat(30)}`);
    const shrunk = await u.run(asTyped`runs export last -o old.csv --overwrite --max-shrink 50%`);
    expect(shrunk).toMatchObject({ code: 5 });
    expect(shrunk.stderr).toContain("10 rows instead of the 30");
    // Of processes that are gone: no process has so high a number.
    for (const what of ["run-export", "run-mcp", "run-forget"])
      writeFileSync(u.file(`.old.csv.${what}-4194305.part`), "");
    await u.ran(["runs", "export", "last", "-o", "old.csv", "--overwrite"]);
    expect(readdirSync(u.dir).filter((name) => name.includes(".part"))).toEqual([]);
  });

  test("--min-rows on stdout ends with 5 after the rows", async () => {
    await u.ends(5, asTyped`search --country x --limit 3 --yes --min-rows 4 --format ndjson`);
  });
});

describe("a name that no file can have", () => {
  /** Each door that writes a file by its name. */
  const DOORS: Readonly<Record<string, (file: string) => readonly string[]>> = {
    rows: (file) => [...BUY, "-o", file],
    receipt: (file) => [...BUY, "-o", "o.csv", "--receipt", file],
    misses: (file) => asTyped`enrich a.example b.example --yes -o c.csv --misses ${file}`,
    table: (file) => asTyped`search --country x --limit 2 --yes -o duckdb:${file}#people`,
    export: (file) => asTyped`runs export last -o ${file}`,
    owned: (file) => asTyped`owned export -o ${file}`,
    ids: (file) => ["search", "--country", "x", "--ids", file],
    job: (file) => {
      const job = { filters: { country: "x" }, max_credits: 5, output: file, command: "search" };
      writeFileSync(u.file("jobs.json"), JSON.stringify({ jobs: { job } }));
      return asTyped`jobs run job --file jobs.json`;
    },
  };
  const BUY = ["search", "--country", "x", "--limit", "2", "--yes", "--format", "csv"];

  /** What is there, and what it is told as. */
  const NAMES: Readonly<Record<string, readonly [name: string, said: string | RegExp]>> = {
    "a folder that is not there": ["new.csv/", "new.csv is a folder"],
    "a file as a folder": ["there.csv/", "there.csv is a folder"],
    "below a file": ["there.csv/x.csv", "is not a folder"],
    "in no folder": ["no/such/x.csv", "does not exist"],
    "a link to nothing": ["dangling.csv", "is a symbolic link to nothing"],
    "links in a circle": ["round.csv", "is a symbolic link to nothing"],
    "longer than a draft's name may be": [`${"x".repeat(220)}.csv`, "is longer than 210 bytes"],
    "longer than any name": [`${"x".repeat(260)}.csv`, "is longer than 210 bytes"],
    "of few letters and many bytes": [`${"é".repeat(110)}.csv`, "is longer than 210 bytes"],
    "a device": ["/dev/null", "is no regular file"],
  };

  beforeEach(async () => {
    await u.ran([...BUY, "-o", "first.csv"]);
    writeFileSync(u.file("there.csv"), "mine");
    symlinkSync(u.file("nowhere.csv"), u.file("dangling.csv"));
    symlinkSync(u.file("round.csv"), u.file("circle.csv"));
    symlinkSync(u.file("circle.csv"), u.file("round.csv"));
  });

  test.each(Object.entries(DOORS))("%s: told with 2 before anything is asked", async (_, door) => {
    const before = { files: visibleFiles(u), spent: service.charged() };
    for (const [kind, [name, said]] of Object.entries(NAMES)) {
      const argv = door(name);
      const { code, stderr } = await u.run(argv);
      expect([kind, code, stderr]).toEqual([kind, 2, expect.stringMatching(said)]);
      expect(stderr).not.toMatch(/\bE[A-Z]{4,}:/);
    }
    const files = visibleFiles(u).filter((name) => name !== "jobs.json");
    expect({ files, spent: service.charged() }).toEqual(before);
  });

  test.each(["receipt", "misses", "table", "job"])("- is stdout, and no file: %s", async (door) => {
    const spent = service.charged();
    await u.ends(2, [...(DOORS[door]?.("-") ?? [])], "- is no regular file");
    expect(existsSync(u.file("-"))).toBe(false);
    expect(service.charged()).toBe(spent);
  });
});

describe("files that are there", () => {
  test("one that appears while a run is at work is not overwritten; the run is kept", async () => {
    service.options.delayMs = 50;
    const running = u.run(
      asTyped`search --country x --yes -o o.csv --per-page 100 --concurrency 1`,
    );
    while (service.paidCalls() < 1) await new Promise((resolve) => setTimeout(resolve, 5));
    writeFileSync(u.file("o.csv"), "mine");
    const ran = await running;
    expect(ran.code).toBe(5);
    expect(ran.stderr).toContain("o.csv appeared while this was at work: it stays as it is");
    expect(ran.stderr).toContain("300 of 300 rows are paid for and kept in run");
    expect(u.read("o.csv")).toBe("mine");
    await u.ran(["runs", "export", "last", "-o", "else.csv"]);
    expect(service.charged()).toBe(300);
  });

  test("a receipt and misses are not written over what is there, nor twice to one file, nor through a link", async () => {
    const buy = ["search", "--country", "x", "--limit", "2", "--yes", "-o", "o.csv"];
    writeFileSync(u.file("precious.txt"), "mine");
    await u.ends(2, [...buy, "--receipt", "precious.txt"], "precious.txt exists already");
    expect((await u.run([...buy, "--receipt", "o.csv"])).stderr).toContain(
      "--output and --receipt name the same file",
    );
    const companies = ["enrich", "a.example", "b.example", "--yes", "-o", "c.csv"];
    await u.ends(2, [...companies, "--misses", "precious.txt"]);
    await u.ends(2, [...companies, "--misses", "m.txt", "--receipt", "m.txt"]);
    expect({ spent: service.charged(), text: u.read("precious.txt") }).toEqual({
      spent: 0,
      text: "mine",
    });
    // The old name of a half-written file is no way through a link.
    writeFileSync(u.file("victim.txt"), "mine");
    symlinkSync(u.file("victim.txt"), u.file("r.json.tmp"));
    await u.ran([...buy, "--receipt", "r.json"]);
    expect(u.read("victim.txt")).toBe("mine");
    expect(lstatSync(u.file("r.json.tmp")).isSymbolicLink()).toBe(true);
    expect(modeOf(u.file("r.json"))).toBe("600");
    await u.ran([...buy, "--receipt", "r.json", "--overwrite"]);
  });

  test("behind a link, the file itself is written: an output as a receipt", async () => {
    for (const name of ["o.csv", "r.json"]) {
      writeFileSync(u.file(`real-${name}`), "old");
      symlinkSync(u.file(`real-${name}`), u.file(name));
    }
    const buy = ["search", "--country", "x", "--limit", "10", "--yes", "--overwrite"];
    await u.ran([...buy, "-o", "o.csv", "--receipt", "r.json"]);
    for (const name of ["o.csv", "r.json"]) {
      expect(lstatSync(u.file(name)).isSymbolicLink()).toBe(true);
      expect([u.read(`real-${name}`).length > 100, modeOf(u.file(`real-${name}`))]).toEqual([
        true,
        "600",
      ]);
    }
  });

  test("a run that is continued writes its own receipt again", async () => {
    service.options.mishap = (call) => (call === 2 ? "402" : undefined);
    const buy = asTyped`search --country x --yes -o o.csv --receipt r.json --require-complete`;
    await u.ends(5, [...buy, "--limit", "10"]);
    expect(JSON.parse(u.read("r.json"))).toMatchObject({ complete: false });
    service.options.mishap = () => undefined;
    await u.ran(buy);
    expect(JSON.parse(u.read("r.json"))).toMatchObject({ complete: true, received: 300 });
  });
});
