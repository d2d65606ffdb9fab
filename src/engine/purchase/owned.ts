// Tested by test/cli/new-only.test.ts.

import { randomUUID } from "node:crypto";
import { flagsOf } from "../../shared/contract/command-line.ts";
import { creditsToNumber, priceOf, ZERO } from "../../shared/contract/money.ts";
import { grouped } from "../../shared/contract/text.ts";
import { command, type OwnCommand, option } from "../../shared/errors.ts";
import { Page } from "../../shared/rows/page.ts";
import type { Distinct } from "../output/distinct.ts";
import type { Output } from "../output/formats.ts";
import { BESIDE, type IntentRecord, newUnit, pendingUnits, settledUnits } from "../runs/journal.ts";
import { isNarrowed, type Plan, type Target, unlooked, unreachedGroups } from "../runs/plan.ts";
import type { Division } from "../runs/record.ts";
import type { Run } from "../runs/run.ts";
import type { ExportDeps, Trade } from "./order.ts";
import {
  mostRows,
  type Narrowed,
  newPeopleIn,
  type OwnedPage,
  type Ownership,
} from "./ownership.ts";
import { type Offer, paidAgain, type Quote } from "./quote.ts";

/** Who is owned, where the output depends on it or some may be paid for again. */
export const ownershipFor = async (
  { plan: { draw, target } }: Run,
  quote: Quote,
  { account, deps }: Trade,
): Promise<Ownership | undefined> =>
  isNarrowed(target) || draw !== undefined || paidAgain(quote) > 0
    ? await deps.ownership?.(account, target)
    : undefined;

export const isNewOnly = ({ share }: Quote): boolean => share?.divide !== undefined;

/** What stands before rows and credits that a purchase may have fewer, or more, of. */
export const leastOrMost = (quote: Quote, { kind }: Target): "" | "at least " | "at most " =>
  quote.lookUps ? "at least " : kind === "search" && !isNewOnly(quote) ? "" : "at most ";

const rowsOf = (counts: readonly number[] = []): number =>
  counts.reduce((sum, count) => sum + count, 0);

/**
 * The most rows that can be written: what is bought,
 * and where they are wanted those that are owned.
 */
export const rowsWritten = (target: Target, { rows, share }: Quote): number =>
  withOwned(target) ? Math.min(rows + (share?.owned ?? 0), target.within?.rows ?? Infinity) : rows;

export async function partsToBuy(target: Target, offer: Offer, quote: Quote, deps: ExportDeps) {
  const { counts, matches } = offer;
  // Companies, and a segment that is asked for as it is, are divided no further.
  const isWhole =
    target.kind !== "search" || (offer.parts ?? offer.digests ?? quote.depth) === undefined;
  if (isWhole && !isNarrowed(target))
    return counts === undefined ? { matches } : { matches, counts };

  const { divisionOf } = await import("./divided.ts");
  if (!isNarrowed(target))
    return { matches, ...(await divisionOf(target, offer, quote.depth, deps)) };
  if (quote.share?.divide === undefined) throw new TypeError("nobody knows who is owned");

  const { unreached = [], beyond = 0, ...division } = await quote.share.divide(quote.rows);
  const parts = await divisionOf(target, { ...offer, ...division }, quote.depth, deps);
  // Who is owned may be bought again with those beyond.
  const isOpen = beyond > 0 || "staff" in target;
  const result = { matches: isOpen ? mostRows(quote.share) : rowsOf(parts.counts), ...parts };
  const rest = [...unreached, ...(result.unreached ?? [])];
  return rest.length === 0 ? result : { ...result, unreached: rest };
}

/**
 * Looks for the new people whom a limit or cap left in no part, where more is allowed now.
 * @returns whether it did
 */
export async function widen(run: Run, quote: Quote, { account, deps }: Trade): Promise<boolean> {
  const { target, matches, parts = [], counts = [], digests, overlap = 0, ...plan } = run.plan;
  const { rows } = run.state;
  const spans = plan.spans ?? counts.map((to) => ({ from: 0, to }));
  const isOpen = quote.rows > rowsOf(spans.map(({ to }) => to));
  // Who is on a page without a reply may be in other parts, too.
  const isAway = digests === undefined && pendingUnits(run.state).length > 0;
  if (!isNarrowed(target) || "staff" in target || !isOpen || isAway) return false;

  const share = await (await deps.ownership?.(account, target))?.look(quote.rows, true);
  const wanted = { ...quote, rows: quote.rows - rows, share };
  const more: Division = await partsToBuy(target, { matches, datasetVersion: null }, wanted, deps);
  if ((digests === undefined) !== (more.digests === undefined)) return false;

  const came = (at: number): number =>
    rowsOf(
      settledUnits(run.state).flatMap(({ intent, settled }) =>
        intent.target === at ? settled.rows : [],
      ),
    );

  const cut = spans.map(({ from }, at) => ({ from, to: from + came(at) }));
  const { parts: others = [], counts: sizes = [], unreached = [] } = more;
  const double =
    overlap + (more.overlap ?? 0) + Math.max(0, wanted.rows - (newPeopleIn(share) ?? 0));
  const named = digests && [...new Set([...digests, ...(more.digests ?? [])])];
  const division: Division =
    named === undefined
      ? {
          parts: [...parts, ...others],
          counts: [...counts, ...sizes],
          spans: [...cut, ...sizes.map((to) => ({ from: 0, to }))],
          overlap: double || undefined,
        }
      : { parts, counts: [named.length], digests: named };

  // No more than was agreed to, though more may be new by now.
  const all = Math.min(matches ?? 0, rows + (more.matches ?? 0));
  await run.append({ t: "divided", ...division, matches: all, unreached, at: deps.now() });

  return true;
}

export function ownedOutput(inner: Output, run: Run, ownership: Ownership) {
  const rows = { bought: 0, again: 0 };

  /**
   * The rows of a page that are written: with the owned, what was bought again too, as it is newer.
   */
  const selection = (page: Page): { readonly page: Page; readonly again: number } => {
    const before = ownership.before(run, page);
    const { target } = run.plan;
    const isFresh = target.kind === "search" && target.owned === "without";
    if (before.size === 0 || !isFresh) return { page, again: before.size };
    const fresh = page.indexes.filter((row) => !before.has(row));
    return { page: page.select(fresh), again: before.size };
  };

  const output: Output = {
    get notices() {
      return inner.notices;
    },

    write(page) {
      const written = selection(page);
      rows.bought += page.length;
      rows.again += written.again;
      return inner.write(written.page);
    },

    prepare: (pages) =>
      inner.prepare(async function* () {
        for await (const page of pages()) yield selection(page).page;
      }),

    publish: () => inner.publish(),
    abort: () => inner.abort(),
  };

  return {
    rows,
    output,
    paidAgain: (): number =>
      isNarrowed(run.plan.target) ? rows.again : Math.max(0, rows.again - run.state.owned),

    /**
     * Puts those into the run who were owned before, where
     * they are wanted too, and writes them behind all others.
     */
    async writeOwned(distinct: Distinct, now: () => number): Promise<void> {
      const { target } = run.plan;
      if (!withOwned(target)) return;
      const { rows = Infinity } = target.within ?? {};
      const most = (run.state.session?.limit ?? rows) - distinct.distinct;
      await takeOver(run, ownership.beside(run, most), now);
      const units = settledUnits(run.state).filter(({ intent }) => intent.target === BESIDE);
      for (const unit of units) {
        await inner.write(distinct.take(Page.read(run.readReply(unit), "person")));
      }
    },
  };
}

export const withOwned = (target: Target): target is Target & { readonly kind: "search" } =>
  target.kind === "search" && target.owned === "with";

/** Asked after everything was bought and before anything is published. */
export async function narrowing(
  run: Run,
  quote: Quote,
  owned: ReturnType<typeof ownedOutput> | undefined,
  ownership: Ownership | undefined,
): Promise<Narrowed | null> {
  if (owned === undefined || ownership === undefined || !isNarrowed(run.plan.target)) return null;
  const { bought, again } = owned.rows;
  const all = quote.bound === "matches" && run.state.rows >= quote.rows;
  const unreached = all ? unreachedText(run.plan) : undefined;
  const shortfall = unreached ?? (all ? ((await ownership.certify(run)) ?? null) : null);
  const others = unreached === undefined ? [] : commandsFor(run.plan, quote);
  const isWhole = all && unlooked(run.plan.target) === 0;
  return { new: bought - again, whole: isWhole ? shortfall === null : null, shortfall, others };
}

function unreachedText({ unreached = [] }: Plan): string | undefined {
  const people = rowsOf(unreached.map(({ count }) => count));
  if (people === 0) return undefined;
  return (
    `${people === 1 ? "1 new person was" : `${grouped(people)} new people were`} ` +
    "not bought, as more of those you own would be bought again than " +
    `was agreed to: ${unreachedGroups(unreached)}`
  );
}

function commandsFor({ unreached = [] }: Plan, { parcel, unitPrice }: Quote): OwnCommand[] {
  return unreached
    .flatMap(({ within = [] }) => within)
    .map(({ filters, rows }, index) => {
      const cap = option("max_credits", creditsToNumber(priceOf(rows, unitPrice, parcel)));
      const file = index === 0 ? "others.csv" : `others-${index + 1}.csv`;
      const bounds = [option("new_only"), option("again"), cap];
      return command("search", {
        segment: flagsOf(filters),
        options: [...bounds, option("output", file)],
      });
    });
}

export async function takeOver(
  run: Run,
  pages: Iterable<OwnedPage> | AsyncIterable<OwnedPage>,
  now: () => number,
): Promise<void> {
  const place = ({ target, offset }: Pick<IntentRecord, "target" | "offset">): string =>
    `${target} ${offset}`;
  const units = [...run.state.units.values()].filter(
    ({ settled, voided }) => settled !== undefined || !voided,
  );
  const places = new Set(units.map(({ intent }) => place(intent)));

  for await (const page of pages) {
    if (places.has(place(page))) continue;
    const { body, offset, perPage, rows, run: owned, target, told } = page;
    const n = run.nextNumber();
    const at = now();
    const key = randomUUID();
    const intent = {
      t: "intent",
      n,
      target,
      offset,
      perPage,
      key,
      hold: ZERO,
      owned: true,
      at,
    } as const;

    // Both in one group: neither is on the disk without the other.
    const intending = run.intend(newUnit(intent));
    const { next, total, unread } = told ?? {};
    const facts = body === undefined ? { miss: true } : { next, total, unread };
    const settling = run.settle({ t: "settled", n, used: ZERO, owned, rows, ...facts, at }, body);
    await Promise.all([intending, settling]);
  }
}
