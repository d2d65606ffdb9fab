import type { Library } from "../../../engine/library/library.ts";
import { identitiesIn, textsOf } from "../../../engine/library/members.ts";
import type { Descent, Leaf } from "../../../engine/planning/descent.ts";
import { findNew } from "../../../engine/planning/new-people.ts";
import { identitiesThere, isWholeSegment } from "../../../engine/planning/presence.ts";
import {
  addressesOf,
  type SegmentMember,
  UnsoundCountsError,
} from "../../../engine/planning/question.ts";
import { chunksOf } from "../../../engine/planning/removed.ts";
import { NEW_UNREACHED } from "../../../engine/purchase/failures.ts";
import type { FreeCounts } from "../../../engine/purchase/free-counts.ts";
import { incomplete } from "../../../engine/purchase/page-failures.ts";
import { type BoughtParts, verifyFields } from "../../../engine/purchase/refresh.ts";
import { unreachedGroups } from "../../../engine/runs/plan.ts";
import {
  type Credits,
  credits,
  creditsToNumber,
  priceOf,
  ZERO,
} from "../../../shared/contract/money.ts";
import { counted, grouped } from "../../../shared/contract/text.ts";
import type { Filters } from "../../../shared/contract/vocabulary.ts";
import { type CliError, failed, option, say } from "../../../shared/errors.ts";
import { CALLS_PER_CREDIT } from "../bounds.ts";
import { type Looking, lookInto, type Sight } from "../look.ts";
import { type Brought, type Followed, type Merged, merged } from "./list.ts";
import { capOf, profilePrice, type RefreshResult, type RefreshTerms, type Work } from "./work.ts";

export interface Begun extends Merged, Pick<Brought, "list" | "plan" | "counts"> {
  readonly sight: Sight;
  readonly finished: RefreshResult | undefined;
}

export type BuyLeaves = (
  leaves: readonly Leaf[],
  of: { readonly list: Followed; readonly datasetVersion: string | null; readonly most: Credits },
  work: Work,
) => Promise<RefreshResult>;

/** Of a list that is only a part of its segment they are all there is: counts tell, no sketch. */
export async function lookAtList(
  list: Followed,
  people: readonly string[],
  looking: Looking,
): Promise<Sight> {
  if (!list.isPart) return await lookInto(list, people, looking);
  const nobody = (): readonly string[] => [];
  const sight = await lookInto(list, people, { ...looking, beside: nobody, byFilters: true });
  const { present, total } = sight;
  const forgotten = { people: 0, leftOut: false };
  return { ...sight, total: present, others: 0, forgotten, segmentTotal: total };
}

/** Finds who is gone and who changed, buys who is new, and proves that nobody is missing. */
export async function bring(begun: Begun, work: Work, buyLeaves: BuyLeaves): Promise<Brought> {
  const { list, sight, plan, people, renamed, counts, finished } = begun;
  const { terms, verify } = work.order;
  // The library is opened anew after each purchase.
  const { latest } = work;

  const present = new Set(await identitiesThere(sight, counts));
  const isRead = sight.sketch === undefined || verify.length > 0;
  const members = isRead ? sight.members.filter(({ identity }) => present.has(identity)) : [];
  const verified = await verifyFields(
    list.filters,
    verify,
    members,
    textsIn(sight, latest.library),
    counts,
  );

  const { bought, results, buy } = buyingFor(begun, work, buyLeaves);
  const descent = await findNew(sight, members, allowedFor(begun, terms), counts);
  await buy(descent.leaves);
  requireAll(descent, work);

  if (terms.buyChanged === true) {
    const missing = members.filter(
      ({ identity }) => verified.changed.has(identity) && !bought.has(identity),
    );
    await buy(leavesAt(list.filters, missing, counts.listSize));
  }

  const now = merged([...present, ...bought], latest.library);
  // Where everybody was there at the first look, that is the proof.
  const isProved = results.length === 0 && isWholeSegment(sight);
  const proof = isProved
    ? { certificate: sight, now: now.people }
    : await proved(list, now.people, work, counts);

  const inList = new Set(people);
  const all = [
    ...(finished === undefined || finished.spent === ZERO ? [] : [finished]),
    ...results,
  ];

  return {
    list,
    plan,
    counts,
    ...verified,
    renamed: new Map([...renamed, ...now.renamed]),
    runs: all.map(({ run }) => run),
    spent: credits(spentBy(all)),
    rows: all.reduce((sum, { rows }) => sum + rows, 0),
    again: (finished?.again ?? 0) + [...bought].filter((identity) => inList.has(identity)).length,
    hidden: bought.size - latest.library.shown([...bought]).length,
    ...proof,
  };
}

/** What finding who is new may take: what is left of the calls must do for the proof, too. */
const allowedFor = ({ sight, plan, counts }: Begun, { again, maxCalls }: RefreshTerms) => ({
  callsPerCredit: again === true ? 0 : CALLS_PER_CREDIT,
  maxCalls: maxCalls - sight.calls - Math.ceil(sight.others / counts.listSize) - 3,
  maxRows: plan.rows,
  maxWaste: Math.max(0, plan.rows - sight.others),
  maxRenamed: MOST_RENAMED,
});

/** Buys leaves, and keeps whom they brought. */
function buyingFor({ list, plan, counts }: Begun, work: Work, buyLeaves: BuyLeaves) {
  const bought = new Set<string>();
  const results: RefreshResult[] = [];

  const buy = async (leaves: readonly Leaf[]): Promise<void> => {
    if (leaves.length === 0) return;

    // All leaves cost no more than was quoted; a last page larger
    // than what is left is staked on within the user's cap.
    const most = credits((capOf(work.order.terms) ?? plan.most) - spentBy(results));
    const datasetVersion = counts.datasetVersion ?? null;
    const result = await buyLeaves(leaves, { list, datasetVersion, most }, work);
    for (const identity of identitiesIn(work.latest.library.database, { run: result.run }))
      bought.add(identity);
    results.push(result);
  };

  return { bought, results, buy };
}

/** Up to this share has another name than was bought: they are bought again with the new ones. */
const MOST_RENAMED = 0.005;

/** What was found is bought by now. @throws CliError exit 5 where somebody new is in none of it */
function requireAll({ unreached, leaves }: Descent, { account }: Work): void {
  const people = unreached.reduce((sum, { count }) => sum + count, 0);
  if (people === 0) return;

  const rows = unreached.flatMap(({ within }) => within).reduce((sum, each) => sum + each.rows, 0);
  const newPeople = leaves.reduce((sum, { fresh }) => sum + fresh, 0);
  const cap = option("max_credits", creditsToNumber(priceOf(rows, profilePrice(account).price)));

  throw incomplete(
    NEW_UNREACHED,
    `${counted(newPeople, "new person was", "new people were")} bought, ` +
      `and ${grouped(people)} not, as more of those you own would be bought again than was ` +
      `agreed to: ${unreachedGroups(unreached)}; the list stays as it was`,
    {
      hint: say`the same command with ${cap} buys them with those you own beside them`,
    },
  );
}

const spentBy = (results: readonly RefreshResult[]): bigint =>
  results.reduce((sum, { spent }) => sum + spent, 0n);

/**
 * The segment's count is the sum of the counts of who is owned and there: who left meanwhile, or
 * was taken for a namesake until that one was bought, is known to be none of it.
 * @throws CliError exit 5 where somebody is of it who is not owned
 */
async function proved(
  list: Followed,
  people: readonly string[],
  { account, latest }: Work,
  counts: FreeCounts,
): Promise<{ readonly certificate: Sight; readonly now: readonly string[] }> {
  const notCertain = (why: string, cause?: unknown): CliError =>
    failed.incomplete(
      `not certain: ${why}; the dataset moved meanwhile, and the list stays as it was`,
      "run it again: what was bought is owned and not bought again",
      "not_certain",
      cause,
    );

  const looking = { counts, account, library: latest.library };
  const unsound = (error: unknown): never => {
    throw error instanceof UnsoundCountsError ? notCertain(error.message, error) : error;
  };
  const certificate = await lookAtList(list, people, looking).catch(unsound);
  const { total, present, others, unknown } = certificate;
  if (others === 0 && unknown.length === 0)
    return { certificate, now: await identitiesThere(certificate, counts).catch(unsound) };

  throw notCertain(
    `the segment has ${counted(total, "person", "people")}, and ${grouped(present)} of ` +
      `the ${grouped(people.length)} that are owned of it are there`,
  );
}

export const textsIn =
  (of: { readonly members: readonly SegmentMember[] }, library: Library): BoughtParts =>
  (field) =>
    textsOf(
      library.database,
      of.members.map(({ identity }) => identity),
      field,
    );

const leavesAt = (segment: Filters, people: readonly SegmentMember[], size: number): Leaf[] =>
  chunksOf(addressesOf(people), size).map((own) => ({
    filters: { ...segment, network_url: own },
    count: own.length,
    fresh: 0,
  }));
