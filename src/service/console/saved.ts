// Tested by test/foreign/console-owned.test.ts.
import type { Filters } from "../../shared/contract/vocabulary.ts";
import { timeOf } from "../ledger/clock.ts";
import type { StoredSegment } from "../ledger/records.ts";
import { hashOf } from "../money/keys.ts";
import {
  BUYERS,
  bodyText,
  type ConsoleCall,
  type ConsoleEndpoint,
  countedPeople,
  countNow,
  EVERYBODY,
  maySee,
  modeOf,
} from "./call.ts";
import { ConsoleRefusal } from "./guard.ts";

export const SAVED_ENDPOINTS: readonly ConsoleEndpoint[] = [
  { method: "GET", path: "/segments", roles: EVERYBODY, run: list },
  { method: "POST", path: "/segments", roles: BUYERS, run: save },
  { method: "DELETE", path: "/segments/:id", roles: BUYERS, run: remove },
];

/** So many that somebody can look through them, and a table that nobody fills. */
const SEGMENTS_MAX = 200;

export type SegmentsAnswer = Awaited<ReturnType<typeof list>>;

const segmentsOf = async ({ parts, visitor }: ConsoleCall, mode: "live" | "test") => {
  const all = await parts.store.console.segments({ accountId: visitor.account.id, mode });
  return all.filter(maySee(visitor.key));
};

async function list(call: ConsoleCall) {
  return { segments: (await segmentsOf(call, modeOf(call))).map(shown) };
}

function shown(segment: StoredSegment) {
  const { bought, boughtAt, countedAt, createdAt, filters, id, keyId, name, people } = segment;
  return {
    id,
    name,
    by: keyId,
    filters: JSON.parse(filters) as Filters,
    count: people,
    counted: timeOf(countedAt),
    made: timeOf(createdAt),
    bought,
    bought_at: timeOf(boughtAt),
  };
}

/** Counts it, and keeps it under its name: saved again under the same one it is another segment. */
async function save(call: ConsoleCall) {
  const { body, parts, visitor } = call;
  const mode = modeOf(call);
  const name = bodyText(body.name, "name", 80);
  const asker = countedPeople(call, mode, "count");
  const before = await segmentsOf(call, mode);
  if (before.length >= SEGMENTS_MAX && before.every((each) => each.name !== name)) {
    throw new ConsoleRefusal(
      409,
      "too_many",
      `${SEGMENTS_MAX} segments are saved: remove one of them first`,
    );
  }

  const { canonical, count, filters } = await countNow(call, asker);
  const { accountId, id: keyId, origin } = asker.call.key;
  const owner = visitor.key === undefined ? "" : origin;
  const now = parts.now();
  await parts.store.console.saveSegment({
    id: hashOf(`${accountId}\n${mode}\n${owner}\n${name}`).slice(0, 16),
    accountId,
    mode,
    keyId,
    name,
    filters: JSON.stringify(filters),
    segment: hashOf(canonical),
    people: count,
    countedAt: now,
    createdAt: now,
  });
  return list(call);
}

async function remove(call: ConsoleCall) {
  const { params, parts, visitor } = call;
  const own = [...(await segmentsOf(call, "live")), ...(await segmentsOf(call, "test"))];
  const segment = own.find(({ id }) => id === params.id);
  if (segment === undefined)
    throw new ConsoleRefusal(404, "no_segment", "there is no such saved segment");
  return { removed: await parts.store.console.removeSegment(visitor.account.id, segment.id) };
}
