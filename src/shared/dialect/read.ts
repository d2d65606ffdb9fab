// Tested by test/unit/shared/dialect/read.test.ts.
import type { AnyNode } from "@humanwhocodes/momoa";
import { NUMBER_FIELDS } from "../contract/records.ts";
import { aside, nearest } from "../contract/suggest.ts";
import { counted, echo } from "../contract/text.ts";
import { RANGE_KEYS } from "../contract/vocabulary.ts";
import {
  type DocumentProblem,
  documentMembers,
  documentRefusal,
  isObjectNode,
  readDocument,
  textPlaceOf,
} from "../document.ts";
import type { JsonSchema } from "../schema/build.ts";
import { holesIn, holesOf } from "./holes.ts";
import { countingOf, type DialectFile, dialectShape, type VendorCall } from "./shape.ts";

const AS_DIALECT = {
  hint: "docs/reference/dialects.md has every member; headcount connections dialects lists files that are right",
  code: "invalid_dialect",
} as const;

type Path = readonly (string | number)[];

/**
 * Reads the file of a vendor, and what in it cannot be meant.
 * @throws CliError exit 2, with line, column and rule of each problem
 */
export async function readDialect(text: string, name: string): Promise<DialectFile> {
  const { body, plainOf } = await readDocument(text, name, AS_DIALECT);
  const problems: DocumentProblem[] = [];

  checkShape(body, dialectShape as unknown as JsonSchema, "the file", problems);
  if (problems.length > 0) throw documentRefusal(name, problems, AS_DIALECT);

  const file = plainOf(body) as unknown as DialectFile;
  for (const { path, message } of problemsOf(file))
    problems.push({ ...textPlaceOf(nodeAt(body, path)), message });
  if (problems.length > 0) throw documentRefusal(name, problems, AS_DIALECT);

  return file;
}

/** The deepest node on the way to a place: what is missing is said where it should stand. */
function nodeAt(root: AnyNode, path: Path): AnyNode {
  let node = root;
  for (const step of path) {
    const next: AnyNode | undefined = isObjectNode(node)
      ? documentMembers(node, "", []).find(({ key }) => key === step)?.value
      : node.type === "Array"
        ? node.elements[Number(step)]?.value
        : undefined;
    if (next === undefined) break;
    node = next;
  }
  return node;
}

interface Schema extends JsonSchema {
  readonly type?: string;
  readonly anyOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly propertyNames?: { readonly enum: readonly string[] };
  readonly minProperties?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | false;
  readonly items?: Schema;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly pattern?: string;
  /** Of what has a pattern: that pattern in words. */
  readonly description?: string;
  readonly format?: "date";
}

const IN_WORDS: Readonly<Record<string, string>> = {
  object: "an object",
  array: "a list",
  string: "a text",
  number: "a number",
  integer: "a whole number",
  boolean: "true or false",
};

/** What may stand there, in words. */
const kindOf = ({ anyOf, type = "string" }: Schema): string =>
  anyOf ? [...new Set(anyOf.map(kindOf))].join(", or ") : (IN_WORDS[type] ?? type);

const typeOf = ({ type }: AnyNode): string => type.toLowerCase();

const notOf = (schema: Schema, node: AnyNode): string =>
  `is ${kindOf(schema)}, not ${kindOf({ type: typeOf(node) })}`;

const accepts = (schema: Schema, node: AnyNode): boolean => {
  const type = typeOf(node);
  const { type: wanted = schema.enum ? "string" : type } = schema;
  return type === (wanted === "integer" ? "number" : wanted);
};

/** Holds a node against what may stand there; `what` names it in an error. */
function checkShape(
  node: AnyNode,
  given: JsonSchema,
  what: string,
  problems: DocumentProblem[],
): void {
  const schema = branchOf(given, node);
  const wrong = schema === undefined ? notOf(given, node) : valueProblem(schema, node);
  if (schema === undefined || wrong !== undefined) {
    problems.push({ ...textPlaceOf(node), message: `${what} ${wrong}` });
    return;
  }

  if (node.type === "Array")
    for (const { value } of node.elements)
      checkShape(value, schema.items ?? {}, `each of ${what}`, problems);
  if (!isObjectNode(node) || (schema.properties ?? schema.additionalProperties) === undefined)
    return;

  const { properties = {}, required = [], additionalProperties: others } = schema;
  const known = others === false ? Object.keys(properties) : schema.propertyNames?.enum;
  const members = documentMembers(node, what, problems, known);
  // "constructor" is a name like any other.
  for (const { key, value } of members)
    checkShape(
      value,
      (Object.hasOwn(properties, key) ? properties[key] : undefined) ?? (others || {}),
      `"${echo(key)}"`,
      problems,
    );

  const missing = required.find((key) => !members.some((member) => member.key === key));
  if (missing !== undefined)
    problems.push({ ...textPlaceOf(node), message: `${what} has no "${missing}"` });
}

/** Of several shapes the one that the node may be: of two objects, whose members are there most. */
function branchOf(schema: Schema, node: AnyNode): Schema | undefined {
  if (schema.anyOf === undefined) return schema;
  const fitting = schema.anyOf.filter((each) => accepts(each, node));
  if (fitting.length < 2 || !isObjectNode(node)) return fitting[0];
  const keys = documentMembers(node, "", []).map(({ key }) => key);
  const lacks = ({ required = [] }: Schema): number =>
    required.filter((key) => !keys.includes(key)).length;
  return fitting.sort((a, b) => lacks(a) - lacks(b))[0];
}

function valueProblem(schema: Schema, node: AnyNode): string | undefined {
  const { enum: choices, const: only, pattern, minItems = 0, maxItems = 1_000 } = schema;
  const value = "value" in node ? node.value : undefined;
  if (choices !== undefined && !choices.includes(value)) {
    const near = nearest(String(value), choices.map(String));
    return `is one of ${choices.join(", ")}, not "${echo(value)}"${aside(near)}`;
  }
  if (only !== undefined && value !== only) return `is ${String(only)}, not ${echo(value)}`;
  if (!accepts(schema, node)) return notOf(schema, node);

  const { minimum = 0, maximum = 0 } = schema;
  const isWithin = Number(value) >= minimum && Number(value) <= maximum;
  if (schema.type === "integer" && !(Number.isSafeInteger(value) && isWithin))
    return `is a whole number of ${minimum} to ${maximum}, not ${echo(value)}`;
  if (schema.format === "date" && !isDay(String(value)))
    return `is a day, as 2026-11-28 is, not "${echo(value)}"`;
  if (pattern !== undefined && !new RegExp(pattern).test(String(value)))
    return `is ${schema.description}, not "${echo(value)}"`;
  if (isObjectNode(node) && node.members.length < (schema.minProperties ?? 0))
    return "has nothing in it";
  if (node.type !== "Array") return undefined;
  const { length } = node.elements;
  return length < minItems || length > maxItems
    ? `has ${counted(length, "item")}, and takes ${minItems} to ${maxItems}`
    : undefined;
}

const isDay = (text: string): boolean =>
  new Date(`${text}T00:00:00Z`).toJSON()?.slice(0, 10) === text;

interface Fault {
  readonly path: Path;
  readonly message: string;
}

const PAGING = ["filters", "rows", "page", "offset", "cursor"];
const COMPANY_HOLES = ["domain", "company_network_url", "name", "id"];
/** What parts of a call fill, by the name of the call. */
const HOLES: Readonly<Record<string, readonly string[]>> = {
  search: PAGING,
  count: PAGING,
  read: ["id", "ids"],
  company: COMPANY_HOLES,
  identify: COMPANY_HOLES,
  account: [],
  key: [],
};

/**
 * What no shape can say: names that nothing has, holes that nothing fills, what would be passed
 * over.
 */
function problemsOf(file: DialectFile): Fault[] {
  const faults: Fault[] = [];
  const add = (path: Path, message: string): void => void faults.push({ path, message });

  checkFilters(file, add);
  for (const index of (file.together ?? []).keys())
    checkTogether(file, index, under(add, "together", index));
  if (file.or !== undefined) checkAsked(file.or, ["each"], [["each"]], under(add, "or"));
  checkHeaders(file.headers, under(add, "headers"));
  checkWords(file, add);
  checkMeans(file, add);
  checkCalls(file, add);
  checkRecord(file, file.record, under(add, "record"));
  checkRecord(file, file.calls.company?.record ?? {}, under(add, "calls", "company", "record"));
  return faults;
}

type Add = (path: Path, message: string) => void;

const under =
  (add: Add, ...to: Path): Add =>
  (path, message) =>
    add([...to, ...path], message);

const isRange = (key: string): boolean => (RANGE_KEYS as readonly string[]).includes(key);

function checkFilters(file: DialectFile, add: Add): void {
  const { calls, filters } = file;
  const isSpread = spreadIn(calls.search.body ?? calls.search.query).includes("@filters");
  const fields = new Map<string, string>();
  for (const [key, filter] of Object.entries(filters)) {
    const tell = under(add, "filters", key);
    const { alone, any, as, case: letters, one, words } = filter;
    if (isRange(key) && (as ?? letters ?? words) !== undefined)
      tell([], 'a number has no "words", no "case" and no form');
    const isOpen = file.words?.[words ?? ""]?.open === true;
    if (words !== undefined && (as ?? (isOpen ? undefined : letters)) !== undefined)
      tell([], 'beside "words" nothing heeds "as", nor "case" unless they are "open"');
    checkValued(file, filter, ["value", ...(key.endsWith("_url") ? ["slug"] : [])], tell);

    const places = isSpread ? holesIn(any ?? one).map(({ path }) => path.join(".")) : [];
    for (const field of places) {
      const other = fields.get(field) ?? key;
      fields.set(field, other);
      if (other !== key && (alone === undefined || alone !== filters[other]?.alone))
        tell([], `${other} stands at the same place: they share one field, and need "alone" too`);
    }
  }
}

/** What is spread into the objects of a template. */
const spreadIn = (template: unknown): unknown[] =>
  typeof template !== "object" || template === null
    ? []
    : Object.entries(template).flatMap(([name, inner]) =>
        name === "*" ? [inner] : spreadIn(inner),
      );

function checkTogether(file: DialectFile, index: number, add: Add): void {
  const { together = [], words = {} } = file;
  const [{ of, ...filter } = { of: [], as: "" }, ...others] = together
    .slice(0, index + 1)
    .reverse();
  for (const key of of) if (isRange(key)) add(["of"], `${key} is a number, and no part of a text`);
  checkValued(file, filter, of, add);
  const left = of.filter((key, at) => of.indexOf(key) < at || !holesOf(filter.as).includes(key));
  for (const key of left) add(["as"], `"as" needs {${echo(key)}} once, or it would be passed over`);
  for (const [, table = ""] of filter.as.matchAll(/:([a-z_]+)\}/g))
    if (!Object.hasOwn(words, table)) add(["as"], noList(table));

  const isTwice = others.some((each) => `${[...each.of].sort()}` === `${[...of].sort()}`);
  if (isTwice) add(["of"], "these keys are made one field by an earlier one");
  const lonely = of.map((key) => file.filters[key]?.alone).filter((name) => name !== undefined);
  if (new Set(lonely).size < lonely.length && filter.alone === undefined)
    add(["of"], `${of.join(" and ")} share one field, so together they need "alone" too`);
}

const noList = (name: string): string => `"words" has no list "${echo(name)}"`;

/** @param forms what may stand in `as` */
function checkValued(
  { words = {} }: DialectFile,
  { any, as, one, words: table }: Omit<DialectFile["filters"][string], "parts">,
  forms: readonly string[],
  add: Add,
): void {
  if ((one === undefined) === (any === undefined))
    add([], 'it has "one" or "any", and not both: a list is sent by "any", a value by "one"');
  if (table !== undefined && !Object.hasOwn(words, table)) add(["words"], noList(table));

  if (one !== undefined) checkAsked(one, ["value"], [["value"]], under(add, "one"));
  if (any !== undefined) checkAsked(any, ["values"], [["values"]], under(add, "any"));
  if (as !== undefined) checkAsked(as, forms, [forms], under(add, "as"));
}

/** @param needed of each list one hole, else the same would be sent, whatever is asked for */
function checkAsked(
  template: unknown,
  known: readonly string[],
  needed: readonly (readonly string[])[],
  add: Add,
): void {
  const holes = holesIn(template);
  const there = known.join(", ") || "nothing";
  for (const { name, path } of holes)
    if (!known.includes(name))
      add(
        path,
        `nothing fills "${echo(name)}" here${aside(nearest(name, known))}; there is: ${there}`,
      );

  for (const names of needed)
    if (names.length > 0 && !holes.some(({ name }) => names.includes(name)))
      add(
        [],
        `nothing holds "@${names.join('" or "@')}": the same would be sent, whatever is asked for`,
      );
}

const TOKEN = /^[!#$%&'*+.^`|~\w-]+$/;
const OF_THE_WIRE = /^(?:host|connection|content-.*|transfer-encoding|te|trailer|upgrade|expect)$/i;

/** All that a call sends. */
function checkHeaders(headers: Readonly<Record<string, string>>, add: Add): void {
  const names = Object.keys(headers).map((name) => name.toLowerCase());
  for (const [index, [name, value]] of Object.entries(headers).entries()) {
    if (!TOKEN.test(name) || OF_THE_WIRE.test(name) || !/^[\x20-\x7e]*$/.test(value))
      add([name], `"${echo(name)}: ${echo(value)}" is no header that a file can send`);
    if (names.indexOf(names[index] ?? "") < index) add([name], "it stands there already");
    checkAsked(value, ["key"], [], under(add, name));
  }
  if (!Object.values(headers).some((value) => value.includes("{key}")))
    add([], "no header holds {key}, so nothing would say whose call it is");
}

function checkWords({ calls, filters, record, together = [], words = {} }: DialectFile, add: Add) {
  const from = [...Object.values(record), ...Object.values(calls.company?.record ?? {})];
  const named = [...Object.values(filters), ...together, ...from].flatMap((each) =>
    typeof each === "string" ? [] : [each.words, "as" in each ? each.as : undefined],
  );
  for (const [name, table] of Object.entries(words)) {
    if (!named.some((each) => each === name || each?.includes(`:${name}}`)))
      add(["words", name], "no filter and no record names this list");
    const own = Object.keys(table).map((word) => word.toLowerCase());
    for (const [index, word] of Object.keys(table).entries())
      if (own.indexOf(own[index] ?? "") < index)
        add(["words", name, word], "it is the word before it in other letters");
  }
}

function checkMeans({ means }: DialectFile, add: Add): void {
  for (const [index, { status, text, at, ...rest }] of means.entries()) {
    const path = ["means", index];
    if ((status ?? text ?? at) === undefined)
      add(path, 'it fits every reply: it needs "status", "text" or "at"');
    if ((at === undefined) !== (rest.equals === undefined))
      add(path, '"at" and "equals" are there together, or neither is');

    const all = (given: typeof status): readonly number[] => [given ?? []].flat();
    const earlier = means.slice(0, index).find((each) => {
      const isSame = each.text === text && each.at === at && each.equals === rest.equals;
      const isAny = each.text === undefined && each.at === undefined;
      return (isSame || isAny) && all(status).every((one) => all(each.status).includes(one));
    });
    if (earlier !== undefined && status !== undefined)
      add(path, `no reply comes to it: an earlier one says "${earlier.is}" of all that it fits`);
  }
}

/** Of each list one hole has to be in a call: else it would be the same whatever is asked for. */
function neededIn(name: string, { most = 1, pages }: VendorCall): readonly (readonly string[])[] {
  if (name === "count") return [["filters"]];
  if (name !== "search") return [most > 1 ? ["ids"] : (HOLES[name] ?? [])];
  const [least, largest] = pages?.size ?? [];
  return [["filters"], [pages?.by ?? "filters"], [least === largest ? "filters" : "rows"]];
}

function checkCalls(file: DialectFile, add: Add): void {
  const { calls } = file;
  for (const [name, call] of Object.entries(calls))
    if (call !== undefined && !("use" in call)) {
      const tell = under(add, "calls", name);
      checkRequest(file, name, call, tell);
      checkReply(call, tell);
    }

  const { read, search } = calls;
  const isOfIds = search.gives === "ids";
  if (isOfIds && read === undefined)
    add(["calls", "search"], 'a search that gives ids needs a call "read" that gives people');
  if (!isOfIds && read !== undefined)
    add(["calls", "read"], 'people are read by ids of a search that "gives": "ids", and none does');
  const { credits, least = "0", none = "0" } = search.price;
  if (isOfIds && [credits, least, none].some((amount) => Number(amount) > 0))
    add(["calls", "search", "price"], "ids are found for nothing: only what is read is booked");
  if (!isOfIds && search.reply.id !== undefined)
    add(["calls", "search", "reply", "id"], 'only a search that "gives" ids has them there');
  if (read !== undefined && (read.reply.rows === undefined) === (read.reply.row === undefined))
    add(["calls", "read", "reply"], 'people stand at "rows", or one of them at "row"');
  if ((read?.most ?? 1) > 1 && read?.reply.rows === undefined)
    add(["calls", "read", "reply"], 'several in one call stand at "rows"');
  if (read?.each !== undefined)
    checkAsked(read.each, ["id"], [["id"]], under(add, "calls", "read", "each"));
  checkCounting(file, add);
}

function checkRequest(file: DialectFile, name: string, call: VendorCall, add: Add): void {
  const { method, path: address, query = {}, body, headers } = call;
  const template = { path: address, query, body };
  checkAsked(template, HOLES[name] ?? [], neededIn(name, call), add);
  if (headers !== undefined) checkHeaders({ ...file.headers, ...headers }, under(add, "headers"));
  if (method === "GET" && body !== undefined) add(["body"], "a GET has no body");
  if (spreadIn(template).some((spread) => typeof spread === "string" && spread !== "@filters"))
    add([], 'only "@filters" is spread by "*"');
}

function checkReply({ pages, price, reply = {} }: VendorCall, add: Add): void {
  if (price !== undefined && (price.per === "started") !== (price.rows !== undefined))
    add(["price"], '"started" and "rows", how many it begins, are there together');
  for (const [index, [member, place]] of Object.entries(reply).entries()) {
    if (Object.values(reply).indexOf(place) < index)
      add(["reply", member], "another stands there already");
  }
  if (pages === undefined) return;

  const { by, end = [], one_size, size } = pages;
  const [least = 1, most = 1] = size;
  if (least > most) add(["pages", "size"], "the least comes first, then the most");
  if ((by === "cursor") !== (reply.next !== undefined))
    add(["pages"], 'pages by cursor need "next" in "reply", and no others have it');
  if (by !== "cursor" && (one_size || end.includes("no next")))
    add(["pages"], '"one_size" and "no next" are said of cursors');
}

function checkCounting(file: DialectFile, add: Add): void {
  const counting = countingOf(file);
  if (counting?.call !== file.calls.search) return;
  const { pages, reply } = counting.call;
  const [least = 1, most = 1] = pages?.size ?? [];
  if (reply?.total === undefined)
    add(["calls", "search", "reply"], '"reply" does not say where "total" stands, which counts');
  if (counting.rows < least || counting.rows > most)
    add(["calls", "count", "rows"], `a page of a search has ${least} to ${most} rows`);
}

function checkRecord({ words = {} }: DialectFile, record: DialectFile["record"], add: Add): void {
  for (const [field, from] of Object.entries(record)) {
    if (typeof from === "string") continue;
    if (from.words !== undefined && !Object.hasOwn(words, from.words))
      add([field], noList(from.words));
    if (NUMBER_FIELDS.has(field)) add([field], "a number has no words, and is not joined");
  }
}
