import {
  always,
  creditsShape,
  digest,
  each,
  flag,
  integer,
  list,
  maybe,
  number,
  object,
  one,
  optionalProperty,
  said,
  some,
  text,
  time,
  wholeNumberShape,
} from "./build.ts";
import { segments } from "./rows.ts";

export const writtenShape = object({
  file: said(text, "an absolute path, or the address of a table"),
  format: text,
  bytes: said(maybe(wholeNumberShape), "null of a table"),
  sha256: said(maybe(digest), "null of a table"),
  added: said(maybe(wholeNumberShape), "of a table: rows that are new in it"),
});

export const sample = object({
  seed: wholeNumberShape,
  rows: wholeNumberShape,
  together: said(wholeNumberShape, "the most rows that are drawn together"),
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
  new_only: maybe(object({ new: wholeNumberShape, whole: maybe(flag) })),
  count: said(maybe(wholeNumberShape), "rows that matched when it was quoted; of new people the parts to buy"),
  wanted: wholeNumberShape,
  bound: said(one("matches", "limit", "cap", "companies", "sample", "agreed"), "what decided how many rows came"),
  ...each(wholeNumberShape, "received", "distinct", "duplicates"),
  suppressed: said(wholeNumberShape, "of the distinct rows, those left out of the output"),
  withheld: said(wholeNumberShape, "rows that the service leaves out since it was counted"),
  reused: said(wholeNumberShape, "rows that earlier runs paid for"),
  paid_again: said(maybe(wholeNumberShape), "rows of people who were owned before; null where nobody looked"),
  misses: said(wholeNumberShape, "companies that the service does not know"),
  unit_cost: creditsShape,
  credits: creditsShape,
  uncertain_credits: said(number, "credits that replies may have cost that were lost, failed or said otherwise"),
  foreign_credits: said(number, "credits that left the balance meanwhile and that no answer tells of"),
  balance: maybe(creditsShape),
  complete: said(flag, "whether everything that matched was received; of a sample, all of it"),
  shortfall: said(maybe(text), "why it fell short of what was wanted"),
  dataset_version: maybe(text),
  started: time,
  finished: time,
  output: maybe(writtenShape),
  forgotten: optionalProperty(said(wholeNumberShape, "rows of people whom you forgot since: paid for, and not kept")),
});

export const rateLimited = said(maybe(number), "what the rate limit alone makes it take; null where no limit is known");

export const quoteShape = object({
  target: text,
  matches: maybe(wholeNumberShape),
  rows: wholeNumberShape,
  kept: said(wholeNumberShape, "rows that are paid for already"),
  bound: one("matches", "limit", "cap", "companies", "sample"),
  unit_cost: creditsShape,
  credits: said(number, "credits, at most"),
  balance: maybe(creditsShape),
  balance_after: maybe(creditsShape),
  cap_left: said(maybe(creditsShape), "of the cap of the key; null: it has none, or the service does not tell"),
  requests: wholeNumberShape,
  page_rows: said(maybe(wholeNumberShape), "the largest page; null: nobody told it, and requests are the fewest"),
  rate_limited_seconds: rateLimited,
  max_depth: maybe(wholeNumberShape),
  overlap: wholeNumberShape,
  sample: maybe(sample),
  owned: said(maybe(wholeNumberShape), "how many of them you own"),
  owned_exact: maybe(flag),
  owned_calls: maybe(wholeNumberShape),
  paid_again: said(maybe(wholeNumberShape), "how many of the rows to buy you own, at most"),
  look_ups: said(
    maybe(object({ companies: wholeNumberShape, credits: creditsShape })),
    "companies to look up, a request each, within credits and requests: their people are counted after it",
  ),
  new_only: maybe(
    object({
      new: integer,
      credits: creditsShape,
      max_credits: creditsShape,
      calls: wholeNumberShape,
      calls_per_credit: number,
    }),
  ),
  reuse: said(maybe(object({ run: text, rows: wholeNumberShape })), "a finished run with the same rows"),
});

const file = object({ file: text, rows: wholeNumberShape, sha256: digest });

export const refreshed = object({
  list: said(text, "the file that is followed"),
  filters: segments,
  checked_at: time,
  dataset_version: maybe(text),
  ...each(wholeNumberShape, "count", "added", "removed", "changed", "suppressed"),
  forgotten: said(wholeNumberShape, "people whom you forgot who are in the segment: not bought, and not in count"),
  changes: list(object({ person: text, fields: list(text) })),
  not_checked: said(wholeNumberShape, "values that counts could not verify"),
  verified: said(list(text), "fields that free counts looked at; none: changes were not looked for"),
  runs: list(text),
  bought: wholeNumberShape,
  bought_again: said(wholeNumberShape, "in its runs, who were owned before: nothing told them from new ones for less"),
  bought_suppressed: said(wholeNumberShape, "of these, who is suppressed or forgotten: paid for, and in no file"),
  credits: creditsShape,
  rebuy_credits: said(number, "credits to buy all of it again"),
  free_calls: wholeNumberShape,
  certificate: object({ count: wholeNumberShape, owned: wholeNumberShape, equal: always(true) }),
  files: object({ list: file, added: file, removed: file, changed: file }),
});

/** How a job went: a line of its log, what `notify` gets, and what `jobs status` reads (docs/jobs.md, "Log"). */
export const outcome = object({
  job: text,
  command: text,
  status: one("done", "failed"),
  exit_code: wholeNumberShape,
  started: time,
  finished: time,
  rows: maybe(wholeNumberShape),
  rows_before: maybe(wholeNumberShape),
  changed: maybe(flag),
  credits: creditsShape,
  output: maybe(text),
  run: maybe(text),
  error: maybe(object({ code: text, message: text, hint: maybe(text), resumable: flag, next: maybe(text) })),
  receipt: maybe(some(receipt, refreshed)),
});
