import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { main } from "../../src/cli/main.ts";
import { ReloadingEngine } from "../../src/dataset/embedded/reloading-engine.ts";
import { testContext } from "../support/client.ts";
import { tempFolder } from "../support/dataset.ts";

const ALL = { exact: {}, prefix: {}, range: {} };

let folder: string;
beforeEach(async () => {
  folder = await tempFolder();
});

async function service(...argv: string[]) {
  const tested = testContext({ cwd: folder });
  const code = await main(["service", ...argv, "--data", "demo"], tested.context);
  return { code, stdout: tested.stdout(), stderr: tested.stderr() };
}

async function load(name: string, rows: readonly object[], ...more: string[]): Promise<string> {
  await writeFile(join(folder, name), rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
  const { code, stdout, stderr } = await service("import", "--people", name, "--json", ...more);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return (JSON.parse(stdout) as { version: string }).version;
}

const list = async (): Promise<Record<string, unknown>[]> =>
  JSON.parse((await service("dataset", "list", "--json")).stdout) as Record<string, unknown>[];

const ada = { id: "1", name: "Ada Lovelace", title: "Analyst", company_name: "Engines" };
const grace = { id: "2", name: "Grace Hopper", title: "Admiral", company_domain: "navy.example" };
const edsger = { id: "3", name: "Edsger Dijkstra", connections: 7 };

test("versions are listed, taken back and taken forth again, and a service that runs follows", async () => {
  expect(await service("dataset")).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/no dataset in/),
  });
  const first = await load("one.ndjson", [ada, grace]);
  expect(await service("dataset", "rollback")).toMatchObject({
    code: 6,
    stderr: expect.stringMatching(
      /no version before the one that is served is kept\n.*service dataset list --data/s,
    ),
  });
  const second = await load("two.ndjson", [edsger]);
  expect(await list()).toEqual([
    {
      ...{ version: second, serves: true, people: 1, companies: 0, source: "two.ndjson" },
      ...{ created_at: expect.stringMatching(/^\d{4}-/), bytes: expect.any(Number) },
    },
    expect.objectContaining({
      version: first,
      serves: false,
      people: 2,
      companies: 2,
      source: "one.ndjson",
    }),
  ]);
  expect((await service("dataset", "list")).stdout).toMatch(
    new RegExp(`^version,serves,created_at,people,companies,bytes,source\n${second},true,`),
  );
  let now = 0;
  const engine = await ReloadingEngine.open(join(folder, "demo/dataset"), { now: () => now });
  for (const [version, people] of [
    [first, 2],
    [second, 1],
    [first, 2],
  ] as const) {
    expect((await service("dataset", "rollback")).stderr).toMatch(
      new RegExp(`^Version ${version} is served again \\(${people} `),
    );
    now += 1_000;
    expect(await engine.count(ALL)).toBe(people);
    expect(engine.info().version).toBe(version);
  }
  await engine.close();
  // An import after a rollback keeps what was served, not what was taken back.
  const third = await load("three.ndjson", [ada]);
  expect((await list()).map(({ version }) => version)).toEqual([third, first]);
  expect(await service("dataset", "rollback", "nonsense")).toMatchObject({ code: 6 });
  expect((await service("dataset", "rollback", third)).stderr).toContain(
    "is the one that is served",
  );
});

test("as many old versions are kept as are wanted, on disk too", async () => {
  const versions = ["a", "b", "c", "d"];
  for (const [index, name] of versions.entries())
    versions[index] = await load(`${name}.ndjson`, [ada], "--keep", "2");
  const [, b, c, d] = versions;
  expect((await list()).map(({ version }) => version)).toEqual([d, c, b]);
  const e = await load("e.ndjson", [ada], "--keep", "0");
  expect((await list()).map(({ version }) => version)).toEqual([e]);
  expect(
    (await readdir(join(folder, "demo/dataset"))).filter((name) => name.startsWith("v-")),
  ).toEqual([`v-${e}`]);
  expect(await service("import", "--people", "a.ndjson", "--keep", "many")).toMatchObject({
    code: 2,
  });
});

test("no version is kept with somebody who was suppressed", async () => {
  await load("one.ndjson", [ada, grace]);
  await load("two.ndjson", [grace, edsger]);
  // Only the version before has her.
  await writeFile(join(folder, "gone.txt"), "1\n");
  expect(await service("suppress", "import", "gone.txt")).toMatchObject({ code: 0 });
  expect(await list()).toHaveLength(1);
  expect(await service("dataset", "rollback")).toMatchObject({ code: 6 });
});
