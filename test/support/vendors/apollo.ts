import { INDUSTRIES, type Level, nameOf, type Person } from "./people.ts";
import { type Call, type Desk, isObject, isTextList, type Reply, type Vendor } from "./shared.ts";

// Apollo: people search that costs nothing and identifies nobody, then a reveal by id.
// From its description and its own CLI (public copies, read on 28 November 2026): the paths,
// `x-api-key`, filters in the query of a POST with `[]` or in a JSON body without, places of all
// kinds in one OR, titles that contain the words unless `include_similar_titles=false`, a domain of
// the employer of now or before, 100 a page, 500 pages, `total_entries`, a search row without last
// name and address, 0 credits a search and 1 a person, `bulk_match` of ten with `credits_consumed`,
// three windows of limits and `retry-after`, 401 as plain text, the balance at
// `credit_usage_stats`, `request_id` of 19 digits, the placeholder of an address. From a catalogue
// whose author called it: an unknown name is swallowed and everybody is found; the old search
// answers 403.
// Left open there, so an option or assumed: whether `person_departments` is heeded (`departments`),
// what comes where there are no credits (`outAs`), from which balance a match is drawn
// (`drawnFrom`), whether a person whom a reveal does not find leaves a gap (`missingAs`), a
// `per_page` over 100 (`overSize`), the older place of the total (`olderTotal`), the size where
// none is sent (10), a person named twice in one call (paid twice). A mobile number and contacts
// are not played.

export interface ApolloOptions {
  departments: boolean;
  /** 403 as for a key that may not, 402, 422. */
  outAs: 402 | 403 | 422;
  drawnFrom: "lead_credit" | "export_credit";
  /** Positions of people who are found but cannot be revealed. */
  missing: readonly number[];
  missingAs: "left out" | "null";
  overSize: "clamped" | "refused";
  olderTotal: boolean;
}

type ApolloDesk = Desk<ApolloOptions>;

const LEVEL: Readonly<Record<Level, string>> = {
  owner: "owner",
  founder: "founder",
  "c-suite": "c_suite",
  partner: "partner",
  vp: "vp",
  head: "head",
  director: "director",
  manager: "manager",
  senior: "senior",
  entry: "entry",
  intern: "intern",
};

const idOf = ({ hex }: Person): string => hex.slice(0, 24);

const departmentOf = ({ department }: Person): string | null =>
  department?.replace(" ", "_") ?? null;

/** An opaque id of an industry: 24 hex digits. */
export const industryTagOf = (industry: string): string =>
  `5567cd${String(INDUSTRIES.indexOf(industry)).padStart(18, "0")}`;

function revealed(person: Person, desk: ApolloDesk): Record<string, unknown> {
  const { company, level } = person;
  const department = departmentOf(person);
  return desk.record({
    id: idOf(person),
    first_name: person.first,
    last_name: person.last,
    name: nameOf(person),
    linkedin_url: `http://www.linkedin.com/in/${person.slug}`,
    title: person.title,
    headline: person.headline,
    seniority: level === null ? null : LEVEL[level],
    departments: department === null ? [] : [department],
    subdepartments: [],
    functions: department === null ? [] : [department],
    email: "email_not_unlocked@domain.com",
    city: person.city,
    state: person.state,
    country: person.country?.name ?? null,
    organization:
      company === null
        ? null
        : {
            id: `5e66b638${String(company.at).padStart(16, "0")}`,
            name: company.name,
            primary_domain: company.domain,
            website_url: `http://www.${company.domain}`,
            linkedin_url: `http://www.linkedin.com/company/${company.slug}`,
            industry: company.industry.toLowerCase(),
            estimated_num_employees: company.employees,
          },
  });
}

/** A row of a search: its id is all that says who it is. */
function masked(person: Person, desk: ApolloDesk): Record<string, unknown> {
  return desk.record({
    id: idOf(person),
    first_name: person.first,
    last_name_obfuscated: `${person.last.slice(0, 2)}***${person.last.at(-1)}`,
    title: person.title,
    last_refreshed_at: `${person.updated}T01:02:03.000+00:00`,
    has_email: true,
    has_city: person.city !== null,
    has_state: person.state !== null,
    has_country: person.country !== null,
    has_direct_phone: "Yes",
    organization:
      person.company === null
        ? null
        : { name: person.company.name, has_industry: true, has_employee_count: true },
  });
}

const failed = (status: number, error: string, more: object = {}): Reply => ({
  status,
  body: { error, ...more },
});

const outOf = ({ options }: ApolloDesk): Reply =>
  failed(options.outAs, "You have insufficient credits to perform this action. Please upgrade.");

/** What a person has for a filter, in lower case. */
const FILTERS: Readonly<
  Record<string, (person: Person) => readonly (string | null | undefined)[]>
> = {
  person_locations: ({ city, country, state }) => [city, state, country?.name],
  person_titles: ({ title }) => [title],
  person_seniorities: ({ level }) => [level === null ? null : LEVEL[level]],
  person_departments: (person) => [departmentOf(person)],
  organization_industry_tag_ids: ({ company }) => [
    company === null ? null : industryTagOf(company.industry),
  ],
  q_organization_domains_list: ({ company, former }) => [company?.domain, former?.domain],
  organization_linkedin_url: ({ company }) => [
    company === null ? null : `http://www.linkedin.com/company/${company.slug}`,
  ],
  q_keywords: (person) => [nameOf(person), person.title, person.company?.name],
};

/** Of these a value is asked for by its words, whatever stands between them. */
const BY_WORDS = ["q_keywords", "person_titles"];

/** A parameter: its values of the body, or of the query, where a list has `[]` behind its name. */
function valuesOf(name: string, { body, query }: Call): string[] {
  const inBody = isObject(body) ? body[name] : undefined;
  if (isTextList(inBody)) return inBody;
  if (inBody !== undefined) return [String(inBody)];
  const isOne = ["organization_linkedin_url", "q_keywords"].includes(name);
  return query.getAll(isOne ? name : `${name}[]`);
}

function one(name: string, { body, query }: Call): string | undefined {
  const inBody = isObject(body) ? body[name] : undefined;
  return inBody === undefined ? (query.get(name) ?? undefined) : String(inBody);
}

function finds(person: Person, name: string, values: readonly string[], isLoose: boolean): boolean {
  const own = (FILTERS[name]?.(person) ?? []).filter((value) => value != null);
  const wordsOf = (text: string): string[] => text.toLowerCase().split(/\s+/);
  const words = wordsOf(own.join(" "));
  return values.some((value) =>
    isLoose && BY_WORDS.includes(name)
      ? wordsOf(value).every((word) => words.includes(word))
      : own.some((each) => each.toLowerCase() === value.toLowerCase()),
  );
}

function search(call: Call, desk: ApolloDesk): Reply {
  const page = Number(one("page", call) ?? 1);
  const sent = Number(one("per_page", call) ?? 10);
  if (!Number.isInteger(page) || page < 1 || page > 500)
    return failed(422, "page must be in 1..500");
  if (!Number.isInteger(sent) || sent < 1) return failed(422, "per_page must be in 1..100");
  if (sent > 100 && desk.options.overSize === "refused")
    return failed(422, "per_page must be in 1..100");

  // What is not in this list is not looked at.
  const names = Object.keys(FILTERS).filter(
    (name) => desk.heeds(name) && (desk.options.departments || name !== "person_departments"),
  );
  const isSimilar = one("include_similar_titles", call) !== "false";
  const tests = names
    .map((name) => ({ name, values: valuesOf(name, call) }))
    .filter(({ values }) => values.length > 0)
    .map(
      ({ name, values }) =>
        (person: Person) =>
          finds(person, name, values, name !== "person_titles" || isSimilar),
    );

  const size = Math.min(sent, 100);
  const offset = (page - 1) * size;
  const found = desk.people.filter((person) => tests.every((test) => test(person)));
  const total = desk.total(found, offset, size);
  return {
    status: 200,
    body: {
      ...(desk.options.olderTotal
        ? { pagination: { page, per_page: size, total_entries: total } }
        : { total_entries: total }),
      people: desk.page(found, offset, size).map((person) => masked(person, desk)),
    },
  };
}

/** Whom an id names, of those who can be revealed. */
function personOf(id: unknown, desk: ApolloDesk): Person | undefined {
  const found = desk.people.find((person) => idOf(person) === id);
  return found === undefined || desk.options.missing.includes(found.at) ? undefined : found;
}

let requests = 1_900_000_000_000_000_001n;
const requestId = (): bigint => {
  requests += 1n;
  return requests;
};

/** One person; a 200 that says so where nobody is. */
function match(id: unknown, call: string, desk: ApolloDesk): Reply {
  const person = personOf(id, desk);
  if (person === undefined) return { status: 200, body: { person: null, request_id: requestId() } };
  if (!desk.sell({ call, price: "1", units: 1, ids: [idOf(person)] })) return outOf(desk);
  return { status: 200, body: { person: revealed(person, desk), request_id: requestId() } };
}

function bulk({ body }: Call, desk: ApolloDesk): Reply {
  const details = isObject(body) ? body.details : undefined;
  if (!Array.isArray(details) || details.length < 1 || details.length > 10)
    return failed(422, "details must have 1 to 10 members");

  const asked = details.map((one: unknown) => personOf(isObject(one) ? one.id : undefined, desk));
  const people = asked.filter((person) => person !== undefined);
  const ids = people.map(idOf);
  const sale = { call: "bulk_match", price: "1", units: people.length, ids };
  if (people.length > 0 && !desk.sell(sale)) return outOf(desk);

  const rows = asked.map((person) => (person === undefined ? null : revealed(person, desk)));
  const { missingAs, silent } = desk.options;
  const consumed = people.length === 0 ? "0" : desk.book.charges.at(-1)?.credits;
  return {
    status: 200,
    body: {
      status: "success",
      error_code: null,
      error_message: null,
      request_id: requestId(),
      total_requested_enrichments: details.length,
      unique_enriched_records: new Set(ids).size,
      missing_records: details.length - people.length,
      ...(silent ? {} : { credits_consumed: Number(consumed) }),
      matches: missingAs === "null" ? rows : rows.filter((row) => row !== null),
    },
  };
}

function organization({ query }: Call, desk: ApolloDesk): Reply {
  const found = desk.companies.find(({ domain }) => domain === query.get("domain"));
  if (found === undefined) return { status: 200, body: { organization: null } };
  if (!desk.sell({ call: "organizations/enrich", price: "1", units: 1, ids: [found.slug] }))
    return outOf(desk);
  return {
    status: 200,
    body: {
      organization: desk.record({
        id: `5e66b638${String(found.at).padStart(16, "0")}`,
        name: found.name,
        primary_domain: found.domain,
        website_url: `http://www.${found.domain}`,
        linkedin_url: `http://www.linkedin.com/company/${found.slug}`,
        industry: found.industry.toLowerCase(),
        estimated_num_employees: found.employees,
      }),
    },
  };
}

/** Free: limits, use and what is left, of each kind of credit. */
function usage(desk: ApolloDesk): Reply {
  const limit = Number(desk.options.credits);
  const drawn = Number(desk.book.charged());
  const stats = ["lead_credit", "direct_dial_credit", "export_credit"].map((type) => {
    const consumed = type === desk.options.drawnFrom ? drawn : 0;
    return [type, { limit, consumed, left_over: limit - consumed }] as const;
  });
  return { status: 200, body: { credit_usage_stats: Object.fromEntries(stats) } };
}

function answer(call: Call, desk: ApolloDesk): Reply {
  const { body, method, path, query } = call;
  const id = isObject(body) && body.id !== undefined ? body.id : query.get("id");
  switch (`${method} ${path.replace("/api/v1", "")}`) {
    case "POST /mixed_people/api_search":
      return search(call, desk);
    case "POST /mixed_people/search":
      return failed(403, "not accessible with this api_key", { error_code: "API_INACCESSIBLE" });
    case "POST /people/match":
      return match(id, "match", desk);
    case "POST /people/bulk_match":
      return bulk(call, desk);
    case "GET /organizations/enrich":
      return organization(call, desk);
    case "POST /usage_stats/credit_usage_stats":
      return usage(desk);
    // Limits and what is left of them, by call; the file looks only at the status.
    case "POST /usage_stats/api_usage_stats":
      return { status: 200, body: {} };
  }
  const [, which] = /^\/api\/v1\/people\/([0-9a-f]{24})$/.exec(path) ?? [];
  return which !== undefined && method === "GET"
    ? match(which, "people", desk)
    : failed(404, "Not Found");
}

const REFUSED = "Invalid access credentials.";

export const apollo: Vendor<ApolloOptions> = {
  key: "aZ3kQ9wLr7Yt5Vn1Xb8McD",
  own: {
    departments: false,
    outAs: 403,
    drawnFrom: "lead_credit",
    missing: [],
    missingAs: "left out",
    overSize: "clamped",
    olderTotal: false,
  },
  record: revealed,
  id: idOf,
  refuses: ({ headers }, key) =>
    headers["x-api-key"] === key || headers.authorization === `Bearer ${key}`
      ? undefined
      : { status: 401, body: REFUSED },
  limited: ({ most, seconds }) => ({
    status: 429,
    headers: { "retry-after": String(seconds) },
    body: { message: `The maximum number of api calls allowed is ${most} times per minute.` },
  }),
  limits: ({ left, most }, status) =>
    status === 403
      ? {}
      : {
          "x-rate-limit-minute": String(most),
          "x-rate-limit-hourly": String(most * 60),
          "x-rate-limit-24-hour": String(most * 600),
          "x-minute-requests-left": String(left),
          "x-hourly-requests-left": String(most * 59 + left),
          "x-24-hour-requests-left": String(most * 599 + left),
        },
  answer,
};
