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
import { type DialectFile, dialectShape } from "./shape.ts";

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
  if (schema.type === "integer" && !Number.isSafeInteger(value)) return "is a whole number";
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
  employees: [...PAGING, ...COMPANY_HOLES],
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
    const lonely = of.map((key) => file.filters[key]?.alone).filter((name) => name !== undefined);
    if (new Set(lonely).size < lonely.length && filter.alone === undefined)
      add(
        [...path, "of"],
        `${of.join(" and ")} share one field, so together they need "alone" too`,
      );
  }

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
}

function checkHoles(template: unknown, known: readonly string[], path: Path, add: Add): void {
  const hole = holesOf(template).find((name) => !known.includes(name));
  if (hole !== undefined)
    add(path, `nothing fills "${echo(hole)}" here; there is: ${known.join(", ") || "nothing"}`);
}

function checkCalls({ calls }: DialectFile, add: Add): void {
  for (const [name, call] of Object.entries(calls)) {
    const path = ["calls", name];
    if (call === undefined || "use" in call) continue;
    const { path: address, query, body, price, pages, reply = {} } = call;
    checkHoles([address, query, body], HOLES[name] ?? [], path, add);

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
    if (!isPlace(at)) add([...path, field], `"${echo(at)}" names no place`);
    if (list !== undefined && !Object.hasOwn(words, list))
      add([...path, field], `"words" has no list "${echo(list)}"`);
  }
  if (record.id === undefined) add(path, 'the record has no "id": nobody could be told apart');
}
