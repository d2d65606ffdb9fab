import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { beforeAll, describe, expect, test } from "vitest";
import { canonicalAddress } from "../../src/shared/contract/naming/address.ts";
import { slugOf } from "../../src/shared/contract/naming/slug.ts";
import { normalForm } from "../../src/shared/contract/normalise.ts";
import type { CanonicalFilters } from "../../src/shared/contract/vocabulary.ts";
import { asTyped } from "../support/as-typed.ts";
import { fakeClock } from "../support/client.ts";
import { countedBy } from "../support/counted-engine.ts";
import { charged, copyOf, readCsv, type User, user } from "../support/export.ts";
import { long } from "../support/long.ts";
import { ran } from "../support/ran.ts";
import { testService } from "../support/serving.ts";

const CREDITS = 100_000;
const SEGMENT = ["--department", "Sales"];

/** What the service was asked to count. */
const counted: CanonicalFilters[] = [];
const service = testService({
  people: 2_000,
  credits: CREDITS,
  // By counts, as at services without them; test/cli/sketched.test.ts has the others.
  sketches: false,
  wrapEngine: countedBy((filters) => counted.push(filters)),
});
let everybody: string[];

beforeAll(async () => {
  const all = user(service.url, service.key);
  await all.ran(["search", ...SEGMENT, "--yes", "-o", "all.csv"]);
  everybody = idsIn(all, "all.csv");
});

const idsIn = (of: User, name: string): string[] =>
  readCsv(of.read(name))
    .map(({ id = "" }) => id)
    .sort();

const owners = new Map<string, Promise<User>>();

/** A user who owns those of the segment with at most so many followers: as one who bought them once. */
async function owner(most = 1_500, at = service.url): Promise<{ me: User; owned: string[] }> {
  const first = owners.get(`${most} ${at}`) ?? buyer(most, at);
  owners.set(`${most} ${at}`, first);
  const me = copyOf(await first);
  return { me, owned: idsIn(me, "own.csv") };
}

async function buyer(most: number, at: string): Promise<User> {
  const me = user(at, service.key);
  await ran(me, asTyped`search ${SEGMENT} --followers-max ${most} --yes -o own.csv`);
  return me;
}

const spent = async <T>(work: () => Promise<T>): Promise<[T, number]> => {
  const before = await charged(service, CREDITS);
  const result = await work();
  return [result, (await charged(service, CREDITS)) - before];
};

describe("quotes", () => {
  test("say how many are owned, and what only the new ones cost", async () => {
    const { me, owned } = await owner();
    const { stdout } = await me.ran(["search", ...SEGMENT, "--dry-run", "--json"]);
    const fresh = everybody.length - owned.length;
    const quote = JSON.parse(stdout);
    expect(quote).toMatchObject({
      matches: everybody.length,
      owned: owned.length,
      owned_exact: true,
      new_only: { new: fresh, credits: fresh, calls_per_credit: 5 },
      reuse: null,
    });
    expect(quote.new_only.max_credits).toBeLessThanOrEqual(Math.ceil(fresh * 1.1) + 2);
    const text = await me.run(["search", ...SEGMENT, "--dry-run"]);
    expect(text.stdout).toMatch(new RegExp(`people owned\\s+${owned.length} \\(2 free counts\\)`));
    expect(text.stdout).toContain("credits with --new-only, about");
  });

  test("name a finished run with the same rows", async () => {
    const { me, owned } = await owner();
    const again = ["search", ...SEGMENT, "--followers-max", "1500", "--dry-run"];
    const { stdout } = await me.run([...again, "--json"]);
    const { reuse } = JSON.parse(stdout);
    expect(reuse.rows).toBe(owned.length);
    expect((await me.run(again)).stdout).toMatch(new RegExp(`kept in a run +run ${reuse.run}`));
  });

  test("of who owns nobody are as they were, and ask nothing more", async () => {
    const me = user(service.url, service.key);
    const before = counted.length;
    const { stdout } = await me.run(["search", "--department", "Legal", "--dry-run", "--json"]);
    expect(JSON.parse(stdout)).toMatchObject({ owned: 0, new_only: null });
    expect(counted.length - before).toBeLessThanOrEqual(1);
  });
});

describe("--new-only", () => {
  long(
    "leaves out whom another run brought in the very millisecond in which it begins",
    async () => {
      const me = user(service.url, service.key);
      const clock = fakeClock(Date.now());
      const argv = ["search", "--department", "Legal", "--per-page", "20", "--yes"];
      await me.ran([...argv, "--limit", "20", "-o", "own.csv"], { clock });
      await me.ran([...argv, "--new-only", "--again", "--limit", "60", "-o", "new.csv"], {
        clock,
      });
      const owned = idsIn(me, "own.csv");
      expect(owned).toHaveLength(20);
      expect(idsIn(me, "new.csv").filter((id) => owned.includes(id))).toEqual([]);
    },
  );

  long("buys whom nobody owned, each once, and proves it", async () => {
    const { me, owned } = await owner();
    const argv = asTyped`search ${SEGMENT} --new-only --yes -o new.csv --receipt r.json`;
    const [ran, credits] = await spent(() => me.run(argv));
    expect(ran.code, ran.stderr).toBe(0);
    const fresh = everybody.filter((id) => !owned.includes(id));
    expect(idsIn(me, "new.csv")).toEqual(fresh);
    const receipt = JSON.parse(me.read("r.json"));
    expect(receipt.new_only).toEqual({ new: fresh.length, whole: true });
    expect(receipt.paid_again).toBe(credits - fresh.length);
    expect(credits).toBe(receipt.credits);
    expect(credits).toBeLessThanOrEqual(Math.ceil(fresh.length * 1.1) + 2);
    expect(ran.stderr).toContain(
      `Exported ${fresh.length} new profiles for ${credits} credits to new.csv`,
    );
    const listed = await me.run(["runs", "list"]);
    expect(listed.stdout).toContain("new people of {");
    // Once more: nobody is new.
    const [again, nothing] = await spent(() =>
      me.run(["search", ...SEGMENT, "--new-only", "--yes", "-o", "none.csv", "--min-rows", "0"]),
    );
    expect(again.code, again.stderr).toBe(0);
    expect(nothing).toBe(0);
    expect(idsIn(me, "none.csv")).toEqual([]);
  });

  test("where nobody is new the receipt of --with-owned counts nobody to buy, and has the owned whom it writes", async () => {
    const { me, owned } = await owner();
    const argv = asTyped`search ${SEGMENT} --followers-max 1500 --with-owned --yes -o all.csv`;
    await me.ran([...argv, "--again", "--receipt", "r.json"]);
    const people = owned.length;
    const bought = { count: 0, wanted: 0, credits: 0 };
    expect(JSON.parse(me.read("r.json"))).toMatchObject({
      ...bought,
      received: 0,
      distinct: people,
      reused: people,
    });
    expect(idsIn(me, "all.csv")).toEqual(owned);
  });

  test("a run that bought nobody writes the owned again when it is resumed", async () => {
    const { me } = await owner();
    const argv = asTyped`search ${SEGMENT} --followers-max 1500 --with-owned --yes -o all.csv`;
    await me.ran(argv);
    const before = idsIn(me, "all.csv");
    const [again, credits] = await spent(() => me.run(["resume", "last"]));
    expect([again.code, credits], again.stderr).toEqual([0, 0]);
    expect(idsIn(me, "all.csv")).toEqual(before);
  });

  long("--with-owned writes the whole segment, the owned at 0 credits", async () => {
    const { me, owned } = await owner();
    const [ran, credits] = await spent(() =>
      me.run(["search", ...SEGMENT, "--with-owned", "--yes", "-o", "all.csv"]),
    );
    expect(ran.code, ran.stderr).toBe(0);
    expect(idsIn(me, "all.csv")).toEqual(everybody);
    expect(credits).toBeLessThanOrEqual(Math.ceil((everybody.length - owned.length) * 1.1) + 2);
  });

  long(
    "before it was agreed to nobody is looked for, and nobody is asked after who is not owned",
    async () => {
      const { me, owned } = await owner();
      const slug = (address: string): string => slugOf(canonicalAddress(address) ?? "");
      const slugs = new Set(
        readCsv(me.read("own.csv")).map(({ network_url = "" }) => slug(network_url)),
      );
      const names = new Set(readCsv(me.read("own.csv")).map(({ name = "" }) => normalForm(name)));
      const asked = (from: number): string[] =>
        counted
          .slice(from)
          .flatMap(({ exact }) => (exact.network_url ?? []).map((address) => slugOf(address)));
      for (const argv of [["--dry-run"], []]) {
        const before = counted.length;
        const ran = await me.run(["search", ...SEGMENT, "--new-only", ...argv]);
        expect([0, 2, 10]).toContain(ran.code);
        // One name alone the service looks up by itself, to say that nobody has it.
        const looked = counted.slice(before).filter(({ exact }) => exact.name?.length !== 1);
        // Names that are owned are asked about in lists, to measure what tells people apart: four counts a list.
        const measured = looked.filter(({ exact }) => exact.name !== undefined);
        expect(measured.length).toBeLessThanOrEqual(4 * Math.ceil(owned.length / 1_000));
        expect(
          measured.flatMap(({ exact }) => exact.name ?? []).filter((name) => !names.has(name)),
        ).toEqual([]);
        expect(looked.length - measured.length).toBeLessThanOrEqual(
          1 + 6 + 1 + Math.ceil(owned.length / 1_000),
        );
        expect(looked.every(({ prefix }) => Object.keys(prefix).length === 0)).toBe(true);
      }
      const before = counted.length;
      await me.ran(["search", ...SEGMENT, "--new-only", "--yes", "-o", "new.csv"]);
      expect(asked(before).length).toBeGreaterThan(0);
      // The certificate asks after those who were bought by then.
      for (const { network_url = "" } of readCsv(me.read("new.csv"))) slugs.add(slug(network_url));
      expect(asked(before).filter((slug) => !slugs.has(slug))).toEqual([]);
    },
  );

  test("a limit or cap buys some of the new ones, and the next command others", async () => {
    const { me, owned } = await owner();
    const seen = new Set(owned);
    for (const bound of [
      ["--limit", "7"],
      ["--max-credits", "5"],
    ]) {
      const name = `${bound[1]}.csv`;
      const [ran, credits] = await spent(() =>
        me.run(["search", ...SEGMENT, "--new-only", ...bound, "--yes", "-o", name]),
      );
      expect(ran.code, ran.stderr).toBe(0);
      expect(credits).toBe(Number(bound[1]));
      expect(ran.stderr).toContain(
        `stopped at ${bound[0]}; the same with another --output buys the next ones`,
      );
      const rows = idsIn(me, name);
      expect(rows.filter((id) => seen.has(id))).toEqual([]);
      for (const id of rows) seen.add(id);
      expect(rows.length).toBeGreaterThan(0);
    }
  });

  test.each([
    ["--limit", "7"],
    ["--max-credits", "5"],
  ])("with the owned beside them what bounded it is said, too: %s", async (...bound) => {
    const { me } = await owner();
    await me.ends(
      0,
      asTyped`search ${SEGMENT} --with-owned ${bound} --yes -o all.csv`,
      `stopped at ${bound[0]}; the same with another --output buys the next ones`,
    );
  });

  long(
    "a higher cap goes on: with those who were found, then with the others, nobody left out",
    async () => {
      const { me, owned } = await owner(5_000);
      const fresh = everybody.filter((id) => !owned.includes(id));
      const argv = ["search", ...SEGMENT, "--new-only", "-o", "new.csv"];
      await me.ran([...argv, "--max-credits", "5"]);
      for (const cap of ["9", "5000"]) {
        await me.ran(["resume", "last", "--max-credits", cap]);
      }
      expect(idsIn(me, "new.csv")).toEqual(fresh);
      // So does the same command, where the cap was no end.
      const other = await owner(5_000);
      const strict = [...argv, "--require-complete"];
      await other.me.ends(5, [...strict, "--max-credits", "5"]);
      await other.me.ran([...strict, "--max-credits", "5000"]);
      expect(idsIn(other.me, "new.csv")).toEqual(fresh);
    },
  );

  test("a limit in a segment that is mostly new buys nobody who is owned", async () => {
    const me = user(service.url, service.key);
    await me.ran(["search", ...SEGMENT, "--limit", "20", "--yes", "-o", "own.csv"]);
    await me.ends(
      0,
      asTyped`search ${SEGMENT} --new-only --limit 5 --yes -o new.csv`,
      "Exported 5 new profiles for 5 credits",
    );
    const owned = new Set(idsIn(me, "own.csv"));
    expect(idsIn(me, "new.csv").filter((id) => owned.has(id))).toEqual([]);
  });

  test("addresses: only those of nobody who is owned are bought", async () => {
    const { me, owned } = await owner();
    const all = user(service.url, service.key);
    await all.run(["search", ...SEGMENT, "--limit", "60", "--yes", "-o", "some.csv"]);
    const some = readCsv(all.read("some.csv"));
    const argv = some.flatMap(({ network_url = "" }) => ["--network-url", network_url]);
    const [ran, credits] = await spent(() =>
      me.run(["search", ...argv, "--new-only", "--yes", "-o", "new.csv"]),
    );
    expect(ran.code, ran.stderr).toBe(0);
    const fresh = some.map(({ id = "" }) => id).filter((id) => !owned.includes(id));
    expect(idsIn(me, "new.csv")).toEqual(fresh.sort());
    expect(credits).toBe(fresh.length);
  });

  test("who owns nobody buys everybody", async () => {
    const me = user(service.url, service.key);
    const [ran, credits] = await spent(() =>
      me.run(["search", "--department", "Legal", "--new-only", "--yes", "-o", "l.csv"]),
    );
    expect(ran.code, ran.stderr).toBe(0);
    expect(readCsv(me.read("l.csv"))).toHaveLength(credits);
  });

  test("employees of one company", async () => {
    const me = user(service.url, service.key);
    const first = await me.run(["search", ...SEGMENT, "--limit", "20", "--yes", "--format", "csv"]);
    const company =
      readCsv(first.stdout)
        .map(({ company_network_url = "" }) => company_network_url)
        .find(Boolean) ?? "";
    const [ran, credits] = await spent(() =>
      me.run(["employees", company, "--new-only", "--yes", "-o", "e.csv"]),
    );
    expect(ran.code, ran.stderr).toBe(0);
    const rows = readCsv(me.read("e.csv")).length;
    expect(rows).toBeGreaterThan(0);
    expect(credits - rows).toBeLessThanOrEqual(1);
  });

  test.each([
    [["--new-only", "--with-owned"], "exclude each other"],
    [["--new-only", "--sample", "5"], "a sample exclude each other"],
    [["--new-only", "--max-calls", "9"], "free calls, more than the 9 allowed; nothing was spent"],
  ])("%j is refused", async (argv, message) => {
    const { me } = await owner();
    const [{ code, stderr }, credits] = await spent(() => me.run(["search", ...SEGMENT, ...argv]));
    expect(code).toBe(2);
    expect(stderr).toContain(message);
    expect(credits).toBe(0);
  });
});

/** The same service as another one would be: 50 values a key, 25 rows a page, no version of the dataset, some people without an address. */
async function foreign(): Promise<{ url: string; close: () => void; longest: () => number }> {
  let longest = 0;
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const body = text === "" ? {} : JSON.parse(text);
    const refuse = (detail: string): void => {
      response.writeHead(422, { "content-type": "application/json" });
      response.end(
        JSON.stringify({
          status: false,
          detail: [detail],
          result: null,
          credits_used: 0,
          credits_remaining: 0,
        }),
      );
    };
    for (const value of Object.values(body.filters ?? {}))
      if (Array.isArray(value) && value.length > 50)
        return refuse("a filter takes at most 50 values");
    longest = Math.max(
      longest,
      ...[body.filters?.network_url ?? []].map((list) => [list].flat().length),
    );
    if (body.per_page > 25) return refuse("per_page must be between 1 and 25");
    const headers = {
      authorization: String(request.headers.authorization),
      "content-type": "application/json",
    };
    const key = request.headers["idempotency-key"];
    const answer = await fetch(service.url + request.url, {
      method: request.method ?? "GET",
      headers: { ...headers, ...(key === undefined ? {} : { "idempotency-key": String(key) }) },
      ...(text === "" ? {} : { body: text }),
    });
    const reply = (await answer.text())
      .replace(/"dataset_version":"[^"]*",?/g, "")
      .replace(/"network_url":"([^"]*[05])"/g, '"network_url":null');
    response.writeHead(answer.status, { "content-type": "application/json" });
    response.end(reply);
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => server.close(),
    longest: () => longest,
  };
}

long(
  "a foreign service: short lists, small pages, no version, people without an address",
  async () => {
    const other = await foreign();
    try {
      const { me, owned } = await owner(1_500, other.url);
      const argv = asTyped`search ${SEGMENT} --new-only --yes -o new.csv --max-calls 20000`;
      const [ran, credits] = await spent(() => me.run(argv));
      expect(ran.code, ran.stderr).toBe(0);
      const fresh = everybody.filter((id) => !owned.includes(id));
      expect(idsIn(me, "new.csv")).toEqual(fresh);
      expect(credits).toBeLessThanOrEqual(Math.ceil(fresh.length * 1.1) + 2);
      expect(other.longest()).toBe(50);
    } finally {
      other.close();
    }
  },
  120_000,
);
