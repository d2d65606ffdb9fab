import { type Credits, credits, formatCredits, priceOf } from "../../shared/contract/money.ts";
import { grouped } from "../../shared/contract/text.ts";
import { type Plan, type RunIdentity, targetText } from "../runs/plan.ts";
import type { RunReader } from "../runs/run.ts";
import type { RunStore } from "../runs/run-store.ts";
import type { Quote } from "./quote.ts";

const LOOKS = 300;

/** A finished run with the same people of the same dataset: what it holds costs nothing. */
export interface Reuse {
  readonly run: string;
  readonly rows: number;
  /** In a sentence, with the command that gets them for less. */
  readonly text: string;
}

export async function earlierRun(
  store: RunStore,
  identity: RunIdentity,
  datasetVersion: string | null,
  { rows, unitPrice }: Quote,
): Promise<Reuse | undefined> {
  const run = await newest(store, identity, datasetVersion);
  const kept = run?.state.rows ?? 0;
  if (run === undefined || kept === 0) return undefined;
  const { id, plan, state } = run;
  const when = `run ${id} of ${plan.created_at.slice(0, 16).replace("T", " ")} UTC`;
  if (kept >= rows) {
    const text = `${when} holds ${kept === rows ? "" : "all of "}${rows === 1 ? "this row" : `these ${grouped(rows)} rows`} already: headcount runs export ${id} writes what it holds at 0 credits`;
    return { run: id, rows, text };
  }
  if (plan.output !== identity.output) return undefined;
  const total = credits(state.settled + state.uncertain + priceOf(rows - kept, unitPrice));
  const text = `${when} holds ${grouped(kept)} of these ${grouped(rows)} rows: ${resumeFor(id, rows, total)} buys the other ${grouped(rows - kept)}`;
  return { run: id, rows: kept, text };
}

const resumeFor = (id: string, rows: number, total: Credits): string =>
  `headcount resume ${id} --limit ${rows} --max-credits ${formatCredits(total)}`;

async function newest(
  store: RunStore,
  identity: RunIdentity,
  datasetVersion: string | null,
): Promise<RunReader | undefined> {
  // Of a sample without a seed another one is wanted each time.
  if (identity.target.kind === "search" && identity.target.sample?.seed === null) return undefined;
  const wanted = targetText(identity.target);
  for (const id of (await store.ids()).slice(0, LOOKS)) {
    // One that is damaged hides nothing of the others.
    const plan = await store.readPlan(id).catch(() => undefined);
    if (plan === undefined || plan.dataset_version !== datasetVersion || boughtText(plan) !== wanted) continue;
    const { base_url, account_id, key_mode } = identity;
    if (plan.base_url !== base_url || plan.account_id !== account_id || plan.key_mode !== key_mode) continue;
    const run = await store.open(id).catch(() => undefined);
    if (run?.state.done !== undefined) return run;
  }
  return undefined;
}

/** What a run bought as one line of text, a sample with the seed that it was drawn by. */
function boughtText({ target, draw }: Plan): string {
  if (draw === undefined || target.kind !== "search" || target.sample === undefined) return targetText(target);
  return targetText({ ...target, sample: { ...target.sample, seed: draw.seed } });
}
