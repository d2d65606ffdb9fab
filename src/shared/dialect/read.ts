// Tested by test/unit/shared/dialect/read.test.ts.
import type { AnyNode } from "@humanwhocodes/momoa";
import { NUMBER_FIELDS } from "../contract/records.ts";
import { aside, nearest } from "../contract/suggest.ts";
import { counted, echo, isDay } from "../contract/text.ts";
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
  hint:
    "docs/reference/dialects.md has every member; " +
    "headcount connections dialects lists files that are right",
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
  for (const [isBroken, path, message] of rulesOf(file))
    if (isBroken) problems.push({ ...textPlaceOf(nodeAt(body, path)), message });
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

/** What is wrong if it is so, and where. */
type Rule = readonly [isBroken: boolean, path: Path, message: string];

const within = (at: Path, rules: readonly Rule[]): Rule[] =>
  rules.map(([isBroken, path, message]) => [isBroken, [...at, ...path], message]);

const PAGING = ["filters", "rows", "page", "offset", "cursor"];
/** What parts of a call fill, by the name of the call. */
const HOLES: Readonly<Record<string, readonly string[]>> = {
  search: PAGING,
  count: PAGING,
  read: ["id", "ids"],
  company: ["domain", "company_network_url", "name", "id"],
  account: [],
  key: [],
};

/**
 * What no shape can say: names that nothing has, holes that nothing fills, what would be passed
 * over.
 */
function rulesOf(file: DialectFile): Rule[] {
  const { calls, filters, headers, means, or, record, together = [] } = file;
  const company = calls.company?.record ?? {};

  return [
    ...Object.keys(filters).flatMap((key) => within(["filters", key], ofFilter(file, key))),
    ...together.flatMap((_, index) => within(["together", index], ofTogether(file, index))),
    ...within(["or"], or === undefined ? [] : asks(or, ["each"], [["each"]])),
    ...within(["headers"], ofHeaders(headers)),
    ...within(["words"], ofWords(file)),
    ...means.flatMap((_, index) => within(["means", index], ofMeaning(means, index))),
    ...within(["calls"], ofCalls(file)),
    ...within(["record"], ofRecord(file, record)),
    ...within(["calls", "company", "record"], ofRecord(file, company)),
  ];
}

const isRange = (key: string): boolean => (RANGE_KEYS as readonly string[]).includes(key);

/** Whether it stands in a list before, in whatever letters. */
const isRepeated = (list: readonly unknown[], index: number): boolean => {
  const written = list.map((each) => String(each).toLowerCase());
  return written.indexOf(written[index] ?? "") < index;
};

function ofFilter(file: DialectFile, key: string): Rule[] {
  const { calls, filters, words: lists = {} } = file;
  const filter = filters[key] ?? {};
  const { alone, any, as, case: letters, one, words } = filter;
  const isOpen = lists[words ?? ""]?.open === true;
  const placesOf = ({ any, one }: typeof filter): string[] =>
    holesIn(any ?? one).map(({ path }) => path.join("."));

  // Where each is put in a list there is no such place.
  const isSpread = spreadIn(calls.search.body ?? calls.search.query).includes("@filters");
  const places = isSpread ? placesOf(filter) : [];
  const others = Object.entries(filters).slice(0, Object.keys(filters).indexOf(key));
  const [other, its] =
    others.find(([, each]) => placesOf(each).some((place) => places.includes(place))) ?? [];
  const isShared = its !== undefined && (alone === undefined || alone !== its.alone);

  return [
    [
      isRange(key) && (as ?? letters ?? words) !== undefined,
      [],
      'a number has no "words", no "case" and no form',
    ],
    [
      words !== undefined && (as ?? (isOpen ? undefined : letters)) !== undefined,
      [],
      'beside "words" nothing heeds "as", nor "case" unless they are "open"',
    ],
    [
      isInQuery(file) && Object.values(any ?? one ?? {}).some(hasObject),
      [],
      'it is spread into a "query", which takes texts, and would say [object Object]',
    ],
    [isShared, [], `${other} stands at the same place: they share one field, and need "alone" too`],
    ...ofValued(file, filter, ["value", ...(key.endsWith("_url") ? ["slug"] : [])]),
  ];
}

/** What a query cannot take: a list of texts is one parameter for each. */
const hasObject = (value: unknown): boolean =>
  [value].flat().some((each) => typeof each === "object" && each !== null);

const holds = (value: unknown, hole: string): boolean => [value].flat().includes(hole);

const isInQuery = ({ calls }: DialectFile): boolean =>
  Object.values(calls).some((call) => "query" in call && spreadIn(call.query).length > 0);

/** What is spread into the objects of a template. */
const spreadIn = (template: unknown): unknown[] =>
  typeof template !== "object" || template === null
    ? []
    : Object.entries(template).flatMap(([name, inner]) =>
        name === "*" ? [inner] : spreadIn(inner),
      );

function ofTogether(file: DialectFile, index: number): Rule[] {
  const { together = [], words = {} } = file;
  const { of, ...filter } = together[index] ?? { of: [], as: "" };
  const made = together.map((each) => [...each.of].sort());
  const lonely = of.flatMap((key) => file.filters[key]?.alone ?? []);
  const isLost = (key: string, at: number): boolean =>
    of.indexOf(key) < at || !holesOf(filter.as).includes(key);

  return [
    ...of.flatMap((key, at): Rule[] => [
      [isRange(key), ["of"], `${key} is a number, and no part of a text`],
      [isLost(key, at), ["as"], `"as" needs {${echo(key)}} once, or it would be passed over`],
    ]),
    ...[...filter.as.matchAll(/:([a-z_]+)\}/g)].map(([, table]) => noList(words, table, ["as"])),
    [isRepeated(made, index), ["of"], "these keys are made one field by an earlier one"],
    [
      new Set(lonely).size < lonely.length && filter.alone === undefined,
      ["of"],
      `${of.join(" and ")} share one field, so together they need "alone" too`,
    ],
    ...ofValued(file, filter, of),
  ];
}

const noList = (lists: object, name: string | undefined, path: Path): Rule => [
  name !== undefined && !Object.hasOwn(lists, name),
  path,
  `"words" has no list "${echo(name ?? "")}"`,
];

/** @param forms what may stand in `as` */
function ofValued(
  { words = {} }: DialectFile,
  { any, as, one, words: table }: DialectFile["filters"][string],
  forms: readonly string[],
): Rule[] {
  const ofPart = (name: string, template: unknown, holes: readonly string[]): Rule[] =>
    template === undefined ? [] : within([name], asks(template, holes, [holes]));

  return [
    [
      (one === undefined) === (any === undefined),
      [],
      'it has "one" or "any", and not both: a list is sent by "any", a value by "one"',
    ],
    noList(words, table, ["words"]),
    ...ofPart("one", one, ["value"]),
    ...ofPart("any", any, ["values"]),
    ...ofPart("as", as, forms),
  ];
}

/** @param needed of each list one hole, else the same would be sent, whatever is asked for */
function asks(
  template: unknown,
  known: readonly string[],
  needed: readonly (readonly string[])[],
): Rule[] {
  const holes = holesIn(template);
  const there = known.join(", ") || "nothing";

  return [
    ...holes.map(
      ({ name, path }): Rule => [
        !known.includes(name),
        path,
        `nothing fills "${echo(name)}" here${aside(nearest(name, known))}; there is: ${there}`,
      ],
    ),
    ...needed.map(
      (names): Rule => [
        names.length > 0 && !holes.some(({ name }) => names.includes(name)),
        [],
        `nothing holds "@${names.join('" or "@')}": the same would be sent, whatever is asked for`,
      ],
    ),
  ];
}

const TOKEN = /^[!#$%&'*+.^`|~\w-]+$/;
const OF_THE_WIRE = /^(?:host|connection|content-.*|transfer-encoding|te|trailer|upgrade|expect)$/i;

/** All that a call sends. */
function ofHeaders(headers: Readonly<Record<string, string>>): Rule[] {
  const all = Object.entries(headers);
  const isSent = ([name, value]: readonly string[]): boolean =>
    TOKEN.test(name ?? "") && !OF_THE_WIRE.test(name ?? "") && /^[\x20-\x7e]*$/.test(value ?? "");

  return [
    ...all.flatMap(([name, value], index): Rule[] => [
      [
        !isSent([name, value]),
        [name],
        `"${echo(name)}: ${echo(value)}" is no header that a file can send`,
      ],
      [isRepeated(Object.keys(headers), index), [name], "it stands there already"],
      ...within([name], asks(value, ["key"], [])),
    ]),
    [
      !all.some(([, value]) => value.includes("{key}")),
      [],
      "no header holds {key}, so nothing would say whose call it is",
    ],
  ];
}

function ofWords({ calls, filters, record, together = [], words = {} }: DialectFile): Rule[] {
  const from = [...Object.values(record), ...Object.values(calls.company?.record ?? {})];
  const named = [...Object.values(filters), ...together, ...from].flatMap((each) =>
    typeof each === "string" ? [] : [each.words, "as" in each ? each.as : undefined],
  );

  return Object.entries(words).flatMap(([name, table]): Rule[] => [
    [
      !named.some((each) => each === name || each?.includes(`:${name}}`)),
      [name],
      "no filter and no record names this list",
    ],
    ...Object.keys(table).map(
      (word, index, all): Rule => [
        isRepeated(all, index),
        [name, word],
        "it is the word before it in other letters",
      ],
    ),
  ]);
}

function ofMeaning(means: DialectFile["means"], index: number): Rule[] {
  const { status, text, at, equals } = means[index] ?? { is: "ok" };
  const all = (given: typeof status): readonly number[] => [given ?? []].flat();
  const earlier = means.slice(0, index).find((each) => {
    const isSame = each.text === text && each.at === at && each.equals === equals;
    const isAny = each.text === undefined && each.at === undefined;
    return (isSame || isAny) && all(status).every((one) => all(each.status).includes(one));
  });

  return [
    [
      (status ?? text ?? at) === undefined,
      [],
      'it fits every reply: it needs "status", "text" or "at"',
    ],
    [
      (at === undefined) !== (equals === undefined),
      [],
      '"at" and "equals" are there together, or neither is',
    ],
    [
      earlier !== undefined && status !== undefined,
      [],
      `no reply comes to it: an earlier one says "${earlier?.is}" of all that it fits`,
    ],
  ];
}

/** Of each list one hole has to be in a call: else it would be the same whatever is asked for. */
function neededIn(name: string, { most = 1, pages }: VendorCall): readonly (readonly string[])[] {
  if (name === "count") return [["filters"]];
  if (name !== "search") return [most > 1 ? ["ids"] : (HOLES[name] ?? [])];
  const [least, largest] = pages?.size ?? [];
  return [["filters"], [pages?.by ?? "filters"], [least === largest ? "filters" : "rows"]];
}

function ofCalls(file: DialectFile): Rule[] {
  const { read, search, ...others } = file.calls;
  const { credits, none = "0" } = search.price;
  const isOfIds = search.gives === "ids";
  const { most = 1, reply: { row, rows } = { row: "" } } = read ?? {};

  return [
    ...Object.entries({ read, search, ...others }).flatMap(([name, call]) =>
      call === undefined || "use" in call ? [] : within([name], ofCall(file, name, call)),
    ),
    [
      isOfIds && read === undefined,
      ["search"],
      'a search that gives ids needs a call "read" that gives people',
    ],
    [
      !isOfIds && read !== undefined,
      ["read"],
      'people are read by ids of a search that "gives": "ids", and none does',
    ],
    [
      isOfIds && [credits, none].some((amount) => Number(amount) > 0),
      ["search", "price"],
      "ids are found for nothing: only what is read is booked",
    ],
    [
      !isOfIds && search.reply.id !== undefined,
      ["search", "reply", "id"],
      'only a search that "gives" ids has them there',
    ],
    [
      (rows === undefined) === (row === undefined),
      ["read", "reply"],
      'people stand at "rows", or one of them at "row"',
    ],
    [most > 1 && rows === undefined, ["read", "reply"], 'several in one call stand at "rows"'],
    ...within(["read", "each"], read?.each === undefined ? [] : asks(read.each, ["id"], [["id"]])),
    ...ofCounting(file),
  ];
}

function ofCall(file: DialectFile, name: string, call: VendorCall): Rule[] {
  const { method, path: address, query = {}, body, headers, pages, price, reply = {} } = call;
  const template = { path: address, query, body };
  const { by, end = [], one_size, size: [least = 1, most = 1] = [] } = pages ?? {};
  const isByCursor = by === "cursor";

  return [
    ...asks(template, HOLES[name] ?? [], neededIn(name, call)),
    ...within(["headers"], headers === undefined ? [] : ofHeaders({ ...file.headers, ...headers })),
    [method === "GET" && body !== undefined, ["body"], "a GET has no body"],
    [
      Object.entries(query).some(([member, value]) => member !== "*" && holds(value, "@filters")),
      ["query"],
      'a query takes texts, and filters are spread into it: "*": "@filters"',
    ],
    [
      spreadIn(template).some((spread) => typeof spread === "string" && spread !== "@filters"),
      [],
      'only "@filters" is spread by "*"',
    ],
    [
      (price?.per === "started") !== (price?.rows !== undefined),
      ["price"],
      '"started" and "rows", how many it begins, are there together',
    ],
    ...Object.entries(reply).map(
      ([member, place], index): Rule => [
        Object.values(reply).slice(0, index).includes(place),
        ["reply", member],
        "another stands there already",
      ],
    ),
    [least > most, ["pages", "size"], "the least comes first, then the most"],
    [
      pages !== undefined && isByCursor !== (reply.next !== undefined),
      ["pages"],
      'pages by cursor need "next" in "reply", and no others have it',
    ],
    [
      reply.more !== undefined && end.length > 0,
      ["pages", "end"],
      '"more" of "reply" says where the end is, and nothing heeds "end" beside it',
    ],
    [
      !isByCursor && (one_size || end.includes("no next")),
      ["pages"],
      '"one_size" and "no next" are said of cursors',
    ],
  ];
}

function ofCounting(file: DialectFile): Rule[] {
  const counting = countingOf(file);
  if (counting?.call !== file.calls.search) return [];
  const { pages, reply } = counting.call;
  const [least = 1, most = 1] = pages?.size ?? [];

  return [
    [
      reply?.total === undefined,
      ["search", "reply"],
      '"reply" does not say where "total" stands, which counts',
    ],
    [
      counting.rows < least || counting.rows > most,
      ["count", "rows"],
      `a page of a search has ${least} to ${most} rows`,
    ],
  ];
}

const ofRecord = ({ words = {} }: DialectFile, record: DialectFile["record"]): Rule[] =>
  Object.entries(record).flatMap(([field, from]): Rule[] =>
    typeof from === "string"
      ? []
      : [
          noList(words, from.words, [field]),
          [NUMBER_FIELDS.has(field), [field], "a number has no words, and is not joined"],
        ],
  );
