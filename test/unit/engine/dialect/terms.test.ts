import fc from "fast-check";
import { expect, test } from "vitest";
import { shippedVendor } from "../../../../src/app/vendors.ts";
import {
  cannotBuy,
  namesIn,
  pagingOfFile,
  parcelOf,
  summaryOf,
} from "../../../../src/engine/dialect/terms.ts";
import { oneSize } from "../../../../src/engine/purchase/paging.ts";

test.each([
  ["pdl", { paging: "cursor", isUnproven: true }, ["domain", "company_network_url", "name"]],
  ["crustdata", { paging: "cursor", isUnproven: false, isOneSize: true }, []],
  ["apollo", { paging: "cursor", isUnproven: true }, ["domain"]],
])("%s pages, and is asked for companies, as its file says", async (name, paging, enrich) => {
  const { file } = await shippedVendor(name);
  expect(pagingOfFile(file)).toMatchObject(paging);
  expect(namesIn(file).enrich).toEqual(enrich);
  expect(cannotBuy(file)).toBeUndefined();
});

test("what is paid by the page is bought by the page, and a summary says so", async () => {
  const { file } = await shippedVendor("prospeo");
  expect(cannotBuy(file)).toBeUndefined();
  expect(parcelOf(file)).toBe(25);
  expect(summaryOf(file)).toMatchObject({ person: "1", per: "request", count: "1", buys: true });
});

test.each([
  [{ per: "request", credits: "2" }, [1, 100], 100],
  [{ per: "started", rows: 25, credits: "1" }, [1, 100], 25],
  [{ per: "started", rows: 25, credits: "1" }, [50, 100], "at least 50 rows"],
  [{ per: "started", rows: 200, credits: "1" }, [1, 100], "no number of rows"],
  [{ per: "row", credits: "1" }, [25, 25], "at least 25 rows"],
  [{ per: "call", credits: "1" }, [1, 100], "no number of rows"],
] as const)("%j in pages of %j: what a request costs at most", async (price, [from, to], said) => {
  const { file } = await shippedVendor("prospeo");
  const { search } = file.calls;
  const calls = {
    ...file.calls,
    search: { ...search, price, pages: { by: "page", size: [from, to] } },
  };
  const own = { ...file, calls } as unknown as typeof file;
  if (typeof said === "string") expect(cannotBuy(own)?.message).toContain(said);
  else expect([cannotBuy(own), parcelOf(own)]).toEqual([undefined, said]);
});

test("pages of one size land on the rows, or below them by less than a row a request", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 5_000 }),
      fc.integer({ min: 1, max: 1_000 }),
      (rows, most) => {
        const size = oneSize(rows, most);
        const requests = Math.floor(rows / size);
        expect(size).toBeLessThanOrEqual(most);
        expect(requests).toBeLessThanOrEqual(2 * Math.ceil(rows / most));
        expect(rows - requests * size).toBeLessThan(Math.max(1, Math.ceil(rows / most)));
      },
    ),
  );
  expect([oneSize(107, 100), oneSize(150, 100), oneSize(33, 1_000)]).toEqual([53, 75, 33]);
});
