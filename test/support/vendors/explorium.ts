import { type Department, INDUSTRIES, type Level, nameOf, type Person, PLACES } from "./people.ts";
import { type Call, type Desk, isObject, isTextList, type Reply, type Vendor } from "./shared.ts";

// Explorium: prospects, with a free statistic of how many there are, and businesses matched to ids.
// From its description and pages (read on 28 November 2026): the paths, `api_key`, a 401 that
// speaks of a Partner ID, unknown members and values of closed lists refused with 422 and `detail`
// of places, `mode` and `page_size` required, pages of 500 by number and 100 by cursor (its prose
// says 500), a wall of 60,000, `size` that caps the total of pages by number and not of cursors,
// `exclude` of 1,000 ids, codes of countries in lower case, regions as "us-ca", a place of the
// company, titles by their words in any order, levels of its schema (words of its examples are
// refused), arrays with null, a country's name in lower case where a code was asked for, two
// addresses of a person, statistics for nothing, `credit-usage: true` for what a call billed,
// `remaining_credits`, 403 with `details` where there are no credits, `retry_after` in the body of
// a 429.
// Left open there, so an option or assumed: the price (about a credit a prospect), whether `size`
// may be left out (`sizeRequired`: its two descriptions differ), codes in upper case
// (`upperCodes`), the largest page by number and by cursor (`mostPage`, `mostCursorPage`), what the
// credit figure within `credit_usage` is called (`creditName`; none), the name of the statistic's
// total (`total_results`), nobody as `data: []` with 200, that a match of businesses is free.
// Enriching companies and matching prospects are not played.

export interface ExploriumOptions {
  sizeRequired: boolean;
  upperCodes: boolean;
  mostPage: number;
  mostCursorPage: number;
  creditName: string | undefined;
}

type ExploriumDesk = Desk<ExploriumOptions>;

const LEVEL: Readonly<Record<Level, string>> = {
  owner: "owner",
  founder: "founder",
  "c-suite": "c-suite",
  partner: "partner",
  vp: "vice president",
  head: "senior manager",
  director: "director",
  manager: "manager",
  senior: "senior non-managerial",
  entry: "junior",
  intern: "non-managerial",
};
const LEVELS = [...Object.values(LEVEL), "president", "advisor", "freelancer", "board member"];

const DEPARTMENT: Readonly<Record<Department, string>> = {
  engineering: "engineering",
  sales: "sales",
  marketing: "marketing",
  finance: "finance",
  "human resources": "human resources",
  operations: "operations",
  legal: "legal",
  support: "support",
  design: "design",
};
const DEPARTMENTS = [
  ...Object.values(DEPARTMENT),
  ..."administration,real estate,healthcare,partnerships,c-suite,education,strategy,product".split(
    ",",
  ),
  ..."r&d,retail,customer success,security,public service,creative,it,trade,procurement,data".split(
    ",",
  ),
  "manufacturing",
  "logistics",
];

const WALL = 60_000;

const low = (text: string | null | undefined): string | null => text?.toLowerCase() ?? null;

const regionOf = (country: string | undefined, state: string | null): string | null =>
  country === undefined || state === null ? null : `${country}-${state}`.toLowerCase();

/** 32 hex digits. */
const businessOf = (at: number): string => `b0${String(at).padStart(30, "0")}`;

function recordOf(person: Person, desk: ExploriumDesk): unknown {
  const { company, department, level } = person;
  const word = level === null ? null : LEVEL[level];
  const address = `linkedin.com/in/${person.slug}`;
  const opaque = `linkedin.com/in/ACoAA${person.hex.slice(0, 12)}`;
  return desk.record({
    prospect_id: person.hex,
    full_name: low(nameOf(person)),
    first_name: low(person.first),
    last_name: low(person.last),
    country_name: low(person.country?.name),
    region_name: low(person.state),
    city: low(person.city),
    // Every third is known by an address that says nothing, and by the other one beside it.
    linkedin: person.at % 3 === 0 ? opaque : address,
    linkedin_url_array: person.at % 3 === 0 ? [opaque, address] : [address],
    job_title: low(person.title),
    job_level_main: word,
    job_level_array: person.at % 4 === 0 ? [null, word] : [word],
    job_department_main: department === null ? null : DEPARTMENT[department],
    job_department_array: department === null ? [null] : [DEPARTMENT[department], null],
    business_id: company === null ? null : businessOf(company.at),
    company_name: low(company?.name),
    company_website: company === null ? null : `https://${company.domain}`,
    company_linkedin: company === null ? null : `linkedin.com/company/${company.slug}`,
  });
}

/** A body that is refused: where, and why. */
class BadBody extends Error {
  readonly loc: readonly (string | number)[];

  constructor(loc: readonly (string | number)[], message: string) {
    super(message);
    this.loc = ["body", ...loc];
  }
}

interface Filter {
  readonly values: (person: Person) => readonly (string | null | undefined)[];
  /** The closed list; undefined: any text. */
  readonly known?: (value: string, desk: ExploriumDesk) => boolean;
  readonly compare?: (own: string, asked: string) => boolean;
  readonly flags?: readonly string[];
}

const isCode = (value: string, { options }: ExploriumDesk): boolean =>
  /^[a-z]{2}$/.test(options.upperCodes ? value.toLowerCase() : value);

const REGIONS = new Set(
  PLACES.map(({ country, stateCode }) => regionOf(country.code, stateCode) ?? ""),
);

const words = (text: string): string[] => text.toLowerCase().split(/\s+/);

const FILTERS: Readonly<Record<string, Filter>> = {
  country_code: { values: ({ country }) => [low(country?.code)], known: isCode },
  company_country_code: {
    values: ({ company }) => [low(company?.place.country.code)],
    known: isCode,
  },
  region_country_code: {
    values: ({ country, stateCode }) => [regionOf(country?.code, stateCode)],
    known: (value) => REGIONS.has(value.toLowerCase()),
  },
  city_region_country: {
    values: ({ company }) => {
      if (company === null) return [];
      const { city, country, stateCode } = company.place;
      return [`${city}, ${stateCode}, ${country.code}`];
    },
  },
  job_title: {
    values: ({ title }) => [title],
    compare: (own, asked) => words(asked).every((word) => words(own).includes(word)),
    flags: ["include_related_job_titles"],
  },
  job_level: {
    values: ({ level }) => [level === null ? null : LEVEL[level]],
    known: (value) => LEVELS.includes(value),
  },
  job_department: {
    values: ({ department }) => [department === null ? null : DEPARTMENT[department]],
    known: (value) => DEPARTMENTS.includes(value),
  },
  linkedin_category: {
    values: ({ company }) => [low(company?.industry)],
    known: (value) => INDUSTRIES.some((industry) => industry.toLowerCase() === value),
  },
  company_name: { values: ({ company }) => [company?.name] },
  business_id: {
    values: ({ company }) => [company === null ? null : businessOf(company.at)],
    known: (value) => /^[0-9a-f]{32}$/.test(value),
  },
};

type Test = (person: Person) => boolean;

const same = (own: string, asked: string): boolean => own.toLowerCase() === asked.toLowerCase();

function testOf(name: string, given: unknown, desk: ExploriumDesk): Test {
  const filter = FILTERS[name];
  const loc = ["filters", name];
  if (!desk.heeds(name)) return () => true;
  if (filter === undefined) throw new BadBody(loc, "Extra inputs are not permitted");
  if (!isObject(given)) throw new BadBody(loc, "Input should be a valid dictionary");

  const { negate = false, values, ...rest } = given;
  const unknown = Object.keys(rest).find((key) => filter.flags?.includes(key) !== true);
  if (unknown !== undefined) throw new BadBody([...loc, unknown], "Extra inputs are not permitted");
  if (!isTextList(values) || values.length === 0)
    throw new BadBody([...loc, "values"], "Input should be a list of text");
  const bad = values.findIndex((value) => filter.known?.(value, desk) === false);
  if (bad >= 0) throw new BadBody([...loc, "values", bad], `Input should be a known ${name}`);

  const compare = filter.compare ?? same;
  return (person) => {
    const own = filter.values(person).filter((value) => value != null);
    return own.some((each) => values.some((value) => compare(each, value))) !== (negate === true);
  };
}

/** The members of a body, none of which is unknown. */
function members(body: unknown, known: readonly string[]): Record<string, unknown> {
  if (!isObject(body)) throw new BadBody([], "Input should be a valid dictionary");
  const unknown = Object.keys(body).find((name) => !known.includes(name));
  if (unknown !== undefined) throw new BadBody([unknown], "Extra inputs are not permitted");
  return body;
}

function found(filters: unknown, desk: ExploriumDesk): readonly Person[] {
  if (!isObject(filters)) throw new BadBody(["filters"], "Field required");
  const tests = Object.entries(filters).map(([name, given]) => testOf(name, given, desk));
  return desk.people.filter((person) => tests.every((test) => test(person)));
}

function whole(name: string, value: unknown, most: number, isRequired = true): number {
  if (value === undefined && !isRequired) return most;
  if (value === undefined) throw new BadBody([name], "Field required");
  if (!Number.isInteger(value) || Number(value) < 1 || Number(value) > most)
    throw new BadBody([name], `Input should be between 1 and ${most}`);
  return Number(value);
}

interface Page {
  readonly rows: readonly Person[];
  readonly more: object;
}

/** The page of a number; its total is no more than `size`. */
function byNumber(
  body: Record<string, unknown>,
  all: readonly Person[],
  desk: ExploriumDesk,
): Page {
  const size = whole("size", body.size, WALL, desk.options.sizeRequired);
  const pageSize = whole("page_size", body.page_size, desk.options.mostPage);
  const page = whole("page", body.page ?? 1, WALL);
  if (page * pageSize > WALL) throw new BadBody(["page"], `page * page_size is over ${WALL}`);

  const offset = (page - 1) * pageSize;
  const capped = all.slice(0, size);
  const total = Math.min(size, desk.total(all, offset, pageSize));
  return {
    rows: desk.page(capped, offset, pageSize),
    more: { total_results: total, page, total_pages: Math.ceil(total / pageSize) },
  };
}

/** The page of a cursor, null for the first; its total is the true one. */
function byCursor(
  body: Record<string, unknown>,
  all: readonly Person[],
  desk: ExploriumDesk,
): Page {
  const { next_cursor: cursor, page } = body;
  if (page !== undefined) throw new BadBody(["page"], "page and next_cursor exclude each other");
  const size = whole("size", body.size, WALL, desk.options.sizeRequired);
  const pageSize = whole("page_size", body.page_size, desk.options.mostCursorPage);
  const bound = JSON.stringify(body.filters);
  const [, at = "", of = ""] = /^(\d+)~(.*)$/.exec(String(cursor ?? `0~${bound}`)) ?? [];
  if (at === "" || of !== bound) throw new BadBody(["next_cursor"], "cursor is not valid");

  const offset = Number(at);
  const capped = all.slice(0, size);
  const rows = desk.page(capped, offset, pageSize);
  const next = offset + rows.length < capped.length ? `${offset + rows.length}~${bound}` : null;
  return {
    rows,
    more: {
      total_results: desk.total(all, offset, pageSize),
      page: { size: rows.length, next_cursor: next },
    },
  };
}

function fetchProspects({ body: given, headers }: Call, desk: ExploriumDesk): Reply {
  const names = ["mode", "size", "page_size", "page", "filters", "exclude", "next_cursor"];
  const body = members(given, names);
  if (body.mode !== "full" && body.mode !== "preview")
    throw new BadBody(["mode"], body.mode === undefined ? "Field required" : "Unknown mode");
  const exclude = body.exclude ?? [];
  if (!isTextList(exclude) || exclude.length > 1_000)
    throw new BadBody(["exclude"], "List should have at most 1000 items");

  const all = found(body.filters, desk).filter(({ hex }) => !exclude.includes(hex));
  const { more, rows: page } = ("next_cursor" in body ? byCursor : byNumber)(body, all, desk);
  const rows = desk.affordable(page, "1");
  const ids = rows.map(({ hex }) => hex);
  if (rows.length > 0 && !desk.sell({ call: "prospects", price: "1", units: rows.length, ids }))
    return { status: 403, body: { details: "Insufficient credits to perform this request" } };

  const { creditName, silent } = desk.options;
  const charge = rows.length === 0 ? "0" : desk.book.charges.at(-1)?.credits;
  const usage = {
    total_results: rows.length,
    ...(creditName === undefined ? {} : { [creditName]: Number(charge) }),
  };
  return {
    status: 200,
    body: {
      response_context: { request_status: "success" },
      data: rows.map((person) => recordOf(person, desk)),
      ...more,
      ...(headers["credit-usage"] === "true" && !silent ? { credit_usage: usage } : {}),
    },
  };
}

/** Businesses by name or domain to ids, null where there is none. */
function match({ body: given }: Call, desk: ExploriumDesk): Reply {
  const { businesses_to_match: asked } = members(given, ["businesses_to_match"]);
  if (!Array.isArray(asked)) throw new BadBody(["businesses_to_match"], "Field required");
  const matched = asked.map((input: unknown) => {
    const { domain, name } = isObject(input) ? input : {};
    const one = desk.companies.find((each) => each.domain === domain || each.name === name);
    return { input, business_id: one === undefined ? null : businessOf(one.at) };
  });
  return {
    status: 200,
    body: { total_results: matched.length, matched_businesses: matched },
  };
}

const ROUTES: Readonly<Record<string, (call: Call, desk: ExploriumDesk) => Reply>> = {
  "POST /v1/prospects": fetchProspects,
  "POST /v1/prospects/stats": ({ body }, desk) => ({
    status: 200,
    body: { total_results: found(members(body, ["filters"]).filters, desk).length, stats: {} },
  }),
  "POST /v1/businesses/match": match,
  "GET /v1/credits": (_, desk) => ({
    status: 200,
    body: {
      remaining_credits: Number(desk.book.balance()),
      allocated_credits: Number(desk.options.credits),
    },
  }),
};

export const explorium: Vendor<ExploriumOptions> = {
  key: "e6f1c2d3-4b5a-4697-8879-a0b1c2d3e4f5",
  own: {
    sizeRequired: true,
    upperCodes: false,
    mostPage: 500,
    mostCursorPage: 100,
    creditName: undefined,
  },
  record: recordOf,
  id: ({ hex }) => hex,
  refuses: ({ headers }, key) =>
    headers.api_key === key
      ? undefined
      : { status: 401, body: { details: "Missing or invalid Partner ID" } },
  limited: ({ seconds }) => ({
    status: 429,
    body: { code: 429, message: "Rate limit exceeded", retry_after: seconds },
  }),
  limits: ({ left, most, seconds }) => ({
    "x-ratelimit-limit": String(most),
    "x-ratelimit-remaining": String(left),
    "x-ratelimit-reset": String(Math.ceil(Date.now() / 1_000) + seconds),
  }),
  answer(call, desk) {
    const route = ROUTES[`${call.method} ${call.path}`];
    if (route === undefined) return { status: 404, body: { detail: "Not Found" } };

    try {
      return route(call, desk);
    } catch (error) {
      if (!(error instanceof BadBody)) throw error;
      const { loc, message } = error;
      return { status: 422, body: { detail: [{ loc, msg: message, type: "value_error" }] } };
    }
  },
};
