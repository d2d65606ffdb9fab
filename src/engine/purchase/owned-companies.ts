import { randomUUID } from "node:crypto";
import { Page } from "../../shared/rows/page.ts";
import type { IntentRecord, Unit } from "../runs/journal.ts";
import { companyKey, type RunIdentity } from "../runs/plan.ts";
import type { Run } from "../runs/run.ts";
import type { RunStore } from "../runs/run-store.ts";
import type { ExportDeps, ExportOptions } from "./order.ts";

/** Runs that are looked through, newest first. */
const LOOKS = 300;
/** How long a company counts as known where the service does not say which dataset it answers from. */
const FRESH_MS = 30 * 86_400_000;

/** A reply of an earlier run, to the same question. */
export interface OwnedReply {
  readonly run: string;
  /** undefined: the service did not know the company. */
  readonly body: Buffer | undefined;
}

/**
 * What was bought before of the companies that a run asks for, by their index: of the same service, kind of key and dataset.
 * @returns none where all is to be bought anew
 */
export async function ownedCompanies(
  store: RunStore,
  { base_url, key_mode, target }: RunIdentity,
  datasetVersion: string | null,
  { fresh }: Pick<ExportOptions, "fresh">,
  { now }: Pick<ExportDeps, "now">,
): Promise<ReadonlyMap<number, OwnedReply>> {
  const found = new Map<number, OwnedReply>();
  if (fresh || target.kind !== "enrich" || target.keep === undefined) return found;
  const wanted = new Map(target.companies.map((company, index) => [companyKey(company), index]));
  for (const id of (await store.ids()).slice(0, LOOKS)) {
    if (found.size === target.companies.length) break;
    // One that is damaged hides nothing of the others.
    const plan = await store.readPlan(id).catch(() => undefined);
    if (plan === undefined || plan.target.kind !== "enrich") continue;
    const isSame = plan.base_url === base_url && plan.key_mode === key_mode && plan.dataset_version === datasetVersion;
    if (!isSame || (datasetVersion === null && now() - Date.parse(plan.created_at) > FRESH_MS)) continue;
    const { companies } = plan.target;
    const run = await store.open(id).catch(() => undefined);
    if (run === undefined) continue;
    const indexOf = ({ intent }: Unit): number | undefined => {
      const company = companies[intent.target];
      const index = company === undefined ? undefined : wanted.get(companyKey(company));
      return index === undefined || found.has(index) ? undefined : index;
    };
    // Whom this dataset does not have it will not have tomorrow; of one without a name nobody knows.
    for (const unit of datasetVersion === null ? [] : run.state.units.values()) {
      const { miss, refused } = unit.settled ?? {};
      const index = miss === true && refused === undefined ? indexOf(unit) : undefined;
      if (index !== undefined) found.set(index, { run: id, body: undefined });
    }
    try {
      for await (const { unit, settled, body } of run.pages()) {
        const index = indexOf(unit);
        if (index === undefined || settled.rows !== 1) continue;
        if (Page.read(body, "company").length === 1) found.set(index, { run: id, body });
      }
    } catch {
      // What was read before the damage is good.
    }
  }
  return found;
}

/** Puts what was bought before into a run, at no price. */
export async function takeOver(run: Run, owned: ReadonlyMap<number, OwnedReply>, now: () => number): Promise<void> {
  const units = [...run.state.units.values()].filter(({ settled, voided }) => settled !== undefined || !voided);
  const asked = new Set(units.map(({ intent }) => intent.target));
  const taken = [...owned].flatMap(([target, reply]) =>
    asked.has(target) ? [] : [{ target, reply, n: run.nextNumber() }],
  );
  const intents = taken.map(({ target, n }): IntentRecord => {
    const position = { target, offset: 0, perPage: 1 };
    return { t: "intent", n, ...position, key: randomUUID(), hold: "0", owned: true, at: now() };
  });
  if (intents.length > 0) await run.append(...intents);
  for (const { n, reply } of taken) {
    const told = reply.body === undefined ? { rows: 0, miss: true } : { rows: 1 };
    await run.settle({ t: "settled", n, used: "0", owned: reply.run, ...told, at: now() }, reply.body);
  }
}
