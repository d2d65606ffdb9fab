import type { Order } from "../../app/buy/order.ts";
import type { Finished as Bought } from "../../engine/purchase/deliver.ts";
import { beyondAnswers, raiseFor, STOPPED_AT } from "../../engine/purchase/failures.ts";
import { elsewhereText, type Quote } from "../../engine/purchase/quote.ts";
import type { Receipt } from "../../engine/purchase/receipt.ts";
import { creditsOf } from "../../engine/runs/journal.ts";
import { resumeOf, type Target } from "../../engine/runs/plan.ts";
import {
  affordableRows,
  type Credits,
  credits,
  creditsLess,
  creditsText,
  formatCreditsGrouped,
  minCredits,
  ZERO,
} from "../../shared/contract/money.ts";
import { counted, grouped, someOf } from "../../shared/contract/text.ts";
import { clauses, option, type Sentence, saidAt, say } from "../../shared/errors.ts";
import type { Printer } from "../terminal/printer.ts";
import type { ParsedPurchase } from "./purchase.ts";
import { wordingOf } from "./quote-card.ts";

/** What is said at the end: the summary on stderr, and with `--json` the receipt on stdout. */
export function printSummary(bought: Bought, purchase: ParsedPurchase, printer: Printer): void {
  const { receipt } = bought;
  const { order, speech } = purchase;
  if (printer.json && order.output !== undefined) printer.document<"search">(receipt);

  printer.say(exportedText(bought, purchase));

  const again = receipt.paid_again ?? 0;
  if (again > 0) {
    const why =
      receipt.sample !== null
        ? "paid for again, as a sample is drawn from all of the segment"
        : receipt.new_only === null
          ? "paid for again"
          : "parting them from new ones would have cost more";
    printer.note(
      `notice: ${grouped(again)} of the ${grouped(receipt.received)} rows ` +
        `${again === 1 ? "is of somebody" : "are of people"} you owned: ${why}`,
    );
  }

  if (receipt.uncertain_credits > 0) {
    printer.say(
      `warning: ${counted(receipt.uncertain_credits, "more credit")} may have been ` +
        "charged for replies that were lost, failed or said otherwise",
    );
  }

  const notice = stoppedText(bought, purchase);
  const text = notice === undefined || speech === undefined ? notice : saidAt(notice, speech);
  if (text !== undefined) printer[order.job === undefined ? "note" : "say"](`${text}`);

  printNotices(bought, order, printer);
}

/** How many of what there is, for how much, and where they are. */
function exportedText(
  { receipt, balance, quote }: Bought,
  { order, flags }: ParsedPurchase,
): string {
  const { one, many } = wordingOf(order.target);
  const whole = wholeOf(order.target, receipt, quote);
  const most = order.target.kind === "employees" ? "at most " : "";
  const rows = receipt.distinct - receipt.suppressed;
  const beside = receipt.reused === 0 ? "" : ` and ${grouped(receipt.reused)} that you own`;
  const what =
    receipt.new_only !== null
      ? `${counted(receipt.new_only.new, "new profile", "new profiles")}${beside}`
      : whole !== undefined && whole > receipt.distinct
        ? `${grouped(rows)} of ${most}${counted(whole, one, many)}`
        : counted(rows, one, many);

  const { added = null } = receipt.output ?? {};
  const newThere = added === null ? "" : `, ${grouped(added)} of them new there`;
  const where = order.output === undefined ? "" : ` to ${flags.output ?? order.output}${newThere}`;
  const credit = balance === undefined ? "" : ` (balance ${formatCreditsGrouped(balance)})`;
  const seed = quote.sample === undefined ? "" : ` by chance (--seed ${quote.sample.seed})`;
  return `Exported ${what}${seed} for ${costText(receipt, quote)}${where}${credit}`;
}

/** Of a run that was gone on with: also what this command alone cost. */
function costText(receipt: Receipt, quote: Quote): string {
  const paid = creditsOf(receipt.credits);
  const now = minCredits(
    creditsLess(paid, quote.settled),
    creditsLess(spentOf(receipt), quote.spent),
  );
  const part = now >= paid ? "" : ` (${formatCreditsGrouped(now)} of them now)`;
  return `${creditsText(paid)}${part}`;
}

/** Charged, or possibly so. */
const spentOf = (receipt: Receipt): Credits =>
  credits(creditsOf(receipt.credits) + creditsOf(receipt.uncertain_credits));

/** What of it was answered for, if only with a row that is none. */
const answersIn = ({ received, misses, unread, withheld }: Receipt): number =>
  received + misses + unread + withheld;

/** Which bound ended it before all were bought, and what goes on. */
function stoppedText(bought: Bought, { order, run }: ParsedPurchase): Sentence | undefined {
  const { receipt, quote } = bought;
  const { target } = order;
  const stopped =
    receipt.complete || receipt.distinct === 0 ? undefined : STOPPED_AT[receipt.bound];
  const whole = wholeOf(target, receipt, quote);
  const answers = answersIn(receipt);
  const rest = whole === undefined || whole <= answers ? undefined : whole - answers;
  if (stopped === undefined || (target.kind === "enrich" && rest === undefined)) return undefined;

  const isThere =
    typeof receipt.output?.sha256 === "string" && !order.overwrite && order.job === undefined;
  const isHeld = receipt.reused >= receipt.received;
  // A run that is named goes on with its own people.
  const isAsked = target.kind === "search" && target.owned !== undefined && run === undefined;
  const isFirst = receipt.new_only !== null && !isAsked;
  const goesOn =
    receipt.new_only !== null && isAsked
      ? say`the same${isThere ? say` with another ${option("output")}` : ""} buys the next ones:
        these are owned by then`
      : isFirst || (isHeld && receipt.bound === "limit" && quote.apart === undefined)
        ? say`the same command with a higher
          ${stopped}${isThere ? say` and ${option("overwrite")}` : ""} goes on`
        : goingOn(bought, order, rest);

  const what =
    isHeld && receipt.bound === "cap" && spentOf(receipt) === ZERO
      ? "nothing was bought"
      : say`stopped at ${stopped}`;
  return say`notice: ${clauses(what, goesOn)}`;
}

function printNotices(
  { quote, receipt, misses, run }: Bought,
  { format, fields, target }: Order,
  printer: Printer,
): void {
  const { one, many } = wordingOf(target);
  for (const text of beyondAnswers(creditsOf(receipt.foreign_credits)))
    printer.note(`notice: ${text}`);

  const elsewhere = receipt.received > 0 ? elsewhereText(quote) : undefined;
  if (elsewhere !== undefined) printer.note(`notice: some were yours already: ${elsewhere}`);

  if (receipt.reused > 0 && receipt.new_only === null) {
    const note =
      receipt.forgotten === undefined
        ? ""
        : `, ${grouped(receipt.forgotten)} of them forgotten since`;
    printer.note(
      `notice: ${counted(receipt.reused, one, many)} bought before${note}, and not paid for again`,
    );
  }

  if (receipt.withheld > 0) {
    const isById = target.kind === "search" && target.named !== undefined;
    printer.note(
      isById
        ? `notice: the service has nobody by ${counted(receipt.withheld, "id")} of the file`
        : "notice: the service itself leaves out " +
            `${counted(receipt.withheld, "person", "people")} of the segment since it was counted`,
    );
  }

  if (receipt.suppressed > 0) {
    printer.say(
      `notice: ${counted(receipt.suppressed, one, many)} on the suppression list: ` +
        "bought, and left out of the output",
    );
  }

  if (receipt.duplicates > 0) {
    const { duplicates } = receipt;
    const isKept = target.kind === "enrich" && target.keep !== undefined;
    const [what, how] = isKept
      ? [
          counted(duplicates, "company", "companies"),
          "named in more than one way, and paid for each time",
        ]
      : [`${counted(duplicates, "row")} came twice and`, "written once"];
    printer.note(`notice: ${what} ${duplicates === 1 ? "is" : "are"} ${how}`);
  }

  if (misses.length > 0) {
    printer.note(`notice: ${grouped(misses.length)} not found: ${someOf(misses)}`);
  }

  if (format === "table" && fields === undefined) {
    printer.note(
      "notice: these are the main columns; headcount runs export " +
        `${run} -o FILE writes all of them at 0 credits`,
    );
  }
}

/**
 * What buys the rest, or as much of it as the balance
 * pays for; of an unknown rest as many rows again.
 */
function goingOn(
  { receipt, quote }: Bought,
  { target, output }: Order,
  rest: number | undefined,
): string {
  const { balance, received, unit_cost: unit, unit_rows: parcel } = receipt;
  const answers = answersIn(receipt);
  const wanted = rest ?? received;
  const more =
    balance === null
      ? wanted
      : Math.min(wanted, affordableRows(creditsOf(balance), creditsOf(unit), parcel));
  const { rowsUncapped: most = answers + more } = quote;
  const raise = raiseFor(receipt, quote, more, answers + more > most ? answers + more : undefined);
  const { run: id, connection } = receipt;
  const command = resumeOf({ id, connection, target, output: output ?? null }, raise);

  if (raise.withOwned) return `${command} writes all, and pays for nobody again`;
  if (rest === undefined)
    return more === 0
      ? "the balance pays for no more"
      : `there may be more: ${command} buys up to ${grouped(more)}`;

  const others = `the other ${grouped(rest)}`;

  if (more === 0) return `the balance pays for none of ${others}`;
  if (more < rest)
    return `${command} buys ${grouped(more)} of ${others}, which is what the balance pays for`;

  return `${command} ${target.kind === "search" ? `buys ${others}` : "goes on with the rest"}`;
}

/**
 * What there is of what was asked for, where that can be
 * told: people that match, companies that were named.
 */
function wholeOf(target: Target, receipt: Receipt, quote: Quote): number | undefined {
  if (target.kind === "enrich") return target.companies.length;
  if (quote.sample !== undefined) return quote.sample.rows;
  // Counted roughly, or twice: what came to its end has them all.
  const isRough = target.kind === "employees" || target.union !== undefined;
  return (isRough && receipt.complete ? undefined : quote.matches) ?? undefined;
}
