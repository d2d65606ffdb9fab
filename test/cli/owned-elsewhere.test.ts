// Tests src/app/own/owned-people.ts: whoever is owned from one service, as another one is asked.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { charged, readCsv, user } from "../support/export.ts";
import { long } from "../support/long.ts";
import { startTestService } from "../support/service.ts";
import { vendorUser } from "../support/vendor-user.ts";
import { startVendor, type VendorName } from "../support/vendors/index.ts";

/** Somebody who bought all Germans but some from one vendor, and has a key of another one. */
async function ownerOf(first: VendorName, second: VendorName, most: number) {
  const user = await vendorUser(first, { people: 100, credits: "10000" });
  const other = await startVendor(second, { people: 100, credits: "10000" });
  onTestFinished(async () => void (await Promise.all([user.vendor.stop(), other.stop()])));
  const { env, run } = user;
  const bought = await run(`search -c v --country Germany --yes --limit ${most} -o a.ndjson`);
  expect(bought.code, bought.stderr).toBe(0);

  env.HEADCOUNT_API_KEY = other.key;
  const path = second === "apollo" ? "/api" : "";
  const added = await run(`connections add w --dialect ${second} --base-url ${other.url}${path}`);
  expect(added.code, added.stderr).toBe(0);
  return { ...user, other };
}

describe("a person who is owned from another vendor", () => {
  long(
    "is said in the quote, by the address that both records have, and before it is paid",
    async () => {
      const { dir, run, other } = await ownerOf("pdl", "apollo", 4);
      const quoted = await run("search -c w --country Germany --dry-run --json");
      expect(quoted.code, quoted.stderr).toBe(0);
      expect(JSON.parse(quoted.stdout).owned_elsewhere).toEqual([{ service: "v", people: 4 }]);
      const card = await run("search -c w --country Germany --dry-run");
      expect(card.stdout + card.stderr).toMatch(
        /owned elsewhere +up to 4 from v, by the profile addr/,
      );

      // Whose records say something else is none of them.
      const french = await run("search -c w --country France --dry-run --json");
      expect(JSON.parse(french.stdout).owned_elsewhere).toEqual([]);
      expect(other.book.charged()).toBe("0");

      const bought = await run("search -c w --country Germany --yes -o b.ndjson --receipt r.json");
      expect(bought.code, bought.stderr).toBe(0);
      expect(bought.stderr).toContain("some are owned already: up to 4 from v");
      expect(bought.stderr).toContain("notice: some were yours already: up to 4 from v, by the");
      const receipt = JSON.parse(readFileSync(join(dir, "r.json"), "utf8"));
      expect(receipt.owned_elsewhere).toEqual([{ service: "v", people: 4 }]);
      // From then on they are this one's own, and said as such.
      const again = await run("search -c w --country Germany --dry-run --json");
      expect(JSON.parse(again.stdout)).toMatchObject({ owned_elsewhere: [] });
    },
  );

  test("is left out by address alone: a vendor that is not asked by it refuses, and nothing is sent", async () => {
    const { run, other } = await ownerOf("pdl", "apollo", 3);
    const ran = await run("search -c w --country Germany --new-anywhere --yes -o b.ndjson");
    expect(ran.code, ran.stderr).toBe(2);
    expect(ran.stderr).toContain("apollo finds nobody by a profile address");
    expect(other.book.charged()).toBe("0");
  });
});

long("--new-anywhere leaves out whom another service sold, to the last one", async () => {
  const people = 600;
  const one = await startTestService({ people, credits: 10_000 });
  const two = await startTestService({ people, credits: 10_000 });
  onTestFinished(async () => void (await Promise.all([one.close(), two.close()])));
  const me = user(one.url, one.key);
  const buy = ["search", "--department", "Sales", "--yes"];
  await me.ran([...buy, "--followers-max", "1500", "-o", "one.csv"]);
  const { HEADCOUNT_STATE_DIR = "" } = me.env;
  const there = user(two.url, two.key, { HEADCOUNT_STATE_DIR });
  const ids = (of: typeof me, name: string): (string | undefined)[] =>
    readCsv(of.read(name)).map(({ id }) => id);
  const owned = ids(me, "one.csv");

  const all = Number((await there.json(["count", "--department", "Sales", "--json"])).count);
  await there.ran([...buy, "--new-anywhere", "-o", "new.csv"]);
  const fresh = ids(there, "new.csv");
  expect(fresh.filter((id) => owned.includes(id))).toEqual([]);
  expect(fresh.length).toBe(all - owned.length);
  expect(await charged(two, 10_000)).toBeLessThan(all);

  await there.ends(0, [...buy, "--new-anywhere", "-o", "none.csv"], "0 new profiles");
});
