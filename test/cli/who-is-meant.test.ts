import { describe, expect, test } from "vitest";
import { identityIn, PersonMatcher, requireOne } from "../../src/shared/person.ts";
import { type User, user } from "../support/export.ts";
import { ok } from "../support/ran.ts";
import { testService } from "../support/serving.ts";

const service = testService({ people: 300, credits: 100_000 });

type Row = Readonly<
  Record<
    "id" | "name" | "first_name" | "last_name" | "network_url" | "country" | "company_network_url",
    string
  >
>;

const runsOf = async (me: User): Promise<readonly string[]> =>
  (JSON.parse(await ok(me, ["runs", "--json"])) as { id: string }[]).map(({ id }) => id).sort();

async function buyer(): Promise<{ me: User; rows: Row[] }> {
  const me = user(service.url, service.key);
  const text = await ok(me, ["search", "--department", "Sales", "--yes", "--format", "ndjson"]);
  const rows = text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Row);
  return { me, rows };
}

describe("forget", () => {
  test("what nobody who is kept is called is refused before anything is touched", async () => {
    const { me, rows } = await buyer();
    const country = rows[0]?.country ?? "";
    await ok(me, ["search", "--country", country, "--limit", "3", "--yes", "-o", "c.csv"]);
    const before = [await runsOf(me), me.read("c.csv")];

    const first = rows.find(({ first_name: one }) => one.length > 3)?.first_name ?? "";
    for (const word of [
      country,
      country.toUpperCase(),
      "department",
      "search",
      "sales",
      "canonical",
      first,
      "Nobody Whosoever",
      "n/a",
      "unknown",
      "-",
      "acme.example",
      "https://acme.example/about",
      "c.csv",
      "network.example",
      "nobody@acme.example",
      "p_9999999999",
      "https://network.example/in/nobody-at-all/de",
      // In every row of whoever works there.
      rows.find(({ company_network_url: employer }) => employer)?.company_network_url ?? "",
    ]) {
      const { code, stderr } = await me.run(["forget", "--yes", word]);
      expect([word, code, stderr]).toEqual([word, 6, expect.stringContaining("was taken for")]);
    }

    expect([await runsOf(me), me.read("c.csv")]).toEqual(before);
    expect(JSON.parse(await ok(me, ["suppress", "list", "--json"]))).toEqual({ entries: [] });
  });

  test("whoever is called almost so is named, and nobody is touched", async () => {
    const { me, rows } = await buyer();
    const bare = (name: string): string => name.normalize("NFD").replace(/\p{M}/gu, "");
    const once = ({ name, first_name: first, last_name: last }: Row): boolean =>
      [first, last].every(
        (part) =>
          /^\p{L}+$/u.test(part) && rows.filter((row) => row.name.includes(part)).length === 1,
      ) && bare(name) !== name;
    const who = rows.find(once) as Row;
    await ok(me, ["runs", "export", "last", "-o", "all.csv"]);
    const before = await runsOf(me);

    for (const [word, ...command] of [
      [bare(who.name), "forget", "--yes"],
      [`${who.last_name}, ${who.first_name}`, "forget", "--yes"],
      [`Dr. ${who.name}, MBA`, "suppress", "add"],
      [who.last_name, "forget", "--yes"],
      [who.first_name, "suppress", "add"],
      // As whoever objects says it: at another network, and the slug is in every file.
      [who.network_url.replace(/^[^/]+/, "linkedin.com"), "forget", "--yes"],
    ] as const) {
      const { code, stderr } = await me.run([...command, word]);
      expect([word, code, stderr]).toEqual([
        word,
        6,
        expect.stringContaining(`called almost so: ${who.network_url}; name whoever`),
      ]);
    }

    expect(await runsOf(me)).toEqual(before);
    expect(JSON.parse(await ok(me, ["suppress", "list", "--json"]))).toEqual({ entries: [] });
    await ok(me, ["forget", who.network_url, "--yes"]);
  });

  test("a run goes that was bought by the whole name, also in two filters, and no other", async () => {
    const { me, rows } = await buyer();
    const once = (row: Row): boolean => rows.filter(({ name }) => name === row.name).length === 1;
    const { first_name: first, last_name: last, ...who } = rows.find(once) as Row;
    const before = await runsOf(me);
    const bought = async (...argv: string[]): Promise<string> => {
      await ok(me, [
        "search",
        ...argv,
        "--yes",
        "--again",
        "--limit",
        "2",
        "-o",
        "o.csv",
        "--overwrite",
      ]);
      return (await runsOf(me)).find((id) => !all.includes(id) && all.push(id) > 0) ?? "";
    };
    const all = [...before];
    const byFirst = await bought("--first-name", first);
    const byBoth = await bought("--first-name", first, "--last-name", last);
    const byName = await bought("--name", who.name);
    const byAddress = await bought("--network-url", who.network_url);
    const byCountry = await bought("--country", who.country);

    const { forgot } = JSON.parse(await ok(me, ["forget", who.id, "--yes", "--json"])) as {
      forgot: { runs: { run: string; removed: boolean }[] };
    };
    const removed = forgot.runs.flatMap(({ run, removed: is }) => (is ? [run] : [])).sort();
    expect(removed).toEqual([byBoth, byName, byAddress].sort());
    expect(await runsOf(me)).toEqual([...before, byFirst, byCountry].sort());
  });

  test.each(["https://uk.", "https://m.", "www."])(
    "an address at %s… is the profile, whatever stands behind it",
    async (host) => {
      const { me, rows } = await buyer();
      const { id, network_url: address } = rows[1] as Row;
      const bare = address.replace(/^https?:\/\/(?:www\.)?/, "");
      expect(await ok(me, ["forget", `${host}${bare}/overlay/contact-info/`, "--yes"])).toContain(
        "library: 1 person",
      );
      await me.ends(6, ["owned", "show", id]);
    },
  );
});

describe("suppress", () => {
  test("what was read is said, and whom it hides; a word of letters alone is nobody's", async () => {
    const { me, rows } = await buyer();
    const { id, network_url: address } = rows[2] as Row;
    const bare = address.replace(/^https?:\/\/(?:www\.)?/, "");
    const words = ["Müller", '"Müller"', "(Thomas)", "*.example", "n/a", "crm.csv"];
    for (const word of [...words, "no@body.example", "Ada Nobody"])
      expect([word, (await me.run(["suppress", "add", word])).code]).toEqual([word, 6]);
    expect(JSON.parse(await ok(me, ["suppress", "list", "--json"]))).toEqual({ entries: [] });

    const added = await me.run(["suppress", "add", `https://uk.${bare}/de/`]);
    expect(added.stderr).toContain(`taken for the address ${bare.toLowerCase()}`);
    expect(added.stderr).toContain("of the people you have that hides 1");
    await me.ends(6, ["owned", "show", id]);
    await me.ran(["suppress", "check", id]);

    const other = rows[3]?.id ?? "";
    await ok(me, ["suppress", "add", other]);
    await me.ran(["suppress", "check", other]);
    await me.ends(6, ["suppress", "check", other.toUpperCase()]);

    const later = await me.run(["suppress", "add", "https://nobody-yet.example/"]);
    expect(later.stderr).toContain("everybody of the domain nobody-yet.example");
    expect(later.stderr).toContain("of the people you have that hides 0");
    for (const same of ["nobody-yet.example", "*.nobody-yet.example", "x.nobody-y\u200bet.example"])
      expect([same, (await me.run(["suppress", "check", same])).code]).toEqual([same, 0]);
  });

  test("a list with a line that is nobody's form adds nobody", async () => {
    const me = user(service.url, service.key);
    const ran = await me.run(["suppress", "import", "-"], { stdin: "p_1\nMüller\n" });
    expect([ran.code, ran.stderr]).toEqual([
      2,
      expect.stringContaining('line 2 of stdin is "Müller"'),
    ]);
    expect(JSON.parse(await ok(me, ["suppress", "list", "--json"]))).toEqual({ entries: [] });
  });
});

describe("texts of one person", () => {
  test("ids that differ in case alone are two", () => {
    const person = new PersonMatcher("003AbCdEf");
    person.add({ id: "003AbCdEf", address: "network.example/in/ada" }, "one");
    expect(person.isNamedIn('{"id":"003AbCdEf"}')).toBe(true);
    expect(person.isNamedIn('{"id":"003aBcDeF"}')).toBe(false);
    expect(person.is({ id: "003abcdef", address: undefined }, "")).toBe(false);
  });

  test("several people are listed by what names each: the address, or the id where there is none", () => {
    const seen = (id: string, network_url: string | null) => {
      const who = identityIn({ id, network_url, name: "Ada" });
      if (who === undefined) throw new Error("no record");
      return { who, service: "/state/library/one.db" };
    };
    const people = [seen("7", null), seen("8", "https://network.example/in/ada")];
    expect(() => requireOne("Ada", people)).toThrow(
      '"Ada" names 2 people: 7, network.example/in/ada; nothing was changed',
    );
  });

  test("addresses that are one in canonical form alone are not told apart, and refused", () => {
    const seen = (id: string, network_url: string) => {
      const who = identityIn({ id, network_url });
      if (who === undefined) throw new Error("no record");
      return { who, service: "one" };
    };
    const word = "network.example/in/ada";
    const twins = [seen("1", "network.example/in/Ada"), seen("2", "network.example/in/ada")];
    expect(() => requireOne(word, twins)).toThrow("names 2 people");
    const same = [seen("1", "https://www.network.example/in/ada/"), seen("1", word)];
    expect(() => requireOne(word, same)).not.toThrow();
    // Renumbered, and written alike.
    expect(() => requireOne(word, [seen("1", word), seen("2", `https://${word}/`)])).not.toThrow();
  });

  test("a name of signs alone is in no text that has none of them", () => {
    const person = new PersonMatcher();
    person.add({ id: "p_1234567", address: undefined, names: ["***"] }, "one");
    expect(person.mayBeIn("somebody else")).toBe(false);
    expect(person.mayBeIn("call *** back")).toBe(true);
    expect(person.isNamedByFilters('{"name": ""}')).toBe(false);
  });

  test("filters name a person by address and by the whole name, and by nothing else", () => {
    const person = new PersonMatcher("network.example/in/jordan");
    const record = {
      network_url: "network.example/in/jordan",
      name: "Jordan Sales",
      first_name: "Jordan",
      last_name: "Sales",
    };
    person.add(identityIn(record) ?? { id: undefined, address: undefined }, "one");
    for (const [filters, isNamed] of [
      [{ country: "jordan" }, false],
      [{ department: "Sales", first_name: "jordan" }, false],
      [{ first_name: ["adam", "JORDAN"], last_name: "sales" }, true],
      [{ name: "jordan  SALES" }, true],
      [{ name_prefix: "jordan" }, false],
      [{ network_url: ["https://uk.network.example/in/jordan/de"] }, true],
      [{ network_url: "jordan" }, true],
      [{ network_url: "other.example/in/jordan" }, false],
      [{ company_network_url: "network.example/company/jordan" }, false],
      [{ title: "Jordan Sales" }, false],
    ] as const)
      expect([filters, person.isNamedByFilters(JSON.stringify([{ filters }]))]).toEqual([
        filters,
        isNamed,
      ]);
  });
});
