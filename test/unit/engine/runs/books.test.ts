import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Books, type Epoch, type Fact, type Sent } from "../../../../src/engine/runs/books.ts";
import { type Credits, credits, ONE_CREDIT } from "../../../../src/shared/contract/money.ts";
import { cases } from "../../../support/campaign.ts";
import { long } from "../../../support/long.ts";
import { type Belief, type Habits, habits, lateHabits, type Moment, tell } from "./hidden-truth.ts";

/** The long form: `npm run campaign books`. */
const numRuns = cases(2_000, 200_000);
const seed = Number(process.env.HEADCOUNT_SEED ?? 20_261_128);
const stories = { numRuns, seed };

const of = (whole: number): Credits => credits(BigInt(whole) * ONE_CREDIT);
const quiet = (balance: number, rested = false): Fact => ({
  t: "quiet",
  balance: of(balance),
  rested,
});
const sent = (n: number, page = `page ${n}`, promised = false): Sent => ({
  t: "sent",
  n,
  page,
  rows: 20,
  hold: of(20),
  promised,
});
const told = (n: number, used: number, stored = false): Fact => ({
  t: "told",
  n,
  rows: 20,
  used: of(used),
  stored,
});
const lost = (n: number): Fact => ({ t: "lost", n });
const refused = (n: number): Fact => ({ t: "refused", n });
const broken = (n: number): Fact => ({ t: "refused", n, isFault: true });

const sumsOf = ({ told, doubt, others }: Books) => ({
  told: Number(told) / 1_000_000,
  doubt: Number(doubt) / 1_000_000,
  others: Number(others) / 1_000_000,
});

describe("rule by rule, with pages of 20 rows at 1 credit", () => {
  const seenOf = (...facts: readonly Fact[]) => sumsOf(new Books([quiet(100), ...facts]));
  const sums = (told: number, doubt: number, others = 0) => ({ told, doubt, others });
  /** A page that is lost twice, once before a witness; another is lost beside it. */
  const beside = [
    ...[sent(1, "a"), lost(1), sent(3), sent(2, "a"), sent(4, "b")],
    ...[told(3, 20), lost(2), lost(4), quiet(64)],
  ];
  const half: readonly Fact[] = [
    sent(5, "a"),
    { t: "told", n: 5, rows: 10, used: of(10), stored: true },
  ];

  test.each<[string, ReturnType<typeof seenOf>, ReturnType<typeof sums>]>([
    ["under way counts its hold", seenOf(sent(1)), sums(0, 20)],
    ["a success is what it says", seenOf(sent(1), told(1, 20)), sums(20, 0)],
    ["below its rows at the price it is unsure", seenOf(sent(1), told(1, 5)), sums(5, 15)],
    ["a charge below zero is none", seenOf(sent(1), told(1, -20)), sums(0, 20)],
    [
      "an error says at least what it cost",
      seenOf(sent(1), { t: "refused", n: 1, used: of(5) }),
      sums(5, 15),
    ],
    ["an answer counts once", seenOf(sent(1), lost(1), told(1, 20)), sums(0, 20)],
    ["a lost reply is its hold", seenOf(sent(1), lost(1)), sums(0, 20)],
    ["no fall alone proves nothing", seenOf(sent(1), lost(1), quiet(100)), sums(0, 20)],
    [
      "who was kept at a reading went out after it, and is no witness of what ended first",
      seenOf(sent(1), sent(2), quiet(100), lost(1), told(2, 20), quiet(80)),
      sums(20, 20),
    ],
    [
      "an answer that says nothing of what it cost stays in doubt while the balance stands still",
      seenOf(sent(1), { t: "told", n: 1, rows: 20 }, quiet(100)),
      sums(0, 20),
    ],
    [
      "a stored reply is the charge of one that is under way still",
      seenOf(sent(1, "p"), sent(2, "p"), told(2, 20, true)),
      sums(20, 0),
    ],
    [
      "a stored reply without rows that nothing came before is as any other",
      seenOf(sent(1), { t: "told", n: 1, rows: 0, used: of(0), stored: true }),
      sums(0, 20),
    ],
    [
      "a stored reply is the charge of an error that was taken to be free",
      seenOf(sent(1, "p", true), refused(1), sent(2, "p", true), told(2, 20, true)),
      sums(20, 0),
    ],
    [
      "what the balance does not show yet is looked for beside what it shows",
      seenOf(
        sent(3),
        told(3, 20),
        sent(1, "p"),
        lost(1),
        sent(2, "p"),
        told(2, 20),
        quiet(80, true),
      ),
      sums(40, 0),
    ],
    [
      "an error that nothing was held for may have cost what a row is seen to cost later",
      seenOf({ ...sent(1), hold: of(0) } as Fact, refused(1), sent(2), told(2, 20)),
      sums(20, 20),
    ],
    [
      "so it is where the balance shows it",
      seenOf(
        sent(1, "p", true),
        refused(1),
        sent(2, "p", true),
        told(2, 20, true),
        quiet(80, true),
      ),
      sums(20, 0),
    ],
    [
      "an answer whose service declares what it costs leaves nothing open",
      seenOf(sent(1), { t: "told", n: 1, rows: 20, used: of(5), exact: true }),
      sums(5, 0),
    ],
    [
      "one error beside a charge that is told may have cost all that is left, as one alone",
      seenOf(sent(1), refused(1), sent(2), told(2, 20), quiet(50)),
      sums(20, 30),
    ],
    ["after a rest it does", seenOf(sent(1), lost(1), quiet(100, true)), sums(0, 0)],
    [
      "but not of a balance that was late before",
      seenOf(sent(1), told(1, 20), quiet(100), sent(2), lost(2), quiet(80, true)),
      sums(20, 20),
    ],
    [
      "an error is proven free by a rest",
      seenOf(sent(1), refused(1), quiet(100, true)),
      sums(0, 0),
    ],
    ["but not without", seenOf(sent(1), refused(1), quiet(100)), sums(0, 20)],
    [
      "a witness sent after it ended proves a loss free",
      seenOf(sent(1), lost(1), sent(2), told(2, 20), quiet(80)),
      sums(20, 0),
    ],
    [
      "one sent before does not",
      seenOf(sent(1), sent(2), lost(1), told(2, 20), quiet(80)),
      sums(20, 20),
    ],
    [
      "a fall beyond it leaves doubt, the rest is others'",
      seenOf(sent(1), lost(1), sent(2), told(2, 20), quiet(50)),
      sums(20, 20, 10),
    ],
    [
      "what came before the witness and is not explained stays for who was unsure",
      seenOf(sent(1), lost(1), quiet(80), sent(2), told(2, 20), quiet(60)),
      sums(20, 20),
    ],
    [
      "a stale reading closes nothing",
      seenOf(sent(1), lost(1), sent(2), told(2, 20), quiet(90)),
      sums(20, 20),
    ],
    [
      "nor does the next one, without a rest",
      seenOf(sent(1), lost(1), sent(2), told(2, 20), quiet(90), quiet(80)),
      sums(20, 20),
    ],
    [
      "after a rest the witness is seen",
      seenOf(sent(1), lost(1), sent(2), told(2, 20), quiet(90), quiet(80, true)),
      sums(20, 0),
    ],
    [
      "a balance that rose leaves all in doubt",
      seenOf(sent(1), lost(1), sent(2), told(2, 20), quiet(200), sent(3), told(3, 20), quiet(180)),
      sums(40, 20),
    ],
    [
      "and the readings after it prove as before",
      seenOf(sent(1), lost(1), quiet(200), sent(2), lost(2), sent(3), told(3, 20), quiet(180)),
      sums(20, 20),
    ],
    [
      "what others spent explains no later loss",
      seenOf(sent(1), told(1, 20), quiet(50), sent(2), lost(2), sent(3), told(3, 20), quiet(30)),
      sums(40, 0, 30),
    ],
    [
      "a charge that an earlier fall showed makes no later reading stale",
      seenOf(
        sent(1, "a"),
        lost(1),
        quiet(80),
        sent(2, "a"),
        told(2, 20, true),
        quiet(80),
        sent(3),
        lost(3),
        sent(4),
        told(4, 20),
        quiet(60),
      ),
      sums(40, 0),
    ],
    [
      "a stored reply tells what one lost attempt cost",
      seenOf(sent(1, "a"), lost(1), sent(2, "a"), told(2, 20, true)),
      sums(20, 0),
    ],
    [
      "of several it bounds each",
      seenOf(sent(1, "a"), lost(1), sent(2, "a"), lost(2), sent(3, "a"), told(3, 20, true)),
      sums(20, 20),
    ],
    [
      "it is of no fall that is smaller",
      seenOf(
        sent(1, "a", true),
        lost(1),
        sent(2),
        told(2, 20),
        quiet(75),
        sent(3, "a", true),
        lost(3),
        sent(4, "a", true),
        told(4, 0, true),
      ),
      sums(20, 20, 5),
    ],
    [
      "one that tells less than its rows is unsure up to them",
      seenOf(sent(1, "a"), lost(1), sent(2, "a"), told(2, 0, true)),
      sums(0, 20),
    ],
    [
      "a later stored reply ends the doubt of a closed epoch",
      seenOf(
        sent(1, "a"),
        lost(1),
        sent(2),
        told(2, 20),
        quiet(60),
        sent(3, "a"),
        told(3, 20, true),
      ),
      sums(40, 0),
    ],
    [
      "alone it cost the rest, however much",
      seenOf(sent(1), refused(1), quiet(70, true)),
      sums(0, 30),
    ],
    [
      "and who is under way after that counts as much",
      seenOf(sent(1), refused(1), quiet(70, true), sent(2)),
      sums(0, 60),
    ],
    [
      "a promised key stands for one lost reply and for itself",
      seenOf(sent(1, "a"), lost(1), sent(2, "a", true)),
      sums(0, 20),
    ],
    [
      "however often it is lost",
      seenOf(sent(1, "a", true), lost(1), sent(2, "a", true), lost(2), sent(3, "a", true), lost(3)),
      sums(0, 20),
    ],
    [
      "and the stored reply is the one charge",
      seenOf(
        sent(1, "a", true),
        lost(1),
        sent(2, "a", true),
        lost(2),
        sent(3, "a", true),
        told(3, 20, true),
      ),
      sums(20, 0),
    ],
    [
      "and so is one that does not say that it is stored",
      seenOf(sent(1, "a", true), lost(1), sent(2, "a", true), told(2, 20)),
      sums(20, 0),
    ],
    [
      "until a reading shows that both were charged",
      seenOf(sent(1, "a", true), lost(1), sent(2, "a", true), told(2, 20), quiet(60)),
      sums(20, 20),
    ],
    [
      "or ends the belief, where more is gone than one charge",
      seenOf(sent(1, "a", true), lost(1), sent(2, "a", true), lost(2), quiet(60)),
      sums(0, 40),
    ],
    [
      "where it may have fallen in two, it is counted where another charge would be missed",
      seenOf(
        sent(1, "a", true),
        sent(2, "b", true),
        lost(1),
        lost(2),
        quiet(70),
        quiet(70, true),
        sent(3, "b", true),
        told(3, 20, true),
        sent(4, "a", true),
        lost(4),
        quiet(55),
        quiet(55, true),
        sent(5, "a", true),
        { t: "told", n: 5, rows: 20, used: of(1), stored: true },
      ),
      sums(21, 14, 10),
    ],
    [
      "and nothing of an error before it, which may have cost more",
      seenOf(sent(1, "a"), refused(1), sent(2, "a"), lost(2), sent(3, "a"), {
        t: "told",
        n: 3,
        rows: 10,
        used: of(10),
        stored: true,
      }),
      sums(10, 20),
    ],
    [
      "what it leaves of a fall is for whoever was unsure beside it",
      seenOf(...beside, quiet(64, true), ...half),
      sums(30, 6),
    ],
    [
      "also of those whom a later reading closes",
      seenOf(...beside, ...half, quiet(64, true)),
      sums(30, 6),
    ],
    [
      "one that does not say what it cost may be either of two that a top-up closed",
      seenOf(
        sent(1, "a", true),
        lost(1),
        sent(2, "a", true),
        lost(2),
        quiet(500),
        sent(3, "a", true),
        { t: "told", n: 3, rows: 20, stored: true },
      ),
      sums(0, 20),
    ],
    [
      "who promises keys is believed that errors are free",
      seenOf(sent(1, "a", true), refused(1)),
      sums(0, 0),
    ],
    ["what never went out cost nothing", seenOf(sent(1), { t: "unsent", n: 1 }), sums(0, 0)],
    [
      "a success that says nothing cost its rows at the price it was sent at, at most",
      seenOf(sent(1), { t: "told", n: 1, rows: 5 }),
      sums(0, 5),
    ],
    [
      "and alone what left the balance, where that is more",
      seenOf(sent(1), { t: "told", n: 1, rows: 5 }, quiet(85)),
      sums(0, 15),
    ],
    [
      "a key that is not promised adds its own",
      seenOf(sent(1, "a"), lost(1), sent(2, "a")),
      sums(0, 40),
    ],
    [
      "who has no ending at a reading goes out after it",
      seenOf(sent(1), quiet(80)),
      sums(0, 20, 20),
    ],
    [
      "a process that begins finds it lost",
      seenOf(sent(1), { t: "quiet", balance: of(80), begins: true }),
      sums(0, 20),
    ],
    [
      "without a first reading nothing is proven",
      sumsOf(new Books([sent(1), refused(1), quiet(9, true)])),
      sums(0, 20),
    ],
    ["what is gone while nothing was asked for is others'", seenOf(quiet(40)), sums(0, 0, 60)],
  ])("%s", (_, seen, expected) => {
    expect(seen).toEqual(expected);
  });

  test.each([
    ["explains a loss", 20, 0],
    ["explains a part of it", 5, 15],
    ["is nothing", 0, 20],
  ])("what a sibling settled %s", (_, settled, doubt) => {
    const facts: Fact[] = [quiet(100), sent(1), lost(1), sent(2), told(2, 20)];

    const books = new Books([...facts, { t: "quiet", balance: of(60), beside: of(settled) }]);

    expect(sumsOf(books)).toEqual(sums(20, doubt));
  });

  test("what a sibling settled explains its part once, however often the balance is read", () => {
    const books = new Books([quiet(100), sent(1), lost(1), sent(2), told(2, 20)]);
    // Late: it does not show yet what was told.
    for (const balance of [95, 95]) books.note({ t: "quiet", balance: of(balance), beside: of(5) });
    books.note({ t: "quiet", balance: of(55), rested: true, beside: of(5) });
    expect(sumsOf(books)).toEqual(sums(20, 20));
  });

  test("what a sibling may have spent breaks no promise", () => {
    const facts: Fact[] = [
      quiet(100),
      sent(1, "page 1", true),
      { t: "quiet", balance: of(60), begins: true, own: of(20) },
      sent(2, "page 1", true),
      told(2, 20),
      { t: "quiet", balance: of(40), own: of(20) },
    ];
    expect(new Books(facts)).toMatchObject({ keepsKeys: true, others: 0n, atMost: of(20) });
    const alone = facts.map((fact) => ({ ...fact, own: undefined }) as Fact);
    expect(new Books(alone).keepsKeys).toBe(false);
  });

  test("a price of 0 is never learned, a dearer one is at once, and raises what is under way", () => {
    const books = new Books([quiet(100), sent(1), told(1, 0)]);
    expect(books.price).toBeUndefined();

    books.note(sent(2));
    books.note(sent(3));
    books.note(told(3, 60));
    expect(books.price).toBe(of(3));
    expect(books.holdOf({ page: "p", rows: 10, hold: of(10) })).toBe(of(30));
    expect(sumsOf(books)).toEqual(sums(60, 20 + 60));
  });

  test("room is what the cap leaves, and asking again under a promised key takes none", () => {
    const books = new Books([quiet(100), sent(1, "a"), lost(1)]);

    expect(books.room(of(50))).toBe(of(30));
    expect(books.riskOf(sent(2, "a", true))).toBe(of(0));
    expect(books.riskOf(sent(2, "a"))).toBe(of(20));
  });

  test("what was dear is so for a page that is asked for again, and for a short one until it came", () => {
    const books = new Books([quiet(100), sent(1), { t: "refused", n: 1, used: of(50) }]);
    expect(books.riskOf(sent(2, "a"))).toBe(of(50));

    books.note({ ...sent(2), rows: 2, hold: of(2) });
    expect(sumsOf(books)).toEqual(sums(50, 50));
    books.note({ t: "told", n: 2, rows: 2, used: of(2) });
    expect(sumsOf(books)).toEqual(sums(52, 0));

    books.note(sent(3, "a"));
    books.note(lost(3));
    books.note(sent(4));
    books.note(told(4, 80));
    expect(books.riskOf(sent(5, "a"))).toBe(of(80));
  });

  test("a doubt names the attempts that it stands in", () => {
    const books = new Books([quiet(100), sent(1), lost(1), sent(2), told(2, 20), quiet(60)]);
    const [doubted] = books.epochs.filter(({ doubt }) => doubt > 0n);

    expect(doubted?.attempts.map(({ sent: { page }, state }) => [page, state])).toEqual([
      ["page 1", "lost"],
      ["page 2", "told"],
    ]);
  });

  test("an answer to nothing is an error: its hold would be missing", () => {
    expect(() => new Books([lost(1)])).toThrow(RangeError);
  });
});

describe("what a run asks of its books", () => {
  const booksOf = (...facts: readonly Fact[]): Books => new Books([quiet(100), ...facts]);
  const silent = (n: number, rows = 20): Fact => ({ t: "told", n, rows });
  const guessed: Fact = { ...sent(1), isGuess: true } as Fact;
  const own = (balance: number, spent: number): Fact => ({
    t: "quiet",
    balance: of(balance),
    own: of(spent),
  });

  test.each([
    ["rows came, and no answer tells what they cost", booksOf(sent(1), silent(1)), 20],
    ["none came", booksOf(sent(1), silent(1, 0)), 0],
    ["they say so, but less than the price", booksOf(sent(1), told(1, 5)), 0],
    ["no answer came", booksOf(sent(1), lost(1)), 0],
    ["it is under way", booksOf(sent(1)), 0],
    [
      "a balance told the rest of it",
      booksOf(sent(1), silent(1), sent(2), told(2, 20), quiet(60)),
      20,
    ],
  ])("measured by the balance alone: %s", (_, books, expected) => {
    expect(books.measured).toBe(of(expected));
  });

  test.each([
    ["a lost reply", booksOf(sent(1), lost(1)), 20],
    ["an error", booksOf(sent(1), refused(1)), 20],
    ["an answer that tells less than its rows at the price", booksOf(sent(1), told(1, 5)), 15],
    ["but not what is under way", booksOf(sent(1)), 0],
    [
      "nor a page that is asked for again under a promised key",
      booksOf(sent(1, "a", true), lost(1)),
      0,
    ],
    ["nor rows that the balance measures", booksOf(sent(1), silent(1)), 0],
    [
      "nor what a witness showed to be free",
      booksOf(sent(1), lost(1), sent(2), told(2, 20), quiet(80)),
      0,
    ],
  ])("what a reading may still tell: %s", (_, books, expected) => {
    expect(books.unread).toBe(of(expected));
  });

  test.each([
    ["what is under way", booksOf(sent(1)), 20],
    ["a page that is asked for again", booksOf(sent(1, "a", true), lost(1)), 20],
    [
      "of it the last attempt alone",
      booksOf(sent(1, "a", true), lost(1), sent(2, "a", true), told(2, 20)),
      0,
    ],
    [
      "until somebody goes on",
      booksOf(sent(1, "a", true), lost(1), { t: "over" }, sent(2, "a", true)),
      20,
    ],
    ["none where the run is over", booksOf(sent(1, "a", true), lost(1), { t: "over" }), 0],
    ["nor under a key that nobody promises", booksOf(sent(1), lost(1)), 0],
  ])("what an answer is still to tell: %s", (_, books, expected) => {
    expect(books.underWay).toBe(of(expected));
  });

  test("a balance is read until something ends after it, and behind where it shows less than was told", () => {
    expect(new Books().isRead).toBe(false);
    expect(new Books().isBehind).toBe(false);
    const books = booksOf(sent(1));
    expect(books.isRead).toBe(true);

    books.note(told(1, 20));
    expect(books.isRead).toBe(false);
    books.note(quiet(90));
    expect(books.isRead).toBe(true);
    expect(books.isBehind).toBe(true);
    books.note(quiet(80, true));
    expect(books.isBehind).toBe(false);
  });

  test("what our other runs may have spent is blamed on nobody, now and later", () => {
    const nobody = booksOf(sent(1), lost(1), sent(2), lost(2), own(30, 25));
    expect(sumsOf(nobody).others).toBe(5);

    const later = booksOf(own(70, 10), sent(1), told(1, 20), own(30, 5));
    expect(sumsOf(later)).toEqual({ told: 20, doubt: 0, others: 20 + 15 });
    expect(later.epochs.map(({ others }) => Number(others) / 1_000_000)).toEqual([20, 15, 0]);

    // What they may have spent before a top-up explains nothing behind it.
    const part = [sent(1), lost(1), sent(3), sent(2), told(3, 20), lost(2), own(40, 10)];
    const risen = booksOf(...part, quiet(200), sent(4), told(4, 20), quiet(150));
    expect(sumsOf(risen).others).toBe(30);
  });

  test("what others took teaches no price of an answer without rows where nobody is unsure", () => {
    expect(booksOf(sent(1), told(1, 20), quiet(70)).floor).toBe(of(0));
  });

  test("whoever never went out was beside nobody: who was alone tells its price", () => {
    const unsent: Fact = { t: "unsent", n: 3 };
    expect(booksOf(sent(3), unsent, sent(1), told(1, 5), quiet(60)).price).toBe(of(2));
  });

  test("a stored reply is of the lost one whose doubt it fills to the credit", () => {
    const early = [sent(1, "p"), lost(1), sent(9), told(9, 20), quiet(60)];
    const again = [sent(2, "p"), lost(2), sent(3, "p"), told(3, 20, true)];
    const books = booksOf(...early, ...again, sent(4), told(4, 20), quiet(40));
    expect(sumsOf(books)).toEqual({ told: 60, doubt: 0, others: 0 });
  });

  test("what a stored reply leaves of a fall before a top-up is for nobody behind it", () => {
    const part = [sent(1, "p"), lost(1), sent(3), sent(2), told(3, 20), lost(2), quiet(60)];
    const half: Fact = { t: "told", n: 5, rows: 10, used: of(10), stored: true };
    const books = booksOf(...part, quiet(200), sent(5, "p"), half, sent(6), lost(6));
    expect(sumsOf(books)).toEqual({ told: 30, doubt: 20 + 20, others: 10 });
  });

  test.each([
    ["a guess that rows came for", booksOf(guessed, silent(1)), true],
    ["but not once the balance is read", booksOf(guessed, silent(1), quiet(80)), false],
    ["nor one that nothing came for", booksOf(guessed, lost(1)), false],
    ["a price that was told is no guess", booksOf(sent(1), silent(1)), false],
    ["an error that may have cost", booksOf(sent(1), refused(1)), true],
    ["but not one that is believed to be free", booksOf(sent(1, "a", true), refused(1)), false],
    [
      "nor one that a stored reply told",
      booksOf(sent(1, "a"), refused(1), sent(2, "a"), told(2, 20, true)),
      false,
    ],
    ["nor a loss: no reading alone tells", booksOf(sent(1), lost(1)), false],
    [
      "a promise that was used",
      booksOf(sent(1, "a", true), lost(1), sent(2, "a", true), told(2, 20)),
      true,
    ],
  ])("what the balance is to be asked about before anything else goes out: %s", (_, books, is) => {
    expect(books.isUnseen).toBe(is);
  });
});

describe("more rules, with pages of 20 rows at 1 credit", () => {
  const booksOf = (...facts: readonly Fact[]): Books => new Books([quiet(100), ...facts]);
  const sums = (told: number, doubt: number, others = 0) => ({ told, doubt, others });
  const says = (n: number, used: number): Fact => ({ t: "refused", n, used: of(used) });
  const own = (n: number, page = "a"): Sent => sent(n, page, true);
  /** A page that was lost and charged, and is asked for again under a key that nobody promises. */
  const chargedLoss: readonly Fact[] = [sent(1, "a"), lost(1), quiet(80, true), sent(2, "a")];
  const prompt: readonly Fact[] = [sent(8), told(8, 20), quiet(80)];
  const late: readonly Fact[] = [sent(8), told(8, 20), quiet(100)];

  test.each<[string, Books, ReturnType<typeof sums>]>([
    [
      "an error under a promised key tells nothing of a loss",
      booksOf(own(1), lost(1), own(2), refused(2)),
      sums(0, 20),
    ],
    [
      "what broke on its way is what comes under its key",
      booksOf(own(1), broken(1), own(2), told(2, 20)),
      sums(20, 0),
    ],
    [
      "and once its charge was seen that is told, and no other",
      booksOf(own(1), broken(1), quiet(80), own(2), told(2, 20), quiet(80)),
      sums(20, 0),
    ],
    [
      "what never went out under it leaves the loss as it was",
      booksOf(own(1), lost(1), own(2), { t: "unsent", n: 2 }),
      sums(0, 20),
    ],
    [
      "and the next under it stands for the loss",
      booksOf(own(1), lost(1), own(2), { t: "unsent", n: 2 }, own(3)),
      sums(0, 20),
    ],
    [
      "what never went out leaves another alone in its epoch",
      booksOf(sent(1), { t: "unsent", n: 1 }, sent(2), refused(2), quiet(70, true)),
      sums(0, 30),
    ],
    [
      "a charge that no reading shows is the loss, told, once after a rest",
      booksOf(...chargedLoss, told(2, 20), quiet(80, true)),
      sums(20, 0),
    ],
    ["without a rest nobody knows", booksOf(...chargedLoss, told(2, 20), quiet(80)), sums(20, 20)],
    [
      "one that a reading shows is another",
      booksOf(...chargedLoss, told(2, 20), quiet(60, true)),
      sums(20, 20),
    ],
    [
      "one that it shows in part is none of these",
      booksOf(...chargedLoss, told(2, 20), quiet(70, true)),
      sums(20, 20),
    ],
    [
      "of a prompt balance a reading is enough",
      booksOf(
        ...prompt,
        sent(1, "a"),
        lost(1),
        quiet(60, true),
        sent(2, "a"),
        told(2, 20),
        quiet(60),
      ),
      sums(40, 0),
    ],
    [
      "errors that cost more than their holds may each have",
      booksOf(sent(1), refused(1), sent(2), refused(2), quiet(20, true)),
      sums(0, 80),
    ],
    [
      "and the next may, too",
      booksOf(sent(1), refused(1), sent(2), refused(2), quiet(20, true), sent(3)),
      sums(0, 120),
    ],
    [
      "but not where one of them was lost",
      booksOf(sent(1), refused(1), sent(2), lost(2), quiet(20, true)),
      sums(0, 40, 40),
    ],
    [
      "what is alone and cost no more than its hold makes nothing dearer",
      booksOf(sent(1), lost(1), quiet(90, true), sent(2)),
      sums(0, 30),
    ],
    [
      "an error that cost something makes the next as dear",
      booksOf(sent(1), says(1, 25), quiet(75), sent(2)),
      sums(25, 25),
    ],
    [
      "a guess that less left the balance for is not proven by that",
      booksOf(
        { ...sent(1), isGuess: true } as Fact,
        { t: "told", n: 1, rows: 20 },
        quiet(95),
        sent(2),
      ),
      sums(0, 20 + 20),
    ],
    [
      "a stored reply after an error that told its cost is the same charge",
      booksOf(sent(1, "a"), says(1, 20), sent(2, "a"), told(2, 20, true)),
      sums(20, 0),
    ],
    [
      "a process that begins blames nobody for what left meanwhile",
      booksOf(sent(1), lost(1), { t: "quiet", balance: of(10), begins: true }),
      sums(0, 20),
    ],
    [
      "what was told of who stays unsure is blamed on nobody",
      booksOf(sent(1), told(1, 5), quiet(80)),
      sums(5, 15),
    ],
    [
      "nor does a later charge explain it",
      booksOf(sent(1), told(1, 5), sent(2), lost(2), quiet(50), sent(3), told(3, 20)),
      sums(25, 35, 10),
    ],
    [
      "a stored reply that nothing was lost before is what it tells",
      booksOf(sent(1), told(1, 20, true)),
      sums(20, 0),
    ],
    [
      "of several losses it is that whose fall it explains",
      booksOf(
        sent(1, "a"),
        lost(1),
        quiet(100, true),
        sent(2, "a"),
        lost(2),
        quiet(80, true),
        sent(3, "a"),
        told(3, 20, true),
      ),
      sums(20, 0),
    ],
    [
      "it bounds the others by what came for it",
      booksOf(sent(1, "a"), lost(1), sent(2, "a"), lost(2), sent(3, "a"), {
        t: "told",
        n: 3,
        rows: 10,
        used: of(10),
        stored: true,
      }),
      sums(10, 10),
    ],
    [
      "a second stored reply tells nothing new",
      booksOf(
        sent(1, "a"),
        lost(1),
        sent(2, "a"),
        told(2, 20, true),
        sent(3, "a"),
        told(3, 10, true),
      ),
      sums(20, 0),
    ],
    [
      "one after an error alone was the error's",
      booksOf(sent(1, "a"), refused(1), sent(2, "a"), told(2, 20, true)),
      sums(20, 0),
    ],
    [
      "also where that told less",
      booksOf(sent(1, "a"), says(1, 5), sent(2, "a"), told(2, 20, true)),
      sums(20, 0),
    ],
    [
      "a belief that ends raises nothing that was closed",
      booksOf(
        own(1),
        lost(1),
        own(2),
        told(2, 20),
        quiet(200),
        own(3, "b"),
        lost(3),
        own(4, "b"),
        told(4, 20),
        quiet(160),
      ),
      sums(40, 20),
    ],
    [
      "and what a late balance leaves open",
      booksOf(...late, own(1), lost(1), own(2), told(2, 20), quiet(40)),
      sums(40, 20),
    ],
    [
      "what was left of an earlier fall is nobody's once the balance rose",
      booksOf(sent(1), lost(1), sent(2), lost(2), quiet(50), quiet(200)),
      sums(0, 40),
    ],
    [
      "nor do our own explain a later fall by what they spent before that",
      booksOf({ t: "quiet", balance: of(200), own: of(30) }, quiet(150)),
      sums(0, 0, 50),
    ],
    [
      "an answer that tells 0 is taken for no stored one",
      booksOf(...chargedLoss, told(2, 0), quiet(80, true)),
      sums(0, 40),
    ],
    [
      "but what is gone beyond that is",
      booksOf(sent(1), told(1, 5), sent(2), lost(2), quiet(50)),
      sums(5, 35, 10),
    ],
    [
      "nor takes it for the run's",
      booksOf(sent(1), told(1, 5), { t: "quiet", balance: of(10), begins: true }),
      sums(5, 15),
    ],
  ])("%s", (_, books, expected) => {
    expect(sumsOf(books)).toEqual(expected);
  });

  test.each([
    ["a loss that no later charge is a witness of", booksOf(sent(1), lost(1)), true],
    ["but not one that has a witness", booksOf(sent(1), lost(1), sent(2), told(2, 20)), false],
    ["unless the balance was late", booksOf(...late, sent(1), lost(1), sent(2), told(2, 20)), true],
    ["what is under way can tell by itself", booksOf(sent(1)), false],
    ["an error that says what it cost is believed at once", booksOf(sent(1), says(1, 5)), false],
    ["one that does not is not", booksOf(sent(1), refused(1)), true],
    ["where the balance is prompt it is", booksOf(...prompt, sent(1), refused(1)), false],
    ["a lost page that was charged, and told again", booksOf(...chargedLoss, told(2, 20)), true],
    ["but not where it says that it is stored", booksOf(...chargedLoss, told(2, 20, true)), false],
    [
      "nor where none was lost",
      booksOf(sent(1, "a"), told(1, 20), quiet(80), sent(2, "a"), told(2, 20)),
      false,
    ],
    ["nothing in doubt", booksOf(...late), false],
    [
      "nor what a stored reply told meanwhile",
      booksOf(
        sent(1),
        lost(1),
        sent(2),
        told(2, 20),
        sent(3, "b"),
        lost(3),
        sent(4, "b"),
        told(4, 20, true),
      ),
      false,
    ],
  ])("only a reading after a rest tells: %s", (_, books, is) => {
    expect(books.wantsRest).toBe(is);
  });

  test("a balance is prompt once it showed a charge at once, and never late", () => {
    expect(booksOf().isPrompt).toBe(false);
    expect(booksOf(...prompt).isPrompt).toBe(true);
    expect(booksOf(sent(1), told(1, 20), quiet(80, true)).isPrompt).toBe(false);
    expect(booksOf(...prompt, sent(1), told(1, 20), quiet(80)).isPrompt).toBe(false);
    expect(booksOf(sent(1), told(1, 20), quiet(200)).isPrompt).toBe(false);
  });

  test("which attempts are under way, were lost, and stand in doubt", () => {
    const books = booksOf(
      sent(1, "a"),
      lost(1),
      sent(2, "a"),
      lost(2),
      sent(3, "b"),
      refused(3),
      sent(4),
    );

    expect([4, 3, 1, undefined].map((n) => books.isUnderWay(n))).toEqual([
      true,
      false,
      false,
      false,
    ]);
    expect(["a", "b", "page 4", "c"].map((page) => books.lossesOf(page))).toEqual([2, 0, 0, 0]);
    expect([1, 3, 9].map((n) => books.doubtOf(n))).toEqual([of(20), of(20), of(0)]);
    expect(booksOf(sent(1), told(1, 20), sent(2), told(2, 5)).doubtOf(2)).toBe(of(15));
  });

  test("a fall is of those that came first, and a stored reply of what was lost before what was refused", () => {
    const fall = booksOf(sent(1), lost(1), sent(2), lost(2), quiet(80, true));
    expect([1, 2].map((n) => fall.doubtOf(n))).toEqual([of(20), of(0)]);

    const stored = booksOf(
      sent(1, "a"),
      refused(1),
      sent(2, "a"),
      lost(2),
      sent(3, "a"),
      told(3, 20, true),
    );
    expect([1, 2].map((n) => stored.doubtOf(n))).toEqual([of(20), of(0)]);
  });

  test("who is under way at a reading goes out after it: its charge is missed in the next one", () => {
    const books = booksOf(sent(1), quiet(100), told(1, 20));
    books.note(quiet(100));
    expect(books.isBehind).toBe(true);
  });

  test("a process that begins asks again for what another had given up", () => {
    const over: readonly Fact[] = [own(1), lost(1), { t: "over" }];
    expect(booksOf(...over).underWay).toBe(of(0));
    expect(booksOf(...over).begun(of(100)).underWay).toBe(of(20));
  });

  test("what a reading would leave unexplained, with what its own answer tells", () => {
    expect(new Books().restOf(of(3))).toBe(of(0));
    const books = booksOf(sent(1), told(1, 20));

    expect(books.restOf(of(70))).toBe(of(10));
    expect(books.restOf(of(70), of(4))).toBe(of(6));
    expect(books.restOf(of(90))).toBe(of(0));
  });

  test("whoever goes on finds lost what was under way, and begins with the balance", () => {
    const before = booksOf(sent(1), told(1, 20), sent(2));
    const after = before.begun(of(60));

    expect(after.facts.slice(before.facts.length)).toEqual([
      { t: "lost", n: 2 },
      { t: "quiet", balance: of(60), begins: true },
    ]);
    expect(before.begun(undefined).facts.at(-1)).toEqual({ t: "lost", n: 2 });
    expect(before.isUnderWay(2)).toBe(true);
    // What others spent meanwhile makes the balance neither late nor the run's.
    expect(before.begun(of(10)).isBehind).toBe(false);
  });

  test("each amount is spent when it was: told, measured, in doubt, by others", () => {
    const at = (fact: Fact, time: number): Fact => ({ ...fact, at: time }) as Fact;
    const books = booksOf(
      at(sent(1), 10),
      at(told(1, 20), 11),
      at(sent(2), 20),
      at({ t: "told", n: 2, rows: 20 }, 21),
      at(sent(3), 30),
      at(lost(3), 31),
      at(sent(4), 40),
      at({ t: "told", n: 4, rows: 20, used: of(0) }, 41),
      at(sent(5), 50),
      at(says(5, 20), 51),
      at(sent(6), 55),
      at(quiet(0), 60),
    );
    const spent = books.spendings.map(({ kind, amount, rows, at: time }) => [
      kind,
      Number(amount) / 1e6,
      rows,
      time,
    ]);

    expect(spent).toEqual([
      ["settled", 20, 20, 11],
      ["settled", 0, 20, 21],
      ["settled", 0, 20, 41],
      ["settled", 20, 0, 51],
      ["settled", 20, 0, 21],
      ["uncertain", 20, 0, 31],
      ["uncertain", 20, 0, 41],
      ["pending", 20, 0, 55],
    ]);
    expect(booksOf(at(quiet(40), 70)).spendings).toEqual([
      { kind: "foreign", amount: of(60), rows: 0, at: 70 },
    ]);
  });

  test("what a run spent since another looked at the balance, and may have", () => {
    const at = (fact: Fact, time: number): Fact => ({ ...fact, at: time }) as Fact;
    const look = { at: 100, askedAt: 90 };
    const since = (...facts: readonly Fact[]) => {
      const { settled, most } = booksOf(...facts).spentSince(look);
      return [Number(settled) / 1e6, Number(most) / 1e6];
    };

    expect(since(quiet(100), at(sent(1), 50), at(told(1, 20), 89), quiet(80))).toEqual([0, 0]);
    // What its own reading did not show goes from the balance later: it blames nobody else.
    expect(since(quiet(100), at(sent(1), 50), at(told(1, 20), 89), quiet(100))).toEqual([0, 20]);
    expect(since(at(sent(1), 50), at(told(1, 20), 89))).toEqual([0, 20]);
    expect(since(at(sent(1), 50), at(told(1, 20), 90))).toEqual([0, 20]);
    // What ended in the moment of the question may not be in its answer.
    expect(since(at(sent(1), 50), at(told(1, 20), 90), quiet(80))).toEqual([0, 20]);
    expect(since(at(sent(1), 50), at(told(1, 20), 89), quiet(80))).toEqual([0, 0]);
    expect(since(at(sent(1), 100), at(told(1, 20), 101))).toEqual([20, 20]);
    expect(since(at(sent(1), 100), at(lost(1), 101))).toEqual([0, 20]);
    expect(since(at(sent(1), 50))).toEqual([0, 20]);
    expect(since(at(sent(1), 100), { t: "unsent", n: 1, at: 101 })).toEqual([0, 0]);
    const settled = booksOf(at(sent(1), 100), at(told(1, 20), 101));
    expect(settled.spentSince(look, 101).settled).toBe(of(20));
    expect(settled.spentSince(look, 100).settled).toBe(of(0));
  });

  test("what leaves the balance beside a told charge teaches no price where the hold explains it", () => {
    expect(booksOf(sent(1), told(1, 5), quiet(80)).price).toBe(credits(ONE_CREDIT / 4n));
    expect(booksOf(sent(1), told(1, 5), quiet(60)).price).toBe(of(2));
  });

  test("what a stored reply proved of a promise stays proven, whatever breaks it later", () => {
    const both = [own(1), lost(1), quiet(500), own(2), lost(2), quiet(900)];
    const again = [own(4, "b"), lost(4), own(5, "b"), told(5, 20)];
    const books = booksOf(...both, own(3), told(3, 20, true), ...again, quiet(860));

    expect(books.keepsKeys).toBe(false);
    expect(books.epochs.slice(0, 2)).toMatchObject([
      { told: of(20), doubt: of(0) },
      { told: of(0), doubt: of(0) },
    ]);
    expect(sumsOf(books)).toEqual({ told: 40, doubt: 20, others: 0 });
  });

  test("keys are believed to be known until more is gone than one charge of each", () => {
    const once = booksOf(own(1), lost(1), own(2), told(2, 20), quiet(80));
    expect(once.keepsKeys).toBe(true);

    const twice = booksOf(own(1), lost(1), own(2), told(2, 20), quiet(60));
    expect(twice.keepsKeys).toBe(false);
    expect(twice.riskOf(own(3, "b"))).toBe(of(20));
    expect(booksOf(own(1), told(1, 20), quiet(50)).keepsKeys).toBe(true);
  });

  test("a limit under a promised key is believed to be free once, and the second is held against the balance", () => {
    const one = [own(1), refused(1), own(2), told(2, 20)];
    const two = [...one, own(3, "b"), refused(3), own(4, "b")];
    const trusts = (...facts: readonly Fact[]): readonly boolean[] => {
      const { isTrusting, isUnseen, keepsKeys } = booksOf(quiet(100), ...facts);
      return [isTrusting, isUnseen, keepsKeys];
    };

    expect(trusts(...one)).toEqual([false, false, true]);
    expect(trusts(...two)).toEqual([true, true, true]);
    expect(trusts(...two, quiet(80))).toEqual([false, false, true]);
    expect(trusts(...two, quiet(70))).toEqual([false, false, false]);
    expect(sumsOf(booksOf(quiet(100), ...one, quiet(75)))).toEqual({
      told: 20,
      doubt: 0,
      others: 5,
    });
    // One is under way: what it may cost stands beside what the two took.
    expect(sumsOf(booksOf(quiet(100), ...two, quiet(70)))).toEqual({
      told: 20,
      doubt: 30,
      others: 0,
    });
  });
});

/** What does not hold of the bounds and the cap; undefined where all does. */
function wrongOf({ books, facts, truth, cap, beyond }: Moment): string | undefined {
  const { told: spent, atMost } = books;
  const words = (what: string): string => `${what} of a truth of ${truth}, after ${facts.length}`;
  if (spent > truth) return words(`${spent} told`);
  if (truth > atMost + beyond.untold) return words(`at most ${atMost}`);
  if (truth > cap + beyond.ever) return words(`a cap of ${cap}`);
  return undefined;
}

/** In how many of these stories a bound or the cap does not hold. */
function wrongAmong(drawn: fc.Arbitrary<Habits>, count: number, believe?: Belief): number {
  const services = fc.sample(drawn, { numRuns: count, seed: 20_261_128 });
  return services.filter((service) => {
    let isWrong = false;
    tell(
      service,
      (moment) => {
        isWrong ||= wrongOf(moment) !== undefined;
      },
      believe,
    );
    return isWrong;
  }).length;
}

describe("against a hidden truth", () => {
  test("spent is never more than the truth, at most never less, and the cap holds, after every fact", () => {
    const holds = fc.property(habits, (service) => {
      tell(service, (moment) => {
        const wrong = wrongOf(moment);
        if (wrong !== undefined) throw new Error(wrong);
      });
    });

    fc.assert(holds, stories);
  });

  test("where no call costs more than its hold, no bound is passed by anything", () => {
    const contained = habits.map((service) => {
      const { freeCosts, keys } = service;
      const isErrorFree = keys === "promised" || freeCosts > 1;
      return { ...service, freeCosts: isErrorFree ? 0 : freeCosts, dearer: 1, isPriceTold: true };
    });

    const holds = fc.property(contained, (service) => {
      tell(service, (moment) => {
        if (moment.beyond.ever > 0n) throw new Error("a call cost more than its hold");
        if (moment.truth > moment.books.atMost) throw new Error("more than at most");
        if (moment.truth > moment.cap) throw new Error("more than the cap");
      });
    });

    fc.assert(holds, stories);
  });

  test("the doubt of closed epochs only shrinks, and only a stored reply moves what it may have cost", () => {
    const holds = fc.property(fc.oneof(habits, lateHabits), (service) => {
      const sumOf = (epochs: readonly Epoch[]) => ({
        many: epochs.length,
        doubt: epochs.reduce((sum, { doubt }) => sum + doubt, 0n),
        told: epochs.reduce((sum, { told }) => sum + told, 0n),
      });
      let before = sumOf([]);
      tell(service, ({ books, facts }) => {
        const last = facts.at(-1);
        const isStored = (last?.t === "told" && last.stored === true) || last?.t === "quiet";
        const closed = books.epochs.slice(0, -1);
        // Together: what a stored reply takes from one of them another may explain.
        const now = sumOf(closed.slice(0, before.many));
        if (now.many < before.many || now.doubt > before.doubt) throw new Error("a doubt grew");
        if (!isStored && now.told + now.doubt > before.told + before.doubt)
          throw new Error("closed epochs grew");
        before = sumOf(closed);
      });
    });

    fc.assert(holds, stories);
  });

  test("the same from any prefix on, wherever the process was killed", () => {
    const holds = fc.property(
      habits,
      fc.double({ min: 0, max: 1, noNaN: true }),
      (service, part) => {
        const seen: ReturnType<typeof sumsOf>[] = [];
        const { facts } = tell(service, ({ books }) => seen.push(sumsOf(books)));
        const length = Math.floor(part * facts.length);

        const again = new Books(facts.slice(0, length));
        if (length > 0) expect(sumsOf(again)).toEqual(seen[length - 1]);
        for (const fact of facts.slice(length)) again.note(fact);
        expect(sumsOf(again)).toEqual(seen.at(-1));
      },
    );

    fc.assert(holds, stories);
  });

  long("in which order the answers of calls under way came is no matter", () => {
    const holds = fc.property(fc.oneof(habits, lateHabits), (service) => {
      const { facts, books } = tell(service, () => undefined);

      expect(sumsOf(new Books(answersReversed(facts)))).toEqual(sumsOf(books));
    });

    fc.assert(holds, stories);
  });
});

/** Answers that no request and no reading stands between, the other way round. */
function answersReversed(facts: readonly Fact[]): Fact[] {
  const turned: Fact[] = [];
  let answers: Fact[] = [];
  for (const fact of facts) {
    if (fact.t === "sent" || fact.t === "quiet") {
      turned.push(...answers.reverse(), fact);
      answers = [];
    } else answers.push(fact);
  }
  return [...turned, ...answers.reverse()];
}

describe("what a run asks next", () => {
  const seenBy = (...facts: readonly Fact[]) => new Books([quiet(100), ...facts]);

  test("a rest is wanted where somebody may have ended before the only witness went out", () => {
    const books = seenBy(sent(1), sent(2), quiet(100), lost(1), told(2, 20));
    expect(books.wantsRest).toBe(true);
  });

  test("of a charge that was taken for a stored one no rest is wanted any more", () => {
    const books = seenBy(
      sent(9),
      told(9, 20),
      quiet(80),
      sent(1, "p"),
      lost(1),
      sent(2, "p"),
      told(2, 20),
      quiet(80),
    );
    expect(books.wantsRest).toBe(false);
  });

  test("an error is to be held against the balance until one was seen to be free", () => {
    const one = [sent(1), told(1, 20), quiet(80), sent(2), refused(2)];
    expect(seenBy(...one).isUnseen).toBe(true);
    expect(seenBy(...one, quiet(80, true), sent(3), refused(3)).isUnseen).toBe(false);
  });

  test("errors teach what one costs where more is gone than was held for them", () => {
    const learned = (...facts: readonly Fact[]): number =>
      Number(seenBy(...facts).floor) / 1_000_000;
    const errors = [sent(1), refused(1), sent(2), refused(2)];

    expect(learned(...errors, quiet(60))).toBe(0);
    expect(learned(...errors, quiet(50))).toBe(25);
    expect(learned(...errors, sent(3), told(3, 20), quiet(30))).toBe(25);
  });

  test("more gone than anything explains says nothing of a promise that nobody relied on", () => {
    expect(seenBy(sent(1, "p", true), told(1, 20), quiet(50)).keepsKeys).toBe(true);
  });
});

describe("where a bound cannot hold, and models that hold less", () => {
  /** Whatever no fall shows is free at once, as if every answer were an error and every reading after a rest. */
  const withoutWitness: Belief = (fact) => {
    if (fact.t === "lost") return { t: "refused", n: fact.n };
    return fact.t === "quiet" ? { ...fact, rested: true } : fact;
  };

  long(
    "a late balance passes a bound now and then; without the witness more than twice as often",
    () => {
      const count = 1_500;
      const rate = wrongAmong(lateHabits, count) / count;
      const control = wrongAmong(lateHabits, count, withoutWitness) / count;

      expect(rate).toBeLessThan(0.03);
      expect(control).toBeGreaterThan(1.3 * rate);
    },
  );

  test("a balance that is late by less than a rest passes none where the buyer rests first", () => {
    const patient = lateHabits.map((one) => ({ ...one, lateBy: "time" as const, isPatient: true }));

    expect(wrongAmong(patient, 1_000)).toBe(0);
  });

  test("siblings of another account that explain a loss are found out", () => {
    const mistaken = habits.map((one) => ({ ...one, siblings: "mistaken" as const }));

    expect(wrongAmong(mistaken, 500)).toBeGreaterThan(0);
  });
});
