import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { connect, type HeadcountError } from "../../src/api/connect.ts";
import type {
  ConnectOptions,
  Consent,
  Filters,
  Headcount,
  Quote,
  Row,
} from "../../src/api/index.ts";
import { charged, readCsv, runIds } from "../support/export.ts";
import { connected, failureOf } from "../support/program.ts";
import { CREDITS, type Serving, serveUsers } from "../support/serving.ts";

let { service, u } = {} as Serving;
serveUsers((now) => ({ service, u } = now));

const LEGAL = { department: "Legal" };

const opened = (more?: ConnectOptions): Promise<Headcount> => connected(u, more);

async function rowsOf(purchase: AsyncIterable<Row>): Promise<Row[]> {
  const rows: Row[] = [];
  for await (const row of purchase) rows.push(row);
  return rows;
}

describe("free calls", () => {
  test("account and count are what the command says", async () => {
    const hc = await opened();
    const account = await hc.account();
    expect(account).toMatchObject({
      keyMode: "live",
      price: "1",
      balance: expect.any(String),
    });
    const { stdout } = await u.run(["count", "--department", "Legal"]);
    expect(await hc.count(LEGAL)).toEqual({ count: Number(stdout), asOf: expect.any(String) });
  });

  test("why nobody matches is told where somebody hears it, as the command tells it", async () => {
    const said: string[] = [];
    const hc = await opened({ notice: (text) => said.push(text) });
    for (const act of [hc.count, (filters: Filters) => hc.quote({ filters })]) {
      said.length = 0;
      await act({ country: "Germny" });
      expect(said.join()).toContain('country "germany" counts');
      expect(said.join()).not.toContain("--");
    }

    const order = { filters: { country: ["Germany", "Germny"] } };
    const strict = hc.buy(order, { maxCredits: 1 }, { strict: true, limit: 1 });
    expect(await failureOf(strict.receipt)).toMatchObject({
      code: "unmatched_value",
      message: expect.not.stringContaining("--"),
    });
  });

  test("what is wrong is a fact, in the words of a program", async () => {
    const hc = await opened();
    const wrong = await failureOf(hc.count({ departmnt: "Legal" }));
    expect(wrong).toMatchObject({ category: "usage", code: "invalid_filter", run: null });
    expect(wrong.message).toContain("departmnt");
    expect(await failureOf(hc.quote({ filters: {} }))).toMatchObject({ code: "unfiltered" });
    expect(await failureOf(hc.quote({ filters: LEGAL }, { limit: 0.5 }))).toMatchObject({
      message: "limit takes a whole number from 1, not 0.5",
    });
    expect(
      await failureOf(connect({ env: { ...u.env, HEADCOUNT_API_KEY: "short" } })),
    ).toMatchObject({ category: "auth", code: "bad_key" });
    const refused = await opened({ apiKey: "hc_live_0000000000000000000000000000" });
    expect(await failureOf(refused.account())).toMatchObject({ category: "auth", status: 401 });
  });
});

describe("a purchase", () => {
  test("gives the rows of the run and a receipt, and the command owns them too", async () => {
    const hc = await opened();
    const before = await charged(service, CREDITS);
    const purchase = hc.buy({ filters: LEGAL }, { maxCredits: 5 });
    const rows = await rowsOf(purchase);
    const receipt = await purchase.receipt;
    expect(rows.length).toBe(5);
    expect(receipt).toMatchObject({ rows: 5, credits: "5", complete: false, reused: 0 });
    expect((await charged(service, CREDITS)) - before).toBe(5);
    expect(runIds(u)).toEqual([receipt.run]);
    expect(await purchase.run).toBe(receipt.run);
    const again = await u.run(["runs", "export", receipt.run, "--format", "ndjson"]);
    expect(
      again.stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as Row),
    ).toEqual(rows);
    expect(await hc.runs()).toMatchObject([
      { id: receipt.run, status: "finished", rows: 5, credits: "5", output: null },
    ]);

    expect(await hc.owned.summary()).toMatchObject({ people: 5, credits: "5", runs: 1 });
    expect(await hc.owned.count(LEGAL)).toBe(5);
    expect(await hc.owned.count({ department: "Sales" })).toBe(0);
    const owned = await rowsOf(hc.owned.rows(LEGAL));
    expect(new Set(owned.map(({ id }) => id))).toEqual(new Set(rows.map(({ id }) => id)));
  });

  test("of a quote is what it says, at most what is allowed, and for new people alone", async () => {
    const hc = await opened();
    await hc.buy({ filters: LEGAL }, { maxCredits: 4 }, { limit: 4 }).receipt;
    const order = { filters: LEGAL, people: "new" } as const;
    const quote = await hc.quote(order, { limit: 3 });
    expect(quote).toMatchObject({ rows: 3, owned: 4, credits: "3", total: "3" });
    const before = await charged(service, CREDITS);
    const over = hc.buy(quote, { maxCredits: "2.5" });
    expect(await failureOf(over.receipt)).toMatchObject({
      category: "credits",
      code: "over_cap",
      option: "maxCredits",
      raise: { maxCredits: "3" },
    });
    expect(await charged(service, CREDITS)).toBe(before);
    const asked: string[] = [];
    const purchase = hc.buy(quote, {
      maxCredits: quote.total,
      agree: ({ credits }) => asked.push(credits) > 0,
    });
    expect((await rowsOf(purchase)).length).toBe(3);
    expect(asked).toEqual(["3"]);
    expect((await charged(service, CREDITS)) - before).toBe(3);
  });

  test("of everybody is quoted with whom it gives of those that are owned", async () => {
    const hc = await opened();
    const some = { ...LEGAL, connections_min: 300 };
    const { rows: owned } = await hc.buy({ filters: some }, { maxCredits: 9 }, { limit: 9 })
      .receipt;
    const few = await hc.quote({ filters: LEGAL }, { limit: 2 });
    expect(few).toMatchObject({ rows: 2, kept: 2, owned, credits: "0" });

    const limit = owned + 2;
    const terms = { rows: limit, kept: owned, owned, credits: "2" };
    expect(await hc.quote({ filters: LEGAL, people: "all" }, { limit })).toMatchObject(terms);
    const offers: object[] = [];
    const agree = (offer: object): boolean => offers.push(offer) > 0;
    const { rows, credits } = await hc.buy({ filters: LEGAL }, { agree }, { limit }).receipt;
    expect({ rows, credits }).toEqual({ rows: limit, credits: "2" });
    expect(offers).toMatchObject([terms]);
  });

  test("needs consent: what allows nothing, a no, and what only looks like a quote buy nothing", async () => {
    const hc = await opened();
    const before = await charged(service, CREDITS);
    const order = { filters: LEGAL };
    const buy = (what: object, consent: object) =>
      failureOf(hc.buy(what as Quote, consent as Consent).receipt);
    expect(await buy(order, {})).toMatchObject({ code: "consent_needed" });
    expect(await buy(order, { maxCredits: "much" })).toMatchObject({ category: "usage" });
    expect(await buy(order, { maxCredits: -1 })).toMatchObject({ category: "usage" });
    expect(await buy(order, { maxCredits: 1.1234567 })).toMatchObject({ category: "usage" });
    expect(await buy(order, { agree: () => false })).toMatchObject({ category: "declined" });
    const quote = await hc.quote(order);
    expect(await buy(quote, { agree: () => false })).toMatchObject({ category: "declined" });
    expect(await buy({ ...quote }, { maxCredits: 100 })).toMatchObject({ code: "unknown_quote" });
    const other = await opened();
    const foreign = other.buy(quote, { maxCredits: 100 }).receipt;
    expect(await failureOf(foreign)).toMatchObject({ code: "unknown_quote" });
    expect(await charged(service, CREDITS)).toBe(before);
    expect(runIds(u)).toEqual([]);
  });

  test("gives its rows page by page too, each once", async () => {
    const hc = await opened();
    const purchase = hc.buy({ filters: LEGAL }, { maxCredits: 6 });
    const ids: unknown[] = [];
    for await (const page of purchase.pages()) ids.push(...page.map(({ id }) => id));
    const { rows } = await purchase.receipt;
    expect([ids.length, new Set(ids).size]).toEqual([rows, rows]);
    const again = (async () => {
      for await (const _ of purchase) expect.fail("it was read");
    })();
    expect(await failureOf(again)).toMatchObject({ code: "rows_read" });
  });

  test("whoever only iterates, or only wants the receipt, hears what failed, once", async () => {
    const hc = await opened();
    const broken = hc.buy({ filters: { department: "Legl" } }, { maxCredits: 5 });
    expect(await failureOf(rowsOf(broken))).toMatchObject({ code: "invalid_filter" });
    expect(await failureOf(broken.run)).toMatchObject({ code: "invalid_filter" });
    expect(await failureOf(rowsOf(broken))).toMatchObject({ code: "rows_read" });
  });

  test("that nobody reads to its end is closed, keeps what it paid for, and goes on", async () => {
    const hc = await opened();
    const order = { filters: { department: "Sales" } };
    const purchase = hc.buy(order, { maxCredits: 300 });
    for await (const row of purchase) {
      expect(row.id).toEqual(expect.any(String));
      break;
    }
    const failure = await failureOf(purchase.receipt);
    const [run] = await hc.runs();
    expect(failure).toMatchObject({ category: "pipe_closed", run: run?.id });
    expect(run).toMatchObject({ resumable: true });
    const rest = hc.resume(run?.id ?? "", { maxCredits: 300 });
    const rows = await rowsOf(rest);
    const { credits, rows: said } = await rest.receipt;
    expect(rows.length).toBe(said);
    expect(Number(credits)).toBe(said);
    expect(new Set(rows.map(({ id }) => id)).size).toBe(said);
  });

  test("ends where its signal says so, and resume goes on within what was agreed to", async () => {
    const hc = await opened();
    const stop = new AbortController();
    const order = { filters: { department: "Sales" } };
    const purchase = hc.buy(order, { maxCredits: 200 }, { signal: stop.signal });
    const reading = (async () => {
      for await (const _ of purchase) stop.abort();
    })();
    const failure = await failureOf(reading);
    expect(failure).toMatchObject({ category: "interrupted", resumable: true });
    expect(failure.message).not.toMatch(/--|headcount /);
    const rest = hc.resume(failure.run ?? "");
    const { credits, rows, run } = await rest.receipt;
    expect({ credits, run }).toEqual({ credits: `${rows}`, run: failure.run });
    expect(rows).toBeGreaterThan(100);

    // Of one that bought nothing there is no run either.
    const early = hc.buy(order, { maxCredits: 300 }, { signal: AbortSignal.abort() });
    expect(await failureOf(early.receipt)).toMatchObject({ category: "interrupted", run: null });
  });

  test("is over before the connection is closed, and nothing is asked of it afterwards", async () => {
    const hc = await opened();
    const purchase = hc.buy({ filters: LEGAL }, { maxCredits: 5 });
    await hc.close();
    await failureOf(purchase.receipt);
    expect(await failureOf(hc.account())).toMatchObject({ code: "closed" });
  });

  test("a run that the command began for a file is none of a program's rows, but goes on", async () => {
    const hc = await opened();
    const half = ["search", "--department", "Legal", "--max-credits", "3", "--require-complete"];
    await u.run([...half, "-o", "l.csv"]);
    const [run = ""] = runIds(u);
    const purchase = hc.resume(run, { maxCredits: 6 });
    const receipt = await purchase.receipt.catch((error: HeadcountError) => error);
    expect(receipt).toMatchObject({ run });
  });
});

describe("a list", () => {
  test("is kept up to date within its cap: who is there is paid once, by program and command", async () => {
    const hc = await opened();
    const list = u.file("legal.csv");
    const before = await charged(service, CREDITS);
    const dear = hc.refresh(list, LEGAL, { maxCredits: 1 });
    expect(await failureOf(dear)).toMatchObject({ category: "credits" });
    expect(await charged(service, CREDITS)).toBe(before);

    const first = await hc.refresh(list, LEGAL, { maxCredits: 100 });
    expect(first).toMatchObject({ list, added: first.count, bought: first.count, removed: 0 });
    expect(first.credits).toBe(`${first.count}`);
    expect(readCsv(u.read("legal.csv")).length).toBe(first.count);
    expect(readCsv(readFileSync(first.files.added, "utf8")).length).toBe(first.count);

    expect(await hc.refresh(list, undefined, { maxCredits: 100 })).toMatchObject({
      credits: "0",
      bought: 0,
      added: 0,
    });
    const again = await u.run(["refresh", "legal.csv", "--max-credits", "100", "--json"]);
    expect(JSON.parse(again.stdout)).toMatchObject({ credits: 0, added: 0 });
    expect((await charged(service, CREDITS)) - before).toBe(first.count);
  });

  test("is quoted for nothing, and bought where somebody agrees to just that", async () => {
    const hc = await opened();
    const list = u.file("agreed.csv");
    const before = await charged(service, CREDITS);
    const quote = await hc.quoteRefresh(list, LEGAL);
    expect(quote).toMatchObject({ owned: 0, gone: 0, rows: quote.people, unitPrice: "1" });
    const seen: object[] = [];
    const agree = (answer: boolean) => (offer: object) => seen.push(offer) > 0 && answer;
    const no = hc.refresh(list, LEGAL, { agree: agree(false) });
    expect(await failureOf(no)).toMatchObject({ category: "declined" });
    expect([seen, await charged(service, CREDITS)]).toEqual([[quote], before]);

    const bought = await hc.refresh(list, LEGAL, { agree: agree(true) });
    expect(bought.credits).toBe(quote.credits);
    expect(await hc.quoteRefresh(list)).toMatchObject({ rows: 0, credits: "0" });
  });

  test("needs a cap and a segment", async () => {
    const hc = await opened();
    const refused = (filters: Filters | undefined, cap: object) =>
      failureOf(hc.refresh(u.file("l.csv"), filters, cap as { maxCredits: number }));
    expect(await refused(LEGAL, {})).toMatchObject({ code: "consent_needed" });
    expect(await refused({}, { maxCredits: 1 })).toMatchObject({ code: "unfiltered" });
    expect(runIds(u)).toEqual([]);
  });
});

test("the log has no key, no filter and no record", async () => {
  const lines: string[] = [];
  const hc = await opened({ log: (line) => lines.push(JSON.stringify(line)) });
  await hc.buy({ filters: LEGAL }, { maxCredits: 2 }).receipt;
  expect(lines.length).toBeGreaterThan(1);
  expect(lines.join()).not.toMatch(/Legal|hc_live|department/);
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({ code: "request", facts: { outcome: 200 } });
});
