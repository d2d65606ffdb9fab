import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { asTyped } from "../support/as-typed.ts";
import { charged, readCsv, runIds, user, visibleFiles } from "../support/export.ts";
import { faultProxy } from "../support/fault-proxy.ts";
import { startTestService } from "../support/service.ts";
import { CREDITS, type Serving, serveUsers } from "../support/serving.ts";

const SALES = ["search", "--department", "Sales", "--per-page", "20"];
const STOPPED = ["--max-credits", "60", "--require-complete"];
let { service, u } = {} as Serving;
serveUsers((now) => ({ service, u } = now));

const stopped = (output: string): Promise<unknown> =>
  u.run([...SALES, ...STOPPED, "--again", "-o", output]);

test("nothing to resume is said, and is no error", async () => {
  expect(await u.run(["resume"])).toEqual({
    code: 0,
    stdout: "",
    stderr: "Nothing to resume: no run is unfinished\n",
  });
});

test("a run that is at work in another process is named, and is no run that is over", async () => {
  const proxy = await faultProxy({ target: service.url });
  onTestFinished(() => proxy.close());
  let [held, letGo] = [() => {}, () => {}];
  const isHeld = new Promise<void>((resolve) => {
    held = resolve;
  });
  const waiting = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  proxy.decide = async ({ paid }) => {
    if (paid > 0) {
      held();
      await waiting;
    }
    return { kind: "none" };
  };
  const other = user(proxy.url, service.key);
  const bought = other.run([...SALES, "--max-credits", "60", "-o", "a.csv"]);
  await Promise.race([isHeld, bought]);
  const [id = ""] = runIds(other);
  const { code, stderr } = await other.run(["resume"]);
  letGo();
  expect([code, stderr]).toEqual([
    0,
    `Nothing to resume: a run is at work in another process: ${id}\n`,
  ]);
  expect((await bought).code).toBe(0);
});

test("the one unfinished run by itself; one of several by name or a part of it; an unknown one is exit 2", async () => {
  await stopped("a.csv");
  // A part is no more wanted now than it was.
  await u.ends(5, ["resume", "--max-credits", "80"]);
  expect(visibleFiles(u)).toEqual([]);
  await u.ran(["resume", "--max-credits", "900"]);
  const all = readCsv(u.read("a.csv")).length;
  await stopped("b.csv");
  await stopped("c.csv");
  const several = await u.ends(2, ["resume"], "2 runs are unfinished");
  const last =
    runIds(u).find((id) => several.stderr.includes(`${id} (60 rows, ${u.file("c.csv")}`)) ?? "";
  await u.ran(["resume", last.slice(-6)]);
  expect(readCsv(u.read("c.csv")).length).toBe(all);
  expect(visibleFiles(u).sort()).toEqual(["a.csv", "c.csv"]);
  await u.ends(2, ["resume", "nonsense"]);
});

test("where the service is not reached the run is named, and what goes on with it once it is", async () => {
  const proxy = await faultProxy({ target: service.url });
  const away = user(proxy.url, service.key);
  await away.run([...SALES, ...STOPPED, "-o", "a.csv"]);
  await proxy.close();

  const [id = ""] = runIds(away);
  const line = asTyped`resume ${id} --max-credits 80 --max-wait 0 --yes --json`;
  const { code, stderr } = await away.run(line);
  expect(code).toBe(8);
  expect(JSON.parse(stderr.trim().split("\n").at(-1) ?? "").error).toMatchObject({
    resumable: true,
    next: `headcount resume ${id} --max-credits 80`,
    hint: expect.stringContaining(`goes on where run ${id} stopped`),
  });
});

test("an export that stopped says so for scripts too: the very command that goes on, and whether one does", async () => {
  const failed = async (argv: readonly string[]) => {
    const { code, stderr } = await u.run([...argv, "--json"]);
    return { code, error: JSON.parse(stderr.trim().split("\n").at(-1) ?? "").error };
  };
  const capped = await failed(asTyped`${SALES} --require-complete --limit 60 --yes -o a.csv`);
  // What raises a bound of a person's is a person's to decide on.
  expect(capped).toMatchObject({ code: 5, error: { resumable: false, next: null } });
  const [, raised = ""] =
    /headcount (resume \S+ --limit \d+ --max-credits \d+)/.exec(capped.error.hint) ?? [];
  const all = await u.run(["count", "--department", "Sales"]);
  await u.ran(raised.split(" "));
  expect(readCsv(u.read("a.csv"))).toHaveLength(Number(all.stdout));
  const few = await failed([...SALES, "--min-rows", "5000", "--yes", "-o", "few.csv"]);
  expect(few).toMatchObject({ code: 5, error: { resumable: false, next: null } });
  const usage = await failed(["count", "--nothing"]);
  expect(usage).toMatchObject({ code: 2, error: { resumable: false, next: null } });
});

test("what is proposed after a limit is what the balance pays for", async () => {
  const small = await startTestService({ people: 2_000, credits: 70 });
  onTestFinished(() => small.close());
  const poor = user(small.url, small.key);
  const some = await poor.run([...SALES, "--limit", "60", "--yes", "-o", "a.csv"]);
  const [, command = ""] =
    /headcount (resume \S+ --limit 70 --max-credits 70) buys 10 of the other [\d,]+, which/.exec(
      some.stderr,
    ) ?? [];
  expect(command, some.stderr).not.toBe("");
  await poor.ends(0, command.split(" "), "the balance pays for none of the other");
});

test("a limit that was given is lowered by no hint; where all is finished, the run that goes on under a higher one is named", async () => {
  const small = await startTestService({ people: 2_000, credits: 50 });
  onTestFinished(() => small.close());
  const poor = user(small.url, small.key);
  const some = await poor.run([...SALES, "--limit", "80", "--max-credits", "20", "-o", "a.csv"]);
  expect(some.stderr).toMatch(/headcount resume \S+ --max-credits 50 buys 30 of the other/);
  const [id = ""] = runIds(poor);
  const bare = await poor.run(["resume", "--limit", "90"]);
  const named = `headcount resume ${id} goes on with the last one that is finished`;
  expect(bare.stderr).toBe(`Nothing to resume: no run is unfinished; ${named}\n`);
});

test("--dry-run tells what going on costs, as the same search does, and writes nothing", async () => {
  await u.ends(5, [...SALES, ...STOPPED, "-o", "a.csv"]);
  const [id = ""] = runIds(u);
  const run = u.file(join("state", "runs", id));
  const before = [await charged(service, CREDITS), readFileSync(join(run, "journal.ndjson"))];
  const json = async (argv: readonly string[]) => JSON.parse((await u.ran(argv)).stdout);

  const bounds = ["--max-credits", "100", "--dry-run", "--json"];
  const rest = await json(["resume", ...bounds]);
  expect(rest).toMatchObject({ kept: 60, rows: 100, credits: 40, bound: "cap" });
  expect(await json([...SALES, ...bounds, "-o", "a.csv"])).toEqual(rest);
  const card = (await u.ran(["resume", id, "--max-credits", "100", "--dry-run"])).stdout;
  expect(card).toMatch(/people owned +60[\s\S]*kept already +60/);
  expect(card).not.toContain("--new-only");
  expect([await charged(service, CREDITS), readFileSync(join(run, "journal.ndjson"))]).toEqual(
    before,
  );
  expect(visibleFiles(u)).toEqual([]);

  // It was to be complete, and is not within that.
  await u.ends(5, ["resume", "--max-credits", "100", "--yes"]);
  expect(await charged(service, CREDITS)).toBe(Number(before[0]) + 40);
});

test("more than was agreed to needs consent again; less does not", async () => {
  await stopped("a.csv");
  const before = await charged(service, CREDITS);
  const plan = join(u.dir, "state", "runs", runIds(u)[0] ?? "");
  expect(readFileSync(join(plan, "journal.ndjson"), "utf8")).toContain('"cap":"60"');
  const asked = await u.run(["resume"], { tty: true, answers: ["n"], env: { NO_COLOR: "1" } });
  // Its cap still holds, and is reached: nothing to agree to.
  expect([asked.code, asked.stderr]).toEqual([
    5,
    expect.stringContaining("60 of 60 rows are paid for"),
  ]);
  const more = await u.run(["resume", "--max-credits", "90"], {
    tty: true,
    answers: ["n"],
    env: { NO_COLOR: "1" },
  });
  expect(more.code).toBe(10);
  expect(more.stderr).toMatch(/kept already +60/);
  expect(more.stderr).toContain("Go on and export 30 profiles for 30 credits? [y/N]");
  expect(await charged(service, CREDITS)).toBe(before);
});

test.each([
  ["account_id", "somebody-else", /the account was somebody-else and is default/],
  [
    "base_url",
    "https://elsewhere.example",
    /the service was https:\/\/elsewhere\.example and is http/,
  ],
  ["key_mode", "test", /the key mode was test and is live/],
  ["dataset_version", "v0", /the dataset version was v0 and is/],
])("another %s is refused with the reason, and nothing is spent", async (field, value, reason) => {
  await stopped("a.csv");
  const before = await charged(service, CREDITS);
  const [id = ""] = runIds(u);
  const path = join(u.dir, "state", "runs", id, "plan.json");
  writeFileSync(
    path,
    JSON.stringify({ ...JSON.parse(readFileSync(path, "utf8")), [field]: value }),
  );
  const ran = await u.run(["resume", id, "--yes"]);
  expect(ran).toMatchObject({ code: 5, stdout: "" });
  expect(ran.stderr).toMatch(reason);
  expect(ran.stderr).toContain(`headcount runs export ${id}`);
  // `resume` has no --again: a hint that names it says of which command.
  expect(ran.stderr).not.toMatch(/(?<!the same command with )--again/);
  expect(await charged(service, CREDITS)).toBe(before);
});

test("where its dataset is gone the same command says so once, begins anew, and needs consent as any purchase", async () => {
  const stale = async (): Promise<string> => {
    await stopped("a.csv");
    const id = runIds(u).at(-1) ?? "";
    const path = join(u.dir, "state", "runs", id, "plan.json");
    writeFileSync(
      path,
      JSON.stringify({ ...JSON.parse(readFileSync(path, "utf8")), dataset_version: "v0" }),
    );
    return id;
  };
  const id = await stale();
  const before = await charged(service, CREDITS);
  const same = asTyped`search --department Sales --per-page 20 -o a.csv --quiet --overwrite`;
  const asked = await u.run(same);
  expect(asked).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("there is no terminal to ask at"),
  });
  expect(asked.stderr).toMatch(
    new RegExp(
      `warning: the dataset version was v0 and is \\S+: run ${id} is stale, and this begins anew; headcount runs export ${id}`,
    ),
  );
  const fresh = await u.ran([...same, "--max-credits", "70"]);
  expect(fresh.stderr).not.toContain("stale");
  expect(readCsv(u.read("a.csv")).length).toBe(70);
  expect((await charged(service, CREDITS)) - before).toBe(70);
});

test("a finished run whose journal changed is told and not bought anew, at every door, until a person says so", async () => {
  const legal = ["search", "--department", "Legal", "--max-credits", "100"];
  await u.ran([...legal, "-o", "a.csv"]);
  const [id = ""] = runIds(u);
  const journal = join(u.dir, "state", "runs", id, "journal.ndjson");
  const good = readFileSync(journal, "utf8");
  writeFileSync(journal, good.replace(/("t":"settled".*?"rows":)\d/, "$19"));
  const before = await charged(service, CREDITS);
  for (const argv of [
    legal,
    [...legal, "--new-only"],
    [...legal, "--with-owned"],
    [...legal, "--dry-run"],
  ]) {
    const ran = await u.run([...argv, "-o", "b.csv"]);
    expect({ argv, code: ran.code, text: ran.stderr }).toMatchObject({ argv, code: 5 });
    expect(ran.stderr).toContain("is damaged at line");
  }
  expect(visibleFiles(u)).toEqual(["a.csv"]);
  const shown = await u.run(["runs", "show", id, "--json"]);
  expect(JSON.parse(shown.stdout)).toMatchObject({
    status: "damaged",
    problem: expect.stringContaining("line"),
  });
  expect(await charged(service, CREDITS)).toBe(before);
  // What the refusal of new people alone names takes them in.
  const named = await u.run([...legal, "--new-only", "-o", "b.csv", "--json"]);
  expect(JSON.parse(named.stderr.trim().split("\n").at(-1) ?? "").error.next).toMatch(
    /^headcount runs export \S+ --force/,
  );
  await u.ran([...legal, "--again", "-o", "c.csv"]);
  // Without it nobody stands in the way any more: the others alone are bought.
  const [, remove = ""] = /and headcount (runs remove \S+ --force --yes)/.exec(named.stderr) ?? [];
  await u.ran(remove.split(" "));
  await u.ran([...legal, "--new-only", "-o", "b.csv"]);
  expect(await charged(service, CREDITS)).toBeGreaterThan(before);
});

test("a damaged journal and a damaged page are said plainly, and nothing is bought on them", async () => {
  await stopped("a.csv");
  const before = await charged(service, CREDITS);
  const [id = ""] = runIds(u);
  const folder = join(u.dir, "state", "runs", id);
  const journal = join(folder, "journal.ndjson");
  const good = readFileSync(journal, "utf8");
  // In the second of three pages, and then in the line before the first.
  const second = good.indexOf('"department":"Sales"', good.indexOf('{"t":"settled","n":2'));
  writeFileSync(journal, `${good.slice(0, second)}${good.slice(second).replace("Sales", "Sale5")}`);
  const badPage = await u.run(["resume", id, "--max-credits", "100", "--yes"]);
  expect({ code: badPage.code, files: visibleFiles(u) }).toEqual({ code: 5, files: [] });
  expect(badPage.stderr).toContain("page 2 in");
  expect(badPage.stderr).toContain("journal.ndjson is damaged: its 20 paid rows cannot be read");
  writeFileSync(journal, good.replace('"rows":20', '"rows":21'));
  await u.ends(
    5,
    ["resume", id, "--max-credits", "100", "--yes"],
    /journal\.ndjson is damaged at line \d+/,
  );
  expect(await charged(service, CREDITS)).toBe(before);
});
