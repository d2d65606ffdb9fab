// Tested by test/scene/as-asked.test.ts.
import { textsAsked } from "../../shared/contract/filters.ts";
import { normalForm } from "../../shared/contract/normalise.ts";
import { echo } from "../../shared/contract/text.ts";
import type { Filters } from "../../shared/contract/vocabulary.ts";
import type { Page } from "../../shared/rows/page.ts";
import { fieldValue } from "../../shared/rows/values.ts";
import type { Unasked } from "../runs/journal.ts";

/**
 * Holds rows against the exact filters that they were asked for by (docs/explanation/complete.md).
 * A service may spell a value otherwise than the filter: then no row says it as asked.
 */
export function unaskedIn(page: Page, filters: Filters): Unasked | undefined {
  for (const [key, wanted] of textsAsked(filters)) {
    const said = page.rows().map((row) => fieldValue(row, key));
    const isText = (value: unknown): value is string => typeof value === "string" && value !== "";
    const isOther = (value: unknown): boolean =>
      isText(value) && !wanted.includes(normalForm(value));

    const [of, others] = [said.filter(isText).length, said.filter(isOther).length];
    const row = said.findIndex(isOther);
    if (others > 0) return { key, row: row + 1, came: echo(String(said[row])), others, of };
  }

  return undefined;
}

/** Where some rows say what was asked for, those that say something else are others. */
export const isContradicted = ({ others, of }: Unasked): boolean => others < of;
