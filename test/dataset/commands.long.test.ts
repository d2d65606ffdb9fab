import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { main } from "../../src/cli/main.ts";
import { openClickHouse } from "../../src/dataset/clickhouse/engine.ts";
import { openDataset } from "../../src/dataset/embedded/open.ts";
import { asTyped } from "../support/as-typed.ts";
import { hasClickHouseServer, startCluster } from "../support/clickhouse.ts";
import { testContext } from "../support/client.ts";
import { tempFolder } from "../support/dataset.ts";
import { freePort } from "../support/free-port.ts";
import { long } from "../support/long.ts";
import { isLeftOut } from "../support/tools.ts";

async function headcount(cwd: string, argv: readonly string[], tty = false) {
  const tested = testContext({ tty, cwd });
  const code = await main(argv, tested.context);
  return { code, stdout: tested.stdout(), stderr: tested.stderr() };
}

const people = async (data: string): Promise<number> => {
  const engine = await openDataset(join(data, "dataset"));
  const count = await engine.count({ exact: {}, prefix: {}, range: {} });
  await engine.close();
  return count;
};

describe("headcount service generate", () => {
  long("makes a dataset and says what, in words or as JSON", async () => {
    const folder = await tempFolder();
    const words = await headcount(folder, asTyped`service generate --people 700 --data demo`);
    expect(words).toMatchObject({ code: 0, stdout: "" });
    expect(words.stderr).toMatch(
      /^Generated 700 people and 100 companies in [\d.]+ s \(dataset \d{8}-\d{6}-[0-9a-f]{6}\)\.\n$/,
    );
    const json = await headcount(
      folder,
      asTyped`service generate --people 70 --seed 9 --data demo --json`,
    );
    expect({ code: json.code, stderr: json.stderr }).toEqual({ code: 0, stderr: "" });
    expect(JSON.parse(json.stdout)).toEqual({
      version: expect.stringMatching(/^\d{8}-\d{6}-[0-9a-f]{6}$/),
      people: 70,
      companies: 10,
      seed: 9,
      seconds: expect.any(Number),
    });
    expect(await people(join(folder, "demo"))).toBe(70);
    // What people are is nobody's business but the owner's.
    expect((await stat(join(folder, "demo/dataset"))).mode & 0o077).toBe(0);
  });

  test.each([
    [[], /--people is missing/],
    [["--people", "0"], /--people takes a whole number from 1 to 4000000000, not "0"/],
    [["--people", "many"], /--people takes a whole number/],
    [
      ["--people", "10", "--seed", "-1"],
      /--seed takes a whole number from 0 to 4294967295, not "-1"/,
    ],
  ])("refuses %j", async (options, message) => {
    const folder = await tempFolder();
    const { code, stdout, stderr } = await headcount(
      folder,
      asTyped`service generate --data demo ${options}`,
    );
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(message);
    expect(await readdir(folder)).toEqual([]);
  });

  long("shows progress on a terminal and leaves one line", async () => {
    // A terminal of CI gets no line that moves.
    vi.stubEnv("CI", undefined);
    const folder = await tempFolder();
    const { stderr } = await headcount(
      folder,
      ["service", "generate", "--people", "9000", "--data", "demo"],
      true,
    );
    expect(stderr).toMatch(/Reading|Sorting|Writing/);
    // The line of progress is gone, and the cursor is back.
    expect(stderr.slice(stderr.lastIndexOf("\x1b[?25h") + 6)).toMatch(/^Generated 9,000 people/);
    const quiet = await headcount(
      folder,
      ["-q", "service", "generate", "--people", "500", "--data", "demo"],
      true,
    );
    expect(quiet.stderr).toBe("");
    vi.unstubAllEnvs();
  });
});

describe("headcount service import with a map", () => {
  const csv = `Person ID;Full Name;jobTitle;Dept;Connections
1;Ada Lovelace;Engineer;sales;500
2;Grace Hopper;Admiral;Navy;many
3;Edsger Dijkstra;Professor;Navy
`;

  test("from a foreign file to a dataset with the map that was proposed", async () => {
    const folder = await tempFolder();
    await writeFile(join(folder, "x.csv"), csv);
    const unmapped = await headcount(folder, asTyped`service import --people x.csv --data demo`);
    expect(unmapped.code).toBe(2);
    const proposed = /--map FILE: (\{.*\})\n/.exec(unmapped.stderr)?.[1] ?? "no map";
    expect(JSON.parse(proposed)).toEqual({
      people: { id: "Person ID", name: "Full Name", title: "jobTitle", department: "Dept" },
    });
    await writeFile(join(folder, "map.json"), '{"people": {"id": "Person ID"}}');
    const some = await headcount(
      folder,
      asTyped`service import --people x.csv --map map.json --dry-run`,
    );
    expect(some.stderr).toContain(
      '--map that takes them: {"people":{"name":"Full Name","title":"jobTitle"',
    );
    await writeFile(join(folder, "map.json"), proposed);
    const plain = await headcount(
      folder,
      asTyped`service import --people x.csv --map map.json --data demo`,
    );
    expect(plain).toMatchObject({ code: 0, stdout: "" });
    expect(plain.stderr).toMatch(/^Imported 2 people in [\d.]+ s, [\d,]+ rows\/s/);
    const detail = "4 cells where the header has 5";
    expect(plain.stderr).toContain(
      `\nRefused 1 row of people: broken_line 1\n  x.csv, line 4: ${detail}\n`,
    );
    expect(plain.stderr).toContain(
      `\nRefused rows, with reasons: ${join(folder, "demo/import-rejects.ndjson")}\n`,
    );
    expect(plain.stderr).toContain("\nDepartments read as Other: 1, such as Navy (1)\n");
    const rejected = join(folder, "demo/import-rejects.ndjson");
    expect(JSON.parse(await readFile(rejected, "utf8"))).toMatchObject({
      file: "x.csv",
      line: 4,
      reason: "broken_line",
      row: "3;Edsger Dijkstra;Professor;Navy",
    });
    expect((await stat(rejected)).mode & 0o077).toBe(0);
    const json = await headcount(
      folder,
      asTyped`service import --people x.csv --map map.json --data demo --json`,
    );
    expect(JSON.parse(json.stdout)).toEqual({
      version: expect.any(String),
      people: {
        ...{ files: 1, rows: 3, taken: 2, refused: 1, reasons: { broken_line: 1 } },
        examples: [
          { file: "x.csv", line: 4, reason: "broken_line", column: null, value: null, detail },
        ],
        read: [
          {
            file: "x.csv",
            format: "csv",
            rows: 3,
            encoding: "utf-8",
            delimiter: ";",
            skipped_lines: 0,
          },
        ],
      },
      companies: {
        files: 0,
        rows: 0,
        taken: 0,
        refused: 0,
        reasons: {},
        examples: [],
        read: [],
        derived: 0,
      },
      departments: { unknown: 1, missing: 0, examples: [{ value: "Navy", people: 1 }] },
      cleared: { "people.connections": { values: 1, examples: [{ value: "many", rows: 1 }] } },
      rejects: join(folder, "demo/import-rejects.ndjson"),
      seconds: expect.any(Number),
    });
    expect(await people(join(folder, "demo"))).toBe(2);
  });

  test("bad input is exit 2 with the name, a hint, and the old dataset kept", async () => {
    const folder = await tempFolder();
    await writeFile(join(folder, "ok.csv"), "id,name\n1,Ada\n");
    await writeFile(join(folder, "ab.csv"), "a,b\n1,2\n");
    await headcount(folder, ["service", "import", "--people", "ok.csv", "--data", "demo"]);
    const before = await readFile(join(folder, "demo/dataset/CURRENT"), "utf8");
    const bad = await headcount(folder, asTyped`service import --people ab.csv --data demo --json`);
    expect({ code: bad.code, stdout: bad.stdout }).toEqual({ code: 2, stdout: "" });
    expect(JSON.parse(bad.stderr)).toMatchObject({
      error: {
        code: "bad_input",
        exit_code: 2,
        message: expect.stringMatching(/^ab\.csv has no usable column/),
        hint: expect.stringMatching(/which is which in a JSON file, --map FILE/),
      },
    });
    for (const [argv, message] of [
      [["--people", "nope.csv"], /nope\.csv does not exist/],
      [["--people", "."], /is a folder/],
      [["--people", "ok.csv", "--map", "nope.json"], /the map nope\.json cannot be read/],
      [["--people", "ok.csv", "--companies", "nope.csv"], /nope\.csv does not exist/],
      [[], /--people is missing/],
    ] as const) {
      const { code, stderr } = await headcount(folder, asTyped`service import ${argv} --data demo`);
      expect(code).toBe(2);
      expect(stderr).toMatch(message);
    }
    expect(await readFile(join(folder, "demo/dataset/CURRENT"), "utf8")).toBe(before);
    expect(await people(join(folder, "demo"))).toBe(1);
  });

  test("--dataset takes a ClickHouse that answers", async () => {
    const folder = await tempFolder();
    await writeFile(join(folder, "ok.csv"), "id,name\n1,Ada\n");
    const port = await freePort();
    for (const [place, code, message] of [
      ["mysql://localhost/x", 2, /not a ClickHouse address; the form is clickhouse:\/\//],
      ["clickhouse://host/db?shards=2", 2, /unknown option "shards" in the ClickHouse address/],
      [`clickhouse://127.0.0.1:${port}/default`, 8, /no ClickHouse server answers/],
    ] as const) {
      const argv = asTyped`service import --people ok.csv --data demo --dataset ${place}`;
      const answer = await headcount(folder, argv);
      expect({ place, code: answer.code }).toEqual({ place, code });
      expect(answer.stderr).toMatch(message);
    }
  });

  long.skipIf(isLeftOut(hasClickHouseServer))(
    "into ClickHouse, leaving the data folder's own dataset alone",
    async () => {
      const folder = await tempFolder();
      await writeFile(
        join(folder, "x.csv"),
        "id,name,department\n1,Ada,sales\n2,Grace,Navy\n3,,\n",
      );
      const cluster = await startCluster(1);
      try {
        const answer = await headcount(
          folder,
          asTyped`service import --people x.csv --data demo --dataset ${cluster.url} --json`,
        );
        expect(answer).toMatchObject({ code: 0, stderr: "" });
        expect(JSON.parse(answer.stdout)).toMatchObject({ people: { taken: 3, refused: 0 } });
        const engine = await openClickHouse(cluster.url);
        const page = await engine.people(
          { exact: {}, prefix: {}, range: {} },
          { offset: 0, limit: 10 },
        );
        expect(
          page.records.map((record) => (JSON.parse(record.toString()) as { id: string }).id),
        ).toEqual(["2", "3", "1"]);
        await engine.close();
        expect(await readdir(join(folder, "demo"), { recursive: true })).toEqual([
          "clickhouse-import",
          "clickhouse-import/lock.db",
        ]);
        await writeFile(join(folder, "y.csv"), "id,name\n1,Ada\n1,Ada again\n");
        const argv = asTyped`service import --people y.csv --data demo --dataset ${cluster.url}`;
        const dry = await headcount(folder, [...argv, "--dry-run"]);
        expect(dry.stderr).toMatch(
          /Would import 1 person .*the dataset is as it was[\s\S]*Refused 1 row of people: duplicate_id 1/,
        );
        const again = await openClickHouse(cluster.url);
        expect(again.info().people).toBe(3);
        await again.close();
        const kept = await headcount(folder, [...argv, "--keep", "2"]);
        expect(kept).toMatchObject({
          code: 2,
          stderr: expect.stringMatching(/servers keep one version before/),
        });
      } finally {
        await cluster.close();
      }
    },
  );

  test("control characters of a file do not reach the terminal", async () => {
    const folder = await tempFolder();
    const rows = 'id,name,department,"Job Title\x07"\n1,Ada,"\x1b[31mred\x07",x\n';
    await writeFile(join(folder, "x.csv"), rows);
    const told = await headcount(
      folder,
      ["service", "import", "--people", "x.csv", "--dry-run"],
      true,
    );
    // Before it stands the progress, which is ours.
    const stderr = told.stderr.slice(told.stderr.indexOf("Would import"));
    expect(stderr).toContain("Job Title");
    expect(stderr).not.toMatch(/[\x07\x1b]/);
    expect(stderr).toContain("red");
  });
});
