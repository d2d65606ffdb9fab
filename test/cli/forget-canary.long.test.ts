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
import { gunzipSync, inflateRawSync } from "node:zlib";
import { beforeAll, expect, test } from "vitest";
import { startDuckDb } from "../../src/dataset/duckdb.ts";
import type { Person } from "../../src/shared/contract/records.ts";
import { asTyped } from "../support/as-typed.ts";
import { readCsv, runIds, seeded, type User, user } from "../support/export.ts";
import { foreignScene } from "../support/foreign-scene.ts";
import { Crowd, startPeopleService } from "../support/people-service.ts";
import { ok } from "../support/ran.ts";
import { testService } from "../support/serving.ts";

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
}, 60_000);

/** By which the person is looked for: each in every code that hides it from a plain search. */
function needles(): Buffer[] {
  const slug = canary.network_url?.split("/").at(-1) ?? "";
  const names = [canary.id, canary.name, slug].filter((name): name is string => name !== null);
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
async function holding({ dir }: User): Promise<string[]> {
  const found: string[] = [];
  for (const name of readdirSync(dir, { recursive: true, encoding: "utf8" })) {
    const path = join(dir, name);
    if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) continue;
    const texts = await forms(path);
    if (needles().some((needle) => texts.some((text) => text.includes(needle))))
      found.push(relative(dir, path));
  }
  return found.sort();
}

const SALES = ["search", "--department", "Sales", "--yes", "--again"];
const KEYLESS = "first_name,last_name,title";
const forget = (me: User) => me.run(["forget", canary.network_url ?? "", "--yes"]);

test("put into every file through every option, a person is in none of them, in no code, afterwards", async () => {
  const me = user(service.url, service.key);
  const forms = ["csv", "tsv", "ndjson", "json", "csv.gz", "ndjson.gz", "xlsx", "parquet"];
  for (const form of forms) {
    await ok(me, [...SALES, "-o", `all.${form}`]);
    await ok(me, [...SALES, "--fields", KEYLESS, "-o", `keyless.${form}`]);
    await ok(me, ["runs", "export", "last", "--fields", "name,title", "-o", `run.${form}`]);
    await ok(me, ["owned", "export", "--department", "Sales", "-o", `owned.${form}`]);
    await ok(me, ["owned", "export", "--fields", KEYLESS, "-o", `owned-keyless.${form}`]);
  }
  await ok(me, [...SALES, "-o", "excel.csv", "--csv", "excel"]);
  await ok(me, [...SALES, "-o", "excel-keyless.csv", "--csv", "excel", "--fields", "name"]);
  await ok(me, [...SALES, "-o", "duckdb:crm.duckdb#people"]);
  await ok(me, asTyped`refresh --department Sales -o list.csv --yes --fields ${KEYLESS}`);
  writeFileSync(me.file("crm.csv"), `Account,Website\nAcme,${canary.company_domain}\n`);
  const kept = ["employees", "crm.csv", "--keep-input", "--max-credits", "500"];
  await ok(me, [...kept, "-o", "kept.csv"]);
  await ok(me, [...kept, "-o", "kept.xlsx", "--fields", "name"]);
  await ok(me, ["suppress", "add", "nobody.example", "--note", `asked by ${canary.name}`]);

  const before = await holding(me);
  for (const file of ["crm.duckdb", "kept.csv", "keyless.csv", "state/suppression/list.ndjson"])
    expect([file, before.includes(file) || file === "keyless.csv"]).toEqual([file, true]);

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
}, 240_000);

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
