import { type Credits, creditsLess, ZERO } from "../../shared/contract/money.ts";
import type { CliError } from "../../shared/errors.ts";
import { accountView, countShape, countView } from "./account-view.ts";
import type { Dialect } from "./dialect.ts";
import { unwrap } from "./envelope.ts";
import { isWithoutRoute, LostReplyError, ServiceError, withoutCounts } from "./errors.ts";
import { serverClock } from "./rate-limit.ts";
import { saysUnknown, sizeRefusal, speaksOf } from "./refusal.ts";
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
  return { kind: charged ? "charged" : "taken", text: meta.requestId ?? "without id", count };
}

function refusedWith(error: unknown): Answer {
  if (error instanceof LostReplyError && !/ABORTED|TIMEOUT/.test(error.code))
    return { kind: "nothing", text: "" };
  if (!(error instanceof ServiceError)) throw error;
  const text = error.detail.join("; ");
  if ((error.creditsUsed ?? 0n) > 0n)
    return { kind: "charged", text: error.requestId ?? "without id" };
  if (error.status === 422 || error.status === 400) return { kind: "refused", text };
  return { kind: error.status === 404 && error.envelope ? "miss" : "nothing", text };
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
    const unknown = { filters: { headcount_doctor_probe: "no such filter" } };
    const strict =
      counted !== undefined && (await ask("POST", "/v1/person/count", unknown)).kind === "refused";
    const nobody = { name: "headcount doctor probe", connections_min: Number.MAX_SAFE_INTEGER };
    const isEmpty = async (): Promise<boolean> =>
      (people ?? 0) > 0 && (await ask("POST", "/v1/person/count", { filters: nobody })).count === 0;
    const paging = await probePaging(ask, strict, strict && (await isEmpty()) ? nobody : undefined);
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

interface Answer {
  readonly kind: "refused" | "miss" | "taken" | "charged" | "nothing";
  readonly text: string;
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
const PARAMETERS = ["page", "offset", "cursor"] as const;
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
  refusesUnknown: boolean,
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

  let size = 1;
  const search = (filters: object, fields: object): Promise<Answer> =>
    ask("POST", "/v1/person/search", { filters, per_page: size, ...fields });

  const uncharged = (answer: Answer, what: string): Answer => {
    if (answer.kind === "charged")
      throw new Charged(`${what} was charged for (request ${answer.text})`);
    return answer.kind === "taken" ? { ...answer, kind: "miss" } : answer;
  };

  const refused: Attempt = async (fields) => {
    const answer = await search({ headcount_doctor_probe: "no such filter" }, fields);
    if (answer.kind !== "charged" && answer.kind !== "taken") return answer;
    throw new Charged(`a search with an unknown filter was not refused (request ${answer.text})`);
  };

  // A company that nobody has is a free miss, whatever the
  // rest of the query says (docs/reference/contract.md, Employees).
  const employees: Attempt = async (fields) => {
    const query = new URLSearchParams({
      company_network_url: "headcount-doctor-probe",
      per_page: String(size),
    });
    for (const [name, value] of Object.entries(fields)) query.set(name, String(value));
    return uncharged(
      await ask("GET", `/v1/company/employees?${query}`),
      "a company that nobody has",
    );
  };

  // Charged is what is returned (docs/reference/contract.md, Search): of nobody, nothing.
  const empty: Attempt = async (fields) =>
    uncharged(await search(nobody ?? {}, fields), "a search that matches nobody");

  try {
    if (refusesUnknown) learn(await fromWords(refused));
    for (const attempt of nobody === undefined ? [employees] : [employees, empty]) {
      if (isWhole()) break;
      let plain = await attempt({});
      const refusal =
        plain.kind === "refused" ? sizeRefusal(plain.text, size, new Set()) : undefined;
      if (refusal !== undefined && "atLeast" in refusal) {
        size = refusal.atLeast;
        plain = await attempt({});
      }
      if (plain.kind === "miss") learn(await fromOutcomes(attempt));
    }

    return report;
  } catch (error) {
    if (error instanceof Charged) return { ...report, paging: undefined, charged: error.message };
    throw error;
  }
}

const VALID = /valid (?:fields|parameters|keys)\W+(.*)/i;

/**
 * With one fault more than the unknown filter: a service that tells all faults tells of that one.
 */
async function fromWords(search: Attempt): Promise<PagingReport> {
  const words = async (fields: Fields): Promise<string> => {
    const { kind, text } = await search(fields);
    return kind === "refused"
      ? text.replace(/unknown filter[^;]*/gi, "").replace(/valid filters[^;]*/gi, "")
      : "";
  };

  const list = VALID.exec(await words({ headcount_doctor_probe: 1 }))?.[1];
  let paging = PARAMETERS.find((name) => list !== undefined && speaksOf(list, name));
  for (const name of paging === undefined ? PARAMETERS : []) {
    const text = await words({ [name]: name === "cursor" ? 0 : "probe" });
    if (speaksOf(text, name) && !saysUnknown(text)) paging ??= name;
  }

  const perPageMax = largestIn(await words({ per_page: FAR_TOO_LARGE }));
  if (paging !== "page") return { paging, perPageMax };

  const [negative, zero] = [await words({ page: -1 }), await words({ page: 0 })];
  const firstPage = speaksOf(zero, "page") ? 1 : speaksOf(negative, "page") ? 0 : undefined;
  return { paging, perPageMax, firstPage };
}

/** What is understood and wrong is refused; what is not known is refused as such. */
async function fromOutcomes(attempt: Attempt): Promise<PagingReport> {
  let paging: Dialect["paging"] | undefined;
  let list = "";
  const others = new Set<string>(PARAMETERS);

  for (const name of PARAMETERS) {
    const { kind, text } = await attempt({ [name]: "probe" });
    if (kind !== "refused") continue;
    if (!saysUnknown(text)) paging ??= name;
    else others.delete(name);
    list += VALID.exec(text)?.[1] ?? "";
  }

  const rest = PARAMETERS.filter((name) => others.has(name));
  paging ??=
    PARAMETERS.find((name) => speaksOf(list, name)) ?? (rest.length === 1 ? rest[0] : undefined);

  const large = await attempt({ per_page: FAR_TOO_LARGE });
  const perPageMax = large.kind === "refused" ? largestIn(large.text) : undefined;
  let firstPage: 0 | 1 | undefined;
  if (paging === "page" && (await attempt({ page: -1 })).kind === "refused") {
    const zero = (await attempt({ page: 0 })).kind;
    if (zero === "miss") firstPage = 0;
    else if (zero === "refused" && (await attempt({ page: 1 })).kind === "miss") firstPage = 1;
  }

  return { paging, firstPage, perPageMax };
}

function largestIn(text: string): number | undefined {
  const refusal = sizeRefusal(text, FAR_TOO_LARGE, new Set());
  return refusal !== undefined && "atMost" in refusal && refusal.atMost < 1_000_000
    ? refusal.atMost
    : undefined;
}
