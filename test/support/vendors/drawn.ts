import { DEPARTMENTS, drawing, LEVELS, nameOf, type Person, placeOf } from "./people.ts";
import {
  type Call,
  creditsOf,
  type Desk,
  type Habits,
  isObject,
  isTextList,
  millionthsOf,
  type Reply,
  type RunningVendor,
  runVendor,
  type Vendor,
} from "./shared.ts";

// A vendor that nobody has: what the six differ in, drawn by lot. The same draw, plain JSON, says
// how it is to be asked, so that a file made from it can be held against the service made from it.
// Nothing here is from a page.

/** Where something stands in a reply: "header:x-total", "data.total", "" for the reply itself. */
export type Where = string;

/** A parameter of a request. */
export interface Parameter {
  readonly in: "body" | "query";
  readonly name: string;
}

export interface DrawnFilter {
  /** Their name of it. */
  readonly name: string;
  readonly case: "lower" | "as is";
  /** Which list of words its values are of; null: any text. */
  readonly words: "level" | "department" | null;
}

export type Price =
  | { readonly per: "row" | "request"; readonly credits: string }
  | { readonly per: "started"; readonly rows: number; readonly credits: string };

export interface Draw {
  readonly seed: number;
  readonly key: { readonly header: string; readonly form: "{key}" | "Bearer {key}" };
  readonly filters: Readonly<Record<string, DrawnFilter>>;
  /** Our neutral words to theirs; null: a word that they have not. */
  readonly words: {
    readonly level: Readonly<Record<string, string | null>>;
    readonly department: Readonly<Record<string, string | null>>;
  };
  /** Dotted path in the body of a search where filters stand. */
  readonly filtersAt: string;
  /**
   * `plain`: an object of name to list. `include`: of name to {"include": list}. `terms`: a list of
   * {"terms": {name: list}}. `condition`: a list of {"field": name, "type": "in", "value": list}.
   */
  readonly filterForm: "plain" | "include" | "terms" | "condition";
  readonly wrongName: "refused" | "none" | "swallowed";
  readonly search: {
    readonly path: string;
    readonly size: Parameter;
    /** Where a page begins, as `by` says. */
    readonly start: Parameter;
    readonly by: "page" | "offset" | "cursor";
    /** Of pages by number. */
    readonly first: 0 | 1;
    /** Of pages by cursor: bound to its size. */
    readonly oneSize: boolean;
    /** Least and most; the same: no other size is taken. */
    readonly sizes: readonly [number, number];
    /** So many rows can be reached; null: all. */
    readonly depth: number | null;
    readonly rows: Where;
    readonly total: Where | null;
    /** Of pages by cursor. */
    readonly next: Where | null;
    /** What stands there behind the last page. */
    readonly end: "null" | "absent" | "always";
    readonly price: Price;
  };
  /** A call of its own for the number, free; null: a search tells it. */
  readonly count: { readonly path: string; readonly total: Where } | null;
  /** Where a search gives ids: the call that gives people; `most` 1: by {id} in its path. */
  readonly read: {
    readonly path: string;
    readonly most: number;
    readonly ids: string;
    readonly rows: Where;
    readonly price: Price;
  } | null;
  readonly charged: Where | null;
  readonly balance: Where | null;
  /** A free call that tells the balance. */
  readonly account: { readonly path: string; readonly balance: Where } | null;
  /** The field "code" of the body tells them apart, where a status does not. */
  readonly means: {
    readonly none: { readonly status: number; readonly code: string | null };
    readonly credits: { readonly status: number; readonly code: string };
    readonly refused: { readonly status: number; readonly code: string };
  };
  /** Our name of a field to where it stands in a record; "[0]" behind it: the first of a list. */
  readonly record: Readonly<Record<string, string>>;
  readonly idAs: "number" | "hex";
  /** What it is asked for by is of the same kind, or refused. */
  readonly isIdStrict: boolean;
}

const FILTERS: Readonly<Record<string, (person: Person) => string | null | undefined>> = {
  country: ({ country }) => country?.name,
  state: ({ state }) => state,
  city: ({ city }) => city,
  title: ({ title }) => title,
  industry: ({ company }) => company?.industry,
  seniority_level: ({ level }) => level,
  department: ({ department }) => department,
  company_network_url: ({ company }) =>
    company === null ? null : `https://network.example/company/${company.slug}`,
};

/** A draw of this seed: one that holds together, so that a file can say it whole. */
export function drawnBy(seed: number): Draw {
  const random = drawing(seed);
  const pick = <T>(...of: readonly T[]): T => of[Math.floor(random() * of.length)] as T;
  const perhaps = (share: number): boolean => random() < share;
  const wordsFor = (all: readonly string[], mark: string) =>
    Object.fromEntries(
      all.map((word, at) => [word, perhaps(0.15) ? null : `${mark}_${pick("x", "Y z")}${at}`]),
    );

  const isBare = perhaps(0.2);
  const where = (header: string, ...paths: readonly string[]): Where =>
    isBare || perhaps(0.3) ? `header:${header}` : pick(...paths);
  const parameter = (name: string): Parameter => ({ in: pick("body", "body", "query"), name });

  const keys = Object.keys(FILTERS).filter((key) => key === "country" || perhaps(0.5));
  const filters = keys.map((key, at): [string, DrawnFilter] => {
    const words = key === "seniority_level" ? "level" : key === "department" ? "department" : null;
    const isAsIs = words !== null || key === "company_network_url";
    return [
      key,
      {
        name: pick(`f${at}_${key}`, `person.${key}`, `${key}s`),
        case: isAsIs ? "as is" : pick("lower", "as is"),
        words,
      },
    ];
  });

  const most = pick(7, 20, 25, 100);
  const credits = pick("1", "0.03", "0.5", "2", "0.000001", "20");
  const isTwo = perhaps(0.35);
  const free: Price = { per: "request", credits: "0" };
  const paid: Price = pick<Price>(
    { per: "row", credits },
    { per: "request", credits },
    { per: "started", rows: pick(5, 25), credits },
  );
  const by = pick("page", "offset", "cursor");
  const readMost = pick(1, 1, 5, 10);
  const ownCount = perhaps(0.4);
  const rowsPath = isBare ? "" : pick("data", "results", "reply.people");
  const status = pick(200, 200, 404, 400);

  const nest = pick("", "person.", "profile.basic.");
  const fields = Object.keys(valuesOf(undefined)).map((name): [string, string] => [
    name,
    `${name === "id" ? "" : perhaps(0.6) ? nest : ""}${pick(name, `their_${name}`)}${
      name === "department" && perhaps(0.5) ? "[0]" : ""
    }`,
  ]);

  return {
    seed,
    key: {
      header: pick("x-token", "authorization", "api_key"),
      form: pick("{key}", "Bearer {key}"),
    },
    filters: Object.fromEntries(filters),
    words: { level: wordsFor(LEVELS, "lv"), department: wordsFor(DEPARTMENTS, "dp") },
    filtersAt: pick("filters", "query.bool.filter"),
    filterForm: pick("plain", "include", "terms", "condition"),
    wrongName: pick("refused", "none", "swallowed"),
    search: {
      path: pick("/people/search", "/v9/find"),
      size: parameter(pick("size", "per_page", "limit")),
      start: parameter(pick("start", "at", "position")),
      by,
      first: pick(0, 1),
      oneSize: by === "cursor" && perhaps(0.3),
      sizes: perhaps(0.2) ? [most, most] : [1, most],
      depth: by !== "cursor" && perhaps(0.2) ? most * 3 : null,
      rows: rowsPath,
      total: ownCount && perhaps(0.5) ? null : where("x-total", "total", "paging.total_count"),
      next: by === "cursor" ? where("x-next", "next", "paging.cursor") : null,
      end: pick("null", "absent", "always"),
      price: isTwo ? free : paid,
    },
    count: ownCount ? { path: "/people/count", total: pick("n", "header:x-count") } : null,
    read: isTwo
      ? {
          path: readMost === 1 ? "/people/{id}" : "/people/read",
          most: readMost,
          ids: pick("ids", "which.list"),
          rows: readMost === 1 ? pick("", "one") : pick("found", "reply.matches"),
          price: { per: "row", credits },
        }
      : null,
    charged: perhaps(0.5) ? where("x-charged", "usage.charged") : null,
    balance: perhaps(0.4) ? where("x-left", "usage.left") : null,
    account: perhaps(0.5) ? { path: "/me", balance: "wallet.left" } : null,
    means: {
      none: { status, code: status === 400 ? "nobody" : null },
      credits: { status: pick(402, 403, 400), code: "no_credits" },
      refused: { status: pick(400, 422), code: "bad_request" },
    },
    record: Object.fromEntries(fields),
    idAs: pick("number", "hex"),
    isIdStrict: perhaps(0.5),
  };
}

/** What a person's record tells, by our names; without a person: the names alone. */
function valuesOf(person: Person | undefined): Record<string, unknown> {
  const company = person?.company ?? undefined;
  return {
    id: person?.hex,
    name: person && nameOf(person),
    first_name: person?.first,
    last_name: person?.last,
    headline: person?.headline,
    title: person?.title,
    seniority_level: person?.level,
    department: person?.department,
    industry: company?.industry,
    country: person?.country?.name,
    state: person?.state,
    city: person?.city,
    location: person && placeOf(person),
    connections: person?.connections,
    followers: person?.followers,
    company_name: company?.name,
    company_domain: company?.domain,
    company_network_url: company && `https://network.example/company/${company.slug}`,
    network_url: person && `https://network.example/in/${person.slug}`,
  };
}

function get(from: unknown, path: string): unknown {
  return path.split(".").reduce<unknown>((of, name) => (isObject(of) ? of[name] : undefined), from);
}

function put(into: Record<string, unknown>, path: string, value: unknown): void {
  const isFirst = path.endsWith("[0]");
  const names = path.replace("[0]", "").split(".");
  const last = names.pop() ?? "";
  let part = into;
  for (const name of names) {
    part[name] ??= {};
    part = part[name] as Record<string, unknown>;
  }
  part[last] = isFirst ? (value === null ? [] : [value, "other"]) : value;
}

class Refused extends Error {}

type DrawnDesk = Desk<object>;
type Test = (person: Person) => boolean;

/** The service of a draw. */
class Drawn {
  readonly #draw: Draw;

  constructor(draw: Draw) {
    this.#draw = draw;
  }

  id = (person: Person): string => (this.#draw.idAs === "hex" ? person.hex : String(person.number));

  #idOf(person: Person): unknown {
    return this.#draw.idAs === "hex" ? person.hex : person.number;
  }

  record = (person: Person, desk: DrawnDesk): unknown => {
    const { record, words } = this.#draw;
    const values = valuesOf(person);
    const theirs = {
      ...values,
      id: this.#idOf(person),
      seniority_level: person.level && words.level[person.level],
      department: person.department && words.department[person.department],
    };
    const made: Record<string, unknown> = {};
    for (const [name, path] of Object.entries(record))
      put(made, path, theirs[name as keyof typeof theirs] ?? null);
    return desk.record(made);
  };

  answer = (call: Call, desk: DrawnDesk): Reply => {
    try {
      return this.#route(call, desk);
    } catch (error) {
      if (error instanceof Refused) return this.#failed("refused", error.message);
      throw error;
    }
  };

  #route(call: Call, desk: DrawnDesk): Reply {
    const { account, count, read, search } = this.#draw;
    if (call.path === search.path) return this.#search(call, desk);
    if (call.path === count?.path) {
      const total = this.#found(call.body, desk).length;
      return this.#placed({}, [[count.total, total]]);
    }
    if (call.path === account?.path)
      return this.#placed({}, [[account.balance, Number(desk.book.balance())]]);
    if (read !== null && call.path.startsWith(read.path.replace("{id}", "")))
      return this.#read(read, call, desk);
    return { status: 404, body: { code: "no_such_call" } };
  }

  #failed(what: keyof Draw["means"], message: string): Reply {
    const { code, status } = this.#draw.means[what];
    return { status, body: { code, message } };
  }

  /** A reply with each value where it stands; of a bare list all others are headers. */
  #placed(body: unknown, values: readonly (readonly [Where | null, unknown])[]): Reply {
    const headers: Record<string, string> = {};
    for (const [where, value] of values) {
      if (where === null || value === undefined) continue;
      if (where.startsWith("header:")) {
        if (value !== null) headers[where.slice("header:".length)] = String(value);
      } else if (isObject(body)) put(body, where, value);
    }
    return { status: 200, headers, body };
  }

  /** Name and values of each filter of a body. */
  #asked(body: unknown): [string, readonly string[]][] {
    const { filterForm, filtersAt } = this.#draw;
    const given = get(body, filtersAt) ?? {};
    const clauses = Array.isArray(given) ? (given as unknown[]) : Object.entries(given);
    const isList = filterForm === "terms" || filterForm === "condition";
    if (isList !== Array.isArray(given) && clauses.length > 0) throw new Refused("filters");

    return clauses.map((clause): [string, readonly string[]] => {
      const [name, values] =
        filterForm === "condition"
          ? [get(clause, "field"), get(clause, "type") === "in" ? get(clause, "value") : undefined]
          : filterForm === "terms"
            ? (Object.entries((get(clause, "terms") ?? {}) as object)[0] ?? [])
            : filterForm === "include"
              ? [(clause as unknown[])[0], get((clause as unknown[])[1], "include")]
              : (clause as [string, unknown]);
      if (typeof name !== "string" || !isTextList(values)) throw new Refused("a filter");
      return [name, values];
    });
  }

  #test(name: string, values: readonly string[], desk: DrawnDesk): Test {
    const { filters, words, wrongName } = this.#draw;
    const found = Object.entries(filters).find(([, filter]) => filter.name === name);
    if (found === undefined) {
      if (wrongName === "refused") throw new Refused(`no filter ${name}`);
      return () => wrongName === "swallowed";
    }
    if (!desk.heeds(name)) return () => true;

    const [key, filter] = found;
    return (person) => {
      const own = FILTERS[key]?.(person);
      if (own === null || own === undefined) return false;
      const theirs = filter.words === null ? own : words[filter.words][own];
      if (theirs === null || theirs === undefined) return false;
      return values.includes(filter.case === "lower" ? theirs.toLowerCase() : theirs);
    };
  }

  #found(body: unknown, desk: DrawnDesk): readonly Person[] {
    const tests = this.#asked(body).map(([name, values]) => this.#test(name, values, desk));
    return desk.people.filter((person) => tests.every((test) => test(person)));
  }

  #parameter({ in: place, name }: Parameter, { body, query }: Call): string | undefined {
    const value = place === "query" ? query.get(name) : get(body, name);
    return value === null || value === undefined ? undefined : String(value);
  }

  /** From which row on, and how many; throws where that is refused. */
  #page(call: Call): { readonly offset: number; readonly size: number } {
    const { by, depth, first, oneSize, size: sizeAt, sizes, start } = this.#draw.search;
    const size = Number(this.#parameter(sizeAt, call) ?? sizes[0]);
    if (!Number.isInteger(size) || size < sizes[0] || size > sizes[1])
      throw new Refused(`size must be in ${sizes.join("..")}`);

    const begin = this.#parameter(start, call);
    const bound = oneSize ? `:${size}` : "";
    const [at = "", of = ""] = (begin ?? "").split(/(?=:)/);
    if (by === "cursor" && begin !== undefined && of !== bound) throw new Refused("cursor");
    const number = Number(by === "cursor" ? at.slice(1) : (begin ?? (by === "page" ? first : 0)));
    const offset = by === "page" ? (number - first) * size : number;
    if (!Number.isInteger(offset) || offset < 0) throw new Refused("start");
    if (depth !== null && offset + size > depth) throw new Refused(`no row behind ${depth}`);
    return { offset, size };
  }

  /** Charges for so many rows; false: no credits. */
  #sell(call: string, price: Price, ids: readonly string[], desk: DrawnDesk): boolean {
    const rows = ids.length;
    const units =
      price.per === "started" ? Math.ceil(rows / price.rows) : price.per === "request" ? 1 : rows;
    if (rows === 0 || millionthsOf(price.credits) === 0n) return true;
    return desk.sell({ call, price: price.credits, units, ids });
  }

  /** What a reply tells of the charge that was made since, if any. */
  #told(before: number, desk: DrawnDesk): [Where | null, unknown][] {
    const { balance, charged } = this.#draw;
    if (desk.options.silent) return [];
    const made = desk.book.charges.slice(before).reduce((sum, one) => sum + one.millionths, 0n);
    return [
      [charged, Number(creditsOf(made))],
      [balance, Number(desk.book.balance())],
    ];
  }

  #search(call: Call, desk: DrawnDesk): Reply {
    const { means, read, search } = this.#draw;
    const people = this.#found(call.body, desk);
    const { offset, size } = this.#page(call);
    const rows = desk.page(people, offset, size);
    if (rows.length === 0 && means.none.status !== 200)
      return this.#failed("none", "nobody was found");

    const before = desk.book.charges.length;
    if (!this.#sell("search", search.price, rows.map(this.id), desk))
      return this.#failed("credits", "no credits are left");

    const next = offset + rows.length;
    const isEnd = rows.length === 0 || next >= people.length;
    const cursor = `c${next}${search.oneSize ? `:${size}` : ""}`;
    const ended = { null: null, absent: undefined, always: cursor }[search.end];
    const list = rows.map((one) => (read === null ? this.record(one, desk) : this.#idOf(one)));
    const body = search.rows === "" ? list : {};
    if (isObject(body)) put(body, search.rows, list);
    return this.#placed(body, [
      [search.total, desk.total(people, offset, size)],
      [search.next, isEnd ? ended : cursor],
      ...this.#told(before, desk),
    ]);
  }

  #read(read: NonNullable<Draw["read"]>, { body, path }: Call, desk: DrawnDesk): Reply {
    const isOne = read.most === 1;
    const asked = isOne ? [path.split("/").at(-1)] : get(body, read.ids);
    if (!Array.isArray(asked) || asked.length < 1 || asked.length > read.most)
      throw new Refused(`1..${read.most} ids`);
    const isHex = this.#draw.idAs === "hex";
    if (!isOne && this.#draw.isIdStrict && asked.some((id) => (typeof id === "string") !== isHex))
      throw new Refused(`ids are ${isHex ? "texts" : "numbers"}`);

    const wanted = asked.map(String);
    const people = desk.people.filter((person) => wanted.includes(this.id(person)));
    if (isOne && people.length === 0) return { status: 404, body: { code: "gone" } };
    const before = desk.book.charges.length;
    if (!this.#sell("read", read.price, people.map(this.id), desk))
      return this.#failed("credits", "no credits are left");

    const rows = people.map((person) => this.record(person, desk));
    const whole = isOne ? rows[0] : rows;
    const reply: unknown = read.rows === "" ? whole : {};
    if (read.rows !== "") put(reply as Record<string, unknown>, read.rows, whole);
    return this.#placed(reply, this.#told(before, desk));
  }
}

const KEY = "drawn-0123456789abcdef0123456789abcdef";

/** The vendor of a draw, on a port of loopback. */
export function startDrawnVendor(
  draw: Draw,
  habits: Partial<Habits> = {},
): Promise<RunningVendor<object>> {
  const drawn = new Drawn(draw);
  const vendor: Vendor<object> = {
    key: KEY,
    own: {},
    record: drawn.record,
    id: drawn.id,
    refuses: ({ headers }, key) =>
      headers[draw.key.header] === draw.key.form.replace("{key}", key)
        ? undefined
        : { status: 401, body: { code: "bad_key" } },
    limited: ({ seconds }) => ({
      status: 429,
      headers: { "retry-after": String(seconds) },
      body: { code: "too_many" },
    }),
    limits: () => ({}),
    answer: drawn.answer,
  };
  return runVendor(vendor, { people: 90, seed: draw.seed, ...habits });
}
