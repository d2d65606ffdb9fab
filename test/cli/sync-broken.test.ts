import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, test } from "vitest";
import { tempDir } from "../support/client.ts";
import { runIds, type User } from "../support/export.ts";
import { ok, ran } from "../support/ran.ts";
import { testService } from "../support/serving.ts";
import { filesBelow, machineNamed, teamOf } from "../support/team.ts";

const service = testService({ people: 400 });

const team = (...names: string[]) => teamOf(names, service.url, service.key);
const buy = (department: string) =>
  ["search", "--department", department, "--limit", "5", "--yes", "--format", "ndjson"] as const;

describe("headcount sync, where something is broken", () => {
  test("a torn file of a run goes once its machine has given the run as it is by now", async () => {
    const { folder, machines } = await team("laptop", "ci");
    const [laptop, ci] = machines as [User, User];
    await ok(laptop, buy("Sales"));
    await ok(laptop, ["sync", folder]);
    const [torn = ""] = readdirSync(join(folder, "runs"));
    writeFileSync(join(folder, "runs", torn), readFileSync(join(folder, "runs", torn)).subarray(9));
    await ok(laptop, ["resume", "last", "--limit", "8", "--yes"]);
    await laptop.run(["sync", folder]);

    await ok(ci, ["sync", folder]);
    await ok(laptop, ["sync", folder]);
    expect(readdirSync(join(folder, "runs"))).toEqual([expect.not.stringContaining(torn)]);
    expect(await ok(ci, ["count", "--owned"])).toBe("8\n");
  });

  test("a file that is as long as it should be is made whole, and of one that is nothing is said", async () => {
    const { folder, machines } = await team("laptop");
    const [laptop] = machines as [User];
    await ok(laptop, buy("Sales"));
    await ok(laptop, ["sync", folder]);
    const [name = ""] = readdirSync(join(folder, "runs"));
    const path = join(folder, "runs", name);
    const whole = readFileSync(path);
    writeFileSync(path, Buffer.alloc(whole.length));
    expect(await ok(laptop, ["sync", folder])).toBe("took in nothing; gave 1 run\n");

    // Copied to where it is: its time alone is another.
    utimesSync(path, 1, 1);
    expect(await ok(laptop, ["sync", folder])).toBe("took in nothing; gave nothing\n");
  });

  test("two files that stand under each other's name are left and named, and nobody of them is owned", async () => {
    const { folder, machines } = await team("laptop", "ci");
    const [laptop, ci] = machines as [User, User];
    await ok(laptop, buy("Sales"));
    await ok(laptop, buy("Legal"));
    await ok(laptop, ["sync", folder]);
    const paths = readdirSync(join(folder, "runs")).map((name) => join(folder, "runs", name));
    const whole = paths.map((path) => readFileSync(path));
    for (const [at, path] of paths.entries()) writeFileSync(path, whole.at(at - 1) ?? "");

    const mixed = await ci.run(["sync", folder]);
    expect(mixed.code).toBe(5);
    for (const path of paths) expect(mixed.stderr).toContain(basename(path));
    expect(runIds(ci)).toEqual([]);
    expect(await ok(ci, ["count", "--owned"])).toBe("0\n");
  });

  test("what is no file is left and named: of a pipe nobody would see the end", async () => {
    const { folder, key, machines } = await team("laptop");
    const [laptop] = machines as [User];
    await ok(laptop, ["sync", folder]);
    const name = `20260101-000000-00000000000.${"2".repeat(32)}`;
    mkdirSync(join(folder, "runs", name), { recursive: true });
    await laptop.ends(5, ["sync", folder], `runs/${name}: not whole`);

    const head = join(folder, "headcount-sync.json");
    rmSync(head);
    mkdirSync(head);
    const ci = machineNamed("ci", service.url, service.key, { HEADCOUNT_SYNC_KEY: key });
    await ci.ends(2, ["sync", folder], "is not whole yet");
  });

  test("a damaged run is named and kept back; all else is synced, and others are forgotten", async () => {
    const { folder, machines } = await team("laptop", "ci");
    const [laptop, ci] = machines as [User, User];
    await ok(laptop, buy("Sales"));
    const legal = (await ok(laptop, buy("Legal"))).split("\n");
    const gone = JSON.parse(legal[0] ?? "") as { id: string };
    const [damaged = ""] = runIds(laptop);
    const journal = laptop.file(join("state", "runs", damaged, "journal.ndjson"));
    writeFileSync(journal, readFileSync(journal, "utf8").replace('"Sales"', '"sales"'));

    for (let turn = 0; turn < 2; turn++)
      expect(await laptop.run(["sync", folder])).toMatchObject({
        code: 5,
        stderr: expect.stringMatching(`run ${damaged}: a page of run ${damaged} is damaged`),
      });
    await ok(ci, ["sync", folder]);
    expect(await ok(ci, ["count", "--owned"])).toBe("5\n");

    await ok(ci, ["forget", gone.id, "--yes"]);
    await ok(ci, ["sync", folder]);
    await laptop.ends(5, ["sync", folder]);
    const still = filesBelow(laptop.dir).filter((path) =>
      readFileSync(path, "latin1").includes(gone.id),
    );
    expect(still).toEqual([]);
  });

  test("a folder in a work tree of git is refused, unless git ignores it", async () => {
    const tree = tempDir("headcount-tree-");
    // What `git init` makes.
    for (const part of ["objects", "refs/heads"])
      mkdirSync(join(tree, ".git", part), { recursive: true });
    writeFileSync(join(tree, ".git/HEAD"), "ref: refs/heads/main\n");
    const folder = join(tree, "team");
    mkdirSync(folder);
    const laptop = machineNamed("laptop", service.url, service.key);
    const begin = ["sync", folder, "--insecure-storage"];
    await laptop.ends(2, begin, "in a work tree of git");
    expect(readdirSync(folder)).toEqual([]);

    writeFileSync(join(tree, ".gitignore"), "team\n");
    await ok(laptop, begin);
  });

  test("whoever may use the folder may use what is in it", async () => {
    const folder = tempDir("headcount-group-");
    chmodSync(folder, 0o770);
    const laptop = machineNamed("laptop", service.url, service.key);
    await ok(laptop, buy("Sales"));
    await ok(laptop, ["sync", folder, "--insecure-storage"]);
    const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);
    expect(new Set(filesBelow(folder).map(modeOf))).toEqual(new Set(["660"]));
    expect(modeOf(join(folder, "runs"))).toBe("770");
  });

  test.each([
    ["", /the folder is empty text/],
    ["state/machine", /is not a folder/],
  ])("%j is refused", async (folder, said) => {
    const { code, stderr } = await machineNamed("laptop", service.url, service.key).run([
      "sync",
      folder,
    ]);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(said) });
  });

  test("without a keychain the hint is what keeps the key of the folder", async () => {
    const { folder, key } = await team("laptop");
    const ci = machineNamed("ci", service.url, service.key);
    const joined = (more: readonly string[]) =>
      ci.run(["sync", folder, "--join", ...more], { stdin: key });
    const { code, stderr } = await joined([]);
    expect({ code, stderr }).toEqual({
      code: 3,
      stderr: expect.stringContaining(
        `choose a 0600 file: headcount sync ${folder} --join --insecure-storage\n`,
      ),
    });
    expect((await joined(["--insecure-storage"])).code).toBe(0);
    await ran(ci, ["sync", folder]);
  });
});
