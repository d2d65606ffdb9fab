import { canonicalJson, checkFilters } from "../../contract/filters.ts";
import { creditsToNumber } from "../../contract/money.ts";
import { COSTED_CALLS } from "../../contract/records.ts";
import type { Engine } from "../../dataset/engine.ts";
import type { ConsoleRole } from "../console-store.ts";
import type { ServedDataset } from "../datasets.ts";
import type { KeyMode, Plan, Store, StoredKey } from "../ledger/ledger.ts";
import type { RateLimiter } from "../limits.ts";
import type { Exports } from "./exports.ts";
import { ConsoleRefusal } from "./guard.ts";
import type { RecentRequests } from "./recent.ts";
import type { Sessions, Visitor } from "./sessions.ts";

/** What the endpoints of the console work with. */
export interface ConsoleParts {
  readonly store: Store;
  readonly engine: Engine;
  readonly dataset: (mode: KeyMode) => Promise<ServedDataset>;
  readonly limiter: RateLimiter;
  readonly sessions: Sessions;
  readonly exports: Exports;
  readonly recent: RecentRequests;
  readonly now: () => number;
  readonly monotonic: () => number;
  readonly workTimeoutMs: number;
  /** Milliseconds that a facet may take. */
  readonly facetTimeoutMs: number;
  readonly maxDepth: number | undefined;
  /** `https://service.example` as browsers reach it. */
  readonly origin: string;
}

/** One call of the page, after all checks of who sent it. */
export interface ConsoleCall {
  readonly visitor: Visitor;
  readonly body: Readonly<Record<string, unknown>>;
  readonly query: URLSearchParams;
  readonly params: Readonly<Record<string, string>>;
  readonly parts: ConsoleParts;
}

export interface ConsoleEndpoint {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Below `/console/api`. */
  readonly path: string;
  readonly roles: readonly ConsoleRole[];
  readonly run: (call: ConsoleCall) => Promise<unknown>;
}

export const EVERYBODY: readonly ConsoleRole[] = ["operator", "owner", "viewer", "key"];
/** Who may spend. */
export const BUYERS: readonly ConsoleRole[] = ["operator", "owner", "key"];
/** Who may make and end keys of the account. */
export const OWNERS: readonly ConsoleRole[] = ["operator", "owner"];
export const OPERATORS: readonly ConsoleRole[] = ["operator"];

export const bad = (message: string): ConsoleRefusal => new ConsoleRefusal(422, "invalid", message);

/** The mode of a call: that of the key that signed in, else what the page asks for. */
export function modeOf({ body, query, visitor }: ConsoleCall): KeyMode {
  const given = body.mode ?? query.get("mode") ?? visitor.key?.mode ?? "live";
  if (given === "live" || given === "test") return given;
  throw bad('mode is "live" or "test"');
}

/** The acting key, with one call of its minute taken. @throws ConsoleRefusal 429 */
export function counted(call: ConsoleCall, mode: KeyMode): StoredKey {
  const { parts, visitor } = call;
  const key = parts.sessions.acting(visitor, mode, "count");
  const rate = parts.limiter.take(key.id, visitor.account.plan);
  if (rate.allowed) return key;
  throw new ConsoleRefusal(429, "rate_limited", `the plan's ${rate.limit} calls a ${rate.window} are used up`, {
    headers: { "retry-after": String(rate.retryAfter) },
  });
}

/** @throws ConsoleRefusal 422 with what is wrong under each key */
export function filtersOf({ body }: Pick<ConsoleCall, "body">) {
  const check = checkFilters(body.filters ?? {});
  if (check.ok) return { filters: check.filters, canonical: check.canonical, text: canonicalJson(check.canonical) };
  const issues = check.issues.map(({ key, message }) => ({ key, message }));
  throw new ConsoleRefusal(422, "invalid_filters", issues.map(({ message }) => message).join("; "), { issues });
}

export function textOf(value: unknown, name: string, max = 200): string {
  if (typeof value === "string" && value.trim() !== "" && value.length <= max) return value.trim();
  throw bad(`${name} is a text of 1 to ${max} characters`);
}

export function wholeOf(value: unknown, name: string, min: number, max: number): number {
  if (typeof value === "number" && Number.isInteger(value) && value >= min && value <= max) return value;
  throw bad(`${name} is a whole number from ${min} to ${max}`);
}

/** Who acts, for the audit. */
export const byOf = ({ session }: ConsoleCall["visitor"]): string => `console:${session.id} (${session.role})`;

export const planOf = ({ costs, name, perDay, perMinute }: Plan) => ({
  name,
  per_minute: perMinute,
  per_day: perDay,
  costs: Object.fromEntries(COSTED_CALLS.map((costed) => [costed, creditsToNumber(costs[costed])])),
});
