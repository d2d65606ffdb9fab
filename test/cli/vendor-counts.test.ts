import { expect, onTestFinished, test } from "vitest";
import { vendorUser } from "../support/vendor-user.ts";
import { millionthsOf } from "../support/vendors/shared.ts";

// Counts that cost credits: asked about, booked like any purchase, and not bought twice in five minutes.

const COUNT = "count -c v --country Germany";

const PRICES = [
  ["pdl", "1"],
  ["crustdata", "0.03"],
] as const;

test.each(PRICES)("a count of %s costs what its file says, once", async (name, price) => {
  const { run, vendor, spend } = await vendorUser(name);
  onTestFinished(() => vendor.stop());
  const german = vendor.people.filter(({ country }) => country?.code === "DE").length;

  const asked = await run(COUNT);
  expect(asked.code, asked.stderr).toBe(2);
  expect(asked.stderr).toContain(`this count costs ${price} credit`);
  expect(asked.stderr).toContain(`--max-credits ${price}`);
  const below = await run(`${COUNT} --max-credits 0.02`);
  expect(below.code, below.stderr).toBe(4);
  expect(vendor.book.charged()).toBe("0");

  const bought = await run(`${COUNT} --max-credits ${price}`);
  expect(bought.code, bought.stderr).toBe(0);
  expect(bought.stdout).toBe(`${german}\n`);
  expect(vendor.book.charged()).toBe(price);

  // What was told is told again for nothing, by a count and by a quote.
  const again = await run(COUNT);
  expect(again).toMatchObject({ code: 0, stdout: `${german}\n` });
  const quoted = await run("search -c v --country Germany --dry-run --json");
  expect(quoted.code, quoted.stderr).toBe(0);
  expect(JSON.parse(quoted.stdout).matches).toBe(german);
  expect(vendor.book.charged()).toBe(price);

  const { settled, uncertain, foreign } = await spend();
  expect({ settled, uncertain, foreign }).toEqual({
    settled: millionthsOf(price),
    uncertain: 0n,
    foreign: 0n,
  });
});

test("nobody costs nothing, several segments and values are never counted by many purchases", async () => {
  const { run, vendor } = await vendorUser("pdl");
  onTestFinished(() => vendor.stop());
  const none = await run("count -c v --city zz --yes");
  expect(none, none.stderr).toMatchObject({ code: 0, stdout: "0\n" });
  const strict = await run("count -c v --city zz --yes --strict");
  expect(strict.code, strict.stderr).toBe(5);
  const by = await run("count -c v --by country=germany --by country=france --yes");
  expect(by.code, by.stderr).toBe(2);
  expect(vendor.book.charged()).toBe("0");
});

test("a count whose reply was lost is uncertain in the books, and tells no number", async () => {
  const { run, vendor, spend } = await vendorUser("pdl", { loseReply: [1] });
  onTestFinished(() => vendor.stop());
  const ran = await run(`${COUNT} --yes`);
  expect(ran.stdout, ran.stderr).toBe("");
  expect(ran.code).not.toBe(0);
  const { settled, uncertain } = await spend();
  expect(settled + uncertain).toBe(millionthsOf(vendor.book.charged()));
});
