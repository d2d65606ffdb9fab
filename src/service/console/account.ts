import { type Credits, creditsOrNull, creditsToNumber } from "../../shared/contract/money.ts";
import { COUNT_CACHE_SECONDS, PER_PAGE_MAX } from "../../shared/contract/records.ts";
import { harmless, momentMs, present } from "../../shared/contract/text.ts";
import { createKey } from "../admin/keys.ts";
import { timeOf } from "../ledger/clock.ts";
import { StoreConflictError } from "../ledger/errors.ts";
import {
  type KeyDetail,
  type KeyMode,
  type LedgerEntry,
  leftOfCap,
  SCOPES,
  type Scope,
  type UsageGroup,
} from "../ledger/ledger.ts";
import { suspended } from "../problem.ts";
import {
  amountOf,
  bad,
  bodyText,
  byOf,
  type ConsoleCall,
  type ConsoleEndpoint,
  chosen,
  EVERYBODY,
  formatsOf,
  modeOf,
  OWNERS,
  wholeOf,
} from "./call.ts";
import { ConsoleRefusal } from "./guard.ts";

const DAY_MS = 86_400_000;

const inNumbers = <Name extends string>(amounts: Readonly<Record<Name, Credits>>) =>
  Object.fromEntries(
    Object.entries<Credits>(amounts).map(([name, value]) => [name, creditsToNumber(value)]),
  ) as Readonly<Record<Name, number>>;
const MAX_PAGE = 200;

export const ACCOUNT_ENDPOINTS: readonly ConsoleEndpoint[] = [
  { method: "GET", path: "/me", roles: EVERYBODY, run: me },
  { method: "GET", path: "/usage", roles: EVERYBODY, run: usage },
  { method: "GET", path: "/entries", roles: EVERYBODY, run: entries },
  { method: "GET", path: "/keys", roles: EVERYBODY, run: keys },
  { method: "POST", path: "/keys", roles: OWNERS, run: makeKey },
  { method: "DELETE", path: "/keys/:id", roles: OWNERS, run: revoke },
];

export type MeAnswer = Awaited<ReturnType<typeof me>>;

async function me(call: ConsoleCall) {
  const { parts, visitor } = call;
  const { account, key } = visitor;
  const { plan } = account;
  const costs = inNumbers(plan.costs);
  const modes: readonly KeyMode[] = key === undefined ? ["live", "test"] : [key.mode];
  const balances = await Promise.all(
    modes.map(async (mode) => {
      const { balance, held, usedToday } = await parts.store.balance(account.id, mode);
      const owns = await parts.store.people.ownsAnybody({ accountId: account.id, mode });
      return { mode, owns, ...inNumbers({ balance, held, used_today: usedToday }) };
    }),
  );

  return {
    role: visitor.session.role,
    account: { id: account.id, name: account.name },
    modes: balances,
    plan: {
      name: plan.name,
      per_minute: plan.perMinute,
      per_day: plan.perDay,
      small_counts: plan.smallCounts,
      keep_days: plan.keepDays,
      costs,
    },
    limits: {
      per_page_max: PER_PAGE_MAX,
      max_depth: parts.maxDepth ?? null,
      count_cache_seconds: COUNT_CACHE_SECONDS,
    },
    dataset: parts.engine.info(),
    formats: formatsOf(parts),
    origin: parts.origin,
  };
}

const ownKey = ({ visitor }: ConsoleCall): { readonly keyId?: string } =>
  visitor.key === undefined ? {} : { keyId: visitor.key.id };

const GROUPS: Readonly<Record<"day" | "key" | "call", readonly UsageGroup[]>> = {
  day: ["day"],
  key: ["day", "key"],
  call: ["day", "call"],
};

export type UsageAnswer = Awaited<ReturnType<typeof usage>>;

async function usage(call: ConsoleCall) {
  const { parts, query, visitor } = call;
  const by = GROUPS[chosen(query.get("by") ?? "day", "by", ["day", "key", "call"])];
  const days = wholeOf(Number(query.get("days") ?? 30), "days", 1, 366);
  const since = new Date(parts.now() - (days - 1) * DAY_MS).toISOString().slice(0, 10);
  const rows = await parts.store.usage({
    accountId: visitor.account.id,
    mode: modeOf(call),
    by,
    since,
    ...ownKey(call),
  });

  return {
    since,
    days,
    rows: rows.map(({ call: name, calls, charged, day, keyId, refunded, rows: people }) => ({
      day,
      key: keyId,
      call: name,
      calls,
      rows: people,
      credits: creditsToNumber(charged),
      refunded: creditsToNumber(refunded),
    })),
  };
}

const shownEntry = ({
  actor,
  amount,
  at,
  balanceAfter,
  call,
  id,
  keyId,
  kind,
  note,
  ...entry
}: LedgerEntry) => ({
  id: String(id),
  at: timeOf(at),
  kind,
  call,
  key: keyId,
  actor,
  rows: entry.rows,
  price: creditsOrNull(entry.price),
  amount: creditsToNumber(amount),
  balance_after: creditsToNumber(balanceAfter),
  request_id: entry.requestId,
  note,
});

export type EntriesAnswer = Awaited<ReturnType<typeof entries>>;

async function entries(call: ConsoleCall) {
  const { parts, query, visitor } = call;
  const limit = wholeOf(Number(query.get("limit") ?? 50), "limit", 1, MAX_PAGE);
  const after = query.get("after");
  if (after !== null && !/^\d{1,18}$/.test(after)) throw bad("after is the id of an entry");

  const rows = await parts.store.entries({
    accountId: visitor.account.id,
    mode: modeOf(call),
    ...present({
      keyId: query.get("key") ?? undefined,
      call: query.get("call") ?? undefined,
      before: after === null ? undefined : BigInt(after),
    }),
    ...ownKey(call),
    limit: limit + 1,
  });
  const page = rows.slice(0, limit);

  return {
    entries: page.map(shownEntry),
    next: rows.length > limit ? String(page.at(-1)?.id) : null,
  };
}

function shownKey(key: KeyDetail) {
  const { budget, createdAt, expiresAt, id, lastUsedAt, mode, prefix, revokedAt, scopes, spent } =
    key;

  return {
    id,
    name: harmless(key.name),
    mode,
    prefix,
    scopes,
    made: timeOf(createdAt),
    used: timeOf(lastUsedAt),
    expires: timeOf(expiresAt),
    revoked: timeOf(revokedAt),
    credits: creditsToNumber(spent),
    cap: budget && creditsToNumber(budget.cap),
    cap_left: budget && creditsToNumber(leftOfCap(budget)),
  };
}

export type KeysAnswer = Awaited<ReturnType<typeof keys>>;

async function keys(call: ConsoleCall) {
  const { parts, visitor } = call;
  const details = await parts.store.listKeys(visitor.account.id);
  const own =
    visitor.key === undefined ? details : details.filter(({ id }) => id === visitor.key?.id);
  return { keys: own.map(shownKey) };
}

async function makeKey(call: ConsoleCall) {
  const { body, parts, visitor } = call;
  if (visitor.account.suspendedAt !== null) throw suspended();

  const { expires_at: expires = null, max_credits: cap = null, scopes = null } = body;
  const init = {
    name: bodyText(body.name, "name", 80),
    mode: modeOf(call),
    accountId: visitor.account.id,
    now: parts.now,
    expiresAt: expires === null ? null : momentOf(expires, parts.now()),
    maxCredits: cap === null ? null : amountOf(cap, "max_credits"),
    scopes: scopes === null ? null : scopesOf(scopes),
  };
  return administered(createKey(parts.store, init, { by: byOf(visitor) }));
}

async function administered<Value>(act: Promise<Value>): Promise<Value> {
  try {
    return await act;
  } catch (error) {
    if (error instanceof StoreConflictError)
      throw new ConsoleRefusal(409, "conflict", error.message);
    if (error instanceof RangeError) throw bad(error.message);
    throw error;
  }
}

function momentOf(value: unknown, now: number): number {
  const at = typeof value === "string" ? momentMs(value) : Number.NaN;
  if (at > now) return at;
  throw bad("expires_at is a time to come, such as 2027-01-31T00:00:00Z");
}

function scopesOf(value: unknown): readonly Scope[] {
  const list: readonly unknown[] = Array.isArray(value) ? value : [];
  if (list.length > 0 && list.every((each) => SCOPES.some((scope) => scope === each))) {
    return SCOPES.filter((scope) => scope === "account" || list.includes(scope));
  }
  throw bad(`scopes is a list of ${SCOPES.join(", ")}; null for all of them`);
}

async function revoke({ body, params, parts, visitor }: ConsoleCall) {
  const key = await parts.store.key(params.id ?? "");
  if (key?.accountId !== visitor.account.id) {
    throw new ConsoleRefusal(404, "no_key", "there is no such key in this account");
  }

  const busy = key.lastUsedAt !== null && parts.now() - key.lastUsedAt < DAY_MS;
  if (busy && body.confirm !== harmless(key.name)) {
    throw new ConsoleRefusal(
      409,
      "confirm",
      "this key was used within a day: confirm with its name",
    );
  }

  return { revoked: await parts.store.revokeKey(key.id, { by: byOf(visitor) }) };
}
