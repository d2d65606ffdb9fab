// Tested by test/unit/contract-filters.test.ts.
import { usualName } from "./aliases.ts";
import { canonicalAddress } from "./naming/address.ts";
import { hasLoneSurrogate, normalForm } from "./normalise.ts";
import { aside, nearest } from "./suggest.ts";
import { echo, present } from "./text.ts";
import {
  type CanonicalFilters,
  DEPARTMENTS,
  type Department,
  EXACT_KEYS,
  FILTER_KEYS,
  FILTER_SPECS,
  type FilterKey,
  type FilterKeySpec,
  type Filters,
  filterSpec,
  MAX_CHARACTERS,
  MAX_VALUE_LENGTH,
  MAX_VALUES,
  MAX_VALUES_PER_KEY,
  PREFIX_KEYS,
  RANGE_KEYS,
} from "./vocabulary.ts";

type FilterIssueCode =
  | "unknown_key"
  | "wrong_type"
  | "empty"
  | "out_of_range"
  | "bad_value"
  | "too_long"
  | "min_above_max";

export interface FilterIssue {
  readonly key: string;
  readonly code: FilterIssueCode;
  readonly message: string;
  readonly nearest?: string;
}

export interface CheckedFilters {
  readonly filters: Filters;
  readonly canonical: CanonicalFilters;
}

export type FilterCheck =
  | ({ readonly ok: true } & CheckedFilters)
  | { readonly ok: false; readonly issues: readonly FilterIssue[] };

const MAX_ISSUES = 20;

export const VALID_FILTERS_LINE = `valid filters: ${FILTER_KEYS.join(", ")}`;

/**
 * The rules of docs/reference/contract.md, Filters: in the client
 * before sending, in the service before work. Never throws.
 */
export function checkFilters(input: unknown): FilterCheck {
  if (typeof input !== "object" || input === null || Array.isArray(input)) {
    const message = `filters must be an object, not ${typeName(input)}`;
    return { ok: false, issues: [{ key: "filters", code: "wrong_type", message }] };
  }

  // Own keys only: a key such as __proto__ reaches us as an
  // own key from a safe parser and must be named as unknown.
  const entries = new Map<string, unknown>(Object.entries(input));
  let values = 0;
  for (const [key, value] of entries)
    if (filterSpec(key) !== undefined) values += Array.isArray(value) ? value.length : 1;

  if (values > MAX_VALUES) {
    const message =
      `filters take at most ${MAX_VALUES} values in all, ` +
      `not ${values}; ask in several requests`;
    return { ok: false, issues: [{ key: "filters", code: "too_long", message }] };
  }

  const budget = { characters: MAX_CHARACTERS };
  const issues = unknownKeys(entries.keys());
  const filters: Record<string, Value> = {};
  const canonical = { exact: {}, prefix: {}, range: {} as CanonicalFilters["range"] };

  for (const spec of FILTER_SPECS) {
    if (!entries.has(spec.key) || issues.length >= MAX_ISSUES || budget.characters < 0) continue;

    const { key, match } = spec;
    const reading =
      match === "range"
        ? readNumber(key, entries.get(key))
        : readTexts(spec, entries.get(key), budget);
    if ("issues" in reading) {
      issues.push(...reading.issues.slice(0, MAX_ISSUES - issues.length));
      continue;
    }

    filters[key] = reading.sent;

    const place =
      match === "department" || match === "company_network_url" ? canonical : canonical[match];
    Object.assign(place, { [key]: reading.matched });
  }

  issues.push(...upsideDown(canonical.range));
  return issues.length > 0 ? { ok: false, issues } : { ok: true, filters, canonical };
}

type Value = string | number | readonly string[];

type Reading =
  | { readonly sent: Value; readonly matched: Value }
  | { readonly issues: readonly FilterIssue[] };

function unknownKeys(keys: Iterable<string>): FilterIssue[] {
  const issues: FilterIssue[] = [];
  for (const key of keys) {
    if (issues.length >= MAX_ISSUES) break;
    if (filterSpec(key) !== undefined) continue;

    const near = nearest(key, FILTER_KEYS);
    const message = `unknown filter: ${echo(key)}${aside(near)}`;
    issues.push({
      key,
      code: "unknown_key",
      message,
      ...present({ nearest: near }),
    });
  }

  return issues;
}

function readNumber(key: FilterKey, value: unknown): Reading {
  const wrong = (code: FilterIssueCode, message: string): Reading => ({
    issues: [{ key, code, message: `${key} ${message}` }],
  });

  if (typeof value !== "number")
    return wrong("wrong_type", `must be an integer, not ${typeName(value)}`);
  if (value % 1) return wrong("wrong_type", `must be an integer, not ${value}`);
  if (value < 0) return wrong("out_of_range", `must not be negative: ${value}`);
  if (!Number.isSafeInteger(value))
    return wrong("out_of_range", "must be at most 9007199254740991");

  // No -0: it would be another text in JSON.
  return { sent: value + 0, matched: value + 0 };
}

/** @param budget characters of normal form that may still come; below 0 nothing more is read */
function readTexts(spec: FilterKeySpec, value: unknown, budget: { characters: number }): Reading {
  const { key, match } = spec;
  const values = Array.isArray(value) ? (value as unknown[]) : [value];
  const problem = listProblem(spec, value, values);
  if (problem) return { issues: [{ ...problem, key, message: `${key} ${problem.message}` }] };

  const texts = values as string[];
  const sent = Array.isArray(value) ? [...texts] : (texts[0] ?? "");
  const isAddress = match === "company_network_url" || key === "network_url";
  const issues: FilterIssue[] = [];
  const forms: string[] = [];
  for (const text of texts) {
    const normal = normalForm(text);
    if (normal === "") {
      return {
        issues: [{ key, code: "empty", message: `${key} must not be empty; leave the key out` }],
      };
    }

    budget.characters -= normal.length;

    if (budget.characters < 0) {
      const message =
        `filters take at most ${MAX_CHARACTERS} characters in all, ` +
        "in their normal form; ask in several requests";
      return { issues: [{ key, code: "too_long", message }] };
    }

    const form =
      match === "department"
        ? DEPARTMENT_BY_NORMAL.get(normal)
        : isAddress
          ? canonicalAddress(text)
          : normal;
    if (form !== undefined) forms.push(form);
    else issues.push(match === "department" ? unknownDepartment(text) : noAddress(key, text));
    if (issues.length >= MAX_ISSUES) break;
  }

  if (issues.length > 0) return { issues };
  if (match === "department")
    return { sent, matched: DEPARTMENTS.filter((name) => forms.includes(name)) };

  return { sent, matched: match === "exact" ? [...new Set(forms)].sort() : (forms[0] ?? "") };
}

function noAddress(key: FilterKey, text: string): FilterIssue {
  const message =
    `${key} is not a profile address: "${echo(text)}"; ` +
    "give an http(s) URL without a user name, or a slug";
  return { key, code: "bad_value", message };
}

function upsideDown(range: CanonicalFilters["range"]): FilterIssue[] {
  return (["connections", "followers"] as const).flatMap((name) => {
    const min = range[`${name}_min`];
    const max = range[`${name}_max`];
    if (min === undefined || max === undefined || min <= max) return [];
    const message = `${name}_min ${min} is above ${name}_max ${max}; swap them`;
    return [{ key: `${name}_min`, code: "min_above_max" as const, message }];
  });
}

/**
 * The canonical filters as one line of JSON: equal for
 * filters that mean the same. The key of caches and of runs.
 */
export function canonicalJson(canonical: CanonicalFilters): string {
  const flat: Record<string, unknown> = {};
  const { company_network_url, department, exact, prefix, range } = canonical;
  for (const key of EXACT_KEYS) if (exact[key] !== undefined) flat[key] = exact[key];
  for (const key of PREFIX_KEYS) if (prefix[key] !== undefined) flat[key] = prefix[key];
  for (const key of RANGE_KEYS) if (range[key] !== undefined) flat[key] = range[key];
  if (company_network_url !== undefined) flat.company_network_url = company_network_url;
  if (department !== undefined) flat.department = department;
  return JSON.stringify(flat);
}

export const isUnfiltered = (canonical: CanonicalFilters): boolean =>
  canonicalJson(canonical) === "{}";

const DEPARTMENT_BY_NORMAL: ReadonlyMap<string, Department> = new Map(
  DEPARTMENTS.map((name) => [normalForm(name), name]),
);

export const departmentOf = (text: string): Department | undefined =>
  DEPARTMENT_BY_NORMAL.get(normalForm(text));

function unknownDepartment(text: string): FilterIssue {
  const isSeveral = text.split(/[,;|]/).every((part) => departmentOf(part) !== undefined);
  const near = isSeveral
    ? undefined
    : (departmentOf(usualName("department", text)) ?? nearest(text, DEPARTMENTS));
  const said = isSeveral ? " (several in one: give each by itself)" : aside(near, '"');
  const valid = DEPARTMENTS.join(", ");
  return {
    key: "department",
    code: "bad_value",
    message: `unknown department: "${echo(text)}"${said}; valid departments: ${valid}`,
    ...present({ nearest: near }),
  };
}

function listProblem(
  spec: FilterKeySpec,
  value: unknown,
  values: readonly unknown[],
): Omit<FilterIssue, "key"> | undefined {
  const wanted = spec.list ? "a string or an array of strings" : "a string";
  if (Array.isArray(value) && !spec.list) {
    return {
      code: "wrong_type",
      message: "takes one string, not an array; send one request for each",
    };
  }

  if (values.length === 0)
    return { code: "empty", message: "must not be an empty array; leave the key out" };
  if (values.length > MAX_VALUES_PER_KEY) {
    return {
      code: "too_long",
      message: `takes at most ${MAX_VALUES_PER_KEY} values, not ${values.length}`,
    };
  }

  for (const item of values) {
    if (typeof item !== "string")
      return { code: "wrong_type", message: `must be ${wanted}, not ${typeName(item)}` };
    if (item.length > MAX_VALUE_LENGTH) {
      return {
        code: "too_long",
        message: `takes at most ${MAX_VALUE_LENGTH} characters a value, not ${item.length}`,
      };
    }

    if (item.includes("\0") || hasLoneSurrogate(item)) {
      return { code: "bad_value", message: "must not contain NUL characters or lone surrogates" };
    }
  }

  return undefined;
}

/** Fields that are asked for by their texts, and those, as they are compared. */
export function textsAsked(filters: Filters): readonly (readonly [string, readonly string[]])[] {
  const check = checkFilters(filters);
  if (!check.ok) return [];
  const { exact, department } = check.canonical;
  const all = { ...exact, department: department?.map(normalForm), network_url: undefined };
  return Object.entries(all).flatMap(([key, texts]) => (texts ? [[key, texts] as const] : []));
}

const typeName = (value: unknown): string =>
  value === null
    ? "null"
    : Array.isArray(value)
      ? "an array"
      : value === undefined
        ? "missing"
        : `${/^[aeiou]/.test(typeof value) ? "an" : "a"} ${typeof value}`;
