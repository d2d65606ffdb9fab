import { CliError } from "../../shared/errors.ts";
import { mapError } from "../failures.ts";
import type { Events, Order, World } from "./order.ts";

/** Why nobody matches, and which values match nobody. @param matches of the whole, where that is known @throws CliError exit 5 (`strict`) */
export async function tellWhy(
  { target, strict = false }: Order,
  matches: number | null | undefined,
  { seller, interrupted }: World,
  { hint }: Events,
): Promise<void> {
  if (target.kind !== "search" || (hint === undefined && !strict)) return;
  const { tellHints } = await import("../count/hints.ts");
  const { filters, union = [filters] } = target;
  const count = (matches === 0 && union.length > 1 ? undefined : matches) ?? undefined;
  const segments = union.map((each) => ({ filters: each, count }));
  await tellHints(segments, { strict, session: seller, say: hint }, interrupted);
}

/** A failure with what helps: why nobody matches where an empty file was refused, a company whose name is near. */
export async function explained(thrown: unknown, order: Order, world: World, events: Events): Promise<unknown> {
  const error = mapError(thrown, world.seller.site);
  if (!(error instanceof CliError)) return error;
  if (error.code === "too_few_rows") await tellWhy(order, undefined, world, events);
  const { target } = order;
  const [company] = error.code === "not_found" && target.kind !== "search" ? target.companies : [];
  if (company === undefined) return error;
  const { nearCompany } = await import("../count/hints.ts");
  const near = await nearCompany(company, world.seller, world.interrupted);
  const spelling = company.by === "name" ? "a name has to be the service's own; a domain or slug is surer" : error.hint;
  return error.with({ hint: near ?? spelling });
}
