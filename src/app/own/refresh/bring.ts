import { checkRows } from "../../../engine/output/formats.ts";
import { checkRoom } from "../../../engine/output/sinks/sink.ts";
import type { FreeCounts } from "../../../engine/purchase/free-counts.ts";
import { alone, newPeople, theOutput, theSegment } from "../../../engine/purchase/locks.ts";
import { flagsOf } from "../../../shared/contract/command-line.ts";
import type { FreeAnswers } from "../../../shared/contract/hints.ts";
import { creditsLess } from "../../../shared/contract/money.ts";
import { counted, grouped } from "../../../shared/contract/text.ts";
import { atConnection, command, option, say, usageError } from "../../../shared/errors.ts";
import { type CountedSegment, tellHints } from "../../count/hints.ts";
import { freeCounts, type Sight, soundly } from "../look.ts";
import { libraryOf, type Prepared, prepare } from "./begin.ts";
import { buyLeaves, finishRest, takeIn } from "./buy.ts";
import { beginList, checkFiles, keep } from "./keep.ts";
import { candidates, type Followed, followed, listPath, merged } from "./list.ts";
import { type Begun, bring, lookAtList, textsIn } from "./people.ts";
import { refreshPlanOf } from "./plan.ts";
import type { Refreshing, RefreshResult, Work } from "./work.ts";

export const refresh: Refreshing["refresh"] = async (order, ...args) => {
  const prepared = await prepare(order, ...args);
  const { deps, order: own } = prepared;

  // Lists of one schedule wait for each other: none is left out because another one is at work.
  const { output, terms } = own;
  return await alone([...theOutput(output, terms.wait === true), newPeople(deps, true)], deps, () =>
    afterLook(prepared, true, async (begun, work) => {
      if (begun.plan.rows > 0) await work.events.agree(begun.plan);
      work.events.progress?.(begun.counts.calls);
      const result = await bring(begun, work, async (...purchase) => {
        beginList(begun.list, work);
        return await buyLeaves(...purchase);
      });
      return await keep(result, work);
    }),
  );
};

export const planRefresh: Refreshing["planRefresh"] = async (...args) =>
  afterLook(await prepare(...args), false, async ({ plan }) => plan);

async function afterLook<T>(
  prepared: Prepared,
  writes: boolean,
  rest: (begun: Begun, work: Work) => Promise<T>,
): Promise<T> {
  const { events } = prepared;
  const latest = { library: await libraryOf(prepared) };

  const find = async (): Promise<T> => {
    const work: Work = { ...prepared, latest };
    const claims = writes ? [theSegment((await followed(work)).filters, work.deps, true)] : [];
    return await alone(claims, work.deps, async () => {
      // What another command bought meanwhile is owned.
      if (writes) await takeIn(work);
      return await lookAt(work, writes, rest);
    });
  };

  try {
    return await soundly(
      "the list stays as it was, and nothing was bought by these counts",
      "run it again later; where the counts stay like that, headcount search buys the segment anew",
      find,
    );
  } finally {
    events.progress?.(undefined);
    latest.library.close();
  }
}

/** @param writes whether it is bought, too, and not priced alone */
async function lookAt<T>(
  before: Work,
  writes: boolean,
  rest: (begun: Begun, work: Work) => Promise<T>,
): Promise<T> {
  const { events, account, latest } = before;
  let work = before;
  let list = await followed(work);
  if (list.filters.network_url !== undefined) throw byAddress();

  // What a job quotes is refused as what it does.
  if (writes || work.order.terms.job !== undefined) await checkFiles(list, work);

  const finished = writes ? await finishRest(list, work) : undefined;
  if (finished !== undefined) {
    work = afterwards(work, finished);
    list = await followed(work);
  }

  const { terms, view, output } = work.order;
  const counts = freeCounts(work.deps, account, terms.maxCalls, events.progress);
  const { own, sight } = await sightOf(list, counts, work);

  events.progress?.(undefined);

  const partsOf = textsIn(sight, latest.library);
  const plan = await refreshPlanOf({ sight, partsOf, counts, finished }, work);
  const { calls } = counts;

  if (list.isPart) work.deps.onNotice(await partText(list, sight, work));
  const { segmentTotal = sight.total } = sight;
  if (segmentTotal === 0 || list.view === undefined) {
    const client = counts.answers(plan.calls - calls);
    await sayHints({ filters: list.filters, count: segmentTotal }, client, work);
  }

  await checkRows(sight.total, output, terms, "; nothing was spent");
  await checkRoom(view, sight.total);

  const quoted = { ...plan, calls: plan.calls + counts.calls - calls };
  return await rest({ ...own, list, sight, plan: quoted, counts, finished }, work);
}

async function sayHints(segment: CountedSegment, client: FreeAnswers, work: Work): Promise<void> {
  const { interrupted, onNotice, onWarning } = work.deps;
  // Nobody at all is told to whoever reads a job's lines, too.
  const say = segment.count === 0 ? onWarning : onNotice;
  const telling = { strict: false, session: { client }, say, words: work.events.words };
  await tellHints([segment], telling, interrupted);
}

/** Who of the list is there: asked for as they are called in the library by now. */
async function sightOf(list: Followed, counts: FreeCounts, { account, latest: { library } }: Work) {
  const own = list.isPart ? merged(list.before, library) : candidates(list, library);
  const inList = new Set(list.before.map((identity) => own.renamed.get(identity) ?? identity));
  const members = own.people.filter((identity) => inList.has(identity));
  const beside = () => own.people.filter((identity) => !inList.has(identity));

  const looking = { counts, account, library, beside, isMeasured: true };
  const sight = await lookAtList(list, members, looking);
  if (sight.unknown.length > 0) throw untold(sight.unknown.length);
  return { own, sight };
}

/** What it is of, and what brings the others. */
async function partText(
  { filters }: Followed,
  { present, segmentTotal = present }: Sight,
  { order: { word = "", output }, context, deps: { seller } }: Work,
): Promise<string> {
  const isNamed = output === undefined || output === (await listPath(word, context));
  const all = command("refresh", {
    arguments: [word],
    segment: flagsOf(filters),
    options: [
      ...(isNamed ? [] : [option("output", output)]),
      ...atConnection(seller.connectionName),
    ],
  });

  const text = say`a cap or a limit ended this list: it has ${grouped(present)} of the
    ${counted(segmentTotal, "person", "people")} of its segment, and nobody else is looked for;
    ${all} prices the others`;
  return `notice: ${text}`;
}

/** What was finished now leaves that much less to spend. */
function afterwards(work: Work, { spent }: RefreshResult): Work {
  const { terms } = work.order;
  const { maxCredits, budgetLeft } = terms;
  const rest = {
    maxCredits: maxCredits && creditsLess(maxCredits, spent),
    budgetLeft: budgetLeft && creditsLess(budgetLeft, spent),
  };
  return { ...work, order: { ...work.order, terms: { ...terms, ...rest } } };
}

const byAddress = () =>
  usageError(
    "this segment names its people by address, and a refresh asks by address who of them is there",
    "headcount search buys it as it is; a segment by other filters can be kept up to date",
    "segment_by_address",
  );

const untold = (people: number) =>
  usageError(
    `${counted(people, "person", "people")} of the list ${people === 1 ? "has" : "have"} ` +
      "neither address nor name, so no count tells whether they are there; nothing was spent",
    "headcount search buys the segment anew",
    "no_identity",
  );
