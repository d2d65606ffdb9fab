// Tested by test/cli/resume.test.ts.

import { credits, creditsText } from "../../shared/contract/money.ts";
import { counted } from "../../shared/contract/text.ts";
import { option, say } from "../../shared/errors.ts";
import { kindOf } from "../output/distinct.ts";
import { checkSink } from "../output/sinks/sink.ts";
import type { Plan, RunIdentity, Target } from "../runs/plan.ts";
import type { Run } from "../runs/run.ts";
import { RunStore } from "../runs/run-store.ts";
import { beginsAt } from "../runs/spend.ts";
import { isBoughtElsewhere } from "./earlier.ts";
import { staleRun } from "./failures.ts";
import { openRun } from "./locks.ts";
import { checkSame, runIdentityOf } from "./offer.ts";
import type { ExportDeps, ExportOptions, Inquiry, Trade } from "./order.ts";
import { withoutSuppressed } from "./unnamed.ts";
import { accountOf } from "./world.ts";

/** Whether it can be written, and who asks: before anything is counted. @throws CliError */
export async function inquire(
  draft: Target,
  options: ExportOptions,
  deps: ExportDeps,
): Promise<Inquiry> {
  await checkSink(options, kindOf({ plan: { command: draft.kind } }), deps.disk);
  const store = new RunStore(deps.stateDir, deps.disk);
  const target = withoutSuppressed(draft, await store.suppression(), deps.onNotice);
  const account = await accountOf(deps, options.agreed);
  const identity = runIdentityOf(target, options.output ?? null, account, deps.seller);
  return { store, account, options, deps, target, identity };
}

/**
 * The run that the same command left unfinished. One whose dataset is gone counts no more.
 * @param buys whether that one is let go of, and said
 * @throws CliError exit 10 where that is not wanted
 */
export async function stillOpen(
  { identity, ...trade }: Omit<Inquiry, "target">,
  buys: boolean,
): Promise<Plan | undefined> {
  const { store, account, options, deps } = trade;
  const open = options.fresh ? undefined : await openOf(identity, options.limit, store);
  const moved = open && (await checkSame(open, account, deps));

  if (open === undefined) return undefined;
  if (moved === undefined) return (await isBoughtElsewhere(open, store)) ? undefined : open;
  if (options.onNewDataset === "fail")
    throw staleRun(open.id, moved, "declined", say`${option("again")} begins anew`);
  if (!buys) return undefined;

  const run = await openRun(open.id, trade);
  const { rows } = run.state;

  await endStale(run, moved, trade);
  deps.onWarning(
    `warning: ${moved}: run ${open.id} is stale, and this begins anew; headcount runs ` +
      `export ${open.id} writes the ${counted(rows, "row")} that it holds at 0 credits`,
  );

  return undefined;
}

/** A search may go on with what it began as one for new people alone. */
async function openOf(
  { target, ...identity }: RunIdentity,
  limit: number | undefined,
  store: RunStore,
): Promise<Plan | undefined> {
  const open = await store.findOpen({ ...identity, target });
  if (open !== undefined || target.kind !== "search" || target.owned !== undefined) return open;

  const parted = { ...target, owned: "with" } as const;
  const within = limit === undefined ? undefined : { rows: limit, fresh: 0 };
  const limited = within && (await store.findOpen({ ...identity, target: { ...parted, within } }));
  return limited ?? store.findOpen({ ...identity, target: parted });
}

export async function endStale(
  run: Run,
  why: string,
  { store, account, deps }: Omit<Trade, "options">,
): Promise<void> {
  const booked = run.state.uncertain;
  try {
    const found = await beginsAt(run, account);
    if (found.length > 0) await run.append(...found);
    await store.end(run, { how: "stale", why, at: deps.now() });
  } finally {
    await run.close();
  }

  const more = credits(run.state.uncertain - booked);
  if (more > 0n)
    deps.onWarning(
      `warning: ${creditsText(more)} may have been charged for ` +
        `pages that run ${run.id} got no reply to`,
    );
}
