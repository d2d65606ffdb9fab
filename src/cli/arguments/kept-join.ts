// Tested by test/cli/keep-input.test.ts.
import type { SharedHost } from "../../app/buy/column.ts";
import { readKept } from "../../app/buy/input-table.ts";
import type { Target } from "../../engine/runs/plan.ts";
import type { RunStore } from "../../engine/runs/run-store.ts";
import { companyKey } from "../../shared/contract/naming/read.ts";
import { failed } from "../../shared/errors.ts";
import { type InputTable, readTable } from "../../shared/tables/table.ts";

/** The table that was kept with the run: who was left out when it began stays so. */
export async function keptJoin(store: RunStore, id: string, target: Target) {
  const { keep } =
    (target.kind === "search" ? target.staff : target.kind === "enrich" && target) || {};
  if (keep === undefined) return undefined;

  const companies = target.kind === "search" ? (target.staff?.prospects ?? []) : target.companies;
  const keys = new Set(companies.map(companyKey));
  const { join } = await readKept(
    await keptTable(store, id),
    "the table",
    { ...keep, agree: agreedBy(keys), learn: async () => new Set(keep.networks) },
    (company) => !keys.has(companyKey(company)),
  );
  return join;
}

/** Of hosts that rows share, those that were agreed to when the run began. */
const agreedBy = (keys: ReadonlySet<string>) => async (hosts: readonly SharedHost[]) =>
  new Set(
    hosts.flatMap(({ host }) =>
      keys.has(companyKey({ by: "domain", value: host })) ? [host] : [],
    ),
  );

/**
 * @throws CliError exit 5 where a crash came before the table was kept: nothing was bought by then
 */
async function keptTable(store: RunStore, id: string): Promise<InputTable> {
  const text = await store.input(id).catch((cause: unknown) => {
    throw failed.incomplete(
      `run ${id} has no copy of the table that it was to be put to`,
      "the same command begins with it again; headcount runs export " +
        `${id} writes the companies that it holds`,
      "no_input",
      cause,
    );
  });
  return readTable("the table", Buffer.from(text));
}
