import type { Written } from "../../engine/output/sinks/sink.ts";
import type { SampleQuote } from "../../engine/purchase/quote.ts";
import type { Receipt } from "../../engine/purchase/receipt.ts";
import {
  anything,
  company,
  credits,
  type Described,
  digest,
  flag,
  integer,
  type JsonSchema,
  list,
  maybe,
  number,
  object,
  one,
  person,
  said,
  segments,
  some,
  text,
  time,
  titled,
  whole,
} from "./json.ts";

const written: JsonSchema = object<Written>({
  file: said(text, "an absolute path, or the address of a table"),
  format: text,
  bytes: said(maybe(whole), "null of a table"),
  sha256: said(maybe(digest), "null of a table"),
  added: said(maybe(whole), "of a table: rows that are new in it"),
});

const sample = object<SampleQuote>({
  seed: whole,
  rows: whole,
  together: said(whole, "the most rows that are drawn together"),
});

export const receipt: JsonSchema = object<Receipt>({
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

export const quote: JsonSchema = object({
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

export const skipped = object({ skipped: { const: true }, output: object({ file: text, modified_at: time }) });

/** What every command that buys prints: rows to stdout, or what became of them. */
const bought = (row: JsonSchema, ...more: readonly JsonSchema[]): Described => ({
  document: some(
    titled("rows, where they go to stdout", list(row)),
    ...more,
    titled("the receipt, with -o FILE", receipt),
    titled("the quote, with --dry-run", quote),
    titled("with --if-older-than, where the file is young enough", skipped),
  ),
  line: row,
});

const exportedOwned = titled(
  "what was written of those you own, with -o FILE",
  object({ rows: whole, credits: { const: 0 }, output: written }),
);
const file = object({ file: text, rows: whole, sha256: digest });

export const refreshed: JsonSchema = object({
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
  certificate: object({ count: whole, owned: whole, equal: { const: true } }),
  files: object({ list: file, added: file, removed: file, changed: file }),
});

const refresh: Described = {
  document: some(
    titled("what changed", refreshed),
    titled(
      "the plan, with --dry-run",
      object({
        count: whole,
        owned: whole,
        gone: whole,
        new: whole,
        forgotten: said(
          whole,
          "whom you forgot: not bought where they are all who would be new, else perhaps among new",
        ),
        credits_at_most: credits,
        rebuy_credits: credits,
        free_calls: whole,
        rate_limited_seconds: number,
      }),
    ),
  ),
};

const exportedRun = object({ run: text, finished: flag, rows: whole, credits: { const: 0 }, output: written });
const either: JsonSchema = { anyOf: [person, company] };

const resumed: Described = {
  document: some(
    titled("rows, where they go to stdout", list(either)),
    titled("the receipt, where there is a file", receipt),
  ),
  line: either,
};

export const BUYING: Readonly<Record<string, Described>> = {
  employees: bought(person),
  enrich: bought(
    company,
    titled("one company that is named", company),
    titled("--keep-input", list({ type: "object", additionalProperties: anything })),
  ),
  "owned export": {
    document: some(titled("rows, where they go to stdout", list(person)), exportedOwned),
    line: person,
  },
  refresh,
  resume: resumed,
  "runs export": {
    document: some(titled("rows, where they go to stdout", list(either)), titled("with -o FILE", exportedRun)),
    line: either,
  },
  "runs resume": resumed,
  search: bought(person, exportedOwned),
};
