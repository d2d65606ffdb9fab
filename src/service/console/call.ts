import type { Engine } from "../../dataset/engine.ts";
import { canonicalJson, checkFilters } from "../../shared/contract/filters.ts";
import { type Credits, typedCredits, ZERO } from "../../shared/contract/money.ts";
import type { CanonicalFilters } from "../../shared/contract/vocabulary.ts";
import type { RateLimiter } from "../http/limits.ts";
import type { WholeFile } from "../http/options.ts";
import { type Asker, countPeople, inFreeTurn, type ServiceParts } from "../http/sale.ts";
import type { KeyMode, Scope, Spender, StoredKey } from "../ledger/ledger.ts";
import type { ConsoleExport, ConsoleRole, StoredExport } from "../ledger/records.ts";
import { ownedAmong } from "../people/owned.ts";
import { ConsoleRefusal, type consoleGuard, takeCall } from "./guard.ts";
import type { Sessions, Visitor } from "./sessions.ts";

export interface ConsoleParts extends ServiceParts {
  readonly engine: Engine;
  readonly limiter: RateLimiter;
  readonly sessions: Sessions;
  readonly exports: {
    readonly work: (item: ConsoleExport, key: Spender) => void;
    readonly viewOf: (item: ConsoleExport) => ConsoleExport;
    readonly isWorking: (item: ConsoleExport) => boolean;
    readonly isKept: (item: ConsoleExport) => boolean;
    readonly close: () => Promise<void>;
  };
  readonly maxDepth: number | undefined;
  /** Undefined: files are written row by row alone. */
  readonly wholeFile: WholeFile | undefined;
  readonly monotonic: () => number;
  readonly guard: ReturnType<typeof consoleGuard>;
  readonly origin: string;
}

export interface ConsoleCall {
  readonly visitor: Visitor;
  readonly body: Readonly<Record<string, unknown>>;
  readonly query: URLSearchParams;
  readonly params: Readonly<Record<string, string>>;
  readonly parts: ConsoleParts;
}

export interface ConsoleEndpoint {
  readonly method: "GET" | "POST" | "DELETE";
  readonly path: string;
  readonly roles: readonly ConsoleRole[];
  readonly run: (call: ConsoleCall) => Promise<unknown>;
}

export type ExportFormat = "csv" | "ndjson" | "xlsx" | "parquet";

/** What this service can write an export as. */
export const formatsOf = ({
  wholeFile,
}: Pick<ConsoleParts, "wholeFile">): readonly ExportFormat[] =>
  wholeFile === undefined ? ["csv", "ndjson"] : ["csv", "ndjson", "xlsx", "parquet"];

export const EVERYBODY: readonly ConsoleRole[] = ["owner", "viewer", "key"];
export const BUYERS: readonly ConsoleRole[] = ["owner", "key"];
export const OWNERS: readonly ConsoleRole[] = ["owner"];

/**
 * An export that the session may see: a key sees those of its chain of rotations.
 * @throws ConsoleRefusal 404
 */
export async function exportOf({ params, parts, visitor }: ConsoleCall): Promise<StoredExport> {
  const item = await parts.store.console.export(visitor.account.id, params.id ?? "");
  if (item !== undefined && maySee(visitor.key)(item)) return item;
  throw new ConsoleRefusal(404, "no_export", "there is no such export");
}

export const maySee =
  (key: StoredKey | undefined) =>
  (item: Pick<StoredExport, "origin">): boolean =>
    key === undefined || item.origin === key.origin;

export const bad = (message: string): ConsoleRefusal => new ConsoleRefusal(422, "invalid", message);

export const modeOf = ({
  body,
  query,
  visitor,
}: Pick<ConsoleCall, "body" | "query" | "visitor">): KeyMode =>
  chosen(body.mode ?? query.get("mode") ?? visitor.key?.mode ?? "live", "mode", ["live", "test"]);

export function chosen<Word extends string>(
  value: unknown,
  name: string,
  words: readonly Word[],
): Word {
  const choice = words.find((word) => word === value);
  if (choice === undefined)
    throw bad(`${name} is ${words.map((word) => `"${word}"`).join(" or ")}`);
  return choice;
}

/** Who asks, once a call of the plan is taken. @throws Problem 403; ConsoleRefusal 429 */
export function countedPeople({ parts, visitor }: ConsoleCall, mode: KeyMode, scope: Scope): Asker {
  const { account } = visitor;
  const key = parts.sessions.acting(visitor, mode, scope);
  takeCall(parts.limiter, key, account);
  return { call: { requestId: "console", charged: ZERO, account, key }, isGone: () => false };
}

/** Counts the segment of a call, and says how long that took. */
export async function countNow(call: ConsoleCall, asker: Asker) {
  const { asked, ...segment } = filtersOf(call);
  const { monotonic } = call.parts;
  const start = monotonic();
  const result = await countPeople(asker, call.parts, segment);
  const ms = Math.round((monotonic() - start) * 10) / 10;
  return { ...result, ...segment, filters: asked, within: segment.filters, ms };
}

export function filtersOf({ body }: Pick<ConsoleCall, "body">) {
  if (body.filters === undefined) throw bad("filters is required; {} is everybody");

  const check = checkFilters(body.filters);
  if (check.ok) {
    const { canonical, filters } = check;
    return { asked: filters, filters: canonical, canonical: canonicalJson(canonical) };
  }

  const issues = check.issues.map(({ key, message }) => ({ key, message }));
  throw new ConsoleRefusal(
    422,
    "invalid_filters",
    issues.map(({ message }) => message).join("; "),
    { issues },
  );
}

export function bodyText(value: unknown, name: string, max = 200): string {
  const isText = typeof value === "string" && value.trim() !== "" && value.length <= max;
  if (isText && !/\p{Cc}/u.test(value)) return value.trim();
  throw bad(`${name} is a text of 1 to ${max} characters in one line`);
}

const MOST_CREDITS = 1_000_000_000_000;

export function amountOf(value: unknown, name: string): Credits {
  const amount = typedCredits(value);
  if (amount !== undefined && amount <= BigInt(MOST_CREDITS) * 1_000_000n) return amount;
  throw bad(`${name} is a number of credits, 0 to ${MOST_CREDITS}`);
}

export function wholeOf(value: unknown, name: string, min: number, max: number): number {
  if (typeof value === "number" && Number.isInteger(value) && value >= min && value <= max)
    return value;
  throw bad(`${name} is a whole number from ${min} to ${max}`);
}

export const byOf = ({ session }: ConsoleCall["visitor"]): string =>
  `console:${session.id} (${session.role})`;

/** Whom of a counted segment the account owns; undefined where that is too many to look at. */
export async function ownedHere(
  asker: Asker,
  parts: ServiceParts,
  { count, within: filters }: { readonly within: CanonicalFilters; readonly count: number },
) {
  const { accountId, mode } = asker.call.key;
  const { engine } = await parts.dataset(mode);
  const look = () => ownedAmong(parts.store, { accountId, mode }, { count, engine, filters });
  return inFreeTurn(asker, parts, look);
}
