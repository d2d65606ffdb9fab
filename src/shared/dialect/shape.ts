// Tested by test/unit/shared/dialect/read.test.ts.
import { COMPANY_FIELDS, PERSON_FIELDS } from "../contract/records.ts";
import { FILTER_KEYS } from "../contract/vocabulary.ts";
import {
  always,
  anything,
  DIALECT,
  flag,
  integer,
  type JsonSchema,
  list,
  map,
  more,
  nothing,
  number,
  type Of,
  object,
  one,
  optionalProperty as optional,
  raw,
  type Schema,
  some,
  text,
} from "../schema/build.ts";

/** What a file of a vendor may say: docs/reference/dialects.md. Every member of it is there. */

const word = more(text, { pattern: "[\\s\\S]", description: "a text that is not empty" });
const several = some(word, list(word, { minItems: 1 }));
// `a.b[0].c`, `list[current=true].x`, `a|b`, `header:name`, "" for the reply itself.
const STEP = "(?:[^.|[\\]]+|(?=\\[))(?:\\[(?:\\d+|[^.|[\\]=]+=[^.|[\\]]*)\\])*";
const MEMBER = `(?!header:)${STEP}(?:\\.${STEP})*`;
const placeIn = (what: string, ...ways: readonly string[]) => {
  const way = `(?:${[MEMBER, ...ways].join("|")})`;
  return more(text, { pattern: `^${way}(?:\\|${way})*$`, description: `a place in ${what}` });
};
const place = placeIn("a reply", "header:[A-Za-z0-9-]+", "");
const bodyPlace = placeIn("the body of a reply", "");
const rowPlace = placeIn("a row");
const say = object({ say: several, wider: optional(flag) });
const theirs = some(word, list(word, { minItems: 1 }), nothing, say);
const tables = map(
  raw<Readonly<Record<string, Of<typeof theirs> | boolean>>>({
    type: "object",
    properties: { open: flag },
    additionalProperties: theirs,
    minProperties: 1,
  }),
);
const expressions = map(anything);
/** An object that has members of these names alone. */
const named = <Value extends Schema>(names: readonly string[], values: Value, must: JsonSchema) =>
  more(map(values), { propertyNames: { enum: names }, ...must });

const valued = {
  one: optional(expressions),
  any: optional(expressions),
  case: optional(one("lower", "upper", "title")),
  words: optional(text),
  wider: optional(flag),
  alone: optional(text),
};
const filter = object({ ...valued, as: optional(text) });
const together = object({
  ...valued,
  of: list(raw<string>({ enum: FILTER_KEYS }), { minItems: 2 }),
  as: text,
});

const atLeastOne = more(integer, { minimum: 1, maximum: 1_000_000 });
const day = more(text, { format: "date" });
const amount = more(text, {
  pattern: "^(0|[1-9]\\d{0,8})(\\.\\d{1,6})?$",
  description: 'a text of digits, at most six of them behind a point, as "0.03" is',
});
const pricedBy = <Ways extends string[]>(...ways: readonly [...Ways]) =>
  object({
    per: one(...ways),
    credits: amount,
    rows: optional(atLeastOne),
    none: optional(amount),
    read: optional(day),
  });

const told = { charged: optional(place), balance: optional(place) };
const pages = object({
  by: one("page", "offset", "cursor"),
  first: optional(more(integer, { minimum: 0, maximum: 1 })),
  size: list(atLeastOne, { minItems: 2, maxItems: 2 }),
  one_size: optional(flag),
  depth: optional(atLeastOne),
  end: optional(list(one("short", "none", "no next"), { minItems: 1 })),
});

const recordOf = (fields: readonly string[]) =>
  named(
    fields,
    some(rowPlace, object({ at: rowPlace, words: optional(text), join: optional(text) })),
    { required: ["id"] },
  );
const record = recordOf(PERSON_FIELDS);
const request = {
  method: one("GET", "POST"),
  path: more(text, {
    pattern: '^(?!.*/\\.\\.?(/|$))/(?![/\\\\])[!-"$->@-~]*$',
    description: 'a path that begins with one "/" and has no "?": "query" has what follows it',
  }),
  headers: optional(map(text)),
  query: optional(map(some(text, number, flag, list(anything)))),
  body: optional(anything),
};
const listed = {
  id: optional(place),
  total: optional(place),
  next: optional(place),
  more: optional(place),
};
const search = object({
  ...request,
  gives: optional(one("ids")),
  reply: object({ rows: bodyPlace, ...listed, ...told }),
  pages,
  price: pricedBy("row", "request", "started"),
});
const count = object({
  ...request,
  reply: object({ total: place, ...told }),
  price: pricedBy("call", "request"),
});
const people = { rows: optional(bodyPlace), row: optional(bodyPlace) };
const read = object({
  ...request,
  most: optional(atLeastOne),
  each: optional(expressions),
  reply: object({ ...people, ...told }),
  price: pricedBy("row", "request", "started"),
});
const company = object({
  ...request,
  reply: object({ row: bodyPlace, ...told }),
  price: pricedBy("row", "call", "request"),
  record: recordOf(COMPANY_FIELDS),
});
/** What any of the calls may say: none says all of it. */
const call = object({
  ...request,
  gives: optional(one("ids")),
  most: optional(atLeastOne),
  each: optional(expressions),
  reply: optional(object({ ...people, ...listed, ...told })),
  pages: optional(pages),
  price: optional(pricedBy("row", "request", "started", "call")),
  record: optional(record),
});
const counting = object({
  use: one("search"),
  rows: atLeastOne,
});

const status = more(integer, { minimum: 100, maximum: 599 });
const meaning = object({
  status: optional(some(status, list(status, { minItems: 1 }))),
  text: optional(word),
  at: optional(place),
  equals: optional(some(text, number, flag)),
  is: one("ok", "none", "gone", "refused", "key", "credits", "limit", "busy", "unsure"),
});

const page = more(text, { pattern: "^https?://\\S+$", description: "an address of a page" });
const address = more(text, {
  description: "an https:// address without ? and @; http:// is for this machine",
  pattern: "^(https://|http://(127\\.0\\.0\\.1|localhost|\\[::1\\])(:|/|$))[^\\s?#@]*$",
});

export const dialectShape = object({
  $schema: optional(text),
  dialect: always(1),
  name: more(text, {
    pattern: "^[a-z0-9][a-z0-9_-]{0,63}$",
    description: 'small letters, digits, "-" and "_", 64 at most',
  }),
  vendor: optional(
    more(text, {
      pattern: "^[^\\u0000-\\u001f\\u007f-\\u009f]{1,100}$",
      description: "one line of 100 characters at most",
    }),
  ),
  from: optional(list(object({ url: page, read: day }))),
  called: optional(some(always(false), day)),
  base: address,
  headers: map(text),
  words: optional(tables),
  or: optional(anything),
  filters: named(FILTER_KEYS, filter, { minProperties: 1 }),
  together: optional(list(together)),
  calls: object({
    search,
    count: optional(some(counting, count)),
    read: optional(read),
    company: optional(company),
    account: optional(object({ ...request, reply: object({ balance: place }) })),
    key: optional(object(request)),
  }),
  means: list(meaning),
  limits: optional(
    more(object({ per_minute: optional(atLeastOne), per_second: optional(atLeastOne) }), {
      minProperties: 1,
    }),
  ),
  shared: optional(flag),
  record,
  ids: optional(object({ lasting: optional(flag), numbers: optional(flag) })),
});

/** For an editor, which completes and checks by it. */
export const dialectSchema = (): JsonSchema => ({
  $schema: DIALECT,
  title: "headcount dialect",
  description: "How a vendor is asked, what it charges and what its rows mean.",
  ...dialectShape,
});

/** How a vendor is asked, what it charges and what its rows mean. */
export type DialectFile = Of<typeof dialectShape>;
export type DialectFilter = DialectFile["filters"][string];
export type VendorCall = Of<typeof call>;
export type Meaning = DialectFile["means"][number]["is"];
export type Words = NonNullable<DialectFile["words"]>[string];

/** A vendor's spellings of one of our words; none: it has no such word. */
export const spellingsOf = (theirs: Words[string] = null): readonly string[] =>
  typeof theirs === "boolean" || theirs === null
    ? []
    : [typeof theirs === "object" && "say" in theirs ? theirs.say : theirs].flat();

/** The call that counts, where it is not the search itself. */
export const countingOf = ({
  calls: { count, search },
}: DialectFile): { readonly call: VendorCall; readonly rows: number } | undefined =>
  count === undefined
    ? undefined
    : "use" in count
      ? { call: search, rows: count.rows }
      : { call: count, rows: 1 };

/** The call that people are paid for by. */
export const paidCall = ({ calls: { read, search } }: DialectFile): VendorCall => read ?? search;
