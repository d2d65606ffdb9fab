import { type Department, INDUSTRIES, type Level, nameOf, type Person, PLACES } from "./people.ts";
import { type Call, type Desk, isObject, isTextList, type Reply, type Vendor } from "./shared.ts";

// Prospeo: people search at a price a request, company enrich, suggestions, balance.
// From its pages and its own MCP server (prospeo.io/api-docs, read on 28 November 2026): the paths,
// `X-KEY`, pages of 25 and no other, 1,000 pages, a filter that includes somebody is required,
// unknown keys and values are INVALID_FILTERS with `filter_error`, one list for places of all kinds
// (an OR), titles that are like another unless `match_only_exact_job_titles`, NO_RESULTS as an
// error body, a credit a request that finds anybody and none otherwise, `free`, the balance at
// `account-information`, headers of what is left of limits, names of its errors, the record's
// fields, masked addresses, enriching again for nothing. From integrators: places as "California,
// United States #US".
// Left open there, so an option or assumed: the status of NO_RESULTS and of other error bodies
// (`errorStatus`: 400), which words seniorities have (`words`: its page or its MCP server differ),
// whether a plain "United States" is known (`plainCountry`), when a search is free (`freeAgain`: a
// page that was asked for before), what comes behind the last page (NO_RESULTS), the shape of
// suggestions, that refused calls count for the limit. Revealing people is not played.

export interface ProspeoOptions {
  errorStatus: number;
  words: "page" | "sdk";
  plainCountry: boolean;
  freeAgain: boolean;
}

type ProspeoDesk = Desk<ProspeoOptions>;

const LEVEL: Readonly<Record<Level, string>> = {
  owner: "Founder/Owner",
  founder: "Founder/Owner",
  "c-suite": "C-Suite",
  partner: "Partner",
  vp: "Vice President",
  head: "Head",
  director: "Director",
  manager: "Manager",
  senior: "Senior",
  entry: "Entry",
  intern: "Intern",
};
const SDK_WORDS: Readonly<Record<string, string>> = {
  "Founder/Owner": "Owner",
  "Vice President": "VP",
  Entry: "Junior",
};

const DEPARTMENT: Readonly<Record<Department, string>> = {
  engineering: "Engineering & Technical",
  sales: "Sales",
  marketing: "Marketing",
  finance: "Finance",
  "human resources": "Human Resources",
  operations: "Operations",
  legal: "Legal",
  support: "Customer Service",
  design: "Design",
};

const SIZE = 25;
const PAGES = 1_000;

/** Names that this service knows for a place, the widest first. */
function placesOf({ country, state, city }: Pick<Person, "country" | "state" | "city">): string[] {
  if (country === null) return [];
  const behind = `${country.name} #${country.code}`;
  if (state === null) return [behind];
  const wider = [behind, `${state}, ${behind}`];
  return city === null ? wider : [...wider, `${city}, ${state}, ${behind}`];
}

const KNOWN_PLACES = new Set(PLACES.flatMap((place) => placesOf(place)));

const levelOf = (level: Level, { options }: ProspeoDesk): string =>
  options.words === "sdk" ? (SDK_WORDS[LEVEL[level]] ?? LEVEL[level]) : LEVEL[level];

function recordOf(person: Person, desk: ProspeoDesk): unknown {
  const { company, department, former, level } = person;
  const now = {
    title: person.title,
    company_name: company?.name ?? null,
    current: true,
    seniority: level === null ? null : levelOf(level, desk),
    departments: department === null ? [] : [DEPARTMENT[department]],
  };
  const before = {
    title: "Associate",
    company_name: former?.name ?? null,
    current: false,
    seniority: levelOf("entry", desk),
    departments: [],
  };
  const jobs = former === null ? [now] : [now, before];

  return desk.record({
    person: {
      person_id: person.hex.slice(0, 24),
      first_name: person.first,
      last_name: person.last,
      full_name: nameOf(person),
      linkedin_url: `https://www.linkedin.com/in/${person.slug}`,
      headline: person.headline,
      current_job_title: person.title,
      last_job_change_detected_at: person.updated,
      job_history: person.at % 2 === 0 ? jobs : jobs.toReversed(),
      location: {
        country: person.country?.name ?? null,
        country_code: person.country?.code ?? null,
        state: person.state,
        city: person.city,
      },
      email: { status: "VERIFIED", revealed: false, email: `${person.first[0]}***@***` },
      mobile: { status: "UNAVAILABLE", revealed: false, mobile: null },
    },
    company: company === null ? null : companyOf(company),
  });
}

const companyOf = (company: NonNullable<Person["company"]>): Record<string, unknown> => ({
  company_id: `c${900_000 + company.at}`,
  name: company.name,
  website: `https://${company.domain}`,
  domain: company.domain,
  industry: company.industry,
  employee_count: company.employees,
  linkedin_url: `https://www.linkedin.com/company/${company.slug}`,
});

function failed(code: string, desk: ProspeoDesk | undefined, more: object = {}): Reply {
  const status = { INVALID_API_KEY: 401, RATE_LIMITED: 429 }[code] ?? desk?.options.errorStatus;
  return { status: status ?? 400, body: { error: true, error_code: code, ...more } };
}

/** A filter that is refused; its text is the `filter_error`. */
class BadFilter extends Error {}

/** Values that a person has for a list of them, and which ones there are; undefined: any text. */
interface ListFilter {
  readonly values: (person: Person, desk: ProspeoDesk) => readonly string[];
  readonly known?: (value: string, desk: ProspeoDesk) => boolean;
}

const some = (value: string | null | undefined): string[] => (value == null ? [] : [value]);

const isLevel = (value: string, desk: ProspeoDesk): boolean =>
  (Object.keys(LEVEL) as Level[]).some((level) => levelOf(level, desk) === value);

const LISTS: Readonly<Record<string, ListFilter>> = {
  person_location_search: {
    values: (person, { options }) => [
      ...placesOf(person),
      ...(options.plainCountry ? some(person.country?.name) : []),
    ],
    known: (value, { options }) =>
      KNOWN_PLACES.has(value) ||
      (options.plainCountry && PLACES.some(({ country }) => country.name === value)),
  },
  person_seniority: {
    values: ({ level }, desk) => (level === null ? [] : [levelOf(level, desk)]),
    known: isLevel,
  },
  person_department: {
    values: ({ department }) => (department === null ? [] : [DEPARTMENT[department]]),
    known: (value) => Object.values(DEPARTMENT).includes(value),
  },
  company_industry: {
    values: ({ company }) => some(company?.industry),
    known: (value) => INDUSTRIES.some((industry) => industry === value),
  },
  person_name: { values: (person) => [nameOf(person)] },
};
const COMPANY: Readonly<Record<string, ListFilter>> = {
  websites: { values: ({ company }) => some(company?.domain) },
  names: { values: ({ company }) => some(company?.name) },
};

type Test = (person: Person) => boolean;

/** The lists of a filter; throws where it has another member, or a list that is none. */
function listsOf(name: string, given: unknown, flags: readonly string[]) {
  if (!isObject(given)) throw new BadFilter(`${name} must be an object`);
  const { include = [], exclude = [], ...rest } = given;
  const [unknown] = Object.keys(rest).filter((key) => !flags.includes(key));
  if (unknown !== undefined) throw new BadFilter(`${name} has no member ${unknown}`);
  if (!isTextList(include) || !isTextList(exclude))
    throw new BadFilter(`${name}: include and exclude are lists of text`);
  if (include.length > 500) throw new BadFilter(`${name}: 500 values at most`);
  return { include, exclude, flags: rest };
}

function listTest(name: string, filter: ListFilter, given: unknown, desk: ProspeoDesk): Test {
  const { exclude, include } = listsOf(name, given, []);
  const bad = [...include, ...exclude].find((value) => filter.known?.(value, desk) === false);
  if (bad !== undefined) throw new BadFilter(`${name}: invalid value ${bad}`);

  return (person) => {
    const values = filter.values(person, desk);
    const fits = include.length === 0 || values.some((value) => include.includes(value));
    return fits && !values.some((value) => exclude.includes(value));
  };
}

/** Titles that have all words of one asked for, or that are it. */
function titleTest(given: unknown): Test {
  const { exclude, flags, include } = listsOf("person_job_title", given, [
    "match_only_exact_job_titles",
    "match_mode",
  ]);
  const isExact =
    flags.match_only_exact_job_titles === true ||
    String(flags.match_mode).toLowerCase() === "exact";
  const fits = (title: string, asked: string): boolean => {
    if (isExact) return title.toLowerCase() === asked.toLowerCase();
    const words = title.toLowerCase().split(" ");
    return asked
      .toLowerCase()
      .split(" ")
      .every((word) => words.includes(word));
  };
  return ({ title }) =>
    (include.length === 0 || include.some((asked) => fits(title, asked))) &&
    !exclude.some((asked) => fits(title, asked));
}

/** What one filter means; its name is known, or it is refused. */
function testOf(name: string, given: unknown, desk: ProspeoDesk): Test {
  if (!desk.heeds(name)) return () => true;
  if (name === "person_job_title") return titleTest(given);
  if (name === "person_contact_details") return () => true;
  const list = LISTS[name];
  if (list !== undefined) return listTest(name, list, given, desk);
  if (name !== "company" || !isObject(given)) throw new BadFilter(`unknown filter ${name}`);

  const tests = Object.entries(given).map(([part, of]) => {
    const filter = COMPANY[part];
    if (filter === undefined) throw new BadFilter(`unknown filter company.${part}`);
    return listTest(`company.${part}`, filter, of, desk);
  });
  return (person) => tests.every((test) => test(person));
}

const includes = (given: unknown): boolean =>
  isObject(given) &&
  Object.entries(given).some(([name, of]) =>
    name === "include" ? Array.isArray(of) && of.length > 0 : includes(of),
  );

function search({ body }: Call, desk: ProspeoDesk): Reply {
  if (!isObject(body) || !isObject(body.filters)) return failed("INVALID_REQUEST", desk);
  const { filters, page = 1, ...unknown } = body;
  if (Object.keys(unknown).length > 0) return failed("INVALID_REQUEST", desk);
  if (!Number.isInteger(page) || Number(page) < 1 || Number(page) > PAGES)
    return failed("INVALID_REQUEST", desk);

  const entries = Object.entries(filters as object);
  const tests = entries.map(([name, given]) => testOf(name, given, desk));
  if (!entries.some(([, given]) => includes(given)))
    throw new BadFilter("at least one filter must include somebody");

  const found = desk.people.filter((person) => tests.every((test) => test(person)));
  const offset = (Number(page) - 1) * SIZE;
  const rows = desk.page(found, offset, SIZE);
  if (rows.length === 0) return failed("NO_RESULTS", desk);

  const again = JSON.stringify(body);
  const isFree = desk.options.freeAgain && desk.seen.has(again);
  const ids = rows.map((person) => prospeo.id(person));
  if (!isFree && !desk.sell({ call: "search-person", price: "1", units: 1, ids }))
    return failed("INSUFFICIENT_CREDITS", desk);
  desk.seen.add(again);

  const total = desk.total(found, offset, SIZE);
  return {
    status: 200,
    body: {
      error: false,
      free: isFree,
      results: rows.map((person) => recordOf(person, desk)),
      pagination: {
        current_page: Number(page),
        per_page: SIZE,
        total_page: Math.ceil(total / SIZE),
        total_count: total,
      },
    },
  };
}

function enrichCompany({ body }: Call, desk: ProspeoDesk): Reply {
  const data = isObject(body) && isObject(body.data) ? body.data : undefined;
  if (data === undefined) return failed("INVALID_REQUEST", desk);
  const slug = String(data.company_linkedin_url ?? "")
    .split("/")
    .at(-1);
  const found = desk.companies.find(
    (one) =>
      one.domain === data.company_website || one.name === data.company_name || one.slug === slug,
  );
  if (found === undefined) return failed("NO_MATCH", desk);

  const call = "enrich-company";
  const isFree = desk.book.charges.some((one) => one.call === call && one.ids.includes(found.slug));
  if (!isFree && !desk.sell({ call, price: "1", units: 1, ids: [found.slug] }))
    return failed("INSUFFICIENT_CREDITS", desk);
  return {
    status: 200,
    body: { error: false, free_enrichment: isFree, company: desk.record(companyOf(found)) },
  };
}

/** The names that a filter takes for a place or a title that begins so; free. */
function suggestions({ body }: Call, desk: ProspeoDesk): Reply {
  const { job_title_search: title, location_search: place } = isObject(body) ? body : {};
  const start = String(place ?? title ?? "").toLowerCase();
  if (start.length < 2) return failed("INVALID_REQUEST", desk);
  const names = place === undefined ? new Set(desk.people.map((one) => one.title)) : KNOWN_PLACES;
  const found = [...names].filter((name) => name.toLowerCase().startsWith(start)).slice(0, 20);
  return {
    status: 200,
    body: {
      error: false,
      ...(place === undefined
        ? { job_title_suggestions: found }
        : { location_suggestions: found.map((name) => ({ name })) }),
    },
  };
}

function account(desk: ProspeoDesk): Reply {
  return {
    status: 200,
    body: {
      error: false,
      response: {
        current_plan: "STARTER",
        remaining_credits: Number(desk.book.balance()),
        used_credits: Number(desk.book.charged()),
      },
    },
  };
}

const ROUTES: Readonly<Record<string, (call: Call, desk: ProspeoDesk) => Reply>> = {
  "POST /search-person": search,
  "POST /enrich-company": enrichCompany,
  "POST /search-suggestions": suggestions,
  "GET /account-information": (_, desk) => account(desk),
};

export const prospeo: Vendor<ProspeoOptions> = {
  key: "3c1b9e7f5a2d4c6b8e0f1a3d5c7b9e2f",
  own: { errorStatus: 400, words: "page", plainCountry: false, freeAgain: false },
  record: recordOf,
  id: ({ hex }) => hex.slice(0, 24),
  refuses: ({ headers }, key) =>
    headers["x-key"] === key ? undefined : failed("INVALID_API_KEY", undefined),
  limited: () => failed("RATE_LIMITED", undefined),
  limits: ({ left, seconds }) => ({
    "x-minute-request-left": String(left),
    "x-daily-request-left": "1000",
    "x-minute-reset-seconds": String(seconds),
  }),
  answer(call, desk) {
    const route = ROUTES[`${call.method} ${call.path}`];
    if (route === undefined) return { status: 404, body: { error: true, error_code: "NOT_FOUND" } };

    try {
      return route(call, desk);
    } catch (error) {
      if (error instanceof BadFilter)
        return failed("INVALID_FILTERS", desk, { filter_error: error.message });
      throw error;
    }
  },
};
