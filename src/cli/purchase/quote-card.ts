import { STOPPED_AT } from "../../engine/purchase/failures.ts";
import { isNewOnly, leastOrMost } from "../../engine/purchase/owned.ts";
import {
  costText,
  elsewhereText,
  newPriceText,
  paidAgain,
  paidTwiceText,
  type Quote,
  rowsToBuy,
  type SampleQuote,
  uncountedText,
  whoIsPaidAgain,
} from "../../engine/purchase/quote.ts";
import { isNarrowed, type Target } from "../../engine/runs/plan.ts";
import { credits, creditsText, priceOf, priceText, ZERO } from "../../shared/contract/money.ts";
import { counted, grouped, whenGiven } from "../../shared/contract/text.ts";
import { duration } from "../../shared/numbers.ts";
import type { Entries } from "../terminal/table.ts";

export const wordingOf = ({ kind }: Target) =>
  kind === "enrich" ? { one: "company", many: "companies" } : { one: "profile", many: "profiles" };

/** @param whole with what only `--dry-run` is asked for */
export function quoteEntries(quote: Quote, target: Target, whole: boolean): Entries {
  const { one, many } = wordingOf(target);
  const most = leastOrMost(quote, target);
  const matches = isNewOnly(quote) ? (quote.share?.total ?? quote.matches) : quote.matches;
  const count = matches === null ? "not known beforehand" : grouped(matches);
  const bound = STOPPED_AT[quote.bound];
  const fewest = quote.pageRows === undefined ? "at least " : "";
  const wait = quote.durationMs
    ? `${fewest || "about "}${duration(quote.durationMs)} at`
    : "no wait for";

  return [
    target.kind === "search"
      ? ["matches", count]
      : [many, target.kind === "enrich" || matches === null ? count : `${most}${count}`],
    ...ownedEntries(quote, target),
    ["owned elsewhere", elsewhereText(quote)],
    [
      target.kind === "enrich" ? "companies owned" : "kept already",
      quote.kept === 0 ? undefined : grouped(quote.kept),
    ],
    [
      "to buy",
      `${most}${grouped(rowsToBuy(quote))}` +
        `${bound === undefined ? "" : ` (${bound})`}${againText(quote)}`,
    ],
    ["uncounted", uncountedText(quote, target)],
    ["paid again", whole ? whoIsPaidAgain(quote, target) : undefined],
    ["kept in a run", whole ? quote.reuse?.text : undefined],
    ["drawn", whenGiven(quote.sample, drawnText)],
    [
      "in parts",
      quote.depth === undefined
        ? undefined
        : `of at most ${grouped(quote.depth)}, found by free counts`,
    ],
    ["price", pricedAt(quote, one)],
    ["paid twice", paidTwiceText(quote, target)],
    ["look-ups", lookUpsText(quote)],
    ["cost", `${most}${costText(quote)}`],
    ["balance", quote.balance === undefined ? "not told" : creditsText(quote.balance)],
    ["after", afterText(quote)],
    [
      "cap of the key",
      quote.capLeft === undefined ? undefined : `${creditsText(quote.capLeft)} left`,
    ],
    [
      "requests",
      whole || quote.sample !== undefined ? `${fewest}${grouped(quote.requests)}` : undefined,
    ],
    [
      "time",
      quote.durationMs || (whole && !fewest && quote.durationMs === 0)
        ? `${wait} the rate limit`
        : undefined,
    ],
  ];
}

/** The price, who told it where that was no account, and what is paid before it is seen. */
const pricedAt = (
  { assumed, firstCall = ZERO, parcel, priceRead, unitPrice }: Quote,
  one: string,
): string =>
  priceText(unitPrice, parcel, one) +
  (assumed === undefined ? "" : ", assumed") +
  (priceRead === undefined ? "" : `, read on ${priceRead} from a public page`) +
  (firstCall > unitPrice ? `; the first call takes up to ${creditsText(firstCall)} at once` : "");

function afterText({ balanceAfter: after, lookUps }: Quote): string | undefined {
  if (after === undefined) return undefined;
  if (after < 0n) return `${creditsText(credits(-after))} too few`;
  return `${lookUps === undefined ? "" : "at most "}${creditsText(after)}`;
}

function lookUpsText({ lookUps }: Quote): string | undefined {
  if (lookUps === undefined) return undefined;
  const { companies, credits } = lookUps;
  return (
    `${counted(companies, "company", "companies")} for ${creditsText(credits)}; ` +
    "their people are counted after that, and come to it"
  );
}

/** How many of those to buy may be owned already. */
function againText({ share, bound }: Quote): string {
  if (share?.divide === undefined || bound !== "matches" || share.estimate === undefined) return "";
  const again = share.estimate.rows - (share.total - share.owned);
  return again <= 0 ? "" : `, up to ${grouped(again)} of them owned already`;
}

function drawnText({ seed, together }: SampleQuote): string {
  const how = together === 1 ? "each row alone" : `up to ${grouped(together)} neighbours together`;
  return `by chance, ${how}, seed ${seed}`;
}

/** What is owned already of the segment, and what it takes to buy only the others. */
function ownedEntries(quote: Quote, target: Target): Entries {
  const { share, unitPrice, parcel } = quote;
  if (share === undefined) return [];

  const { owned, exact, calls, total, estimate, durationMs } = share;
  const checked = calls === 0 ? "" : ` (${counted(calls, "free count")})`;

  if (!exact) {
    const rough = calls === 0 ? grouped(owned) : `about ${grouped(owned)}`;
    const how =
      calls === 0 || quote.sample !== undefined ? "" : `; --new-only counts them${checked}`;
    return [["people owned", `${rough} by your records${how}`]];
  }

  const who = target.kind === "enrich" ? "companies" : "people";
  const lines: [string, string | undefined][] = [[`${who} owned`, `${grouped(owned)}${checked}`]];
  if (estimate === undefined || owned === 0 || quote.sample !== undefined) return lines;

  const wait = durationMs ? `, about ${duration(durationMs)}` : "";
  const finding = `about ${counted(estimate.calls, "free count")}${wait}`;
  const isWhole = estimate.callsPerCredit === 0 && estimate.rows > 0;

  if (isNewOnly(quote)) {
    lines.push(["new", grouped(total - owned)]);
    const how = isWhole
      ? "costs more than buying all of it"
      : `${finding}, at ${estimate.callsPerCredit} a credit`;
    lines.push(["finding them", estimate.rows === 0 ? undefined : how]);
    const otherwise = isNarrowed(target) ? "with --again, without --new-only" : "with --again";
    lines.push(["all of it", `${creditsText(priceOf(total, unitPrice, parcel))} ${otherwise}`]);
    return lines;
  }

  // Of a run that goes on those who are owned are its own, and nobody is paid for again.
  if (paidAgain(quote) === 0) return lines;
  const only =
    estimate.rows === 0
      ? "nobody is new"
      : `${newPriceText(quote, share)} with --new-only, ${finding}`;
  lines.push(["only the new", isWhole ? "finding them costs more than buying all of it" : only]);

  return lines;
}
