import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { SuppressionList } from "../../src/engine/library/suppression.ts";
import { Disk } from "../../src/engine/runs/disk.ts";
import { readSuppression } from "../../src/engine/runs/suppression.ts";
import { suppressedName } from "../../src/shared/contract/naming/who.ts";
import { marksOf, Suppression } from "../../src/shared/contract/suppression.ts";
import { asTyped } from "../support/as-typed.ts";
import { tempDir } from "../support/client.ts";
import { type User, user } from "../support/export.ts";
import { long } from "../support/long.ts";
import { ran as ok } from "../support/ran.ts";
import { testService } from "../support/serving.ts";
import { workbookOf } from "../support/workbook.ts";

const service = testService({ people: 400, credits: 100_000 });

type Row = Readonly<Record<"id" | "name" | "network_url" | "company_domain", string>>;
const rows = (text: string): Row[] =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Row);

/** Somebody who bought a segment, and three people of it. */
async function buyer(): Promise<{ me: User; all: Row[]; one: Row; other: Row; third: Row }> {
  const me = user(service.url, service.key);
  const { stdout } = await ok(me, asTyped`search --department Sales --yes --format ndjson`);
  const all = rows(stdout);
  const [one, other, third] = all.filter((row) => row.company_domain !== null) as [Row, Row, Row];
  return { me, all, one, other, third };
}

describe("headcount suppress", () => {
  long(
    "who is on the list is in no output, and what was paid for all the same is said",
    async () => {
      const { me, all, one, other, third } = await buyer();
      await ok(
        me,
        asTyped`suppress add ${one.id} https://www.${other.network_url}/?x=1 --note objected`,
      );
      await ok(me, ["suppress", "add", third.company_domain]);
      const left = all.filter(
        (row) => row !== one && row !== other && row.company_domain !== third.company_domain,
      );
      const gone = all.filter((row) => !left.includes(row));
      expect(gone.length).toBeGreaterThanOrEqual(3);
      const searched = ["search", "--department", "Sales", "--yes", "--again"];
      const offline = [
        ["runs", "export", "last", "--format", "ndjson"],
        ["runs", "export", "last", "--format", "csv"],
        ["runs", "export", "last", "--format", "json"],
        ["runs", "export", "last", "--format", "table", "--fields", "name,network_url"],
        ["owned", "export", "--format", "ndjson"],
        ["owned", "export", "--department", "Sales", "--format", "ndjson"],
        ["sql", "select * from people"],
        ["sql", "select body from record union all select identity from person"],
        ["sql", "select * from purchases"],
      ];
      const bought = await ok(me, [...searched, "--format", "ndjson"]);
      expect(rows(bought.stdout)).toEqual(left);
      expect(bought.stderr).toContain(`${gone.length} profiles on the suppression list: bought`);
      await ok(me, [...searched, "-o", "sales.csv", "--receipt", "receipt.json"]);
      expect(JSON.parse(me.read("receipt.json"))).toMatchObject({
        received: all.length,
        distinct: all.length,
        suppressed: gone.length,
        credits: all.length,
        complete: true,
      });
      const outputs = [me.read("sales.csv")];
      for (const argv of offline) outputs.push((await ok(me, argv)).stdout);
      for (const text of outputs) {
        expect(gone.filter(({ network_url }) => text.includes(network_url))).toEqual([]);
        expect(left.some(({ name }) => text.includes(name))).toBe(true);
      }
      expect((await ok(me, ["count", "--owned"])).stdout).toBe(`${left.length}\n`);
      expect(JSON.parse((await ok(me, ["owned", "--json"])).stdout)).toMatchObject({
        people: left.length,
        suppressed: gone.length,
        rows_paid: all.length * 3,
      });
      await me.ends(6, ["owned", "show", one.id]);
      await ok(me, ["runs", "export", "last", "-o", "all.xlsx"]);
      await ok(me, ["runs", "export", "last", "-o", "duckdb:crm.duckdb#people"]);
      expect((await ok(me, ["suppress", "remove", third.company_domain])).stderr).toContain(
        "removed 1 entry",
      );
      expect((await ok(me, ["count", "--owned"])).stdout).toBe(`${all.length - 2}\n`);
    },
  );

  test("a whole name is looked up among the people who are there, never taken for an id; check says who is on the list", async () => {
    const { me, all, one, other } = await buyer();
    const once = (row: Row): boolean => all.filter(({ name }) => name === row.name).length === 1;
    const alone = all.find(once) as Row;
    await ok(me, ["suppress", "add", alone.name.toUpperCase(), "--note", "objected"]);
    await me.ends(6, ["owned", "show", alone.id]);
    const checked = await ok(
      me,
      asTyped`suppress check ${alone.network_url} ${alone.id} ${alone.name} --json`,
    );
    const { checked: seen } = JSON.parse(checked.stdout) as {
      checked: { suppressed: boolean; note: string }[];
    };
    expect(seen.map(({ suppressed, note }) => [suppressed, note])).toEqual(
      [1, 2, 3].map(() => [true, "objected"]),
    );
    const unlisted = await me.run([
      "suppress",
      "check",
      alone.id,
      other === alone ? one.id : other.id,
    ]);
    expect([unlisted.code, unlisted.stdout.split("\n").map((line) => line.split(",")[1])]).toEqual([
      6,
      ["suppressed", "yes", "no", undefined],
    ]);
  });

  test("whom nobody knows is neither added nor forgotten; what is on the list is not gone", async () => {
    const { me } = await buyer();
    const before = (await ok(me, ["suppress", "list"])).stdout;
    for (const [who, code] of [
      ["Nobody Whosoever", 6],
      ["ada@northwind.example", 6],
    ] as const) {
      expect([who, (await me.run(["suppress", "add", who])).code]).toEqual([who, code]);
      expect([who, (await me.run(["forget", who, "--yes"])).code]).toEqual([who, 6]);
    }
    // On the list is not forgotten: nothing is said to be gone that nobody ever kept.
    await ok(me, ["suppress", "add", "somebody-unheard-of"]);
    await me.ends(6, ["forget", "somebody-unheard-of", "--yes"]);
    await ok(me, ["suppress", "remove", "somebody-unheard-of"]);
    expect((await ok(me, ["suppress", "list"])).stdout).toBe(before);
  });

  test("who is named is neither asked for nor paid", async () => {
    const { me, one, other } = await buyer();
    await ok(me, ["suppress", "add", one.network_url]);
    const named = ["--network-url", one.network_url, "--network-url", other.network_url, "--yes"];
    const { stdout, stderr } = await ok(me, ["search", ...named, "--format", "ndjson"]);
    expect(rows(stdout).map(({ id }) => id)).toEqual([other.id]);
    expect(stderr).toContain(
      "1 person on the suppression list: named, and neither asked for nor paid",
    );
    expect(stderr).toContain("1 of the 1 is yours already");
    const alone = await me.run(["search", "--network-url", one.network_url, "--yes"]);
    expect([alone.code, alone.stderr]).toEqual([2, expect.stringContaining("nothing was spent")]);
    await ok(me, ["suppress", "add", one.company_domain]);
    const company = await me.run(["employees", one.company_domain, "--yes"]);
    expect([company.code, company.stderr]).toEqual([
      2,
      expect.stringContaining("nothing was spent"),
    ]);
  });

  test("nor is who is named by another form of the address than the list has, and check finds them", async () => {
    const { me, one, other } = await buyer();
    const last = (address: string): string => address.slice(address.lastIndexOf("/") + 1);
    const forms = (address: string) => [address, last(address), `https://www.${address}/`];
    await ok(
      me,
      asTyped`suppress add ${one.network_url} ${last(other.network_url)} northwind.example`,
    );
    for (const who of [one, other].flatMap(({ network_url }) => forms(network_url))) {
      const { code, stderr } = await me.run(["search", "--network-url", who, "--yes", "--again"]);
      expect([who, code, stderr]).toEqual([who, 2, expect.stringContaining("nothing was spent")]);
      expect([who, (await me.run(["suppress", "check", who])).code]).toEqual([who, 0]);
    }
    for (const company of ["northwind.example", "mail.northwind.example"]) {
      const { code, stderr } = await me.run(["employees", company, "--yes"]);
      expect([company, code, stderr]).toEqual([
        company,
        2,
        expect.stringContaining("nothing was spent"),
      ]);
      await me.ran(["suppress", "check", company]);
    }
    const elsewhere = `elsewhere.example/in/${last(one.network_url)}`;
    await me.ends(6, ["suppress", "check", elsewhere]);
    await ok(me, ["suppress", "add", elsewhere]);
    await ok(me, ["suppress", "remove", one.network_url]);
    await me.ends(6, ["suppress", "check", one.network_url]);
    await me.ran(["suppress", "check", elsewhere]);
  });

  test("nor is who is named in a segment of several, or beside an exception", async () => {
    const { me, one, other, third } = await buyer();
    await ok(me, ["suppress", "add", one.network_url]);
    writeFileSync(
      me.file("a.json"),
      JSON.stringify({ network_url: [one.network_url, other.network_url] }),
    );
    writeFileSync(me.file("b.json"), JSON.stringify({ network_url: third.network_url }));
    writeFileSync(me.file("only.json"), JSON.stringify({ network_url: one.network_url }));
    writeFileSync(me.file("not.json"), JSON.stringify({ seniority_level: "nobody has this" }));
    const bought = async (...argv: string[]) => {
      const { stdout, stderr } = await ok(
        me,
        asTyped`search ${argv} --yes --again --format ndjson`,
      );
      expect(stderr).toContain(
        "1 person on the suppression list: named, and neither asked for nor paid",
      );
      const receipt = JSON.parse((await ok(me, ["runs", "show", "last", "--json"])).stdout) as {
        settled: number;
      };
      return [
        rows(stdout)
          .map(({ id }) => id)
          .sort(),
        receipt.settled,
      ];
    };
    expect(await bought("-f", "a.json", "-f", "b.json")).toEqual([[other.id, third.id].sort(), 2]);
    expect(await bought("-f", "only.json", "-f", "b.json")).toEqual([[third.id], 1]);
    expect(await bought("-f", "a.json", "--except", "not.json")).toEqual([[other.id], 1]);
    const alone = await me.run(["search", "-f", "only.json", "--except", "not.json", "--yes"]);
    expect([alone.code, alone.stderr]).toEqual([2, expect.stringContaining("nothing was spent")]);
  });

  test("a company that is looked up, and the table it was looked up for", async () => {
    const me = user(service.url, service.key);
    const people = rows(
      (await ok(me, ["search", "--all", "--limit", "60", "--yes", "--format", "ndjson"])).stdout,
    );
    const domains = [
      ...new Set(people.map(({ company_domain }) => company_domain).filter(Boolean)),
    ].slice(0, 2);
    const [hidden = "", open = ""] = domains;
    await ok(me, ["suppress", "add", hidden]);
    const { stdout } = await ok(me, ["enrich", hidden, open, "--yes", "--format", "ndjson"]);
    expect(stdout).toContain(open);
    expect(stdout).not.toContain(hidden);
    writeFileSync(me.file("in.csv"), `domain,own\n${hidden},1\n${open},2\n`);
    const table = await ok(me, asTyped`enrich --input in.csv --keep-input --yes --format ndjson`);
    const joined = table.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(table.stderr).toContain(
      "1 row with a company on the suppression list: neither asked for nor paid",
    );
    const spent = JSON.parse((await ok(me, ["runs", "show", "last", "--json"])).stdout) as {
      settled: number;
    };
    // The other one is owned already.
    expect(spent.settled).toBe(0);
    writeFileSync(me.file("only.csv"), `domain,own\n${hidden},1\n`);
    const only = await me.run(asTyped`enrich only.csv --keep-input --yes --format ndjson`);
    expect([only.code, only.stderr]).toEqual([2, expect.stringContaining("nothing was spent")]);
    expect(Object.values(joined[0] ?? {})).toContain("suppressed");
    expect(Object.values(joined[0] ?? {}).filter((value) => value !== null)).toHaveLength(4);
    expect(Object.values(joined[1] ?? {})).toContain("found");
  });

  test("a list that is refreshed keeps them in its history and out of its files, and pays for nobody twice", async () => {
    const { me, all, one } = await buyer();
    await ok(me, ["search", "--department", "Sales", "--yes", "--again", "-o", "sales.ndjson"]);
    await ok(me, ["suppress", "add", one.id]);
    for (const _ of [1, 2]) {
      const { stdout } = await ok(me, ["refresh", "sales.ndjson", "--yes", "--json"]);
      expect(JSON.parse(stdout)).toMatchObject({
        count: all.length,
        suppressed: 1,
        credits: 0,
        added: 0,
        removed: 0,
      });
      expect(rows(me.read("sales.ndjson")).map(({ id }) => id)).toEqual(
        expect.not.arrayContaining([one.id]),
      );
      expect(rows(me.read("sales.ndjson"))).toHaveLength(all.length - 1);
    }
  });

  test("the list names nobody, is its owner's alone, and without it nothing is written", async () => {
    const { me, one, other } = await buyer();
    await ok(me, ["suppress", "add", one.id, other.network_url]);
    const folder = join(me.dir, "state", "suppression");
    expect(readdirSync(folder).sort()).toEqual(["key", "list.ndjson"]);
    for (const name of readdirSync(folder)) {
      expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
      const text = readFileSync(join(folder, name), "latin1");
      for (const said of [one.id, other.network_url, other.network_url.split("/").at(-1) ?? ""])
        expect(text).not.toContain(said);
    }
    const { entries } = JSON.parse((await ok(me, ["suppress", "list", "--json"])).stdout) as {
      entries: { mark: string; kind: string }[];
    };
    expect(entries.map(({ kind }) => kind)).toEqual(["id", "address"]);
    const [key, list] = [join(folder, "key"), join(folder, "list.ndjson")];
    const [saved, listed] = [readFileSync(key), readFileSync(list)];
    const flipped = (bytes: Buffer, at: number): Buffer =>
      Buffer.from(bytes.map((byte, index) => (index === at ? byte ^ 1 : byte)));
    const lines = listed.toString().split("\n");
    for (const damage of [
      () => rmSync(key),
      () => writeFileSync(key, "short"),
      // A mark that is another mark, a line that is gone, a key that is another: nobody comes back for it.
      () => writeFileSync(key, flipped(saved, 9)),
      () => writeFileSync(list, flipped(listed, listed.indexOf('"marks":["') + 12)),
      () => writeFileSync(list, lines.slice(1).join("\n")),
      () => writeFileSync(list, lines.slice(0, 2).join("\n")),
      () => writeFileSync(list, ""),
      () => rmSync(list),
    ]) {
      writeFileSync(key, saved);
      writeFileSync(list, listed);
      damage();
      for (const argv of [
        ["runs", "export", "last"],
        ["owned", "export"],
        ["search", "--all", "--limit", "1", "--yes"],
      ]) {
        const { code, stdout } = await me.run(argv);
        expect([argv, code, stdout]).toEqual([argv, 5, ""]);
      }
    }
    writeFileSync(key, saved);
    writeFileSync(list, listed);
    await ok(me, ["suppress", "remove", entries[0]?.mark ?? ""]);
    expect((await ok(me, ["runs", "export", "last", "--format", "ndjson"])).stdout).toContain(
      one.id,
    );
    await me.ends(2, ["suppress", "remove", one.id]);
  });

  test("whoever is stopped at any step of making the list has named nobody, and the same command again does it", async () => {
    const names = [{ kind: "id", id: "p1" }] as const;
    const lock = {
      now: Date.now,
      sleep: async () => undefined,
      signal: new AbortController().signal,
    };
    for (let stop = 1, done = false; !done; stop += 1) {
      const folder = join(tempDir(), "suppression");
      let step = 0;
      const failing = new Disk(() => {
        step += 1;
        if (step >= stop) throw new Error("stopped");
      });
      done = await new SuppressionList(folder, failing, lock).add(names, null).then(
        () => true,
        () => false,
      );
      if (done) expect(stop).toBeGreaterThan(6);
      expect([0, 1]).toContain((await readSuppression(folder)).marks.size);
      await new SuppressionList(folder, new Disk(), lock).add(names, null);
      expect((await readSuppression(folder)).marks.size).toBe(1);
    }
  });

  test("a file is taken in whole or not at all, and again it changes nothing", async () => {
    const { me, one, other } = await buyer();
    writeFileSync(
      me.file("who.txt"),
      `\ufeff# objected\r\n${one.id}\r\n\r\n${other.network_url}\r\n`,
    );
    const first = await ok(me, ["suppress", "import", "who.txt", "--json"]);
    expect(JSON.parse(first.stdout)).toEqual({ added: 2, known: 0, entries: 2 });
    expect(
      JSON.parse((await ok(me, ["suppress", "import", "who.txt", "--json"])).stdout).added,
    ).toBe(0);
    writeFileSync(me.file("bad.txt"), "somebody-else\nid,name\n");
    const bad = await me.run(["suppress", "import", "bad.txt"]);
    expect([bad.code, bad.stderr]).toEqual([2, expect.stringContaining("line 2 of bad.txt")]);
    expect((await ok(me, ["suppress", "list"])).stdout.trim().split("\n")).toHaveLength(3);
  });
});

describe("who is meant", () => {
  const key = Buffer.alloc(32, 7);
  const listOf = (...words: readonly string[]): Suppression => {
    const marks = words.flatMap((word) => {
      const name = suppressedName(word);
      return name === undefined ? [] : marksOf(key, name);
    });
    return new Suppression({ key, entries: [{ marks, kind: "id", at: "", note: null }] });
  };

  test.each([
    ["network.example/in/ada", { address: "https://www.Network.example/in/Ada/" }, true],
    ["network.example/in/ada", { address: "other.example/in/ada" }, false],
    ["ada", { address: "https://network.example/in/ada" }, true],
    ["ada", { id: "ada" }, true],
    ["ada", { id: "Ada" }, false],
    ["northwind.example", { domain: "https://mail.northwind.example/x" }, true],
    ["mail.northwind.example", { domain: "northwind.example" }, false],
    ["northwind.example", { id: "northwind.example" }, false],
    ["42", { id: "42" }, true],
    ["42", { id: "421" }, false],
  ])("%s and %o: %s", (word, named, hidden) => {
    expect(listOf(word).hides(named)).toBe(hidden);
  });

  test("whoever was added by one of the names of a record is hidden, and nobody else", () => {
    const slug = fc.stringMatching(/^[a-z0-9-]{1,12}$/);
    fc.assert(
      fc.property(
        fc.uniqueArray(slug, { minLength: 2, maxLength: 20 }),
        fc.nat(),
        (names, pick) => {
          const [who = ""] = names.splice(pick % names.length, 1);
          const list = listOf(`network.example/in/${who}`);
          expect(list.hides({ id: "1", address: `http://network.example/in/${who}` })).toBe(true);
          for (const other of names)
            expect(list.hides({ id: who, address: `network.example/in/${other}` })).toBe(false);
        },
      ),
    );
  });
});

test("service suppress takes people out of a data folder, and again after a process that died before it had", async () => {
  const me = user(service.url, service.key);
  const data = ["--data", me.file("data")];
  await ok(me, ["service", "generate", "--people", "60", ...data]);
  const { stderr } = await me.run(["service", "suppress", "add", "nobody-there", ...data]);
  expect(stderr).toContain("it stays as it is");
  const empty = await me.run(["service", "suppress", "add", "a b/c", ...data]);
  expect([empty.code, empty.stderr]).toEqual([6, expect.stringContaining('"a b/c"')]);
  const listed = await ok(me, ["service", "suppress", "list", "--json", ...data]);
  expect(JSON.parse(listed.stdout).entries).toHaveLength(1);
  await ok(me, ["service", "suppress", "remove", "nobody-there", ...data]);
  expect((await ok(me, ["service", "suppress", "list", ...data])).stdout).toBe(
    "mark,kind,at,note\n",
  );
});

test("a row of an import that has nothing to name somebody by is an objection that is told", async () => {
  const u = user("http://127.0.0.1:1", "key");
  writeFileSync(u.file("who.csv"), "Name,Profile\nAda,network.example/in/ada\nEve,\nJo,\n");
  const { stderr } = await ok(u, ["suppress", "import", "who.csv", "-q"]);
  expect(stderr).toBe(
    "warning: who.csv names nobody in 2 rows, whom nothing leaves out: line 3, 4\n",
  );
});

test.each<[string, string | Buffer, number | string]>([
  ["a list", "# objected, 2026\nnetwork.example/in/ada\n\nnorthwind.example\n", 2],
  ["a list with a heading", "Domain\nnorthwind.example\n", 1],
  ["a table", "Name,Profile URL,Company Domain\nAda,https://network.example/in/ada,a.example\n", 1],
  [
    "a table with a title",
    "Objections of 2026\n\nid;name\np_0000000001;Ada\np_0000000002;Eve\n",
    2,
  ],
  [
    "a workbook",
    workbookOf([
      ["Name", "Profile URL"],
      ["Ada", "network.example/in/ada"],
    ]),
    1,
  ],
  ["a JSON list", '[{"id": "p_0000000001"}, {"network_url": "network.example/in/ada"}]', 2],
  [
    "a table of people by their employer",
    "Name,Company Domain\nAda,a.example\n",
    "no column that tells",
  ],
  [
    "a CRM's own numbers",
    "Record ID,Name\n101,Ada\n",
    "no column that tells people; its columns: Record ID",
  ],
  [
    "a CRM's own numbers beside profiles",
    "Record ID,LinkedIn URL\n101,network.example/in/ada\n102,\nTotal,2\n",
    1,
  ],
  [
    "a CRM's own numbers beside profiles whose heading is not known",
    "ID;Nombre;Perfil\n101;Ada;https://network.example/in/ada\n",
    "no address in ID; its columns: ID, Nombre, Perfil",
  ],
  ["an id of twenty digits", '{"id":12345678901234567890}\n{"id":12345678901234567891}\n', 2],
  [
    "an id that is nothing",
    "id,name\nN/A,Ada\n",
    ": no profile address, id or domain; nobody was added",
  ],
  ["a line of totals", "id,name,hits\np_0000000001,Ada,3\nTotal,,3\n", 1],
  ["a page", "<!doctype html><p>network.example/in/ada", "is an HTML page"],
])("suppress import takes %s for whom it names", async (_, file, expected) => {
  const u = user("http://127.0.0.1:1", "key");
  writeFileSync(u.file("who"), file);
  const ran = await u.run(["suppress", "import", "who", "--json"]);
  if (typeof expected === "string")
    expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining(expected)]);
  else expect([ran.code, JSON.parse(ran.stdout)]).toMatchObject([0, { added: expected }]);
});

test("suppress import takes the column that is named", async () => {
  const u = user("http://127.0.0.1:1", "key");
  writeFileSync(u.file("who"), "ID;Nombre;Perfil\n101;Ada;https://network.example/in/ada\n");
  expect(await u.json(["suppress", "import", "who", "--column", "perfil", "--json"])).toMatchObject(
    { added: 1 },
  );
  await u.ran(["suppress", "check", "network.example/in/ada"]);
  await u.ends(6, ["suppress", "check", "101"]);
  await u.ends(2, ["suppress", "import", "who", "--column", "Profil"], 'no column "Profil"');
});
