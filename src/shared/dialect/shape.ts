// Tested by test/unit/shared/dialect/read.test.ts.
import {
  always,
  anything,
  flag,
  integer,
  list,
  map,
  more,
  nothing,
  type Of,
  object,
  one,
  optionalProperty as optional,
  some,
  text,
} from "../schema/build.ts";

/** What a file of a vendor may say: docs/reference/dialects.md. Every member of it is there. */

const several = some(text, list(text, { minItems: 1 }));
const say = object({ say: several, wider: optional(flag) });
const tables = map(map(some(text, list(text, { minItems: 1 }), nothing, flag, say)));
const expressions = map(anything);

const valued = {
  one: optional(expressions),
  any: optional(expressions),
  case: optional(one("lower", "upper", "title")),
  words: optional(text),
  wider: optional(flag),
  alone: optional(text),
};
const filter = object({ ...valued, as: optional(text), parts: optional(flag) });
const together = object({ ...valued, of: list(text, { minItems: 2 }), as: text });

const atLeastOne = more(integer, { minimum: 1, maximum: 1_000_000 });
const day = more(text, { pattern: "^\\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])$" });
const amount = more(text, { pattern: "^\\d{1,9}(\\.\\d{1,6})?$" });
const price = object({
  per: one("row", "request", "started", "match", "call"),
  credits: amount,
  rows: optional(atLeastOne),
  none: optional(amount),
  least: optional(amount),
  again: optional(more(text, { pattern: "^(paid|free|free for \\d+ days)$" })),
  read: optional(day),
});

const reply = object({
  rows: optional(text),
  row: optional(text),
  id: optional(text),
  total: optional(text),
  next: optional(text),
  charged: optional(text),
  balance: optional(text),
});
const pages = object({
  by: one("page", "offset", "cursor"),
  first: optional(more(integer, { minimum: 0, maximum: 1 })),
  size: list(atLeastOne, { minItems: 2, maxItems: 2 }),
  one_size: optional(flag),
  depth: optional(atLeastOne),
  end: optional(list(one("short", "none", "no next"))),
});

const record = map(some(text, object({ at: text, words: optional(text), join: optional(text) })));
const request = {
  method: one("GET", "POST"),
  path: more(text, { pattern: "^/(?![/\\\\])[^?#]*$" }),
  headers: optional(map(text)),
  query: optional(map(anything)),
  body: optional(anything),
};
const call = object({
  ...request,
  gives: optional(one("ids")),
  most: optional(atLeastOne),
  each: optional(expressions),
  reply: optional(reply),
  pages: optional(pages),
  price: optional(price),
  record: optional(record),
});
const counting = object({
  use: one("search"),
  rows: atLeastOne,
  keep: optional(flag),
});

const status = more(integer, { minimum: 100, maximum: 599 });
const meaning = object({
  status: optional(some(status, list(status, { minItems: 1 }))),
  text: optional(text),
  at: optional(text),
  equals: optional(anything),
  is: one("ok", "none", "gone", "refused", "key", "credits", "limit", "busy", "unsure"),
});

export const dialectShape = object({
  dialect: always(1),
  name: more(text, { pattern: "^[a-z0-9][a-z0-9_-]{0,63}$" }),
  vendor: optional(text),
  from: optional(list(object({ url: text, read: day }))),
  called: optional(some(flag, day)),
  base: text,
  practice: optional(text),
  headers: map(text),
  words: optional(tables),
  or: optional(anything),
  filters: map(filter),
  together: optional(list(together)),
  calls: object({
    search: call,
    count: optional(some(counting, call)),
    read: optional(call),
    company: optional(call),
    identify: optional(call),
    account: optional(call),
    key: optional(call),
  }),
  means: list(meaning),
  limits: optional(object({ per_minute: optional(atLeastOne) })),
  record,
  ids: optional(object({ lasting: optional(flag) })),
});

/** How a vendor is asked, what it charges and what its rows mean. */
export type DialectFile = Of<typeof dialectShape>;
export type DialectFilter = DialectFile["filters"][string];
export type VendorCall = NonNullable<DialectFile["calls"]["read"]>;
export type Meaning = DialectFile["means"][number]["is"];
export type Words = NonNullable<DialectFile["words"]>[string];

/** The call that counts, where it is not the search itself. */
export const countingOf = ({ calls: { count, search } }: DialectFile) =>
  count === undefined
    ? undefined
    : "use" in count
      ? { call: search, rows: count.rows }
      : { call: count, rows: 1 };

/** The call that people are paid for by. */
export const paidCall = ({ calls: { read, search } }: DialectFile): VendorCall => read ?? search;
