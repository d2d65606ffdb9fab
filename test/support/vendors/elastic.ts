import { isObject } from "./shared.ts";

// As much of Elasticsearch's query language as vendors take, by its own public reference. What a
// text field holds are words in lower case: a `term` is held against the single words, not against
// the text. A field in a nested list is found by a `nested` query alone, and all that one asks
// holds for one and the same member.

type Scalar = string | number | bigint | boolean;
export type Doc = Readonly<Record<string, unknown>>;

export interface Index {
  /** `text+exact`: text, with a keyword beside it as `.exact`. */
  readonly fields: Readonly<Record<string, "keyword" | "text" | "text+exact" | "number">>;
  /** Lists whose fields are found by `nested` only. */
  readonly nested: readonly string[];
  /** The kinds of query that are taken. */
  readonly kinds: readonly string[];
  /** What a field does that is not there. */
  readonly unknownField: "none" | "refused";
  /** How many values `terms` takes. */
  readonly mostTerms: number;
  /** Whether a filter on this field is heeded; where not, everybody fits. */
  heeds(field: string): boolean;
}

/** A query that is refused; its text says why. */
export class BadQuery extends Error {}

interface Scope {
  readonly path: string;
  readonly member: Doc;
}
type Test = (doc: Doc, scope?: Scope) => boolean;

const wordsOf = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];

const isScalar = (value: unknown): value is Scalar =>
  ["string", "number", "bigint", "boolean"].includes(typeof value);

function listed(query: unknown): unknown[] {
  return Array.isArray(query) ? query : [query];
}

/** What a query means; throws BadQuery. */
export function compiled(query: unknown, index: Index): (doc: Doc) => boolean {
  const test = clause(query, index);
  return (doc) => test(doc);
}

function clause(query: unknown, index: Index): Test {
  if (!isObject(query)) throw new BadQuery("[query] malformed, expected an object");
  const [entry, ...more] = Object.entries(query);
  if (entry === undefined || more.length > 0)
    throw new BadQuery("[query] malformed, one kind of query expected");

  const [kind, of] = entry;
  if (!index.kinds.includes(kind) || !isObject(of)) throw new BadQuery(`unknown query [${kind}]`);
  if (kind === "match_all") return () => true;
  if (kind === "bool") return bool(of, index);
  if (kind === "nested") return nested(of, index);
  if (kind === "exists") {
    const field = String(of.field);
    return (doc, scope) => valuesOf(field, index, doc, scope).length > 0;
  }
  return leaf(kind, of, index);
}

function bool(of: Record<string, unknown>, index: Index): Test {
  const { must, filter, should, must_not, minimum_should_match, ...unknown } = of;
  const [name] = Object.keys(unknown);
  if (name !== undefined) throw new BadQuery(`[bool] query does not support [${name}]`);

  const tests = (part: unknown): Test[] =>
    part === undefined ? [] : listed(part).map((one) => clause(one, index));
  const all = [...tests(must), ...tests(filter)];
  const some = tests(should);
  const none = tests(must_not);
  const least = Number(minimum_should_match ?? (all.length === 0 && some.length > 0 ? 1 : 0));

  return (doc, scope) =>
    all.every((test) => test(doc, scope)) &&
    !none.some((test) => test(doc, scope)) &&
    some.filter((test) => test(doc, scope)).length >= least;
}

function nested({ path, query }: Record<string, unknown>, index: Index): Test {
  if (typeof path !== "string" || !index.nested.includes(path))
    throw new BadQuery(`[nested] failed to find nested object under path [${String(path)}]`);

  const test = clause(query, index);
  return (doc) => {
    const members = doc[path];
    return Array.isArray(members) && members.some((member: Doc) => test(doc, { path, member }));
  };
}

const parentOf = (field: string, index: Index): string | undefined =>
  index.nested.find((path) => field.startsWith(`${path}.`));

const plainOf = (field: string): string => field.replace(/\.exact$/, "");

function valuesOf(field: string, index: Index, doc: Doc, scope: Scope | undefined): Scalar[] {
  const name = plainOf(field);
  const parent = parentOf(name, index);
  // A member of a list knows its own fields only, and nobody else knows them.
  if (parent !== scope?.path) return [];

  const value = parent === undefined ? doc[name] : scope?.member[name.slice(parent.length + 1)];
  return listed(value).filter((one) => isScalar(one));
}

/** How the values of a field are compared; undefined: there is no such field. */
function typeOf(field: string, index: Index): "keyword" | "text" | "number" | undefined {
  const type = index.fields[plainOf(field)];
  if (field.endsWith(".exact")) return type === "text+exact" ? "keyword" : undefined;
  return type === "text+exact" ? "text" : type;
}

function leaf(kind: string, of: Record<string, unknown>, index: Index): Test {
  const [entry, ...more] = Object.entries(of);
  if (entry === undefined || more.length > 0)
    throw new BadQuery(`[${kind}] query doesn't support multiple fields`);

  const [field, asked] = entry;
  const type = typeOf(field, index);
  if (type === undefined && index.unknownField === "refused")
    throw new BadQuery(`no such field: ${field}`);

  const fits = comparison(kind, asked, type ?? "keyword", index);
  if (!index.heeds(field)) return () => true;
  if (type === undefined) return () => false;
  return (doc, scope) => valuesOf(field, index, doc, scope).some(fits);
}

/** The value of `{"term": {field: VALUE}}`, or of its longer form `{"term": {field: {"value": VALUE}}}`. */
function valueIn(kind: string, asked: unknown): string {
  const value = isObject(asked) ? (asked.value ?? asked.query) : asked;
  if (!isScalar(value)) throw new BadQuery(`[${kind}] query malformed, no value`);
  return String(value);
}

function comparison(
  kind: string,
  asked: unknown,
  type: "keyword" | "text" | "number",
  index: Index,
): (value: Scalar) => boolean {
  const isText = type === "text";
  const partsOf = (value: Scalar): string[] => (isText ? wordsOf(String(value)) : [String(value)]);

  switch (kind) {
    case "terms": {
      if (!Array.isArray(asked)) throw new BadQuery("[terms] query requires an array of values");
      if (asked.length > index.mostTerms)
        throw new BadQuery(`an array may hold ${index.mostTerms} values at most`);
      const values = new Set(asked.map(String));
      return (value) => partsOf(value).some((part) => values.has(part));
    }
    case "range":
      return within(asked);
    case "prefix": {
      const start = valueIn(kind, asked);
      return (value) => partsOf(value).some((part) => part.startsWith(start));
    }
    case "wildcard": {
      const escaped = valueIn(kind, asked).replaceAll(/[.+^${}()|[\]\\]/g, "\\$&");
      const pattern = new RegExp(`^${escaped.replaceAll("*", ".*").replaceAll("?", ".")}$`, "su");
      return (value) => partsOf(value).some((part) => pattern.test(part));
    }
    case "match":
    case "match_phrase": {
      const words = isText ? wordsOf(valueIn(kind, asked)) : [valueIn(kind, asked)];
      const isAll = isObject(asked) && String(asked.operator).toLowerCase() === "and";
      if (kind === "match_phrase") return (value) => follows(partsOf(value), words);
      return (value) => {
        const parts = partsOf(value);
        const found = words.filter((word) => parts.includes(word)).length;
        return isAll ? found === words.length : found > 0;
      };
    }
    case "term": {
      const wanted = valueIn(kind, asked);
      return (value) => partsOf(value).includes(wanted);
    }
    default:
      throw new BadQuery(`unknown query [${kind}]`);
  }
}

const follows = (parts: readonly string[], words: readonly string[]): boolean =>
  words.length > 0 && parts.some((_, at) => words.every((word, on) => parts[at + on] === word));

function within(asked: unknown): (value: Scalar) => boolean {
  if (!isObject(asked)) throw new BadQuery("[range] query malformed");
  const { gte, gt, lte, lt, ...unknown } = asked;
  const [name] = Object.keys(unknown);
  if (name !== undefined) throw new BadQuery(`[range] query does not support [${name}]`);

  const bound = (one: unknown, holds: (value: Scalar, of: Scalar) => boolean) => (value: Scalar) =>
    one === undefined || one === null || holds(value, one as Scalar);
  const bounds = [
    bound(gte, (value, of) => value >= of),
    bound(gt, (value, of) => value > of),
    bound(lte, (value, of) => value <= of),
    bound(lt, (value, of) => value < of),
  ];
  return (value) => bounds.every((holds) => holds(value));
}
