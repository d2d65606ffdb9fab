import {
  always,
  anything,
  creditsShape,
  flag,
  list,
  map,
  number,
  object,
  type Schema,
  said,
  some,
  text,
  titled,
  wholeNumberShape,
} from "../../shared/schema/build.ts";
import { quoteShape, receipt, refreshed, skipped, writtenShape } from "../../shared/schema/purchase.ts";
import { company, person } from "../../shared/schema/rows.ts";

const bought = <Row extends Schema, More extends Schema[]>(row: Row, ...more: readonly [...More]) => ({
  document: some(
    titled("rows, where they go to stdout", list(row)),
    ...more,
    titled("the receipt, with -o FILE", receipt),
    titled("the quote, with --dry-run", quoteShape),
    titled("with --if-older-than, where the file is young enough", skipped),
  ),
  line: row,
});

const exportedOwned = titled(
  "what was written of those you own, with -o FILE",
  object({ rows: wholeNumberShape, credits: always(0), output: writtenShape }),
);
const refresh = {
  document: some(
    titled("what changed", refreshed),
    titled(
      "the plan, with --dry-run",
      object({
        count: wholeNumberShape,
        owned: wholeNumberShape,
        gone: wholeNumberShape,
        new: wholeNumberShape,
        forgotten: said(
          wholeNumberShape,
          "whom you forgot: not bought where they are all who would be new, else perhaps among new",
        ),
        credits_at_most: creditsShape,
        rebuy_credits: creditsShape,
        free_calls: wholeNumberShape,
        rate_limited_seconds: number,
      }),
    ),
  ),
};

const exportedRun = object({
  run: text,
  finished: flag,
  rows: wholeNumberShape,
  credits: always(0),
  output: writtenShape,
});
const either = some(person, company);

const resumed = {
  document: some(
    titled("rows, where they go to stdout", list(either)),
    titled("the receipt, where there is a file", receipt),
  ),
  line: either,
};

export const BUYING = {
  employees: bought(person),
  enrich: bought(company, titled("one company that is named", company), titled("--keep-input", list(map(anything)))),
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
