import { domainToASCII } from "node:url";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalAddress, canonicalDomain } from "../../src/shared/contract/naming/address.ts";
import { companyKey, type Reading, read } from "../../src/shared/contract/naming/read.ts";
import { asTyped } from "../support/as-typed.ts";
import { NAMINGS } from "../support/naming-table.ts";

const spoken = (reading: Reading): string =>
  "value" in reading && reading.is !== "name" ? `${reading.is} ${reading.value}` : reading.is;

describe("what a text means", () => {
  test("the table has at least 400 texts, each once", () => {
    expect(NAMINGS.length).toBeGreaterThanOrEqual(400);
    expect(new Set(NAMINGS.map(([text]) => text)).size).toBe(NAMINGS.length);
  });

  test.each(NAMINGS.map(([text, meaning]) => ({ text, meaning })))(
    "$text: $meaning",
    ({ text, meaning }) => {
      expect(spoken(read(text))).toBe(meaning);
    },
  );
});

describe("normal forms", () => {
  const parts = fc.constantFrom(
    ...asTyped`acme Ada . / - %41 %2f %25 www. xn-- :443 https:// //`,
    ...["?x=", "#", "ß", "ς", "Σ", "İ", "@", " ", "ü", "u\u0308", "\u200b", "*.", '"', "(", ")"],
    ...["network.example", "uk.network.example/in/", "/company/", "mwlite/", "。", "１", "<", ">"],
  );
  const text = fc.oneof(
    fc.array(parts, { minLength: 1, maxLength: 7 }).map((found) => found.join("")),
    fc.string({ unit: "binary", maxLength: 12 }),
  );

  test("a form is its own form, and what is read is read again as the same", () => {
    fc.assert(
      fc.property(text, (given) => {
        for (const formOf of [canonicalAddress, canonicalDomain]) {
          const form = formOf(given);
          if (form !== undefined) expect([given, formOf(form)]).toEqual([given, form]);
        }
        const reading = read(given);
        if (reading.is === "domain" || reading.is === "company" || reading.is === "person")
          expect([given, read(reading.value)]).toMatchObject([
            given,
            { is: reading.is, value: reading.value },
          ]);
      }),
      { numRuns: 3_000 },
    );
  });

  test.each([
    ["www.www.acme.example", "acme.example"],
    ["https://www.www.acme.example/", "acme.example"],
    ["www.www.acme", undefined],
  ])("what stands before a host goes, however often: %s", (given, domain) => {
    expect(canonicalDomain(given)).toBe(domain);
  });

  test("a label that stands for no text makes a host that is none", () => {
    // Node 24 takes it for a host all the same (findings/node-hosts-of-no-text.sh).
    const isTaken = domainToASCII("xn--a.example") !== "";
    const taken = isTaken ? "xn--xn--xn--/acme" : undefined;
    expect(canonicalAddress("xn--xn--xn--/acme")).toBe(taken);
    expect(canonicalDomain("xn--fa-hia.example")).toBe("faß.example");
  });

  test("a whole address and a bare slug never share a key", () => {
    const by = "company_network_url";
    fc.assert(
      fc.property(text, text, (one, other) => {
        const forms = [one, other].map((given) => canonicalAddress(given) ?? "");
        const isOneWhole = forms.filter((form) => form.includes("/")).length === 1;
        if (isOneWhole)
          expect(companyKey({ by, value: one })).not.toBe(companyKey({ by, value: other }));
      }),
      { numRuns: 1_000 },
    );
  });

  test("a host that records show to be a network is read as one", () => {
    const learned = new Set(["people.example"]);
    expect(read("https://uk.people.example/company/acme/about", learned)).toMatchObject({
      is: "company",
      value: "people.example/company/acme",
    });
    expect(read("https://people.example/", learned)).toMatchObject({ is: "unknown" });
    expect(read("https://people.example/company/acme")).toMatchObject({ is: "domain" });
  });
});
