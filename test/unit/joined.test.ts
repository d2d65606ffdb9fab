import { describe, expect, test } from "vitest";
import type { CountView, ReplyMeta } from "../../src/engine/client/types.ts";
import { countJoined, isSet, searchTarget } from "../../src/engine/purchase/joined.ts";
import { checkFilters } from "../../src/shared/contract/filters.ts";
import type { Filters } from "../../src/shared/contract/vocabulary.ts";

const checked = (filters: Filters) => {
  const found = checkFilters(filters);
  if (!found.ok) throw new Error(found.issues[0]?.message);
  return found;
};
const targetOf = (segments: readonly Filters[], except: readonly Filters[] = []) =>
  searchTarget(segments.map(checked), except.map(checked));

describe("what a search is to buy", () => {
  test("one segment stays as it was typed", () => {
    const target = targetOf([{ country: " France ", department: "sales" }]);
    expect(target).toEqual({
      kind: "search",
      filters: { country: " France ", department: "sales" },
      canonical: '{"country":["france"],"department":["Sales"]}',
    });
    expect(isSet(target)).toBe(false);
  });

  test("several that are one are one, in the spelling of whoever gave them; the order does not matter to which run it is", () => {
    expect(targetOf([{ country: "France" }, { country: ["GERMANY", "france"] }])).toEqual({
      kind: "search",
      filters: { country: ["France", "GERMANY"] },
      canonical: '{"country":["france","germany"]}',
    });
    const [a, b] = [{ country: "France" }, { title_prefix: "VP" }];
    const both = targetOf([a, b]);
    expect(both).toMatchObject({ union: [{ country: ["France"] }, { title_prefix: "VP" }] });
    expect(targetOf([b, a]).canonical).toBe(both.canonical);
    expect(targetOf([a], [b]).canonical).not.toBe(both.canonical);
  });

  test("a dataset that changes between two counts is no number", async () => {
    let calls = 0;
    const count = async (): Promise<CountView> => {
      const meta = { datasetVersion: `v${calls++}` } as ReplyMeta;
      return { count: 5, cached: false, asOf: undefined, unmatched: null, meta };
    };
    await expect(
      countJoined(targetOf([{ country: "a" }, { title: "b" }]), { count }),
    ).rejects.toMatchObject({
      code: "dataset_moved",
      exitCode: 8,
    });
  });
});
