import { BadQuery, compiled, type Doc, type Index } from "./elastic.ts";
import type { Company, Department, Level, Person } from "./people.ts";
import { nameOf, placeOf } from "./people.ts";
import { type Call, type Desk, isObject, type Reply, type Vendor } from "./shared.ts";

// Coresignal: employee search that gives ids, then a record by its id.
// From its pages (docs.coresignal.com, read on 28 November 2026): the paths, `apikey`, a query in
// Elasticsearch's language with `.exact` beside text and companies in a nested list, a bare list of
// whole numbers, totals, pages and the cursor in headers (quotes and a comma inside, taken back as
// it is; by `"sort":["id"]` the id alone), 1,000 ids a page, 0 credits a search and 20 a record,
// 404 free, `x-credits-remaining` as all that is told, a preview of 20 a query that a plan must
// have, errors as `detail`, 402, 422 for a wrong structure, 500 for a wrong method, no limit
// headers, 400 for no body with a good key. From integrators: what a flat `experience.company_name`
// finds (nobody), the words of levels seen, `linkedin_url` in replies.
// Left open there, so an option or assumed: an unknown field (`unknownField`), whether a page that
// has rows always names a next one (`lastCursor`), the name of the network's address (`neutral`),
// what comes for a profile that was deleted (`deletedAs`), words of the levels that nobody saw, the
// texts of errors. The plain filters of other datasets and data requests in bulk are not played:
// 404. Its limit is one of a second: `limitPerMinute` 5 and `windowMs` 1000.

export interface CoresignalOptions {
  unknownField: "none" | "refused";
  lastCursor: boolean;
  /** Records write `professional_network_url` where they would write `linkedin_url`. */
  neutral: boolean;
  /** Positions of people who are found but were deleted. */
  deleted: readonly number[];
  /** A record with `is_deleted`, paid like any, or a 404. */
  deletedAs: "marked" | "404";
  /**
   * Positions of people who are found still, and whose record
   * is by now that of the next one of the same country.
   */
  merged: readonly number[];
  /** The plan has previews. */
  preview: boolean;
}

type CoresignalDesk = Desk<CoresignalOptions>;

const LEVEL: Readonly<Record<Level, string>> = {
  owner: "Owner",
  founder: "Founder",
  "c-suite": "C-Level",
  partner: "Partner",
  vp: "President/Vice President",
  head: "Head",
  director: "Director",
  manager: "Manager",
  senior: "Senior",
  entry: "Specialist",
  intern: "Intern",
};

const DEPARTMENT: Readonly<Record<Department, string>> = {
  engineering: "Engineering and Technical",
  sales: "Sales",
  marketing: "Marketing",
  finance: "Finance & Accounting",
  "human resources": "Human Resources",
  operations: "Operations",
  legal: "Legal",
  support: "Customer Service",
  design: "Design",
};

const ROOT = "/cdapi/v2/employee_multi_source";
const COLLECT = "20";

const networkOf = (company: Company): string => `https://www.linkedin.com/company/${company.slug}`;
const profileOf = ({ slug }: Person): string => `https://www.linkedin.com/in/${slug}`;

function jobOf(company: Company, title: string | null, isActive: boolean): Record<string, unknown> {
  return {
    active_experience: isActive ? 1 : 0,
    position_title: title,
    company_name: company.name,
    company_website: `https://${company.domain}`,
    company_linkedin_url: networkOf(company),
    company_industry: company.industry,
  };
}

function docOf(person: Person): Record<string, unknown> {
  const { company, country, department, former, level } = person;
  const jobs = [
    ...(company === null ? [] : [jobOf(company, person.title, true)]),
    ...(former === null ? [] : [jobOf(former, "Associate", false)]),
  ];
  return {
    id: person.number,
    full_name: nameOf(person),
    first_name: person.first,
    last_name: person.last,
    headline: person.headline,
    linkedin_url: profileOf(person),
    active_experience_title: person.title,
    active_experience_management_level: level === null ? null : LEVEL[level],
    active_experience_department: department === null ? null : DEPARTMENT[department],
    location_country: country?.name ?? null,
    location_state: person.state,
    location_city: person.city,
    location_full: placeOf(person),
    connections_count: person.connections,
    followers_count: person.followers,
    // In no order that anybody promised.
    experience: person.at % 3 === 0 ? jobs : jobs.toReversed(),
    updated_at: `${person.updated}T04:05:06.000Z`,
    is_deleted: 0,
    is_parent: 1,
  };
}

function recordOf(person: Person, desk: CoresignalDesk): Record<string, unknown> {
  const { linkedin_url, ...doc } = docOf(person);
  const isDeleted = desk.options.deleted.includes(person.at);
  return desk.record({
    ...doc,
    [desk.options.neutral ? "professional_network_url" : "linkedin_url"]: linkedin_url,
    is_deleted: isDeleted ? 1 : 0,
  });
}

function indexOf(desk: CoresignalDesk): Index {
  const texts = [
    "full_name",
    "first_name",
    "last_name",
    "headline",
    "active_experience_title",
    "active_experience_management_level",
    "active_experience_department",
    "location_country",
    "location_state",
    "location_city",
    "location_full",
    "linkedin_url",
    "experience.company_name",
    "experience.company_website",
    "experience.company_linkedin_url",
    "experience.company_industry",
    "experience.position_title",
  ].map((name) => [name, "text+exact"] as const);
  return {
    fields: {
      ...Object.fromEntries(texts),
      id: "number",
      connections_count: "number",
      followers_count: "number",
      is_deleted: "number",
      "experience.active_experience": "number",
    },
    nested: ["experience"],
    kinds: "bool match_all term terms match match_phrase prefix wildcard range exists nested".split(
      " ",
    ),
    unknownField: desk.options.unknownField,
    mostTerms: 65_536,
    heeds: (name) => desk.heeds(name),
  };
}

const failed = (status: number, detail: string): Reply => ({ status, body: { detail } });

const told = (desk: CoresignalDesk): Record<string, string> =>
  desk.options.silent ? {} : { "x-credits-remaining": desk.book.balance() };

/** What `after` names a person by, in each order that can be asked for. */
const CURSOR = {
  id: ({ number }: Person) => String(number),
  updated: ({ number, updated }: Person) => `"${updated}",${number}`,
  score: ({ number, updated }: Person) => `1.0,"${updated}",${number}`,
} as const;

/** The order that is asked for; undefined: none that is known. */
function orderOf(sort: unknown): keyof typeof CURSOR | undefined {
  if (sort === undefined) return "updated";
  if (!Array.isArray(sort) || sort.length !== 1) return undefined;
  return sort[0] === "id" ? "id" : sort[0] === "_score" ? "score" : undefined;
}

const compare = <T extends string | bigint>(a: T, b: T): number => (a < b ? -1 : a > b ? 1 : 0);

/** Whom a query finds, in its order; a reply: how it is refused. */
function found(body: unknown, desk: CoresignalDesk): readonly Person[] | Reply {
  if (body === undefined) return failed(400, "Request body is empty or is not JSON");
  if (!isObject(body) || body.query === undefined) return failed(422, "field required: query");
  const order = orderOf(body.sort);
  if (order === undefined) return failed(422, "sort is not supported");

  const isWanted = compiled(body.query, indexOf(desk));
  return desk.people
    .filter((person) => isWanted(docOf(person) as Doc))
    .sort(
      (a, b) => (order === "id" ? 0 : compare(b.updated, a.updated)) || compare(a.number, b.number),
    );
}

const isReply = (value: readonly Person[] | Reply): value is Reply => !Array.isArray(value);

function search({ body, query }: Call, desk: CoresignalDesk): Reply {
  const people = found(body, desk);
  if (isReply(people)) return people;

  const size = Number(query.get("items_per_page") ?? 1_000);
  if (!Number.isInteger(size) || size < 1 || size > 1_000)
    return failed(422, "items_per_page must be between 1 and 1000");

  const order = orderOf((body as Doc).sort) ?? "updated";
  const after = query.get("after");
  const behind = people.findIndex((person) => CURSOR[order](person) === after);
  if (after !== null && behind < 0) return failed(400, "after is not a valid cursor");

  const offset = behind + 1;
  const page = desk.page(people, offset, size);
  const last = people[offset + page.length - 1];
  const hasNext =
    page.length > 0 && (offset + page.length < people.length || desk.options.lastCursor);
  const total = desk.total(people, offset, size);
  return {
    status: 200,
    headers: {
      ...told(desk),
      "x-total-results": String(total),
      "x-total-pages": String(Math.ceil(total / size)),
      ...(hasNext && last !== undefined ? { "x-next-page-after": CURSOR[order](last) } : {}),
    },
    body: page.map(({ number }) => number),
  };
}

/** Up to twenty rows of a few fields, for the price of a record. */
function preview({ body }: Call, desk: CoresignalDesk): Reply {
  if (!desk.options.preview) return failed(403, "Preview is not part of your plan");
  const people = found(body, desk);
  if (isReply(people)) return people;

  const rows = people.slice(0, 20);
  const ids = rows.map(({ number }) => String(number));
  if (rows.length > 0 && !desk.sell({ call: "preview", price: COLLECT, units: 1, ids }))
    return failed(402, "Insufficient credits");
  const fields = ["id", "full_name", "headline", "location_country", "connections_count"];
  return {
    status: 200,
    headers: told(desk),
    body: rows.map((person) => {
      const record = recordOf(person, desk);
      return Object.fromEntries(fields.map((name) => [name, record[name]]));
    }),
  };
}

/** By id, slug or address. */
function collect(which: string, desk: CoresignalDesk): Reply {
  const slug = which.replace(/\/$/, "").split("/").at(-1);
  const person = desk.people.find(
    ({ number, slug: own }) => String(number) === which || own === slug,
  );
  const { deleted, deletedAs } = desk.options;
  if (person === undefined || (deletedAs === "404" && deleted.includes(person.at)))
    return { ...failed(404, "Not Found"), headers: told(desk) };

  const ids = [String(person.number)];
  if (!desk.sell({ call: "collect", price: COLLECT, units: 1, ids }))
    return failed(402, "Insufficient credits");
  const isMerged = desk.options.merged.includes(person.at);
  const into = desk.people.find(({ at, country }) => at > person.at && country === person.country);
  const body = recordOf(isMerged && into !== undefined ? into : person, desk);
  return { status: 200, headers: told(desk), body };
}

/** A company by its website, or by its slug. */
function company(website: string | null, slug: string | undefined, desk: CoresignalDesk): Reply {
  const domain = website?.replace(/^https?:\/\/(www\.)?/, "").replace(/\/.*$/, "");
  const one = desk.companies.find((each) => each.domain === domain || each.slug === slug);
  if (one === undefined) return { ...failed(404, "Not Found"), headers: told(desk) };

  const name = slug === undefined ? "company_enrich" : "company_collect";
  if (!desk.sell({ call: name, price: COLLECT, units: 1, ids: [one.slug] }))
    return failed(402, "Insufficient credits");
  return {
    status: 200,
    headers: told(desk),
    body: desk.record({
      id: 900_000 + one.at,
      company_name: one.name,
      website: `https://${one.domain}`,
      linkedin_url: networkOf(one),
      industry: one.industry,
      employees_count: one.employees,
      hq_country: one.place.country.name,
    }),
  };
}

function answer(call: Call, desk: CoresignalDesk): Reply {
  const { method, path, query } = call;
  const searches: Readonly<Record<string, typeof search>> = {
    [`${ROOT}/search/es_dsl`]: search,
    [`${ROOT}/search/es_dsl/preview`]: preview,
  };
  const run = searches[path];
  if (run !== undefined)
    return method === "POST" ? run(call, desk) : failed(500, "Internal Server Error");

  const [, kind = "", which = ""] =
    /^\/cdapi\/v2\/(employee|company)_multi_source\/(?:collect\/|(?=enrich$))(.*)$/.exec(path) ??
    [];
  if (kind === "") return failed(404, "Not Found");
  if (method !== "GET") return failed(500, "Internal Server Error");
  if (kind === "employee") return collect(decodeURIComponent(which), desk);
  return which === "enrich"
    ? company(query.get("website"), undefined, desk)
    : company(null, decodeURIComponent(which), desk);
}

export const coresignal: Vendor<CoresignalOptions> = {
  key: "q7Wn2Rk9Xb4Tz6Lm1Vc8Hd3Fy5Gp0JsA",
  own: {
    unknownField: "none",
    lastCursor: true,
    neutral: false,
    deleted: [],
    deletedAs: "marked",
    merged: [],
    preview: false,
  },
  record: recordOf,
  id: ({ number }) => String(number),
  refuses: ({ headers }, key) => (headers.apikey === key ? undefined : failed(401, "Unauthorized")),
  limited: () => failed(429, "Too Many Requests"),
  limits: () => ({}),
  answer(call, desk) {
    try {
      return answer(call, desk);
    } catch (error) {
      if (error instanceof BadQuery) return failed(400, error.message);
      throw error;
    }
  },
};
