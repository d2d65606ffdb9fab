import { BadQuery, compiled, type Index } from "./elastic.ts";
import { type Department, type Level, nameOf, type Person, placeOf } from "./people.ts";
import { type Call, type Desk, isObject, type Reply, type Vendor } from "./shared.ts";

// People Data Labs: person search (POST, GET), company enrich, autocomplete.
// From its pages and public copies of its description (docs.peopledatalabs.com, read on 28 November
// 2026): the paths, the key as a header or as `api_key`, `query` in a subset of Elasticsearch's
// language over values in lower case, `size` of 1 where none is sent and 100 at most,
// `scroll_token`, `from` up to 9999, 404 for nobody, 402, a credit a person and 0 for nobody, what
// the headers tell and that limits are objects in single quotes, meters with a balance each, the
// words of levels and roles, the record's fields, booleans on a free plan, a sandbox that costs
// nothing.
// Left open there, so an option or assumed: whether titles are words or a keyword (`titleIs`), what
// a field does that is not there (`unknownField`), whether the last page has a token (`lastToken`),
// how many values an array holds (`mostTerms`: 1,000 or, in an older copy, 100), the page that is
// refused (`mostSize`: 100, or 1,000 in the description), what happens to a balance that pays for a
// part (`partly`), that a token of another query is refused, the texts of errors, what comes back
// for a page behind the last (404). SQL is not played: 501; nor is the bound of a reply, 1 MB.

export interface PdlOptions {
  titleIs: "text" | "keyword";
  unknownField: "none" | "refused";
  lastToken: boolean;
  mostTerms: number;
  mostSize: number;
  /** Made-up records for nothing, by the same key; no autocomplete. */
  sandbox: boolean;
}

type PdlDesk = Desk<PdlOptions>;

const LEVEL: Readonly<Record<Level, string | null>> = {
  owner: "owner",
  founder: "owner",
  "c-suite": "cxo",
  partner: "partner",
  vp: "vp",
  head: null,
  director: "director",
  manager: "manager",
  senior: "senior",
  entry: "entry",
  intern: "training",
};

const ROLE: Readonly<Record<Department, readonly [string, string]>> = {
  engineering: ["engineering", "software"],
  sales: ["sales", "account_executive"],
  marketing: ["marketing", "brand_marketing"],
  finance: ["finance", "accounting"],
  "human resources": ["human_resources", "recruiting"],
  operations: ["operations", "logistics"],
  legal: ["legal", "lawyer"],
  support: ["support", "customer_support"],
  design: ["creative", "graphic_design"],
};

const KINDS = [
  "bool",
  "match_all",
  "term",
  "terms",
  "match",
  "match_phrase",
  "prefix",
  "wildcard",
  "range",
  "exists",
];

const low = (text: string | null | undefined): string | null => text?.toLowerCase() ?? null;

const idOf = ({ at, hex, number }: Person): string =>
  at % 7 === 3 ? String(number) : `${hex.slice(0, 22)}_0000`;

function docOf(person: Person): Record<string, unknown> {
  const { company, department, level } = person;
  const [role, subRole] = department === null ? [null, null] : ROLE[department];
  const word = level === null ? null : LEVEL[level];
  const levels = word === null ? [] : [word];
  return {
    id: idOf(person),
    full_name: low(nameOf(person)),
    first_name: low(person.first),
    last_name: low(person.last),
    linkedin_url: `linkedin.com/in/${person.slug}`,
    linkedin_username: person.slug,
    industry: low(company?.industry),
    job_title: low(person.title),
    job_title_role: role,
    job_title_sub_role: subRole,
    // A vice president who manages, too: an array of several, the higher one last.
    job_title_levels: word === "vp" && person.at % 2 === 0 ? ["manager", "vp"] : levels,
    job_company_id: company?.slug ?? null,
    job_company_name: low(company?.name),
    job_company_website: company?.domain ?? null,
    job_company_linkedin_url: company === null ? null : `linkedin.com/company/${company.slug}`,
    job_company_industry: low(company?.industry),
    job_last_verified: person.updated,
    location_name: low(placeOf(person)),
    location_locality: low(person.city),
    location_region: low(person.state),
    location_country: low(person.country?.name),
    work_email: company === null ? null : `${person.slug}@${company.domain}`,
    mobile_phone: null,
  };
}

/** What a free plan says only the existence of. */
const HIDDEN = [
  "location_name",
  "location_locality",
  "location_region",
  "work_email",
  "mobile_phone",
];

function recordOf(person: Person, desk: PdlDesk): Record<string, unknown> {
  const doc = docOf(person);
  if (desk.options.emptyPlan) for (const name of HIDDEN) doc[name] = doc[name] !== null;
  return desk.record(doc);
}

function indexOf(desk: PdlDesk): Index {
  const { mostTerms, titleIs, unknownField } = desk.options;
  const fields = Object.keys(docOf(desk.people[0] as Person)).map(
    (name) => [name, "keyword"] as const,
  );
  return {
    fields: { ...Object.fromEntries(fields), job_title: titleIs },
    nested: [],
    kinds: KINDS,
    unknownField,
    mostTerms,
    heeds: (name) => desk.heeds(name),
  };
}

const TYPES: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "authentication_error",
  402: "payment_required",
  404: "not_found",
  405: "method_not_allowed",
  429: "rate_limit_error",
  501: "not_played_here",
};

const failed = (status: number, message: string): Reply => ({
  status,
  body: { status, error: { type: TYPES[status], message } },
});

/** What the reply of the charge that was just made tells of it: of its own meter alone. */
function told(desk: PdlDesk): Record<string, string> {
  const charge = desk.book.charges.at(-1);
  if (charge === undefined || desk.options.silent || desk.options.sandbox) return {};
  return {
    "x-call-credits-spent": charge.credits,
    "x-call-credits-type": charge.meter,
    "x-totallimit-remaining": desk.book.balance(charge.meter),
  };
}

/** A number of the query, in all its digits, that a token carries. */
function markOf(query: unknown): number {
  let mark = 7;
  for (const letter of JSON.stringify(query)) mark = (mark * 31 + letter.charCodeAt(0)) % 9_999_991;
  return mark;
}

/** The members of the body; of the URL where it is a GET, or where the body has none of that name. */
function asked({ body, query }: Call): Record<string, unknown> {
  const inUrl = Object.fromEntries(query);
  if (typeof inUrl.query === "string") {
    try {
      inUrl.query = JSON.parse(inUrl.query);
    } catch {
      // It stays a text, which is refused as no object.
    }
  }
  return { ...inUrl, ...(isObject(body) ? body : {}) };
}

interface Start {
  readonly size: number;
  readonly offset: number;
}

/** Where the page begins; a text: why it is refused. */
function startOf(given: Record<string, unknown>, desk: PdlDesk): Start | string {
  const size = Number(given.size ?? 1);
  if (!Number.isInteger(size) || size < 1 || size > desk.options.mostSize)
    return `size must be between 1 and ${desk.options.mostSize}`;

  const { from, scroll_token: token } = given;
  if (from !== undefined && token !== undefined) return "from and scroll_token exclude each other";
  const offset = Number(from ?? 0);
  if (!Number.isInteger(offset) || offset < 0 || offset > 9_999) return "from must be in 0..9999";
  if (token === undefined || token === null) return { size, offset };

  const [, at = "", mark = ""] = /^(\d+)\$1\.(\d+)$/.exec(String(token)) ?? [];
  return at === "" || Number(mark) !== markOf(given.query)
    ? "scroll_token is not valid"
    : { size, offset: Number(at) };
}

function search(call: Call, desk: PdlDesk): Reply {
  const given = asked(call);
  if (given.sql !== undefined) return failed(501, "SQL is not played");
  if (given.query === undefined) return failed(400, "one of query and sql is required");
  const start = startOf(given, desk);
  if (typeof start === "string") return failed(400, start);

  const isWanted = compiled(given.query, indexOf(desk));
  const found = desk.people.filter((person) => isWanted(docOf(person)));
  const price = desk.options.sandbox ? "0" : "1";
  const { offset, size } = start;
  const rows = desk.affordable(desk.page(found, offset, size), price, "search");
  if (rows.length === 0) return failed(404, "No records were found matching your request");

  const ids = rows.map((person) => idOf(person));
  if (!desk.sell({ call: "search", price, units: rows.length, ids, meter: "search" }))
    return failed(402, "You have hit your account maximum for person search");

  const next = offset + rows.length;
  const hasToken = next < found.length || desk.options.lastToken;
  return {
    status: 200,
    headers: told(desk),
    body: {
      status: 200,
      data: rows.map((person) => chosen(recordOf(person, desk), given.data_include)),
      ...(hasToken ? { scroll_token: `${next}$1.${markOf(given.query)}` } : {}),
      total: desk.total(found, offset, size),
      dataset_version: "35.0",
    },
  };
}

/** The fields that `data_include` names, all of them where it names none. */
function chosen(record: Record<string, unknown>, include: unknown): Record<string, unknown> {
  if (typeof include !== "string" || include === "") return record;
  const names = include.split(",");
  return Object.fromEntries(Object.entries(record).filter(([name]) => names.includes(name)));
}

/** One company, its record beside `status` and `likelihood` and not below `data`. */
function company({ query }: Call, desk: PdlDesk): Reply {
  const slug = query.get("profile")?.split("/").at(-1);
  const found = desk.companies.find(
    (one) =>
      one.domain === query.get("website") ||
      one.slug === slug ||
      one.slug === query.get("pdl_id") ||
      one.name.toLowerCase() === query.get("name")?.toLowerCase(),
  );
  if (!["website", "profile", "pdl_id", "name", "ticker"].some((name) => query.has(name)))
    return failed(400, "one of website, profile, name, ticker, pdl_id is required");
  if (found === undefined) return failed(404, "No company was found");

  const price = desk.options.sandbox ? "0" : "1";
  if (
    !desk.sell({
      call: "enrich_company",
      price,
      units: 1,
      ids: [found.slug],
      meter: "enrich_company",
    })
  )
    return failed(402, "You have hit your account maximum for company enrich");
  return {
    status: 200,
    headers: told(desk),
    body: {
      status: 200,
      likelihood: 8,
      ...desk.record({
        id: found.slug,
        name: found.name.toLowerCase(),
        website: found.domain,
        linkedin_url: `linkedin.com/company/${found.slug}`,
        industry: found.industry.toLowerCase(),
        employee_count: found.employees,
      }),
    },
  };
}

/** Words of a field with how many have them, the frequent ones first; free. */
function autocomplete({ query }: Call, desk: PdlDesk): Reply {
  const fields: Readonly<Record<string, string>> = {
    country: "location_country",
    region: "location_region",
    industry: "industry",
    title: "job_title",
    role: "job_title_role",
    sub_role: "job_title_sub_role",
    company: "job_company_name",
  };
  const name = fields[query.get("field") ?? ""];
  if (name === undefined) return failed(400, "field is not one that can be completed");

  const counts = new Map<string, number>();
  for (const person of desk.people) {
    const word = docOf(person)[name];
    if (typeof word === "string" && word.startsWith(query.get("text") ?? ""))
      counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  const data = [...counts]
    .sort(([, a], [, b]) => b - a)
    .map(([word, count]) => ({ name: word, count, meta: {} }));
  return {
    status: 200,
    body: { status: 200, data: data.slice(0, Number(query.get("size") ?? 10)), fields: ["name"] },
  };
}

const ROUTES: Readonly<Record<string, (call: Call, desk: PdlDesk) => Reply>> = {
  "POST /v5/person/search": search,
  "GET /v5/person/search": search,
  "GET /v5/company/enrich": company,
  "GET /v5/autocomplete": (call, desk) =>
    desk.options.sandbox ? failed(404, "not in the sandbox") : autocomplete(call, desk),
};

export const pdl: Vendor<PdlOptions> = {
  key: "5f0c9d3ba71e48d2b6a4e0c17d95f3e8a2b4c6d8e0f1a3b5c7d9e1f2a4b6c8d0",
  own: {
    titleIs: "text",
    unknownField: "none",
    lastToken: true,
    mostTerms: 100,
    mostSize: 100,
    sandbox: false,
  },
  record: recordOf,
  id: idOf,
  refuses: ({ headers, query, body }, key) => {
    const inBody = isObject(body) ? body.api_key : undefined;
    const sent = headers["x-api-key"] ?? inBody ?? query.get("api_key");
    return sent === key ? undefined : failed(401, "Request contained a missing or invalid key");
  },
  limited: () => failed(429, "An error occurred due to requests hitting the API too quick"),
  limits: ({ left, most, seconds }) => ({
    "x-ratelimit-limit": `{'minute': ${most}}`,
    "x-ratelimit-remaining": `{'minute': ${left}}`,
    "x-ratelimit-reset": new Date(Date.now() + seconds * 1_000).toISOString(),
  }),
  answer(call, desk) {
    const route = ROUTES[`${call.method} ${call.path}`];
    if (route === undefined) {
      const isThere = Object.keys(ROUTES).some((name) => name.endsWith(` ${call.path}`));
      return isThere ? failed(405, "Method not allowed") : failed(404, "Not found");
    }

    try {
      return route(call, desk);
    } catch (error) {
      if (error instanceof BadQuery) return failed(400, error.message);
      throw error;
    }
  },
};
