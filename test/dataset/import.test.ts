import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { generateInto } from "../../src/dataset/build/generate.ts";
import { addNormalForms } from "../../src/dataset/build/normal-sql.ts";
import { startDuckDb, told } from "../../src/dataset/duckdb.ts";
import { openDataset } from "../../src/dataset/embedded/open.ts";
import type { Engine } from "../../src/dataset/engine.ts";
import { checkFilters } from "../../src/shared/contract/filters.ts";
import type { Company, Person } from "../../src/shared/contract/records.ts";
import { systemFailure } from "../../src/shared/errors.ts";
import { SMALL, tempFolder } from "../support/dataset.ts";
import { importing } from "../support/imports.ts";
import { long } from "../support/long.ts";
import { startTestService } from "../support/service.ts";

const ALL = { exact: {}, prefix: {}, range: {} };
const at = importing();
const { write, load, reading, everybody, rejects } = at;

// By which `service import` tells a machine that is too small.
long("too little memory is an error of the system, and nothing is published", async () => {
  const people = Array.from(
    { length: 40_000 },
    (_, at) => `${at},person ${at},${"long ".repeat(40)}${at}`,
  );
  await write("people.csv", ["id,name,headline", ...people].join("\n"));
  const small = load({}, { threads: 1, memoryBytes: 16 * 2 ** 20 });
  await expect(small).rejects.toMatchObject({ code: "ENOMEM" });
  await expect(openDataset(join(at.folder, "dataset"))).rejects.toThrow();
});

test.skipIf(!existsSync("/dev/full"))("a full disk is one where DuckDB meets it, too", async () => {
  const instance = await startDuckDb(SMALL);
  const connection = await instance.connect();
  const thrown = await connection.run("COPY (SELECT 1) TO '/dev/full'").catch(told);
  expect(systemFailure(thrown)).toMatchObject({ code: "disk_full" });

  const wrong = await connection.run("SELECT nobody").catch(told);
  expect(wrong).toMatchObject({ message: expect.stringMatching(/^Referenced column "nobody"/) });
  expect(systemFailure(wrong)).toBeUndefined();
  instance.closeSync();
});

test("a map is JSON as people write it: each slip is told by its place, before a row is read", async () => {
  await write("people.csv", "id,Full Name\n1,Ada\n");
  const given = { people: ["people.csv"], map: "map.json", dryRun: true };
  for (const [map, message] of [
    ['{\n  "name": "Full Name"\n  "id": "id"}', "map.json is not valid JSON: line 3, column 3: "],
    ['{"name": "id", "name": "Full Name"}', "duplicate key in map.json: name"],
    ["[".repeat(100_000), "map.json is nested more than 32 levels deep"],
    ["", "map.json is not JSON: it is empty"],
  ] as const) {
    await write("map.json", map);
    await expect(load(given), map.slice(0, 40)).rejects.toThrow(message);
  }

  const good = '{"name": "Full Name"} // theirs';
  await write("map.json", Buffer.from(`\ufeff${good}`, "utf16le"));
  expect((await load(given)).people).toMatchObject({ taken: 1 });
});

const count = (engine: Engine, filters: unknown): Promise<number> => {
  const check = checkFilters(filters);
  if (!check.ok) throw new Error(JSON.stringify(check.issues));
  return engine.count(check.canonical);
};

describe("every format gives the same records", () => {
  long("Parquet, CSV, TSV and NDJSON as DuckDB writes them, plain and packed", async () => {
    const instance = await startDuckDb(SMALL);
    const connection = await instance.connect();
    await addNormalForms(connection);
    await generateInto({ connection, scratch: await tempFolder() }, { people: 300, seed: 9 });
    const copies: Record<string, string> = {
      "p.parquet": "FORMAT parquet",
      "p.csv": "FORMAT csv, HEADER",
      "p.csv.gz": "FORMAT csv, HEADER, COMPRESSION gzip",
      "p.tsv": "FORMAT csv, HEADER, DELIMITER '\t'",
      "p.ndjson": "FORMAT json",
      "p.jsonl.gz": "FORMAT json, COMPRESSION gzip",
    };
    for (const [name, options] of Object.entries(copies)) {
      await connection.run(
        `COPY (SELECT * EXCLUDE (address, company_address) FROM staged_people) TO '${join(at.folder, name)}' (${options})`,
      );
    }
    for (const [name, options] of [
      ["c.parquet", "FORMAT parquet"],
      ["c.ndjson", "FORMAT json"],
    ]) {
      await connection.run(
        `COPY staged_companies TO '${join(at.folder, name ?? "")}' (${options})`,
      );
    }
    instance.closeSync();
    let first: Person[] | undefined;
    let firstCompanies: (Company | undefined)[] | undefined;
    for (const name of Object.keys(copies)) {
      const companies = name.includes("json") ? "c.ndjson" : "c.parquet";
      const report = await load({ people: [name], companies: [companies] });
      expect(report.people, name).toMatchObject({
        files: 1,
        rows: 300,
        taken: 300,
        refused: 0,
        reasons: {},
      });
      expect(report.companies, name).toMatchObject({ rows: 43, taken: 43, derived: 0 });
      expect(report.rejects).toBeNull();
      const people = await everybody();
      first ??= people;
      expect(people, name).toEqual(first);
      const found = await reading((engine) =>
        Promise.all(
          [...new Set(people.map((person) => person.company_domain))]
            .filter((domain) => domain !== null)
            .map(async (domain) => engine.company({ by: "domain", value: domain })),
        ),
      );
      const records = found.map(
        (company) => company && (JSON.parse(company.record.toString()) as Company),
      );
      firstCompanies ??= records;
      expect(records, name).toEqual(firstCompanies);
    }
    expect(first?.some((person) => person.connections === null)).toBe(true);
    expect(firstCompanies?.some((company) => (company?.specialties.length ?? 0) > 1)).toBe(true);
  });

  test("CSV dialects: semicolons, quotes with line breaks, CRLF, a byte-order mark, padded cells", async () => {
    const text =
      'id;name;headline;connections\r\n1;" Ada ";"said ""hi"";\r\nthen left";12\r\n2;Grace;;\r\n';
    await write("people.csv", `\ufeff${text}`);
    expect((await load({})).people).toMatchObject({ taken: 2, refused: 0 });
    const people = await everybody();
    expect(
      people.map(({ id, name, headline, connections }) => [id, name, headline, connections]),
    ).toEqual([
      ["1", "Ada", 'said "hi";\r\nthen left', 12],
      ["2", "Grace", null, null],
    ]);
  });

  test("several files and patterns are one dataset", async () => {
    await write("a-1.csv", "id,name\n1,Ada\n");
    await write("a-2.csv", "name,id\nGrace,2\n");
    await write("b.ndjson", '{"id":3,"name":"Edsger"}\n');
    expect((await load({ people: ["a-*.csv", "b.ndjson"] })).people).toMatchObject({
      files: 3,
      taken: 3,
    });
    expect((await everybody()).map((person) => person.name)).toEqual(["Ada", "Grace", "Edsger"]);
  });

  test("whole numbers that a writer kept as floats, dates and epochs", async () => {
    const instance = await startDuckDb(SMALL);
    const connection = await instance.connect();
    await connection.run(
      `COPY (SELECT 'a' AS id, 500.0::DOUBLE AS connections, DATE '2025-03-01' AS updated_at UNION ALL SELECT 'b', NULL, NULL)
       TO '${join(at.folder, "p.parquet")}' (FORMAT parquet)`,
    );
    instance.closeSync();
    await write(
      "q.csv",
      "id,updated_at\nc,2025-02-01T10:00:00+02:00\nd,1735689600\ne,1735689600000\nf,yesterday\n",
    );
    const report = await load({ people: ["p.parquet", "q.csv"] });
    expect(report.cleared).toEqual({
      "people.updated_at": { values: 1, examples: [{ value: "yesterday", rows: 1 }] },
    });
    expect(
      (await everybody()).map(({ connections, updated_at }) => [connections, updated_at]),
    ).toEqual([
      [500, "2025-03-01T00:00:00Z"],
      [null, null],
      [null, "2025-02-01T08:00:00Z"],
      [null, "2025-01-01T00:00:00Z"],
      [null, "2025-01-01T00:00:00Z"],
      [null, null],
    ]);
  });

  test("a time is UTC whatever zone a row before it names; no year has five digits, no offset days", async () => {
    const times: readonly (readonly [string, string | null])[] = [
      ["2024-01-01 10:00:00 PST", "2024-01-01T18:00:00Z"],
      ["2024-01-01 10:00", "2024-01-01T10:00:00Z"],
      ["2024-01-01", "2024-01-01T00:00:00Z"],
      ["20240229", "2024-02-29T00:00:00Z"],
      ["20230229", null],
      ["2016-12-31T23:59:60Z", null],
      ["2024-01-01T10:00:00 Asia/Tokyo", "2024-01-01T01:00:00Z"],
      ["2024-01-01 10:00:00.25+0530", "2024-01-01T04:30:00Z"],
      ["2024-01-01 10:00:00.25", "2024-01-01T10:00:00Z"],
      ["0001-01-01", "0001-01-01T00:00:00Z"],
      ["9999-12-31T23:59:59-01:00", null],
      ["0001-01-01T00:00:00+05:00", null],
      ["0000-06-01T00:00:00Z", null],
      ["2024-01-01 (BC)", null],
      ["2024-01-01T10:00:00+99:00", null],
    ];
    await write(
      "p.csv",
      `id,updated_at\n${times.map(([text], index) => `${100 + index},${text}\n`).join("")}`,
    );
    expect((await load({ people: ["p.csv"] })).cleared["people.updated_at"]?.values).toBe(7);
    expect((await everybody()).map(({ updated_at }) => updated_at)).toEqual(
      times.map(([, time]) => time),
    );
  });
});

describe("what is filled in", () => {
  long("names from their parts and back, ids from addresses, departments by any case", async () => {
    await write(
      "people.csv",
      `id,name,first_name,last_name,network_url,department,country,city
,,Ada,King Lovelace,https://www.Network.example/in/Ada/?x=1,SALES,United Kingdom,London
x,Grace Brewster Hopper,,,,engineering AND technical,,
y,Plato,,,,Philosophy,,
z,Nobody,,,,,,
`,
    );
    const report = await load({});
    expect(report.departments).toEqual({
      unknown: 1,
      missing: 1,
      examples: [{ value: "Philosophy", people: 1 }],
    });
    const byName = new Map((await everybody()).map((person) => [person.name, person]));
    expect(byName.get("Ada King Lovelace")).toMatchObject({
      department: "Sales",
      location: "London, United Kingdom",
      network_url: "https://www.Network.example/in/Ada/?x=1",
    });
    expect(byName.get("Grace Brewster Hopper")).toMatchObject({
      first_name: "Grace",
      last_name: "Brewster Hopper",
      department: "Engineering and Technical",
    });
    expect(byName.get("Plato")).toMatchObject({
      first_name: "Plato",
      last_name: null,
      department: "Other",
    });
    const id = byName.get("Ada King Lovelace")?.id;
    expect(id).toMatch(/^p[0-9a-f]{20}$/);
    // The same address in another spelling is the same person in another import.
    await write("people.csv", "network_url,name\nnetwork.example/in/ada,Ada\n");
    await load({});
    expect((await everybody())[0]?.id).toBe(id);
  });

  test("people find their company by address, bare slug, domain and unambiguous name, and a count is its employees", async () => {
    await write(
      "companies.ndjson",
      [
        {
          id: "c1",
          name: "Acme",
          domain: "https://www.acme.example/about",
          company_network_url: "https://network.example/company/acme/",
        },
        { id: "c2", name: "Beta", company_network_url: "beta" },
        { id: "c3", name: "Twin", domain: "one.example" },
        { id: "c4", name: "Twin", domain: "two.example", specialties: ["a", "b"] },
      ]
        .map((company) => `${JSON.stringify(company)}\n`)
        .join(""),
    );
    await write(
      "people.csv",
      `id,company_network_url,company_domain,company_name
1,https://NETWORK.example/company/acme?x,,
2,acme,,
3,,WWW.acme.example,
4,,,ACME
5,other.example/company/beta,,
6,,,twin
7,network.example/company/unknown,acme.example,Acme
8,,two.example,
`,
    );
    expect((await load({ companies: ["companies.ndjson"] })).companies).toMatchObject({
      taken: 4,
      derived: 0,
    });
    await reading(async (engine) => {
      const employees = async (id: string): Promise<string[]> => {
        const page = await engine.employees(id, { offset: 0, limit: 100 });
        expect(page.total).toBe(page.records.length);
        return page.records.map((record) => (JSON.parse(record.toString()) as Person).id).sort();
      };
      expect(await employees("c1")).toEqual(["1", "2", "3", "4"]);
      expect(await count(engine, { company_network_url: "network.example/company/acme" })).toBe(4);
      expect(await employees("c2")).toEqual(["5"]);
      expect(await employees("c3")).toEqual([]);
      expect(await employees("c4")).toEqual(["8"]);
      expect(await employees("nobody")).toEqual([]);
      expect((await engine.company({ by: "name", value: "twin" }))?.id).toBe("c3");
      expect((await engine.company({ by: "domain", value: "acme.example" }))?.id).toBe("c1");
      expect((await engine.company({ by: "company_network_url", value: "acme" }))?.id).toBe("c1");
      expect(
        (await engine.company({ by: "company_network_url", value: "network.example/company/acme" }))
          ?.id,
      ).toBe("c1");
      expect(
        await engine.company({ by: "company_network_url", value: "other.example/company/acme" }),
      ).toBeUndefined();
      expect(await engine.company({ by: "id", value: "C1" })).toBeUndefined();
      const acme = JSON.parse(
        (await engine.company({ by: "id", value: "c1" }))?.record.toString() ?? "",
      ) as Company;
      expect(acme).toMatchObject({ domain: "acme.example", specialties: [] });
    });
    const named = (await everybody()).find((person) => person.id === "4");
    expect(named).toMatchObject({
      company_domain: "acme.example",
      company_network_url: "https://network.example/company/acme/",
    });
  });

  long(
    "employees are who a count of the address finds, with shared slugs and bare ones too",
    async () => {
      const companies = [
        "id,company_network_url,name",
        "a,network.example/company/acme,A",
        "b,other.example/c/acme,B",
      ];
      const more = ["c,beta,C", "d,network.example/company/acme,D", "e,,Solo"];
      await write("companies.csv", `${[...companies, ...more].join("\n")}\n`);
      const people = [
        "https://network.example/company/acme/",
        "other.example/c/acme",
        "acme",
        "x.example/beta",
        "beta",
      ];
      const lines = people.map((address, index) => `${index},${address},`);
      await write(
        "people.csv",
        `id,company_network_url,company_name\n${lines.join("\n")}\n9,,solo\n`,
      );
      await load({ companies: ["companies.csv"] });
      await reading(async (engine) => {
        const slice = { offset: 0, limit: 10 };
        for (const id of ["a", "b", "c", "d"]) {
          const record = JSON.parse(
            (await engine.company({ by: "id", value: id }))?.record.toString() ?? "{}",
          ) as Company;
          const expected = await count(engine, { company_network_url: record.company_network_url });
          expect([id, (await engine.employees(id, slice)).total]).toEqual([id, expected]);
        }
        expect((await engine.employees("a", slice)).total).toBe(2);
        expect((await engine.employees("c", slice)).total).toBe(2);
        expect((await engine.employees("e", slice)).total).toBe(1);
        expect(
          (await engine.company({ by: "company_network_url", value: "x.example/beta" }))?.id,
        ).toBe("c");
      });
    },
  );

  long(
    "over HTTP too: what a free count finds is what employees lists, whatever names the company",
    async () => {
      await write(
        "companies.csv",
        "id,company_network_url\na,n.example/company/acme\nb,o.example/c/acme\nc,beta\n",
      );
      const addresses = [
        "n.example/company/acme",
        "o.example/c/acme",
        "acme",
        "o.example/c/acme",
        "x.example/beta",
        "beta",
      ];
      await write(
        "people.csv",
        `id,company_network_url\n${addresses.map((url, index) => `${index},${url}\n`).join("")}`,
      );
      await load({ companies: ["companies.csv"] });
      const engine = await openDataset(join(at.folder, "dataset"));
      const service = await startTestService({ engine });
      try {
        const ask = async (
          path: string,
          init: RequestInit = {},
        ): Promise<{ status: number; result: unknown }> => {
          const headers = {
            authorization: `Bearer ${service.key}`,
            "content-type": "application/json",
          };
          const response = await fetch(`${service.url}${path}`, { ...init, headers });
          return {
            status: response.status,
            result: ((await response.json()) as { result: unknown }).result,
          };
        };
        for (const address of [
          "acme",
          "n.example/company/acme",
          "https://o.example:443/c/acme/",
          "beta",
          "x.example/beta",
        ]) {
          const body = JSON.stringify({ filters: { company_network_url: address } });
          const counted = await ask("/v1/person/count", { method: "POST", body });
          const query = `company_network_url=${encodeURIComponent(address)}&per_page=100`;
          const listed = await ask(`/v1/company/employees?${query}`);
          expect([address, listed.status]).toEqual([address, 200]);
          expect([address, (listed.result as unknown[]).length]).toEqual([
            address,
            (counted.result as { count: number }).count,
          ]);
        }
      } finally {
        await service.close();
        await engine.close();
      }
    },
  );

  long("companies are derived from people where no file is given", async () => {
    await write(
      "people.csv",
      `id,company_network_url,company_domain,company_name
1,network.example/company/acme,,Acme
2,acme,acme.example,Acme Inc
3,,acme.example,
4,,,Solo
5,,,SOLO
6,,,
`,
    );
    expect((await load({})).companies).toMatchObject({ files: 0, derived: 2 });
    await reading(async (engine) => {
      const acme = await engine.company({ by: "company_network_url", value: "acme" });
      expect(acme && (await engine.employees(acme.id, { offset: 0, limit: 9 })).total).toBe(3);
      const solo = await engine.company({ by: "name", value: "solo" });
      expect(solo && (await engine.employees(solo.id, { offset: 0, limit: 9 })).total).toBe(2);
    });
  });
});

test("specialties are texts, whatever is in the list", async () => {
  await write("people.csv", "id,company_name\n1,Acme\n");
  const lists = ['["a",null,""," b ",1]', '"x; y||z"', '{"a":1}', "null", "[]"];
  await write(
    "c.ndjson",
    lists.map((list, index) => `{"id":"c${index}","specialties":${list}}\n`).join(""),
  );
  await load({ companies: ["c.ndjson"] });
  await reading(async (engine) => {
    const found = await Promise.all(
      lists.map((_, index) => engine.company({ by: "id", value: `c${index}` })),
    );
    const specialties = found.map(
      (company) => company && JSON.parse(String(company.record)).specialties,
    );
    expect(specialties).toEqual([["a", "b", "1"], ["x", "y", "z"], ['{"a":1}'], [], []]);
  });
});

describe("the map", () => {
  const map = {
    id: "Person ID",
    name: "Full Name",
    title: 'Job "Title"',
    country: "place.country",
    city: null,
  };

  test("names columns, leaves fields out, and reaches into objects of NDJSON", async () => {
    await write("map.json", JSON.stringify({ people: map }));
    await write(
      "people.ndjson",
      `${JSON.stringify({ "Person ID": 7, "Full Name": "Ada", 'Job "Title"': "Engineer", place: { country: "Peru" }, city: "Lima" })}\n`,
    );
    await load({ people: ["people.ndjson"], map: "map.json" });
    expect((await everybody())[0]).toMatchObject({
      id: "7",
      title: "Engineer",
      country: "Peru",
      city: null,
    });
  });

  long("is proposed from the header, for columns that are not read", async () => {
    await write(
      "x.csv",
      "Person ID,Full Name,jobTitle,Employer,Profile URL,shoe size\n1,Ada,Engineer,Acme,network.example/in/ada,38\n",
    );
    const map = {
      ...{ id: "Person ID", network_url: "Profile URL", name: "Full Name", title: "jobTitle" },
      company_name: "Employer",
    };
    const none = load({ people: ["x.csv"] });
    await expect(none).rejects.toMatchObject({
      hint: expect.stringContaining(JSON.stringify({ people: map })),
    });
    await write("map.json", JSON.stringify({ people: { id: "Person ID", title: null } }));
    const { people } = await load({ people: ["x.csv"], map: "map.json" });
    const { id: _, title: __, ...left } = map;
    expect(people.read).toMatchObject([{ proposed: left }]);
    await write("map.json", JSON.stringify({ people: map }));
    expect((await load({ people: ["x.csv"], map: "map.json" })).people.read[0]).not.toHaveProperty(
      "proposed",
    );
    expect((await everybody())[0]).toMatchObject({
      id: "1",
      company_name: "Acme",
      title: "Engineer",
    });
    await write(
      "y.ndjson",
      '{"company_id":"c","name":"Acme","website":"acme.example","employees":12,"founded":1999}\n',
    );
    const { companies } = await load({
      people: ["x.csv"],
      map: "map.json",
      companies: ["y.ndjson"],
    });
    expect(companies.read).toMatchObject([
      {
        proposed: {
          id: "company_id",
          domain: "website",
          employee_count: "employees",
          founded_year: "founded",
        },
      },
    ]);
  });

  test.each([
    ["not JSON", "{", /map\.json is not valid JSON: line 1, column 2: /],
    ["a list", "[]", /must hold a JSON object/],
    ["an unknown field", '{"people":{"titel":"x"}}', /"titel" is no field of people/],
    [
      "an unknown column",
      '{"people":{"title":"Jobtitle"}}',
      /has no column "Jobtitle" \(mapped to title\)/,
    ],
    ["a number for a column", '{"people":{"title":1}}', /must be a text or null, not 1/],
    ["an unknown part", '{"people":{},"firms":{}}', /unknown part "firms"/],
  ])("%s is refused", async (_what, text, message) => {
    await write("people.csv", "id,JobTitle\n1,x\n");
    await write("map.json", text);
    await expect(load({ map: "map.json" })).rejects.toThrow(message);
  });
});

describe("rows that cannot be taken", () => {
  test("of CSV: to the reject file, with line or row, reason and content", async () => {
    await write(
      "people.csv",
      Buffer.concat([
        Buffer.from(
          "id,name,connections,followers\n1,Ada,10,\n2,Bad,many,\n3\n4,Neg,-1,\n1,Twin,1,\n,,,\n5,",
        ),
        Buffer.from([0xff, 0xfe]),
        Buffer.from(
          ',1,\n6,Half,1.5,\n7,Ok,1.0,9007199254740991\n8,Big,1,9007199254740992\n9,a,b,c,d\n10,Thousand,"1,000",\n11,Short\n12,To\nrn,1,5\n13,End',
        ),
      ]),
    );
    const report = await load({});
    expect(report.people).toMatchObject({
      files: 1,
      rows: 15,
      taken: 9,
      refused: 6,
      reasons: { broken_line: 5, duplicate_id: 1 },
    });
    const people = await everybody();
    expect(people.map(({ id, connections, followers }) => [id, connections, followers])).toEqual([
      ["1", 10, null],
      ["10", null, null],
      ["11", null, null],
      ["13", null, null],
      ["2", null, null],
      ["4", null, null],
      ["6", null, null],
      ["7", 1, 9_007_199_254_740_991],
      ["8", 1, null],
    ]);
    expect(report.cleared["people.connections"]).toEqual({
      values: 4,
      examples: ["-1", "1,000", "1.5", "many"].map((value) => ({ value, rows: 1 })),
    });
    const rows = await rejects();
    expect(rows.map((row) => [row.line, row.reason, row.detail, row.column, row.value])).toEqual([
      [4, "broken_line", "1 cell where the header has 4", null, null],
      [6, "duplicate_id", 'id "1" is that of line 2 of people.csv', "id", "1"],
      [8, "broken_line", "not UTF-8", null, null],
      [12, "broken_line", "5 cells where the header has 4", null, null],
      // Halves of a line that is broken without quotes; a row that is merely short is one.
      [15, "broken_line", "2 cells where the header has 4", null, null],
      [16, "broken_line", "3 cells where the header has 4", null, null],
    ]);
    expect(report.people.examples).toEqual(rows.slice(0, 5).map(({ row, ...place }) => place));
    expect(rows[0]).toMatchObject({ file: "people.csv", row: "3" });
    expect(rows[1]).toMatchObject({ row: { id: "1", name: "Twin", connections: "1" } });
  });

  test("of NDJSON: with the line's number and text; blank lines are none", async () => {
    const lines = [
      '{"id":1,"name":"Ada"}',
      "",
      '{"id":2,',
      '{"id":3,"name":{"first":"x"}}',
      '{"id":4,"name":true}',
      '{"id":5,"connections":1.5}',
      "[1]",
      "null",
      '{"unrelated":1}',
      '{"id":"1","name":"Twin"}',
      `{"id":6,"headline":${JSON.stringify("x".repeat(100_001))}}`,
      '{"id":7,"connections":"12"}',
    ];
    await write("people.ndjson", `${lines.join("\n")}\n`);
    const report = await load({ people: ["people.ndjson"] });
    expect(report.people).toMatchObject({
      rows: 11,
      taken: 3,
      reasons: { broken_line: 3, not_text: 2, no_identity: 1, duplicate_id: 1, too_long: 1 },
    });
    const found = (await rejects()).map((row) => [row.line, row.reason, row.column, row.value]);
    expect(found).toEqual([
      [3, "broken_line", null, null],
      [4, "not_text", "name", '{"first":"x"}'],
      [5, "not_text", "name", "true"],
      [7, "broken_line", null, null],
      [8, "broken_line", null, null],
      [9, "no_identity", null, null],
      [10, "duplicate_id", "id", "1"],
      [11, "too_long", "headline", "x".repeat(200)],
    ]);
    expect(report.people.examples).toHaveLength(5);
    expect((await rejects())[0]?.row).toBe('{"id":2,');
  });

  test("the column is named as the file has it, also that of an id that was made of another field", async () => {
    const map = { people: { network_url: "Profile", name: "Full Name", id: "Key" } };
    await write("map.json", JSON.stringify(map));
    await write(
      "people.csv",
      `Key,Profile,Full Name\n1,example.com/in/a,A\n1,,B\n,https://example.com/in/c/,C\n,Example.com/in/c,D\n,,E\n,,E\n4,,${"é".repeat(100_001)}\n`,
    );
    await load({ map: "map.json" });
    expect((await rejects()).map((row) => [row.line, row.reason, row.column, row.value])).toEqual([
      [3, "duplicate_id", "Key", "1"],
      [5, "duplicate_id", "Profile", "Example.com/in/c"],
      [7, "duplicate_id", null, null],
      [8, "too_long", "Full Name", "é".repeat(200)],
    ]);
  });

  test("lines with invalid UTF-8 do not shift the numbers of the others", async () => {
    await write(
      "people.ndjson",
      Buffer.concat([
        Buffer.from('{"id":1}\n{"id":"'),
        Buffer.from([0xff]),
        Buffer.from('"}\n{"id":2,"name":[]}\n'),
      ]),
    );
    await load({ people: ["people.ndjson"] });
    expect((await rejects()).map((row) => [row.line, row.reason])).toEqual([
      [2, "broken_line"],
      [3, "not_text"],
    ]);
  });

  test("addresses that are none are left out and counted", async () => {
    await write(
      "people.csv",
      "id,network_url,company_domain\n1,javascript:alert(1),nodots\n2,https://user@host.example/x,ok.example\n3,mailto:a@b.example,\n",
    );
    const report = await load({});
    expect(report.cleared).toMatchObject({
      "people.network_url": { values: 3 },
      "people.company_domain": { values: 1 },
    });
    expect((await everybody()).map((person) => person.network_url)).toEqual([null, null, null]);
  });
});

test("a number of a typed column that is left out is shown as the file has it", async () => {
  const instance = await startDuckDb(SMALL);
  const connection = await instance.connect();
  const path = join(at.folder, "typed.parquet");
  await connection.run(
    `COPY (SELECT 1 AS id, 'Ada' AS name, 3.5::DOUBLE AS followers) TO '${path}' (FORMAT parquet)`,
  );
  instance.closeSync();
  const { cleared } = await load({ people: ["typed.parquet"] });
  expect(cleared["people.followers"]).toEqual({ values: 1, examples: [{ value: "3.5", rows: 1 }] });
});

long("texts as long as they may be, more of them than are read at once", async () => {
  // A headline takes three bytes a character here: 64 of them, a block of keys, are more than 16 MB.
  const headline = (person: number): string =>
    `${String(person).padStart(5, "0")}${"\u6f22".repeat(99_995)}`;
  const rows = Array.from({ length: 70 }, (_, person) => ({
    id: `p${person}`,
    headline: headline(person),
  }));
  await write("people.ndjson", rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
  const report = await load({ people: ["people.ndjson"] }, { ...SMALL, memoryBytes: 2 ** 31 });
  expect(report.people).toMatchObject({ taken: 70, refused: 0 });
  await reading(async (engine) => {
    const { records } = await engine.people(ALL, { offset: 0, limit: 100 });
    const people = records.map((record) => JSON.parse(record.toString()) as Person);
    expect(people.map(({ id }) => id)).toEqual(rows.map(({ id }) => id).sort());
    for (const person of people)
      expect(person.headline === headline(Number(person.id.slice(1)))).toBe(true);
    expect(await count(engine, { headline_prefix: "0006" })).toBe(10);
  });
});
