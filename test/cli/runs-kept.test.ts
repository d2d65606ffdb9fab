import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { Disk } from "../../src/engine/runs/disk.ts";
import { encodeLine } from "../../src/engine/runs/log.ts";
import { RunStore } from "../../src/engine/runs/run-store.ts";
import { asTyped } from "../support/as-typed.ts";
import { runIds, type User, user } from "../support/export.ts";
import { testService } from "../support/serving.ts";

const SEARCH = asTyped`search --department Sales --per-page 20 --concurrency 1 -o a.csv`;
const service = testService({ people: 2_000, credits: 100_000 });
let u: User;

/** The folder of a run that stopped after three pages. */
let folder: string;
beforeEach(async () => {
  u = user(service.url, service.key);
  await u.run([...SEARCH, "--max-credits", "60", "--require-complete"]);
  folder = join(u.dir, "state", "runs", runIds(u)[0] ?? "");
});

function setPlan(change: Readonly<Record<string, unknown>>): void {
  const path = join(folder, "plan.json");
  writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, "utf8")), ...change }));
}

test("a plan that was lost, damaged or written by others hides no other run, and what was spent counts", async () => {
  const [broken = ""] = runIds(u);
  await u.run(["search", "--department", "Legal", "--limit", "7", "--yes", "--format", "ndjson"]);
  const plan = join(folder, "plan.json");
  for (const [damage, problem] of [
    [() => setPlan({ version: 1 }), "another version of headcount"],
    [() => writeFileSync(plan, "{"), "plan.json is damaged"],
    [() => rmSync(plan), "plan.json is gone"],
  ] as const) {
    damage();
    const listed = (await u.json(["runs", "--json"])) as Record<string, unknown>[];
    expect(listed.find(({ id }) => id === broken)).toMatchObject({
      status: "damaged",
      rows: 60,
      problem: expect.stringContaining(problem),
    });
    expect(listed.map(({ status }) => status).sort()).toEqual(["damaged", "finished"]);
    const spent = await u.run(["spend", "--by", "run"]);
    expect(spent.stdout).toContain(`${broken},60,60,0,0,0,0,0\n`);
    expect(spent.stderr).toContain(`run ${broken} is damaged`);
    expect((await u.run(["runs", "show", broken])).stdout).toContain(problem);
    expect((await u.run(["runs", "export", broken])).code).not.toBe(0);
  }
  await u.ends(2, ["runs", "remove", broken, "--yes"]);
  await u.ran(["runs", "remove", broken, "--yes", "--force"]);
  expect((await u.run(["spend", "--by", "run"])).stdout).toContain(`${broken},60,60,0,0,0,0,0\n`);
});

test("a run of another layout is refused, and nothing is changed", async () => {
  setPlan({ version: 1 });
  for (const argv of [["runs", "export", "last"], ["resume", "last"], SEARCH]) {
    const ran = await u.run([...argv, ...(argv === SEARCH ? ["--yes"] : [])]);
    expect({ argv, code: ran.code }).toEqual({ argv, code: 5 });
    expect(ran.stderr).toContain("was written by another version of headcount");
  }
});

test("a reply that ends like our own last line does not make a run finished", async () => {
  const path = join(folder, "journal.ndjson");
  const journal = readFileSync(path);
  const done = {
    t: "done",
    run: "another",
    sums: { rows: 9, misses: 0, settled: "9", uncertain: "0", foreign: "0" },
  };
  writeFileSync(
    path,
    Buffer.concat([journal, Buffer.from(encodeLine({ ...done, at: 1 } as never, journal.length))]),
  );
  const [listed] = (await u.json(["runs", "list", "--json"])) as {
    rows: number;
  }[];
  expect(listed?.rows).toBe(60);
});

/** Changes one byte of the journal, somewhere in a text that stands there. */
function flip(text: string): void {
  const path = join(folder, "journal.ndjson");
  const bytes = readFileSync(path);
  const at = bytes.indexOf(text) + text.length - 2;
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  writeFileSync(path, bytes);
}

describe("what was paid can still be read when the disk changed some of it", () => {
  const ids = async (
    ...argv: readonly string[]
  ): Promise<{ ids: string[]; code: number; stderr: string }> => {
    const { code, stdout, stderr } = await u.run(
      asTyped`runs export last --format csv --fields id ${argv}`,
    );
    return { ids: stdout.trim().split("\n").slice(1), code, stderr };
  };

  test.each([
    ["a reply", () => flip('"result":[{"id"'), 20, 40],
    ["the line that settles a page", () => flip('"t":"settled","n":2'), 20, 40],
    ["the intent of a page", () => flip('"t":"intent","n":2'), 0, 60],
  ])("%s", async (_, damage, missing, left) => {
    const whole = (await ids()).ids;
    damage();
    const refused = await ids();
    expect(refused.code).toBe(5);
    expect(refused.stderr).toContain("--force writes what can still be read");
    const salvaged = await ids("--force");
    expect({ code: salvaged.code, rows: salvaged.ids.length }).toEqual({ code: 0, rows: left });
    expect(salvaged.stderr).toMatch(/^warning: (page 1 in )?\S+journal\.ndjson is damaged/);
    expect(salvaged.stderr).toMatch(
      /its 20 paid rows cannot be read|; paid rows missing: not known\n/,
    );
    expect(whole.filter((id) => !salvaged.ids.includes(id)).length).toBe(missing);
    // Nothing goes on with such a run, and nothing of it is changed.
    await u.ends(5, [...SEARCH, "--max-credits", "80"]);
    expect((await ids("--force")).ids).toEqual(salvaged.ids);
  });

  test("of a finished run the last line tells how many rows went with a line that is damaged", async () => {
    await u.run(["resume", "last", "--max-credits", "900"]);
    const whole = (await ids()).ids;
    flip('"t":"settled","n":2');
    const salvaged = await ids("--force");
    expect([salvaged.code, salvaged.ids.length]).toEqual([0, whole.length - 20]);
    expect(salvaged.stderr).toMatch(
      /is damaged at line \d+: its checksum does not match; paid rows missing: 20\n/,
    );
  });
});

describe("what was spent", () => {
  const spend = async (
    ...argv: readonly string[]
  ): Promise<{ code: number; stdout: string; stderr: string }> =>
    u.run(["spend", "--by", "run", ...argv]);
  const line = (): string => `${runIds(u)[0]},60,60,0,0,0,0,0\n`;

  test("stays known by day, call and connection when the run is removed", async () => {
    const before = await spend();
    expect(before.stdout).toContain(line());
    await u.ran(["runs", "remove", "last", "--force", "--yes"]);
    expect(existsSync(folder)).toBe(false);
    expect(await spend()).toEqual(before);
    expect((await spend("--since", "1h")).stdout).toBe(before.stdout);
    expect((await spend("--since", "2999-01-01")).stdout.split("\n").length).toBe(2);
    const [kept] = readdirSync(join(u.dir, "state", "runs", ".removed"));
    const text = readFileSync(join(u.dir, "state", "runs", ".removed", kept ?? ""), "utf8");
    expect(JSON.parse(text)).toMatchObject({
      command: "search",
      connection: "environment",
      days: [{ settled: "60" }],
    });
    // Who was bought, and by which filters, went with the run.
    expect(text).not.toContain("Sales");
  });

  test("is counted once where a process died while it removed the run", async () => {
    const copy = join(u.dir, "copy");
    cpSync(folder, copy, { recursive: true });
    const before = await spend();
    await u.run(["runs", "remove", "last", "--force", "--yes"]);
    // Written down, and the run still there.
    cpSync(copy, folder, { recursive: true });
    expect(await spend()).toEqual(before);
    rmSync(folder, { recursive: true });
    // Set aside, and not yet deleted: the next one that tidies up does.
    cpSync(copy, join(folder, "..", ".gone-before"), { recursive: true });
    expect(await spend()).toEqual(before);
    await u.ran(["runs", "prune", "1d", "--yes"]);
    expect(readdirSync(join(folder, "..")).filter((name) => name.startsWith(".gone"))).toEqual([]);
  });

  test("is known of a run without its end, and as far as it can be read of a damaged one, which hides nothing of others", async () => {
    const [first = ""] = runIds(u);
    await u.run(["search", "--department", "Legal", "--limit", "7", "--yes", "--format", "ndjson"]);
    const second = runIds(u).find((id) => id !== first);
    flip('"t":"settled","n":2');
    const { code, stdout, stderr } = await spend();
    expect(code).toBe(0);
    expect(stdout).toContain(`${first},40,40,0,20,0,0,0\n`);
    expect(stdout).toContain(`${second},7,7,0,0,0,0,0\n`);
    expect(stderr).toBe(
      `warning: run ${first} is damaged: what it spent counts only as far as it can be read\n`,
    );
    expect(JSON.parse((await spend("--json")).stdout)).toMatchObject({
      damaged: [first],
      total: { settled: 47 },
    });
  });
});

/** The command that buys the rest of the run: all that match, at a credit each. */
async function onwardOf(id: string): Promise<string> {
  const { matches } = (await u.json(["runs", "show", id, "--json"])) as { matches: number };
  return `headcount resume ${id} --limit ${matches} --max-credits ${matches}`;
}

test("what goes on with a run whose own cap was reached is said alike everywhere, and copied it ends the run", async () => {
  const id = runIds(u)[0] ?? "";
  const onward = await onwardOf(id);
  const [program = "", ...argv] = onward.split(" ");
  expect(program).toBe("headcount");

  const refused = await u.run(["runs", "remove", id]);
  expect(refused.stderr).toContain(`finish it with ${onward}, or remove it: `);
  const incomplete = await u.run(["runs", "export", id, "--require-complete", "--json"]);
  expect(JSON.parse(incomplete.stderr || incomplete.stdout)).toMatchObject({
    error: { next: onward },
  });
  expect((await u.run(["runs", "export", id])).stderr).toContain(`; ${onward} goes on`);
  expect((await u.run(["runs", "show", id], { tty: true })).stdout).toContain(onward);

  await u.run([
    ...SEARCH.slice(0, -1),
    "b.csv",
    "--department",
    "Legal",
    "--max-credits",
    "3",
    "--require-complete",
  ]);
  expect((await u.run(["resume"])).stderr).toMatch(/name one: headcount resume \S+ --limit/);

  await u.ran(argv);
  expect((await u.run(["resume", id, "--dry-run"])).stdout).toContain("0 credits");
});

test("a run that is stale or whose reader had enough says so, is not resumed by itself, and is pruned by its age", async () => {
  const store = new RunStore(join(u.dir, "state"), new Disk());
  const id = runIds(u)[0] ?? "";
  const onward = await onwardOf(id);
  const options = { now: Date.now, sleep: async () => undefined, what: "the run" };
  const end = async (how: "stale" | "closed"): Promise<void> => {
    const run = await store.openForWriting(id, options);
    await store.end(run, { how, why: `it is ${how}`, at: Date.now() });
    await run.close();
  };
  for (const how of ["closed", "stale"] as const) {
    await end(how);
    const [listed] = (await u.json(["runs", "--json"])) as Record<string, unknown>[];
    expect(listed).toMatchObject({ status: how, problem: `it is ${how}`, rows: 60 });
    const leads =
      how === "closed" ? `; ${onward} goes on with one whose reader closed the pipe` : "";
    expect((await u.run(["resume"])).stderr).toBe(
      `Nothing to resume: no run is unfinished${leads}\n`,
    );
    const { stderr } = await u.run(["runs", "export", id]);
    const has = { closed: "what it has so far", stale: "all that it has" }[how];
    const goesOn = how === "closed" ? `; ${onward} goes on` : "; the same command begins anew";
    expect(stderr).toBe(`run ${id} is ${how}: this is ${has}; it is ${how}${goesOn}\n`);
    // The reader may come back with the same command; pages of another dataset are of no use to it.
    const { plan } = await store.open(id);
    expect((await store.findOpen(plan))?.id).toBe(how === "closed" ? id : undefined);
    expect((await u.run(["runs", "prune", "0h", "--dry-run"])).stdout).toBe(`${id}\n`);
  }
  // By its name it still goes on, and is no longer what it was.
  await u.ran(["resume", id, "--max-credits", "900"]);
  expect((await u.run(["runs", "--json"])).stdout).toContain('"status":"finished"');
});
