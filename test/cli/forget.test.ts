import { rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { PersonMatcher } from "../../src/shared/person.ts";
import { asTyped } from "../support/as-typed.ts";
import { cases } from "../support/campaign.ts";
import { seeded, spentBy, user } from "../support/export.ts";
import { type History, historyAt, holding, type Row, rows, SALES } from "../support/forgotten.ts";
import { long } from "../support/long.ts";
import { Crowd, startPeopleService } from "../support/people-service.ts";
import { ok } from "../support/ran.ts";
import { startTestService } from "../support/service.ts";
import { testService } from "../support/serving.ts";

const service = testService({ people: 400, credits: 1_000_000 });

let made: Promise<History> | undefined;

/** Made once, put back for each test. */
async function history(): Promise<History> {
  made ??= historyAt(service);
  const been = await made;
  been.again();
  return been;
}

const spent = spentBy;

describe("headcount forget", () => {
  long("no file has the person any more, and what was spent is as it was", async () => {
    const { me, all, canary } = await history();
    const state = join(me.dir, "state");
    expect(holding(state, canary).length).toBeGreaterThan(6);
    const before = { spend: await spent(me), owned: JSON.parse(await ok(me, ["owned", "--json"])) };
    const planned = JSON.parse(await ok(me, ["forget", canary.id, "--dry-run", "--json"]));
    expect(planned.would_forget).toMatchObject({ owned: 1 });
    expect(await ok(me, ["forget", canary.id, "--dry-run"])).toMatch(
      /\nnothing of this was done \(--dry-run\)\n$/,
    );
    expect(holding(me.dir, canary).length).toBeGreaterThan(8);
    const done = JSON.parse(await ok(me, ["forget", canary.id, "--yes", "--json"]));
    expect(done.forgot).toEqual(planned.would_forget);
    expect(done.forgot.outputs.map(({ how }: { how: string }) => how)).toEqual([
      "again",
      "again",
      "again",
    ]);
    expect(holding(me.dir, canary)).toEqual([]);
    expect(await spent(me)).toEqual(before.spend);
    expect(JSON.parse(await ok(me, ["owned", "--json"]))).toMatchObject({
      people: all.length - 1,
      forgotten: 1,
      rows_paid: before.owned.rows_paid,
      rows_repeated: before.owned.rows_repeated,
      credits: before.owned.credits,
    });
    const left = all.filter(({ id }) => id !== canary.id);
    expect(rows(me.read("sales.ndjson"))).toEqual(left);
    const parquet = `select count(*) as n from '${me.file("sales.parquet")}'`;
    const { startDuckDb } = await import("../../src/dataset/duckdb.ts");
    const instance = await startDuckDb({ threads: 1, memoryBytes: 2 ** 28 });
    const reader = await (await instance.connect()).runAndReadAll(parquet);
    expect(Number(reader.getRowsJS()[0]?.[0])).toBe(left.length);
    instance.closeSync();
    for (const { id } of JSON.parse(await ok(me, ["runs", "--json"])) as { id: string }[]) {
      const shown = JSON.parse(await ok(me, ["runs", "show", id, "--json"])) as { status?: string };
      expect(shown.status ?? "finished").not.toBe("damaged");
      expect(await ok(me, ["runs", "export", id, "--format", "ndjson"])).not.toContain(canary.id);
    }
    // Bought again the person is in no output, and can be forgotten again.
    expect(rows(await ok(me, [...SALES, "--format", "ndjson"]))).toEqual(left);
    await ok(me, ["forget", canary.network_url, "--yes"]);
    expect(holding(me.dir, canary)).toEqual([]);
    await ok(me, ["owned", "rebuild"]);
    expect(JSON.parse(await ok(me, ["owned", "--json"]))).toMatchObject({ people: all.length - 1 });
    await me.ends(6, ["forget", "nobody-at-all", "--yes"]);
  });

  test("a whole name is a person where one has it, and several are listed", async () => {
    const crowd = new Crowd(seeded(8));
    const twins = [1, 2].map(() => crowd.born({ department: "Sales", name: "Michael Müller" }));
    const alone = crowd.born({ department: "Sales", name: "Zoë Quill" });
    const here = await startPeopleService({
      people: [...twins, alone, crowd.born({ department: "Sales" })],
    });
    try {
      const me = user(here.url, here.key);
      await ok(me, ["search", "--department", "Sales", "--yes", "-o", "sales.ndjson"]);
      const several = await me.run(["forget", "michael müller", "--yes"]);
      expect([several.code, several.stderr]).toEqual([
        2,
        expect.stringContaining("names 2 people"),
      ]);
      for (const { network_url } of twins)
        expect(several.stderr).toContain(String(network_url).replace("https://www.", ""));
      await ok(me, ["forget", "zoë  quill", "--yes"]);
      expect(rows(me.read("sales.ndjson")).map(({ name }) => name)).not.toContain("Zoë Quill");
      expect(holding(me.dir, alone as unknown as Row)).toEqual([]);
      // By what the list has marks of it looks again; the name is nobody's by now.
      const again = await ok(me, ["forget", alone.network_url ?? "", "--yes"]);
      expect(again).toMatch(/^library: 0 people\nlooked again at 1 file .* none has the person\n$/);
      await me.ends(6, ["forget", "zoë quill", "--yes"]);
    } finally {
      await here.close();
    }
  });

  test("what is called like the person is named: an output, a job, a segment, a line in it", async () => {
    const crowd = new Crowd(seeded(9));
    const alone = crowd.born({ department: "Sales", name: "Zoe Al-Quill" });
    const here = await startPeopleService({
      people: [alone, crowd.born({ department: "Sales", name: "Ann Other" })],
    });
    try {
      const me = user(here.url, here.key);
      const sales = ["--department", "Sales"];
      await ok(me, ["search", ...sales, "--yes", "-o", "zoe-al-quill.ndjson"]);
      await ok(me, ["search", ...sales, "--yes", "--again", "-o", "sales.ndjson"]);
      await ok(me, ["segment", "save", "zoe_al_quill", ...sales]);
      await ok(me, ["segment", "save", "ann-other", ...sales]);
      await ok(me, [
        "segment",
        "save",
        "watched",
        ...asTyped`--first-name zoe --last-name Al-Quill`,
      ]);
      const { stderr } = await me.ends(5, ["forget", "zoe al-quill", "--yes"]);
      const named = [...stderr.matchAll(/^ {2}(\S+): by its name$/gm)].map(([, path = ""]) => path);
      expect(named.map((path) => relative(me.dir, path))).toEqual([
        "zoe-al-quill.ndjson",
        expect.stringMatching(/segments\/zoe_al_quill/),
        expect.stringMatching(/^state\/runs\//),
      ]);
      // A filter a line: whom it asks for they say together.
      expect(stderr).toMatch(/^ {2}\S+\/segments\/watched\.json:1$/m);
      rmSync(me.file("config/segments/watched.json"));
      expect(rows(me.read("zoe-al-quill.ndjson")).map(({ name }) => name)).toEqual(["Ann Other"]);

      // Renamed, as the hint says, and the run removed, nothing of it is left to be named.
      for (const path of named) rmSync(path, { recursive: true });
      await me.ran(["forget", String(alone.network_url), "--yes"]);
    } finally {
      await here.close();
    }
  });

  test("a namesake's rows are not the person's, and nothing of its own is listed as an output", async () => {
    const crowd = new Crowd(seeded(9));
    const [ada, twin] = [1, 2].map(() =>
      crowd.born({ department: "Sales", name: "Michael Müller" }),
    );
    const here = await startPeopleService({ people: [ada, twin] as never });
    try {
      const me = user(here.url, here.key);
      await ok(me, ["search", "--department", "Sales", "--yes", "-o", "sales.ndjson"]);
      await ok(me, ["owned", "export", "-o", "owned.csv"]);
      const done = await me.run(["forget", String(ada?.network_url), "--yes"]);
      expect(done).toMatchObject({
        code: 0,
        stdout: expect.stringContaining("2 files and 0 tables"),
      });
      expect(holding(me.dir, ada as unknown as Row)).toEqual([]);
      expect(rows(me.read("sales.ndjson"))).toMatchObject([{ network_url: twin?.network_url }]);
      const next = JSON.parse(
        await ok(me, ["forget", String(twin?.network_url), "--dry-run", "--json"]),
      );
      expect(next.would_forget).toMatchObject({ gone: [], owned: 1 });
    } finally {
      await here.close();
    }
  });

  long("asks first, names what it leaves, and says so with exit 5", async () => {
    const { me, canary } = await history();
    writeFileSync(me.file("sales.csv"), `${me.read("sales.csv")}mine\n`);
    await ok(me, [...SALES, "-o", "duckdb:crm.duckdb#people"]);
    const text = ["--format", "table", "--fields", "network_url,name"];
    await ok(me, ["runs", "export", "last", ...text, "-o", "people.txt"]);
    const lines = me.read("sales.csv").split("\n");
    await me.ends(2, ["forget", canary.id]);
    const asked = await me.run(["forget", canary.id], { tty: true, answers: ["n"] });
    expect([asked.code, asked.stderr]).toEqual([10, expect.stringContaining("look yourself")]);
    expect(holding(join(me.dir, "state"), canary).length).toBeGreaterThan(6);
    const { code, stdout, stderr } = await me.run(["forget", canary.id, "--yes"]);
    expect([code, stderr]).toEqual([5, expect.stringContaining("people.txt")]);
    expect(stderr).not.toContain("sales.csv");
    expect(stdout).toContain(`rows deleted: duckdb:${me.file("crm.duckdb")}#people`);
    expect(stdout).toContain(`rows taken out: ${me.file("sales.csv")}`);
    expect(holding(join(me.dir, "state"), canary)).toEqual([]);
    // Whatever else was changed in it stays.
    expect(me.read("sales.csv").split("\n")).toEqual(
      lines.filter((line) => !line.includes(canary.id)),
    );
  });

  long("a list loses the person, and a refresh knows it still", async () => {
    const { me, all, canary } = await history();
    await ok(me, ["refresh", "--department", "Sales", "-o", "list.ndjson", "--yes"]);
    expect(await ok(me, ["forget", canary.id, "--yes"])).toContain("rows taken out");
    expect(holding(me.dir, canary)).toEqual([]);
    expect(rows(me.read("list.ndjson"))).toEqual(all.filter(({ id }) => id !== canary.id));
    const before = await spent(me);
    // The dataset is the same: whoever is new must be who was forgotten, and is not bought again.
    const planned = await ok(me, ["refresh", "list.ndjson", "--dry-run", "--json"]);
    expect(JSON.parse(planned)).toMatchObject({ new: 0, forgotten: 1, credits_at_most: 0 });
    const again = await me.run(asTyped`${SALES.slice(0, 4)} --new-only --min-rows 0 -o new.ndjson`);
    expect(again).toMatchObject({
      code: 0,
      stderr: expect.stringContaining("whom you forgot, is not bought"),
    });
    const refreshed = await me.run(asTyped`refresh list.ndjson --yes --max-credits 1 --json`);
    expect(JSON.parse(refreshed.stdout)).toMatchObject({
      forgotten: 1,
      bought: 0,
      credits: 0,
      count: all.length - 1,
    });
    expect(refreshed.stderr).toContain("1 whom you forgot: not bought");
    expect(await spent(me)).toEqual(before);
    expect(rows(me.read("list.ndjson"))).toHaveLength(all.length - 1);
    expect(holding(me.dir, canary)).toEqual([]);
  });

  long(
    "whatever happened before and happens then, nobody who was forgotten or suppressed comes out again",
    async () => {
      const action = fc.oneof(
        fc.record({ kind: fc.constant("buy" as const), limit: fc.integer({ min: 1, max: 30 }) }),
        fc.record({ kind: fc.constant("resume" as const), limit: fc.integer({ min: 1, max: 40 }) }),
        fc.record({
          kind: fc.constantFrom("forget" as const, "suppress" as const),
          who: fc.nat(30),
        }),
        fc.record({
          kind: fc.constantFrom("refresh" as const, "rebuild" as const, "prune" as const),
          who: fc.constant(0),
        }),
      );
      await fc.assert(
        fc.asyncProperty(fc.array(action, { minLength: 4, maxLength: 10 }), async (actions) => {
          const me = user(service.url, service.key);
          const all = rows(await ok(me, [...SALES, "--format", "ndjson"]));
          await ok(me, [...SALES, "-o", "list.ndjson"]);
          const gone: Row[] = [];
          const check = async (text: string): Promise<void> => {
            const seen = rows(text).filter(({ id }) => gone.some((one) => one.id === id));
            expect(seen).toEqual([]);
          };
          for (const step of actions) {
            if (step.kind === "buy") {
              await check(
                await ok(me, [...SALES, "--limit", String(step.limit), "--format", "ndjson"]),
              );
            } else if (step.kind === "resume") {
              const { code, stdout } = await me.run(
                asTyped`resume last --limit ${step.limit} --max-credits 900`,
              );
              expect([0, 2]).toContain(code);
              if (code === 0 && stdout.startsWith("{")) await check(stdout);
            } else if (step.kind === "refresh") {
              // Of a run that was removed nobody knows the filters: they are given.
              await ok(me, ["refresh", "list.ndjson", "--department", "Sales", "--yes"]);
            } else if (step.kind === "rebuild") await ok(me, ["owned", "rebuild"]);
            else if (step.kind === "prune") {
              await ok(me, ["runs", "prune", "0h", "--yes"]);
              expect(await ok(me, ["runs", "--json"])).toBe("[]\n");
            } else {
              const who = all[step.who] as Row;
              const { code } = await me.run(
                step.kind === "forget"
                  ? ["forget", who.id, "--yes"]
                  : ["suppress", "add", who.network_url],
              );
              expect([0, 5, 6]).toContain(code);
              gone.push(who);
              if (step.kind === "forget") expect(holding(join(me.dir, "state"), who)).toEqual([]);
            }
            await check(await ok(me, ["owned", "export", "--format", "ndjson"]));
            for (const { id } of JSON.parse(await ok(me, ["runs", "--json"])) as { id: string }[]) {
              await check(await ok(me, ["runs", "export", id, "--format", "ndjson"]));
            }
            const total = Number(
              (JSON.parse(await ok(me, ["owned", "--json"])) as { credits: number }).credits,
            );
            expect(total).toBe((await spentBy(me)).settled);
          }
        }),
        { numRuns: cases(2, 100) },
      );
    },
    240_000,
  );
});

describe("who is meant", () => {
  test("records are taken out of replies in any form, and other people stay", () => {
    const person = new PersonMatcher("network.example/in/ada");
    const ada = { network_url: "https://www.network.example/in/Ada/", id: 7 };
    const bob = { network_url: "network.example/in/bob", id: 8, big: "12345678901234567890" };
    for (const [reply, left] of [
      [{ result: [ada, bob] }, { result: [bob] }],
      [
        { result: { people: [{ person: ada }, { person: bob }] } },
        { result: { people: [{ person: bob }] } },
      ],
      [[ada, ada], []],
    ]) {
      const after = person.without(Buffer.from(JSON.stringify(reply)), "");
      expect(JSON.parse(String(after))).toEqual(left);
    }
    expect(person.without(Buffer.from(JSON.stringify({ result: [bob] })), "")).toBeUndefined();
  });

  test("an id is somebody's at one service only, an address everywhere", () => {
    const person = new PersonMatcher("network.example/in/ada");
    person.add({ id: "7", address: "network.example/in/ada" }, "one");
    expect(person.is({ id: "7", address: undefined }, "one")).toBe(true);
    expect(person.is({ id: "7", address: undefined }, "other")).toBe(false);
    expect(person.is({ id: "9", address: "network.example/in/ada" }, "other")).toBe(true);
  });
});

long.each(["--new-only", "--with-owned"])(
  "a run of %s that was stopped ends whole without one of its people who was forgotten, whom nobody buys again",
  async (owned) => {
    const capped = await startTestService({ people: 400, credits: 1_000 });
    try {
      const me = user(capped.url, capped.key);
      const order = asTyped`search --department Sales ${owned} --yes --per-page 10 --concurrency 1`;
      await ok(me, [...order, "--max-credits", "10", "-o", "new.ndjson"]);
      const [kept] = rows(await ok(me, ["owned", "export", "--format", "ndjson"]));
      if (kept === undefined) throw new Error("nobody was bought");
      await ok(me, ["forget", kept.network_url, "--yes"]);
      const [run] = JSON.parse(await ok(me, ["runs", "--json"])) as { id: string }[];
      await ok(me, ["resume", String(run?.id), "--yes", "--max-credits", "1000"]);
      const { count } = JSON.parse(await ok(me, ["count", "--department", "Sales", "--json"]));
      expect(rows(me.read("new.ndjson"))).toHaveLength(count - 1);
      const before = await spent(me);
      const again = await me.run([...order, "--min-rows", "0", "-o", "again.ndjson"]);
      expect(again, again.stderr).toMatchObject({
        code: 0,
        stderr: expect.stringContaining("whom you forgot, is not bought"),
      });
      expect(await spent(me)).toEqual(before);
      expect(holding(me.dir, kept)).toEqual([]);
    } finally {
      await capped.close();
    }
  },
);

test("after another version of the dataset somebody who is forgotten may be bought again: said before, counted after, in no file", async () => {
  const crowd = new Crowd(seeded(5));
  const people = Array.from({ length: 60 }, () => crowd.born());
  const inSales = people.filter(({ department }) => department === "Sales");
  const one = await startPeopleService({ people, version: "v1" });
  try {
    const me = user(one.url, one.key);
    await ok(me, ["search", "--department", "Sales", "--yes", "-o", "list.ndjson"]);
    const [canary] = rows(me.read("list.ndjson"));
    if (canary === undefined) throw new Error("nobody is in sales");
    await me.ran(["forget", canary.network_url, "--yes"]);
    one.options.version = "v2";
    one.options.people = [...people, { ...crowd.born(), department: "Sales" }];
    const plan = JSON.parse(await ok(me, ["refresh", "list.ndjson", "--dry-run", "--json"]));
    expect(plan).toMatchObject({ new: 2, forgotten: 1 });
    const fresh = await me.run(["search", "--department", "Sales", "--new-only"], {
      tty: true,
      answers: ["n"],
    });
    expect(fresh.stderr).toContain(
      "up to 1 of the 2 new are people whom you forgot: paid for, and in no file",
    );
    const asked = await me.run(["refresh", "list.ndjson"], { tty: true, answers: ["n"] });
    expect(asked.stderr).toContain("up to 1 of them whom you forgot: paid for, and in no file");
    const { stdout, stderr } = await me.ran(asTyped`refresh list.ndjson --max-credits 20 --json`);
    expect(JSON.parse(stdout)).toMatchObject({ forgotten: 0, bought_suppressed: 1, suppressed: 1 });
    expect(stderr).toContain("1 suppressed: in no file, 1 of them bought now");
    expect(rows(me.read("list.ndjson"))).toHaveLength(inSales.length);
    expect(me.read("list.ndjson")).not.toContain(canary.network_url);
  } finally {
    await one.close();
  }
});

test("whose address is in the parts of a purchase for a list is in no file afterwards, and what it cost stays", async () => {
  const crowd = new Crowd(seeded(12));
  const people = Array.from({ length: 60 }, () => crowd.born());
  const here = await startPeopleService({ people });
  try {
    const me = user(here.url, here.key);
    await ok(me, ["search", "--department", "Sales", "--yes", "-o", "list.ndjson"]);
    const moved = rows(me.read("list.ndjson")).slice(0, 3);
    const [canary] = moved;
    if (canary === undefined) throw new Error("nobody is in sales");
    const ids = new Set(moved.map(({ id }) => id));
    here.options.people = people.map((one) =>
      ids.has(String(one.id)) ? { ...one, title: "chief of it all" } : one,
    );
    const changed = ["--verify-fields", "title", "--buy-changed", "--max-credits", "9"];
    const refreshed = JSON.parse(await ok(me, ["refresh", "list.ndjson", ...changed, "--json"]));
    const run = refreshed.runs[0];
    const plan = JSON.parse(me.read(`state/runs/${run}/plan.json`));
    expect(JSON.stringify(plan.parts)).toContain(canary.network_url);
    const before = await spent(me);
    const { would_forget } = JSON.parse(await ok(me, ["forget", canary.id, "--dry-run", "--json"]));
    expect(would_forget.runs).toContainEqual({ run, rows: 1, removed: true });
    await ok(me, ["forget", canary.id, "--yes"]);
    expect(holding(me.dir, canary)).toEqual([]);
    expect(await spent(me)).toEqual(before);
    expect(rows(me.read("list.ndjson")).map(({ id }) => id)).toEqual(
      expect.arrayContaining([...ids].slice(1)),
    );
  } finally {
    await here.close();
  }
});
