// Tested by test/scene/ends.test.ts.

import { existsSync } from "node:fs";
import {
  type Credits,
  credits,
  creditsLess,
  creditsText,
  formatCreditsGrouped,
  priceOf,
  roomFor,
  ZERO,
} from "../../shared/contract/money.ts";
import { counted, echo, grouped } from "../../shared/contract/text.ts";
import {
  CliError,
  clauses,
  command,
  EXIT,
  failed,
  type Option,
  type OwnCommand,
  option,
  type Raise,
  type Sentence,
  say,
  systemFailure,
  theirs,
  usageError,
} from "../../shared/errors.ts";
import type { Of } from "../../shared/schema/build.ts";
import type { receipt } from "../../shared/schema/purchase.ts";
import type { CompanyQuery } from "../client/dialect.ts";
import type { ServiceError } from "../client/errors.ts";
import { TOO_FEW } from "../output/publish.ts";
import type { UnsoundCountsError } from "../planning/question.ts";
import {
  creditsOf,
  type EndedRecord,
  pendingUnits,
  placesOf,
  type RunState,
} from "../runs/journal.ts";
import { type Plan, resumeOf, unlooked } from "../runs/plan.ts";
import type { RunReader } from "../runs/reader.ts";
import { CURSOR_GONE, incomplete } from "./page-failures.ts";

type Receipt = Of<typeof receipt>;

interface Priced {
  readonly apart?: number | undefined;
  readonly share?: { readonly owned: number } | undefined;
  readonly parcel?: number | undefined;
  readonly unitPrice: Credits;
  readonly floor: Credits;
}

/**
 * What buys so many rows more with the same run.
 * @param limit where the one that bound it is to be raised
 */
export function raiseFor(
  receipt: Receipt,
  { apart, share, parcel, unitPrice, floor }: Priced,
  more: number,
  limit?: number,
) {
  if (apart !== undefined) {
    // What came beyond those who were owned was new, and is owned since.
    const left = apart + Math.min(0, (share?.owned ?? Infinity) - receipt.received);
    return { withOwned: true, maxCredits: priceOf(Math.max(0, left), unitPrice, parcel) };
  }

  const spent = creditsOf(receipt.credits) + creditsOf(receipt.uncertain_credits);
  const rest = roomFor(more, creditsOf(receipt.unit_cost), parcel, floor);
  return { limit, maxCredits: credits(spent + rest) };
}

/**
 * @param isSeen whether the balance was told since;
 * where it was not, all that the call held is in doubt
 */
export const chargedForError = (
  cause: ServiceError,
  amount: Credits,
  isSeen: boolean,
): CliError => {
  const own = cause.creditsUsed ?? 0n;
  const evidence = [own > 0n ? "its own words" : [], isSeen && amount > own ? "the balance" : []]
    .flat()
    .join(" and ");

  // Others may have moved the balance meanwhile.
  const cost =
    `${amount > own ? "may have cost" : "cost"} ` +
    `${creditsText(amount)}${evidence && ` by ${evidence}`}`;
  const message = say`the service answered ${cause.status}:
    ${theirs(cause.detail[0] ?? "no detail")}; its answer ${cost}, though errors are free;
    they count against the cap, and it is not asked again by itself`;
  const { status, requestId } = cause;
  return failed.service(message, undefined, "charged_for_error", cause).with({ status, requestId });
};

const exportOf = (run: string): OwnCommand => command("runs export", { arguments: [run] });

const writesStock = (run: string): Sentence =>
  say`${exportOf(run)} writes what it holds at 0 credits`;

export const runMismatch = (
  run: string,
  differences: readonly string[],
  hint?: Sentence,
): CliError =>
  incomplete(
    "run_mismatch",
    `run ${run} cannot be continued: ${differences.join("; ")}; nothing was spent`,
    {
      hint:
        hint ??
        clauses(
          writesStock(run),
          say`the same command with ${option("again")} buys everything anew`,
        ),
      next: exportOf(run),
    },
  );

export function requireGoing(
  { id, plan: { target }, state: { ended } }: RunReader,
  rest: Credits,
): void {
  if (ended?.how !== "over" || rest === 0n) return;
  throw runMismatch(id, [ended.why], "list" in target ? writesStock(id) : undefined);
}

export const staleRun = (
  run: string,
  moved: string,
  category: "incomplete" | "declined",
  anew: Sentence,
): CliError =>
  runMismatch(run, [moved], clauses(writesStock(run), anew)).with({
    code: "stale_run",
    category,
  });

/** What an earlier session wrote is in the way of it. */
export const beginsAnew = ({ output, guard }: Plan): Sentence =>
  output !== null && guard?.overwrite !== true && existsSync(output)
    ? say`the same command with ${option("overwrite")} begins anew`
    : "the same command begins anew";

export const unsoundRun = (cause: UnsoundCountsError, so: string, hint: Sentence): CliError =>
  failed.service(`${cause.message}; ${so}`, hint, "unsound_counts", cause);

export const NEW_UNREACHED = "new_unreached";

/**
 * Everything else that was agreed to is bought: going on would find no more of them.
 * @param commands what buys them
 */
export const newUnreached = (message: Sentence, commands: readonly OwnCommand[]): CliError =>
  incomplete(NEW_UNREACHED, message, {
    next: commands[0],
    details: commands.map((each) => say`to buy them: ${each}`),
  });

/** What was bought up to where not all of it came. */
export const STOPPED_AT: { readonly [Bound in Receipt["bound"]]?: Option | string } = {
  cap: option("max_credits"),
  limit: option("limit"),
  agreed: "what was agreed to",
};

export function notComplete(receipt: Receipt, { rest, plan }: RunReader, quote: Priced): CliError {
  const { received, distinct, count, bound } = receipt;
  const [more, unknown] = [rest ?? received, unlooked(plan.target)];
  // Its limit bounds whom it writes of those who are owned, too: another one is another run's.
  const isLimited = plan.target.kind === "search" && plan.target.within !== undefined;
  const raise =
    more === 0 || isLimited
      ? undefined
      : raiseFor(receipt, quote, more, bound === "limit" ? received + more : undefined);
  const rows = isLimited
    ? `${counted(distinct, "row is", "rows are")} yours`
    : `${grouped(received)} of ${count === null ? "an unknown number of" : grouped(count)} ` +
      "rows were bought";
  const where =
    `${counted(unknown, "company has", "companies have")} no profile ` +
    "address that is known, and nobody was looked for there";
  const isBound = unknown === 0 || STOPPED_AT[bound] !== undefined;

  return incomplete(
    "incomplete",
    isBound
      ? say`not complete: ${rows}: stopped at ${STOPPED_AT[bound] ?? STOPPED_AT.agreed}`
      : `not complete: ${where}`,
    {
      hint:
        isBound && !raise?.withOwned
          ? say`a higher ${STOPPED_AT[bound === "limit" ? bound : "cap"]}
            ${isLimited ? "buys the others" : "goes on with the same run"}`
          : undefined,
      next: raise && resumeOf(plan, raise),
      raise,
    },
  );
}

/**
 * A page of a sample that the service does not give: no other takes its place.
 * @param isSize whether a page of that size came elsewhere: then it is refused for where it lies
 */
export const drawnRefused = (size: number, detail: string, isSize: boolean): CliError =>
  isSize
    ? incomplete(
        "too_deep",
        `the service does not go as deep as the rows that were drawn ("${detail}"): ` +
          "a sample without them would not be fair",
        { hint: "a filter that makes the segment smaller" },
      )
    : usageError(
        `the service refused a page of ${counted(size, "row")} of the sample ("${detail}"); ` +
          "nothing was spent on it",
        clauses(
          say`${option("per_page")} draws more rows together, if it gives no page as small as that`,
          "a filter that makes the segment smaller helps, if it does not go as deep",
        ),
        "page_size",
      );

export const diskFull = (path: string): CliError =>
  failed.incomplete(
    `the disk with ${path} is almost full: stopped before buying what could not be kept`,
    undefined,
    "disk_full",
  );

/** A single look-up's 404: exit 6 (docs/reference/contract.md, "Enrich"). */
export function companyNotFound(
  { by, value }: CompanyQuery,
  { settled, spent }: RunState,
): CliError {
  const cost =
    `; ${creditsText(spent)} ` +
    `${settled > 0n ? "charged" : "may have been charged"}, though a miss is free`;
  const message =
    `no company has the ${by === "company_network_url" ? "profile address" : by} ` +
    `"${echo(value)}"${spent > 0n ? cost : ""}`;
  return failed
    .not_found(
      message,
      say`a domain looks like acme.com, a profile address like
    network.example/company/acme; ${option("by", "name")} looks up by name`,
    )
    .with({ status: 404 });
}

export const nothingLookedUp = (detail: string): CliError =>
  usageError(
    `the service refuses to look up any of these companies: ${detail}`,
    "another --column, or --by name or --by id, may be what it looks up by",
    "refused",
  );

export const fileExists = (path: string): CliError =>
  usageError(
    `${path} exists already; nothing was spent`,
    say`${option("overwrite")} replaces it once the new one is whole`,
    "file_exists",
  );

/** All that was agreed to is bought, and going on finds no more of it. */
export const ALL_BOUGHT: ReadonlySet<string> = new Set([TOO_FEW, NEW_UNREACHED, "unread_rows"]);

/** Going on would end the same way: what is paid for goes elsewhere, or in another form. */
const ENDS_AGAIN = new Set(["file_appeared", "filter_swallowed", "too_deep", "too_many_rows"]);

export const PAGE_TWICE = "page_twice";

/** Nothing more is bought on what was once answered so: going on ends the same way. */
const SPOILT = new Set([
  "impossible_charge",
  "page_too_long",
  "not_as_filtered",
  "not_as_declared",
  "drawn_short",
  "unreadable_page",
  PAGE_TWICE,
]);

const ENDS: Readonly<Record<string, EndedRecord["how"]>> = {
  dataset_moved: "stale",
  [CURSOR_GONE]: "stale",
  pipe_closed: "closed",
};

export function endOf(failure: CliError, run: RunReader): EndedRecord["how"] | undefined {
  const { code, category, next } = failure;
  const { state } = run;
  const isWhole =
    code === "incomplete" && next === undefined && placesOf(state) >= (run.wanted ?? Infinity);
  const isOver = category === "not_found" || isWhole || SPOILT.has(code);
  return isOver && pendingUnits(state).length === 0 ? "over" : ENDS[code];
}

/**
 * What there is to buy where the cursor of a search is gone: those whom its run did not bring, for
 * what its cap leaves. undefined: it is not, or no free count tells them.
 */
export function beyondCursor(
  error: unknown,
  { plan: { target }, state }: RunReader,
  limit: number | undefined,
) {
  const isGone = error instanceof CliError && error.code === CURSOR_GONE;
  const isPlain =
    target.kind === "search" &&
    (target.union ?? target.except ?? target.sample ?? target.owned ?? target.list) === undefined;
  if (!isGone || !isPlain) return undefined;

  const rows = limit ?? 0;
  const within = rows > 0 ? { within: { rows, fresh: Math.max(0, rows - state.rows) } } : {};
  return {
    gone: error,
    target: { ...target, owned: "with" as const, ...within },
    maxCredits: creditsLess(state.session?.cap ?? ZERO, state.books.atMost),
  };
}

/**
 * What was charged beyond what was agreed to, and whether
 * for more rows or for dearer ones; undefined: nothing.
 */
export function aboveCap({
  state: { session, spent, rows },
}: Pick<RunReader, "state">): string | undefined {
  const cap = session?.cap ?? ZERO;
  if (session === undefined || spent <= cap) return undefined;
  const above = formatCreditsGrouped(credits(spent - cap));
  const why =
    rows > (session.rows ?? rows)
      ? `${counted(rows, "row")} came`
      : "the service took more than it told";
  return (
    `the charge is ${creditsText(spent)}, ${above} more than the ` +
    `${formatCreditsGrouped(cap)} that were agreed to: ${why}`
  );
}

const BEYOND =
  "more left the balance than the answers tell: others spent them, the service takes " +
  "more than it says, or a proxy on the way sent a call again by itself";
export const beyondAnswers = (foreign: Credits): string[] =>
  foreign > 0n ? [`${creditsText(foreign)} ${BEYOND}`] : [];

/** Whether a run holds nothing, and may have cost nothing. */
export const isEmpty = (state: RunState): boolean =>
  state.rows === 0 && state.spent === 0n && pendingUnits(state).length === 0;

/**
 * What ended a run early, with where things are and how to go on.
 * @param error as the command line reports it
 */
export function ending(error: unknown, run: RunReader, interrupted: boolean): unknown {
  const isNothing = isEmpty(run.state);
  const place = placeOf(run);
  const { progress, open, on, above } = place;

  if (interrupted) {
    const done = isNothing ? "nothing was bought" : progress;
    return failed.interrupted(`interrupted: ${done}`).with({
      details: open,
      ...(isNothing ? {} : { hint: say`${on} goes on`, next: on, raise: above }),
    });
  }
  if (isNothing || (error instanceof CliError && error.category === "not_found")) return error;
  if (error instanceof CliError && error.exitCode === EXIT.pipeClosed)
    return error.with({ details: [progress, ...open], next: on, raise: above });

  // A disk that is full or gone: everything that was
  // paid for before is kept, so it is no bug but a stop.
  const stop = {
    category: "incomplete" as const,
    details: [`the run is in ${run.path}`],
    hint: undefined,
  };
  const failure = error instanceof CliError ? error : systemFailure(error)?.with(stop);
  if (failure === undefined || failure.code.startsWith("damaged")) return failure ?? error;

  return ALL_BOUGHT.has(failure.code) ? allBought(failure, place) : stopped(failure, run, place);
}

/**
 * What must be allowed before a run goes on, at the price that was seen; undefined: what was agreed
 * to has room for more, or for asking again.
 */
function beyondAgreed({ plan, state, wanted }: RunReader): Raise | undefined {
  const { books, nextN, session, units } = state;
  const { cap, maxCredits } = session ?? {};
  const { price = ZERO, floor } = books;
  const more = pendingUnits(state).length > 0 ? 0 : (wanted ?? 0) - placesOf(state);
  const parcel = units.get(nextN - 1)?.intent.parcel;
  const roomOf = (count: number): Credits => roomFor(count, price, parcel, floor);

  // A bound of a person's is used up; a price, or all of a list, was agreed to as a whole.
  const isPart = maxCredits === cap && !("list" in plan.target);
  return cap === undefined || more <= 0 || books.room(cap) >= roomOf(isPart ? 1 : more)
    ? undefined
    : { maxCredits: credits(books.atMost + roomOf(more)) };
}

/** Where a run is, and what goes on with it or writes what it holds. */
function placeOf(run: RunReader) {
  const { id, plan, state, wanted } = run;
  const above = beyondAgreed(run);
  const { rows, foreign } = state;
  const isBeyond = wanted !== null && rows > wanted;
  const of = isBeyond ? "" : ` of ${wanted === null ? "?" : grouped(wanted)}`;
  return {
    progress: `${grouped(rows)}${of} rows are paid for and kept in run ${id}`,
    /** What its cost is not sure in. */
    open: [aboveCap({ state }) ?? [], inFlight(state, plan), beyondAnswers(foreign)].flat(),
    above,
    on: resumeOf(plan, above),
    writes: exportOf(id),
  };
}

type Place = ReturnType<typeof placeOf>;

function inFlight(state: RunState, { dialect }: RunReader["plan"]): string | [] {
  const pending = pendingUnits(state).length;
  if (pending === 0) return [];
  const pages = counted(pending, "page");
  // No vendor knows by a key that it was asked before.
  const how = dialect === undefined ? "under the same key" : "as far as the cap allows";
  const again = `; going on asks again ${how}`;
  return `${pages} in flight may be charged${state.ended?.how === "stale" ? "" : again}`;
}

function allBought(failure: CliError, { progress, writes }: Place): CliError {
  const what = failure.code === TOO_FEW ? "it to another file" : "the others at 0 credits";
  return failure.with({
    details: [progress, ...failure.details],
    hint: say`${writes} writes ${what}`,
    next: failure.next ?? writes,
  });
}

/** Not of what the service answered: once the machine can, the run goes on. */
const OF_MACHINE = new Set(["disk_full", "filesystem"]);

function stopped(failure: CliError, run: RunReader, { progress, open, on, writes, above }: Place) {
  const { code, details, hint, category, next = on, raise = above } = failure;
  const how = endOf(failure, run);
  const isLast = how === "stale" || how === "over" || ENDS_AGAIN.has(code);

  const held = say`${writes} writes what there is at 0 credits`;
  const begins = how === "stale" ? beginsAnew(run.plan) : say`${next} tries to go on`;
  const goesOn = isLast && how !== "stale" ? clauses(held) : clauses(held, begins);

  return failure.with({
    // So it was with this call; of the run the lines below tell.
    message: failure.call ?? failure.said,
    details: [details, progress, open, hint ?? []].flat(),
    hint:
      isLast || (category === "incomplete" && !OF_MACHINE.has(code))
        ? goesOn
        : say`${on} goes on where it stopped`,
    next: isLast ? writes : next,
    raise: isLast ? undefined : raise,
  });
}
