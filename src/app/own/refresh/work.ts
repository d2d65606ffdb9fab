import type { Library } from "../../../engine/library/library.ts";
import type { Shelf } from "../../../engine/library/take-in.ts";
import type { AskedView } from "../../../engine/output/formats.ts";
import type { VerifiedField } from "../../../engine/planning/verify.ts";
import { rowPrice } from "../../../engine/purchase/offer.ts";
import type { ExportOptions, Trade } from "../../../engine/purchase/order.ts";
import type { Quote } from "../../../engine/purchase/quote.ts";
import type { Start } from "../../../engine/purchase/world.ts";
import type { Guard } from "../../../engine/runs/plan.ts";
import type { Context } from "../../../shared/context.ts";
import type { CheckedFilters } from "../../../shared/contract/filters.ts";
import type { Speech } from "../../../shared/contract/hints.ts";
import { type Credits, minCredits } from "../../../shared/contract/money.ts";
import { didYouMean } from "../../../shared/contract/suggest.ts";
import { echo } from "../../../shared/contract/text.ts";
import { FACET_KEYS, type FilterKey } from "../../../shared/contract/vocabulary.ts";
import { option, say, usageError } from "../../../shared/errors.ts";
import type { Of } from "../../../shared/schema/build.ts";
import type { refreshed } from "../../../shared/schema/purchase.ts";
import type { Session } from "../../session.ts";

export interface RefreshTerms
  extends Guard,
    Pick<ExportOptions, "maxCredits" | "perPage" | "job" | "budgetLeft"> {
  readonly maxCalls: number;
  /** The whole segment, whoever is owned. */
  readonly again?: boolean | undefined;
  readonly buyChanged?: boolean | undefined;
  /** Somebody said that also a list of another segment is replaced. */
  readonly replaces?: boolean | undefined;
  readonly wait?: boolean | undefined;
  /** Said of CSV; undefined: as the list was written. */
  readonly csv?: "excel" | "raw" | undefined;
}

/** The user's own, within the budget. */
export const capOf = ({ maxCredits, budgetLeft }: RefreshTerms): Credits | undefined =>
  maxCredits && minCredits(maxCredits, budgetLeft ?? maxCredits);

export const profilePrice = (account: Trade["account"]) => rowPrice({ kind: "search" }, account);

export interface RefreshOrder {
  /** A file or a run; undefined: the filters say what it is. */
  readonly word: string | undefined;
  /** Of the file, the column that alone tells who they are. */
  readonly column?: string | undefined;
  readonly segment: CheckedFilters | undefined;
  readonly output: string | undefined;
  readonly view: AskedView;
  readonly verify: readonly VerifiedField[];
  readonly terms: RefreshTerms;
}

/** What a refresh will do at most, told before anything finer than the segment is counted. */
export interface RefreshPlan extends Pick<Quote, "unitPrice" | "assumed"> {
  readonly total: number;
  readonly owned: number;
  /** Owned, and no longer in the segment. */
  readonly gone: number;
  readonly others: number;
  /** Beside the others where `leftOut`, else perhaps among them, at most so many. */
  readonly forgotten: number;
  readonly leftOut: boolean;
  /** At most so many are bought. */
  readonly rows: number;
  readonly most: Credits;
  readonly calls: number;
  readonly ms: number | undefined;
  /** What buying the whole segment again costs. */
  readonly again: Credits;
}

/** What `--json` prints: what changed, what it cost, and the proof. */
export type RefreshReceipt = Of<typeof refreshed>;

export interface RefreshEvents {
  /** Agrees to what is bought, or throws. Not asked where nobody is bought. */
  readonly agree: (plan: RefreshPlan) => Promise<void>;
  /** The same for the rest of a run that was begun for the list. */
  readonly agreeToRest: (run: string, most: Credits) => Promise<void>;
  readonly warning: (text: string) => void;
  /** How a filter is called where its lines are read; undefined: as an option. */
  readonly words?: Speech | undefined;
  /** Free calls so far; undefined: something else is said now. */
  readonly progress?: ((calls: number | undefined) => void) | undefined;
  readonly start?: ((start: Start) => void) | undefined;
  /**
   * Gets who moved, once it is in the list's history;
   * not where nobody did. Never twice for one move.
   */
  readonly moved?: ((lines: string) => Promise<void>) | undefined;
}

export interface Work extends Pick<Trade, "account" | "deps" | "store"> {
  readonly order: RefreshOrder;
  readonly events: RefreshEvents;
  readonly context: Context;
  readonly shelf: Shelf;
  /** Another library after each purchase. */
  readonly latest: { library: Library };
}

export interface RefreshResult {
  readonly run: string;
  readonly spent: Credits;
  readonly rows: number;
  readonly again?: number;
}

/** Fields that a count can tell the value of. */
export const VERIFIABLE: readonly string[] = [...FACET_KEYS, "company"];

/** @throws CliError exit 2 for a field whose value no count can tell */
export function readVerified(text: string): VerifiedField[] {
  const names = text.split(",").map((name) => name.trim().toLowerCase());
  const fields = [...new Set(names.filter((name) => name !== ""))];
  if (fields.length === 0)
    throw usageError(
      say`${option("verify_fields")} names no field`,
      say`for example ${option("verify_fields", "title,company")}`,
    );

  return fields.map((name) => {
    if (name === "company") return { name, key: "company_network_url" };
    if (VERIFIABLE.includes(name)) return { name, key: name as FilterKey };
    throw usageError(
      say`${option("verify_fields")} cannot look at "${echo(name)}": no count tells its value;
        fields: ${VERIFIABLE.join(", ")}`,
      didYouMean(name, VERIFIABLE),
    );
  });
}

export interface Refreshing {
  planRefresh(
    order: RefreshOrder,
    session: Session,
    context: Context,
    events: RefreshEvents,
  ): Promise<RefreshPlan>;
  /**
   * What was bought is owned from then on, whatever happens: the same order pays for nobody twice.
   * @throws CliError
   */
  refresh(
    order: RefreshOrder & { readonly output: string },
    session: Session,
    context: Context,
    events: RefreshEvents,
  ): Promise<RefreshReceipt>;
}
