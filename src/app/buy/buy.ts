import type { Dialect } from "../../engine/client/dialect.ts";
import type { AccountView } from "../../engine/client/types.ts";
import { ownedCompanies } from "../../engine/purchase/earlier.ts";
import { runIdentityOf } from "../../engine/purchase/offer.ts";
import type { ExportDeps, ExportOptions } from "../../engine/purchase/order.ts";
import type { Quote } from "../../engine/purchase/quote.ts";
import {
  isNarrowed,
  notReached,
  type Prospect,
  type Target,
  targetText,
  unlooked,
} from "../../engine/runs/plan.ts";
import { RunStore } from "../../engine/runs/run-store.ts";
import { spentBy } from "../../engine/runs/spend.ts";
import {
  type Credits,
  credits,
  creditsLess,
  creditsText,
  ZERO,
} from "../../shared/contract/money.ts";
import { counted, echo, someOf } from "../../shared/contract/text.ts";
import { CliError, failed, option, type Sentence, say, usageError } from "../../shared/errors.ts";
import { Page } from "../../shared/rows/page.ts";
import { MAX_CALLS } from "../own/bounds.ts";
import { type Events, nowhere, type Order, optionsOf, type World } from "./order.ts";
import { buyExport, type Priced, quoteExport, quoteRun, resumeExport } from "./purchase.ts";

/** A priced order: what it would cost when it was asked for, and what free calls told then. */
export interface Quotation extends Priced {
  readonly order: Order;
  readonly madeAt: number;
}

/**
 * Younger than this a quotation is bought without
 * counting again: the account tells price and dataset.
 */
const YOUNG_MS = 60_000;

/** Prices an order by free calls alone. @throws CliError */
export async function quote(draft: Order, world: World, events: Events = {}): Promise<Quotation> {
  const { order, lookUps, nobody } = await addressed(draft, world, events, false);
  return await purchase(order, world, events, async (deps) => {
    const priced = await quoteExport(order.target, optionsOf(order), deps);
    await tellWhy(order, peopleIn(priced.quote), world, events);
    // Where no company has an address that is known, nobody was counted.
    const quote = withLookUps(
      nobody === true ? { ...priced.quote, matches: null } : priced.quote,
      lookUps,
    );
    return { ...priced, quote, order: { ...order, target: priced.target }, madeAt: world.now() };
  });
}

/**
 * Buys an order, or exactly what a quotation says. Goes on with the run that the same order left
 * unfinished. What was paid is kept, whatever is thrown.
 * @throws CliError exit 10 (`quote_changed`) where a quotation no longer holds
 */
export async function buy(what: Order | Quotation, world: World, events: Events = {}) {
  const { order } = "quote" in what ? what : await addressed(what, world, events, true);
  const agreed = "quote" in what ? agreedTo(what, world) : {};
  return await purchase(order, world, events, (deps) =>
    buyExport(order.target, { ...optionsOf(order), ...agreed }, deps),
  );
}

/** @throws CliError `over_cap` where a cap pays for the look-ups at most, and for nobody */
function requireRoomBeside(cost: Credits, lookUps: Credits, cap: Credits | undefined): void {
  if (cap === undefined || cap > cost) return;
  throw failed.credits(
    `--max-credits pays for the look-ups at most (${creditsText(lookUps)}), ` +
      "and for nobody; nothing was spent",
    "--dry-run prices both",
    "over_cap",
  );
}

/** @param rest companies of which no address is known, so that nobody is counted there */
function tellLookUps(rest: readonly string[], spent: Credits, events: Events): void {
  const tell = events.warning ?? events.notice;
  if (rest.length > 0) {
    const none = counted(rest.length, "company has", "companies have");
    tell?.(`notice: ${none} no profile address that is known, left out: ${someOf(rest)}`);
  }

  if (spent > ZERO) tell?.(`notice: look-ups of companies cost ${creditsText(spent)}`);
}

/**
 * An order whose accounts all have addresses: those
 * that nobody owns are looked up first where it `buys`.
 */
async function addressed(order: Order, world: World, events: Events, buys: boolean) {
  const { accounts, maxCredits, budgetLeft } = order;
  if (accounts === undefined) return { order };

  const { companies, staffing } = accounts;
  const others = companies.filter(({ by }) => by !== "company_network_url");
  if (others.length === 0) return { order };

  const target: LookUps = { kind: "enrich", companies: others, lookUp: true };
  const { wait = false, concurrency = 4, job, budget } = order;
  const lookUp: Order = { target, wait, concurrency, job, budget, maxCredits, budgetLeft };

  const {
    quote: lookUps,
    account,
    continues,
  } = await quote({ ...lookUp, maxCredits: undefined }, world);
  const before = await spentOn(target, account, world);
  const cost = credits(before + lookUps.credits);
  if (lookUps.credits > 0n) requireRoomBeside(cost, lookUps.credits, maxCredits);

  const isOpen = lookUps.requests > 0 || continues !== undefined;
  if (buys && isOpen) {
    await buy(lookUp, world, events).catch((error: unknown) => {
      if (!(error instanceof CliError)) throw error;
      throw error.with({
        hint: "the same command goes on with the look-ups, then with the people",
        next: undefined,
      });
    });
  }

  const queries = await withAddresses(companies, target, account, world);
  const rest =
    buys || !isOpen
      ? queries.filter(({ address }) => address === undefined).map(({ value }) => echo(value))
      : [];

  const { staffOf } = await import("./staff.ts");
  const spent = buys ? await spentOn(target, account, world) : cost;
  tellLookUps(rest, buys ? credits(spent - before) : ZERO, events);

  return {
    order: {
      ...order,
      target: staffOf(queries, staffing),
      maxCredits: maxCredits && creditsLess(maxCredits, spent),
      budgetLeft: budgetLeft && creditsLess(budgetLeft, spent - before),
    },
    lookUps: buys || !isOpen ? undefined : lookUps,
    nobody: rest.length === queries.length,
  };
}

function withLookUps(quoted: Quote, lookUps: Quote | undefined): Quote {
  if (lookUps === undefined) return quoted;

  const { balanceAfter: after, durationMs } = quoted;
  return {
    ...quoted,
    matches: null,
    // Nor is it known who of them is owned.
    share: undefined,
    credits: credits(quoted.credits + lookUps.credits),
    total: credits(quoted.total + lookUps.credits),
    balanceAfter: after === undefined ? undefined : credits(after - lookUps.credits),
    requests: quoted.requests + lookUps.requests,
    durationMs: durationMs === undefined ? undefined : durationMs + (lookUps.durationMs ?? 0),
    lookUps: { companies: lookUps.requests, credits: lookUps.credits },
  };
}

function agreedTo(
  { order, quote: agreed, offer, madeAt }: Quotation,
  { now }: World,
): Partial<ExportOptions> {
  // What is agreed to is the cap: one beside it would not count what an earlier run holds.
  const bound = { agreed, maxCredits: order.maxCredits };
  return now() - madeAt < YOUNG_MS ? { ...bound, offer } : bound;
}

/**
 * Goes on with a run: target, output, format and fields are its own, and so are bounds where none
 * are given. Asks only where more would be spent than was agreed to for it. @throws CliError
 */
export async function resume(
  id: string,
  terms: Omit<Order, "target">,
  world: World,
  events: Events = {},
) {
  const plan = await new RunStore(world.stateDir, world.disk).readPlan(id);
  const order = { ...terms, target: plan.target };
  const goOn = (deps: ExportDeps) => resumeExport(id, optionsOf(order), deps);
  return await purchase(order, world, events, goOn).catch((error: unknown) => {
    throw notReached(error, plan, terms);
  });
}

/** What {@link resume} would cost, by free calls alone: nothing is written. @throws CliError */
export async function priceRest(
  id: string,
  terms: Omit<Order, "target">,
  world: World,
  events: Events = {},
): Promise<Quote> {
  const { target } = await new RunStore(world.stateDir, world.disk).readPlan(id);
  const order = { ...terms, target };
  return await purchase(order, world, events, (deps) => quoteRun(id, optionsOf(order), deps));
}

async function purchase<T>(
  order: Order,
  world: World,
  events: Events,
  work: (deps: ExportDeps) => Promise<T>,
): Promise<T> {
  const silent = (): void => undefined;

  const { agree = refuse, notice = silent, warning = silent, start, progress } = events;
  const { target, maxCalls, fresh = false, rows = nowhere(), table, tellsOwned = !fresh } = order;
  const { dialect } = world.seller.client;
  let close = silent;
  try {
    requireOfVendor(dialect, target);
    let deps: ExportDeps = {
      ...world,
      stdout: rows,
      table,

      consent: async (quoted, resuming) => {
        const costs = quoted.credits > 0n;
        if (!resuming && (costs || order.strict === true || peopleIn(quoted) === 0))
          await tellWhy(order, peopleIn(quoted), world, events);
        if (!resuming && peopleIn(quoted) === 0) requirePlace(order);
        if (costs) await agree(quoted, resuming, target);
      },

      onNotice: notice,
      onWarning: warning,
      onStart: start,
      onProgress: progress,
    };
    const canTell = dialect.vendor === undefined || dialect.idRows !== undefined;
    if (canTell && (isNarrowed(target) || tellsOwned)) {
      const { ownershipOf } = await import("../own/ownership.ts");
      const again = fresh && isNarrowed(target);
      const ownership = ownershipOf({ maxCalls: maxCalls ?? MAX_CALLS, again }, deps);
      deps = { ...deps, ownership: ownership.open };
      close = ownership.close;
    }

    return await work(deps);
  } catch (error) {
    throw await explained(error, order, world, events);
  } finally {
    close();
  }
}

/** @throws CliError exit 2 for what the file of a vendor cannot say: before anything is asked */
function requireOfVendor({ idRows, names, tries, vendor }: Dialect, target: Target): void {
  if (vendor === undefined) return;
  const refuse = (what: Sentence): never => {
    throw usageError(
      say`${vendor} cannot be ${what} yet`,
      "docs/how-to/vendors.md says what works",
      "not_of_vendor",
    );
  };

  if (target.kind !== "search") {
    const of = target.kind === "enrich" ? "asked for a company" : "asked for people of a company";
    const { by = "" } =
      target.companies.find((one) => !names?.[target.kind].includes(one.by)) ?? {};
    if (by !== "") refuse(`${of} by its ${by.replaceAll("_", " ")}`);
    return;
  }

  const { anywhere, except, filters, named, owned, sample, staff, union } = target;
  if (named !== undefined && idRows === undefined) refuse("asked for people by their ids");
  if (sample !== undefined && idRows === undefined) refuse(say`searched with ${option("sample")}`);
  if (owned !== undefined && idRows === undefined) {
    const asked = owned === "with" ? "with_owned" : anywhere ? "new_anywhere" : "new_only";
    refuse(say`searched with ${option(asked)}`);
  }
  if (staff !== undefined || union !== undefined || except !== undefined)
    refuse("searched for several segments or companies at once");
  tries?.(filters);
}

/** Of the segment: nobody new is not nobody. */
const peopleIn = ({ matches, share }: Quote): number | null => share?.total ?? matches;

/**
 * One company that nobody is found at: as where the service is asked for it by name.
 * @throws CliError exit 6
 */
function requirePlace({ target, accounts }: Order): void {
  const { companies: [company, ...others] = [], staffing: { segment, ladder, keep } = {} } =
    accounts ?? {};
  if (company === undefined || others.length > 0 || keep !== undefined) return;
  if ((segment ?? ladder) === undefined || unlooked(target) > 0)
    throw failed.not_found(`nobody was found at "${echo(company.value)}", and nobody was bought`);
}

async function refuse({ credits }: Quote): Promise<void> {
  throw usageError(
    `this costs ${creditsText(credits)}, and nobody agreed to it; nothing was spent`,
    undefined,
    "consent_needed",
  );
}

/**
 * Why nobody matches, and which values match nobody.
 * @param matches of the whole
 * @throws CliError exit 5 (`strict`)
 */
async function tellWhy(
  { target, strict = false }: Order,
  matches: number | null | undefined,
  { seller, interrupted }: World,
  { hint, words }: Events,
): Promise<void> {
  if (target.kind !== "search" || (hint === undefined && !strict)) return;
  const { tellHints } = await import("../count/hints.ts");
  const { filters, staff, union: each = [filters] } = target;
  const union = staff === undefined ? each : [filters];
  const count =
    ((matches === 0 && union.length > 1) || staff !== undefined ? undefined : matches) ?? undefined;
  const segments = union.map((each) => ({ filters: each, count }));
  await tellHints(segments, { strict, session: seller, say: hint, words }, interrupted);
}

/**
 * A failure with what helps: why nobody matches where an
 * empty file was refused, a company whose name is near.
 */
async function explained(
  thrown: unknown,
  order: Order,
  world: World,
  events: Events,
): Promise<unknown> {
  const error = world.mapError(thrown);
  if (!(error instanceof CliError)) return error;
  if (error.code === "too_few_rows") await tellWhy(order, undefined, world, events);

  const { target, accounts } = order;
  const { companies = [] } = target.kind === "search" ? (accounts ?? {}) : target;
  const [company] = error.code === "not_found" ? companies : [];
  if (company === undefined) return error;

  const { nearCompany } = await import("../count/hints.ts");
  const near = await nearCompany(company, world.seller, world.interrupted);
  const spelling =
    company.by === "name"
      ? "a name has to be the service's own; a domain or slug is surer"
      : error.hint;
  return error.with({ hint: near ?? spelling });
}

type LookUps = Target & { readonly kind: "enrich" };

/**
 * The companies with the addresses that paid look-ups tell; of the others in words why none. Free.
 */
async function withAddresses(
  companies: readonly Prospect[],
  target: LookUps,
  account: AccountView,
  { stateDir, disk, seller, now }: World,
): Promise<readonly Prospect[]> {
  const { otherThan } = await import("../../engine/output/join.ts");
  const store = new RunStore(stateDir, disk);
  const identity = runIdentityOf(target, null, account, seller);
  const pages = await ownedCompanies(store, identity, account.datasetVersion ?? null, {}, { now });
  const bodies = new Map(pages.map(({ target: index, body }) => [target.companies[index], body]));

  return companies.map((company): Prospect => {
    if (company.by === "company_network_url") return { ...company, address: company.value };
    const body = bodies.get(company);
    const page = body === undefined ? Page.empty : Page.read(body, "company");
    const why = page.length === 0 ? undefined : otherThan(company, page.row(0));
    const address =
      why === undefined && page.length > 0 ? page.identity(0, ["company_network_url"]) : undefined;
    return address === undefined
      ? { ...company, why: why ?? "no profile address of it is known" }
      : { ...company, address };
  });
}

/** What the look-ups cost this account so far, in all sessions. A cap of the people counts it. */
function spentOn(
  target: LookUps,
  account: AccountView,
  { stateDir, disk, seller }: World,
): Promise<Credits> {
  const { base_url: service, account_id: payer } = runIdentityOf(target, null, account, seller);
  const wanted = targetText(target);
  return spentBy(
    new RunStore(stateDir, disk).folder,
    (plan) =>
      plan.base_url === service && plan.account_id === payer && targetText(plan.target) === wanted,
  );
}
