import { stateDir } from "../../engine/connections/paths.ts";
import { libraryPath } from "../../engine/library/library.ts";
import { openLibrary } from "../../engine/library/take-in.ts";
import type { Context } from "../../shared/context.ts";
import { isFacetKey } from "../../shared/contract/facets.ts";
import { checkFilters, type FilterKey, type FilterKeySpec, type Filters } from "../../shared/contract/filters.ts";
import { normalForm } from "../../shared/contract/normalise.ts";
import { openRuns } from "../keep/store.ts";
import type { Session } from "../session.ts";

/** Most frequent first, in normal form. */
export interface KnownValues {
  readonly from: "service" | "owned";
  readonly values: readonly { readonly value: string; readonly count: number }[];
  /** Where the service tells: people with values that are not listed, and with none. */
  readonly whole?: number | undefined;
  readonly others?: number | undefined;
  readonly missing?: number | undefined;
}

export interface ValuesRequest {
  readonly limit: number;
  /** Only values that begin with it, in any case. */
  readonly prefix?: string | undefined;
}

/** From the service where it lists them, else among who is owned of the segment; undefined where neither does. */
export async function valuesIn(
  session: Session,
  context: Context,
  spec: FilterKeySpec,
  filters: Filters,
  wanted: ValuesRequest,
): Promise<KnownValues | undefined> {
  return (
    (await listedValues(session, spec.key, filters, wanted, context.interrupted)) ??
    (await ownedValues(session, context, spec, filters, wanted))
  );
}

async function listedValues(
  session: Session,
  key: FilterKey,
  filters: Filters,
  { limit, prefix }: ValuesRequest,
  signal: AbortSignal,
): Promise<KnownValues | undefined> {
  if (!isFacetKey(key)) return undefined;
  const found = await session.client.facets(filters, key, { limit, prefix, signal });
  if (found === undefined) return undefined;
  const { values, count: whole, others, missing, exact, reason } = found;
  if (exact) return { from: "service", values, whole, others, missing };
  session.notice(`the service did not list the values of ${key}${reason === undefined ? "" : `: ${reason}`}`);
  return undefined;
}

/** Asks nobody; undefined where nothing is owned of the service. */
export async function ownedValues(
  where: Pick<Session, "serviceId" | "keyMode">,
  context: Context,
  spec: FilterKeySpec,
  filters: Filters,
  { limit, prefix = "" }: ValuesRequest,
): Promise<KnownValues | undefined> {
  if (spec.match !== "exact" && spec.match !== "department") return undefined;
  const checked = checkFilters(filters);
  if (!checked.ok) return undefined;
  const mode = where.keyMode ?? "live";
  const path = libraryPath(stateDir(context), where.serviceId, mode);
  const opened = await openLibrary({ path, serviceId: where.serviceId, mode }, openRuns(context));
  if (opened === undefined) return undefined;
  try {
    const values = opened.library
      .valuesOf(spec, checked.canonical)
      .filter(({ value }) => normalForm(value).startsWith(normalForm(prefix)));
    return { from: "owned", values: values.slice(0, limit) };
  } finally {
    opened.library.close();
  }
}
