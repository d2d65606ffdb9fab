import { readGuard } from "../../../cli/arguments/export-options.ts";
import { Printer } from "../../../cli/terminal/printer.ts";
import type { Progress } from "../../../cli/terminal/progress.ts";
import { stateDir } from "../../../engine/connections/paths.ts";
import { Library, libraryPath } from "../../../engine/library/library.ts";
import type { OwnedPerson } from "../../../engine/library/members.ts";
import { openLibrary, type Shelf } from "../../../engine/library/take-in.ts";
import { checkOutput } from "../../../engine/output/output.ts";
import { checkRows } from "../../../engine/output/publish.ts";
import { checkRoom, checkSink } from "../../../engine/output/sinks/sink.ts";
import type { Leaf } from "../../../engine/planning/descent.ts";
import { UnsoundCountsError } from "../../../engine/planning/parts.ts";
import { isWhole, leaveOut, lookFor, type Presence, tellApart } from "../../../engine/planning/presence.ts";
import type { Member } from "../../../engine/planning/question.ts";
import { chunksOf } from "../../../engine/planning/removed.ts";
import { unsound } from "../../../engine/purchase/failures.ts";
import { FreeCounts } from "../../../engine/purchase/free-counts.ts";
import { lockNewPeople, lockOutput } from "../../../engine/purchase/locks.ts";
import type { ExportDeps } from "../../../engine/purchase/order.ts";
import { type Bought, leavesOf, verifyFields } from "../../../engine/purchase/refresh.ts";
import { Disk } from "../../../engine/runs/disk.ts";
import { failpoint } from "../../../engine/runs/failpoint.ts";
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
import { mapError } from "../../failures.ts";
import { forgottenIn } from "../../keep/forgotten.ts";
import { type Session, withSession } from "../../session.ts";
import { memberOf } from "../ownership.ts";
import { buyParts } from "./buy-parts.ts";
import { checkFiles } from "./files.ts";
import { afterwards, finishParts, withFinished } from "./finish.ts";
import { keep, printKept } from "./keep.ts";
import { type Followed, followed, pathOf } from "./list.ts";
import { agree, type Plan, planOf, printPlan, requireBudgetFor } from "./plan.ts";
import type { Brought, Finished, RefreshOrder, Work } from "./work.ts";

/** `headcount refresh`. Whatever happens, what was bought is owned from then on, and the same command pays for nobody twice. */
export async function bringUpToDate(given: RefreshOrder, context: Context): Promise<void> {
  // What could not be written is not bought.
  const output = given.output === undefined ? undefined : await checkOutput(given.output);
  await checkSink({ ...given.view, ...readGuard(given.flags), output }, "person", new Disk());
  const order = { ...given, output };
  const printer = new Printer(context, order.flags);
  await withSession(context, order.flags, async (session) => {
    const deps = depsOf(session, printer, context);
    const account = await session.client.account(context.interrupted);
    const mode = account.keyMode ?? "live";
    const shelf: Shelf = {
      path: libraryPath(deps.stateDir, session.serviceId, mode),
      serviceId: session.serviceId,
      mode,
    };
    const store = new RunStore(deps.stateDir, deps.disk);
    const work: Work = { order, session, account, printer, context, deps, store, shelf };
    const buys = output !== undefined && order.flags.dryRun !== true;
    const lock = buys ? await lockOutput(output, order.flags.wait === true, deps) : undefined;
    let newPeople: Lock | undefined;
    try {
      // Lists of one schedule are refreshed one after the other: none is left out because another one is at work.
      newPeople = buys ? await lockNewPeople(true, deps) : undefined;
      await refresh(work).catch((error: unknown) => {
        if (!(error instanceof UnsoundCountsError)) throw error;
        throw unsound(
          error,
          "the list stays as it was, and nothing was bought by these counts",
          "run it again later; where the counts stay like that, headcount search buys the segment anew",
        );
      });
    } finally {
      await newPeople?.release();
      await lock?.release();
    }
  });
}

function depsOf(session: Session, printer: Printer, context: Context): ExportDeps {
  const { now, sleep, random, pid, stdout, interrupted } = context;
  return {
    ...{ now, sleep, random, pid, stdout, interrupted },
    seller: session,
    stateDir: stateDir(context),
    disk: new Disk(failpoint(context.env)),
    consent: async () => undefined,
    mapError: (error) => mapError(error, session.site),
    onNotice: (text) => session.notice(text),
    onWarning: (text) => printer.say(text),
  };
}

/** The library with all that was bought until now. @throws CliError exit 5 where a run cannot be read: its people would be bought again */
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

async function refresh(given: Work): Promise<void> {
  const { order, context } = given;
  const { output } = order;
  let work = given;
  const held = { library: await libraryOf(work) };
  let stop = (): void => undefined;
  try {
    let list = await followed(order.word, output, { ...work, ...held, given: order.given }, context);
    refuseAddresses(list.filters);
    let finished: Finished | undefined;
    if (output !== undefined && order.flags.dryRun !== true) {
      // A list of another segment is somebody's, too.
      const known = held.library.lists.at(output)?.canonical === canonicalJson(list.canonical);
      const own = known || (order.word !== undefined && output === (await pathOf(order.word, context)));
      await checkFiles(output, own, known, order.flags.overwrite === true);
      finished = await finishParts(
        targetOf(list, output),
        { ...buyingOf(work, undefined), maxCredits: order.flags.maxCredits },
        work.account,
        work.deps,
      );
      if (finished !== undefined) {
        work = afterwards(work, finished);
        held.library.close();
        held.library = await libraryOf(work);
        list = await followed(order.word, output, { ...work, ...held, given: order.given }, context);
      }
    }
    const { flags } = work.order;
    const progress = await countProgress(work);
    stop = progress.stop;
    const counts = new FreeCounts({
      client: work.session.client,
      maxCalls: flags.maxCalls,
      now: context.now,
      sleep: context.sleep,
      signal: context.interrupted,
      perMinute: work.account.perMinute,
      onCall: (calls) => progress.update({ done: calls }),
    });
    const { people, renamed } = candidates(list, held.library);
    const members = new Map(people.map((person) => [person.identity, memberOf(person, work.account.datasetVersion)]));
    const seen = await lookFor(list.filters, [...members.values()], counts);
    const forgotten = forgottenIn(list.canonical, seen.others, counts.datasetVersion, held.library);
    const look = forgotten.leftOut ? leaveOut(seen, forgotten.people) : seen;
    refuseUnknown(look);
    await checkRows(look.total, output, readGuard(flags), "; nothing was spent");
    await checkRoom(order.view, look.total);
    const own = [...members.values()];
    progress.stop();
    const plan = await planOf(
      { look, members: own, bought: textsIn(own, held.library), counts, forgotten, finished },
      work,
    );
    if (flags.dryRun === true) return await printPlan(plan, work);
    requireBudgetFor(plan, flags);
    await agree(plan, work);
    progress.update({ done: counts.calls });
    const found = await bring({ list, look, plan, people, renamed, counts, held }, work);
    const kept = await keep({ ...withFinished(found, finished), list, counts, plan, library: held.library }, work);
    progress.stop();
    await printKept(kept, work);
  } finally {
    stop();
    held.library.close();
  }
}

async function countProgress({ printer, context, session }: Work): Promise<Progress> {
  const { openProgress } = await import("../../../cli/terminal/progress.ts");
  const { stderr, now } = context;
  const enabled = !printer.quiet && stderr.isTTY === true;
  const { noteStyle: style, unicode } = printer;
  const progress = openProgress({ stream: stderr, enabled, now, style, unicode, unit: "free call" });
  session.pauses.show = enabled ? progress.wait : undefined;
  return progress;
}

/** The library that is open: another one after each purchase. */
interface Held {
  library: Library;
}

interface Begun extends Merged {
  readonly list: Followed;
  readonly look: Presence;
  readonly plan: Plan;
  readonly counts: FreeCounts;
  readonly held: Held;
}

/** Finds who is gone and who changed, buys who is new, and proves that nobody is missing. */
async function bring({ list, look, plan, people, renamed, counts, held }: Begun, work: Work): Promise<Brought> {
  const { flags, verify } = work.order;
  const { kept } = await tellApart(look, counts);
  const there = new Set(kept.map(({ identity }) => identity));
  const verified = await verifyFields(list.filters, verify, kept, textsIn(kept, held.library), counts);
  // What is left of the calls must do for the proof.
  const proof = look.chunks.length + Math.ceil(look.others / counts.listSize) + 3 * look.groups.length + 3;
  const allowed = { ...flags, maxCalls: flags.maxCalls - proof, maxRows: plan.rows };
  const leaves = await leavesOf(look, kept, allowed, counts);
  const purchase: Purchase = { list, counts, plan, held, bought: new Map(), runs: [], spent: ZERO, rows: 0 };
  await buy(leaves, purchase, work);
  if (flags.buyChanged === true) {
    const missing = kept.filter(({ identity }) => verified.changed.has(identity) && !purchase.bought.has(identity));
    await buy(byAddress(list.filters, missing, counts.listSize), purchase, work);
  }
  const all = [...people.filter(({ identity }) => there.has(identity)), ...purchase.bought.values()];
  const now = merged([...new Map(all.map((person) => [person.identity, person])).values()]);
  // Where everybody was there at the first look, that is the proof.
  const isProved = purchase.runs.length === 0 && isWhole(look);
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

/** How many of these are on the suppression list: paid for, and in nothing that is written. */
const hiddenOf = (identities: readonly string[], library: Library): number =>
  identities.length - library.shown(identities).length;

/** What is bought in one refresh, and what it brought so far. */
interface Purchase {
  readonly list: Followed;
  readonly counts: FreeCounts;
  readonly plan: Plan;
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

/** The certificate: the segment's count is the sum of the counts of those who are owned. @throws CliError exit 5 where it is not */
async function proved(
  segment: Filters,
  people: readonly OwnedPerson[],
  { forgotten, leftOut }: Plan,
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
  if (isWhole(certificate)) return certificate;
  const { total, present } = certificate;
  throw notCertain(
    `the segment has ${counted(total, "person", "people")}, and ${grouped(present)} of the ${grouped(people.length)} that are owned of it are there`,
  );
}

const buyingOf = ({ order: { flags } }: Work, maxCredits: Credits | undefined) => ({
  job: flags.job,
  budgetLeft: maxCredits === undefined ? flags.budgetLeft : undefined,
  perPage: flags.perPage,
  concurrency: 4,
  wait: flags.wait === true,
  maxCredits,
});

const textsIn =
  (people: readonly Member[], library: Library): Bought =>
  (field) =>
    library.textsBy(
      people.map(({ identity }) => identity),
      field,
    );

/** Whoever was in the list, and whoever else is owned and matches by what was bought, or was bought for this segment. */
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

/** Somebody who was taken in without an id, and bought with one later, is one person. */
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

/** People in parts that hold nobody else. */
function byAddress(segment: Filters, people: readonly Member[], size: number): Leaf[] {
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
