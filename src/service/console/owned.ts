// Tested by test/service/owned.test.ts.
import type { Person } from "../../shared/contract/records.ts";
import { countPeople } from "../http/sale.ts";
import {
  BUYERS,
  type ConsoleCall,
  type ConsoleEndpoint,
  countedPeople,
  EVERYBODY,
  filtersOf,
  maySee,
  modeOf,
  ownedHere,
} from "./call.ts";
import { storedPage } from "./exports.ts";

export const OWNED_ENDPOINTS: readonly ConsoleEndpoint[] = [
  { method: "POST", path: "/owned", roles: EVERYBODY, run: owned },
  { method: "POST", path: "/owned/people", roles: BUYERS, run: people },
];

async function looked(call: ConsoleCall) {
  const mode = modeOf(call);
  const asker = countedPeople(call, mode, "count");
  const { filters, canonical } = filtersOf(call);
  const { count } = await countPeople(asker, call.parts, { canonical, filters });
  return { mode, count, mine: await ownedHere(asker, call.parts, { within: filters, count }) };
}

export type OwnedAnswer = Awaited<ReturnType<typeof owned>>;

/** How many of a segment are the account's, and how many are new to it. */
async function owned(call: ConsoleCall) {
  const { count, mine } = await looked(call);
  return { count, owned: mine?.ids.length ?? null, new: mine?.fresh ?? null };
}

/** The most rows of one answer, and the most pages that are looked through for them. */
const ROWS_MAX = 2_000;
const PAGES_MAX = 100;

export type OwnedPeopleAnswer = Awaited<ReturnType<typeof people>>;

/** Their rows, as far as they are kept: as they were bought last. */
async function people(call: ConsoleCall) {
  const { mode, mine } = await looked(call);
  const { parts, visitor } = call;
  const wanted = new Set(mine?.ids);
  const found: Person[] = [];

  const all = await parts.store.console.exports({ accountId: visitor.account.id, mode });
  const pages = all
    .filter((item) => parts.exports.isKept(item) && maySee(visitor.key)(item))
    .sort((one, other) => other.createdAt - one.createdAt)
    .flatMap((item) => Array.from({ length: item.pages }, (_, page) => ({ item, page })));

  for (const { item, page } of pages.slice(0, PAGES_MAX)) {
    if (wanted.size === 0 || found.length >= ROWS_MAX) break;
    const reply = JSON.parse(await storedPage(parts, item, page)) as {
      readonly result: readonly Person[];
    };
    found.push(...reply.result.filter(({ id }) => wanted.delete(id)));
  }

  return { people: found, owned: mine?.ids.length ?? null };
}
