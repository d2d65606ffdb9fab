import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

// A service of somebody else, who read the contract and chose otherwise wherever it is silent. It shares no code with src/, so
// that a mistake that our client and our service share cannot hide. Money is kept as whole thousandths of a credit.

const codedRow = (row: unknown): string => Buffer.from(JSON.stringify(row)).toString("base64url");

/**
 * What goes wrong with one paid call. A dropped or cut reply was charged before it was lost, and one that is mangled before a proxy
 * answered in its place.
 */
export type Mishap =
  | "drop"
  | "cut"
  | "mangled"
  | `${number}-charged`
  | "empty"
  | `null-${number}`
  | "503"
  | "500"
  | "429-date"
  | "429-ms"
  | "402"
  | undefined;

export interface ForeignOptions {
  people: number;
  /** People of each company by its domain, who are nobody else's; undefined: `people`, and the same ones. */
  companies: Readonly<Record<string, number>> | undefined;
  /** So many companies share all people, and filters name one of them a request; 0: nobody asks. */
  accounts: number;
  /** How the account is named, if it is. */
  accountId: string | undefined;
  /** Calls of a minute: told by the account, and held by a 429. */
  perMinute: number;
  balance: number;
  price: number;
  /** What the account tells of it; undefined: what it is. */
  pricesTold: number | undefined;
  paging: "page" | "offset" | "cursor";
  firstPage: 0 | 1;
  /** The array is under this name; undefined: `result` is the array. */
  rowsUnder: string | undefined;
  /** What `result` is instead of the rows, or of the one record, of a paid reply. */
  shape: ((rows: readonly object[]) => unknown) | undefined;
  /** How the text of a paid reply is spelled as it goes out, by how many went out before it. */
  spelled: ((text: string, calls: number) => string) | undefined;
  /** What `result` of a success is where the company is not known; undefined: a 404. */
  missing: { readonly result: unknown; readonly used?: number } | undefined;
  /** Whether it knows the call that counts people; a status: what a web server before it answers, in HTML. */
  counts: boolean | number;
  /** undefined: the bare number. */
  countUnder: string | undefined;
  /** More than this is a 422; with `clamp` the page is just smaller. */
  maxPerPage: number;
  clamp: boolean;
  /** Pages have this size, whatever is asked for. */
  fixedPage: number | undefined;
  /** Smaller pages are refused. */
  minPerPage: number;
  /** Only these sizes are given; undefined: any. */
  sizes: readonly number[] | undefined;
  /** What a page size is refused with: words that say nothing of it, or what is not so. */
  refusal: "wordless" | "misleading" | "bad-request";
  /** What says where a page begins is ignored: every page is the first. */
  pageIgnored: boolean;
  /** Fields of a request that it does not know are refused, as `page` is where it pages otherwise. */
  strict: boolean;
  /** Where the number of rows in all is told; `own-length`: it is the page's own. */
  total: "header" | "result" | "own-length" | undefined;
  /** The name of the next page's cursor. */
  nextUnder: string;
  /** Whether a cursor holds the last row that was told, in base64. */
  cursorTells: boolean;
  /** Whether cursors are numbers, and 0 says that there is no next page. */
  numbers: boolean;
  /** The part of `result` that holds cursor and total; undefined: `result` itself. */
  pagingUnder: string | undefined;
  /** How the account spells its prices. */
  costNames: "path" | "snake" | "camel" | "list";
  /** The version of its dataset, as every reply tells, after so many paid calls. */
  version: ((calls: number) => string) | undefined;
  /** What its people say as their country, one after the other, whatever was asked for. */
  countries: readonly string[] | undefined;
  /** Whether a reply says what is left of the balance. */
  tellsLeft: boolean;
  /** Whether the account tells the balance. */
  tellsBalance: boolean;
  /** What a reply says of its charge, in place of what it was. */
  usedIs: number | "missing" | "of the call before" | undefined;
  /** The balance that is told is the one of so long ago, by its own clock. */
  lateMs: number;
  now: () => number;
  /** Amounts of the account as a person writes them: `5,000`. */
  groupsAmounts: boolean;
  /** A reply waits up to so long after it was charged: replies overtake each other. */
  jitterMs: number;
  /** Whether `account` tells prices and the largest page. */
  tellsCosts: boolean;
  tellsMaxPerPage: boolean;
  /** Every n-th row is the row before it once more; 0: none. */
  duplicateEvery: number;
  /** Whether a person's row names the address of the company. */
  rowsNameCompany: boolean;
  /** What the count says beyond what there is. */
  countedTooMany: number;
  /** What befalls the n-th paid call, from 1. */
  mishap: (call: number) => Mishap;
  /** How the bytes of a page are written, and what its content type says of that. */
  encoding: "utf8" | "latin1";
  declares: string;
  /** How many rows a page says that there are in all, in place of what it was. */
  totalIs: number | undefined;
  /** What an answer that is no success costs, against the contract: a miss, and a charged mishap. */
  missCosts: number;
  faultCosts: number;
  /** What a count costs, and says that it does. */
  countCosts: number;
  /** What such an answer says of it. */
  faultTells: "used" | "balance" | "nothing";
  /** A paid call with an Idempotency-Key is a 400, or a 422 with this text. */
  refusesKey: boolean | string;
  /** The price is of a request, however many rows it brings. */
  chargesRequests: boolean;
  /** Remembers Idempotency-Key, as the contract does not ask it to. */
  idempotent: boolean;
  /** Says in its account that it does, whether or not. */
  announcesKeys: boolean;
  /** Calls of these paths are never answered. */
  hangs: readonly string[];
  delayMs: number;
  /** A number in [0, 1). */
  random: () => number;
}

export interface ForeignService {
  readonly url: string;
  readonly key: string;
  /** May be changed while it runs. */
  readonly options: ForeignOptions;
  /** Credits charged, by this service's own books. */
  charged(): number;
  balance(): number;
  /** Others spend so many credits. */
  spend(credits: number): void;
  /** What they spent so far. */
  others(): number;
  /** Rows handed out and paid, those of lost replies included. */
  rowsSold(): number;
  paidCalls(): number;
  readonly seen: {
    readonly path: string;
    readonly status: number;
    readonly size: number;
    readonly key: string | undefined;
    /** Milliseconds; `done` is 0 until the answer is out. */
    readonly at: number;
    readonly done: number;
  }[];
  /** The id of each row in its order, with duplicates. */
  ids(): string[];
  close(): Promise<void>;
}

/** Where the one company of all its people is found. */
const COMPANY = "https://network.example/company/acme";

const ACCOUNTS = "https://network.example/company/account-";

const FILTERS = new Set(
  "country state city location title seniority seniority_level functional_area industry first_name last_name name network_url title_prefix headline_prefix location_prefix name_prefix industry_prefix connections_min connections_max followers_min followers_max company_network_url department".split(
    " ",
  ),
);

export async function startForeignService(
  change: Partial<ForeignOptions> = {},
): Promise<ForeignService> {
  const options: ForeignOptions = {
    people: 260,
    companies: undefined,
    accounts: 0,
    accountId: undefined,
    perMinute: 6_000,
    balance: 5_000,
    price: 1,
    pricesTold: undefined,
    paging: "page",
    firstPage: 1,
    rowsUnder: "people",
    shape: undefined,
    spelled: undefined,
    missing: undefined,
    counts: true,
    countUnder: "total_results",
    maxPerPage: 1_000,
    clamp: false,
    fixedPage: undefined,
    minPerPage: 1,
    sizes: undefined,
    refusal: "wordless",
    pageIgnored: false,
    strict: false,
    total: undefined,
    nextUnder: "next_cursor",
    cursorTells: false,
    numbers: false,
    pagingUnder: undefined,
    costNames: "path",
    version: undefined,
    countries: undefined,
    tellsLeft: true,
    tellsBalance: true,
    usedIs: undefined,
    lateMs: 0,
    now: Date.now,
    groupsAmounts: false,
    jitterMs: 0,
    tellsCosts: true,
    tellsMaxPerPage: false,
    duplicateEvery: 0,
    rowsNameCompany: false,
    countedTooMany: 0,
    mishap: () => undefined,
    encoding: "utf8",
    declares: "",
    totalIs: undefined,
    missCosts: 0,
    faultCosts: 0,
    countCosts: 0,
    faultTells: "used",
    refusesKey: false,
    chargesRequests: false,
    idempotent: false,
    announcesKeys: false,
    hangs: [],
    delayMs: 0,
    random: Math.random,
    ...change,
  };
  const key = "acme_live_0123456789abcdefghij";
  let left = Math.round(options.balance * 1_000);
  let others = 0;
  const granted = left;
  let calls = 0;
  let spelled = 0;
  let sold = 0;
  const window = { minute: 0, calls: 0 };
  const seen: {
    path: string;
    status: number;
    size: number;
    key: string | undefined;
    at: number;
    done: number;
  }[] = [];
  const stored = new Map<string, string>();

  const person = (at: number): Record<string, unknown> => ({
    id: 1_000_000 + at,
    name: `Person ${at}`,
    title: at % 7 === 0 ? '=HYPERLINK("http://x.example")' : 'Sales, "Lead"',
    followers: at * 3,
    ...(options.countries === undefined
      ? {}
      : { country: options.countries[at % options.countries.length] }),
    ...(options.rowsNameCompany ? { company_network_url: COMPANY } : {}),
    ...(options.accounts > 0 ? { company_network_url: `${ACCOUNTS}${at % options.accounts}` } : {}),
    connections: at % 5 === 0 ? null : at,
    current: { company: "Globex", since: { year: 2000 + (at % 20) } },
    skills: ["a", `b;${at}`],
    ...(at % 4 === 0 ? { nickname: `P${at}` } : {}),
  });
  const peopleOf = (domain: string | null): number =>
    options.companies?.[domain ?? ""] ?? options.people;
  /** Where the people of a company begin among all ids. */
  const firstOf = (domain: string | null): number =>
    options.companies === undefined
      ? 0
      : 10_000 * (1 + Object.keys(options.companies).indexOf(domain ?? ""));
  /** Whose people a search or count is about, where filters name a company. */
  const accountOf = (body: Record<string, unknown>): number | undefined => {
    const company = (body.filters as Record<string, unknown> | undefined)?.company_network_url;
    if (options.accounts === 0 || company === undefined) return undefined;
    const at = Number(String(company).split("/account-").at(-1)?.replace("account-", ""));
    return Number.isSafeInteger(at) && at < options.accounts ? at : Number.POSITIVE_INFINITY;
  };
  const staffOf = (at: number): number =>
    Math.max(0, Math.ceil((options.people - at) / options.accounts));
  const rowAt = (index: number): Record<string, unknown> =>
    options.duplicateEvery > 0 && index % options.duplicateEvery === options.duplicateEvery - 1
      ? person(index - 1)
      : person(index);

  function answer(
    response: ServerResponse,
    status: number,
    body: unknown,
    headers: Record<string, string> = {},
  ): undefined {
    response.writeHead(status, {
      "content-type": "application/json",
      ...versionHeader(),
      ...headers,
    });
    response.end(JSON.stringify(body));
  }
  const versionHeader = (): Record<string, string> =>
    options.version === undefined ? {} : { "x-dataset-version": options.version(calls) };
  let costBefore = 0;
  /** What was left, and from when on: looked at with each request, at its beginning and its end. */
  const lefts: { readonly at: number; readonly left: number }[] = [];
  const shown = (): number => {
    const at = options.now();
    if (lefts.at(-1)?.left !== left) lefts.push({ at, left });
    const seen = lefts.findLast((one) => one.at <= at - options.lateMs) ?? lefts[0];
    return (seen?.left ?? left) / 1_000;
  };
  const toldLeft = (): object => (options.tellsLeft ? { credits_remaining: shown() } : {});
  const envelope = (result: unknown, used = 0): unknown => ({
    status: true,
    detail: ["ok"],
    result,
    credits_used: used / 1_000,
    ...toldLeft(),
    took_ms: 3,
  });
  const refusal = (...detail: string[]): unknown => ({
    status: false,
    detail,
    result: null,
    credits_used: 0,
    ...toldLeft(),
  });

  /** A refusal that takes credits all the same. */
  const dearRefusal = (detail: string, cost: number): unknown => {
    left -= Math.round(cost * 1_000);
    const { credits_used, credits_remaining, ...plain } = refusal(detail) as Record<
      string,
      unknown
    >;
    if (options.faultTells === "nothing") return plain;
    return { ...plain, credits_used: options.faultTells === "used" ? cost : 0, ...toldLeft() };
  };

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<undefined> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    if (options.delayMs > 0) await new Promise((done) => setTimeout(done, options.delayMs));
    const url = new URL(request.url ?? "/", "http://foreign");
    const idempotencyKey = request.headers["idempotency-key"] as string | undefined;
    const entry = {
      path: url.pathname,
      status: 0,
      size: 0,
      key: idempotencyKey,
      at: performance.now(),
      done: 0,
    };
    seen.push(entry);
    response.on("close", () => {
      entry.status = response.statusCode;
      entry.done = performance.now();
    });
    if (options.hangs.includes(url.pathname)) return;
    if (request.headers.authorization !== `Bearer ${key}`)
      return answer(response, 401, refusal("Unauthenticated."));
    const body =
      chunks.length === 0
        ? {}
        : (JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>);
    const unknown = Object.keys((body.filters ?? {}) as object).filter(
      (name) => !FILTERS.has(name),
    );
    if (unknown.length > 0) {
      return answer(
        response,
        422,
        refusal(`Unknown filters: ${unknown.join(", ")}. Valid: ${[...FILTERS].join(", ")}`),
      );
    }
    const minute = Math.floor(performance.now() / 60_000);
    if (minute !== window.minute) Object.assign(window, { minute, calls: 0 });
    window.calls += 1;
    if (window.calls > options.perMinute) {
      const rest = Math.ceil((60_000 - (performance.now() % 60_000)) / 1_000);
      return answer(response, 429, refusal("Slow down."), { "retry-after": `${rest}` });
    }
    const company = (body.filters as Record<string, unknown> | undefined)?.company_network_url;
    if (Array.isArray(company))
      return answer(response, 422, refusal("company_network_url must be a string"));
    if (url.pathname === "/v1/account") {
      const price = options.pricesTold ?? options.price;
      const costs = {
        path: { "person/search": price, enrich: price, "company.employees": price },
        snake: { person_search: price, company_enrich: price, company_employees: price },
        camel: { personSearch: price, companyEnrich: price, companyEmployees: price },
        list: ["person_search", "company_enrich", "company_employees"].map((call) => ({
          call,
          credits: price,
        })),
      }[options.costNames];
      return answer(
        response,
        200,
        envelope({
          email: "ada@example.com",
          ...(options.accountId === undefined ? {} : { id: options.accountId }),
          ...(options.tellsBalance
            ? { balance: options.groupsAmounts ? shown().toLocaleString("en-US") : shown() }
            : {}),
          plan: { name: "Growth", rate_limit: { rpm: options.perMinute, rpd: 100_000 } },
          ...(options.tellsCosts ? { costs } : {}),
          limits: {
            ...(options.tellsMaxPerPage ? { max_per_page: options.maxPerPage } : {}),
            ...(options.announcesKeys ? { idempotency_seconds: 86_400 } : {}),
          },
        }),
      );
    }
    if (url.pathname === "/v1/person/count" && typeof options.counts === "number") {
      response.writeHead(options.counts, { "content-type": "text/html" });
      response.end("<html><head><title>No such page</title></head></html>");
      return;
    }
    if (url.pathname === "/v1/person/count" && options.counts) {
      const none = (body.filters as Record<string, unknown> | undefined)?.country === "nowhere";
      const account = accountOf(body);
      const all = account === undefined ? options.people : staffOf(account);
      const count = none ? 0 : all + options.countedTooMany;
      const used = Math.round(options.countCosts * 1_000);
      left -= used;
      return answer(
        response,
        200,
        envelope(options.countUnder === undefined ? count : { [options.countUnder]: count }, used),
      );
    }
    const isEnrich = url.pathname === "/v1/company/enrich";
    if (
      !isEnrich &&
      url.pathname !== "/v1/person/search" &&
      url.pathname !== "/v1/company/employees"
    ) {
      return answer(response, 404, refusal("Not found."));
    }
    if (options.refusesKey && idempotencyKey !== undefined) {
      if (typeof options.refusesKey === "string")
        return answer(response, 422, refusal(options.refusesKey));
      return answer(response, 400, refusal("Unknown header: Idempotency-Key."));
    }
    return sell(isEnrich, url, body, idempotencyKey, response, entry);
  }

  function sell(
    isEnrich: boolean,
    url: URL,
    body: Record<string, unknown>,
    idempotencyKey: string | undefined,
    response: ServerResponse,
    entry: { size: number },
  ): undefined {
    const query = url.searchParams;
    if (!url.pathname.includes("person") && (query.get("domain") ?? "").startsWith("missing")) {
      if (options.missing !== undefined) {
        left -= Math.round(options.missCosts * 1_000);
        return answer(response, 200, envelope(options.missing.result, options.missing.used));
      }
      return answer(response, 404, dearRefusal("No such company.", options.missCosts));
    }
    const wanted = (name: string): unknown => body[name] ?? query.get(name) ?? undefined;
    const asked = isEnrich ? 1 : Number(wanted("per_page") ?? 20);
    entry.size = asked;
    const refused = isEnrich ? undefined : refusedSize(asked, body, query);
    if (refused !== undefined) {
      return answer(response, options.refusal === "bad-request" ? 400 : 422, refusal(refused));
    }
    calls += 1;
    const mishap = options.mishap(calls);
    if (mishap === "503") {
      response.writeHead(503, { "content-type": "text/html" });
      response.end(
        "<html><head><title>503 Service Unavailable</title></head><body>\u001b[31m<h1>nginx</h1></body></html>",
      );
      return;
    }
    if (mishap?.startsWith("null-") === true)
      return answer(response, Number(mishap.slice(5)), envelope(null));
    if (mishap?.endsWith("-charged") === true)
      return answer(
        response,
        Number.parseInt(mishap, 10),
        dearRefusal("Oops.", options.faultCosts),
      );
    if (mishap === "500") return answer(response, 500, { message: "Server Error" });
    if (mishap === "429-date") {
      return answer(response, 429, refusal("Slow down."), {
        "retry-after": new Date(Date.now() + 1_000).toUTCString(),
      });
    }
    if (mishap === "429-ms") {
      return answer(response, 429, refusal("Slow down."), {
        "x-ratelimit-limit": "100",
        "x-ratelimit-remaining": "0",
        "x-ratelimit-reset": String(Date.now() + 300),
      });
    }
    const replay =
      options.idempotent && idempotencyKey !== undefined ? stored.get(idempotencyKey) : undefined;
    let text = replay;
    if (text === undefined) {
      const perPage = options.fixedPage ?? Math.min(asked, options.maxPerPage);
      if (mishap === "402" || left < Math.round(perPage * options.price * 1_000)) {
        return answer(response, 402, refusal("Insufficient credits."));
      }
      const offset =
        isEnrich || options.pageIgnored
          ? 0
          : options.paging === "offset"
            ? Number(wanted("offset") ?? 0)
            : options.paging === "cursor"
              ? Number.parseInt(String(wanted("cursor") ?? "c0").replace("c", ""), 10)
              : (Number(wanted("page") ?? options.firstPage) - options.firstPage) * perPage;
      const account = accountOf(body);
      const people = account === undefined ? peopleOf(query.get("domain")) : staffOf(account);
      const size =
        mishap === "empty" ? 0 : isEnrich ? 1 : Math.max(0, Math.min(perPage, people - offset));
      const indexOf = (at: number): number =>
        account === undefined ? firstOf(query.get("domain")) + at : account + options.accounts * at;
      const rows = Array.from({ length: size }, (_, at) => rowAt(indexOf(offset + at)));
      const cost = Math.round((options.chargesRequests ? 1 : rows.length) * options.price * 1_000);
      left -= cost;
      const before = costBefore / 1_000;
      costBefore = cost;
      sold += rows.length;
      const more = offset + size < people;
      const told = {
        ...(options.paging === "cursor"
          ? {
              [options.nextUnder]: options.numbers
                ? more
                  ? offset + size
                  : 0
                : more
                  ? `c${offset + size}${options.cursorTells ? `.${codedRow(rows.at(-1))}` : ""}`
                  : null,
            }
          : {}),
        ...(options.total === "result" ? { total: people } : {}),
        ...(options.total === "own-length" ? { total: rows.length } : {}),
      };
      const page =
        options.rowsUnder === undefined
          ? rows
          : {
              [options.rowsUnder]: rows,
              ...(options.pagingUnder === undefined ? told : { [options.pagingUnder]: told }),
            };
      const company = {
        id: 9,
        name: "Globex",
        domain: query.get("domain"),
        hq: { city: "Springfield" },
        tags: ["x", "y"],
      };
      const shaped = options.shape?.(isEnrich ? [company] : rows);
      const whole = envelope(shaped ?? (isEnrich ? { company } : page), cost) as Record<
        string,
        unknown
      >;
      if (options.usedIs === "missing") delete whole.credits_used;
      else if (options.usedIs === "of the call before") whole.credits_used = before;
      else if (options.usedIs !== undefined) whole.credits_used = options.usedIs;
      text = JSON.stringify(whole);
      if (idempotencyKey !== undefined) stored.set(idempotencyKey, text);
    }
    const sent = options.spelled?.(text, spelled++) ?? text;
    if (mishap === "drop") {
      response.destroy();
      return;
    }
    if (mishap === "mangled") return answer(response, 502, refusal("Bad gateway."));
    const whole = sent;
    const send = (): void => {
      const totals: Record<string, string> =
        options.total === "header"
          ? { "x-total-count": `${options.totalIs ?? peopleOf(query.get("domain"))}` }
          : {};
      const bytes = Buffer.from(whole, options.encoding);
      const length = bytes.length;
      response.writeHead(200, {
        "content-type": `application/json${options.declares}`,
        "content-length": length,
        ...versionHeader(),
        ...totals,
      });
      if (mishap === "cut") {
        response.write(whole.slice(0, Math.floor(whole.length / 2)));
        setImmediate(() => response.destroy());
      } else response.end(bytes);
    };
    if (options.jitterMs > 0) setTimeout(send, options.random() * options.jitterMs);
    else send();
  }

  /** The words with which a page of this size, or a way of paging, is refused. */
  function refusedSize(
    asked: number,
    body: Record<string, unknown>,
    query: URLSearchParams,
  ): string | undefined {
    const { maxPerPage: most, minPerPage: least, sizes, clamp, strict, paging } = options;
    const known = new Set([
      "filters",
      "per_page",
      paging,
      "domain",
      "company_network_url",
      "name",
      "id",
    ]);
    const unknown = [...Object.keys(body), ...query.keys()].filter((name) => !known.has(name));
    if (strict && unknown.length > 0)
      return `unknown field: ${unknown[0]}; valid fields: filters, per_page, ${paging}`;
    const isGood =
      asked >= least && (asked <= most || clamp) && (sizes === undefined || sizes.includes(asked));
    if (isGood) return undefined;
    return options.refusal === "misleading"
      ? "unknown field: page; per_page must be between 7 and 13, and no deeper than row 4"
      : "no";
  }

  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      if (!response.headersSent) answer(response, 500, { message: String(error) });
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    key,
    options,
    charged: () => (granted - left) / 1_000,
    balance: () => left / 1_000,
    spend: (credits) => {
      left -= credits * 1_000;
      others += credits;
    },
    others: () => others,
    rowsSold: () => sold,
    paidCalls: () => calls,
    seen,
    ids: () =>
      Object.keys(options.companies ?? { "": 0 }).flatMap((domain) =>
        Array.from({ length: peopleOf(domain) }, (_, at) => String(rowAt(firstOf(domain) + at).id)),
      ),
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}
