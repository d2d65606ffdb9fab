import type { AccountView } from "../../engine/client/types.ts";
import { otherThan } from "../../engine/output/join.ts";
import { runIdentityOf } from "../../engine/purchase/offer.ts";
import { ownedCompanies } from "../../engine/purchase/owned-companies.ts";
import { type Prospect, type Target, targetText } from "../../engine/runs/plan.ts";
import { RunStore } from "../../engine/runs/run-store.ts";
import { spentBy } from "../../engine/runs/spend.ts";
import type { Credits } from "../../shared/contract/money.ts";
import { Page } from "../../shared/rows/page.ts";
import type { World } from "./order.ts";

const NOTHING = Buffer.from('{"result":[]}');

type LookUps = Target & { readonly kind: "enrich" };

/** What is looked up so as to have the address of each company; undefined where all have one. */
export function lookUpsOf(companies: readonly Prospect[]): LookUps | undefined {
  const others = companies.filter(({ by }) => by !== "company_network_url");
  return others.length === 0 ? undefined : { kind: "enrich", companies: others, lookUp: true };
}

/** The companies with the addresses that paid look-ups tell; of the others in words why none. Free. */
export async function withAddresses(
  companies: readonly Prospect[],
  target: LookUps,
  account: AccountView,
  { stateDir, disk, seller, now }: World,
): Promise<readonly Prospect[]> {
  const store = new RunStore(stateDir, disk);
  const identity = runIdentityOf(target, null, account, seller);
  const how = { fresh: false, limit: undefined };
  const pages = await ownedCompanies(store, identity, account.datasetVersion ?? null, how, { now });
  const bodies = new Map(pages.map(({ target: index, body }) => [target.companies[index], body]));
  return companies.map((company): Prospect => {
    if (company.by === "company_network_url") return { ...company, address: company.value };
    const page = Page.read(bodies.get(company) ?? NOTHING, "company");
    const why = page.length === 0 ? undefined : otherThan(company, page.row(0));
    const address = why === undefined && page.length > 0 ? page.identity(0, ["company_network_url"]) : undefined;
    return address === undefined
      ? { ...company, why: why ?? "no profile address of it is known" }
      : { ...company, address };
  });
}

/** What the look-ups cost this account so far, in all sessions. A cap of the people counts it. */
export function spentOn(target: LookUps, account: AccountView, { stateDir, disk, seller }: World): Promise<Credits> {
  const { base_url: service, account_id: payer } = runIdentityOf(target, null, account, seller);
  const wanted = targetText(target);
  return spentBy(
    new RunStore(stateDir, disk).folder,
    (plan) => plan.base_url === service && plan.account_id === payer && targetText(plan.target) === wanted,
  );
}
