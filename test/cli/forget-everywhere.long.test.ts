import { chmodSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { keyOf } from "../../src/app/jobs/history.ts";
import { startDuckDb } from "../../src/dataset/duckdb.ts";
import { startAgent, YES } from "../support/agent.ts";
import { asTyped } from "../support/as-typed.ts";
import { hasPostgres, openDatabase } from "../support/database.ts";
import { charged, readCsv, runIds, seeded, spentBy, type User, user } from "../support/export.ts";
import { Crowd, startPeopleService } from "../support/people-service.ts";
import { ok } from "../support/ran.ts";
import { testService } from "../support/serving.ts";
import { isLeftOut } from "../support/tools.ts";
import { filesOfZip } from "../support/zip.ts";

// One person is bought through every door there is, and every file is searched for each of their names, before and after.

const CREDITS = 1_000_000;
const service = testService({ people: 400, credits: CREDITS });

type Row = Readonly<Record<string, string | null>>;
const rows = (text: string): Row[] =>
  text.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line) as Row]));

async function parquetText(path: string): Promise<string> {
  const instance = await startDuckDb({ threads: 1, memoryBytes: 2 ** 28 });
  try {
    const reader = await (await instance.connect()).runAndReadAll(
      `SELECT to_json(t)::VARCHAR FROM '${path}' t`,
    );
    return reader.getRowsJS().join("\n");
  } finally {
    instance.closeSync();
  }
}

/** What is in a file, out of whatever it is packed in. */
async function contents(path: string): Promise<Buffer> {
  const bytes = readFileSync(path);
  if (path.endsWith(".gz")) return gunzipSync(bytes);
  if (path.endsWith(".xlsx")) return Buffer.concat([...filesOfZip(bytes).values()]);
  if (path.endsWith(".parquet")) return Buffer.from(await parquetText(path));
  return bytes;
}

const namesOf = (row: Row): string[] =>
  ["id", "name", "headline", "email"]
    .flatMap((field) => row[field] ?? [])
    .concat(row.network_url?.split("/").at(-1) ?? []);

/** Files below a user's folder (state, config, outputs) in which somebody is found by any name, the file's own among them. */
async function holding({ dir }: User, names: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const name of readdirSync(dir, { recursive: true, encoding: "utf8" })) {
    const path = join(dir, name);
    // A database that is closed meanwhile takes its shared memory with it.
    if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) continue;
    const bytes = await contents(path);
    if (names.some((one) => bytes.includes(one) || name.includes(one)))
      found.push(relative(dir, path));
  }
  return found.sort();
}

const SALES = ["search", "--department", "Sales", "--yes", "--again"];
const STOPPED = asTyped`${SALES.slice(0, 3)} --again --per-page 10 --max-credits 30 --require-complete`;

/** The first whose names are nobody else's, and stand in every format as they are. */
function canaryOf(all: readonly Row[]): Row {
  const once = (field: string, row: Row): boolean =>
    /^[^&<>"'\\]{8,}$/.test(row[field] ?? "") &&
    all.filter((other) => other[field] === row[field]).length === 1;
  const found = all.slice(0, 20).find((row) => once("name", row) && once("headline", row));
  if (found === undefined) throw new Error("nobody's names are unique");
  return found;
}

const jobsFor = (canary: Row) => ({
  log: "jobs.log",
  jobs: {
    sales: {
      command: "search",
      filters: { department: "Sales" },
      max_credits: 900,
      output: "job.csv",
    },
    one: {
      command: "search",
      filters: { network_url: canary.network_url },
      max_credits: 5,
      output: "job-one.csv",
    },
    capped: {
      command: "search",
      filters: { network_url: [canary.network_url] },
      max_credits: 1,
      min_rows: 9,
      output: "job-short.csv",
    },
  },
});

/** An agent of the built program buys a page of the segment, and the person by name. */
async function buyByAgent(me: User, canary: Row): Promise<void> {
  const agent = await startAgent(me, ["--max-credits", "50"], { answer: YES });
  try {
    for (const filters of [{ department: "Sales" }, { network_url: canary.network_url }]) {
      const quote = await agent.call("quote", { kind: "people", filters, profiles: 20 });
      const bought = await agent.call("buy", { quote_id: String(quote.data.quote_id) });
      expect(bought.failed, bought.text).toBe(false);
      await agent.call("read_rows", { run: bought.data.run });
    }
  } finally {
    await agent.close();
  }
}

interface Forgot {
  readonly histories: readonly unknown[];
  readonly outputs: readonly { readonly path: string; readonly how: string }[];
  readonly mentions: readonly { readonly path: string; readonly lines: readonly number[] }[];
}

test("bought through every door, a person is in no file afterwards, packed ones included, and the rest is as it was", async () => {
  const me = user(service.url, service.key);
  const all = rows(await ok(me, [...SALES, "--format", "ndjson"]));
  const canary = canaryOf(all);
  const names = namesOf(canary);
  const address = canary.network_url ?? "";
  const packed = ["s.csv.gz", "s.ndjson.gz", "s.xlsx", "s.parquet", "s.tsv"];
  for (const file of packed) await ok(me, [...SALES, "-o", file]);
  await ok(me, asTyped`search --network-url ${address} --yes -o one.csv --receipt one.json`);
  await ok(me, ["count", "--network-url", address]);
  await ok(me, ["count", "--department", "Sales", "--by", "country"]);
  await ok(me, ["owned"]);
  writeFileSync(me.file("jobs.jsonc"), JSON.stringify(jobsFor(canary), undefined, 1));
  await ok(me, ["segment", "save", "watched", "--network-url", address]);
  for (const [job, code] of [
    ["sales", 0],
    ["one", 0],
    ["capped", 5],
  ] as const) {
    const ran = await me.run(["jobs", "run", job, "--file", "jobs.jsonc"]);
    expect([job, ran.code, ran.stderr]).toEqual([job, code, expect.anything()]);
  }
  const one = keyOf({ path: me.file("jobs.jsonc") }, "one");
  await buyByAgent(me, canary);
  await ok(me, ["refresh", "--department", "Sales", "-o", "list.csv.gz", "--yes"]);
  expect((await me.run([...STOPPED, "-o", "stopped.ndjson"])).code).not.toBe(0);
  const [stopped = ""] = JSON.parse(await ok(me, ["runs", "--json"])).map(
    ({ id }: { id: string }) => id,
  );

  const spentBefore = await spentBy(me);
  const before = await holding(me, names);
  expect(before).toEqual(
    expect.arrayContaining([
      ...packed,
      "one.csv",
      "one.json",
      "job.csv",
      "job-one.csv",
      "list.csv.gz",
    ]),
  );
  expect(before).toEqual(
    expect.arrayContaining([
      `state/jobs/${one}/history.ndjson`,
      `state/runs/${stopped}/journal.ndjson`,
    ]),
  );
  expect(before.filter((path) => path.startsWith("state/library/"))).not.toEqual([]);
  const whole = runIds(me);
  expect(whole.every((id) => before.includes(`state/runs/${id}/journal.ndjson`))).toBe(true);

  const forgot = await me.run(["forget", canary.id ?? "", "--yes", "--json"]);
  expect([forgot.code, forgot.stderr]).toEqual([5, expect.stringContaining("one.json")]);
  expect(await spentBy(me)).toEqual(spentBefore);
  const { histories, mentions, outputs } = (JSON.parse(forgot.stdout) as { forgot: Forgot }).forgot;
  expect(histories).toEqual([{ job: expect.stringMatching(/^one@/), lines: 1 }]);
  // Whatever of the owner's own names the person is named with the lines that do; data knows of the files too.
  const named = (file: string): number[] =>
    me
      .read(file)
      .split("\n")
      .flatMap((line, at) => (names.some((name) => line.includes(name)) ? [at + 1] : []));
  const own = ["config/segments/watched.json", "jobs.jsonc", "jobs.log"];
  const places = mentions.map(({ lines, path }) => [relative(me.dir, path), lines]);
  expect(Object.fromEntries(places)).toEqual(
    Object.fromEntries(own.map((file) => [file, named(file)])),
  );
  expect(forgot.stderr).toContain(`${me.file("jobs.jsonc")}:${named("jobs.jsonc")[0]}`);
  const { kept } = JSON.parse(await ok(me, ["data", "--json"])) as {
    kept: { what: string; path: string }[];
  };
  for (const what of ["jobs", "log"]) expect(kept.map((one) => one.what)).toContain(what);
  rmSync(me.file("config/segments/watched.json"));
  const how = (one: string) =>
    outputs.filter((output) => output.how === one).map(({ path }) => relative(me.dir, path));
  expect(how("cut").sort()).toEqual(["job-one.csv", "list.csv.gz", "one.csv"]);
  expect(how("left")).toEqual(["one.json"]);
  expect(await holding(me, names)).toEqual(["jobs.jsonc", "jobs.log", "one.json"]);
  // What nobody but its owner may change: a receipt, and, written by hand or to a place of the owner's, jobs and their log.
  rmSync(me.file("one.json"));
  // The service still has the person, who is not bought again.
  await ok(me, ["refresh", "list.csv.gz", "--yes", "--max-credits", "1"]);
  const spend = await spentBy(me);
  expect(spend).toEqual(spentBefore);
  await ok(me, ["forget", canary.id ?? "", "--yes"]);
  expect(await holding(me, names)).toEqual(["jobs.jsonc", "jobs.log"]);

  const others = all.filter(({ id }) => id !== canary.id);
  for (const file of packed) {
    const text = (await contents(me.file(file))).toString("utf8");
    expect([file, others.filter(({ id }) => !text.includes(id ?? ""))]).toEqual([file, []]);
  }
  expect(await spentBy(me)).toEqual(spend);
  const last = JSON.parse(me.read(`state/jobs/${one}/history.ndjson`)) as Record<string, unknown>;
  expect(last).toMatchObject({ job: "one", status: "done", rows: 1, credits: 0, receipt: null });
  await ok(me, ["jobs", "status", "--file", "jobs.jsonc"]);

  // The run that was cut short goes on with what the others hold: nobody is bought twice, and its file lacks the person.
  const paid = await charged(service, CREDITS);
  await ok(me, ["resume", stopped, "--max-credits", String(all.length), "--yes"]);
  expect((await charged(service, CREDITS)) - paid).toBe(0);
  expect(rows(me.read("stopped.ndjson"))).toEqual(others);
  for (const { id } of JSON.parse(await ok(me, ["runs", "--json"])) as { id: string }[]) {
    const text = await ok(me, ["runs", "export", id, "--format", "ndjson"]);
    expect(names.filter((name) => text.includes(name))).toEqual([]);
  }
  expect(await holding(me, names)).toEqual(["jobs.jsonc", "jobs.log"]);
});

test("outputs of a run that was removed since lose the person, and what was asked by name goes too", async () => {
  const me = user(service.url, service.key);
  const all = rows(await ok(me, [...SALES, "--format", "ndjson"]));
  const canary = canaryOf(all);
  const name = canary.name ?? "";
  for (const file of ["s.csv.gz", "s.xlsx", "s.csv"]) await ok(me, [...SALES, "-o", file]);
  await ok(me, ["search", "--name", name.toUpperCase(), "--yes", "--format", "ndjson"]);
  await ok(me, ["refresh", "--name", name, "-o", "named.csv", "--yes"]);
  expect(readCsv(me.read("named.csv"))).toHaveLength(1);
  const [byName = ""] = JSON.parse(await ok(me, ["runs", "--json"])).map(
    ({ id }: { id: string }) => id,
  );
  const pruned = runIds(me).filter((id) => id !== byName);
  for (const id of pruned) await ok(me, ["runs", "remove", id, "--yes"]);
  const spend = await spentBy(me);
  await ok(me, ["forget", canary.network_url ?? "", "--yes"]);
  expect(runIds(me)).toEqual([]);
  expect(await spentBy(me)).toEqual(spend);
  const found = await holding(me, [...namesOf(canary), name.toLowerCase(), name.toUpperCase()]);
  expect(found).toEqual([]);
  expect(readCsv(me.read("s.csv")).map(({ id }) => id)).toEqual(
    all.flatMap(({ id }) => (id === canary.id ? [] : [id])),
  );
});

test("the packed files beside a list, and its history", async () => {
  const crowd = new Crowd(seeded(4));
  const people = Array.from({ length: 60 }, () => crowd.born({ department: "Sales" }));
  const address = "https://www.people.example/in/zenobia-quillfeather";
  const more = {
    headline: "Keeper of unlikely lighthouses",
    email: "zenobia@quillfeather.example",
  };
  const canary = {
    ...crowd.born({ department: "Sales", id: "canary-000042", network_url: address }),
    ...more,
  };
  const named = { ...canary, name: "Zenobia Quillfeather" };
  const names = namesOf(named as unknown as Row);
  const other = await startPeopleService({ people });
  try {
    const me = user(other.url, other.key);
    const list = ["refresh", "list.ndjson.gz", "--yes"];
    await ok(me, ["refresh", "--department", "Sales", "-o", "list.ndjson.gz", "--yes"]);
    other.options.people = [...people, named];
    await ok(me, list);
    expect(await holding(me, names)).toContain("list.added.ndjson.gz");
    const moved = { ...named, title: "somebody else by now" };
    other.options.people = [...people, moved];
    await ok(me, list);
    other.options.people = people;
    await ok(me, list);
    expect(await holding(me, names)).toContain("list.removed.ndjson.gz");
    await ok(me, ["forget", address, "--yes"]);
    expect(await holding(me, names)).toEqual([]);
    other.options.people = [...people, moved];
    await ok(me, [...list, "--max-credits", "5"]);
    await ok(me, [...list, "--max-credits", "5"]);
    expect(await holding(me, names)).toEqual([
      expect.stringContaining("state/library/"),
      expect.stringContaining("state/runs/"),
    ]);
    await ok(me, ["forget", address, "--yes"]);
    expect(await holding(me, names)).toEqual([]);
    expect(JSON.parse(await ok(me, ["owned", "--json"]))).toMatchObject({ people: people.length });
  } finally {
    await other.close();
  }
});

test("whatever another door wrote is in the register, and is cleaned in place: every other byte is as it was", async () => {
  const me = user(service.url, service.key);
  const all = rows(await ok(me, [...SALES, "--format", "ndjson"]));
  const canary = canaryOf(all);
  const names = namesOf(canary);
  const forms = ["csv", "tsv", "ndjson", "json", "xlsx", "parquet", "csv.gz", "json.gz"];
  for (const form of forms) {
    await ok(me, ["runs", "export", "last", "-o", `run.${form}`]);
    await ok(me, ["owned", "export", "-o", `owned.${form}`]);
  }
  const asText = ["--format", "table", "--fields", "network_url,name"];
  await ok(me, ["runs", "export", "last", ...asText, "-o", "run.txt"]);
  await ok(me, ["runs", "export", "last", "-o", "duckdb:crm.duckdb#people"]);
  const other = all.find(({ id }) => id !== canary.id)?.network_url ?? "";
  await ok(me, ["owned", "export", "--network-url", other, "-o", "other.xlsx"]);
  chmodSync(me.file("run.csv.gz"), 0o640);
  const cut = forms.flatMap((form) => [`owned.${form}`, `run.${form}`]).sort();
  const written = [...cut, "run.txt"];
  const { kept } = JSON.parse(await ok(me, ["data", "--json"])) as {
    kept: { what: string; path: string }[];
  };
  const listed = kept.map(({ path }) => path);
  for (const file of written) expect(listed).toContain(me.file(file));
  expect(kept.map(({ what }) => what)).toContain("table");
  expect(kept.map(({ what }) => what)).not.toContain("register");

  const planned = JSON.parse(await ok(me, ["forget", canary.id ?? "", "--dry-run", "--json"])) as {
    would_forget: Forgot;
  };
  const forgot = await me.ends(5, ["forget", canary.id ?? "", "--yes", "--json"]);
  const { outputs } = (JSON.parse(forgot.stdout) as { forgot: Forgot }).forgot;
  expect(outputs).toEqual(planned.would_forget.outputs);
  const how = (one: string): string[] =>
    outputs.flatMap((output) => (output.how === one ? [relative(me.dir, output.path)] : [])).sort();
  expect(how("left")).toEqual(["run.txt"]);
  expect(how("cut")).toEqual(cut);
  expect(how("deleted")).toEqual([expect.stringContaining("crm.duckdb#people")]);
  expect(forgot.stderr).toContain(me.file("run.txt"));
  expect((await holding(me, names)).filter((path) => path !== "crm.duckdb")).toEqual(["run.txt"]);
  expect(statSync(me.file("run.csv.gz")).mode & 0o777).toBe(0o640);
  const instance = await startDuckDb({ threads: 1, memoryBytes: 2 ** 28 });
  const connection = await instance.connect();
  await connection.run(`ATTACH '${me.file("crm.duckdb")}' AS crm (READ_ONLY)`);
  const reader = await connection.runAndReadAll(
    `SELECT count(*), count(*) FILTER (id = '${canary.id}') FROM crm.people`,
  );
  expect(reader.getRows()[0]?.map(Number)).toEqual([all.length - 1, 0]);
  connection.closeSync();
  instance.closeSync();
  // Written anew from the run they are the same.
  for (const form of forms) {
    const before = await contents(me.file(`run.${form}`));
    await ok(me, ["runs", "export", "last", "-o", `run.${form}`, "--overwrite"]);
    expect([form, (await contents(me.file(`run.${form}`))).equals(before)]).toEqual([form, true]);
  }
  rmSync(me.file("run.txt"));
  const again = await ok(me, ["forget", canary.id ?? "", "--yes"]);
  expect(again).toContain(`looked again at ${cut.length + 1} files and 1 table`);
  expect((await holding(me, names)).filter((path) => path !== "crm.duckdb")).toEqual([]);
});

test("rows without an id are found by profile address and by mail, and other people's stay", async () => {
  const crowd = new Crowd(seeded(9));
  const born = (number: number, more: object) =>
    crowd.born({
      department: "Sales",
      network_url: `https://www.people.example/in/somebody-${number}`,
      ...more,
    });
  const people = [
    born(1, { name: "Zenobia Quillfeather", email: "Zenobia@Quill.example" }),
    born(2, { name: "Zenobia Quillfeather", email: "other@quill.example" }),
    born(3, { name: 'Ann, "the" Lee', email: "info@quill.example" }),
    born(4, { name: "Bo Zeta Quill", email: "info@quill.example" }),
  ];
  const other = await startPeopleService({ people });
  try {
    const me = user(other.url, other.key);
    await ok(me, [...SALES, "--format", "ndjson"]);
    const files = {
      "mail.csv": "name,email",
      "address.tsv": "name,network_url",
      "m.json.gz": "email",
      "x.xlsx": "email",
    };
    for (const [file, fields] of Object.entries(files))
      await ok(me, ["runs", "export", "last", "--fields", fields, "-o", file]);
    const lines = me.read("mail.csv").split("\n");
    const several = await me.run(["forget", "info@quill.example", "--yes"]);
    expect([several.code, several.stderr]).toEqual([2, expect.stringContaining("names 2 people")]);
    const forgot = await me.run(["forget", "zenobia@quill.example", "--yes"]);
    // Another has the name: who looks at it decides.
    expect([forgot.code, forgot.stderr]).toEqual([5, expect.stringContaining("mail.csv")]);
    expect(me.read("mail.csv").split("\n")).toEqual(
      lines.filter((line) => !line.includes("Zenobia@")),
    );
    expect(
      me
        .read("address.tsv")
        .match(/somebody-\d/g)
        ?.sort(),
    ).toEqual(["somebody-2", "somebody-3", "somebody-4"]);
    for (const file of ["m.json.gz", "x.xlsx"]) {
      const mails = String(await contents(me.file(file))).match(/\w+@quill.example/gi);
      expect(mails?.sort()).toEqual([
        "info@quill.example",
        "info@quill.example",
        "other@quill.example",
      ]);
    }
    // A mailbox that two have tells neither: its row stays, and the file is named by the name in it.
    await me.ends(5, ["forget", "https://www.people.example/in/somebody-4", "--yes"]);
    expect(me.read("mail.csv")).toContain("Bo Zeta Quill,info@quill.example");
    // Of somebody whom nothing keeps any more, files have rows.
    for (const folder of ["runs", "library"])
      rmSync(me.file(`state/${folder}`), { recursive: true });
    await ok(me, ["forget", "other@quill.example", "--yes"]);
    expect(me.read("mail.csv")).not.toContain("other@quill.example");
    await me.ends(6, ["forget", "nobody@quill.example", "--yes"]);
  } finally {
    await other.close();
  }
});

test.skipIf(isLeftOut(hasPostgres))(
  "rows of a PostgreSQL table are deleted, and one that does not answer is named",
  async () => {
    const database = await openDatabase();
    const { password, pathname, port } = new URL(database.url);
    const sql = async (statement: string) =>
      (await database.query(statement)).map(({ id }) => String(id)).sort();
    process.env.PGPASSWORD = password;
    try {
      const me = user(service.url, service.key);
      const all = rows(await ok(me, [...SALES, "--format", "ndjson"])).map(({ id }) => id ?? "");
      const [first = "", second = ""] = all.sort();
      const table = `postgres://headcount@127.0.0.1:${port}${pathname}#people`;
      await ok(me, ["runs", "export", "last", "-o", table]);
      expect(await sql("SELECT id FROM people")).toEqual(all);
      expect(await ok(me, ["forget", first, "--yes"])).toContain(`rows deleted: ${table}`);
      expect(await sql("SELECT id FROM people")).toEqual(all.slice(1));
      await sql("ALTER TABLE people RENAME TO gone");
      const left = await me.run(["forget", second, "--yes"]);
      expect([left.code, left.stderr]).toEqual([5, expect.stringContaining(table)]);
    } finally {
      delete process.env.PGPASSWORD;
      await database.drop();
    }
  },
  120_000,
);
