import { describe, expect, test } from "vitest";
import { companyOf, targetOf } from "../../src/app/agents/targets.ts";
import { readKept } from "../../src/app/buy/input-table.ts";
import { readCompanies } from "../../src/cli/arguments/companies.ts";
import type { CompanyQuery } from "../../src/engine/client/dialect.ts";
import { filtersOf } from "../../src/service/console/call.ts";
import {
  readCount,
  readEmployees,
  readEnrich,
  readSearch,
} from "../../src/service/http/requests.ts";
import { canonicalAddress, canonicalDomain } from "../../src/shared/contract/naming/address.ts";
import { companyKey } from "../../src/shared/contract/naming/read.ts";
import { suppressedName } from "../../src/shared/contract/naming/who.ts";
import type { CanonicalFilters } from "../../src/shared/contract/vocabulary.ts";
import { CliError } from "../../src/shared/errors.ts";
import { PersonMatcher } from "../../src/shared/person.ts";
import { readTable } from "../../src/shared/tables/table.ts";
import { testContext } from "../support/client.ts";
import { seeded, user } from "../support/export.ts";
import { NAMINGS } from "../support/naming-table.ts";
import { Crowd, startPeopleService } from "../support/people-service.ts";
import { testService } from "../support/serving.ts";

const tableIn = (text: string) => readTable("crm.csv", Buffer.from(text));

/** The key of the company that a text is to name by the table; undefined for none. */
function wantedCompany(meaning: string): string | undefined {
  const [is, ...rest] = meaning.split(" ");
  const value = rest.join(" ");
  if (is === "domain") return `domain ${value}`;
  if (is === "company") return `company_network_url ${value}`;
  return is === "word" && /\p{L}/u.test(value)
    ? companyKey({ by: "company_network_url", value })
    : undefined;
}

const refused = async (
  work: () => Promise<readonly CompanyQuery[]> | readonly CompanyQuery[],
): Promise<string | undefined> => {
  try {
    const [company, ...others] = await work();
    if (others.length > 0) throw new Error("one text named several companies");
    return company === undefined ? undefined : companyKey(company);
  } catch (error) {
    if (error instanceof CliError && error.exitCode === 2) return undefined;
    throw error;
  }
};

const DOORS: Readonly<Record<string, (text: string) => Promise<string | undefined>>> = {
  "an argument of enrich and employees": (text) =>
    refused(() => readCompanies(testContext({ argv: [] }).context, [text], {})),
  "a line of --input": (text) =>
    refused(() =>
      readCompanies(
        testContext({ argv: [], stdin: `${JSON.stringify({ company: text })}\n` }).context,
        [],
        { input: "-" },
      ),
    ),
  "a row of --keep-input": (text) =>
    refused(async () => {
      const table = `${JSON.stringify({ company: text })}\n`;
      const how = { column: null, by: null, prefix: "hc_" };
      return (await readKept(await tableIn(table), "table", how, () => false)).companies;
    }),
  "an agent's quote": (text) =>
    refused(async () => {
      const target = await targetOf({ kind: "enrich", companies: [text] });
      return target.kind === "enrich" ? target.companies : [];
    }),
};

describe("every door reads a text as the table has it", () => {
  test.each(Object.entries(DOORS))("%s", async (_, door) => {
    const wrong: unknown[] = [];
    for (const [text, meaning] of NAMINGS) {
      const found = await door(text);
      if (found !== wantedCompany(meaning)) wrong.push({ text, meaning, found });
    }
    expect(wrong).toEqual([]);
  });

  test("a tool that is told how a company is named takes no other", () => {
    const wrong = NAMINGS.filter(([text, meaning]) => {
      const taken = (["domain", "company_network_url"] as const).flatMap((by) => {
        try {
          return [companyKey(companyOf({ [by]: text }))];
        } catch {
          return [];
        }
      });
      const wanted = wantedCompany(meaning);
      // A page that is said to be a profile is one: no record may have shown its host yet.
      const page = canonicalAddress(text) ?? "";
      return !taken.every((key) => key === wanted || key === `company_network_url ${page}`);
    });
    expect(wrong).toEqual([]);
  });

  test("the suppression list, and who is to be forgotten", () => {
    const wrong = NAMINGS.flatMap(([text, meaning]) => {
      const [is = "", ...rest] = meaning.split(" ");
      const value = rest.join(" ");
      const { kind, id, address, domain } = suppressedName(text) ?? {};
      const wanted =
        is === "domain"
          ? { kind: "domain", domain: value }
          : is === "company" || is === "person"
            ? { kind: "address", address: value }
            : is === "word"
              ? { kind: "id", id: value, address: canonicalAddress(value) }
              : {};
      const found = Object.fromEntries(
        Object.entries({ kind, id, address, domain }).filter(([, each]) => each !== undefined),
      );
      const isSame = JSON.stringify(found) === JSON.stringify(wanted);

      const person = new PersonMatcher(text);
      const isFound = is !== "person" || person.is({ id: undefined, address: value }, "");
      return isSame && isFound ? [] : [{ text, meaning, found, isFound }];
    });
    expect(wrong).toEqual([]);
  });

  test("the normal form of the service: of a domain, and of an address in a filter or a record", () => {
    const wrong = NAMINGS.flatMap(([text, meaning]) => {
      const [is = "", ...rest] = meaning.split(" ");
      const value = rest.join(" ");
      if (is === "domain" && !/[\s;]/.test(text.trim()) && canonicalDomain(text) !== value)
        return [{ text, form: canonicalDomain(text) }];
      const isProfile = (is === "company" || is === "person") && !/\s/.test(text.trim());
      return isProfile && canonicalAddress(text) !== value
        ? [{ text, form: canonicalAddress(text) }]
        : [];
    });
    expect(wrong).toEqual([]);
  });
});

describe("every door of the service reads a text as the table has it", () => {
  const formOf = (read: () => unknown): unknown => {
    try {
      return read();
    } catch (error) {
      if ((error as { status?: number }).status === 422) return undefined;
      throw error;
    }
  };
  const body = (key: string, text: string): Buffer =>
    Buffer.from(JSON.stringify({ filters: { [key]: text } }));
  const queryOf = (by: string, text: string): string => `${by}=${encodeURIComponent(text)}`;
  const KEYS = ["network_url", "company_network_url"] as const;

  const addressIn = ({ exact, company_network_url: company }: CanonicalFilters) =>
    exact.network_url?.[0] ?? company;
  const filtered = KEYS.flatMap((key) => [
    (text: string) => addressIn(readCount(body(key, text)).filters),
    (text: string) => addressIn(readSearch(body(key, text), undefined).filters),
    (text: string) => addressIn(filtersOf({ body: { filters: { [key]: text } } }).filters),
  ]);
  const lookedUp = (by: string) => [
    (text: string) => readEnrich(queryOf(by, text)).value,
    (text: string) => readEmployees(queryOf(by, text), undefined).lookup.value,
  ];

  test("an address in a filter, of the console too, and of a company", () => {
    const doors = [...filtered, ...lookedUp("company_network_url")];
    const wrong = NAMINGS.flatMap(([text, meaning]) => {
      const forms = new Set(doors.map((door) => formOf(() => door(text))));
      const [is, value] = meaning.split(" ");
      const isProfile = (is === "company" || is === "person") && !/\s/.test(text.trim());
      const isSame = forms.size === 1 && (!isProfile || forms.has(value));
      return isSame ? [] : [{ text, meaning, forms: [...forms] }];
    });
    expect(wrong).toEqual([]);
  });

  test("a domain, which no profile at a network is", () => {
    const wrong = NAMINGS.flatMap(([text, meaning]) => {
      const forms = new Set(lookedUp("domain").map((door) => formOf(() => door(text))));
      const [is, value] = meaning.split(" ");
      const isOne = is === "domain" && !/[\s;]/.test(text.trim());
      const isProfile = is === "company" || is === "person";
      const isSame = isOne ? forms.has(value) : !isProfile || forms.has(undefined);
      return forms.size === 1 && isSame ? [] : [{ text, meaning, forms: [...forms] }];
    });
    expect(wrong).toEqual([]);
  });
});

describe("rows are read beside each other", () => {
  const keep = async (rows: readonly string[], column = "Company", by: "name" | null = null) => {
    const text = [column, ...rows.map((row) => JSON.stringify(row))].join("\n");
    const how = { column: null, by, prefix: "hc_" };
    const { join, companies } = await readKept(await tableIn(text), "crm.csv", how, () => false);
    return { companies, whys: join.rows.map(({ match, why }) => `${match}: ${why}`) };
  };

  test("a column of names has no slugs; --by name looks them up", async () => {
    await expect(keep(["Acme", "Eve Corp Inc."])).rejects.toThrow("no row of crm.csv names");
    const { companies, whys } = await keep(["Acme", "Eve Corp Inc.", "acme.example"]);
    expect(companies).toEqual([{ by: "domain", value: "acme.example" }]);
    expect(whys[0]).toContain("--by name");
    expect((await keep(["Acme", "Eve Corp Inc.", "N/A"], "Company", "name")).companies).toEqual([
      { by: "name", value: "Acme" },
      { by: "name", value: "Eve Corp Inc." },
    ]);
  });

  test.each(["Website", "Domain", "URL", "Company Website", "Email Domain"])(
    "a word without a point is no company in a column %s",
    async (column) => {
      const { companies, whys } = await keep(["acme", "acme.example", "none"], column);
      expect(companies).toEqual([{ by: "domain", value: "acme.example" }]);
      expect(whys.map((why) => why.split(":")[0])).toEqual(["no company", "found", "no company"]);
    },
  );

  test("a host at which rows name other pages is bought only where somebody says so", async () => {
    const rows = ["https://pages.example/acme", "pages.example/beta", "solo.example/about"];
    const { companies, whys } = await keep(rows);
    expect(companies).toEqual([{ by: "domain", value: "solo.example" }]);
    expect(whys[0]).toBe(
      "ambiguous: one of 2 pages at pages.example, whose company may be another",
    );

    const asked: unknown[] = [];
    const how = {
      column: null,
      by: null,
      prefix: "hc_",
      agree: async (hosts: unknown) => {
        asked.push(hosts);
        return new Set(["pages.example"]);
      },
    };
    const agreed = await readKept(
      await tableIn(["Company", ...rows].join("\n")),
      "crm.csv",
      how,
      () => false,
    );
    expect(asked).toEqual([[{ host: "pages.example", rows: 2 }]]);
    expect(agreed.companies.map(({ value }) => value)).toEqual(["pages.example", "solo.example"]);
  });

  test("two profiles whose addresses end alike are two companies", async () => {
    const { companies } = await keep([
      "https://network.example/company/acme",
      "https://network.example/school/acme",
      "network.example/company/acme/about/",
      "acme",
    ]);
    expect(companies).toHaveLength(3);
  });
});

describe("through the program", () => {
  const service = testService({ people: 50, credits: 100 });

  test("a host at which bought records have profiles is a network from then on", async () => {
    const crowd = new Crowd(seeded(3));
    const people = [1, 2].map(() => crowd.born({ department: "Sales" }));
    const here = await startPeopleService({ people });
    try {
      const me = user(here.url, here.key);
      const asked = async (text: string): Promise<unknown> => {
        const ran = await me.run(["enrich", text, "--dry-run", "--json"]);
        return ran.code === 0 ? (JSON.parse(ran.stdout) as { target: string }).target : ran.code;
      };
      expect(await asked("https://de.people.example/company/acme/about")).toBe("de.people.example");
      await me.run(["search", "--department", "Sales", "--yes", "-o", "sales.csv"]);
      expect(await asked("https://de.people.example/company/acme/about")).toBe(
        "https://people.example/company/acme",
      );
      expect(await asked("https://acme.example/company/about-us")).toBe("acme.example");
      expect(await asked("https://people.example/sales/company/1")).toBe(2);
    } finally {
      await here.close();
    }
  });

  // What each door makes of every text stands above: here that the program goes through one of them.
  test("a text that names nobody is refused, and one that names a company is asked for", async () => {
    const me = user(service.url, service.key);
    for (const [text, meaning] of new Map(NAMINGS.map((each) => [each[1], each])).values()) {
      const ran = await me.run(["enrich", "--dry-run", "--json", text]);
      const wanted = wantedCompany(meaning);
      expect([text, ran.code]).toEqual([text, wanted === undefined ? 2 : 0]);
      if (wanted === undefined) continue;
      const { target } = JSON.parse(ran.stdout) as { target: string };
      const [by = ""] = wanted.split(" ");
      expect([text, companyKey({ by: by as "domain", value: target })]).toEqual([text, wanted]);
    }
  });
});
