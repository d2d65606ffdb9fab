// What the API and the console do alike, whoever asks: count for nothing, and sell.
import type { FacetQuestion, RecordPage } from "../../dataset/engine.ts";
import type { CanonicalFilters, Filters } from "../../shared/contract/vocabulary.ts";
import { facetsOf, onOneVersion, type ServedDataset } from "../admin/datasets.ts";
import type { Account, KeyMode, Spender, Store } from "../ledger/ledger.ts";
import { type ChargedReply, type Purchase, purchase } from "../money/billing.ts";
import { tellable } from "../people/unmatched.ts";
import { invalid, type Problem } from "../problem.ts";
import type { SmallCounts } from "./limits.ts";
import { MAGIC_SLOW_MS, type Magic, magicOf, magicOfFilters } from "./magic.ts";
import type { ServerTimeouts } from "./options.ts";
import { boughtPage, type PageRequest } from "./paging.ts";
import type { Turns } from "./turns.ts";

export interface ServiceParts {
  readonly store: Store;
  readonly dataset: (mode: KeyMode) => Promise<ServedDataset>;
  readonly turns: Turns;
  readonly sleep: (ms: number) => Promise<void>;
  readonly now: () => number;
  readonly timeouts: Pick<ServerTimeouts, "work" | "facet">;
  readonly smallCounts: SmallCounts;
  readonly admission: {
    readonly weigh: (call: Asker["call"], filters: CanonicalFilters) => void;
  };
}

/** Who asks: a call of the API, or the console for whoever is signed in. */
export interface Asker {
  readonly call: Purchase["call"] & {
    readonly account: Account;
    readonly key: Spender;
  };
  /** Whether nobody waits for the answer any more. */
  readonly isGone: () => boolean;
}

/** Does it in its turn among the calls that are never charged. */
export function inFreeTurn<Result>(
  { call, isGone }: Asker,
  { turns }: ServiceParts,
  work: () => Promise<Result>,
): Promise<Result> {
  return turns.run("free", call.key.id, work, isGone);
}

interface Segment {
  readonly filters: CanonicalFilters;
  /** The same as text. */
  readonly canonical: string;
}

/** Counts a segment, free; one that was counted already weighs nothing. @throws Problem */
export async function countPeople(
  asker: Asker,
  parts: ServiceParts,
  { canonical, filters }: Segment,
) {
  const { call } = asker;
  const { account, key } = call;
  const { counts } = await parts.dataset(key.mode);

  let counted = await counts.recall(canonical, account.id);
  if (counted === undefined) {
    parts.admission.weigh(call, filters);
    const work = () => counts.count(filters, canonical, account.id);
    counted = await inFreeTurn(asker, parts, work);
  }

  parts.smallCounts.tell(key, account.plan, { segment: canonical, count: counted.count });
  return counted;
}

/** Values of a counted segment that nobody has, as far as whoever asks may be told. */
export async function unmatchedOf(
  { call: { account, key } }: Asker,
  { dataset, smallCounts }: ServiceParts,
  counted: Awaited<ReturnType<typeof countPeople>> & Pick<Segment, "canonical">,
  sent: Filters,
) {
  const { counts } = await dataset(key.mode);
  const found = await counts.unmatched(counted, counted.canonical);
  return tellable(found, sent, {
    few: account.plan.smallCounts,
    tell: (disclosure) => smallCounts.tell(key, account.plan, disclosure),
  });
}

/** Counts a segment by the values of a field, free. @throws Problem */
export async function facetPeople(
  asker: Asker,
  parts: ServiceParts,
  question: Segment & { readonly question: FacetQuestion },
) {
  const { call } = asker;
  const { account, key } = call;
  const { engine } = await parts.dataset(key.mode);
  const limits = { ...parts.timeouts, now: parts.now };
  parts.admission.weigh(call, question.filters);

  const work = () =>
    onOneVersion(engine, async (version) => ({
      version,
      facet: await facetsOf(engine, question, limits),
    }));

  const answer = await inFreeTurn(asker, parts, work);
  parts.smallCounts.tellFacet(key, account.plan, question, answer.facet);
  return answer;
}

/** A page of a search, to be sold. */
export function searchOrder(
  { call }: Asker,
  { admission, smallCounts }: ServiceParts,
  { canonical, filters }: Segment,
  paging: PageRequest & { readonly chosen?: (page: RecordPage) => Promise<RecordPage> },
): Sellable {
  const { account, key } = call;

  return {
    costed: "person_search",
    rows: paging.perPage,
    identity: canonical,
    paging,
    magic: () => magicOfFilters(filters, true),

    async work({ engine }, version) {
      const page = await engine.people(filters, { offset: paging.offset, limit: paging.perPage });
      // Nothing is charged for it, and it says and costs as
      // much as a count does: also behind the last page.
      if (page.records.length === 0) {
        smallCounts.tell(key, account.plan, { segment: canonical, count: page.total });
        admission.weigh(call, filters);
      }
      const sold = (await paging.chosen?.(page)) ?? page;
      return boughtPage(sold, paging, { version, segment: canonical, target: "/v1/person/search" });
    },
  };
}

export interface Sellable extends Pick<Purchase, "costed" | "rows"> {
  /** What is asked for: the same Idempotency-Key with another one is refused. */
  readonly identity: string;
  readonly paging?: PageRequest;
  readonly magic: () => Magic | undefined;
  readonly miss?: Problem;
  readonly work: (served: ServedDataset, version: string) => Promise<ChargedReply>;
}

/**
 * The one way in which anything is sold: what `work` finds in one version
 * of the dataset, in its turn among the paid calls, under one Idempotency-Key.
 * @throws Problem; DeadlineError; OutcomeUnknownError; VanishedError
 */
export async function sale(
  { call, isGone }: Asker,
  { dataset, sleep, store, turns }: ServiceParts,
  { costed, magic: find, miss, paging, rows, work: look }: Sellable,
  terms: Pick<Purchase, "idempotency" | "part" | "keptUntil" | "onlyNew">,
) {
  const { account, key } = call;
  const served = await dataset(key.mode);
  const { engine, suppressed } = served;
  if (terms.idempotency === undefined) checkCursorVersion(paging, engine.info().version);

  const magic = magicOf(key, find, miss);

  const work = () =>
    onOneVersion(engine, (version) => {
      checkCursorVersion(paging, version);
      return look(served, version);
    });

  const sold = await purchase(store, {
    ...terms,
    costed,
    rows,
    suppressed,
    key,
    account,
    call,
    // Slow while its credits are held, so that a second call
    // with the same Idempotency-Key meets it in flight.
    work: async () => {
      if (magic === "slow") await sleep(MAGIC_SLOW_MS);
      return turns.run("paid", key.id, work, isGone);
    },
    vanished: isGone,
  });

  return { ...sold, magic };
}

// With an Idempotency-Key only after the stored reply: a
// lost one can still be fetched from an older dataset.
function checkCursorVersion(paging: PageRequest | undefined, version: string): void {
  const own = paging?.cursorVersion;
  if (own === undefined || own === version) return;
  throw invalid("cursor belongs to an earlier version of the dataset; begin again at page 1");
}
