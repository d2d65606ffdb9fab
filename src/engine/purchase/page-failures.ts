// Tested by test/scene/replies.test.ts.

import { type Credits, creditsText, formatCreditsGrouped } from "../../shared/contract/money.ts";
import { counted, grouped, someOf } from "../../shared/contract/text.ts";
import {
  CliError,
  type CliErrorInit,
  type CodeOf,
  option,
  type Sentence,
  say,
} from "../../shared/errors.ts";
import { Page } from "../../shared/rows/page.ts";
import { kindOf } from "../output/distinct.ts";
import type { Unasked } from "../runs/journal.ts";
import type { RunReader } from "../runs/reader.ts";

// What a paid reply was like that nothing more is bought on.

export const incomplete = (
  code: CodeOf<"incomplete">,
  message: Sentence,
  more: Partial<CliErrorInit> = {},
): CliError => new CliError({ code, category: "incomplete", message, ...more });

/** A service that spells a page wrong spells the next one so: no more is bought of it. */
export const unreadablePage = (problem: CliError, place: string): CliError =>
  incomplete(
    "unreadable_page",
    `a paid reply cannot be read: ${problem.message}; it is kept as ${place}, ` +
      "and not asked for again",
    {
      hint: say`the same command with ${option("again")} asks for everything anew, and pays for it`,
    },
  );

/**
 * Rows of a run that were paid for, came, and are no JSON, by where they are kept; exit 5.
 * @returns undefined where all of them can be read
 */
export async function unreadRows(run: RunReader): Promise<CliError | undefined> {
  let rows = 0;
  const places: string[] = [];
  for await (const { unit, settled, body } of run.pages()) {
    const { broken, problem } = Page.read(body, kindOf(run));
    const { unread = broken.length } = settled;
    if (unread === 0) continue;

    rows += unread;
    const which = broken.map(({ place }) => String(place));
    const what = `row${which.length === 1 ? "" : "s"} ${someOf(which)} of`;
    const page = run.placeOf(unit);
    const why = problem?.message ?? "it breaks off";
    places.push(which.length > 0 ? `${what} ${page}` : `${page} (${why})`);
  }
  if (rows === 0) return undefined;

  return incomplete(
    "unread_rows",
    `${counted(rows, "paid row")} cannot be read, as no record in JSON: ${someOf(places)}`,
    {
      details: ["what came is kept there, and all other rows were read"],
      hint: say`the same command with ${option("again")} asks for such rows once more, and pays for
        all anew`,
    },
  );
}

export const pageTooLong = (rows: number, perPage: number): CliError =>
  incomplete(
    "page_too_long",
    `the service answered ${counted(rows, "profile")} to a page of ${grouped(perPage)}; ` +
      "pages can no longer be told apart",
  );

export const priceMoved = (used: Credits, rows: number, expected: Credits): CliError =>
  incomplete(
    "price_moved",
    `the service charged ${creditsText(used)} for ${counted(rows, "row")} ` +
      `quoted at ${formatCreditsGrouped(expected)}`,
  );

/** A service that ignores a filter sells others under its name. */
export const notAsFiltered = ({ key, row, came, others, of }: Unasked): CliError =>
  incomplete(
    "not_as_filtered",
    `row ${row} of the first page says ${key} "${came}", which was not asked for, and ` +
      `${others} of ${counted(of, "row")} do so: the service does not keep to that filter`,
    { hint: `a search without ${key} buys what the service gives` },
  );

/** A price of 0 is never learned: a balance may be late, and a first row may be free. */
export const priceUntold = (isBalanceTold: boolean): CliError =>
  incomplete(
    "price_untold",
    "neither the account nor the reply tells what a profile costs, and the balance " +
      `${isBalanceTold ? "did not fall" : "is not told"} with the first one: ` +
      "nothing more is bought at a price that nobody knows",
    { hint: "headcount account tells whether the balance fell later; then the same run goes on" },
  );

export const impossibleCharge = (used: Credits): CliError =>
  incomplete(
    "impossible_charge",
    `the service says that it charged ${creditsText(used)}, which cannot be; ` +
      "booked as 0, and nothing more is bought",
  );

export const cursorTooLong = (length: number): CliError =>
  incomplete(
    "cursor_too_long",
    `the service's cursor of the next page has ${grouped(length)} characters: it cannot be kept`,
  );

export const cursorAgain = (rows: number): CliError =>
  incomplete(
    "cursor_again",
    `the service's cursor of what follows ${counted(rows, "row")} led to an earlier page before: ` +
      "that page would be paid for again",
  );

export const CURSOR_GONE = "cursor_gone";

export const cursorGone = (rows: number, answer: string): CliError =>
  incomplete(
    CURSOR_GONE,
    `the service no longer takes its cursor of what follows ${counted(rows, "row")} (${answer})`,
  );

export const cursorCut = (rows: number): CliError =>
  incomplete(
    CURSOR_GONE,
    `the reply breaks off before the service's cursor of what follows ${counted(rows, "row")}`,
  );

export const datasetMoved = (from: string | null, to: string): CliError =>
  incomplete(
    "dataset_moved",
    `the service changed its dataset from ${from} to ${to} while this run was at work; ` +
      "pages of both do not make one list",
  );

/**
 * Which rows came then, nobody knows: they may belong to another page than the one that was drawn.
 */
export const drawnShort = (rows: number, wanted: number): CliError =>
  incomplete(
    "drawn_short",
    `the service gave ${counted(rows, "row")} for a page of ${grouped(wanted)} that was ` +
      "drawn: pages are smaller than was asked for, or the segment changed",
    {
      hint: say`the same command with
        ${option("again")}${rows > 0 ? say` ${option("per_page", rows)}` : ""} draws anew`,
    },
  );
