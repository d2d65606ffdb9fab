import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalAddress, canonicalDomain } from "../../src/shared/contract/naming/address.ts";
import { companyKey, type Reading, read } from "../../src/shared/contract/naming/read.ts";
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
