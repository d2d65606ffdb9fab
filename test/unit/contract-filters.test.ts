import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  canonicalJson,
  checkFilters,
  type FilterCheck,
} from "../../src/shared/contract/filters.ts";
import { canonicalAddress, canonicalDomain } from "../../src/shared/contract/naming/address.ts";
import { slugOf } from "../../src/shared/contract/naming/slug.ts";
import { normalForm } from "../../src/shared/contract/normalise.ts";
import { DEPARTMENTS, FILTER_KEYS } from "../../src/shared/contract/vocabulary.ts";

const canonicalOf = (check: FilterCheck): string => {
  if (!check.ok) throw new Error(check.issues.map((issue) => issue.message).join("; "));
  return canonicalJson(check.canonical);
};
const issuesOf = (input: unknown): string[] => {
  const check = checkFilters(input);
  return check.ok ? [] : check.issues.map((issue) => `${issue.code}: ${issue.message}`);
};

describe("filters", () => {
  test("the contract has 24 keys and 20 departments", () => {
    expect(FILTER_KEYS).toHaveLength(24);
    expect(DEPARTMENTS).toHaveLength(20);
  });

  test("no filter is legal: the whole dataset", () => {
    expect(canonicalOf(checkFilters({}))).toBe("{}");
  });

  test("filters that mean the same have one canonical form", () => {
    const a = checkFilters({
      department: ["sales", "LEGAL"],
      country: "  United   STATES ",
      connections_min: 5,
    });
    const b = checkFilters({
      connections_min: 5,
      country: ["united states"],
      department: ["Legal", "Sales", "sales"],
    });
    expect(canonicalOf(a)).toBe(canonicalOf(b));
    expect(canonicalOf(a)).toBe(
      '{"country":["united states"],"connections_min":5,"department":["Legal","Sales"]}',
    );
  });

  test.each<[string, unknown, string]>([
    [
      "an unknown key",
      { departmnt: "Sales" },
      "unknown_key: unknown filter: departmnt (did you mean department?)",
    ],
    ["__proto__", JSON.parse('{"__proto__": 1}'), "unknown_key: unknown filter: __proto__"],
    ["constructor", { constructor: "x" }, "unknown_key: unknown filter: constructor"],
    ["an empty string", { country: "" }, "empty: country must not be empty; leave the key out"],
    ["white space", { country: " \u3000" }, "empty: country must not be empty; leave the key out"],
    ["an empty array", { title: [] }, "empty: title must not be an empty array; leave the key out"],
    [
      "a number for text",
      { title: 5 },
      "wrong_type: title must be a string or an array of strings, not a number",
    ],
    [
      "null",
      { title: null },
      "wrong_type: title must be a string or an array of strings, not null",
    ],
    [
      "an object in an array",
      { title: ["a", {}] },
      "wrong_type: title must be a string or an array of strings, not an object",
    ],
    [
      "an array for a prefix",
      { title_prefix: ["a"] },
      "wrong_type: title_prefix takes one string, not an array; send one request for each",
    ],
    [
      "text for a range",
      { connections_min: "5" },
      "wrong_type: connections_min must be an integer, not a string",
    ],
    [
      "a fraction",
      { connections_min: 1.5 },
      "wrong_type: connections_min must be an integer, not 1.5",
    ],
    [
      "more than any number, as 1e400 is read",
      { connections_min: Infinity },
      "out_of_range: connections_min must be at most 9007199254740991",
    ],
    [
      "a negative bound",
      { followers_max: -1 },
      "out_of_range: followers_max must not be negative: -1",
    ],
    [
      "an unsafe integer",
      { followers_max: 2 ** 53 },
      "out_of_range: followers_max must be at most 9007199254740991",
    ],
    [
      "min above max",
      { followers_min: 9, followers_max: 3 },
      "min_above_max: followers_min 9 is above followers_max 3; swap them",
    ],
    [
      "NUL",
      { title: "a\0b" },
      "bad_value: title must not contain NUL characters or lone surrogates",
    ],
    [
      "a lone surrogate",
      { title: "a\ud800" },
      "bad_value: title must not contain NUL characters or lone surrogates",
    ],
    [
      "a script address",
      { company_network_url: "javascript:alert(1)" },
      'bad_value: company_network_url is not a profile address: "javascript:alert(1)"; give an http(s) URL without a user name, or a slug',
    ],
  ])("%s is refused by name, rule and fix", (_, input, message) => {
    expect(issuesOf(input)).toEqual([message]);
  });

  test("an unknown department names the nearest and all twenty", () => {
    const [message = ""] = issuesOf({ department: "enginering and technical" });
    expect(message).toContain('did you mean "Engineering and Technical"?');
    for (const name of DEPARTMENTS) expect(message).toContain(name);
  });

  test.each([
    ["HR", "Human Resources"],
    ["IT", "Engineering and Technical"],
    ["R&D", "Research"],
    ["Business Development", "Sales"],
  ])("a department called %s is known by its other name", (text, name) => {
    expect(issuesOf({ department: text })[0]).toContain(`(did you mean "${name}"?)`);
  });

  test.each([[null], [[]], ["x"], [5], [undefined]])("%j is no filter object", (input) => {
    expect(checkFilters(input).ok).toBe(false);
  });

  test("60,000 unknown keys are not all echoed", () => {
    const input = Object.fromEntries(
      Array.from({ length: 60_000 }, (_, index) => [`k${index}${"x".repeat(100)}`, 1]),
    );
    const issues = issuesOf(input);
    expect(issues).toHaveLength(20);
    expect(issues.join("").length).toBeLessThan(4_000);
  });

  test("checking never throws and the canonical form is stable", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...FILTER_KEYS, "x"), fc.anything()), (input) => {
        const check = checkFilters(input);
        if (check.ok)
          expect(canonicalOf(checkFilters(JSON.parse(JSON.stringify(check.filters))))).toBe(
            canonicalJson(check.canonical),
          );
      }),
      { numRuns: 2_000 },
    );
  });
});

describe("normal forms", () => {
  test.each([
    ["  Straße ", "strasse"],
    ["ΟΔΟΣ", "οδοσ"],
    ["οδος", "οδοσ"],
    ["Ａｄａ", "ada"],
    ["caf\u0065\u0301", "café"],
    ["a \u00a0 b", "a b"],
    ["VP\tSales", "vp sales"],
    [" VP", "vp"],
    ["VP ", "vp"],
    ["VP  Sales", "vp sales"],
    ["\n", ""],
    ["\ufeffVP\u0085\u3000Sales\u0085", "vp sales"],
    ["\u0345", "ι"],
    ["ᾼδης", "αιδησ"],
    ["α\u0345\u0301", "άι"],
    ["\u1c80о\u1c81а", "вода"],
  ])("%j becomes %j", (text, normal) => {
    expect(normalForm(text)).toBe(normal);
  });

  test("is idempotent", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(normalForm(normalForm(text))).toBe(normalForm(text));
      }),
      { numRuns: 5_000 },
    );
  });

  test.each([
    ["https://www.Network.example/in/Ada-L/?utm=1#top", "network.example/in/ada-l"],
    ["http://network.example/company/acme///", "network.example/company/acme"],
    ["//network.example/company/acme", "network.example/company/acme"],
    ["network.example/company/acme", "network.example/company/acme"],
    ["Acme", "acme"],
    ["network.example:8080/a", "network.example:8080/a"],
    ["https://network.example:443/in/ada", "network.example/in/ada"],
    ["network.example:443/in/ada", "network.example/in/ada"],
    ["https://network.example/in/J%C3%BCrgen-%e6%9d%b1", "network.example/in/jürgen-東"],
    ["https://network.example/in/a%2Fb%25c%20d%ff", "network.example/in/a%2fb%25c%20d%ff"],
    ["https://xn--mnchen-3ya.example/in/ada", "münchen.example/in/ada"],
    ["https://MÜNCHEN.example/in/ada", "münchen.example/in/ada"],
  ])("the address %j is %j", (text, canonical) => {
    expect(canonicalAddress(text)).toBe(canonical);
    expect(canonicalAddress(canonical)).toBe(canonical);
  });

  test.each([
    "",
    "   ",
    "javascript:alert(1)",
    "ftp://x.example/a",
    "https://user:pw@x.example/a",
    "https://",
    "mailto:a@b.example",
  ])("%j is no address", (text) => {
    expect(canonicalAddress(text)).toBeUndefined();
  });

  test("slugs and domains", () => {
    expect(slugOf("network.example/company/acme")).toBe("acme");
    expect(canonicalDomain("https://www.Acme.example/about")).toBe("acme.example");
    expect(canonicalDomain("acme")).toBeUndefined();
  });
});
