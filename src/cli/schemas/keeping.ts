import * as s from "../../shared/schema/build.ts";
import { outcome, receipt } from "../../shared/schema/purchase.ts";
import { filters, person } from "../../shared/schema/rows.ts";

const run = {
  ...s.each(s.text, "id", "connection", "base_url", "format"),
  status: s.one("finished", "running", "unfinished", "closed", "stale", "over", "damaged"),
  command: s.one("search", "employees", "enrich"),
  ...s.each(s.maybeText, "account_id", "problem"),
  key_mode: s.maybe(s.one("live", "test")),
  target: s.some(filters, s.list(s.object({ by: s.text, value: s.text }))),
  sample: s.maybe(
    s.object({
      rows: s.wholeNumberShape,
      seed: s.maybeWhole,
    }),
  ),
  matches: s.maybeWhole,
  expected: s.said(s.maybeWhole, "rows that its last session meant to have"),
  rows: s.wholeNumberShape,
  misses: s.wholeNumberShape,
  ...s.each(s.creditsShape, "settled", "uncertain", "foreign"),
  pending: s.said(s.wholeNumberShape, "requests whose reply is not known"),
  output: s.said(s.maybeText, "null: stdout"),
  ...s.each(s.time, "created_at", "last_at"),
};

const sums = {
  profiles: s.wholeNumberShape,
  ...s.each(s.creditsShape, "settled", "uncertain", "pending", "foreign", "declared", "told"),
};

const spend = s.object({
  since: s.time,
  by: s.one("day", "run", "connection", "job", "machine"),
  key_mode: s.one("live", "test"),
  groups: s.list(
    s.some(
      s.object({ day: s.text, ...sums }),
      s.object({ run: s.text, ...sums }),
      s.object({ connection: s.text, service: s.text, ...sums }),
      s.object({ job: s.text, ...sums }),
      s.object({ machine: s.text, ...sums }),
    ),
  ),
  total: s.object(sums),
  sample: s.said(s.creditsShape, "credits of the built-in sample, which are in no sum"),
  damaged: s.said(s.texts, "runs that count only as far as they can be read"),
});

const owned = s.object({
  record: person,
  states: s.list(s.object({ valid_from: s.time, last_confirmed: s.time, changed: s.texts })),
  purchases: s.list(s.object({ at: s.time, run: s.text, credits: s.creditsShape })),
});

const jobs = {
  "jobs check": s.list(
    s.object({
      job: s.said(s.maybeText, "null: the budget of all"),
      finding: s.one("invalid", "failed", "killed", "overdue", "clock", "ping", "near"),
      message: s.text,
    }),
  ),
  "jobs run": s.some(
    s.titled("a line of the log for each", s.list(outcome)),
    s.titled(
      "--dry-run",
      s.list(
        s.object({
          job: s.text,
          quote: s.said(
            s.maybe(s.anything),
            "as `headcount schema search` or `refresh` describes it",
          ),
          budget_left: s.maybeCredits,
          error: s.maybe(s.object({ code: s.text, message: s.text, hint: s.maybeText })),
        }),
      ),
    ),
  ),
  "jobs status": s.object({
    file: s.text,
    month: s.text,
    budget: s.maybeCredits,
    services: s.list(
      s.object({ service: s.text, key_mode: s.one("live", "test"), spent: s.creditsShape }),
    ),
    jobs: s.list(
      s.object({
        job: s.text,
        command: s.one("refresh", "search"),
        status: s.one("never", "done", "failed", "running", "killed", "invalid"),
        ...s.each(s.maybeWhole, "exit_code", "rows", "rows_before"),
        ...s.each(s.maybeTime, "last", "next"),
        credits: s.maybeCredits,
        due: s.flag,
        ...s.each(s.maybeText, "output", "ping", "message"),
      }),
    ),
  }),
};

export const suppression = {
  added: s.object({
    added: s.wholeNumberShape,
    known: s.said(s.wholeNumberShape, "that were there already"),
    entries: s.wholeNumberShape,
  }),
  checked: s.object({
    checked: s.list(
      s.object({
        who: s.text,
        suppressed: s.flag,
        kind: s.maybeText,
        at: s.maybeTime,
        note: s.maybeText,
      }),
    ),
  }),
  listed: s.object({
    entries: s.list(s.object({ mark: s.text, kind: s.text, at: s.text, note: s.maybeText })),
  }),
  removed: s.object({ removed: s.wholeNumberShape, entries: s.wholeNumberShape }),
};

const traces = s.object({
  runs: s.list(s.object({ run: s.text, rows: s.wholeNumberShape, removed: s.flag })),
  owned: s.wholeNumberShape,
  outputs: s.list(s.object({ path: s.text, how: s.text })),
  histories: s.list(s.object({ job: s.text, lines: s.wholeNumberShape })),
  mentions: s.list(s.object({ path: s.text, lines: s.list(s.wholeNumberShape) })),
  gone: s.texts,
});
const takenIn = s.object({
  ...s.each(s.wholeNumberShape, "files", "rows", "new"),
  by: s.texts,
});

const pruned = s.some(
  s.object({ removed: s.texts }),
  s.titled("--dry-run", s.object({ would_remove: s.texts })),
);

const kept = s.list(
  s.object({
    what: s.text,
    items: s.wholeNumberShape,
    people: s.said(s.maybeWhole, "different ones; null where it holds none, or nobody knows"),
    rows: s.said(s.maybeWhole, "paid for, in the file or not; perhaps a person more than once"),
    bytes: s.maybeWhole,
    oldest: s.maybeTime,
    newest: s.maybeTime,
    path: s.text,
  }),
);
const retention = s.object({
  runs: s.said(s.maybeText, "a span such as 90d; null: until somebody removes them"),
});

export const KEEPING = {
  ...jobs,
  "suppress add": suppression.added,
  "suppress check": suppression.checked,
  "suppress import": suppression.added,
  "suppress list": suppression.listed,
  "suppress remove": suppression.removed,
  "data set": s.object({ retention }),
  "data show": s.object({ retention, kept }),
  sync: s.some(
    s.object({
      took_in: s.list(
        s.object({ machine: s.text, runs: s.wholeNumberShape, rows: s.wholeNumberShape }),
      ),
      paid_twice: s.said(s.wholeNumberShape, "people in these whom another machine bought too"),
      gave: s.said(s.wholeNumberShape, "runs of this machine that are new there, or went on"),
      histories: s.said(
        s.object({ took_in: s.wholeNumberShape, gave: s.wholeNumberShape }),
        "of lists that are refreshed",
      ),
      forgotten_from: s.said(s.texts, "runs that forgotten people were deleted from"),
      unread: s.said(s.list(s.object({ file: s.text, why: s.text })), "files of the folder"),
      left: s.said(s.texts, "places here that may still have somebody who was forgotten"),
      segments_kept_twice: s.said(
        s.texts,
        "of segments that two saved otherwise: the names of the others",
      ),
    }),
    s.titled(
      "--status",
      s.object({
        machines: s.list(
          s.object({
            machine: s.text,
            here: s.flag,
            synced: s.said(s.text, "the day of its last sync, by its own clock"),
            up_to_date: s.said(s.flag, "whoever all forgot or leave out is so there as well"),
          }),
        ),
        runs: s.wholeNumberShape,
        waiting: s.said(s.wholeNumberShape, "of the runs: not taken in here yet"),
      }),
    ),
  ),
  forget: s.some(
    s.object({ forgot: traces }),
    s.titled("--dry-run", s.object({ would_forget: traces })),
  ),
  "owned import": s.some(takenIn, s.titled("--dry-run", s.object({ would_take_in: takenIn }))),
  "owned rebuild": s.object({ people: s.wholeNumberShape, rows_paid: s.wholeNumberShape }),
  "owned show": s.some(owned, s.titled("several of one name", s.list(owned))),
  "owned status": s.object({
    ...s.each(s.wholeNumberShape, "people", "suppressed", "forgotten", "rows_paid"),
    rows_repeated: s.integer,
    credits: s.creditsShape,
    credits_for_repeated: s.creditsShape,
    runs: s.wholeNumberShape,
    first_bought_at: s.maybeTime,
    last_bought_at: s.maybeTime,
    file: s.maybeText,
  }),
  "runs list": s.list(s.object(run)),
  "runs prune": pruned,
  "runs remove": pruned,
  "runs show": s.object({
    ...run,
    unit_price: s.maybeCredits,
    dataset_version: s.maybeText,
    fields: s.maybeTexts,
    bytes: s.wholeNumberShape,
    receipt: s.maybe(receipt),
  }),
  spend,
  sql: s.said(s.list(s.members), "the rows, keyed by the query's columns"),
};
