import { requireRead } from "../../engine/library/take-in.ts";
import { costOf, costWithin } from "../../engine/planning/cost.ts";
import { partsOf } from "../../engine/planning/descent.ts";
import { findNew } from "../../engine/planning/new-people.ts";
import { identitiesThere, tellApart } from "../../engine/planning/presence.ts";
import {
  type Cost,
  ownedAddress,
  requireSound,
  UnsoundCountsError,
} from "../../engine/planning/question.ts";
import type { FreeCounts } from "../../engine/purchase/free-counts.ts";
import type { ExportDeps } from "../../engine/purchase/order.ts";
import type { NewParts, OwnedShare, Ownership } from "../../engine/purchase/ownership.ts";
import { evenly } from "../../engine/purchase/paging.ts";
import type { RunReader } from "../../engine/runs/reader.ts";
import type { CheckedFilters } from "../../shared/contract/filters.ts";
import { addressForms, canonicalAddress } from "../../shared/contract/naming/address.ts";
import { counted, grouped } from "../../shared/contract/text.ts";
import type { Filters } from "../../shared/contract/vocabulary.ts";
import { CliError, clauses, option, type Sentence, say, usageError } from "../../shared/errors.ts";
import { checkedFilters } from "../../shared/filters.ts";
import { CALLS_PER_CREDIT } from "./bounds.ts";
import {
  countingTime,
  freeCounts,
  type Looking,
  lookInto,
  type Sight,
  soundly,
  spoken,
} from "./look.ts";
import type { Elsewhere, OwnedPeople } from "./owned-people.ts";

export interface LookBounds {
  readonly maxCalls: number;
  /** Who is owned may be bought again: nobody is looked for. */
  readonly again: boolean;
}

/** Free counts that may tell how many of a segment are owned, where it is bought as it is. */
const QUOTE_CALLS = 10;
/**
 * Free counts that may find its new people then without
 * being asked to, where no known rate limit makes them wait.
 */
const DIVIDE_CALLS = 100;

/**
 * The share of calls that may go into owned people whose
 * records do not match: some moved into the segment.
 */
const LOOK_SHARE = 0.1;

export interface Whole {
  readonly filters: Filters;
  /** Ids of whom it is, in place of filters. */
  readonly named?: readonly string[] | undefined;
  /** Whether no single count tells it: of several segments, or of companies by their domains. */
  readonly isSet?: boolean;
  /** Where it is of several companies, counted one by one. */
  readonly staff?: { readonly most: number | null } | undefined;
  /**
   * Owned people whose records say that they are in it; undefined where only new ones are bought.
   */
  readonly records?: number | undefined;
  /** Whether whoever is owned from another service counts as owned, and who that is. */
  readonly anywhere?: true;
  readonly elsewhere?: readonly Elsewhere[];
}

const EVERYBODY = { exact: {}, prefix: {}, range: {} };

/** What the library and free counts say of a segment (docs/how-to/new-only.md). */
export class OwnedSegment implements Ownership {
  readonly #segment: CheckedFilters;
  readonly #whole: Whole;
  readonly #bounds: LookBounds;
  readonly #deps: ExportDeps;
  readonly #people: OwnedPeople;
  #how: { readonly byFilters?: boolean } = {};

  constructor(whole: Whole, bounds: LookBounds, people: OwnedPeople, deps: ExportDeps) {
    this.#segment = checkedFilters(whole.filters);
    this.#whole = whole;
    this.#bounds = bounds;
    this.#deps = deps;
    this.#people = people;
  }

  get #perCredit(): number {
    return this.#bounds.again ? 0 : CALLS_PER_CREDIT;
  }

  async look(
    total: number,
    narrowed: boolean,
    { parts, counts: each }: Partial<NewParts> = {},
  ): Promise<OwnedShare | undefined> {
    const { unread } = this.#people;
    if (narrowed) requireRead(unread);
    for (const { run, why } of unread)
      this.#deps.onWarning(`warning: run ${run} is not counted: ${why}`);
    if (this.#whole.staff !== undefined)
      return this.#lookAtEach(parts ?? [], each ?? [], this.#whole.staff.most);

    const counts = freeCounts(this.#deps, this.#people.account, this.#bounds.maxCalls);
    if (!narrowed) return this.#glance(total, counts);

    return sound(async () => {
      const isAnybodys = this.#people.library !== undefined || this.#elsewhere.length > 0;
      const sight = await this.#sight(counts, isAnybodys && total > 0);
      this.#warn(sight);

      // What was counted so far, and once more in the end.
      const calls = counts.calls + sight.calls;
      const estimate =
        sight.others === 0
          ? { callsPerCredit: 0, calls: sight.calls, rows: 0, parts: 0 }
          : await costWithin(sight, this.#perCredit, this.#bounds.maxCalls - calls);
      if (estimate === undefined) throw await this.#tooManyCalls(sight, calls);

      return {
        ...this.#shareOf(sight, estimate, counts),
        divide: (maxRows) => sound(() => this.#divide(sight, estimate, maxRows, counts)),
      };
    });
  }

  /** Of each company, and title, its new people alone: nobody who is owned is bought with them. */
  async #lookAtEach(
    parts: readonly Filters[],
    counts: readonly number[],
    most: number | null,
  ): Promise<OwnedShare> {
    const fresh: {
      readonly filters: Filters;
      readonly count: number;
      readonly share: OwnedShare | undefined;
    }[] = [];

    let [made, calls] = [0, 0];
    for (const [index, filters] of parts.entries()) {
      const maxCalls = this.#bounds.maxCalls - made - calls;
      const part = new OwnedSegment(
        { filters },
        { ...this.#bounds, maxCalls },
        this.#people,
        this.#deps,
      );
      // Bought beside each other, as filters of one run.
      part.#how = { byFilters: true };

      const total = counts[index] ?? 0;
      const share = part.#matching().length === 0 ? undefined : await part.look(total, true);
      made += share?.calls ?? 0;
      calls += share?.estimate?.calls ?? 0;
      fresh.push({ filters, count: total - (share?.owned ?? 0), share });
    }

    const rest = fresh.map(({ count }) => count);
    const companies = parts.map(({ company_network_url: company }) => company);
    const rows = rowsOf(evenly(rest, companies, { rows: Number.MAX_SAFE_INTEGER, most }));
    const total = rowsOf(counts);
    const owned = total - rowsOf(rest);

    return {
      total,
      owned,
      exact: true,
      calls: made,
      durationMs: countingTime(calls, this.#people.account, this.#deps),
      estimate: { callsPerCredit: this.#perCredit, calls, rows, parts: 1 },

      divide: async () => {
        const parts: NewParts[] = [];
        for (const { filters, count, share } of fresh) {
          parts.push((await share?.divide?.(count)) ?? { parts: [filters], counts: [count] });
        }
        return {
          parts: parts.flatMap((each) => each.parts),
          counts: parts.flatMap((each) => each.counts),
          unreached: parts.flatMap(({ unreached = [] }) => unreached),
        };
      },
    };
  }

  async #tooManyCalls(sight: Sight, beside: number): Promise<CliError> {
    const { total, others } = sight;
    const [least, usual] = [
      (await costOf(sight, 1)).calls + beside,
      await costOf(sight, CALLS_PER_CREDIT),
    ];
    const time = spoken({ ms: countingTime(least, this.#people.account, this.#deps) });

    return usageError(
      `${grouped(others)} of ${counted(total, "person", "people")} ` +
        `${others === 1 ? "is" : "are"} new, and finding them takes about ` +
        `${counted(least, "free call")}${time}, more than the ` +
        `${grouped(this.#bounds.maxCalls)} allowed; nothing was spent`,
      clauses(
        say`${option("max_calls", beside + Math.ceil(usual.calls * 1.5))} allows them`,
        say`without ${option("new_only")} all ${grouped(total)} are bought`,
      ),
      "too_many_counts",
    );
  }

  /**
   * What a quote says by the way: counted where that
   * takes a few calls, otherwise as the records have it.
   */
  async #glance(total: number, counts: FreeCounts): Promise<OwnedShare | undefined> {
    const { isSet = false, records = 0 } = this.#whole;
    const { idRows } = this.#deps.seller.client.dialect;
    const asked =
      idRows === undefined ? callsToLook(records, counts) : Math.max(1, Math.ceil(total / idRows));
    const calls = isSet ? 0 : asked;
    const believed = {
      total,
      owned: Math.min(total, records),
      calls,
      durationMs: 0,
    };

    if (calls === 0 || calls > QUOTE_CALLS) return { ...believed, exact: false };

    try {
      const sight = await this.#lookInto(this.#matching(), { counts });
      const estimate = await costWithin(sight, this.#perCredit, this.#bounds.maxCalls);
      const share = this.#shareOf(sight, estimate, counts);
      // Ids, or records that say what the service says today.
      const isSure = idRows !== undefined || sight.members.every(({ isKnown }) => isKnown);
      if (estimate === undefined || share.durationMs || !isSure) return share;
      if (!isDividedUnasked(sight, estimate)) return share;
      if (sight.sketch === undefined) await requireSound(this.#segment.filters, counts);

      const divide = (maxRows: number) => {
        this.#warn(sight);
        return sound(() => this.#divide(sight, estimate, maxRows, counts));
      };

      return { ...share, divide };
    } catch (error) {
      // Counts that contradict each other tell nothing of who is owned: the records still do.
      if (!(error instanceof UnsoundCountsError || error instanceof CliError)) throw error;
      return { ...believed, calls: 0, exact: false };
    }
  }

  #shareOf(
    { total, present: owned }: Sight,
    estimate: Cost | undefined,
    { calls }: FreeCounts,
  ): OwnedShare {
    const durationMs = countingTime(estimate?.calls ?? 0, this.#people.account, this.#deps);
    return { total, owned, exact: true, calls, estimate, durationMs };
  }

  async #divide(
    sight: Sight,
    estimate: Cost,
    maxRows: number,
    counts: FreeCounts,
  ): Promise<NewParts> {
    const { total, others, segment, sketch } = sight;
    if (others === 0 || maxRows === 0) return { parts: [], counts: [], beyond: others };
    if (segment.network_url !== undefined && sketch === undefined)
      return this.#listedParts(sight, counts);

    // Where less than all of it may be bought, the first rows could be those that are owned.
    const callsPerCredit =
      maxRows >= total ? estimate.callsPerCredit : estimate.callsPerCredit || this.#perCredit;
    const isLong = callsPerCredit > 0 && sketch === undefined;
    const { onNotice } = this.#deps;
    const people = counted(others, "new person", "new people");
    if (isLong) onNotice(`looking for ${people}: about ${counted(estimate.calls, "free count")}`);

    const { owned } = isLong
      ? await tellApart(sight, counts)
      : { owned: sketch === undefined ? sight.members : [] };
    const allowed = {
      callsPerCredit,
      maxCalls: this.#bounds.maxCalls - callsToLook(owned.length + others, counts),
      maxWaste: Math.max(0, Math.min(maxRows, estimate.rows) - others),
      maxRows,
      maxRenamed: 0,
    };
    const { leaves, unreached, overlap, beyond } = await findNew(sight, owned, allowed, counts);
    const found = leaves.reduce((sum, { fresh }) => sum + fresh, 0);

    if (isLong)
      onNotice(
        `${counted(found, "new person", "new people")} in ` +
          `${counted(leaves.length, "part")}, found by ${counted(counts.calls, "free count")}`,
      );

    return { ...partsOf(leaves), unreached, ...(overlap === 0 ? {} : { overlap }), beyond };
  }

  async #listedParts({ total, members }: Sight, counts: FreeCounts): Promise<NewParts> {
    const { filters } = this.#segment;
    const owned = new Set(
      members.flatMap(({ address: own }) => (own === undefined ? [] : addressForms(own))),
    );
    const rest = [filters.network_url ?? []]
      .flat()
      .map(String)
      .filter((address) => !owned.has(canonicalAddress(address) ?? ""));
    if (rest.length === 0) return { parts: [], counts: [] };

    const count = await counts.countAt(filters, rest.map(ownedAddress));
    if (count > total)
      throw new UnsoundCountsError(`${count} of ${total} people are at some of the addresses`);

    return { parts: [{ ...filters, network_url: rest }], counts: [count] };
  }

  before: Ownership["before"] = (run, page) => this.#people.rowsBefore(run, page, this.#elsewhere);

  get #elsewhere(): readonly Elsewhere[] {
    return this.#whole.elsewhere ?? [];
  }

  async certify({ plan: { target } }: RunReader): Promise<Sentence | undefined> {
    // So many of each are wanted, not all.
    if (this.#whole.staff !== undefined) return undefined;
    const { others, total, rows } = await this.#again(async (sight) => {
      const { maxCalls } = this.#bounds;
      const cost =
        sight.others > 0 ? await costWithin(sight, this.#perCredit, maxCalls) : undefined;
      return { ...sight, rows: cost?.rows ?? sight.total };
    });
    if (others === 0) return undefined;

    const isBeside = target.kind === "search" && target.owned === "with";
    const how = option(isBeside ? "with_owned" : "new_only");
    const who = `${counted(others, "person", "people")} of the ${grouped(total)}`;
    return say`${who} who are in the segment now ${others === 1 ? "is" : "are"} not owned: the
      dataset moved meanwhile, or counts do not tell them from people you own; the same command with
      ${how} ${option("again")} buys them, in at most ${counted(rows, "row")}`;
  }

  /** Looks once more, now that everything is bought. */
  async #again<T>(rest: (sight: Sight, counts: FreeCounts) => Promise<T>): Promise<T> {
    await this.#people.open();
    const counts = freeCounts(this.#deps, this.#people.account, this.#bounds.maxCalls);
    return sound(async () => rest(await this.#sight(counts), counts));
  }

  async *beside({ id }: RunReader, most: number): ReturnType<Ownership["beside"]> {
    yield* this.#people.pagesBeside(id, await this.#again(identitiesThere), most);
  }

  /**
   * Of whose records match, and where that takes few calls
   * of all others: some may have moved into the segment.
   */
  #sight(counts: FreeCounts, isTried = false): Promise<Sight> {
    const matching = this.#matching();
    const beside = () => {
      const all = this.#people.count();
      // Of a segment that names addresses nobody else is in it.
      if (this.#segment.filters.network_url !== undefined) return [];
      if (all <= matching.length || callsToLook(all, counts) > this.#bounds.maxCalls * LOOK_SHARE)
        return [];
      const matches = new Set(matching);
      return this.#people
        .identities({ matching: EVERYBODY })
        .filter((identity) => !matches.has(identity));
    };

    return this.#lookInto(matching, { counts, beside, isTried, isMeasured: isTried, ...this.#how });
  }

  #lookInto(people: readonly string[], how: Omit<Looking, "account" | "library">): Promise<Sight> {
    const { account, library } = this.#people;
    const named = this.#whole.named && new Set(this.#whole.named);
    const elsewhere = this.#elsewhere.flatMap((each) => each.people);
    const looking = { account, library, named, elsewhere, ...how };

    return lookInto(this.#segment, people, looking).catch((error: unknown) => {
      const { vendor } = this.#deps.seller.client.dialect;
      const isUnasked = error instanceof CliError && error.code === "no_such_filter";
      if (vendor === undefined || elsewhere.length === 0 || !isUnasked) throw error;
      throw usageError(
        `${vendor} finds nobody by a profile address, and only that tells who is owned elsewhere`,
        say`${option("new_only")} leaves out whom you own from it`,
        error.code,
      );
    });
  }

  #matching() {
    return this.#people.identities({ matching: this.#segment.canonical });
  }

  #warn({ unknown, forgotten, others }: Sight): void {
    const { onWarning } = this.#deps;
    const { people, leftOut } = forgotten;
    if (leftOut) {
      const whom = counted(people, "person", "people");
      onWarning(
        `${whom} of the segment, whom you forgot, ${people === 1 ? "is" : "are"} not bought`,
      );
    } else if (people > 0) {
      const some = `up to ${grouped(people)} of the ${grouped(others)} new`;
      onWarning(`${some} are people whom you forgot: paid for, and in no file`);
    }

    if (unknown.length === 0) return;

    const whom = counted(unknown.length, "person whom you own has", "people whom you own have");
    onWarning(
      `warning: ${whom} neither address nor name, so nothing tells ` +
        "them from new ones: they may be paid for again",
    );
  }
}

/** Few calls: then nobody who is owned is paid for again. */
const isDividedUnasked = (sight: Sight, { rows, calls, callsPerCredit }: Cost) =>
  sight.present > 0 &&
  sight.unknown.length === 0 &&
  calls <= DIVIDE_CALLS &&
  (rows === 0 || callsPerCredit > 0);

const rowsOf = (counts: readonly number[]): number => counts.reduce((sum, count) => sum + count, 0);

const callsToLook = (people: number, { listSize }: FreeCounts): number =>
  1 + Math.ceil(people / listSize);

const sound = <T>(work: () => Promise<T>): Promise<T> =>
  soundly(
    "nothing was bought by them",
    say`without ${option("new_only")} the segment is bought as it is; run it again where the dataset
      moved`,
    work,
  );
