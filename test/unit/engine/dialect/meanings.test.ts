import { expect, test } from "vitest";
import { shippedVendor } from "../../../../src/app/vendors.ts";
import { declaredPrice, failureIn, meantBy } from "../../../../src/engine/dialect/meanings.ts";
import { formatCredits } from "../../../../src/shared/contract/money.ts";
import type { VendorCall } from "../../../../src/shared/dialect/shape.ts";

const raw = (status: number, body: string) => ({ status, headers: {}, body: Buffer.from(body) });

test.each([
  ["pdl", 404, "{}", "none", 404],
  ["pdl", 402, "{}", "credits", 402],
  ["explorium", 403, '{"details":"out of Credits"}', "credits", 402],
  ["explorium", 403, '{"details":"no permission"}', "key", 401],
  ["coresignal", 404, "{}", "gone", 404],
  ["prospeo", 400, '{"error":true,"error_code":"NO_RESULTS"}', "none", 404],
  ["prospeo", 200, '{"error":true,"error_code":"INSUFFICIENT_CREDITS"}', "credits", 402],
  ["prospeo", 400, '{"error":true,"error_code":"NEW_CODE"}', "refused", 400],
  ["pdl", 418, "tea", "undeclared", 422],
  ["pdl", 503, "later", "busy", 503],
  ["apollo", 401, "Invalid key", "key", 401],
])("%s answers %i %s: %s", async (name, status, body, is, as) => {
  const { file } = await shippedVendor(name);
  const reply = meantBy(file, raw(status, body), file.calls.search);
  expect(reply.is).toBe(is);
  expect(failureIn(reply, file.calls.search, 0)).toMatchObject({ status: as });
});

test("words in a row of a success mean nothing, and a success that is no JSON may have been charged", async () => {
  const { file } = await shippedVendor("explorium");
  const { search } = file.calls;
  const ok = meantBy(file, raw(200, '{"data":[{"job_title":"credit officer"}]}'), search);
  expect(ok.is).toBe("ok");
  const lost = meantBy(file, raw(200, '{"data":[{"job'), search);
  expect(lost.is).toBe("unsure");
  expect(failureIn(lost, file.calls.search, 0)).toMatchObject({
    name: "LostReplyError",
    wasSent: true,
  });
});

test("what stands in a record tells a meaning, too", async () => {
  const { file } = await shippedVendor("explorium");
  const body = '{"data":[{"code":"none"}]}';
  const means = [{ at: "data[0].code", equals: "none", is: "none" as const }, ...file.means];
  expect(meantBy({ ...file, means }, raw(200, body), file.calls.search).is).toBe("none");
  expect(meantBy(file, raw(200, body), file.calls.search)).toMatchObject({
    told: { body: { data: [] } },
    listed: { spans: [[9, 24]] },
  });
});

test.each([
  [{ per: "row", credits: "0.03" }, 33, "0.99"],
  [{ per: "row", credits: "1", none: "0.5" }, 0, "0.5"],
  [{ per: "request", credits: "1" }, 3, "1"],
  [{ per: "request", credits: "1" }, 0, "1"],
  [{ per: "request", credits: "1", none: "0" }, 0, "0"],
  [{ per: "started", credits: "1", rows: 25 }, 26, "2"],
  [{ per: "call", credits: "2" }, 0, "2"],
] as const)("by %j %i rows cost %s", (price, rows, wanted) => {
  const call: VendorCall = { method: "POST", path: "/", price };
  expect(formatCredits(declaredPrice(call, rows))).toBe(wanted);
});
