import { Page } from "../../shared/rows/page.ts";
import type { CompanyQuery } from "../client/types.ts";
import type { Unit } from "../runs/journal.ts";
import { companyKey, isForgiving, type RunIdentity } from "../runs/plan.ts";
import type { RunStore } from "../runs/run-store.ts";
import type { ExportDeps, ExportOptions } from "./order.ts";
import type { OwnedPage } from "./ownership.ts";

const LOOKS = 300;
/** How long a company counts as known where the service does not say which dataset it answers from. */
const FRESH_MS = 30 * 86_400_000;

/**
 * What was bought before of the companies of a run, by their index: of the same service, kind of key and dataset,
 * whatever they were named by.
 */
export async function ownedCompanies(
  store: RunStore,
  { base_url, key_mode, target }: RunIdentity,
  datasetVersion: string | null,
  { fresh, limit = Number.POSITIVE_INFINITY }: Pick<ExportOptions, "fresh" | "limit">,
  { now }: Pick<ExportDeps, "now">,
): Promise<readonly OwnedPage[]> {
  const found = new Map<number, Pick<OwnedPage, "run" | "body">>();
  if (fresh || target.kind !== "enrich") return [];
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
  return [...found]
    .filter(([, { body }]) => body !== undefined || isForgiving(target))
    .slice(0, limit)
    .map(([index, reply]) => ({
      target: index,
      offset: 0,
      perPage: 1,
      rows: reply.body === undefined ? 0 : 1,
      ...reply,
    }));
}

/** What a company may be asked for by, by its record: a name may be that of several. */
function keysOf(page: Page): string[] {
  const keys = { id: "id", domain: "domain", company_network_url: "company_network_url" } as const;
  return Object.entries(keys).flatMap(([by, field]) => {
    const value = page.identity(0, [field]);
    return value === undefined ? [] : [companyKey({ by: by as CompanyQuery["by"], value })];
  });
}
