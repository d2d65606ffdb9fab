import { join } from "node:path";
import { stateDir } from "../../engine/connections/paths.ts";
import { type RunSpend, readSpend } from "../../engine/runs/spend.ts";
import type { Context } from "../../shared/context.ts";
import type { Credits } from "../../shared/contract/money.ts";
import { monthStart, type Till, tillOf } from "./budget.ts";
import { netOf } from "./outcome.ts";

/** What jobs have spent in this calendar month (UTC), at each service. */
export async function spentByJobs(context: Context): Promise<readonly (Till & { readonly spent: Credits })[]> {
  const { runs } = await readSpend(join(stateDir(context), "runs"), monthStart(context.now()));
  const tills = new Map<string, RunSpend[]>();
  for (const run of runs.filter(({ job, days }) => job !== null && days.length > 0)) {
    const { serviceId, keyMode } = tillOf(run);
    tills.set(`${keyMode} ${serviceId}`, [...(tills.get(`${keyMode} ${serviceId}`) ?? []), run]);
  }
  return [...tills.values()].flatMap(([first, ...more]) =>
    first === undefined ? [] : [{ ...tillOf(first), spent: netOf([first, ...more]) }],
  );
}
