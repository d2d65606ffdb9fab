// Tested by test/cli/naming.test.ts.
import { kindOf } from "../../engine/output/distinct.ts";
import type { Context } from "../../shared/context.ts";
import { canonicalAddress, type Networks } from "../../shared/contract/naming/address.ts";
import { Page } from "../../shared/rows/page.ts";
import { openRuns } from "../keep/store.ts";

/** The newest runs, of each the first page: a service has its profiles at one host, or at few. */
const LOOKED_AT = 20;

/** Hosts at which the records that were bought have profiles. */
export async function learnedNetworks(context: Context): Promise<Networks> {
  const store = openRuns(context);
  const hosts = new Set<string>();
  const newest = (await store.ids()).toSorted().toReversed().slice(0, LOOKED_AT);

  for (const id of newest) {
    // One that cannot be read teaches nothing: whoever reads it says so.
    const addresses = await firstAddresses(store, id).catch(() => []);
    for (const text of addresses) {
      const [host = "", , name] = (canonicalAddress(text) ?? "").split("/");
      if (name !== undefined) hosts.add(host);
    }
  }

  return hosts;
}

async function firstAddresses(store: ReturnType<typeof openRuns>, id: string): Promise<string[]> {
  const run = await store.open(id);
  for await (const { body } of run.pages()) {
    const page = Page.read(body, kindOf(run));
    const fields = kindOf(run) === "person" ? ["network_url"] : ["company_network_url"];
    return page.indexes.map((row) => page.identity(row, fields) ?? "");
  }
  return [];
}
