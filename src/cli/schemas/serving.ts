import * as s from "../../shared/schema/build.ts";
import { suppression } from "./keeping.ts";

const mode = s.one("live", "test");
const priced = s.one(
  "account",
  "person_count",
  "person_search",
  "company_enrich",
  "company_employees",
);

const copied = {
  made_at: s.time,
  head: s.said(s.maybeText, "the end of the ledger's chain"),
  dataset: s.said(s.maybeText, "its version"),
  files: s.wholeNumberShape,
  bytes: s.wholeNumberShape,
};

const key = s.object({
  ...s.each(s.text, "id", "name", "prefix"),
  mode,
  state: s.one("active", "expired", "revoked"),
  scopes: s.texts,
  spent: s.creditsShape,
  max_credits: s.maybeCredits,
  left: s.said(s.maybeNumber, "of the cap"),
  ...s.each(s.maybeTime, "last_used_at", "expires_at", "revoked_at"),
  created_at: s.time,
  rotated_from: s.maybeText,
});

const balance = {
  account: s.text,
  mode,
  ...s.each(s.creditsShape, "balance", "held", "used_today"),
};
const adjusted = s.object({
  ...balance,
  repeated: s.said(s.flag, "whether the reference was used before, and nothing done"),
});
const plan = s.object({
  account: s.text,
  name: s.text,
  per_minute: s.wholeNumberShape,
  per_day: s.wholeNumberShape,
  small_counts: s.said(s.maybeWhole, "counts of fewer people are bounded; null: none are"),
  keep_days: s.said(s.wholeNumberShape, "for so long the rows of a purchase on the page are kept"),
  costs: s.object(
    s.each(
      s.creditsShape,
      "account",
      "person_count",
      "person_search",
      "company_enrich",
      "company_employees",
    ),
  ),
});

const entry = s.object({
  id: s.wholeNumberShape,
  at: s.time,
  kind: s.one("grant", "charge", "refund", "correction"),
  credits: s.creditsShape,
  balance_after: s.creditsShape,
  actor: s.text,
  call: s.maybe(priced),
  price: s.maybeCredits,
  ...s.each(s.maybeWhole, "rows", "refund_of"),
  ...s.each(s.maybeText, "key", "request_id", "reference", "note"),
});

const inputFile = s.object({
  file: s.text,
  format: s.text,
  rows: s.wholeNumberShape,
  encoding: s.optionalText,
  delimiter: s.optionalText,
  skipped_lines: s.optionalWhole,
  repaired: s.optionalWhole,
  proposed: s.optionalProperty(
    s.said(s.map(s.text), "columns of other names that a map may take: our field, the column"),
  ),
});
const rejected = s.object({
  file: s.text,
  reason: s.text,
  column: s.said(s.maybeText, "the column of the file that is to blame; null: the row as a whole"),
  value: s.said(s.maybeText, "what is in it, at most 200 characters"),
  detail: s.text,
  line: s.optionalWhole,
  row_number: s.optionalProperty(s.said(s.wholeNumberShape, "of Parquet")),
});
const table = {
  ...s.each(s.wholeNumberShape, "files", "rows", "taken", "refused"),
  reasons: s.map(s.wholeNumberShape),
  examples: s.said(s.list(rejected), "the first refused rows; all are in the reject file"),
  read: s.list(inputFile),
};

const imported = s.object({
  version: s.text,
  people: s.object(table),
  companies: s.object({ ...table, derived: s.wholeNumberShape }),
  departments: s.object({
    unknown: s.wholeNumberShape,
    missing: s.wholeNumberShape,
    examples: s.list(s.object({ value: s.text, people: s.wholeNumberShape })),
  }),
  cleared: s.said(
    s.map(
      s.object({
        values: s.wholeNumberShape,
        examples: s.list(s.object({ value: s.text, rows: s.wholeNumberShape })),
      }),
    ),
    "unusable values that were left out, by table and field",
  ),
  suppressed: s.said(
    s.maybeWhole,
    "people who were taken and left out by `service suppress`; null: a dry run",
  ),
  rejects: s.said(s.maybeText, "the file of refused rows"),
  seconds: s.number,
});

const version = {
  version: s.text,
  people: s.wholeNumberShape,
  companies: s.wholeNumberShape,
  created_at: s.time,
  source: s.text,
};
const forgotten = s.object({
  records: s.wholeNumberShape,
  test_records: s.wholeNumberShape,
  replies: s.said(s.wholeNumberShape, "stored replies"),
  exports: s.wholeNumberShape,
  filters: s.said(
    s.list(s.object({ account: s.text, id: s.text })),
    "exports of the console whose filters name the person",
  ),
});

const session = s.object({
  ...s.each(s.text, "id", "account", "role"),
  ...s.each(s.time, "made", "seen", "expires"),
});
const account = s.object({
  id: s.text,
  name: s.text,
  state: s.one("active", "suspended"),
  plan: s.text,
  ...s.each(s.creditsShape, "balance", "held", "test_balance"),
  keys: s.wholeNumberShape,
  created_at: s.time,
  suspended_at: s.maybeTime,
});
const state = s.object({ id: s.text, state: s.one("active", "suspended") });
const breaches = s.said(s.maybeTexts, "what was found wrong; null where there is none to look at");

export const SERVING = {
  "service suppress add": suppression.added,
  "service suppress check": suppression.checked,
  "service suppress import": suppression.added,
  "service suppress list": suppression.listed,
  "service suppress remove": suppression.removed,
  serve: s.said(
    s.object({ url: s.text, key: s.optionalText, console: s.optionalText }),
    "one line once it answers; `key` only where one was just made",
  ),
  "service accounts create": s.object({ id: s.text, name: s.text }),
  "service accounts list": s.list(account),
  "service accounts resume": state,
  "service accounts suspend": state,
  "service audit": s.list(
    s.object({
      id: s.wholeNumberShape,
      at: s.time,
      actor: s.text,
      action: s.text,
      account: s.maybeText,
      target: s.maybeText,
      detail: s.members,
    }),
  ),
  "service credits add": adjusted,
  "service credits refund": adjusted,
  "service credits remove": adjusted,
  "service credits show": s.object(balance),
  "service entries": s.list(entry),
  "service dataset list": s.list(
    s.object({
      ...version,
      serves: s.said(s.flag, "whether it is the one that is served"),
      bytes: s.wholeNumberShape,
    }),
  ),
  "service dataset rollback": s.object({
    ...version,
    before: s.said(s.maybeText, "the version that was served before"),
  }),
  "service forget": s.some(
    s.object({ forgot: forgotten }),
    s.titled("--dry-run", s.object({ would_forget: forgotten })),
  ),
  "service generate": s.object({
    version: s.text,
    ...s.each(s.wholeNumberShape, "people", "companies", "seed"),
    seconds: s.number,
  }),
  "service import": imported,
  "service keys create": s.object({ id: s.text, key: s.said(s.text, "shown this once") }),
  "service keys list": s.list(key),
  "service keys revoke": s.object({ id: s.text, revoked: s.always(true) }),
  "service keys rotate": s.object({
    ...s.each(s.text, "id", "key", "rotated_from"),
    old_expires_at: s.time,
  }),
  "service keys set": s.list(key),
  "service link": s.object({ link: s.text, account: s.text, role: s.one("owner", "viewer") }),
  "service plan set": plan,
  "service plan show": plan,
  "service sessions": s.list(session),
  "service sessions end": s.object({ id: s.text, ended: s.always(true) }),
  "service usage": s.list(
    s.object({
      calls: s.wholeNumberShape,
      rows: s.wholeNumberShape,
      charged: s.creditsShape,
      refunded: s.creditsShape,
      day: s.optionalText,
      key: s.optionalText,
      name: s.optionalProperty(s.said(s.maybeText, "of the key")),
      call: s.optionalProperty(priced),
    }),
  ),
  "service backup": s.object({ backup: s.said(s.text, "the folder that was made"), ...copied }),
  "service restore": s.object({ data: s.said(s.text, "the folder that was made"), ...copied }),
  "service verify": s.object({
    sound: s.flag,
    ledger: breaches,
    dataset: breaches,
    against: s.said(
      s.maybeTexts,
      "what the ledger has no more as the backup has it; null where none was named",
    ),
    notes: s.texts,
    head: s.said(s.maybeText, "the end of the ledger's chain"),
  }),
};
