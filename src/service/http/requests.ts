import { hash } from "node:crypto";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { FastifyRequest } from "fastify";
import type { CompanyLookup, FacetQuestion } from "../../dataset/engine.ts";
import {
  FACET_LEAST,
  FACET_VALUES_DEFAULT,
  FACET_VALUES_MAX,
} from "../../shared/contract/facets.ts";
import { canonicalJson, checkFilters, VALID_FILTERS_LINE } from "../../shared/contract/filters.ts";
import { addressIn, canonicalDomain } from "../../shared/contract/naming/address.ts";
import { hasLoneSurrogate, normalForm } from "../../shared/contract/normalise.ts";
import { MAX_BODY_BYTES, PER_PAGE_DEFAULT, PER_PAGE_MAX } from "../../shared/contract/records.ts";
import { parseStrictJson } from "../../shared/contract/strict-json.ts";
import { echo } from "../../shared/contract/text.ts";
import {
  COMPANIES_MAX,
  FACET_KEYS,
  type Filters,
  filterSpec,
  isFacetKey,
  MAX_VALUE_LENGTH,
} from "../../shared/contract/vocabulary.ts";
import type { HoldRequest } from "../ledger/ledger.ts";
import type { Sketched } from "../people/sketches.ts";
import { invalid, Problem, unsupportedMediaType } from "../problem.ts";
import type { Call } from "./call.ts";
import { type Cursor, type PageRequest, readCursor, segmentHash } from "./paging.ts";

const MAX_ECHOED = 20;
const MAX_PARAMETER_LENGTH = 1_024;
const COUNT_KEYS = ["filters"] as const;
const LOOKUP_KEYS = ["domain", "company_network_url", "name", "id"] as const;
const PAGING_KEYS = ["per_page", "page", "cursor"] as const;

/** What small bodies of counts mean, by their bytes. */
const knownCounts = new Map<string, SentSegment>();
const MAX_KNOWN = 1_000;
const MAX_KNOWN_BYTES = 1_024;

export function readCount(body: Buffer): SentSegment {
  if (body.length > MAX_KNOWN_BYTES) return readSegment(bodyFields(body, COUNT_KEYS));
  const bytes = body.toString("latin1");
  const before = knownCounts.get(bytes);
  if (before !== undefined) return before;
  const request = readSegment(bodyFields(body, COUNT_KEYS));
  if (knownCounts.size >= MAX_KNOWN) knownCounts.clear();
  knownCounts.set(bytes, request);
  return request;
}

/** The segments of each company. */
export function readCounts(body: Uint8Array) {
  const fields = bodyFields(body, ["filters", "companies"]);
  const { filters } = readSegment(fields);
  const companies = fields.get("companies");
  if (!Array.isArray(companies) || companies.length < 1 || companies.length > COMPANIES_MAX) {
    throw invalid(`companies is required: 1 to ${COMPANIES_MAX} profile addresses of companies`);
  }
  if (filters.company_network_url !== undefined) {
    throw invalid("companies are named twice: leave the filter company_network_url out");
  }

  const base = fields.get("filters") as object;
  const each = companies.map((company_network_url: unknown) =>
    readSegment(new Map([["filters", { ...base, company_network_url }]])),
  );
  return { each, filters };
}

export function readFacets(body: Uint8Array, few: number | null) {
  const fields = bodyFields(body, ["filters", "key", "prefix", "limit"]);
  const request = readSegment(fields);
  const key = fields.get("key");
  const keys = `keys that have facets: ${FACET_KEYS.join(", ")}`;

  if (typeof key !== "string") throw invalid(`key is required, a string; ${keys}`);
  if (!isFacetKey(key)) {
    const why = filterSpec(key) ? `${key} has no facets` : `unknown key: ${echo(key)}`;
    throw invalid(`${why}; ${keys}`);
  }

  const prefix = fields.get("prefix") ?? "";
  if (typeof prefix !== "string") throw invalid("prefix must be a string");
  if (prefix.length > MAX_VALUE_LENGTH || prefix.includes("\0") || hasLoneSurrogate(prefix)) {
    throw invalid(
      `prefix takes at most ${MAX_VALUE_LENGTH} characters, without NUL and lone surrogates`,
    );
  }

  const limit = readWithin(fields, "limit", FACET_VALUES_DEFAULT, [1, FACET_VALUES_MAX]);
  return {
    ...request,
    question: {
      key,
      prefix: normalForm(prefix),
      limit,
      least: Math.max(FACET_LEAST, few ?? 0),
    } satisfies FacetQuestion,
  };
}

export function readSearch(body: Uint8Array, maxDepth: number | undefined) {
  const fields = bodyFields(body, ["filters", ...PAGING_KEYS]);
  const request = readSegment(fields);
  return { ...request, paging: paging(fields, request.canonical, maxDepth) };
}

export const readEnrich = (query: string): CompanyLookup => lookup(queryFields(query, LOOKUP_KEYS));

export function readEmployees(query: string, maxDepth: number | undefined) {
  const fields = queryFields(query, [...LOOKUP_KEYS, ...PAGING_KEYS]);
  const company = lookup(fields);
  const numbers = new Map<string, unknown>(fields);

  for (const name of ["per_page", "page"]) {
    const text = fields.get(name);
    if (text === undefined) continue;
    // Decimal digits only: no "1e3", no "0x10", no " 1".
    if (!/^-?\d{1,20}$/.test(text))
      throw invalid(`${name} must be an integer, not "${echo(text)}"`);
    numbers.set(name, Number(text));
  }

  return { lookup: company, paging: paging(numbers, companyParameter(company), maxDepth) };
}

/**
 * A call without parameters refuses any, so that a misspelt route is noticed. Throws a 422 Problem.
 */
export function refuseQuery(query: string): void {
  if (query !== "") queryFields(query, []);
}

export const companyParameter = (company: CompanyLookup): string =>
  `${company.by}=${company.value}`;

export function bodyFields(body: Uint8Array, valid: readonly string[]): Map<string, unknown> {
  const json = parseStrictJson(body);
  if (!json.ok) throw invalid(json.message);
  const { value } = json;
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    const kind = value === null ? "null" : Array.isArray(value) ? "an array" : `a ${typeof value}`;
    throw invalid(`the body must be a JSON object, not ${kind}`);
  }
  const fields = new Map<string, unknown>(Object.entries(value));
  refuseUnknown(fields.keys(), valid, "field");
  return fields;
}

function queryFields(query: string, valid: readonly string[]): Map<string, string> {
  const fields = new Map<string, string>();
  const doubled: string[] = [];
  for (const pair of query === "" ? [] : query.split("&")) {
    if (pair === "") continue;
    const cut = pair.indexOf("=");
    const name = decode(cut < 0 ? pair : pair.slice(0, cut));
    const value = decode(cut < 0 ? "" : pair.slice(cut + 1));
    if (fields.has(name)) doubled.push(name);
    fields.set(name, value);
  }

  refuseUnknown(fields.keys(), valid, "parameter");
  if (doubled[0] !== undefined)
    throw invalid(`${echo(doubled[0])} is given more than once; send it once`);

  return fields;
}

function decode(text: string): string {
  let plain: string;
  try {
    plain = decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    throw invalid(`the query holds a broken percent-encoding: ${echo(text)}`);
  }
  if (plain.includes("\0") || hasLoneSurrogate(plain))
    throw invalid("the query holds a NUL character");
  return plain;
}

function refuseUnknown(
  names: Iterable<string>,
  valid: readonly string[],
  kind: "field" | "parameter",
): void {
  const unknown: string[] = [];
  let more = 0;
  for (const name of names) {
    if (valid.includes(name)) continue;
    if (unknown.length < MAX_ECHOED) unknown.push(echo(name));
    else more++;
  }

  if (unknown.length === 0) return;

  const list = more > 0 ? `${unknown.join(", ")} and ${more} more` : unknown.join(", ");
  const hint = valid.length === 0 ? "this call takes none" : `valid ${kind}s: ${valid.join(", ")}`;
  throw invalid(`unknown ${kind}${unknown.length + more > 1 ? "s" : ""}: ${list}; ${hint}`);
}

export interface SentSegment extends Sketched {
  /** As they came. */
  readonly sent: Filters;
}

export function readSegment(fields: ReadonlyMap<string, unknown>): SentSegment {
  if (!fields.has("filters")) throw invalid("filters is required; {} is the whole dataset");
  const check = checkFilters(fields.get("filters"));
  if (!check.ok) {
    const detail = check.issues.map((issue) => issue.message);
    if (check.issues.some((issue) => issue.code === "unknown_key")) detail.push(VALID_FILTERS_LINE);
    throw invalid(...detail);
  }
  return {
    filters: check.canonical,
    canonical: canonicalJson(check.canonical),
    sent: check.filters,
  };
}

function paging(
  fields: ReadonlyMap<string, unknown>,
  segmentKey: string,
  maxDepth: number | undefined,
): PageRequest {
  const perPage = readWithin(fields, "per_page", PER_PAGE_DEFAULT, [1, PER_PAGE_MAX]);
  const cursor = cursorOf(fields, segmentKey);
  const page = readInteger(fields, "page", 1);
  if (page < 1) throw invalid(`page counts from 1, not ${page}`);

  // The product may lie beyond what a double counts exactly, and so beyond any dataset.
  const offset =
    cursor?.offset ?? Math.min((page - 1) * perPage, Number.MAX_SAFE_INTEGER - PER_PAGE_MAX);
  const depth = cursor === undefined ? page * perPage : offset + perPage;
  if (maxDepth !== undefined && depth > maxDepth) {
    throw invalid(
      `this page reaches row ${depth}; this service goes to row ` +
        `${maxDepth} (page x per_page): narrow the filters`,
    );
  }
  if (cursor === undefined) return { offset, perPage, page };

  return { offset, perPage, page: Math.floor(offset / perPage) + 1, cursorVersion: cursor.version };
}

function cursorOf(fields: ReadonlyMap<string, unknown>, segmentKey: string): Cursor | undefined {
  if (!fields.has("cursor")) return undefined;
  if (fields.has("page")) throw invalid("send either page or cursor, not both");
  const text = fields.get("cursor");
  const cursor = typeof text === "string" ? readCursor(text) : undefined;
  if (cursor === undefined)
    throw invalid("cursor is not one of this service; send X-Next-Cursor back unchanged");
  if (cursor.segment !== segmentHash(segmentKey)) {
    throw invalid("cursor belongs to another search; begin this one at page 1");
  }
  return cursor;
}

type Fields = ReadonlyMap<string, unknown>;

export function readWithin(
  fields: Fields,
  name: string,
  fallback: number,
  [least, most]: readonly [number, number],
) {
  const value = readInteger(fields, name, fallback);
  if (value >= least && value <= most) return value;
  throw invalid(`${name} must be between ${least} and ${most}, not ${value}`);
}

function readInteger(fields: Fields, name: string, fallback: number): number {
  if (!fields.has(name)) return fallback;
  const value = fields.get(name);
  if (typeof value !== "number" || !Number.isInteger(value)) {
    const text = typeof value === "string" ? `a string ("${echo(value)}")` : echo(value);
    throw invalid(`${name} must be an integer, not ${typeof value === "number" ? value : text}`);
  }
  if (!Number.isSafeInteger(value))
    throw invalid(`${name} must be at most ${Number.MAX_SAFE_INTEGER}`);
  return value + 0;
}

function lookup(fields: ReadonlyMap<string, string>): CompanyLookup {
  const keys = LOOKUP_KEYS.filter((key) => fields.has(key));
  const [by] = keys;
  if (by === undefined || keys.length > 1) {
    const said = keys.length > 1 ? `, not by ${keys.join(" and ")}` : "";
    throw invalid(
      `name the company by exactly one parameter${said}; ` +
        `valid parameters: ${LOOKUP_KEYS.join(", ")}`,
    );
  }

  const text = fields.get(by) ?? "";
  if (text.length > MAX_PARAMETER_LENGTH) {
    throw invalid(`${by} takes at most ${MAX_PARAMETER_LENGTH} characters, not ${text.length}`);
  }
  if (normalForm(text) === "") throw invalid(`${by} must not be empty`);
  if (by === "name") return { by, value: normalForm(text) };
  if (by === "id") return { by, value: text.trim() };

  const { address, is, isNetwork, path } = addressIn(text) ?? {};
  // A profile has the domain of its network, and is of another company.
  const isOfAnother = is === "person" || (isNetwork && path?.[0] !== undefined);
  const domain = isOfAnother ? undefined : canonicalDomain(text);
  const value = by === "domain" ? domain : address;
  if (value !== undefined) return { by, value };

  throw invalid(
    by === "domain"
      ? `domain is not a domain: "${echo(text)}"; for example acme.example`
      : `company_network_url is not a profile address: "${echo(text)}"; ` +
          "give an http(s) URL without a user name, or a slug",
  );
}

export function countOf(name: string, rawHeaders: readonly string[]): number {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const text = rawHeaders[at];
    if (text?.length === name.length && text.toLowerCase() === name) count += 1;
  }
  return count;
}

export function queryText({ raw }: FastifyRequest): string {
  const url = raw.url ?? "";
  const cut = url.indexOf("?");
  return cut < 0 ? "" : url.slice(cut + 1).replace(/#.*$/s, "");
}

const LARGE_BODY_BYTES = 8_192;

/** Whether neighbours feel how long a body takes to read, or it does not say how long it is. */
export const isLarge = (headers: IncomingHttpHeaders): boolean =>
  headers["transfer-encoding"] !== undefined ||
  Number(headers["content-length"] ?? 0) > LARGE_BODY_BYTES;

function checkBodyHeaders(headers: IncomingHttpHeaders): void {
  if (Number(headers["content-length"]) > MAX_BODY_BYTES) throw bodyTooLarge();

  // Without a body its own check says that it is missing.
  const [type, ...parameters] = (headers["content-type"] ?? "application/json")
    .split(";")
    .map((part) => part.trim());
  const charset = parameters
    .find((parameter) => /^charset\s*=/i.test(parameter))
    ?.replace(/^charset\s*=\s*|"/gi, "");
  if (type?.toLowerCase() !== "application/json" || !/^utf-?8$/i.test(charset ?? "utf-8"))
    throw unsupportedMediaType();

  const encoding = headers["content-encoding"];
  if (encoding !== undefined && encoding !== "identity") {
    throw new Problem(415, ["send the body without a Content-Encoding"], {
      "accept-encoding": "identity",
    });
  }
}

/**
 * Reads a body: what has come by now, which mostly is all of it, and then what is still to come.
 * @param done told its bytes, or why there are none:
 * a Problem (413, 422), or what ended the connection
 */
export function readBody(
  payload: IncomingMessage,
  done: (error: Error | null, body?: Buffer) => void,
): void {
  const said = Number(payload.headers["content-length"]);
  if (said > MAX_BODY_BYTES) {
    done(bodyTooLarge());
    return;
  }

  const chunks: Buffer[] = [];
  let size = 0;
  const finish = (error: Error | null): void => {
    payload.off("data", take).off("end", end).off("error", fail);
    done(error, error === null ? Buffer.concat(chunks, size) : undefined);
  };

  const take = (chunk: Buffer): void => {
    chunks.push(chunk);
    size += chunk.length;
    if (size > MAX_BODY_BYTES) finish(bodyTooLarge());
  };

  const end = (): void =>
    finish(
      said >= 0 && size !== said ? invalid("the body is not as long as its Content-Length") : null,
    );

  const fail = (error: Error): void => finish(Object.assign(error, { statusCode: 400 }));
  const come = payload.read() as Buffer | null;
  if (payload.complete && come?.length === said) {
    done(null, come);
    return;
  }

  payload.on("data", take).on("end", end).on("error", fail);
  if (come !== null) take(come);
}

export function jsonBody({ body, headers }: FastifyRequest): Buffer {
  checkBodyHeaders(headers);
  return Buffer.isBuffer(body) ? body : Buffer.alloc(0);
}

const bodyTooLarge = (): Problem =>
  new Problem(413, [`the body is larger than ${MAX_BODY_BYTES} bytes`]);

type Called = FastifyRequest & { readonly call: Pick<Call, "name"> };

/**
 * The `Idempotency-Key` with a SHA-256 over what it
 * stands for (docs/reference/contract.md). Throws a 422 Problem.
 */
export function idempotencyOf({ call, headers, method, raw }: Called, identity: string) {
  const key = headers["idempotency-key"];
  if (key === undefined) return undefined;
  if (countOf("idempotency-key", raw.rawHeaders) > 1 || typeof key !== "string") {
    throw invalid("Idempotency-Key is given more than once; send it once");
  }
  if (!/^[\x21-\x7e]{1,255}$/.test(key)) {
    throw invalid("Idempotency-Key takes 1 to 255 visible ASCII characters without spaces");
  }

  const requestHash = hash("sha256", `${method} ${call.name}\n${identity}`);
  return { key, requestHash } satisfies HoldRequest["idempotency"];
}
