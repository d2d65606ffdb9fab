import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

// A service of somebody else over people who come, leave and change: it counts what its people are at that moment. It shares no code
// with src/ and matches by rules of its own, which for plain texts are the contract's.

export interface Human {
  readonly id: string | null;
  readonly network_url: string | null;
  readonly name: string;
  readonly title: string | null;
  readonly department: string;
  readonly seniority_level: string | null;
  readonly country: string | null;
  readonly company_network_url: string | null;
  readonly connections: number | null;
}

export interface PeopleOptions {
  people: readonly Human[];
  /** Values that one key may have. */
  maxValues: number;
  maxPerPage: number;
  /** A count is remembered for so long; 0: not at all. */
  cacheMs: number;
  /** What becomes of each count before it is told. */
  rough: (count: number, call: number) => number;
  /** Called before each call, from 1: the world may move. */
  before: (call: number, path: string) => void;
  /** As the header says; undefined: it does not. */
  version: string | undefined;
  price: number;
  /** Whether the account tells it. */
  tellsPrice: boolean;
  perMinute: number | undefined;
  maxDepth: number | undefined;
  /** Pages are reached by cursors, those behind so many rows; whether one is still good. */
  cursors: ((behind: number) => boolean) | undefined;
  /** Whether the page behind so many rows breaks off behind its last one. */
  cuts: (behind: number) => boolean;
  /** Rows up to which a page may go; no account tells it, only a 422 with this text. */
  wall: number | undefined;
  wallSays: string;
  /** No whole page is refused there before the refusal of a smaller one is out: it overtakes them. */
  smallerFirst: boolean;
  /** Pages have this size, whatever is asked for. */
  fixedPage: number | undefined;
  /** How the people of a segment lie. */
  order: ((people: Human[], filters: Readonly<Record<string, unknown>>) => Human[]) | undefined;
  now: () => number;
}

export interface PeopleService {
  readonly url: string;
  readonly key: string;
  /** May be changed while it runs. */
  readonly options: PeopleOptions;
  /** How often each person was sold, by name and address. */
  readonly sold: ReadonlyMap<string, number>;
  rowsSold(): number;
  refusedPages(): number;
  /** The filters of every count and search, in order. */
  readonly asked: { readonly path: string; readonly filters: Readonly<Record<string, unknown>> }[];
  matching(filters: Readonly<Record<string, unknown>>): Human[];
  close(): Promise<void>;
}

/** Who somebody is, whatever else changes. */
export const personKey = ({ id, network_url, name }: Human): string => id ?? network_url ?? name;

const plains = new Map<unknown, string>();

/** Remembered: each count of a crowd asks for everybody's. */
function plain(text: unknown): string {
  const known = plains.get(text);
  if (known !== undefined) return known;

  const made = String(text).trim().replace(/\s+/g, " ").toLowerCase();
  plains.set(text, made);
  return made;
}

function fits(
  human: Human,
  [key, wanted]: readonly [string, ReadonlySet<string> | number | string],
): boolean {
  const field = key.replace(/_(prefix|min|max)$/, "") as keyof Human;
  const value = human[field];
  if (value === null || value === undefined) return false;
  if (key.endsWith("_min")) return Number(value) >= Number(wanted);
  if (key.endsWith("_max")) return Number(value) <= Number(wanted);
  if (key.endsWith("_prefix")) return plain(value).startsWith(String(wanted));
  return (wanted as ReadonlySet<string>).has(plain(value));
}

function conditionsOf(filters: Readonly<Record<string, unknown>>) {
  return Object.entries(filters).map(
    ([key, value]): [string, ReadonlySet<string> | number | string] => {
      if (/_(min|max)$/.test(key)) return [key, Number(value)];
      if (key.endsWith("_prefix")) return [key, plain(value)];
      return [key, new Set([value].flat().map(plain))];
    },
  );
}

export async function startPeopleService(
  change: Partial<PeopleOptions> = {},
): Promise<PeopleService> {
  const options: PeopleOptions = {
    people: [],
    maxValues: 1_000,
    maxPerPage: 1_000,
    cacheMs: 0,
    rough: (count) => count,
    before: () => undefined,
    version: undefined,
    price: 1,
    tellsPrice: true,
    perMinute: undefined,
    maxDepth: undefined,
    cursors: undefined,
    cuts: () => false,
    wall: undefined,
    wallSays: "too deep",
    smallerFirst: false,
    fixedPage: undefined,
    order: undefined,
    now: Date.now,
    ...change,
  };
  const key = "people_live_0123456789abcdefghij";
  const sold = new Map<string, number>();
  const asked: { path: string; filters: Record<string, unknown> }[] = [];
  const cache = new Map<string, { readonly at: number; readonly count: number }>();
  const replies = new Map<string, string>();
  let calls = 0;
  let rows = 0;
  let refused = 0;
  let smallerIsOut = (): void => undefined;
  const smaller = new Promise<void>((done) => {
    smallerIsOut = done;
  });
  const left = (): number => 1_000_000 - rows * options.price;
  const matching = (filters: Readonly<Record<string, unknown>>): Human[] => {
    const conditions = conditionsOf(filters);
    return options.people.filter((human) =>
      conditions.every((condition) => fits(human, condition)),
    );
  };
  const body = (
    status: boolean,
    result: unknown,
    used: number,
    detail: readonly string[],
  ): string =>
    JSON.stringify({ status, detail, result, credits_used: used, credits_remaining: left() });

  function count(filters: Record<string, unknown>): number {
    const text = JSON.stringify(filters);
    const known = cache.get(text);
    if (known !== undefined && options.now() - known.at < options.cacheMs) return known.count;
    const found = Math.max(0, options.rough(matching(filters).length, calls));
    cache.set(text, { at: options.now(), count: found });
    return found;
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const answer = (status: number, text: string): void => {
      const version = options.version === undefined ? {} : { "x-dataset-version": options.version };
      response.writeHead(status, { "content-type": "application/json", ...version });
      response.end(text);
    };
    if (request.headers.authorization !== `Bearer ${key}`)
      return answer(401, body(false, null, 0, ["no"]));
    const path = new URL(request.url ?? "/", "http://people").pathname;
    if (path === "/v1/account") {
      const { price, tellsPrice, perMinute, maxDepth } = options;
      const limits = {
        ...{ max_per_page: options.maxPerPage, idempotency_seconds: 86_400 },
        ...(maxDepth === undefined ? {} : { max_depth: maxDepth }),
      };
      const plan =
        perMinute === undefined ? {} : { plan: { name: "p", rate_limit: { rpm: perMinute } } };
      return answer(
        200,
        body(
          true,
          { balance: left(), costs: tellsPrice ? { person_search: price } : {}, limits, ...plan },
          0,
          [],
        ),
      );
    }
    calls += 1;
    options.before(calls, path);
    const sent = JSON.parse(Buffer.concat(chunks).toString() || "{}") as {
      filters?: Record<string, unknown>;
      page?: number;
      per_page?: number;
      offset?: number;
      cursor?: string;
    };
    const filters = sent.filters ?? {};
    asked.push({ path, filters });
    for (const [name, value] of Object.entries(filters)) {
      if (!Array.isArray(value) || value.length <= options.maxValues) continue;
      return answer(
        422,
        body(false, null, 0, [`${name} takes at most ${options.maxValues} values`]),
      );
    }
    if (path === "/v1/person/count")
      return answer(200, body(true, { count: count(filters) }, 0, []));
    if (path !== "/v1/person/search") return answer(404, body(false, null, 0, ["no such call"]));
    const perPage = options.fixedPage ?? sent.per_page ?? 10;
    if (perPage > options.maxPerPage) {
      return answer(422, body(false, null, 0, [`per_page must be at most ${options.maxPerPage}`]));
    }
    const once = request.headers["idempotency-key"] as string | undefined;
    const before = once === undefined ? undefined : replies.get(once);
    if (before !== undefined) return answer(200, before);
    const { cuts, cursors } = options;
    const behind = cursors === undefined ? undefined : Number(sent.cursor?.slice(1) ?? 0);
    if (sent.cursor !== undefined && behind !== undefined && cursors?.(behind) === false)
      return answer(400, body(false, null, 0, ["this cursor has expired"]));
    const from = behind ?? sent.offset ?? ((sent.page ?? 1) - 1) * perPage;
    if (from + perPage > (options.wall ?? Number.POSITIVE_INFINITY)) {
      refused++;
      // Its reader has it by then.
      if (perPage < options.maxPerPage) response.once("finish", () => setTimeout(smallerIsOut, 20));
      else if (options.smallerFirst) await smaller;
      return answer(422, body(false, null, 0, [options.wallSays]));
    }
    const there = options.order?.(matching(filters), filters) ?? matching(filters);
    const page = there.slice(from, from + perPage);
    rows += page.length;
    for (const human of page) sold.set(personKey(human), (sold.get(personKey(human)) ?? 0) + 1);
    const end = from + page.length;
    const next = end < there.length ? `c${end}` : null;
    const result = cursors === undefined ? page : { people: page, next_cursor: next };
    const whole = body(true, result, page.length * options.price, []);
    const text = cuts(from) ? whole.slice(0, whole.indexOf('}],"next_cursor"') + 2) : whole;
    if (once !== undefined) replies.set(once, text);
    return answer(200, text);
  }

  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      response.writeHead(500);
      response.end(String(error));
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    key,
    options,
    sold,
    rowsSold: () => rows,
    refusedPages: () => refused,
    asked,
    matching,
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}

const FIRST =
  "ada anna bo cem dana omar chris eve ines jean-luc kai lea mia nils olga per quinn rosa sam tove uma vera wu xin yara zoë".split(
    " ",
  );
const LAST =
  "smith smithers müller li lee okafor ng zhang silva santos costa rossi kowalski novak horvat nagy popov haddad khan singh".split(
    " ",
  );
const DEPARTMENTS = ["Sales", "Legal", "Marketing", "Product", "Operations"];
const LEVELS = ["entry", "senior", "manager", "director", "vp"];
const COUNTRIES = ["france", "germany", "peru", "japan"];

/** People with names that repeat, values that are missing, and now and then no address. @param random numbers in [0, 1) */
export class Crowd {
  readonly #random: () => number;
  readonly #addressless: number;
  #born = 0;

  constructor(random: () => number, addressless = 0) {
    this.#random = random;
    this.#addressless = addressless;
  }

  #pick<T>(values: readonly T[], skew = 1.6): T {
    return values[Math.floor(values.length * this.#random() ** skew)] as T;
  }

  #maybe<T>(value: T, missing: number): T | null {
    return this.#random() < missing ? null : value;
  }

  born(more: Partial<Human> = {}): Human {
    const n = this.#born++;
    const name = `${this.#pick(FIRST)} ${this.#pick(LAST)}${this.#random() < 0.3 ? `-${this.#pick(LAST)}` : ""}`;
    return {
      id: `h${n}`,
      network_url:
        this.#random() < this.#addressless
          ? null
          : `https://www.people.example/in/${name.replaceAll(" ", "-")}-${n}`,
      name,
      title: this.#maybe(
        `${this.#pick(LEVELS)} ${this.#pick(["rep", "counsel", "lead", "clerk", "chief"])}`,
        0.05,
      ),
      department: this.#pick(DEPARTMENTS),
      seniority_level: this.#maybe(this.#pick(LEVELS), 0.05),
      country: this.#maybe(this.#pick(COUNTRIES), 0.02),
      company_network_url: this.#maybe(
        `people.example/company/c${Math.floor(40 * this.#random() ** 2)}`,
        0.1,
      ),
      connections: this.#maybe(Math.floor(500 * this.#random()), 0.1),
      ...more,
    };
  }

  /** A week later: some are gone, some have another job, some are new. @param churn shares of each */
  week(
    people: readonly Human[],
    churn: { readonly gone: number; readonly moved: number; readonly born: number },
  ): Human[] {
    const left = people.filter(() => this.#random() >= churn.gone);
    const later = left.map((human): Human => {
      if (this.#random() >= churn.moved)
        return { ...human, connections: this.#maybe(Math.floor(500 * this.#random()), 0.1) };
      const { title, department, seniority_level, company_network_url } = this.born();
      return { ...human, title, department, seniority_level, company_network_url };
    });
    return [
      ...later,
      ...Array.from({ length: Math.round(people.length * churn.born) }, () => this.born()),
    ];
  }
}
