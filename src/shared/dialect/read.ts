// Tested by test/unit/shared/dialect/read.test.ts.
import type { AnyNode } from "@humanwhocodes/momoa";
import { COMPANY_FIELDS, PERSON_FIELDS } from "../contract/records.ts";
import { aside, nearest } from "../contract/suggest.ts";
import { counted, echo } from "../contract/text.ts";
import { FILTER_KEYS } from "../contract/vocabulary.ts";
import {
  type DocumentProblem,
  documentMembers,
  documentRefusal,
  isObjectNode,
  readDocument,
  textPlaceOf,
} from "../document.ts";
import type { JsonSchema } from "../schema/build.ts";
import { holesOf, isPlace } from "./holes.ts";
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
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | false;
  readonly items?: Schema;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly pattern?: string;
}

const TYPES: Readonly<Record<string, string>> = {
  Object: "object",
  Array: "array",
  String: "string",
  Number: "number",
  Boolean: "boolean",
  Null: "null",
};

const accepts = (schema: Schema, node: AnyNode): boolean => {
  const type = TYPES[node.type];
  const wanted =
    schema.type ?? (schema.const === undefined && !schema.enum ? type : typeof schema.const);
  if (schema.enum !== undefined) return type === "string";
  return wanted === type || (wanted === "integer" && type === "number");
};

/** Holds a node against what may stand there; `what` names it in an error. */
function checkShape(
  node: AnyNode,
  given: JsonSchema,
  what: string,
  problems: DocumentProblem[],
): void {
  const schema = branchOf(given, node);
  const wrong = schema === undefined ? "may not be this" : valueProblem(schema, node);
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
  const known = schema.properties === undefined ? undefined : Object.keys(properties);
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

/** Of several shapes the one that the node may be: of two objects, whose members are there. */
function branchOf(schema: Schema, node: AnyNode): Schema | undefined {
  if (schema.anyOf === undefined) return schema;
  const fitting = schema.anyOf.filter((each) => accepts(each, node));
  if (fitting.length < 2 || !isObjectNode(node)) return fitting[0];
  const keys = documentMembers(node, "", []).map(({ key }) => key);
  return fitting.find(({ required = [] }) => required.every((key) => keys.includes(key)));
}

function valueProblem(schema: Schema, node: AnyNode): string | undefined {
  const { enum: choices, const: only, pattern, minItems = 0, maxItems = 1_000 } = schema;
  const value = "value" in node ? node.value : undefined;
  if (choices !== undefined && !choices.includes(value)) {
    const near = nearest(String(value), choices.map(String));
    return `is one of ${choices.join(", ")}, not "${echo(value)}"${aside(near)}`;
  }
  if (only !== undefined && value !== only) return `is ${String(only)}, not ${echo(value)}`;
  if (!accepts(schema, node)) return `is ${schema.type}, not ${TYPES[node.type] ?? "that"}`;

  const { minimum = -Infinity, maximum = Infinity } = schema;
  const bounds = schema.minimum === undefined ? "" : ` of ${minimum} to ${maximum}`;
  const isWithin = Number(value) >= minimum && Number(value) <= maximum;
  if (schema.type === "integer" && !(Number.isSafeInteger(value) && isWithin))
    return `is a whole number${bounds}, not ${echo(value)}`;
  if (pattern !== undefined && !new RegExp(pattern).test(String(value)))
    return `is not "${echo(value)}": it is as ${pattern} says`;
  if (node.type !== "Array") return undefined;
  const { length } = node.elements;
  return length < minItems || length > maxItems
    ? `has ${counted(length, "item")}, and takes ${minItems} to ${maxItems}`
    : undefined;
}

interface Fault {
  readonly path: Path;
  readonly message: string;
}

const PAGING = ["filters", "rows", "page", "offset", "cursor", "exclude"];
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

/** What no shape can say: names that nothing has, holes that nothing fills, missing prices. */
function problemsOf(file: DialectFile): Fault[] {
  const faults: Fault[] = [];
  const add = (path: Path, message: string): void => void faults.push({ path, message });

  if (!Object.values(file.headers).some((value) => value.includes("{key}")))
    add(["headers"], "no header holds {key}, so nothing would say whose call it is");
  for (const [key, filter] of Object.entries(file.filters)) checkFilter(file, key, filter, add);
  for (const [index, { of, ...filter }] of (file.together ?? []).entries()) {
    const path = ["together", index];
    for (const key of of) if (!isFilterKey(key)) add([...path, "of"], unknownFilter(key));
    checkValued(file, filter, path, [...of, "value", "values", "each"], add);
    const left = of.filter((key, at) => of.indexOf(key) < at || !holesOf(filter.as).includes(key));
    for (const key of left)
      add([...path, "as"], `"as" needs {${echo(key)}} once, or it would be passed over`);
    const lonely = of.map((key) => file.filters[key]?.alone).filter((name) => name !== undefined);
    if (new Set(lonely).size < lonely.length && filter.alone === undefined)
      add(
        [...path, "of"],
        `${of.join(" and ")} share one field, so together they need "alone" too`,
      );
  }

  if (file.or !== undefined && !holesOf(file.or).includes("each")) add(["or"], nothingAsks("each"));
  checkHeaders(file.headers, ["headers"], add);
  checkWords(file, add);
  checkMeans(file, add);
  checkCalls(file, add);
  const { company } = file.calls;
  const path = ["calls", "company", "record"];
  checkRecord(file, { record: file.record, fields: PERSON_FIELDS, path: ["record"] }, add);
  if (company?.record !== undefined)
    checkRecord(file, { record: company.record, fields: COMPANY_FIELDS, path }, add);
  return faults;
}

type Add = (path: Path, message: string) => void;

const isFilterKey = (key: string): boolean => (FILTER_KEYS as readonly string[]).includes(key);
const unknownFilter = (key: string): string =>
  `the contract has no filter "${echo(key)}"${aside(nearest(key, FILTER_KEYS), '"')}`;

function checkFilter(
  file: DialectFile,
  key: string,
  filter: DialectFile["filters"][string],
  add: Add,
): void {
  const path = ["filters", key];
  if (!isFilterKey(key)) add(path, unknownFilter(key));
  checkValued(file, filter, path, ["value", "values", "each", "slug"], add);
}

function checkValued(
  { words = {} }: DialectFile,
  filter: Omit<DialectFile["filters"][string], "parts">,
  path: Path,
  holes: readonly string[],
  add: Add,
): void {
  if (filter.one === undefined && filter.any === undefined)
    add(path, 'it has neither "one" nor "any": nothing would be sent for it');
  if (filter.words !== undefined && !Object.hasOwn(words, filter.words))
    add([...path, "words"], `"words" has no list "${echo(filter.words)}"`);

  for (const part of ["one", "any", "as"] as const)
    checkHoles(filter[part], holes, [...path, part], add);
  for (const [part, hole] of [
    ["one", "value"],
    ["any", "values"],
  ] as const)
    if (filter[part] !== undefined && !holesOf(filter[part]).includes(hole))
      add([...path, part], nothingAsks(hole));
  if (filter.as !== undefined && holesOf(filter.as).length === 0)
    add([...path, "as"], nothingAsks("value"));
}

/** What is sent would be the same, whoever is asked for. */
const nothingAsks = (hole: string): string =>
  `nothing holds "@${hole}": the same would be sent, whatever is asked for`;

const TOKEN = /^[!#$%&'*+.^`|~\w-]+$/;
const OF_THE_WIRE = /^(?:host|connection|content-.*|transfer-encoding|te|trailer|upgrade|expect)$/i;

function checkHeaders(headers: Readonly<Record<string, string>>, path: Path, add: Add): void {
  for (const [name, value] of Object.entries(headers))
    if (!TOKEN.test(name) || OF_THE_WIRE.test(name) || !/^[\x20-\x7e]*$/.test(value))
      add([...path, name], `"${echo(name)}: ${echo(value)}" is no header that a file can send`);
}

function checkWords({ words = {} }: DialectFile, add: Add): void {
  for (const [name, table] of Object.entries(words))
    for (const [word, theirs] of Object.entries(table))
      if ((typeof theirs === "boolean") !== (word === "open"))
        add(["words", name, word], `"open" is true or false, and every other word a text or null`);
}

function checkMeans({ means }: DialectFile, add: Add): void {
  for (const [index, { status, text, at, ...rest }] of means.entries()) {
    const path = ["means", index];
    if ((status ?? text ?? at) === undefined)
      add(path, 'it fits every reply: it needs "status", "text" or "at"');
    if ((at === undefined) !== (rest.equals === undefined))
      add(path, '"at" and "equals" are there together, or neither is');
    if (at !== undefined && !isPlace(at)) add([...path, "at"], `"${echo(at)}" names no place`);
  }
}

function checkHoles(template: unknown, known: readonly string[], path: Path, add: Add): void {
  const hole = holesOf(template).find((name) => !known.includes(name));
  if (hole !== undefined)
    add(path, `nothing fills "${echo(hole)}" here; there is: ${known.join(", ") || "nothing"}`);
}

/** Of each list one hole has to be in a call: else it would be the same whatever is asked for. */
function neededIn(name: string, { most = 1, pages }: VendorCall): readonly (readonly string[])[] {
  if (name === "count") return [["filters"]];
  if (name !== "search") return [most > 1 ? ["ids"] : (HOLES[name] ?? [])];
  const [least, largest] = pages?.size ?? [];
  return [["filters"], [pages?.by ?? "filters"], [least === largest ? "filters" : "rows"]];
}

const PLACES: Readonly<Record<string, keyof NonNullable<VendorCall["reply"]>>> = {
  search: "rows",
  count: "total",
  account: "balance",
};

function checkCalls(file: DialectFile, add: Add): void {
  const { calls } = file;
  for (const [name, call] of Object.entries(calls)) {
    const path = ["calls", name];
    if (call === undefined || "use" in call) continue;
    const { method, path: address, query, body, price, pages, reply = {}, headers = {} } = call;
    const holes = holesOf([address, query, body]);
    checkHoles([address, query, body], HOLES[name] ?? [], path, add);
    checkHeaders(headers, [...path, "headers"], add);
    for (const some of neededIn(name, call))
      if (some.length > 0 && !some.some((hole) => holes.includes(hole)))
        add(path, nothingAsks(some.join('" or "@')));

    const place = PLACES[name];
    if (place !== undefined && reply[place] === undefined)
      add([...path, "reply"], `"reply" does not say where "${place}" stands`);
    if (method === "GET" && body !== undefined) add([...path, "body"], "a GET has no body");
    const { per = "row", rows } = price ?? {};
    const isBought = name === "search" || name === "read";
    if (isBought && (per === "call" || (per === "match" && name === "search")))
      add([...path, "price", "per"], "people cost by row, request or started");
    if ((per === "started") !== (rows !== undefined))
      add([...path, "price"], '"started" and "rows", how many it begins, are there together');
    const [least = 1, most = 1] = pages?.size ?? [];
    if (least > most) add([...path, "pages", "size"], "the least comes first, then the most");

    const isFree = name === "account" || name === "key" || name === "identify";
    if (price === undefined && !isFree) add(path, `"${name}" has no "price": nothing is guessed`);
    if (pages?.by === "cursor" && reply.next === undefined)
      add([...path, "pages"], 'pages by cursor need "next" in "reply"');
    if (name === "search" && pages === undefined) add(path, '"search" has no "pages"');
    for (const [member, place] of Object.entries(reply))
      if (!isPlace(place)) add([...path, "reply", member], `"${echo(place)}" names no place`);
  }

  if (calls.search.gives === "ids" && calls.read === undefined)
    add(["calls", "search"], 'a search that gives ids needs a call "read" that gives people');
  if (calls.search.gives !== "ids" && calls.read !== undefined)
    add(["calls", "read"], 'people are read by ids of a search that "gives": "ids", and none does');
  checkCounting(file, add);
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

interface Mapped {
  readonly record: DialectFile["record"];
  readonly fields: readonly string[];
  readonly path: Path;
}

function checkRecord(
  { words = {} }: DialectFile,
  { record, fields, path }: Mapped,
  add: Add,
): void {
  for (const [field, from] of Object.entries(record)) {
    if (!fields.includes(field))
      add([...path, field], `no row has "${echo(field)}"${aside(nearest(field, fields), '"')}`);
    const { at, words: list } = typeof from === "string" ? { at: from, words: undefined } : from;
    if (!isPlace(at) || at.includes("header:"))
      add([...path, field], `"${echo(at)}" names no place in a row`);
    if (list !== undefined && !Object.hasOwn(words, list))
      add([...path, field], `"words" has no list "${echo(list)}"`);
  }
  if (record.id === undefined) add(path, 'the record has no "id": nobody could be told apart');
}
