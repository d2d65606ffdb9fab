import {
  always,
  anything,
  creditsShape,
  each,
  flag,
  list,
  map,
  maybe,
  number,
  object,
  one,
  optionalProperty,
  said,
  some,
  text,
  time,
  titled,
  wholeNumberShape,
} from "../../shared/schema/build.ts";
import { suppression } from "./keeping.ts";

const mode = one("live", "test");
const priced = one("account", "person_count", "person_search", "company_enrich", "company_employees");

const copied = {
  made_at: time,
  head: said(maybe(text), "the end of the ledger's chain"),
  dataset: said(maybe(text), "its version"),
  files: wholeNumberShape,
  bytes: wholeNumberShape,
};

const key = object({
  ...each(text, "id", "name", "prefix"),
  mode,
  state: one("active", "expired", "revoked"),
  scopes: list(text),
  spent: creditsShape,
  max_credits: maybe(creditsShape),
  left: said(maybe(number), "of the cap"),
  ...each(maybe(time), "last_used_at", "expires_at", "revoked_at"),
  created_at: time,
  rotated_from: maybe(text),
});

const balance = { account: text, mode, balance: creditsShape, held: creditsShape, used_today: creditsShape };
const adjusted = object({
  ...balance,
  repeated: said(flag, "whether the reference was used before, and nothing done"),
});
const plan = object({
  account: text,
  name: text,
  per_minute: wholeNumberShape,
  per_day: wholeNumberShape,
  small_counts: said(maybe(wholeNumberShape), "counts of fewer people are bounded; null: none are"),
  costs: object(each(creditsShape, "account", "person_count", "person_search", "company_enrich", "company_employees")),
});

const entry = object({
  id: wholeNumberShape,
  at: time,
  kind: one("grant", "charge", "refund", "correction"),
  credits: creditsShape,
  balance_after: creditsShape,
  actor: text,
  call: maybe(priced),
  price: maybe(creditsShape),
  ...each(maybe(wholeNumberShape), "rows", "refund_of"),
  ...each(maybe(text), "key", "request_id", "reference", "note"),
});

const inputFile = object({
  file: text,
  format: text,
  rows: wholeNumberShape,
  encoding: optionalProperty(text),
  delimiter: optionalProperty(text),
  skipped_lines: optionalProperty(wholeNumberShape),
  repaired: optionalProperty(wholeNumberShape),
  proposed: optionalProperty(said(map(text), "columns of other names that a map may take: our field, the column")),
});
const rejected = object({
  file: text,
  reason: text,
  column: said(maybe(text), "the column of the file that is to blame; null: the row as a whole"),
  value: said(maybe(text), "what is in it, at most 200 characters"),
  detail: text,
  line: optionalProperty(wholeNumberShape),
  row_number: optionalProperty(said(wholeNumberShape, "of Parquet")),
});
const table = {
  ...each(wholeNumberShape, "files", "rows", "taken", "refused"),
  reasons: map(wholeNumberShape),
  examples: said(list(rejected), "the first refused rows; all are in the reject file"),
  read: list(inputFile),
};

const imported = object({
  version: text,
  people: object(table),
  companies: object({ ...table, derived: wholeNumberShape }),
  departments: object({
    unknown: wholeNumberShape,
    missing: wholeNumberShape,
    examples: list(object({ value: text, people: wholeNumberShape })),
  }),
  cleared: said(
    map(object({ values: wholeNumberShape, examples: list(object({ value: text, rows: wholeNumberShape })) })),
    "unusable values that were left out, by table and field",
  ),
  rejects: said(maybe(text), "the file of refused rows"),
  seconds: number,
});

const version = {
  version: text,
  people: wholeNumberShape,
  companies: wholeNumberShape,
  created_at: time,
  source: text,
};
const forgotten = object({
  records: wholeNumberShape,
  test_records: wholeNumberShape,
  replies: said(wholeNumberShape, "stored replies"),
  exports: wholeNumberShape,
  filters: said(list(object({ account: text, id: text })), "exports of the console whose filters name the person"),
});

const session = object({ id: text, account: text, role: text, made: time, seen: time, expires: time });
const account = object({
  id: text,
  name: text,
  state: one("active", "suspended"),
  plan: text,
  ...each(creditsShape, "balance", "held", "test_balance"),
  keys: wholeNumberShape,
  created_at: time,
  suspended_at: maybe(time),
});
const state = object({ id: text, state: one("active", "suspended") });
const breaches = said(maybe(list(text)), "what was found wrong; null where there is none to look at");

export const SERVING = {
  "service suppress add": suppression.added,
  "service suppress check": suppression.checked,
  "service suppress import": suppression.added,
  "service suppress list": suppression.listed,
  "service suppress remove": suppression.removed,
  serve: said(
    object({ url: text, key: optionalProperty(text), console: optionalProperty(text) }),
    "one line once it answers; `key` only where one was just made",
  ),
  "service accounts create": object({ id: text, name: text }),
  "service accounts list": list(account),
  "service accounts resume": state,
  "service accounts suspend": state,
  "service audit": list(
    object({
      id: wholeNumberShape,
      at: time,
      actor: text,
      action: text,
      account: maybe(text),
      target: maybe(text),
      detail: map(anything),
    }),
  ),
  "service credits add": adjusted,
  "service credits refund": adjusted,
  "service credits remove": adjusted,
  "service credits show": object(balance),
  "service entries": list(entry),
  "service dataset list": list(
    object({ ...version, serves: said(flag, "whether it is the one that is served"), bytes: wholeNumberShape }),
  ),
  "service dataset rollback": object({ ...version, before: said(maybe(text), "the version that was served before") }),
  "service forget": some(object({ forgot: forgotten }), titled("--dry-run", object({ would_forget: forgotten }))),
  "service generate": object({
    version: text,
    ...each(wholeNumberShape, "people", "companies", "seed"),
    seconds: number,
  }),
  "service import": imported,
  "service keys create": object({ id: text, key: said(text, "shown this once") }),
  "service keys list": list(key),
  "service keys revoke": object({ id: text, revoked: always(true) }),
  "service keys rotate": object({ id: text, key: text, rotated_from: text, old_expires_at: time }),
  "service keys set": list(key),
  "service link": object({ link: text, account: text, role: one("owner", "viewer") }),
  "service plan set": plan,
  "service plan show": plan,
  "service sessions": list(session),
  "service sessions end": object({ id: text, ended: always(true) }),
  "service usage": list(
    object({
      calls: wholeNumberShape,
      rows: wholeNumberShape,
      charged: creditsShape,
      refunded: creditsShape,
      day: optionalProperty(text),
      key: optionalProperty(text),
      call: optionalProperty(priced),
    }),
  ),
  "service backup": object({ backup: said(text, "the folder that was made"), ...copied }),
  "service restore": object({ data: said(text, "the folder that was made"), ...copied }),
  "service verify": object({
    sound: flag,
    ledger: breaches,
    dataset: breaches,
    against: said(maybe(list(text)), "what the ledger has no more as the backup has it; null where none was named"),
    notes: list(text),
    head: said(maybe(text), "the end of the ledger's chain"),
  }),
};
