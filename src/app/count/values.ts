import { stateDir } from "../../engine/connections/paths.ts";
import { openLibrary, shelfAt } from "../../engine/library/take-in.ts";
import type { Context } from "../../shared/context.ts";
import { checkFilters } from "../../shared/contract/filters.ts";
import { normalForm } from "../../shared/contract/normalise.ts";
import { type FilterKeySpec, type Filters, isFacetKey } from "../../shared/contract/vocabulary.ts";
import { openRuns } from "../keep/store.ts";
import type { Session } from "../session.ts";

/** Most frequent first, in normal form. */
export interface KnownValues {
  readonly from: "service" | "owned";
  readonly values: readonly { readonly value: string; readonly count: number }[];
  readonly whole?: number | undefined;
  readonly others?: number | undefined;
  readonly missing?: number | undefined;
}

export interface ValuesRequest {
  readonly spec: FilterKeySpec;
  readonly filters: Filters;
  readonly limit: number;
  /** Only values that begin with it, in any case. */
  readonly prefix?: string | undefined;
}

/**
 * From the service where it lists them, else among who
 * is owned of the segment; undefined where neither does.
 */
export const valuesIn = async (
  session: Session,
  context: Context,
  wanted: ValuesRequest,
): Promise<KnownValues | undefined> =>
  (await listedValues(session, wanted, context.interrupted)) ??
  (await ownedValues(session, context, wanted));

async function listedValues(
  session: Session,
  { spec: { key }, filters, limit, prefix }: ValuesRequest,
  signal: AbortSignal,
): Promise<KnownValues | undefined> {
  const facet = isFacetKey(key)
    ? await session.client.facets(filters, key, { limit, prefix, signal })
    : undefined;
  if (facet === undefined) return undefined;
  const { values, count: whole, others, missing, exact, reason } = facet;
  if (exact) return { from: "service", values, whole, others, missing };
  session.notice(
    `the service did not list the values of ${key}${reason === undefined ? "" : `: ${reason}`}`,
  );
  return undefined;
}

/** Asks nobody; undefined where nothing is owned of the service. */
export async function ownedValues(
  { serviceId, keyMode }: Pick<Session, "serviceId" | "keyMode">,
  context: Context,
  { spec, filters, limit, prefix = "" }: ValuesRequest,
): Promise<KnownValues | undefined> {
  const checked = checkFilters(filters);
  if (!checked.ok || (spec.match !== "exact" && spec.match !== "department")) return undefined;

  const opened = await openLibrary(
    shelfAt(stateDir(context), serviceId, keyMode),
    openRuns(context),
  );
  if (opened === undefined) return undefined;

  try {
    const values = opened.library.valuesOf(spec, checked.canonical);
    const wanted = values.filter(({ value }) => normalForm(value).startsWith(normalForm(prefix)));
    return { from: "owned", values: wanted.slice(0, limit) };
  } finally {
    opened.library.close();
  }
}
