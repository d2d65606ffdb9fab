import {
  anything,
  creditsShape,
  each,
  flag,
  integer,
  list,
  map,
  maybe,
  object,
  one,
  said,
  some,
  text,
  time,
  titled,
  wholeNumberShape,
} from "../../shared/schema/build.ts";
import { outcome, receipt } from "../../shared/schema/purchase.ts";
import { filters, person } from "../../shared/schema/rows.ts";

const run = {
  ...each(text, "id", "connection", "base_url", "format"),
  status: one("finished", "running", "unfinished", "closed", "stale", "over", "damaged"),
  command: one("search", "employees", "enrich"),
  ...each(maybe(text), "account_id", "problem"),
  key_mode: maybe(one("live", "test")),
  target: some(filters, list(object({ by: text, value: text }))),
  sample: maybe(
    object({
      rows: wholeNumberShape,
      seed: maybe(wholeNumberShape),
    }),
  ),
  matches: maybe(wholeNumberShape),
  expected: said(maybe(wholeNumberShape), "rows that its last session meant to have"),
  rows: wholeNumberShape,
  misses: wholeNumberShape,
  ...each(creditsShape, "settled", "uncertain", "foreign"),
  pending: said(wholeNumberShape, "requests whose reply is not known"),
  output: said(maybe(text), "null: stdout"),
  ...each(time, "created_at", "last_at"),
};

const sums = {
  profiles: wholeNumberShape,
  ...each(creditsShape, "settled", "uncertain", "refunded", "foreign"),
};

const spend = object({
  since: time,
  by: one("day", "run", "connection", "job"),
  key_mode: one("live", "test"),
  groups: list(
    some(
      object({ day: text, ...sums }),
      object({ run: text, ...sums }),
      object({ connection: text, service: text, ...sums }),
      object({ job: text, ...sums }),
    ),
  ),
  total: object(sums),
  damaged: said(list(text), "runs that count only as far as they can be read"),
});

const owned = object({
  record: person,
  states: list(object({ valid_from: time, last_confirmed: time, changed: list(text) })),
  purchases: list(object({ at: time, run: text, credits: creditsShape })),
});

const jobs = {
  "jobs check": list(object({ job: text, finding: one("invalid", "failed", "killed", "overdue"), message: text })),
  "jobs run": some(
    titled("a line of the log for each", list(outcome)),
    titled(
      "--dry-run",
      list(
        object({
          job: text,
          quote: said(maybe(anything), "as `headcount schema search` or `refresh` describes it"),
          error: maybe(object({ code: text, message: text, hint: maybe(text) })),
        }),
      ),
    ),
  ),
  "jobs status": object({
    file: text,
    month: text,
    budget: maybe(creditsShape),
    services: list(object({ service: text, key_mode: one("live", "test"), spent: creditsShape })),
    jobs: list(
      object({
        job: text,
        command: one("refresh", "search"),
        status: one("never", "done", "failed", "running", "killed", "invalid"),
        ...each(maybe(wholeNumberShape), "exit_code", "rows", "rows_before"),
        ...each(maybe(time), "last", "next"),
        credits: maybe(creditsShape),
        due: flag,
        ...each(maybe(text), "output", "message"),
      }),
    ),
  }),
};

export const suppression = {
  added: object({
    added: wholeNumberShape,
    known: said(wholeNumberShape, "that were there already"),
    entries: wholeNumberShape,
  }),
  checked: object({
    checked: list(object({ who: text, suppressed: flag, kind: maybe(text), at: maybe(time), note: maybe(text) })),
  }),
  listed: object({ entries: list(object({ mark: text, kind: text, at: text, note: maybe(text) })) }),
  removed: object({ removed: wholeNumberShape, entries: wholeNumberShape }),
};

const traces = object({
  runs: list(object({ run: text, rows: wholeNumberShape, removed: flag })),
  owned: wholeNumberShape,
  outputs: list(object({ path: text, how: text })),
  histories: list(object({ job: text, lines: wholeNumberShape })),
  mentions: list(object({ path: text, lines: list(wholeNumberShape) })),
  gone: list(text),
});
const pruned = some(object({ removed: list(text) }), titled("--dry-run", object({ would_remove: list(text) })));

const kept = list(
  object({
    what: text,
    items: wholeNumberShape,
    people: said(maybe(wholeNumberShape), "different ones; null where it holds none, or nobody knows"),
    rows: said(maybe(wholeNumberShape), "the same person perhaps more than once"),
    bytes: maybe(wholeNumberShape),
    oldest: maybe(time),
    newest: maybe(time),
    path: text,
  }),
);
const retention = object({ runs: said(maybe(text), "a span such as 90d; null: until somebody removes them") });

export const KEEPING = {
  ...jobs,
  "suppress add": suppression.added,
  "suppress check": suppression.checked,
  "suppress import": suppression.added,
  "suppress list": suppression.listed,
  "suppress remove": suppression.removed,
  "data set": object({ retention }),
  "data show": object({ retention, kept }),
  forget: some(object({ forgot: traces }), titled("--dry-run", object({ would_forget: traces }))),
  "owned import": object({ files: wholeNumberShape, rows: wholeNumberShape, new: wholeNumberShape }),
  "owned rebuild": object({ people: wholeNumberShape, rows_paid: wholeNumberShape }),
  "owned show": some(owned, titled("several of one name", list(owned))),
  "owned status": object({
    ...each(wholeNumberShape, "people", "suppressed", "forgotten", "rows_paid"),
    rows_repeated: integer,
    credits: creditsShape,
    credits_for_repeated: creditsShape,
    runs: wholeNumberShape,
    first_bought_at: maybe(time),
    last_bought_at: maybe(time),
    file: maybe(text),
  }),
  "runs list": list(object(run)),
  "runs prune": pruned,
  "runs remove": object({ removed: list(text) }),
  "runs show": object({
    ...run,
    unit_price: maybe(creditsShape),
    dataset_version: maybe(text),
    fields: maybe(list(text)),
    bytes: wholeNumberShape,
    receipt: maybe(receipt),
  }),
  spend,
  sql: said(list(map(anything)), "the rows, keyed by the query's columns"),
};
