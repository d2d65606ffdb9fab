import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { asTyped } from "../support/as-typed.ts";
import type { User } from "../support/export.ts";
import { foreignScene } from "../support/foreign-scene.ts";
import { long } from "../support/long.ts";

// A service that honours idempotency keys for a while only, or tells its cursors in a way of its own: its books and ours.

const SEARCH = asTyped`search --country x -o o.csv --yes --per-page 10`;
const BUY = [...SEARCH, "--concurrency", "1"];

interface Spent {
  readonly settled: number;
  readonly uncertain: number;
  readonly foreign: number;
}

async function spent(u: User): Promise<Spent> {
  const { stdout } = await u.run(["spend", "--json"]);
  return (JSON.parse(stdout) as { total: Spent }).total;
}

long(
  "a lost reply that was answered by its key does not hide the charge of a later one that was not",
  async () => {
    const { service, u } = await foreignScene({ people: 60, idempotent: true });
    // The first is answered by its key; the third is charged, lost, and then its key is forgotten and the balance said to be too low.
    service.options.mishap = (call) => {
      service.options.idempotent = call < 4;
      return call === 1 || call === 4 ? "drop" : call === 5 ? "402" : undefined;
    };
    const ran = await u.run([...BUY, "--max-credits", "100"]);
    const { settled, uncertain, foreign } = await spent(u);
    expect({ code: ran.code, settled, uncertain, foreign }).toEqual({
      code: 5,
      settled: 50,
      uncertain: 10,
      foreign: 0,
    });
    expect(service.charged()).toBe(60);
    expect(ran.stderr).toContain("--max-credits 70 buys the other 10");
  },
);

test.each([0.1, 1])(
  "what each attempt cost is in the books where a key is forgotten, charged for anew, and then answered (%s)",
  async (price) => {
    const { service, u } = await foreignScene({ people: 60, price, idempotent: true });
    // The second page: charged and lost, forgotten, charged anew and lost, and then answered by its key.
    service.options.mishap = (call) => {
      service.options.idempotent = call !== 3;
      return call === 2 || call === 3 ? "drop" : undefined;
    };
    const page = 10 * price;
    const ran = await u.run([...BUY, "--max-credits", (6 * page).toFixed(1)]);
    const { settled, uncertain, foreign } = await spent(u);
    expect({ code: ran.code, settled, uncertain, foreign }).toEqual({
      code: 5,
      settled: 5 * page,
      uncertain: page,
      foreign: 0,
    });
    // Not more than the cap, be it by the service's books.
    expect(service.charged()).toBeCloseTo(6 * page, 6);
  },
);

test("two replies that are lost at once: each charge is uncertain, and none is taken for what others spent", async () => {
  const { service, u } = await foreignScene({
    people: 60,
    delayMs: 60,
    mishap: (call) => (call === 3 || call === 4 ? "drop" : undefined),
  });
  const ran = await u.run([...SEARCH, "--concurrency", "4", "--max-credits", "100"]);
  const { settled, uncertain, foreign } = await spent(u);
  expect({ code: ran.code, uncertain, foreign, told: settled + uncertain }).toEqual({
    code: 5,
    uncertain: 20,
    foreign: 0,
    told: service.charged(),
  });
});

test("cursor and total are found beside the rows and in the part of the result that speaks of paging", async () => {
  const employees = asTyped`employees globex.example --max-credits 200 -o o.csv --per-page 20`;
  for (const pagingUnder of [undefined, "meta", "pagination", "paging", "page_info"]) {
    const { service, u } = await foreignScene({
      people: 60,
      paging: "cursor",
      nextUnder: "nextCursor",
      pagingUnder,
    });
    const ran = await u.run([...employees, "--paging", "cursor"]);
    expect({ pagingUnder, code: ran.code, charged: service.charged() }).toEqual({
      pagingUnder,
      code: 0,
      charged: 60,
    });
    const numbered = await foreignScene({
      people: 60,
      paging: "cursor",
      numbers: true,
      pagingUnder,
    });
    await numbered.u.ran([...employees, "--paging", "cursor"]);
    expect(numbered.service.charged()).toBe(60);
    // Counted from 0, and nobody said so: its second page is taken for the first.
    const other = await foreignScene({ people: 60, firstPage: 0, total: "result", pagingUnder });
    await other.u.ends(5, employees);
  }
});

test("a company of which nobody says how many people it has: one free count tells whether page 1 was the first", async () => {
  const argv = ["employees", "globex.example", "--max-credits", "300", "-o", "o.csv"];
  // Two pages, of which the second is taken for the first; three; smaller ones than were asked for.
  for (const [people, maxPerPage, perPage, paid] of [
    [200, 1_000, 100, 100],
    [260, 1_000, 100, 160],
    [260, 50, 100, 210],
  ] as const) {
    const service = { people, maxPerPage, clamp: true, rowsNameCompany: true };
    const wrong = await foreignScene({ ...service, firstPage: 0 });
    const ran = await wrong.u.run([...argv, "--per-page", String(perPage)]);
    expect({ people, code: ran.code, charged: wrong.service.charged() }).toEqual({
      people,
      code: 5,
      charged: paid,
    });
    expect(ran.stderr).toContain(`gave ${paid} of the ${people} profiles that it counted`);
    expect(ran.stderr).toContain("--again --paging page0 gets the first page too");
    expect(existsSync(wrong.u.file("o.csv"))).toBe(false);

    const fresh = await wrong.u.run(asTyped`${argv} --per-page ${perPage} --again --paging page0`);
    expect({ code: fresh.code, charged: wrong.service.charged() }).toEqual({
      code: 0,
      charged: paid + people,
    });

    const right = await foreignScene(service);
    await right.u.ran([...argv, "--per-page", String(perPage)]);
    expect(right.service.charged()).toBe(people);
    // A count that is another for another reason says nothing of paging; nor does a limit that was reached.
    const other = await foreignScene({ ...service, countedTooMany: 7 });
    await other.u.ran([...argv, "--per-page", String(perPage)]);
    const few = await foreignScene({ ...service, firstPage: 0 });
    await few.u.ran([...argv, "--limit", "20"]);
  }
});

test("a company without anybody, of which nobody says that it has nobody, is warned of", async () => {
  const { service, u } = await foreignScene({ people: 60, firstPage: 0 });
  const ran = await u.run(
    asTyped`employees globex.example --max-credits 300 --per-page 100 -o o.csv -q`,
  );
  expect({ code: ran.code, charged: service.charged() }).toEqual({ code: 0, charged: 0 });
  expect(ran.stderr).toContain("--paging page0");
});

test("companies are whole where the connection pages by cursor: a look-up has no next page", async () => {
  const { service, u } = await foreignScene({ people: 3, paging: "cursor" });
  const ran = await u.run(asTyped`enrich a.example b.example --yes -o o.csv --paging cursor`);
  expect({ code: ran.code, stderr: ran.stderr, charged: service.charged() }).toMatchObject({
    code: 0,
    charged: 2,
  });
});

test("people of companies where the service counts nobody: the first page tells, and something must bound them", async () => {
  const change = {
    people: 57,
    maxPerPage: 25,
    clamp: true,
    total: "header",
    counts: false,
  } as const;
  for (const companies of [["https://network.example/company/acme"], ["acme", "globex"]]) {
    const { service, u } = await foreignScene(change);
    const buy = ["employees", ...companies, "-o", "o.csv"];
    const refused = await u.run([...buy, "--yes"]);
    expect(refused.stderr).toContain(
      "nobody can tell beforehand how many people these companies have",
    );
    expect([refused.code, service.charged()]).toEqual([2, 0]);
    const ran = await u.run([...buy, "--max-credits", "200"]);
    expect([ran.code, service.charged()], ran.stderr).toEqual([0, 57 * companies.length]);
    expect(ran.stderr).toContain("the service does not count people");
    expect(`${refused.stderr}${ran.stderr}`).not.toContain("is this the API's address?");
  }
});
