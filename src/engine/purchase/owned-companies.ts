import { randomUUID } from "node:crypto";
import { Page } from "../../shared/rows/page.ts";
import type { CompanyQuery } from "../client/types.ts";
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
 * What was bought before of the companies that a run asks for, by their index: of the same service, kind of key and dataset, whatever
 * they were named by. @returns none where all is to be bought anew
 */
export async function ownedCompanies(
  store: RunStore,
  { base_url, key_mode, target }: RunIdentity,
  datasetVersion: string | null,
  { fresh, limit = Number.POSITIVE_INFINITY }: Pick<ExportOptions, "fresh" | "limit">,
  { now }: Pick<ExportDeps, "now">,
): Promise<ReadonlyMap<number, OwnedReply>> {
  const found = new Map<number, OwnedReply>();
  if (fresh || target.kind !== "enrich") return found;
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
    const indexesOf = ({ intent }: Unit, page = Page.empty): number[] => {
      const company = companies[intent.target];
      const keys = [
        ...(company === undefined ? [] : [companyKey(company)]),
        ...(page.length === 1 ? keysOf(page) : []),
      ];
      return [...new Set(keys.flatMap((key) => wanted.get(key) ?? []))].filter((index) => !found.has(index));
    };
    // Whom this dataset does not have it will not have tomorrow; of one without a name nobody knows.
    for (const unit of datasetVersion === null ? [] : run.state.units.values()) {
      const { miss, refused } = unit.settled ?? {};
      if (miss !== true || refused !== undefined) continue;
      for (const index of indexesOf(unit)) found.set(index, { run: id, body: undefined });
    }
    try {
      for await (const { unit, settled, body } of run.pages()) {
        if (settled.rows !== 1) continue;
        const page = Page.read(body, "company");
        for (const index of page.length === 1 ? indexesOf(unit, page) : []) found.set(index, { run: id, body });
      }
    } catch {
      // What was read before the damage is good.
    }
  }
  return new Map([...found].filter(([, { body }]) => body !== undefined || target.keep !== undefined).slice(0, limit));
}

/** What a company may be asked for by, by its record: a name may be that of several. */
function keysOf(page: Page): string[] {
  const keys = { id: "id", domain: "domain", company_network_url: "company_network_url" } as const;
  return Object.entries(keys).flatMap(([by, field]) => {
    const value = page.identity(0, [field]);
    return value === undefined ? [] : [companyKey({ by: by as CompanyQuery["by"], value })];
  });
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
