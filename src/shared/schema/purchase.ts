import {
  always,
  credits,
  digest,
  flag,
  integer,
  list,
  maybe,
  number,
  object,
  one,
  said,
  some,
  text,
  time,
  whole,
} from "./build.ts";
import { segments } from "./rows.ts";

export const written = object({
  file: said(text, "an absolute path, or the address of a table"),
  format: text,
  bytes: said(maybe(whole), "null of a table"),
  sha256: said(maybe(digest), "null of a table"),
  added: said(maybe(whole), "of a table: rows that are new in it"),
});

export const sample = object({
  seed: whole,
  rows: whole,
  together: said(whole, "the most rows that are drawn together"),
});

export const receipt = object({
  run: text,
  command: one("search", "employees", "enrich"),
  connection: text,
  service: text,
  account_id: maybe(text),
  key_mode: maybe(one("live", "test")),
  filters: maybe(segments),
  companies: maybe(list(text)),
  sample: maybe(sample),
  new_only: maybe(object({ new: whole, again: whole, whole: maybe(flag) })),
  count: said(maybe(whole), "rows that matched when it was quoted"),
  wanted: whole,
  bound: one("matches", "limit", "cap", "companies", "sample"),
  received: whole,
  distinct: whole,
  duplicates: whole,
  suppressed: said(whole, "of the distinct rows, those left out of the output"),
  withheld: said(whole, "rows that the service leaves out since it was counted"),
  reused: said(whole, "rows that earlier runs paid for"),
  misses: said(whole, "companies that the service does not know: free"),
  unit_cost: credits,
  credits,
  uncertain_credits: said(number, "credits that may have been charged for replies that were lost"),
  foreign_credits: said(number, "credits that others spent of the balance meanwhile"),
  balance: maybe(credits),
  complete: said(flag, "whether everything that matched was received; of a sample, all of it"),
  shortfall: said(maybe(text), "why it fell short of what was wanted"),
  dataset_version: maybe(text),
  started: time,
  finished: time,
  output: maybe(written),
});

export const quote = object({
  target: text,
  matches: maybe(whole),
  rows: whole,
  kept: said(whole, "rows that are paid for already"),
  bound: one("matches", "limit", "cap", "companies", "sample"),
  unit_cost: credits,
  credits: said(number, "credits, at most"),
  balance: maybe(credits),
  balance_after: maybe(credits),
  requests: whole,
  rate_limited_seconds: number,
  max_depth: maybe(whole),
  overlap: whole,
  sample: maybe(sample),
  owned: said(maybe(whole), "how many of them you own"),
  owned_exact: maybe(flag),
  owned_calls: maybe(whole),
  new_only: maybe(object({ new: integer, credits, max_credits: credits, calls: whole, calls_per_credit: number })),
  reuse: said(maybe(object({ run: text, rows: whole })), "a finished run with the same rows"),
});

export const skipped = object({ skipped: always(true), output: object({ file: text, modified_at: time }) });

const file = object({ file: text, rows: whole, sha256: digest });

export const refreshed = object({
  list: said(text, "the file that is followed"),
  filters: segments,
  checked_at: time,
  dataset_version: maybe(text),
  count: whole,
  added: whole,
  removed: whole,
  changed: whole,
  suppressed: whole,
  forgotten: said(whole, "people whom you forgot who are in the segment: not bought, and not in count"),
  changes: list(object({ person: text, fields: list(text) })),
  not_checked: said(whole, "values that counts could not verify"),
  verified: said(list(text), "fields that free counts looked at; none: changes were not looked for"),
  runs: list(text),
  bought: whole,
  bought_suppressed: said(whole, "of these, people who are suppressed or forgotten: paid for, and in no file"),
  credits,
  rebuy_credits: said(number, "credits to buy all of it again"),
  free_calls: whole,
  certificate: object({ count: whole, owned: whole, equal: always(true) }),
  files: object({ list: file, added: file, removed: file, changed: file }),
});

/** How one export went: a line of `--log`, what `--notify` gets, and what `jobs status` reads (docs/jobs.md, "Log"). */
export const outcome = object({
  job: maybe(text),
  command: text,
  status: one("done", "skipped", "failed"),
  exit_code: whole,
  started: time,
  finished: time,
  rows: maybe(whole),
  rows_before: maybe(whole),
  changed: maybe(flag),
  credits,
  output: maybe(text),
  run: maybe(text),
  error: maybe(object({ code: text, message: text, hint: maybe(text) })),
  receipt: maybe(some(receipt, refreshed, quote, skipped)),
});
