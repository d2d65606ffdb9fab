import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { cases } from "../../support/campaign.ts";
import { readCsv, seeded, spentBy, user } from "../../support/export.ts";
import { type ForeignOptions, startForeignService } from "../../support/foreign-service.ts";

// Services of somebody else, drawn at random: whatever they choose where the contract is silent, an export ends complete with each
// row once and each paid once, or not with 0, having said what is missing.

const FROM = Number(process.env.HEADCOUNT_SEED ?? 1);
const SERVICES = cases(40, 500);

const CROWDS = [0, 1, 7, 40, 99, 100, 101, 237, 260, 300] as const;

interface Case {
  readonly options: Partial<ForeignOptions>;
  readonly argv: readonly string[];
  /** The most that may be charged. */
  readonly cap: number;
  /** Rows that are wanted, at most. */
  readonly wanted: number;
}

function draw(seed: number): Case {
  const random = seeded(seed * 7_919);
  const pick = <T>(...values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
  const often = (share: number): boolean => random() < share;
  const command = pick("search", "search", "slug", "domain", "several");
  const isOne = command !== "several";
  const companies = isOne
    ? undefined
    : { "a.example": pick(...CROWDS), "b.example": pick(...CROWDS), "c.example": 7 };
  const people = isOne
    ? pick(...CROWDS)
    : Object.values(companies ?? {}).reduce((a, b) => a + b, 0);
  const maxPerPage = pick(1_000, 1_000, 100, 100, 50, 30, 25);
  const sizes = often(0.1) ? [10, 25, 50, 100].filter((size) => size <= maxPerPage) : undefined;
  const total = pick<ForeignOptions["total"]>(
    undefined,
    undefined,
    "header",
    "result",
    "own-length",
  );
  const isTold = command === "search" || command === "slug" || total === "header";
  const paging = pick<ForeignOptions["paging"]>("page", "page", "page", "offset", "cursor");
  const firstPage = paging === "page" && often(0.2) ? 0 : 1;
  const price = pick(1, 1, 0.25, 3);
  const tellsCosts = often(0.8);
  const fails = often(0.3) ? Math.ceil(random() * 4) : 0;
  const mishap = pick("drop", "cut", "503", "500") as "drop";
  const shape = pick(undefined, undefined, (rows: readonly object[]) => ({
    data: { members: rows },
  }));
  const rowsUnder = pick(undefined, "people", "results", "hits");
  const isPlain = shape !== undefined || rowsUnder === undefined;
  const options: Partial<ForeignOptions> = {
    ...{
      people,
      companies,
      maxPerPage,
      sizes,
      paging,
      firstPage,
      price,
      tellsCosts,
      total,
      rowsUnder,
      shape,
      random,
    },
    balance: 20_000,
    clamp: sizes === undefined && often(0.3),
    minPerPage: sizes === undefined && often(0.15) ? 10 : 1,
    refusal: pick("laravel", "between", "pydantic", "bad-request"),
    pageIgnored: often(0.1),
    strict: often(0.3),
    nextUnder: isTold && often(0.1) ? "after" : "next_cursor",
    costNames: pick("path", "snake", "camel", "list"),
    usedIs: tellsCosts && often(0.1) ? "missing" : undefined,
    jitterMs: pick(0, 0, 6),
    idempotent: often(0.5),
    countedTooMany: pick(0, 0, 0, 30),
    duplicateEvery: pick(0, 0, 0, 0, 10),
    mishap: (call) => (call === fails ? mishap : undefined),
  };
  // A total or a cursor beside rows needs an object to stand in.
  if (isPlain) {
    if (paging === "cursor") Object.assign(options, { shape: undefined, rowsUnder: "people" });
    else if (total !== "header") options.total = undefined;
  }
  const known =
    isTold && options.total !== undefined
      ? often(0.7)
      : command === "search" || command === "slug"
        ? often(0.7)
        : true;
  const spoken = !known ? "page" : paging === "page" && firstPage === 0 ? "page0" : paging;
  const capped = often(0.3) ? pick(0, 50, 77, 200) + 1 : undefined;
  const limited =
    command === "domain" || command === "several" || often(0.2)
      ? pick(5, 60, 250, 1_000)
      : undefined;
  // Without a cap: what it means in rows is known to the service alone.
  if (capped === undefined && often(0.15)) options.chargesRequests = true;
  if (often(0.04)) options.refusesKey = true;
  const target = {
    search: ["search", "--country", "x"],
    slug: ["employees", "acme"],
    domain: ["employees", "a.example"],
    several: ["employees", "a.example", "b.example", "missing.example", "c.example"],
  };
  return {
    options,
    argv: [
      ...target[command as "search"],
      ...["--paging", spoken, "--yes", "-o", "o.csv", "--concurrency", String(pick(1, 4, 8))],
      ...(capped === undefined ? [] : ["--max-credits", String(capped)]),
      ...(limited === undefined ? [] : ["--limit", String(limited)]),
      ...(often(0.4) ? ["--per-page", String(pick(20, 30, 100))] : []),
    ],
    // Where nobody tells the price, the first row does.
    cap: Math.max(capped ?? Number.POSITIVE_INFINITY, tellsCosts ? 0 : price),
    wanted: Math.min(
      limited ?? people,
      Math.max(Math.floor((capped ?? Number.POSITIVE_INFINITY) / price), tellsCosts ? 0 : 1),
      people,
    ),
  };
}

/** The last one is of the long form: an empty page that does not tell what it cost, and is charged. */
const SEEDS = new Set([...Array.from({ length: SERVICES }, (_, at) => FROM + at), 170]);

test.each([...SEEDS])("service %i", async (seed) => {
  const { options, argv, cap, wanted: most } = draw(seed);
  const service = await startForeignService(options);
  try {
    const u = user(service.url, service.key);
    const all = new Set(service.ids());
    let before = 0;
    let repeated = false;
    for (let attempt = 1; attempt <= 2; attempt++) {
      const ran = await u.run(argv);
      const story = {
        seed,
        attempt,
        argv: argv.join(" "),
        options,
        ran,
        charged: service.charged(),
      };
      const spent = await spentBy(u);
      const told = JSON.stringify(story, null, 1);
      expect(service.charged(), told).toBeLessThanOrEqual(cap);
      // A lost reply counts as charged twice where nothing shows that the second was the first.
      if (spent.uncertain === 0) expect(spent.settled, told).toBeCloseTo(service.charged(), 6);
      else
        expect(spent.settled + spent.uncertain, told).toBeGreaterThanOrEqual(
          service.charged() - 1e-6,
        );
      expect(Number(spent.foreign), told).toBe(0);
      const balance = /\(balance ([\d,.]+)\)/.exec(ran.stderr)?.[1];
      if (balance !== undefined)
        expect(Number(balance.replaceAll(",", "")), told).toBe(service.balance());
      expect(existsSync(u.file("o.csv")), told).toBe(ran.code === 0);
      if (ran.code === 0) {
        // What a lost reply may have cost counts against the cap.
        const paying = Math.floor((cap - spent.uncertain) / (options.price ?? 1));
        const wanted = spent.uncertain > 0 ? Math.min(most, paying) : most;
        const ids = readCsv(u.read("o.csv")).map(({ id }) => id);
        // A limit is any so many of them: a service that begins at page 0 gives others first.
        const isWhole = wanted === options.people;
        if (isWhole) expect(ids, told).toEqual(service.ids());
        else
          expect([new Set(ids).size, ids.filter((id) => !all.has(id ?? ""))], told).toEqual([
            wanted,
            [],
          ]);
        if (options.chargesRequests) return;
        const paid = Number(spent.settled) / (options.price ?? 1);
        expect(paid, told).toBeCloseTo(wanted, 6);
        return;
      }
      expect([2, 4, 5, 8], told).toContain(ran.code);
      if (options.refusesKey) expect(service.charged(), told).toBe(0);
      expect(ran.stderr, told).toMatch(/^error: .{20}/m);
      // Stopped once, the same command pays for no page again that it cannot use.
      if (repeated) expect(service.charged(), told).toBe(before);
      repeated = ran.stderr.includes("gave a page twice");
      before = service.charged();
      service.options.mishap = () => undefined;
    }
  } finally {
    await service.close();
  }
});
