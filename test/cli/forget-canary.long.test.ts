import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join, relative } from "node:path";
import { brotliDecompressSync, gunzipSync, inflateRawSync } from "node:zlib";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { effectsOf } from "../../src/cli/effects.ts";
import type { Command } from "../../src/cli/options.ts";
import { buildProgram } from "../../src/cli/program.ts";
import { pathOf } from "../../src/cli/reading.ts";
import { startDuckDb } from "../../src/dataset/duckdb.ts";
import type { Person } from "../../src/shared/contract/records.ts";
import { startAgent, YES } from "../support/agent.ts";
import { asTyped } from "../support/as-typed.ts";
import { testContext } from "../support/client.ts";
import { readCsv, runIds, seeded, type User, user } from "../support/export.ts";
import { foreignScene } from "../support/foreign-scene.ts";
import { jobsFile } from "../support/jobs-file.ts";
import { Crowd, startPeopleService } from "../support/people-service.ts";
import { ok } from "../support/ran.ts";
import { testService } from "../support/serving.ts";
import { vendorUser } from "../support/vendor-user.ts";

// One person is written into every file that a command can write, through every option that shapes
// it, and forgotten. Then every file is searched: as it is, unpacked, and in every code.

const service = testService({ people: 400, credits: 1_000_000 });
let all: Person[];
let canary: Person;
beforeAll(async () => {
  const filters = { department: "Sales" };
  const { json } = await service.call("/v1/person/search", { body: { filters, per_page: 100 } });
  all = json.result as Person[];
  const alone = (one: Person): boolean => all.filter(({ name }) => name === one.name).length === 1;
  canary = all.find((one) => alone(one) && /^[A-Za-z ]{9,}$/.test(one.name ?? "")) as Person;
});

/** As addresses, forms and JSON may spell it: what must be, and every letter. */
const codes = (name: string): string[] => [
  encodeURIComponent(name),
  encodeURIComponent(name).replaceAll("%20", "+"),
  [...Buffer.from(name)].map((byte) => `%${byte.toString(16)}`).join(""),
  ...[/ /g, /./gs].map((which) =>
    name.replace(which, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`),
  ),
];

/** By which the person is looked for: each in every code that hides it from a plain search. */
function needles(who: Person): Buffer[] {
  const slug = who.network_url?.split("/").at(-1) ?? "";
  const names = [who.id, who.name, slug].filter((name): name is string => name !== null);
  return names.flatMap((name) => {
    const base64 = [0, 1, 2].map((shift) => {
      const coded = Buffer.from("x".repeat(shift) + name).toString("base64");
      return coded.slice(shift === 0 ? 0 : 4, -4);
    });
    return [
      Buffer.from(name),
      Buffer.from(name.toLowerCase()),
      Buffer.from(name.toUpperCase()),
      Buffer.from(Buffer.from(name).toString("hex")),
      Buffer.from(name, "utf16le"),
      ...codes(name).flatMap((code) => [code, code.toUpperCase()].map((text) => Buffer.from(text))),
      ...base64.filter((code) => code.length > 6).map((code) => Buffer.from(code)),
    ];
  });
}

/** A file as it is, and all that is packed in it. */
async function forms(path: string): Promise<Buffer[]> {
  const bytes = readFileSync(path);
  const forms = [bytes];
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) forms.push(gunzipSync(bytes));
  if (bytes.toString("latin1", 0, 2) === "PK") {
    for (let at = bytes.indexOf("PK\x03\x04"); at >= 0; at = bytes.indexOf("PK\x03\x04", at + 4)) {
      const from = at + 30 + bytes.readUInt16LE(at + 26) + bytes.readUInt16LE(at + 28);
      try {
        forms.push(inflateRawSync(bytes.subarray(from)));
      } catch {}
    }
  }
  try {
    forms.push(brotliDecompressSync(bytes));
  } catch {}
  const kind = path.endsWith(".parquet") ? `'${path}'` : undefined;
  if (kind !== undefined) forms.push(Buffer.from(await rowsOf(kind)));
  if (path.endsWith(".duckdb")) forms.push(Buffer.from(await rowsOf("people", path)));
  return forms;
}

async function rowsOf(from: string, file?: string): Promise<string> {
  const instance = await startDuckDb({ threads: 1, memoryBytes: 2 ** 28 });
  try {
    const connection = await instance.connect();
    if (file !== undefined) await connection.run(`ATTACH '${file}' AS f (READ_ONLY); USE f`);
    const reader = await connection.runAndReadAll(`SELECT to_json(t)::VARCHAR FROM ${from} t`);
    return reader.getRowsJS().join("\n");
  } finally {
    instance.closeSync();
  }
}

/** Files below a user's folder in which the person is in any form. */
async function holding({ dir }: Pick<User, "dir">, who = canary): Promise<string[]> {
  const found: string[] = [];
  for (const name of readdirSync(dir, { recursive: true, encoding: "utf8" })) {
    const path = join(dir, name);
    if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) continue;
    const texts = await forms(path);
    if (needles(who).some((needle) => texts.some((text) => text.includes(needle))))
      found.push(relative(dir, path));
  }
  return found.sort();
}

const SALES = ["search", "--department", "Sales", "--yes", "--again"];
const KEYLESS = "first_name,last_name,title";
const forget = (me: User) => me.run(["forget", canary.network_url ?? "", "--yes"]);

/** Lines of a command by which somebody comes into files, through each option that shapes them. */
type Lines = Readonly<Record<string, readonly string[][]>>;

const FORMS = ["csv", "tsv", "ndjson", "json", "csv.gz", "ndjson.gz", "xlsx", "parquet"];
const each = (line: (form: string) => string[]): string[][] => FORMS.map(line);

const LINES = (): Lines => ({
  search: [
    ...each((form) => [...SALES, "-o", `all.${form}`]),
    ...each((form) => [...SALES, "--fields", KEYLESS, "-o", `keyless.${form}`]),
    ...["excel", "raw"].flatMap((how) => [
      [...SALES, "-o", `${how}.csv`, "--csv", how],
      [...SALES, "-o", `${how}-keyless.csv`, "--csv", how, "--fields", "name"],
    ]),
    [...SALES, "-o", "duckdb:crm.duckdb#people"],
    asTyped`${SALES} --sample 9999 --seed 7 --max-credits 9999 -o sample.csv --fields name`,
    asTyped`${SALES} --name-prefix ${canary.name?.slice(0, 4) ?? ""} -o prefix.csv`,
    asTyped`search --department Sales --new-only --dry-run`,
    [...SALES, "--per-page", "7", "--receipt", "receipt.json", "-o", "small.csv"],
  ],
  count: [asTyped`count --department Sales --by country`, ["count", "--name", canary.name ?? ""]],
  "runs export": [
    ...each((form) => asTyped`runs export last --fields name,title -o run.${form}`),
    asTyped`runs export last --csv raw -o run-raw.csv`,
  ],
  "owned export": [
    ...each((form) => asTyped`owned export --department Sales -o owned.${form}`),
    ...each((form) => asTyped`owned export --fields ${KEYLESS} -o owned-keyless.${form}`),
  ],
  refresh: [asTyped`refresh --department Sales -o list.csv --yes --fields ${KEYLESS}`],
  employees: [
    ...[
      "kept.csv",
      "kept.xlsx --fields name",
      "kept-all.xlsx",
      "kept-p.csv --prefix our_ --csv raw",
    ].map((out) => asTyped`employees crm.csv --keep-input --max-credits 900 -o ${out.split(" ")}`),
    asTyped`employees --input crm.csv --max-credits 900 --misses missed.csv -o staff.ndjson`,
  ],
  enrich: [
    asTyped`enrich --input crm.csv --max-credits 9 --misses unknown.csv -o firms.csv`,
    asTyped`enrich crm.csv --keep-input --max-credits 9 --prefix our_ -o firms.xlsx`,
  ],
  "suppress add": [["suppress", "add", "nobody.example", "--note", `asked by ${canary.name}`]],
  "segment save": [asTyped`segment save sales --department Sales`],
  "jobs run": [asTyped`jobs run sales raw --file jobs.jsonc`],
  "owned status": [asTyped`owned`],
  "owned show": [["owned", "show", canary.network_url ?? ""]],
  "owned import": [asTyped`owned import all.ndjson`],
  "owned rebuild": [asTyped`owned rebuild`],
  sql: [["sql", `SELECT count(*) FROM people WHERE id = '${canary.id}'`]],
  sync: [["sync", "team", "--insecure-storage"]],
  "data show": [asTyped`data`],
});

/** Of no line alone, in the tests below. */
const ELSEWHERE = asTyped`resume mcp read`;
/** They take people away, or mark or count whom others wrote. */
const NONE = ["forget", "doctor", ...["remove", "prune"].map((word) => `runs ${word}`)].concat(
  ["import", "remove", "check"].map((word) => `suppress ${word}`),
  "segment remove",
);

test("put into every file through every option, a person is in none of them, in no code, afterwards", async () => {
  const me = user(service.url, service.key);
  const website = canary.company_domain;
  writeFileSync(me.file("crm.csv"), `Account,Website\nAcme,${website}\nGone,gone.example\n`);
  for (const folder of ["team", "agents"]) mkdirSync(me.file(folder));
  const job = { filters: { department: "Sales" }, max_credits: 900, output: "job.csv" };
  jobsFile(me, { log: "jobs.log", jobs: { sales: job, raw: { ...job, output: "job.xlsx" } } });
  for (const line of Object.values(LINES()).flat()) await ok(me, line);

  const short = asTyped`${SALES} --per-page 5 --max-credits 10 --require-complete`;
  await me.ends(5, [...short, "-o", "resumed.csv", "--csv", "raw"]);
  await ok(me, asTyped`resume last --max-credits 900 --yes --overwrite`);
  const agent = await startAgent(me, asTyped`--max-credits 999 -o agents`, { answer: YES });
  try {
    const filters = { department: "Sales" };
    const { data } = await agent.call("quote", { kind: "people", filters });
    const { run } = (await agent.call("buy", { quote_id: String(data.quote_id) })).data;
    await agent.call("read_rows", { run });
    for (const format of ["csv", "ndjson", "xlsx"]) {
      const wrote = await agent.call("export_run", { run, format, file: `agent.${format}` });
      expect(wrote.failed, wrote.text).toBe(false);
    }
  } finally {
    await agent.close();
  }

  const before = await holding(me);
  const holders = asTyped`crm.duckdb kept.csv kept-p.csv staff.ndjson sample.csv prefix.csv
    resumed.csv job.csv job.xlsx raw-keyless.csv state/suppression/list.ndjson`;
  expect(holders.filter((file) => !before.includes(file))).toEqual([]);
  const rows = readCsv(me.read("keyless.csv")).length;
  const forgot = await forget(me);
  expect(await holding(me)).toEqual([]);
  expect([forgot.code, forgot.stderr]).toEqual([0, ""]);
  expect(readCsv(me.read("keyless.csv"))).toHaveLength(rows - 1);
  expect(readCsv(me.read("owned-keyless.csv"))).toHaveLength(rows - 1);
  const isThere = ({ first_name: first, last_name: last, title }: Record<string, unknown>) =>
    first === canary.first_name && last === canary.last_name && title === canary.title;
  for (const file of ["keyless.csv", "owned-keyless.csv", "list.csv"])
    expect([file, readCsv(me.read(file)).some(isThere)]).toEqual([file, false]);
  const others = await rowsOf("people", me.file("crm.duckdb"));
  expect(others.split("\n")).toHaveLength(rows - 1);
});

test("every command that writes people's files is a line of these", async () => {
  const every = (command: Command): Command[] => [command, ...command.commands.flatMap(every)];
  const program = await buildProgram(testContext({}).context, [], "all");
  const kept = ["output", "runs", "library", "register", "suppression", "jobs", "sync", "segments"];
  const writing = every(program)
    .filter((command) =>
      effectsOf(command)
        ?.writes?.split(" ")
        .some((word) => kept.includes(word)),
    )
    .map(pathOf)
    .filter((path) => !path.startsWith("service "));
  const tried = [...Object.keys(LINES()), ...ELSEWHERE, ...NONE];
  expect(writing.toSorted()).toEqual(tried.toSorted());
});

test("bought by its id at a vendor, a person is in no file afterwards", async () => {
  const { vendor, run, rows, dir } = await vendorUser("apollo", { credits: "1000", people: 60 });
  onTestFinished(() => vendor.stop());
  const lines = [
    "search -c v --country Germany --ids german.csv",
    "search -c v --country Germany --yes --new-only --max-credits 6 -o new.ndjson",
    ...FORMS.map((form) => `read -c v german.csv --yes -o read.${form}`),
    "read -c v german.csv --yes --fields name,title --csv raw -o raw.csv",
    "search -c v --country Germany --yes --again --sample 11 --seed 3 -o sample.csv",
    "search -c v --country Germany --yes --again -o again.csv",
    "owned export -c v -o own.ndjson",
  ];
  for (const line of lines) expect([line, (await run(line)).code]).toEqual([line, 0]);
  const isAlone = ({ name }: object & { name?: unknown }) => /^[A-Za-z ]{9,}$/.test(String(name));
  const one = rows("new.ndjson").find(isAlone) as unknown as Person;
  expect(await holding({ dir }, one)).toEqual(expect.arrayContaining(["read.xlsx", "german.csv"]));
  const forgot = await run(`forget ${one.id} --yes`);
  expect(await holding({ dir }, one)).toEqual([]);
  expect([forgot.code, forgot.stderr]).toEqual([0, ""]);
  expect(rows("read.ndjson")).toHaveLength(10);
  // The runs are gone, and whoever else came by them is owned as before.
  expect((await run("owned export -c v -o left.ndjson")).code).toBe(0);
  expect(rows("left.ndjson")).toEqual(rows("own.ndjson"));
  expect(rows("left.ndjson")).toHaveLength(10);
});

test("in a table of one's own that was read, a person is named with it and in what came of it", async () => {
  const me = user(service.url, service.key);
  const cells = (contact: string | null) => `${canary.company_domain},${contact}\n`;
  writeFileSync(me.file("own.csv"), `Website,Contact\n${cells(canary.name)}${cells("Bo Li")}`);
  await ok(me, [...SALES, "-o", "all.csv"]);
  await ok(me, asTyped`enrich own.csv --keep-input --max-credits 9 -o firms.csv`);
  await ok(me, asTyped`enrich own.csv --keep-input --max-credits 9 -o firms.xlsx`);
  const forgot = await me.ends(5, ["forget", canary.network_url ?? "", "--yes"]);
  expect(await holding(me)).toEqual(["firms.csv", "firms.xlsx", "own.csv"]);
  for (const file of ["firms.csv", "firms.xlsx"]) expect(forgot.stderr).toContain(me.file(file));
});

test("a file whose rows tell nobody is named where whoever wrote it had the person, and no other", async () => {
  const me = user(service.url, service.key);
  const lines = [
    [...SALES, "-o", "own.csv", "--fields", "first_name,title"],
    asTyped`refresh --department Sales -o list.csv --yes --fields first_name,title`,
    ...["csv", "xlsx", "parquet", "json", "ndjson.gz"].flatMap((form) => [
      asTyped`owned export --fields first_name,title -o owned.${form}`,
      asTyped`runs export last --fields title,country -o run.${form}`,
    ]),
    asTyped`search --department Legal --yes -o others.csv --fields department`,
  ];
  for (const line of lines) await ok(me, line);
  const rows = readCsv(me.read("own.csv")).length;
  const forgot = await me.ends(5, ["forget", canary.network_url ?? "", "--yes"]);
  const named = forgot.stderr.match(/(?<=\/)[\w.-]+(?=\n)/g) ?? [];
  expect(named.sort()).toEqual(
    asTyped`list.csv owned.csv owned.json owned.ndjson.gz owned.parquet owned.xlsx
      run.csv run.json run.ndjson.gz run.parquet run.xlsx`,
  );
  // What a run wrote itself is written again from it.
  expect(readCsv(me.read("own.csv"))).toHaveLength(rows - 1);
});

test.each<[string, (text: string) => Buffer]>([
  ["UTF-16 with a mark, as PowerShell saves", (text) => Buffer.from(`\ufeff${text}`, "utf16le")],
  ["UTF-16 without one", (text) => Buffer.from(text, "utf16le")],
  ["semicolons in Windows-1252", (text) => Buffer.from(`é;${text.replaceAll(",", ";")}`, "latin1")],
  ["a page of HTML", (text) => Buffer.from(`<html><body>${text}</body></html>`)],
  ["half a packed file", () => Buffer.from("1f8b0800000000000003", "hex")],
])("an output that another program saved as %s is named, and left", async (_, saved) => {
  const me = user(service.url, service.key);
  for (const more of [[], ["--fields", KEYLESS]])
    await ok(me, [...SALES, ...more, "-o", "saved.csv", "--overwrite"]);
  const bytes = saved(me.read("saved.csv").replace("\n", `\nx,"${canary.name}",\n`));
  writeFileSync(me.file("saved.csv"), bytes);
  const forgot = await forget(me);
  expect([forgot.code, forgot.stderr]).toEqual([5, expect.stringContaining("saved.csv")]);
  expect(readFileSync(me.file("saved.csv")).equals(bytes)).toBe(true);
});

test("a link in the place of an output is neither followed nor replaced", async () => {
  const me = user(service.url, service.key);
  await ok(me, [...SALES, "-o", "out.csv"]);
  mkdirSync(me.file("elsewhere"));
  renameSync(me.file("out.csv"), me.file("elsewhere/out.csv"));
  symlinkSync(me.file("elsewhere/out.csv"), me.file("out.csv"));
  const forgot = await forget(me);
  expect([forgot.code, forgot.stderr]).toEqual([5, expect.stringContaining("out.csv")]);
  expect(await holding(me)).toEqual(["elsewhere/out.csv", "out.csv"]);
});

test("a run that cannot be read is named, and the rest is forgotten", async () => {
  const me = user(service.url, service.key);
  await ok(me, [...SALES, "-o", "out.csv"]);
  await ok(me, [...SALES, "-o", "other.csv"]);
  const [first = ""] = runIds(me);
  const journal = me.file(`state/runs/${first}/journal.ndjson`);
  const bytes = readFileSync(journal);
  bytes.fill("#", bytes.length >> 1, (bytes.length >> 1) + 64);
  writeFileSync(journal, bytes);
  const forgot = await forget(me);
  expect([forgot.code, forgot.stderr]).toEqual([5, expect.stringContaining(first)]);
  expect(forgot.stderr).toContain("cannot be read");
  const left = await holding(me);
  expect(left.filter((path) => !path.startsWith(`state/runs/${first}/`))).toEqual([]);
});

test("what names a person beside rows, coded too, and in cursors, goes; the run keeps its rows", async () => {
  const { service: foreign, u } = await foreignScene({
    people: 40,
    paging: "cursor",
    cursorTells: true,
  });
  const argv = ["employees", "globex.example", "--paging", "cursor", "--per-page", "10"];
  await ok(u, [...argv, "--max-credits", "200", "-o", "o.ndjson"]);
  const rows = u.read("o.ndjson").trim().split("\n");
  const last = JSON.parse(rows[9] ?? "") as { id: number; name: string };
  const codes = [`"id":${last.id},`, last.name].map((text) => Buffer.from(text));
  const names = (): string[] =>
    runIds(u).filter((id) => {
      const text = readFileSync(u.file(`state/runs/${id}/journal.ndjson`), "latin1");
      const coded = (text.match(/c\d+\.[\w-]+/g) ?? []).map((cursor) =>
        Buffer.from(cursor.replace(/^c\d+\./, ""), "base64url"),
      );
      return [Buffer.from(text, "latin1"), ...coded].some((one) =>
        codes.some((code) => one.includes(code)),
      );
    });
  expect(names()).toHaveLength(1);
  const spent = foreign.charged();
  await ok(u, ["forget", String(last.id), "--yes"]);
  expect(names()).toEqual([]);
  expect(await ok(u, ["runs", "export", "last", "--format", "ndjson"])).toBe(
    `${rows.filter((_, at) => at !== 9).join("\n")}\n`,
  );
  expect(foreign.charged()).toBe(spent);
});

test("who stands in other people's rows is named, with the journal and the library", async () => {
  const crowd = new Crowd(seeded(4));
  const address = "https://www.people.example/in/zenobia-quillfeather";
  const named = {
    ...crowd.born({ department: "Sales", network_url: address }),
    name: "Zenobia Quillfeather",
  };
  const colleague = { ...crowd.born({ department: "Sales" }), manager: "Zenobia Quillfeather" };
  const other = await startPeopleService({ people: [named, colleague] });
  try {
    const me = user(other.url, other.key);
    await ok(me, ["search", "--department", "Sales", "--yes", "-o", "o.ndjson"]);
    const forgot = await me.ends(5, ["forget", address, "--yes"]);
    for (const place of ["o.ndjson", `state/runs/${runIds(me)[0]}`, "state/library/"])
      expect(forgot.stderr).toContain(place);
    expect(me.read("o.ndjson").trim().split("\n")).toHaveLength(1);
  } finally {
    await other.close();
  }
});
