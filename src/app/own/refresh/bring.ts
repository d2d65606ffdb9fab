import { Library, libraryPath } from "../../../engine/library/library.ts";
import type { OwnedPerson } from "../../../engine/library/members.ts";
import { openLibrary, type Shelf } from "../../../engine/library/take-in.ts";
import { checkOutput } from "../../../engine/output/output.ts";
import { checkRows } from "../../../engine/output/publish.ts";
import { checkRoom, checkSink } from "../../../engine/output/sinks/sink.ts";
import type { Leaf } from "../../../engine/planning/descent.ts";
import { isWholeSegment, leaveOut, lookFor, type Presence, tellApart } from "../../../engine/planning/presence.ts";
import { type SegmentMember, UnsoundCountsError } from "../../../engine/planning/question.ts";
import { chunksOf } from "../../../engine/planning/removed.ts";
import { unsoundRun } from "../../../engine/purchase/failures.ts";
import { FreeCounts } from "../../../engine/purchase/free-counts.ts";
import { lockNewPeople, lockOutput } from "../../../engine/purchase/locks.ts";
import type { ExportDeps } from "../../../engine/purchase/order.ts";
import { type BoughtParts, leavesOf, verifyFields } from "../../../engine/purchase/refresh.ts";
import { Disk } from "../../../engine/runs/disk.ts";
import type { Lock } from "../../../engine/runs/lock.ts";
import type { Target } from "../../../engine/runs/plan.ts";
import { RunStore } from "../../../engine/runs/run-store.ts";
import type { Context } from "../../../shared/context.ts";
import { canonicalJson, type Filters } from "../../../shared/contract/filters.ts";
import {
  type Credits,
  credits,
  formatCredits,
  formatCreditsGrouped,
  parseCredits,
  priceOf,
  ZERO,
} from "../../../shared/contract/money.ts";
import { canonicalAddress } from "../../../shared/contract/normalise.ts";
import { counted, grouped } from "../../../shared/contract/text.ts";
import { CliError, usageError } from "../../../shared/errors.ts";
import { worldOf } from "../../buy/order.ts";
import { mapError } from "../../failures.ts";
import { forgottenIn } from "../../keep/forgotten.ts";
import type { Session } from "../../session.ts";
import { memberOf } from "../ownership.ts";
import { buyParts } from "./buy-parts.ts";
import { checkFiles } from "./files.ts";
import { afterwards, finishParts, withFinished } from "./finish.ts";
import { keep, type RefreshReceipt } from "./keep.ts";
import { type Followed, followed, listPath } from "./list.ts";
import { refreshPlanOf, requireBudgetFor } from "./plan.ts";
import type { Brought, RefreshEvents, RefreshOrder, RefreshPlan, RefreshResult, Work } from "./work.ts";

/**
 * Whatever happens, what was bought is owned from then on, and the same order pays for nobody twice. @throws CliError
 */
export async function refresh(
  order: RefreshOrder & { readonly output: string },
  session: Session,
  context: Context,
  events: RefreshEvents,
): Promise<RefreshReceipt> {
  const work = await workOf(order, session, context, events);
  const lock = await lockOutput(work.order.output ?? "", order.terms.wait === true, work.deps);
  let newPeople: Lock | undefined;
  try {
    // Lists of one schedule wait for each other: none is left out because another one is at work.
    newPeople = await lockNewPeople(true, work.deps);
    return await looked(work, order.output, async (begun, now) => {
      requireBudgetFor(begun.plan, now.order.terms);
      if (begun.plan.others > 0) await events.agree(begun.plan);
      events.progress?.(begun.counts.calls);
      const brought = await bring(begun, now);
      return await keep({ ...withFinished(brought, begun.finished), ...begun, library: begun.held.library }, now);
    });
  } finally {
    await newPeople?.release();
    await lock.release();
  }
}

/** What a refresh would do, found out by free calls. @throws CliError */
export async function planRefresh(
  order: RefreshOrder,
  session: Session,
  context: Context,
  events: RefreshEvents,
): Promise<RefreshPlan> {
  return await looked(await workOf(order, session, context, events), undefined, async ({ plan }) => plan);
}

async function workOf(given: RefreshOrder, session: Session, context: Context, events: RefreshEvents): Promise<Work> {
  // What could not be written is not bought.
  const output = given.output === undefined ? undefined : await checkOutput(given.output);
  await checkSink({ ...given.terms, ...given.view, output }, "person", new Disk());
  const deps = depsOf(session, context, events);
  const account = await session.client.account(context.interrupted);
  const mode = account.keyMode ?? "live";
  const path = libraryPath(deps.stateDir, session.serviceId, mode);
  const shelf: Shelf = { path, serviceId: session.serviceId, mode };
  const store = new RunStore(deps.stateDir, deps.disk);
  return { order: { ...given, output }, session, account, events, context, deps, store, shelf };
}

function depsOf(session: Session, context: Context, { start, warning }: RefreshEvents): ExportDeps {
  return {
    ...worldOf(session, context),
    stdout: context.stdout,
    consent: async () => undefined,
    mapError: (error) => mapError(error, session.site),
    onNotice: (text) => session.notice(text),
    onWarning: warning,
    onStart: start,
  };
}

/** @throws CliError exit 5 where a run cannot be read: its people would be bought again */
async function libraryOf({ shelf, store }: Work): Promise<Library> {
  const opened = await openLibrary(shelf, store);
  if (opened === undefined) return Library.open(shelf.path, await store.suppression());
  const [unread] = opened.taken.unread;
  if (unread === undefined) return opened.library;
  opened.library.close();
  throw new CliError({
    code: "unread_run",
    category: "incomplete",
    message: `run ${unread.run} cannot be read, and its people would be bought again: ${unread.why}; nothing was spent`,
    hint: `headcount runs export ${unread.run} --salvage -o rest.ndjson, headcount owned import rest.ndjson, and headcount runs remove ${unread.run} --force`,
  });
}

const targetOf = ({ filters, canonical }: Followed, list: string): Target => ({
  kind: "search",
  filters,
  canonical: canonicalJson(canonical),
  list,
});

/** Looks who of a list is there and who is new, and does the rest with that. @param writes the file, where one is written */
async function looked<T>(
  given: Work,
  writes: string | undefined,
  rest: (begun: Begun, work: Work) => Promise<T>,
): Promise<T> {
  const { order, context, events } = given;
  const { output } = order;
  let work = given;
  const held = { library: await libraryOf(work) };
  try {
    let list = await followed(order.word, output, { ...work, ...held, given: order.given }, context);
    refuseAddresses(list.filters);
    let finished: RefreshResult | undefined;
    // What a job quotes is refused as what it does.
    if (output !== undefined && (writes !== undefined || order.terms.job !== undefined)) {
      // A list of another segment is somebody's, too.
      const known = held.library.lists.at(output)?.canonical === canonicalJson(list.canonical);
      const own = known || (order.word !== undefined && output === (await listPath(order.word, context)));
      await checkFiles(output, own, known, order.terms.overwrite);
    }
    if (writes !== undefined && output !== undefined) {
      const options = { ...buyingOf(work, undefined), maxCredits: order.terms.maxCredits };
      finished = await finishParts(targetOf(list, output), options, work.account, work.deps, events.agreeToRest);
      if (finished !== undefined) {
        work = afterwards(work, finished);
        held.library.close();
        held.library = await libraryOf(work);
        list = await followed(order.word, output, { ...work, ...held, given: order.given }, context);
      }
    }
    const { terms } = work.order;
    const counts = new FreeCounts({
      client: work.session.client,
      maxCalls: terms.maxCalls,
      now: context.now,
      sleep: context.sleep,
      signal: context.interrupted,
      perMinute: work.account.perMinute,
      onCall: (calls) => events.progress?.(calls),
    });
    const { people, renamed } = candidates(list, held.library);
    const members = people.map((person) => memberOf(person, work.account.datasetVersion));
    const seen = await lookFor(list.filters, members, counts);
    const forgotten = forgottenIn(list.canonical, seen.others, counts.datasetVersion, held.library);
    const look = forgotten.leftOut ? leaveOut(seen, forgotten.people) : seen;
    refuseUnknown(look);
    await checkRows(look.total, output, terms, "; nothing was spent");
    await checkRoom(order.view, look.total);
    events.progress?.(undefined);
    const bought = textsIn(members, held.library);
    const plan = await refreshPlanOf({ look, members, bought, counts, forgotten, finished }, work);
    return await rest({ list, look, plan, people, renamed, counts, held, finished }, work);
  } catch (error) {
    if (!(error instanceof UnsoundCountsError)) throw error;
    throw unsoundRun(
      error,
      "the list stays as it was, and nothing was bought by these counts",
      "run it again later; where the counts stay like that, headcount search buys the segment anew",
    );
  } finally {
    events.progress?.(undefined);
    held.library.close();
  }
}

/** Another library after each purchase. */
interface Held {
  library: Library;
}

interface Begun extends Merged {
  readonly list: Followed;
  readonly look: Presence;
  readonly plan: RefreshPlan;
  readonly counts: FreeCounts;
  readonly held: Held;
  readonly finished: RefreshResult | undefined;
}

/** Finds who is gone and who changed, buys who is new, and proves that nobody is missing. */
async function bring({ list, look, plan, people, renamed, counts, held }: Begun, work: Work): Promise<Brought> {
  const { terms, verify } = work.order;
  const { kept } = await tellApart(look, counts);
  const there = new Set(kept.map(({ identity }) => identity));
  const verified = await verifyFields(list.filters, verify, kept, textsIn(kept, held.library), counts);
  // What is left of the calls must do for the proof.
  const proof = look.chunks.length + Math.ceil(look.others / counts.listSize) + 3 * look.groups.length + 3;
  const allowed = { ...terms, maxCalls: terms.maxCalls - proof, maxRows: plan.rows };
  const leaves = await leavesOf(look, kept, allowed, counts);
  const purchase: Purchase = { list, counts, plan, held, bought: new Map(), runs: [], spent: ZERO, rows: 0 };
  await buy(leaves, purchase, work);
  if (terms.buyChanged === true) {
    const missing = kept.filter(({ identity }) => verified.changed.has(identity) && !purchase.bought.has(identity));
    await buy(byAddress(list.filters, missing, counts.listSize), purchase, work);
  }
  const all = [...people.filter(({ identity }) => there.has(identity)), ...purchase.bought.values()];
  const now = merged([...new Map(all.map((person) => [person.identity, person])).values()]);
  // Where everybody was there at the first look, that is the proof.
  const isProved = purchase.runs.length === 0 && isWholeSegment(look);
  return {
    now: now.people,
    renamed: new Map([...renamed, ...now.renamed]),
    ...verified,
    runs: purchase.runs,
    spent: purchase.spent,
    rows: purchase.rows,
    hidden: hiddenOf([...purchase.bought.keys()], held.library),
    certificate: isProved ? look : await proved(list.filters, now.people, plan, work, counts),
  };
}

/** On the suppression list: paid for, and in nothing that is written. */
const hiddenOf = (identities: readonly string[], library: Library): number =>
  identities.length - library.shown(identities).length;

interface Purchase {
  readonly list: Followed;
  readonly counts: FreeCounts;
  readonly plan: RefreshPlan;
  readonly held: Held;
  readonly bought: Map<string, OwnedPerson>;
  readonly runs: string[];
  spent: Credits;
  rows: number;
}

async function buy(parts: readonly Leaf[], purchase: Purchase, work: Work): Promise<void> {
  if (parts.length === 0) return;
  const { list, counts, plan, held } = purchase;
  const most = credits(plan.most - purchase.spent);
  requireCap(parts, most, work);
  const wanted = {
    parts: parts.map(({ filters }) => filters),
    counts: parts.map(({ count }) => count),
    datasetVersion: counts.datasetVersion ?? null,
  };
  const receipt = await buyParts(targetOf(list, work.order.output ?? ""), wanted, buyingOf(work, most), work.deps);
  const after = await libraryOf(work);
  held.library.close();
  held.library = after;
  for (const person of after.membersBy({ run: receipt.run })) purchase.bought.set(person.identity, person);
  const amount = (value: number): bigint => parseCredits(value) ?? 0n;
  purchase.runs.push(receipt.run);
  purchase.spent = credits(purchase.spent + amount(receipt.credits) + amount(receipt.uncertain_credits));
  purchase.rows += receipt.received;
}

/** The segment's count is the sum of the counts of who is owned. @throws CliError exit 5 where it is not */
async function proved(
  segment: Filters,
  people: readonly OwnedPerson[],
  { forgotten, leftOut }: RefreshPlan,
  { account }: Work,
  counts: FreeCounts,
): Promise<Presence> {
  const notCertain = (why: string, cause?: unknown): CliError =>
    new CliError({
      code: "not_certain",
      category: "incomplete",
      message: `not certain: ${why}; the dataset moved meanwhile, and the list stays as it was`,
      hint: "run it again: what was bought is owned and not bought again",
      cause,
    });
  const members = people.map((person) => memberOf(person, account.datasetVersion));
  const seen = await lookFor(segment, members, counts).catch((error: unknown) => {
    throw error instanceof UnsoundCountsError ? notCertain(error.message, error) : error;
  });
  const certificate = leftOut ? leaveOut(seen, forgotten) : seen;
  if (isWholeSegment(certificate)) return certificate;
  const { total, present } = certificate;
  throw notCertain(
    `the segment has ${counted(total, "person", "people")}, and ${grouped(present)} of the ${grouped(people.length)} that are owned of it are there`,
  );
}

const buyingOf = ({ order: { terms } }: Work, maxCredits: Credits | undefined) => ({
  job: terms.job,
  budgetLeft: maxCredits === undefined ? terms.budgetLeft : undefined,
  perPage: terms.perPage,
  concurrency: 4,
  wait: terms.wait === true,
  maxCredits,
});

const textsIn =
  (people: readonly SegmentMember[], library: Library): BoughtParts =>
  (field) =>
    library.textsBy(
      people.map(({ identity }) => identity),
      field,
    );

function candidates(list: Followed, library: Library): Merged {
  const people = new Map(list.before.map((person) => [person.identity, person]));
  const others = [...library.members(list.canonical), ...library.membersBy({ segment: canonicalJson(list.canonical) })];
  for (const person of others) people.set(person.identity, person);
  return merged([...people.values()]);
}

interface Merged {
  readonly people: readonly OwnedPerson[];
  /** Who went by the address, and has an id now. */
  readonly renamed: ReadonlyMap<string, string>;
}

/** Who was taken in without an id, and bought with one later, is one person. */
function merged(people: readonly OwnedPerson[]): Merged {
  const own = ({ address }: OwnedPerson): string | undefined =>
    address === undefined ? undefined : canonicalAddress(address);
  const withId = new Map(
    people.flatMap((person) => (person.identity.startsWith("@") ? [] : [[own(person), person.identity] as const])),
  );
  const renamed = new Map<string, string>();
  for (const person of people) {
    const id = own(person) === undefined ? undefined : withId.get(own(person));
    if (id !== undefined && person.identity.startsWith("@")) renamed.set(person.identity, id);
  }
  return { people: people.filter(({ identity }) => !renamed.has(identity)), renamed };
}

function byAddress(segment: Filters, people: readonly SegmentMember[], size: number): Leaf[] {
  const addresses = people.flatMap(({ address }) => (address === undefined ? [] : [address]));
  return chunksOf(addresses, size).map((own) => ({
    filters: { ...segment, network_url: own },
    count: own.length,
    fresh: 0,
  }));
}

function requireCap(parts: readonly Leaf[], most: Credits, { account }: Work): void {
  const rows = parts.reduce((sum, { count }) => sum + count, 0);
  const cost = priceOf(rows, account.costs.personSearch);
  if (cost <= most) return;
  throw new CliError({
    code: "over_cap",
    category: "credits",
    message: `what is to be bought costs ${formatCreditsGrouped(cost)} credits, more than the ${formatCreditsGrouped(most)} that were agreed to; nothing was spent, and the list stays as it was`,
    hint: `--max-credits ${formatCredits(cost)} buys it; a larger --calls-per-credit finds the new people with fewer that are owned among them`,
  });
}

function refuseAddresses({ network_url: url }: Filters): void {
  if (url === undefined) return;
  throw usageError(
    "this segment names its people by address, and a refresh asks by address who of them is there",
    "headcount search buys it as it is; a segment by other filters can be kept up to date",
    "segment_by_address",
  );
}

function refuseUnknown({ unknown }: Presence): void {
  if (unknown.length === 0) return;
  throw usageError(
    `${counted(unknown.length, "person", "people")} of the list ${unknown.length === 1 ? "has" : "have"} neither address nor name, so no count tells whether they are there; nothing was spent`,
    "headcount search buys the segment anew",
    "no_identity",
  );
}
