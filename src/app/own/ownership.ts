import type { AccountView } from "../../engine/client/types.ts";
import { type Library, libraryPath } from "../../engine/library/library.ts";
import type { OwnedPerson } from "../../engine/library/members.ts";
import { recordPages } from "../../engine/library/pages.ts";
import { openLibrary, type Shelf } from "../../engine/library/take-in.ts";
import { identityOf } from "../../engine/output/distinct.ts";
import { type Cost, costOf, costWithin, countingMs, type Look } from "../../engine/planning/cost.ts";
import { descend } from "../../engine/planning/descent.ts";
import { leaveOut, lookFor, namesHold, type Presence, tellApart } from "../../engine/planning/presence.ts";
import { ownedAddress, requireSound, type SegmentMember, UnsoundCountsError } from "../../engine/planning/question.ts";
import { unsoundRun } from "../../engine/purchase/failures.ts";
import { FreeCounts } from "../../engine/purchase/free-counts.ts";
import type { ExportDeps } from "../../engine/purchase/order.ts";
import type { Known, NewParts, OpenOwnership, Ownership } from "../../engine/purchase/ownership.ts";
import type { Target } from "../../engine/runs/plan.ts";
import type { Run } from "../../engine/runs/run.ts";
import { RunStore } from "../../engine/runs/run-store.ts";
import type { Filters } from "../../shared/contract/filters.ts";
import { canonicalAddress, slugOf } from "../../shared/contract/normalise.ts";
import { counted, grouped } from "../../shared/contract/text.ts";
import { CliError, usageError } from "../../shared/errors.ts";
import type { Page } from "../../shared/rows/page.ts";
import { type Forgotten, forgottenIn } from "../keep/forgotten.ts";
import { checkedFilters } from "../segments/segment-set.ts";

export interface Bounds {
  /** Free calls in all. */
  readonly maxCalls: number;
  readonly callsPerCredit: number;
}

/** Free calls that a quote makes of itself. */
const QUOTE_CALLS = 10;
/** The share of calls that may go into owned people whose records do not match: some moved into the segment. */
const LOOK_SHARE = 0.1;

const EVERYBODY = { exact: {}, prefix: {}, range: {} };

/** What the library and free counts say of a segment (docs/new-only.md). */
class OwnedSegment implements Ownership {
  readonly #segment: Filters;
  readonly #narrowed: "without" | "with" | undefined;
  readonly #bounds: Bounds;
  readonly #deps: ExportDeps;
  readonly #account: AccountView;
  readonly #shelf: Shelf;
  #library: Library | undefined;
  #counts: FreeCounts;
  #presence: Presence | undefined;
  #estimate: Cost | undefined;
  /** Identities of those who are owned and in the segment, as the last look told. */
  #there: readonly string[] | undefined;
  /** People who are forgotten, where nobody else is new. */
  #forgotten = 0;

  constructor(target: Target & { readonly kind: "search" }, bounds: Bounds, account: AccountView, deps: ExportDeps) {
    const mode = account.keyMode ?? "live";
    const { serviceId } = deps.seller;
    this.#segment = target.filters;
    this.#narrowed = target.owned;
    this.#bounds = bounds;
    this.#deps = deps;
    this.#account = account;
    this.#shelf = { path: libraryPath(deps.stateDir, serviceId, mode), serviceId, mode };
    this.#counts = this.#freshCounts(bounds.maxCalls);
  }

  #freshCounts(maxCalls: number): FreeCounts {
    const { now, sleep, interrupted: signal, seller } = this.#deps;
    return new FreeCounts({ client: seller.client, maxCalls, now, sleep, signal, perMinute: this.#account.perMinute });
  }

  /** Opens the library anew, with what was bought meanwhile. */
  async open(): Promise<void> {
    this.close();
    const { stateDir, disk, onWarning } = this.#deps;
    const opened = await openLibrary(this.#shelf, new RunStore(stateDir, disk));
    const unread = this.#narrowed === undefined ? [] : (opened?.taken.unread ?? []);
    for (const { run, why } of unread) onWarning(`warning: run ${run} is not counted: ${why}`);
    this.#library = opened?.library;
  }

  close(): void {
    this.#library?.close();
    this.#library = undefined;
  }

  async look(total: number): Promise<Known | undefined> {
    const { maxCalls } = this.#bounds;
    if (this.#narrowed === undefined) return this.#glance(total);
    return this.#sound(async () => {
      if (this.#library !== undefined && total > 0) await requireSound(this.#segment, this.#counts);
      const people = this.#people();
      const presence = this.#withoutForgotten(await this.#presenceOf(people));
      const { present, unknown } = presence;
      if (unknown.length > 0) this.#deps.onWarning(untoldText(unknown.length));
      const calls = this.#counts.calls;
      const left = maxCalls - calls - this.#callsToLook(people.length);
      const look = { ...presence, members: people, listSize: this.#counts.listSize };
      const estimate = await costWithin(look, this.#bounds.callsPerCredit, left);
      if (estimate === undefined) throw await tooManyCalls(look, this.#bounds);
      this.#estimate = estimate;
      return { total: presence.total, owned: present, exact: true, calls, ...this.#timed(estimate) };
    });
  }

  /** What a quote says by the way: counted where that takes a few calls, otherwise as the records have it. */
  async #glance(total: number): Promise<Known | undefined> {
    const people = this.#matching();
    const calls = this.#callsToLook(people.length);
    const believed = { total, owned: Math.min(total, people.length), calls, estimate: undefined, durationMs: 0 };
    if (people.length === 0) return { ...believed, exact: this.#library === undefined, calls: 0 };
    if (calls > QUOTE_CALLS) return { ...believed, exact: false };
    try {
      const presence = await this.#presenceOf(people);
      const { others, present } = presence;
      const look = { ...presence, members: people, listSize: this.#counts.listSize };
      const estimate = await costWithin(look, this.#bounds.callsPerCredit, this.#bounds.maxCalls);
      return {
        total: present + others,
        owned: present,
        exact: true,
        calls: this.#counts.calls,
        ...this.#timed(estimate),
      };
    } catch (error) {
      // The quote is right without it.
      if (error instanceof UnsoundCountsError || error instanceof CliError) return undefined;
      throw error;
    }
  }

  #timed(estimate: Cost | undefined): Pick<Known, "estimate" | "durationMs"> {
    const perMinute = this.#account.perMinute ?? this.#deps.seller.pacer.perMinute();
    return { estimate, durationMs: countingMs(estimate?.calls ?? 0, perMinute) };
  }

  async divide(maxRows: number): Promise<NewParts> {
    const presence = this.#presence;
    const estimate = this.#estimate;
    const { maxCalls } = this.#bounds;
    if (presence === undefined || estimate === undefined) throw new TypeError("divided before it was looked at");
    const { total, others, segment } = presence;
    if (others === 0) return { parts: [], counts: [] };
    return this.#sound(async () => {
      const listed = await this.#listedParts(total);
      if (listed !== undefined) return listed;
      const { rows } = estimate;
      // Where less than all of it may be bought, the first rows could be those that are owned.
      if (estimate.callsPerCredit === 0 && maxRows >= total) return { parts: [segment], counts: [total] };
      const callsPerCredit = estimate.callsPerCredit || this.#bounds.callsPerCredit;
      const maxWaste = maxRows >= rows ? rows - others : 0;
      const { onNotice } = this.#deps;
      onNotice(
        `looking for ${counted(others, "new person", "new people")}: about ${counted(estimate.calls, "free count")}`,
      );
      const { kept } = await tellApart(presence, this.#counts);
      const named = await namesHold(segment, kept, this.#counts);
      // Who has no address was found by the name.
      const owned = kept.map((person) => ({
        ...person,
        named: person.known || person.address === undefined || named.has(person),
      }));
      const spare = this.#callsToLook(kept.length + others);
      const { leaves, unreached, overlap, beyond } = await descend(
        { segment, total, owned, callsPerCredit, maxCalls: maxCalls - spare, maxWaste, maxRows },
        this.#counts,
      );
      onNotice(
        `${counted(others, "new person", "new people")} in ${counted(leaves.length, "part")}, found by ${counted(this.#counts.calls, "free count")}`,
      );
      return {
        parts: leaves.map(({ filters }) => filters),
        counts: leaves.map(({ count }) => count),
        unreached,
        ...(overlap === 0 ? {} : { overlap }),
        beyond,
      };
    });
  }

  async #listedParts(total: number): Promise<NewParts | undefined> {
    const { network_url: listed } = this.#segment;
    if (listed === undefined) return undefined;
    const owned = new Set<string>();
    for (const { address } of this.#matching()) if (address !== undefined) owned.add(address).add(slugOf(address));
    const rest = [listed]
      .flat()
      .map(String)
      .filter((address) => !owned.has(canonicalAddress(address) ?? ""));
    if (rest.length === 0) return { parts: [], counts: [] };
    const count = await this.#counts.listed(this.#segment, rest.map(ownedAddress));
    if (count > total)
      throw new UnsoundCountsError(
        `the counts do not add up: ${count} of ${total} people are at some of the addresses`,
      );
    return { parts: [{ ...this.#segment, network_url: rest }], counts: [count] };
  }

  before(run: Run, page: Page): ReadonlySet<number> {
    const identities = Array.from({ length: page.length }, (_, row) => identityOf(page, row, "person"));
    const named = identities.filter((identity) => identity !== undefined);
    const owned = this.#library?.boughtBefore(named, run.id, Date.parse(run.plan.created_at)) ?? new Set<string>();
    return new Set(identities.flatMap((identity, row) => (identity !== undefined && owned.has(identity) ? [row] : [])));
  }

  async certify(): Promise<string | undefined> {
    await this.open();
    const { others, total } = await this.#again();
    // Whoever was forgotten between two sessions of the run is still in the segment, and was bought by it.
    if (others === 0 || this.#forgottenOf(others).leftOut) return undefined;
    return `${counted(others, "person", "people")} of the ${grouped(total)} who are in the segment now ${others === 1 ? "is" : "are"} not owned: the dataset moved meanwhile; the same command with --again buys them, and nobody twice`;
  }

  async #again(): Promise<Presence> {
    this.#counts = this.#freshCounts(this.#bounds.maxCalls);
    return this.#sound(async () => this.#presenceOf(this.#people()));
  }

  async *beside(run: Run): AsyncIterable<Page> {
    if (this.#narrowed !== "with") return;
    this.#there ??= await this.#ownedBefore(run);
    const library = this.#library;
    if (library === undefined) return;
    yield* recordPages(library.recordsBy(this.#there));
  }

  async #ownedBefore(run: Run): Promise<string[]> {
    await this.open();
    const presence = await this.#again();
    const { kept } = await this.#sound(() => tellApart(presence, this.#counts));
    const bought = new Set(this.#library?.membersBy({ run: run.id }).map(({ identity }) => identity));
    return kept.map(({ identity }) => identity).filter((identity) => !bought.has(identity));
  }

  /** Whose records match, and where that takes few calls all others: some may have moved into the segment. */
  #people(): SegmentMember[] {
    const matching = this.#matching();
    const all = this.#library?.count(EVERYBODY) ?? 0;
    // Of a segment that names addresses nobody else is in it.
    if (this.#segment.network_url !== undefined) return matching;
    if (all <= matching.length || this.#callsToLook(all) > this.#bounds.maxCalls * LOOK_SHARE) return matching;
    const known = new Set(matching.map(({ identity }) => identity));
    const others = this.#library?.members(EVERYBODY).filter(({ identity }) => !known.has(identity)) ?? [];
    return [...matching, ...others.map((person) => memberOf(person, this.#version))];
  }

  #matching(): SegmentMember[] {
    const { canonical } = checkedFilters(this.#segment);
    return this.#library?.members(canonical).map((person) => memberOf(person, this.#version)) ?? [];
  }

  get #version(): string | undefined {
    return this.#counts.datasetVersion ?? this.#account.datasetVersion;
  }

  #callsToLook(people: number): number {
    return 1 + Math.ceil(people / this.#counts.listSize);
  }

  async #presenceOf(people: readonly SegmentMember[]): Promise<Presence> {
    const seen = await lookFor(this.#segment, people, this.#counts);
    this.#presence = this.#forgotten === 0 ? seen : leaveOut(seen, this.#forgotten);
    return this.#presence;
  }

  /** Forgotten people are not bought where they are known to be all of the new ones. */
  #withoutForgotten(seen: Presence): Presence {
    const { leftOut, people } = this.#forgottenOf(seen.others);
    if (people === 0) return seen;
    const { onWarning } = this.#deps;
    if (!leftOut) {
      onWarning(
        `up to ${grouped(people)} of the ${grouped(seen.others)} new are people whom you forgot: paid for, and in no file`,
      );
      return seen;
    }
    onWarning(
      `${counted(people, "person", "people")} of the segment, whom you forgot, ${people === 1 ? "is" : "are"} not bought`,
    );
    this.#forgotten = people;
    this.#presence = leaveOut(seen, people);
    return this.#presence;
  }

  #forgottenOf(others: number): Forgotten {
    const { canonical } = checkedFilters(this.#segment);
    return forgottenIn(canonical, others, this.#version, this.#library);
  }

  async #sound<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof UnsoundCountsError)) throw error;
      throw unsoundRun(
        error,
        "nothing was bought by them",
        "without --new-only the segment is bought as it is; run it again where the dataset moved",
      );
    }
  }
}

/** @param now the dataset's version now: what was bought of it holds */
export function memberOf(
  { identity, address, name, values, version }: OwnedPerson,
  now: string | undefined,
): SegmentMember {
  const known = version !== null && version === now;
  const listed = address === undefined ? undefined : ownedAddress(address);
  return { identity, address: listed, name, values, named: known, known };
}

const untoldText = (people: number): string =>
  `warning: ${counted(people, "person whom you own has", "people whom you own have")} neither address nor name, so nothing tells them from new ones: they may be paid for again`;

async function tooManyCalls(look: Look, { maxCalls, callsPerCredit }: Bounds): Promise<CliError> {
  const { total, others } = look;
  const least = await costOf(look, Math.min(callsPerCredit, 1));
  const asked = await costOf(look, callsPerCredit);
  return usageError(
    `${grouped(others)} of ${grouped(total)} people are new, and finding them takes about ${grouped(least.calls)} free calls, more than the ${grouped(maxCalls)} allowed; nothing was spent`,
    `--max-calls ${Math.ceil(asked.calls * 1.5)} allows them; without --new-only all ${grouped(total)} are bought`,
    "too_many_counts",
  );
}

/** @returns undefined for what is no single segment */
export function ownershipOf(
  target: Target,
  bounds: Bounds,
  deps: ExportDeps,
): { readonly open: OpenOwnership; readonly close: () => void } {
  let opened: Promise<OwnedSegment> | undefined;
  return {
    open: async (account) => {
      if (target.kind !== "search" || target.union !== undefined || target.except !== undefined) return undefined;
      opened ??= (async () => {
        const segment = new OwnedSegment(target, bounds, account, deps);
        await segment.open();
        return segment;
      })();
      // A quote is right without it; buying only the new ones is not.
      return target.owned === undefined ? opened.catch(() => undefined) : opened;
    },
    close: () => void opened?.then((segment) => segment.close()).catch(() => undefined),
  };
}
