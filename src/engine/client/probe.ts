import { type Credits, creditsLess, ZERO } from "../../shared/contract/money.ts";
import type { CliError } from "../../shared/errors.ts";
import { accountView, countShape, countView } from "./account-view.ts";
import type { Dialect } from "./dialect.ts";
import { unwrap } from "./envelope.ts";
import { isWithoutRoute, LostReplyError, ServiceError, withoutCounts } from "./errors.ts";
import { serverClock } from "./rate-limit.ts";
import { USUAL_BOUNDS } from "./refusal.ts";
import { patienceOf } from "./retry.ts";
import { type Access, openCalls, type ServiceCall } from "./transport.ts";
import type { AccountView } from "./types.ts";

export interface ProbeReport extends PagingReport {
  readonly elapsedMs: number;
  /** How far the service's clock is ahead of ours, milliseconds. */
  readonly skewMs: number | undefined;
  readonly account: AccountView;
  readonly balanceFell: Credits;
  readonly rateLimitHeaders: boolean;
  readonly countShape: string | undefined;
  /** Why nothing was counted, where the service has no such call. */
  readonly uncounted: CliError | undefined;
  /** As the contract says. Searches are tried only then. */
  readonly refusesUnknownFilters: boolean;
}

const holdsRows = (result: unknown): boolean =>
  Array.isArray(result)
    ? result.length > 0
    : Object.values(result ?? {}).some((v) => Array.isArray(v) && v.length > 0);

function answered({ result, meta }: ReturnType<typeof unwrap>): Answer {
  const charged = meta.creditsUsed === undefined ? holdsRows(result) : meta.creditsUsed > 0n;
  const count = countView(result, meta)?.count;
  return { kind: charged ? "charged" : "taken", requestId: meta.requestId, count };
}

function refusedWith(error: unknown): Answer {
  if (error instanceof LostReplyError && !/ABORTED|TIMEOUT/.test(error.code))
    return { kind: "nothing" };
  if (!(error instanceof ServiceError)) throw error;
  const { status, envelope, requestId } = error;
  if ((error.creditsUsed ?? 0n) > 0n) return { kind: "charged", requestId };
  if (status === 422 || status === 400) return { kind: "refused", faults: error.detail.length };
  return { kind: status === 404 && envelope ? "miss" : "nothing" };
}

/** By free calls alone. @throws ServiceError or LostReplyError where `account` or `count` fails */
export async function probeService(
  options: Access & Pick<ServiceCall, "signal">,
): Promise<ProbeReport> {
  const { now, signal } = options;
  const calls = openCalls({ ...options, timeouts: { free: patienceOf(0) } });
  const send = (method: ServiceCall["method"], path: string, body?: unknown) =>
    calls.send({ method, path, body, signal });

  const look = async () => {
    const reply = await send("GET", "/v1/account");
    const at = now();
    const { result, meta } = unwrap(reply, at);
    return { account: accountView(result, meta), at, meta, clock: serverClock(reply.headers) };
  };

  const ask: AskPage = async (method, path, body) => {
    try {
      return answered(unwrap(await send(method, path, body), now()));
    } catch (error) {
      return refusedWith(error);
    }
  };

  try {
    const startedAt = now();
    const { account, at, meta, clock } = await look();
    const all = await send("POST", "/v1/person/count", { filters: {} });
    const counted = isWithoutRoute(all) ? undefined : unwrap(all, now());
    const people = counted && countView(counted.result, counted.meta)?.count;

    const strict = counted !== undefined && (await refusesUnknown(ask));
    const isEmpty = strict && (people ?? 0) > 0 && (await hasNobody(ask));
    const paging = await probePaging(ask, strict, isEmpty ? NOBODY : undefined);
    const { balance = ZERO } = account;
    const left = (await look().catch(() => undefined))?.account.balance ?? balance;

    return {
      balanceFell: creditsLess(balance, left),
      elapsedMs: at - startedAt,
      skewMs: clock === undefined ? undefined : clock + 500 - (startedAt + at) / 2,
      account,
      rateLimitHeaders: meta.rateLimit !== undefined,
      countShape: people === undefined ? undefined : countShape(counted?.result),
      uncounted: counted === undefined ? withoutCounts(all) : undefined,
      refusesUnknownFilters: strict,
      ...paging,
      perPageMax: account.perPageMax ?? paging.perPageMax,
    };
  } finally {
    await calls.close();
  }
}

const UNKNOWN_FILTER = { headcount_doctor_probe: "no such filter" };
const NOBODY = { name: "headcount doctor probe", connections_min: Number.MAX_SAFE_INTEGER };

const refusesUnknown = async (ask: AskPage): Promise<boolean> =>
  (await ask("POST", "/v1/person/count", { filters: UNKNOWN_FILTER })).kind === "refused";

const hasNobody = async (ask: AskPage): Promise<boolean> =>
  (await ask("POST", "/v1/person/count", { filters: NOBODY })).count === 0;

interface Answer {
  readonly kind: "refused" | "miss" | "taken" | "charged" | "nothing";
  /** How many faults a refusal lists. What it says of them is not read. */
  readonly faults?: number;
  readonly requestId?: string | undefined;
  readonly count?: number | undefined;
}

type AskPage = (method: "GET" | "POST", path: string, body?: unknown) => Promise<Answer>;

interface PagingReport {
  paging?: Dialect["paging"] | undefined;
  firstPage?: 0 | 1 | undefined;
  perPageMax?: number | undefined;
  charged?: string;
}

const FAR_TOO_LARGE = 1_000_000_000;
/** Hardly any service gives larger ones alone. */
const SMALL_PAGE = 10;
/** A probe that was answered as if it were paid for: nothing more is tried. */
class Charged extends Error {}

type Fields = Readonly<Record<string, string | number>>;
type Attempt = (fields: Fields) => Promise<Answer>;

/**
 * @param nobody filters of which the service has
 * counted that they match nobody, though it has people
 */
async function probePaging(
  ask: AskPage,
  isStrict: boolean,
  nobody: object | undefined,
): Promise<PagingReport> {
  const report: PagingReport = {};
  const isWhole = (): boolean =>
    report.perPageMax !== undefined &&
    report.paging !== undefined &&
    (report.paging !== "page" || report.firstPage !== undefined);

  const learn = (part: PagingReport): void => {
    report.paging ??= part.paging;
    report.firstPage ??= part.firstPage;
    report.perPageMax ??= part.perPageMax;
  };

  const [one, small] = [freeAttempts(ask, nobody, 1), freeAttempts(ask, nobody, SMALL_PAGE)];
  const kinds = nobody === undefined ? (["employees"] as const) : (["employees", "empty"] as const);

  try {
    if (isStrict) learn(await fromOutcomes(one.unknown, await one.unknown({})));
    for (const kind of kinds) {
      if (isWhole()) break;
      const plain = await one[kind]({});
      // Some give no page as small as one row.
      const isTooSmall = plain.kind === "refused";
      const attempt = isTooSmall ? small[kind] : one[kind];
      learn(await fromOutcomes(attempt, isTooSmall ? await attempt({}) : plain));
    }

    return report;
  } catch (error) {
    if (error instanceof Charged) return { ...report, paging: undefined, charged: error.message };
    throw error;
  }
}

/** Searches and look-ups that cost nothing by the contract. Each @throws Charged where one did */
function freeAttempts(ask: AskPage, nobody: object | undefined, size: number) {
  const search = (filters: object, fields: object): Promise<Answer> =>
    ask("POST", "/v1/person/search", { filters, per_page: size, ...fields });

  const free = (answer: Answer, what: string): Answer => {
    const { kind, requestId = "without id" } = answer;
    if (kind === "charged") throw new Charged(`${what} was charged for (request ${requestId})`);
    return answer;
  };

  const unknown: Attempt = async (fields) => {
    const what = "a search with an unknown filter";
    const answer = free(await search(UNKNOWN_FILTER, fields), what);
    if (answer.kind !== "taken") return answer;
    throw new Charged(`${what} was not refused (request ${answer.requestId ?? "without id"})`);
  };

  // A company that nobody has is a free miss, whatever the
  // rest of the query says (docs/reference/contract.md, Employees).
  const employees: Attempt = async (fields) => {
    const query = new URLSearchParams({
      company_network_url: "headcount-doctor-probe",
      per_page: String(size),
    });
    for (const [name, value] of Object.entries(fields)) query.set(name, String(value));
    return free(await ask("GET", `/v1/company/employees?${query}`), "a company that nobody has");
  };

  // Charged is what is returned (docs/reference/contract.md, Search): of nobody, nothing.
  const empty: Attempt = async (fields) =>
    free(await search(nobody ?? {}, fields), "a search that matches nobody");

  return { unknown, employees, empty };
}

/**
 * By what an attempt becomes with one field more: a wrong value of a field that the service reads
 * is a fault more, a right one is not; a field that it does not know is a fault whatever it holds,
 * or none. Only outcomes are compared, and how many faults a refusal lists.
 * @param plain what the attempt is without any of them
 */
async function fromOutcomes(attempt: Attempt, plain: Answer): Promise<PagingReport> {
  if (plain.kind === "nothing") return {};
  const isFault = async (fields: Fields): Promise<boolean> => {
    const { kind, faults = 0 } = await attempt(fields);
    return kind === "refused" && (plain.kind !== "refused" || faults > (plain.faults ?? 0));
  };
  const isStrict = await isFault({ headcount_doctor_probe: 1 });
  const isRead = async (name: string, wrong: string | number, right: number): Promise<boolean> =>
    (isStrict || (await isFault({ [name]: wrong }))) && !(await isFault({ [name]: right }));

  const perPageMax = (await isFault({ per_page: FAR_TOO_LARGE }))
    ? await largestTaken(async (size) => !(await isFault({ per_page: size })))
    : undefined;

  if (await isRead("page", "probe", 1)) {
    const [below, zero] = [await isFault({ page: -1 }), await isFault({ page: 0 })];
    return { paging: "page", firstPage: below ? (zero ? 1 : 0) : undefined, perPageMax };
  }
  if (await isRead("offset", "probe", 0)) return { paging: "offset", perPageMax };

  // No value of a cursor is known to be right: where unknown fields are faults, it is the one of
  // the three that is left.
  const isCursor = isStrict || (await isFault({ cursor: 0 }));
  return { paging: isCursor ? "cursor" : undefined, perPageMax };
}

/** @returns the largest of the usual sizes that is taken, one of them at least being so */
async function largestTaken(
  isTaken: (size: number) => Promise<boolean>,
): Promise<number | undefined> {
  for (const size of USUAL_BOUNDS) if (await isTaken(size)) return size;
  return undefined;
}
