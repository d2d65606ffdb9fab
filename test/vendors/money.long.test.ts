import { spawn } from "node:child_process";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { LONG } from "../support/campaign.ts";
import { BIN } from "../support/spawned.ts";
import { vendorUser } from "../support/vendor-user.ts";
import type { VendorName } from "../support/vendors/index.ts";
import { creditsOf, millionthsOf } from "../support/vendors/shared.ts";

// Each vendor that people can be bought from, against the book that it keeps itself: whatever is killed,
// lost or charged otherwise, what `spend` has is what was charged, or more where nothing tells it, and never less.

type Options = Parameters<typeof vendorUser>[1];

interface Selling {
  readonly name: VendorName;
  /** What a person costs, or so many as one price pays for. */
  readonly each: string;
  readonly parcel?: number;
  /** Whether a reply or a free call tells what was charged. */
  readonly told: "charged" | "balance";
  /** A filter as the vendor writes it, and whether a count of nobody by it is free. */
  readonly country: string;
  readonly counts: boolean;
}

const SELLING: readonly Selling[] = [
  { name: "pdl", each: "1", told: "charged", country: "location_country", counts: false },
  {
    name: "crustdata",
    each: "0.03",
    told: "balance",
    country: "basic_profile.location.country",
    counts: false,
  },
  { name: "coresignal", each: "20", told: "balance", country: "location_country", counts: true },
  { name: "apollo", each: "1", told: "charged", country: "person_locations", counts: true },
  { name: "explorium", each: "1", told: "balance", country: "country_code", counts: true },
  {
    name: "prospeo",
    each: "1",
    parcel: 25,
    told: "balance",
    country: "person_location_search",
    counts: false,
  },
];

/** Five rows are a page: of a vendor that sells pages there are as many more people. */
const PAGE = 5;

async function userOf({ name, parcel = PAGE }: Selling, options: Options = {}) {
  const people = (400 * parcel) / PAGE;
  const user = await vendorUser(name, { credits: "100000", people, ...options });
  onTestFinished(() => user.vendor.stop());
  expect(user.added.code, user.added.stderr).toBe(0);
  const { vendor } = user;
  const german = vendor.people.filter(({ country }) => country?.code === "DE").map(vendor.id);
  const charged = (): bigint => millionthsOf(vendor.book.charged());
  const files = (): unknown[] => user.rows("o.ndjson").map(({ id }) => id);
  return { ...user, german, charged, files };
}

/** What so many people cost where a page has five, and as many pages at a vendor that sells those. */
const price = ({ each, parcel }: Selling, people: number): string =>
  creditsOf(millionthsOf(each) * BigInt(parcel === undefined ? people : Math.ceil(people / PAGE)));

/** Kills a purchase by the built program once so much was charged, with a reply that is still to come. */
async function killedAt(user: Awaited<ReturnType<typeof userOf>>, line: string, charges: number) {
  const { vendor, dir, env } = user;
  vendor.options.holdReply = [charges];
  const child = spawn(process.execPath, [BIN, ...line.split(" ")], {
    cwd: dir,
    env: { ...process.env, ...env },
  });
  const end = new Promise((done) => child.on("close", done));
  await vi.waitFor(() => expect(vendor.book.charges.length).toBeGreaterThanOrEqual(charges), {
    timeout: 60_000,
    interval: 10,
  });
  child.kill("SIGKILL");
  await end;
  vendor.options.holdReply = [];
}

describe.each(SELLING)("$name", (selling) => {
  /** Nothing but a call of its own tells a balance. */
  const isAsked = ["crustdata", "explorium", "prospeo"].includes(selling.name);
  const isOfIds = selling.name === "coresignal" || selling.name === "apollo";
  const { parcel = 1 } = selling;
  // By numbers several are asked for at once: of those that a killed process was about to keep
  // nobody knows which had arrived.
  const PAGES = parcel === 1 ? ` --per-page ${PAGE}` : " --concurrency 1";
  const BUY = `search -c v --country Germany -o o.ndjson --yes${PAGES}`;
  const rows = (people: number): number => (parcel === 1 ? people : (people / PAGE) * parcel);

  test.each(LONG ? [1, 2, 3] : [2])(
    "killed with its paid reply %i on the way, it goes on",
    async (charges) => {
      const user = await userOf(selling);
      const { vendor, german, run, spend, pending, charged, files } = user;
      await killedAt(user, `${BUY} --max-credits ${price(selling, 30)}`, charges);

      const before = await spend();
      const open = await pending();
      expect(before.settled + before.uncertain + open).toBeGreaterThanOrEqual(charged());
      const [lost] = vendor.book.charges.slice(charges - 1);
      expect(lost).toMatchObject({ arrived: false });

      const isBooked = async (most: number): Promise<void> => {
        const { settled, uncertain, foreign } = await spend();
        expect(settled + uncertain + foreign).toBe(charged());
        expect(charged()).toBeLessThanOrEqual(millionthsOf(price(selling, most)));
      };
      const short = await run(`resume last --max-credits ${price(selling, 60)} --yes`);
      expect(short.code, short.stderr).toBe(5);
      expect(short.stderr).toContain("may have been charged");
      await isBooked(60);

      const whole = await run(`resume last --max-credits ${price(selling, 90)} --yes`);
      expect(whole.code, whole.stderr).toBe(0);
      expect(files().sort()).toEqual(german.sort());
      // Nobody but those of the lost reply is paid for twice.
      expect(vendor.book.sold().sort()).toEqual([...german, ...(lost?.ids ?? [])].sort());
      await isBooked(90);
    },
  );

  test.runIf(parcel > 1)("killed with four pages at once, none of them is forgotten", async () => {
    const user = await userOf(selling);
    const { german, run, spend, charged, files } = user;
    const line = `${BUY.replace(PAGES, "")} --max-credits ${price(selling, 30)}`;
    await killedAt(user, line, 3);
    const ran = await run(`resume last --max-credits ${price(selling, 120)} --yes`);
    expect(ran.code, ran.stderr).toBe(0);
    expect(files().sort()).toEqual(german.sort());
    // Four go on at once, and none is taken for the charge of the others.
    const { settled, uncertain, foreign } = await spend();
    expect(settled + uncertain + foreign, ran.stderr).toBe(charged());
    expect(foreign).toBe(0n);
  });

  test("killed between two paid replies, it pays nobody twice", async () => {
    const user = await userOf(selling);
    const { vendor, german, run, spend, charged, files } = user;
    // It is told and not sold yet: nothing was charged when it ends.
    vendor.options.delayFrom = { charges: 2, ms: 3_600_000 };
    const child = spawn(
      process.execPath,
      [BIN, ...`${BUY} --max-credits ${price(selling, 30)}`.split(" ")],
      { cwd: user.dir, env: { ...process.env, ...user.env } },
    );
    const end = new Promise((done) => child.on("close", done));
    await vi.waitFor(
      () => {
        expect(vendor.book.charges.length).toBe(2);
        expect(vendor.waiting()).toBeGreaterThan(0);
      },
      { timeout: 60_000, interval: 10 },
    );
    child.kill("SIGKILL");
    await end;
    vendor.options.delayFrom = undefined;

    const ran = await run(`resume last --max-credits ${price(selling, 90)} --yes --overwrite`);
    expect(ran.code, ran.stderr).toBe(0);
    expect(new Set(files()).size, ran.stderr).toBe(files().length);
    for (const id of files()) expect(german).toContain(id);
    // What was on its way may be charged, for all that anybody can tell without a balance.
    const { settled, uncertain } = await spend();
    expect(settled).toBe(charged());
    expect(vendor.book.sold().length).toBe(new Set(vendor.book.sold()).size);
    expect(settled + uncertain).toBeLessThanOrEqual(millionthsOf(price(selling, 90)));
  });

  test.runIf(isOfIds)(
    "killed among new people and in a list, it goes on by the same ids",
    async () => {
      for (const line of [
        "search -c v --country Germany --new-only -o o.ndjson --yes",
        "refresh -c v --country Germany -o o.ndjson --yes",
      ]) {
        const user = await userOf(selling, { people: 120 });
        const { vendor, german, run, spend, charged, files } = user;
        const some = await run(`${BUY.replace("o.nd", "some.nd")} --limit 4`);
        expect(some.code, some.stderr).toBe(0);
        const owned = vendor.book.sold();
        const at = vendor.book.charges.length + 2;
        await killedAt(user, `${line} --max-credits ${price(selling, 60)}`, at);

        const more = `${line} --max-credits ${price(selling, 90)}`;
        const first = await run(more);
        const whole = first.code === 0 ? first : await run(more);
        expect(whole.code, `${first.stderr}${whole.stderr}`).toBe(0);
        const lost = vendor.book.charges[at - 1]?.ids ?? [];
        expect(vendor.book.sold().sort()).toEqual([...german, ...lost].sort());
        const isList = line.startsWith("refresh");
        const wanted = german.filter((id) => isList || !owned.includes(id));
        expect(files().sort()).toEqual(wanted.sort());
        const { settled, uncertain, foreign } = await spend();
        expect(settled + uncertain + foreign).toBe(charged());
      }
    },
  );

  test.each(["drop", "cut"] as const)(
    "a paid reply is lost (%s): its price counts",
    async (lostAs) => {
      const user = await userOf(selling, { loseReply: [2], lostAs });
      const { german, run, spend, charged, files } = user;
      const ran = await run(`${BUY} --limit ${rows(15)} --max-credits ${price(selling, 60)}`);
      expect(ran.code, ran.stderr).toBe(5);
      const isBooked = async (): Promise<void> => {
        const { settled, uncertain, foreign } = await spend();
        expect(settled + uncertain + foreign, ran.stderr).toBe(charged());
      };
      await isBooked();
      expect(charged()).toBeLessThanOrEqual(millionthsOf(price(selling, 15)));

      await run(
        `resume last --max-credits ${price(selling, 60)} --limit ${rows(15)} --yes --overwrite`,
      );
      expect(new Set(files()).size).toBe(rows(15));
      for (const id of files()) expect(german).toContain(id);
      await isBooked();
    },
  );

  test.each(parcel === 1 ? [1, 26] : [5, 35])(
    "the cap of %i people is landed on",
    async (people) => {
      const user = await userOf(selling);
      const { run, spend, charged, files } = user;
      // Pages of no given size: of five people each no whole number makes seven.
      const ran = await run(`${BUY} --max-credits ${price(selling, people)}`.replace(PAGES, ""));
      expect(ran.code, ran.stderr).toBe(0);
      expect(files().length).toBe(rows(people));
      expect(charged()).toBe(millionthsOf(price(selling, people)));
      expect(await spend()).toEqual({ settled: charged(), uncertain: 0n, foreign: 0n });
    },
  );

  test("no credits, at once and in the middle: said with exit 4, kept, booked", async () => {
    for (const people of [0, 5]) {
      const user = await userOf(selling, { credits: price(selling, people) });
      const { run, spend, charged } = user;
      const ran = await run(`${BUY} --limit ${rows(40)} --max-credits ${price(selling, 60)}`);
      expect(ran.code, ran.stderr).toBe(4);
      const { settled, uncertain, foreign } = await spend();
      expect(settled, ran.stderr).toBe(charged());
      expect({ uncertain, foreign }, ran.stderr).toEqual({ uncertain: 0n, foreign: 0n });
    }
  });

  test("a minute's limit is waited for", async () => {
    const user = await userOf(selling, { limitPerMinute: 3, windowMs: 100 });
    const { run, spend, charged, vendor } = user;
    const ran = await run(`${BUY} --limit ${rows(40)} --max-credits ${price(selling, 60)} --wait`);
    expect(ran.code, ran.stderr).toBe(0);
    expect(charged()).toBe(millionthsOf(price(selling, 40)));
    expect(await spend()).toEqual({ settled: charged(), uncertain: 0n, foreign: 0n });
    if (isOfIds) expect(vendor.book.calls.some(({ status }) => status === 429)).toBe(true);
  });

  test.each([2, 0.5])(
    "a price that is told %d times as high is booked as it was charged",
    async (factor) => {
      const user = await userOf(selling, { chargeFactor: factor });
      const { run, spend, charged, vendor, files } = user;
      const ran = await run(`${BUY} --limit ${rows(10)} --max-credits ${price(selling, 40)}`);
      if (factor > 1) {
        expect(ran.code, ran.stderr).toBe(5);
        expect(ran.stderr).toContain("charged");
        // A cursor that is bound to its size begins with it.
        expect(vendor.book.charges.length, ran.stderr).toBe(1);
        const first = { crustdata: 5, prospeo: parcel }[selling.name as string] ?? 1;
        expect(vendor.book.sold().length).toBe(first);
      } else {
        expect(ran.code, ran.stderr).toBe(0);
        expect(files().length).toBe(rows(10));
      }
      // A balance that fell by less may be late: what no reply tells is booked as declared.
      const settled = factor < 1 && isAsked ? millionthsOf(price(selling, 10)) : charged();
      expect(await spend(), ran.stderr).toEqual({ settled, uncertain: 0n, foreign: 0n });
    },
  );

  test("a filter that the vendor passes over sells its smallest page at most", async () => {
    const user = await userOf(selling, { swallow: [selling.country] });
    const { run, spend, charged, vendor } = user;
    const ran = await run(
      `${BUY.replace("Germany", "Ireland")} --max-credits ${price(selling, 40)}`,
    );
    expect(ran.code, ran.stderr).toBe(2);
    expect(ran.stderr).toContain("passes the filter country over");
    expect(vendor.book.charges.length).toBe(selling.counts ? 0 : 1);
    expect(await spend()).toEqual({ settled: charged(), uncertain: 0n, foreign: 0n });
  });
});
