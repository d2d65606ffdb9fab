import { libraryPath } from "../../../engine/library/library.ts";
import type { OwnedPerson } from "../../../engine/library/members.ts";
import { checkRows } from "../../../engine/output/formats.ts";
import { checkOutput } from "../../../engine/output/paths.ts";
import { checkRoom, checkSink } from "../../../engine/output/sinks/sink.ts";
import type { FreeCounts } from "../../../engine/purchase/free-counts.ts";
import { lockNewPeople, lockOutput } from "../../../engine/purchase/locks.ts";
import { RunStore } from "../../../engine/runs/run-store.ts";
import type { Context } from "../../../shared/context.ts";
import { type Credits, credits, ZERO } from "../../../shared/contract/money.ts";
import { counted } from "../../../shared/contract/text.ts";
import { usageError } from "../../../shared/errors.ts";
import { nowhere, worldOf } from "../../buy/order.ts";
import { tellHints } from "../../count/hints.ts";
import type { CheckedFilters } from "../../segments/segment-set.ts";
import type { Session } from "../../session.ts";
import { freeCounts, lookInto, soundly } from "../look.ts";
import { buyLeaves, finishRest, libraryOf } from "./buy.ts";
import { checkFiles, keep } from "./keep.ts";
import { candidates, followed } from "./list.ts";
import { type Begun, bring, textsIn } from "./people.ts";
import { refreshPlanOf, requireBudgetFor } from "./plan.ts";
import type { RefreshEvents, RefreshOrder, RefreshPlan, RefreshReceipt, RefreshResult, Work } from "./work.ts";

/** What was bought is owned from then on, whatever happens: the same order pays for nobody twice. @throws CliError */
export async function refresh(
  order: RefreshOrder & { readonly output: string },
  session: Session,
  context: Context,
  events: RefreshEvents,
): Promise<RefreshReceipt> {
  const prepared = await prepare(order, session, context, events);
  const lock = await lockOutput(prepared.order.output ?? "", order.terms.wait === true, prepared.deps);
  let newPeople: typeof lock | undefined;
  try {
    // Lists of one schedule wait for each other: none is left out because another one is at work.
    newPeople = await lockNewPeople(true, prepared.deps);
    return await looked(prepared, true, async (begun, work) => {
      requireBudgetFor(begun.plan, work.order.terms);
      if (begun.plan.rows > 0) await events.agree(begun.plan);
      events.progress?.(begun.counts.calls);
      return await keep(await bring(begun, work, buyLeaves), work);
    });
  } finally {
    await newPeople?.release();
    await lock.release();
  }
}

export const planRefresh = async (...given: Parameters<typeof prepare>): Promise<RefreshPlan> =>
  looked(await prepare(...given), false, async ({ plan }) => plan);

type Prepared = Omit<Work, "held">;

async function prepare(
  given: RefreshOrder,
  session: Session,
  context: Context,
  events: RefreshEvents,
): Promise<Prepared> {
  const world = worldOf(session, context);
  // What could not be written is not bought.
  const output = given.output === undefined ? undefined : await checkOutput(given.output);
  await checkSink({ ...given.terms, ...given.view, output }, "person", world.disk);
  const deps = {
    ...world,
    stdout: nowhere(),
    consent: async () => undefined,
    onNotice: (text: string) => session.notice(text),
    onWarning: events.warning,
    onStart: events.start,
  };
  const account = await session.client.account(context.interrupted);
  const { keyMode: mode = "live" } = account;
  const { serviceId } = session;
  const shelf = { path: libraryPath(deps.stateDir, serviceId, mode), serviceId, mode };
  const store = new RunStore(deps.stateDir, deps.disk);
  return { order: { ...given, output }, account, events, context, deps, store, shelf };
}

async function looked<T>(
  prepared: Prepared,
  writes: boolean,
  rest: (begun: Begun, work: Work) => Promise<T>,
): Promise<T> {
  const { events, account } = prepared;
  const held = { library: await libraryOf(prepared) };
  const look = async (): Promise<T> => {
    let work: Work = { ...prepared, held };
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
    const own = candidates(list, held.library);
    const inList = new Set(list.before.map(({ identity }) => own.renamed.get(identity) ?? identity));
    const [listed, others] = [true, false].map((is) =>
      own.people.filter(({ identity }) => inList.has(identity) === is),
    ) as [OwnedPerson[], OwnedPerson[]];
    const looking = { counts, account, library: held.library, beside: () => others };
    const sight = await lookInto(list, listed, { ...looking, isMeasured: true });
    if (sight.total === 0 || list.view === undefined) await tellUnmatched(list, sight.total, counts, work);
    if (sight.unknown.length > 0) throw untold(sight.unknown.length);
    await checkRows(sight.total, output, terms, "; nothing was spent");
    await checkRoom(view, sight.total);
    events.progress?.(undefined);
    const bought = textsIn(sight.members, held.library);
    const plan = await refreshPlanOf({ sight, bought, counts, finished }, work);
    return await rest({ ...own, list, sight, plan, counts, finished }, work);
  };
  try {
    return await soundly(
      "the list stays as it was, and nothing was bought by these counts",
      "run it again later; where the counts stay like that, headcount search buys the segment anew",
      look,
    );
  } finally {
    events.progress?.(undefined);
    held.library.close();
  }
}

async function tellUnmatched(
  { filters }: Pick<CheckedFilters, "filters">,
  count: number,
  counts: FreeCounts,
  { deps, context }: Work,
): Promise<void> {
  const asked = <Args extends unknown[], Answer>(call: (...args: Args) => Promise<Answer>) => {
    return (...args: Args): Promise<Answer> => {
      counts.calls++;
      return call(...args);
    };
  };
  const { client: service } = deps.seller;
  const client = { count: asked(service.count.bind(service)), facets: asked(service.facets.bind(service)) };
  await tellHints(
    [{ filters, count }],
    { strict: false, session: { client }, say: deps.onNotice },
    context.interrupted,
  );
}

/** What was finished now leaves that much less to spend. */
function afterwards(work: Work, { spent }: RefreshResult): Work {
  const left = (amount: Credits | undefined): Credits | undefined =>
    amount === undefined ? undefined : credits(amount > spent ? amount - spent : ZERO);
  const { terms } = work.order;
  const rest = { maxCredits: left(terms.maxCredits), budgetLeft: left(terms.budgetLeft) };
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
    `${counted(people, "person", "people")} of the list ${people === 1 ? "has" : "have"} neither address nor name, so no count tells whether they are there; nothing was spent`,
    "headcount search buys the segment anew",
    "no_identity",
  );
