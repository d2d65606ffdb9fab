import {
  type Company,
  type Department,
  type Level,
  nameOf,
  type Person,
  placeOf,
} from "./people.ts";
import { type Call, type Desk, isObject, isTextList, type Reply, type Vendor } from "./shared.ts";

// Crustdata: person search at 0.03 a row, company identify (free) and enrich (2 a match).
// From its pages and skills (docs.crustdata.com, read on 28 November 2026): the paths, Bearer and
// `x-api-version` on every request, `filters` of conditions with its own operators, 400 for a field
// that it has not and for the network's address, no row and no error for a word of a closed set
// that it has not, conditions on a job that hold for one and the same job, `all_of` for different
// ones, `limit` of 20 where none is sent and 1,000 at most, a cursor bound to filters and limit, no
// order without `sorts`, paths of filters that are not paths of replies, fields that a plan does
// not have (403 for the whole call), two spellings of one country, 403 where there are no credits,
// limits in seconds, a list at the top of a company's reply, several companies of one domain and
// each is billed.
// Left open there, so an option or assumed: whether the balance takes Bearer (`balanceTakes`: the
// older Token), `a|b` within `(.)` (`alternation`: its pages and its skills differ), what a search
// tells of its charge (nothing), the texts of errors, the status of another cursor (400), fields
// where none are named (all but gated ones), autocomplete's shape, that the window of limits slides
// (here it is fixed). Revealing contacts and batches are not played.

export interface CrustdataOptions {
  balanceTakes: "token" | "any";
  alternation: boolean;
  /** The plan has `professional_network.followers` and `metadata.updated_at`. */
  gatedFields: boolean;
  /** Every so many-th company has a twin with the same domain; 0: none. */
  twinEvery: number;
  /** Every so many-th person advises the firm of before beside the job of now; 0: none. */
  secondJobEvery: number;
}

type CrustdataDesk = Desk<CrustdataOptions>;

const VERSION = "2025-11-01";
const JOB = "experience.employment_details";
const NOW = `${JOB}.current`;
const ADDRESS = "social_handles.professional_network_identifier.profile_url";
const GATED = ["professional_network.followers", "metadata.updated_at"];

const LEVEL: Readonly<Record<Level, string>> = {
  owner: "Owner / Partner",
  founder: "CXO",
  "c-suite": "CXO",
  partner: "Owner / Partner",
  vp: "Vice President",
  head: "Strategic",
  director: "Director",
  manager: "Experienced Manager",
  senior: "Senior",
  entry: "Entry Level",
  intern: "In Training",
};

const DEPARTMENT: Readonly<Record<Department, string>> = {
  engineering: "Engineering",
  sales: "Sales",
  marketing: "Marketing",
  finance: "Finance",
  "human resources": "Human Resources",
  operations: "Operations",
  legal: "Legal",
  support: "Customer Success and Support",
  design: "Arts and Design",
};

/** The same country stands under two names. */
const countryOf = ({ at, country }: Person): string | null =>
  country?.code === "US" && at % 5 === 0 ? "United States of America" : (country?.name ?? null);

function jobOf(company: Company, person: Person, isNow: boolean): Record<string, unknown> {
  const { department, level, title } = person;
  return {
    title: isNow ? title : "Associate",
    seniority_level: isNow ? level && LEVEL[level] : "Entry Level",
    function_category: isNow ? department && DEPARTMENT[department] : null,
    name: company.name,
    crustdata_company_id: 700_000 + company.at,
    company_website_domain: company.domain,
    company_website: `https://${company.domain}`,
    company_professional_network_industry: company.industry,
    company_industries: [company.industry],
    company_hq_country: company.place.country.code3,
  };
}

function jobsOf(person: Person, every: number): readonly Record<string, unknown>[] {
  const { at, company, former } = person;
  const advises = every > 0 && at % every === 0 && former !== null;
  return [
    ...(company === null ? [] : [jobOf(company, person, true)]),
    ...(advises ? [{ ...jobOf(former, person, false), title: "Advisor" }] : []),
  ];
}

function docOf(person: Person, { options }: CrustdataDesk): Record<string, unknown> {
  const { former } = person;
  return {
    crustdata_person_id: person.number,
    basic_profile: {
      name: nameOf(person),
      first_name: person.first,
      last_name: person.last,
      headline: person.headline,
      current_title: person.title,
      location: {
        country: countryOf(person),
        state: person.state,
        city: person.city,
        full_location: placeOf(person),
      },
    },
    social_handles: {
      professional_network_identifier: {
        profile_url: `https://www.linkedin.com/in/${person.slug}`,
      },
    },
    professional_network: { connections: person.connections, followers: person.followers },
    experience: {
      employment_details: {
        current: jobsOf(person, options.secondJobEvery),
        past: former === null ? [] : [jobOf(former, person, false)],
      },
    },
    metadata: { updated_at: `${person.updated}T00:00:00Z` },
  };
}

function at(value: unknown, path: string): unknown {
  return path
    .split(".")
    .reduce<unknown>((of, name) => (isObject(of) ? of[name] : undefined), value);
}

/** The parts of a record that are asked for; `[]` names none. */
function chosen(doc: Record<string, unknown>, fields: readonly string[]): Record<string, unknown> {
  const picked: Record<string, unknown> = {};
  for (const field of fields) {
    const names = field.split(".");
    const last = names.pop() ?? "";
    let into = picked;
    for (const name of names) {
      const inner = into[name] ?? {};
      into[name] = inner;
      into = inner as Record<string, unknown>;
    }
    into[last] = at(doc, field);
  }
  return picked;
}

const FIELDS = [
  "crustdata_person_id",
  "basic_profile",
  "social_handles",
  "professional_network.connections",
  "experience",
];

const fieldsOf = (desk: CrustdataDesk): string[] =>
  desk.options.gatedFields ? [...FIELDS, ...GATED] : FIELDS;

const recordOf = (person: Person, desk: CrustdataDesk, fields = fieldsOf(desk)): unknown =>
  desk.record(chosen(docOf(person, desk), fields));

/** A filter that is refused, and why. */
class BadFilter extends Error {}

/** Names of filters to where the value stands; those of a job are within the job. */
const PLAIN = [
  "crustdata_person_id",
  "basic_profile.name",
  "basic_profile.first_name",
  "basic_profile.last_name",
  "basic_profile.headline",
  "basic_profile.current_title",
  "basic_profile.location.country",
  "basic_profile.location.state",
  "basic_profile.location.city",
  "basic_profile.location.full_location",
  "professional_network.connections",
  "professional_network.followers",
];
const IN_JOB: Readonly<Record<string, string>> = {
  title: "title",
  seniority_level: "seniority_level",
  function_category: "function_category",
  company_name: "name",
  company_id: "crustdata_company_id",
  company_website_domain: "company_website_domain",
  company_professional_network_industry: "company_professional_network_industry",
  company_industries: "company_industries",
};

interface Condition {
  readonly field: string;
  /** Of a job: "current" or "past", and the name there. */
  readonly job: { readonly list: string; readonly name: string } | undefined;
  readonly fits: (value: unknown) => boolean;
  readonly isHeeded: boolean;
}

const OPERATORS = ["=", "!=", "<", ">", "=<", "=>", "in", "not_in", "(.)", "(!)", "[.]"];

const same = (a: unknown, b: unknown): boolean =>
  String(a).toLowerCase() === String(b).toLowerCase();

/** What an operator says of one value; null and undefined are no value. */
function comparison(type: string, asked: unknown, { options }: CrustdataDesk) {
  const list = Array.isArray(asked) ? (asked as unknown[]) : [asked];
  const parts = options.alternation ? String(asked).split("|") : [String(asked)];
  const contains = (value: unknown): boolean =>
    parts.some((part) => String(value).toLowerCase().includes(part.toLowerCase()));
  const checks: Readonly<Record<string, (value: unknown) => boolean>> = {
    "=": (value) => same(value, asked),
    "!=": (value) => !same(value, asked),
    "<": (value) => Number(value) < Number(asked),
    ">": (value) => Number(value) > Number(asked),
    "=<": (value) => Number(value) <= Number(asked),
    "=>": (value) => Number(value) >= Number(asked),
    in: (value) => list.some((one) => String(value) === String(one)),
    not_in: (value) => !list.some((one) => String(value) === String(one)),
    "(.)": contains,
    "(!)": (value) => !contains(value),
    "[.]": (value) => String(value).includes(String(asked)),
  };
  const check = checks[type];
  if (check === undefined || ((type === "in" || type === "not_in") && !Array.isArray(asked)))
    throw new BadFilter(`Unsupported value of operator ${type}`);
  return (value: unknown) =>
    [value].flat().some((one) => one !== null && one !== undefined && check(one));
}

function conditionOf(given: Record<string, unknown>, desk: CrustdataDesk): Condition {
  const { field, type, value, ...unknown } = given;
  const [more] = Object.keys(unknown);
  if (more !== undefined) throw new BadFilter(`Unknown member of a condition: ${more}`);
  if (typeof field !== "string" || field === ADDRESS) throw new BadFilter("Unsupported field");
  if (typeof type !== "string" || !OPERATORS.includes(type))
    throw new BadFilter(`Unsupported operator: ${String(type)}`);

  const [, list = "", name = ""] =
    /^experience\.employment_details\.(current|past)\.(\w+)$/.exec(field) ?? [];
  const inJob = IN_JOB[name];
  if (inJob === undefined && !PLAIN.includes(field))
    throw new BadFilter(`Unsupported filter field: ${field}`);
  return {
    field,
    job: inJob === undefined ? undefined : { list, name: inJob },
    fits: comparison(type, value, desk),
    isHeeded: desk.heeds(field),
  };
}

type Test = (doc: unknown) => boolean;

/** Conditions of one job list that hold for one and the same job. */
function ofOneJob(list: string, conditions: readonly Condition[]): Test {
  return (doc) => {
    const jobs = at(doc, `${JOB}.${list}`) as readonly unknown[];
    return jobs.some((job) =>
      conditions.every(({ fits, job: where }) => fits(at(job, where?.name ?? ""))),
    );
  };
}

function testOf(filter: unknown, desk: CrustdataDesk): Test {
  if (!isObject(filter)) throw new BadFilter("filters must be an object");
  if (!("op" in filter) && !("conditions" in filter)) {
    const condition = conditionOf(filter, desk);
    if (!condition.isHeeded) return () => true;
    return condition.job === undefined
      ? (doc) => condition.fits(at(doc, condition.field))
      : ofOneJob(condition.job.list, [condition]);
  }

  const { conditions, op } = filter;
  if (!Array.isArray(conditions) || !["and", "or", "all_of"].includes(String(op)))
    throw new BadFilter("op must be and, or, all_of, with conditions");
  const tests = conditions.map((one) => testOf(one, desk));
  if (op === "or") return (doc) => tests.some((test) => test(doc));
  if (op === "all_of") return (doc) => tests.every((test) => test(doc));

  const plain = conditions.filter((one: unknown) => isObject(one) && !("op" in one));
  const inJobs = plain.map((one) => conditionOf(one, desk)).filter((one) => one.isHeeded);
  const joint = ["current", "past"].flatMap((list) => {
    const of = inJobs.filter(({ job }) => job?.list === list);
    return of.length === 0 ? [] : [ofOneJob(list, of)];
  });
  return (doc) => [...tests, ...joint].every((test) => test(doc));
}

const TYPES: Readonly<Record<number, string>> = {
  400: "invalid_request",
  401: "authentication_error",
  403: "permission_error",
  404: "not_found",
  429: "rate_limit_exceeded",
};

const failed = (status: number, message: string, type = TYPES[status]): Reply => ({
  status,
  body: { error: { type, message } },
});

const outOf = (): Reply => failed(403, "Insufficient credits", "insufficient_credits");

/** The order of a call; without `sorts` each call has another one. */
function ordered(people: readonly Person[], sorts: unknown, desk: CrustdataDesk): Person[] {
  const [sort] = Array.isArray(sorts) ? (sorts as unknown[]) : [];
  if (!isObject(sort)) {
    const shift = desk.book.calls.length % Math.max(1, people.length);
    return [...people.slice(shift), ...people.slice(0, shift)];
  }
  if (!PLAIN.includes(String(sort.field))) throw new BadFilter("Unsupported sort field");

  const sign = sort.order === "desc" ? -1 : 1;
  const of = (person: Person) => at(docOf(person, desk), String(sort.field)) as string | bigint;
  return people.toSorted((a, b) => {
    const [left, right] = [of(a), of(b)];
    return left === right ? 0 : sign * (left < right ? -1 : 1);
  });
}

const MEMBERS = [
  "filters",
  "sorts",
  "limit",
  "count",
  "cursor",
  "fields",
  "post_processing",
  "preview",
];

/** Why the call is refused beside its filters. */
function refusalOf(body: Record<string, unknown>, desk: CrustdataDesk): Reply | undefined {
  const unknown = Object.keys(body).find((name) => !MEMBERS.includes(name));
  if (unknown !== undefined) return failed(400, `Unknown parameter: ${unknown}`);
  if (body.preview === true) return failed(400, "preview is not part of your plan");
  const { fields } = body;
  if (fields === undefined) return undefined;
  if (!isTextList(fields)) return failed(400, "fields must be a list of text");
  const isGated = fields.some((field) => GATED.some((one) => one.startsWith(field)));
  return isGated && !desk.options.gatedFields
    ? failed(403, "You do not have access to a field of fields")
    : undefined;
}

function search({ body }: Call, desk: CrustdataDesk): Reply {
  if (!isObject(body)) return failed(400, "The body must be a JSON object");
  const refusal = refusalOf(body, desk);
  if (refusal !== undefined) return refusal;

  const { count, cursor, fields, filters, sorts } = body;
  const limit = Number(body.limit ?? count ?? 20);
  if (!Number.isInteger(limit) || limit < 1 || limit > 1_000)
    return failed(400, "limit must be between 1 and 1000");

  const isWanted = testOf(filters, desk);
  const found = desk.people.filter((person) => isWanted(docOf(person, desk)));
  // What a cursor is bound to: all that says which page there is.
  const bound = `${JSON.stringify([filters, sorts])}${limit}`;
  const [offset, of] = readCursor(cursor);
  if (of !== undefined && of !== bound) return failed(400, "cursor does not belong to this search");

  const page = desk.page(ordered(found, sorts, desk), offset, limit);
  const rows = desk.affordable(page, "0.03");
  const ids = rows.map(({ number }) => String(number));
  const sale = { call: "person/search", price: "0.03", units: rows.length, ids };
  if (rows.length > 0 && !desk.sell(sale)) return outOf();

  const next = offset + rows.length;
  const names = isTextList(fields) ? fields : undefined;
  return {
    status: 200,
    body: {
      profiles: rows.map((person) => recordOf(person, desk, names)),
      next_cursor: next < found.length && rows.length > 0 ? cursorOf(next, bound) : null,
      total_count: desk.total(found, offset, limit),
    },
  };
}

const cursorOf = (next: number, bound: string): string =>
  Buffer.from(JSON.stringify([next, bound])).toString("base64");

function readCursor(cursor: unknown): [number, string | undefined] {
  if (cursor === undefined || cursor === null) return [0, undefined];
  try {
    const [next, bound] = JSON.parse(Buffer.from(String(cursor), "base64").toString()) as unknown[];
    return [Number(next), String(bound)];
  } catch {
    throw new BadFilter("cursor is not valid");
  }
}

/** Words of a field that begin so; free. */
function autocomplete({ body }: Call, desk: CrustdataDesk): Reply {
  const { field, query = "" } = isObject(body) ? body : {};
  const [, name = ""] =
    /^experience\.employment_details\.current\.(\w+)$/.exec(String(field)) ?? [];
  const inJob = IN_JOB[name];
  if (inJob === undefined && !PLAIN.includes(String(field)))
    return failed(400, `Unsupported filter field: ${String(field)}`);

  const words = desk.people.map((person) => {
    const doc = docOf(person, desk);
    const [job] = at(doc, NOW) as readonly unknown[];
    return inJob === undefined ? at(doc, String(field)) : at(job, inJob);
  });
  const found = [...new Set(words)].filter(
    (word) =>
      typeof word === "string" && word.toLowerCase().startsWith(String(query).toLowerCase()),
  );
  return { status: 200, body: { suggestions: found.map((value) => ({ value })) } };
}

interface Known {
  readonly id: number;
  readonly company: Company;
}

/** Companies, and the twins that some have under an id of their own. */
function known(desk: CrustdataDesk): Known[] {
  const { twinEvery } = desk.options;
  return desk.companies.flatMap((company) => {
    const one = { id: 700_000 + company.at, company };
    const hasTwin = twinEvery > 0 && company.at % twinEvery === 0;
    return hasTwin ? [one, { id: 800_000 + company.at, company }] : [one];
  });
}

function companies(isPaid: boolean, { body }: Call, desk: CrustdataDesk): Reply {
  const keys: Readonly<Record<string, (one: Known) => unknown>> = {
    domains: ({ company }) => company.domain,
    names: ({ company }) => company.name,
    professional_network_profile_urls: ({ company }) =>
      `https://www.linkedin.com/company/${company.slug}`,
    crustdata_company_ids: ({ id }) => id,
  };
  const given = isObject(body) ? body : {};
  const [key, ...more] = Object.keys(keys).filter((name) => given[name] !== undefined);
  const asked = key === undefined ? undefined : given[key];
  if (key === undefined || more.length > 0 || !Array.isArray(asked))
    return failed(400, `exactly one of ${Object.keys(keys).join(", ")}, as a list`);

  const rows = asked.map((value: unknown) => ({
    value,
    matches: known(desk).filter((one) => keys[key]?.(one) === value),
  }));
  const matches = rows.flatMap((row) => row.matches);
  const ids = matches.map(({ id }) => String(id));
  if (isPaid && ids.length > 0) {
    const isSold = desk.sell({ call: "company/enrich", price: "2", units: ids.length, ids });
    if (!isSold) return outOf();
  }
  return {
    status: 200,
    body: rows.map((row) => ({
      matched_on: row.value,
      match_type: key,
      matches: row.matches.map(({ company, id }) => ({
        confidence_score: id < 800_000 ? 1 : 0.7,
        company_data: desk.record({
          crustdata_company_id: id,
          basic_info: {
            name: company.name,
            primary_domain: company.domain,
            website: `https://${company.domain}`,
            professional_network_url: `https://www.linkedin.com/company/${company.slug}`,
            ...(isPaid
              ? { employee_count: company.employees, industries: [company.industry] }
              : {}),
          },
        }),
      })),
    })),
  };
}

const ROUTES: Readonly<Record<string, (call: Call, desk: CrustdataDesk) => Reply>> = {
  "POST /person/search": search,
  "POST /person/search/autocomplete": autocomplete,
  "POST /company/identify": (call, desk) => companies(false, call, desk),
  "POST /company/enrich": (call, desk) => companies(true, call, desk),
  "GET /user/credits": ({ headers }, desk) =>
    desk.options.balanceTakes === "token" && !headers.authorization?.startsWith("Token ")
      ? failed(401, "Token expected")
      : { status: 200, body: { credits: Number(desk.book.balance()) } },
};

export const crustdata: Vendor<CrustdataOptions> = {
  key: "b1946ac92492d2347c6235b4d2611184c0ffee01",
  own: {
    balanceTakes: "token",
    alternation: false,
    gatedFields: false,
    twinEvery: 5,
    secondJobEvery: 0,
  },
  record: (person, desk) => recordOf(person, desk),
  id: ({ number }) => String(number),
  refuses: ({ headers, path }, key) => {
    const isOlder = path === "/user/credits";
    const taken = isOlder ? [`Bearer ${key}`, `Token ${key}`] : [`Bearer ${key}`];
    if (!taken.includes(headers.authorization ?? "")) return failed(401, "Invalid API key");
    return isOlder || headers["x-api-version"] === VERSION
      ? undefined
      : failed(400, "x-api-version header is required");
  },
  limited: () => failed(429, "Rate limit exceeded"),
  limits: ({ left, most, seconds }) => ({
    "x-ratelimit-limit": String(most),
    "x-ratelimit-remaining": String(left),
    "x-ratelimit-reset": String(seconds),
  }),
  answer(call, desk) {
    const route = ROUTES[`${call.method} ${call.path}`];
    if (route === undefined) return failed(404, "Not found");

    try {
      return route(call, desk);
    } catch (error) {
      if (error instanceof BadFilter) return failed(400, error.message);
      throw error;
    }
  },
};
