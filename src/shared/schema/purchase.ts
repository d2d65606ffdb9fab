import * as s from "./build.ts";
import { segments } from "./rows.ts";

export const writtenShape = s.object({
  file: s.said(s.text, "an absolute path, or the address of a table"),
  format: s.text,
  bytes: s.said(s.maybeWhole, "null of a table"),
  sha256: s.said(s.maybe(s.digest), "null of a table"),
  added: s.said(s.maybeWhole, "of a table: rows that are new in it"),
});

export const sample = s.object({
  seed: s.wholeNumberShape,
  rows: s.wholeNumberShape,
  together: s.said(s.wholeNumberShape, "the most rows that are drawn together"),
});

const unitRows = s.said(s.wholeNumberShape, "how many rows `unit_cost` pays for");

const elsewhere = s.said(
  s.list(s.object({ service: s.text, people: s.wholeNumberShape })),
  "others whom you own from another service, by the profile addresses in its records: at most",
);

export const receipt = s.object({
  run: s.text,
  command: s.one("search", "employees", "enrich"),
  connection: s.text,
  service: s.text,
  account_id: s.maybeText,
  key_mode: s.maybe(s.one("live", "test")),
  filters: s.maybe(segments),
  companies: s.maybeTexts,
  sample: s.maybe(sample),
  new_only: s.maybe(s.object({ new: s.wholeNumberShape, whole: s.maybeFlag })),
  count: s.said(
    s.maybeWhole,
    "rows that matched when it was quoted; of new people the parts to buy",
  ),
  wanted: s.wholeNumberShape,
  bound: s.said(
    s.one("matches", "limit", "cap", "companies", "sample", "agreed"),
    "what decided how many rows came",
  ),
  ...s.each(s.wholeNumberShape, "received", "distinct", "duplicates"),
  suppressed: s.said(s.wholeNumberShape, "of the distinct rows, those left out of the output"),
  withheld: s.said(s.wholeNumberShape, "rows that the service leaves out since it was counted"),
  unread: s.said(s.wholeNumberShape, "rows that were paid for and are no JSON: left out, and kept"),
  reused: s.said(s.wholeNumberShape, "rows that earlier runs paid for"),
  paid_again: s.said(
    s.maybeWhole,
    "rows of people who were owned before; null where nobody looked",
  ),
  owned_elsewhere: elsewhere,
  misses: s.said(s.wholeNumberShape, "companies that the service does not know"),
  unit_cost: s.creditsShape,
  unit_rows: unitRows,
  credits: s.creditsShape,
  uncertain_credits: s.said(
    s.number,
    "credits that replies may have cost that were lost, failed or said otherwise",
  ),
  foreign_credits: s.said(
    s.number,
    "credits that left the balance meanwhile and that no answer tells of",
  ),
  balance: s.maybeCredits,
  complete: s.said(s.flag, "whether everything that matched was received; of a sample, all of it"),
  shortfall: s.said(s.maybeText, "why it fell short of what was wanted"),
  dataset_version: s.maybeText,
  started: s.time,
  finished: s.time,
  output: s.maybe(writtenShape),
  forgotten: s.optionalProperty(
    s.said(s.wholeNumberShape, "rows of people whom you forgot since: paid for, and not kept"),
  ),
});

export const rateLimited = s.said(
  s.maybeNumber,
  "what the rate limit alone makes it take; null where no limit is known",
);

export const quoteShape = s.object({
  target: s.text,
  matches: s.maybeWhole,
  rows: s.wholeNumberShape,
  kept: s.said(s.wholeNumberShape, "rows that are paid for already"),
  bound: s.one("matches", "limit", "cap", "companies", "sample"),
  unit_cost: s.said(s.maybeCredits, "null: nobody told it, and credits count 1 a row"),
  unit_rows: unitRows,
  price_read: s.said(
    s.maybeText,
    "the day on which a public page said `unit_cost`; null: the account tells it",
  ),
  first_call: s.said(
    s.maybeCredits,
    "what the first call takes at most by the file of a vendor; null: the account tells the price",
  ),
  credits: s.said(s.number, "credits, at most"),
  balance: s.maybeCredits,
  balance_after: s.maybeCredits,
  cap_left: s.said(
    s.maybeCredits,
    "of the cap of the key; null: it has none, or the service does not tell",
  ),
  requests: s.wholeNumberShape,
  page_rows: s.said(
    s.maybeWhole,
    "the largest page; null: nobody told it, and requests are the fewest",
  ),
  rate_limited_seconds: rateLimited,
  max_depth: s.maybeWhole,
  overlap: s.wholeNumberShape,
  sample: s.maybe(sample),
  owned: s.said(s.maybeWhole, "how many of them you own"),
  owned_exact: s.maybeFlag,
  owned_calls: s.maybeWhole,
  owned_elsewhere: elsewhere,
  paid_again: s.said(s.maybeWhole, "how many of the rows to buy you own, at most"),
  look_ups: s.said(
    s.maybe(s.object({ companies: s.wholeNumberShape, credits: s.creditsShape })),
    "companies to look up, a request each, within credits and requests: " +
      "their people are counted after it",
  ),
  new_only: s.maybe(
    s.object({
      new: s.integer,
      credits: s.creditsShape,
      max_credits: s.creditsShape,
      calls: s.wholeNumberShape,
      calls_per_credit: s.number,
    }),
  ),
  reuse: s.said(
    s.maybe(s.object({ run: s.text, rows: s.wholeNumberShape })),
    "a finished run with the same rows",
  ),
});

const file = s.object({
  file: s.text,
  rows: s.said(
    s.wholeNumberShape,
    "people of this refresh; 0: what the file holds, an earlier one found",
  ),
  sha256: s.digest,
});

export const refreshed = s.object({
  list: s.said(s.text, "the file that is followed"),
  filters: segments,
  checked_at: s.time,
  dataset_version: s.maybeText,
  ...s.each(s.wholeNumberShape, "count", "added", "removed", "changed", "suppressed"),
  forgotten: s.said(
    s.wholeNumberShape,
    "people whom you forgot who are in the segment: not bought, and not in count",
  ),
  changes: s.list(s.object({ person: s.text, fields: s.texts })),
  not_checked: s.said(s.wholeNumberShape, "values that counts could not verify"),
  verified: s.said(s.texts, "fields that free counts looked at; none: changes were not looked for"),
  runs: s.texts,
  bought: s.wholeNumberShape,
  bought_again: s.said(
    s.wholeNumberShape,
    "in its runs, who were owned before: nothing told them from new ones for less",
  ),
  bought_suppressed: s.said(
    s.wholeNumberShape,
    "of these, who is suppressed or forgotten: paid for, and in no file",
  ),
  credits: s.creditsShape,
  rebuy_credits: s.said(s.number, "credits to buy all of it again"),
  free_calls: s.wholeNumberShape,
  certificate: s.object({
    count: s.wholeNumberShape,
    owned: s.wholeNumberShape,
    equal: s.always(true),
  }),
  files: s.object({ list: file, added: file, removed: file, changed: file }),
});

/**
 * How a job went: a line of its log, what `notify` gets,
 * and what `jobs status` reads (docs/reference/jobs-file.md, "Log").
 */
export const outcome = s.object({
  job: s.text,
  command: s.text,
  status: s.one("done", "failed"),
  exit_code: s.wholeNumberShape,
  started: s.time,
  finished: s.time,
  rows: s.maybeWhole,
  rows_before: s.maybeWhole,
  changed: s.maybeFlag,
  credits: s.creditsShape,
  output: s.maybeText,
  run: s.maybeText,
  warnings: s.said(
    s.list(
      s.object({
        of: s.one("budget", "max_credits"),
        spent: s.creditsShape,
        cap: s.creditsShape,
      }),
    ),
    "what is nearly spent (warn_at)",
  ),
  error: s.maybe(
    s.object({
      code: s.text,
      message: s.text,
      hint: s.maybeText,
      resumable: s.flag,
      next: s.maybeText,
    }),
  ),
  receipt: s.maybe(s.some(receipt, refreshed)),
});
