// Tested by test/cli/search.test.ts.
import { join } from "node:path";
import { canonicalJson, checkFilters } from "../../shared/contract/filters.ts";
import { companyKey } from "../../shared/contract/naming/read.ts";
import { echo } from "../../shared/contract/text.ts";
import type { Filters } from "../../shared/contract/vocabulary.ts";
import { makeFolder } from "../../shared/folder.ts";
import { lockedPart } from "../output/tables/target.ts";
import { type Claim, type LockOptions, withClaims } from "../runs/lock.ts";
import { isNarrowed, type Target } from "../runs/plan.ts";
import type { Run } from "../runs/run.ts";
import type { ExportDeps, Trade } from "./order.ts";

const waiting = (deps: ExportDeps): Omit<LockOptions, "what"> => ({
  now: deps.now,
  sleep: deps.sleep,
  signal: deps.interrupted,
  onWait: (holder, what) =>
    deps.onNotice(`waiting for process ${holder?.pid ?? "?"}, which is at work on ${what}`),
});

export const lockOptions = (what: string, wait: boolean, deps: ExportDeps): LockOptions => ({
  what,
  wait,
  ...waiting(deps),
});

export const openRun = (id: string, { store, options, deps }: Trade): Promise<Run> =>
  store.openForWriting(id, lockOptions(`run ${id}`, options.wait, deps));

type Where = Pick<ExportDeps, "seller">;

/** Two commands that look for a service's new people would find the same ones. */
export const newPeople = ({ seller }: Where, waits: boolean): Claim => {
  const what = `the new people of ${seller.serviceId}`;
  return { what, key: what, waits };
};

export function theSegment(filters: Filters, { seller }: Where, waits: boolean): Claim {
  const check = checkFilters(filters);
  const text = check.ok ? canonicalJson(check.canonical) : JSON.stringify(filters);
  return { what: "the same segment", key: `${seller.serviceId} search ${text}`, waits };
}

/** Its file, or the file of the table that it is. */
export const theOutput = (output: string | undefined, waits: boolean): Claim[] =>
  output === undefined ? [] : [{ what: output, key: lockedPart(output), waits }];

/**
 * What a purchase would pay for twice or write over, were two
 * of them at work at once (docs/reference/runs.md, "Several at once").
 */
export function claimsOf(target: Target, { output, wait }: Trade["options"], deps: Where): Claim[] {
  const file = theOutput(output, wait);
  if (target.kind !== "search") {
    const { serviceId } = deps.seller;
    const companies = target.companies.map((company) => ({
      what: echo(company.value),
      key: `${serviceId} ${target.kind} ${companyKey(company)}`,
      waits: wait,
    }));
    return [...file, ...companies];
  }

  const { union = [target.filters], list } = target;
  return [
    ...file,
    ...(isNarrowed(target) ? [newPeople(deps, wait)] : []),
    // A refresh has claimed what it buys for its list.
    ...(list === undefined ? union.map((filters) => theSegment(filters, deps, wait)) : []),
  ];
}

/** Works while nobody else has any of it, wherever its state folder is. @throws CliError exit 9 */
export async function alone<T>(
  claims: readonly Claim[],
  deps: ExportDeps,
  work: () => Promise<T>,
): Promise<T> {
  // A refresh that is only priced claims nothing.
  if (claims.length === 0) return await work();

  const folder = join(deps.stateDir, "locks");
  makeFolder(folder);
  return await withClaims(folder, claims, waiting(deps), work);
}
