// Tested by test/cli/owned-by-default.test.ts.
import type { Credits } from "../../shared/contract/money.ts";
import { addressForms } from "../../shared/contract/naming/address.ts";
import { companyKey } from "../../shared/contract/naming/read.ts";
import { counted, grouped } from "../../shared/contract/text.ts";
import { Page } from "../../shared/rows/page.ts";
import { pagingName } from "../client/dialect.ts";
import { Distinct } from "../output/distinct.ts";
import { pagesOf as drawnPages } from "../planning/draw.ts";
import { pendingUnits, placesOf, settledUnits, type Unit } from "../runs/journal.ts";
import { isForgiving, type Plan, type RunIdentity, type Target, targetText } from "../runs/plan.ts";
import type { RunReader } from "../runs/reader.ts";
import type { Division } from "../runs/record.ts";
import type { RunStore } from "../runs/run-store.ts";
import type { ExportDeps, ExportOptions, Inquiry, Trade } from "./order.ts";
import type { OwnedPage } from "./ownership.ts";
import type { Range } from "./paging.ts";
import type { Quote } from "./quote.ts";

export type Divided = Division & Pick<Plan, "matches" | "draw">;

/**
 * Finished runs with the same people of the same dataset:
 * what they hold is written, and not paid for again.
 */
export interface Reuse {
  /** That has most of them. */
  readonly run: string;
  readonly rows: number;
  /** With those beyond a limit: going on takes them, too. */
  readonly stock: number;
  /** Whether no more is to be bought. */
  readonly isWhole: boolean;
  readonly text: string;
  /** What a search was divided into, as offsets are within its parts. */
  readonly division: Omit<Divided, "matches"> | undefined;
  readonly pages: () => AsyncIterable<OwnedPage>;
}

/**
 * What a finished run holds of a search, or of one of
 * several companies, behind the rows that are there.
 */
interface Stock {
  readonly run: RunReader;
  readonly rows: number;
  /**
   * Which of the targets that are wanted one of its own is; undefined: none that is taken from it.
   */
  readonly placeOf: (target: number) => number | undefined;
}

const rowsIn = (stocks: Iterable<Stock>): number =>
  [...stocks].reduce((sum, { rows }) => sum + rows, 0);

const isListed = (target: Target): boolean =>
  target.kind === "enrich" ||
  (target.kind === "search" && (target.list ?? target.owned) !== undefined);

/** @returns in words why what was bought before is paid for again, where it is not taken */
export async function earlierRun(
  inquiry: Inquiry,
  datasetVersion: string | null,
  quote: Quote,
  sample: Pick<Divided, "draw" | "parts" | "counts"> | undefined,
): Promise<Reuse | string | undefined> {
  const { identity, options, deps } = inquiry;
  const { target } = identity;
  if (options.fresh || isListed(target)) return undefined;

  const held = await heldOf(inquiry, datasetVersion, quote, sample);
  if (held === undefined) return undefined;
  const { run, rows, stock, stocks, most } = held;

  // The same command again, word for word, is the same purchase: under another
  // cap, what is held counts for nothing in it (docs/explanation/caps.md).
  const isAgain = held.commands.has(commandOf(identity, options.maxCredits ?? null));
  const isWhole = stock >= (isAgain || quote.rows === 0 ? quote.rows : most);

  // More rows may lie behind a wall that those of the earlier run did not reach.
  const isDivided = quote.depth !== undefined && run.plan.parts === undefined;
  const isApart = !isWhole && (isDivided || !stocks.every((each) => goesOn(each.run, deps)));
  const why = whyNotTaken(held, datasetVersion, isApart);
  if (why !== undefined)
    return (
      `notice: ${boughtText(held)}; ${why}. ` +
      `headcount runs export ${run.id} writes those of then for nothing`
    );

  const division = target.kind === "search" ? (sample ?? divisionIn(run.plan)) : undefined;
  const text = takenText(held, isWhole);
  return { run: run.id, rows, stock, isWhole, text, division, pages: () => pagesOf(stocks, most) };
}

/** A target with its cap. */
const commandOf = ({ target }: RunIdentity, cap: Credits | null): string =>
  `${targetText(target)} ${cap}`;

/** What finished runs hold of what is asked for. */
type Held = NonNullable<Awaited<ReturnType<typeof heldOf>>>;

/** @throws why a run that may hold the rest cannot be read */
async function heldOf(
  { store, identity }: Inquiry,
  datasetVersion: string | null,
  { matches, rows: capped, rowsUncapped: most = Infinity, share }: Parameters<typeof earlierRun>[2],
  sample: Parameters<typeof earlierRun>[3],
) {
  const drawn = { ...identity, ...sample };
  const damages: unknown[] = [];
  // What bought it: targets with their caps.
  const commands = new Set<string>();
  const all = { most: matches ?? most, commands };
  const today = await stocksOf(store, drawn, datasetVersion, { ...all, damages });
  // Where people have addresses, the quote says how many of them are owned.
  const isMoved = datasetVersion !== null && today.length === 0 && !share?.owned;
  const stocks = isMoved ? await stocksOf(store, drawn, undefined, all) : today;
  const stock = rowsIn(stocks);
  if (stock < capped && damages.length > 0) throw damages[0];

  const [largest] = [...stocks].sort((a, b) => b.rows - a.rows);
  // Of all that they hold as many as are wanted.
  const rows = Math.min(stock, most);
  if (largest === undefined || rows === 0) return undefined;

  const { run } = largest;
  const { forgotten = 0 } = ((await store.receipt(run.id)) ?? {}) as {
    readonly forgotten?: number;
  };
  return { stocks, run, stock, rows, most, forgotten, commands, isMoved };
}

/** Where nobody names the dataset, or it is another one, other people may be there by now. */
function whyNotTaken(
  { run, isMoved }: Held,
  datasetVersion: string | null,
  isApart: boolean,
): string | undefined {
  if (datasetVersion === null)
    return (
      "the service names no dataset, so nobody knows whether " +
      "these are others, and all are paid for"
    );
  if (isMoved)
    return (
      `that was dataset ${run.plan.dataset_version}, and whoever is ` +
      "in the one of today too is paid for again"
    );
  return isApart ? "what it lacks cannot be bought apart, and all are paid for" : undefined;
}

const runText = ({ id, plan }: RunReader): string =>
  `run ${id} of ${plan.created_at.slice(0, 16).replace("T", " ")} UTC`;

const forgottenText = ({ forgotten, stock }: Held): string =>
  forgotten > 0 ? `, and ${grouped(forgotten)} of its ${grouped(stock)} forgotten since` : "";

const boughtText = (held: Held): string =>
  `${runText(held.run)} bought ${counted(held.stock, "row")} of the same${forgottenText(held)}`;

function takenText(held: Held, isWhole: boolean): string {
  const { run, stocks, stock, rows } = held;
  const these = rows === 1 ? "this row" : `these ${grouped(rows)} rows`;
  const what = isWhole
    ? `${stock === rows ? "" : "all of "}${these} already`
    : `${counted(stock, "row")} of the same`;
  const others = new Set(stocks.map((each) => each.run)).size - 1;
  const who = others === 0 ? runText(run) : `${runText(run)} with ${counted(others, "other")}`;
  const note = forgottenText(held);
  return (
    `${who} ${note === "" ? "holds" : "held"} ${what}${note}: ` +
    "not paid for again (--again pays for all)"
  );
}

/** What other finished runs hold behind the rows of one that goes on. */
export async function heldElsewhere(
  going: RunReader,
  { store, options, deps }: Omit<Trade, "account">,
) {
  const { id, plan, state } = going;
  const had = new Map<number, number>();
  for (const { intent, settled } of settledUnits(state)) {
    had.set(intent.target, Math.max(had.get(intent.target) ?? 0, intent.offset + settled.rows));
  }

  const isEven = [...had.values()].reduce((sum, rows) => sum + rows, 0) === state.rows;
  const most = (options.limit ?? Infinity) - state.rows;
  const isOpen = most > 0 && isEven && pendingUnits(state).length === 0;
  const parts = JSON.stringify(divisionIn(plan));

  const fits = (run: RunReader): boolean =>
    run.id !== id &&
    goesOn(run, deps) &&
    (plan.command !== "search" || JSON.stringify(divisionIn(run.plan)) === parts);

  const version = isOpen && !isListed(plan.target) ? plan.dataset_version : null;
  const stocks = version === null ? [] : await stocksOf(store, plan, version, { most, had, fits });
  return {
    rows: Math.min(most, rowsIn(stocks)),
    pages: () => pagesOf(stocks, most, { had, run: going }),
  };
}

/** Of which parts a run is: offsets are within them. */
function divisionIn(plan: Plan): Omit<Divided, "matches"> {
  const keys = ["parts", "counts", "spans", "unreached", "overlap", "draw", "digests"] as const;
  return Object.fromEntries(
    keys.flatMap((key) => (plan[key] === undefined ? [] : [[key, plan[key]]])),
  );
}

/** Whether the rows that it lacks can be asked for beside those that it holds. */
function goesOn({ plan }: RunReader, { seller }: ExportDeps): boolean {
  const before = pagingName({ paging: plan.paging, firstPage: plan.first_page });
  return before === pagingName(seller.client.dialect);
}

async function* pagesOf(
  stocks: readonly Stock[],
  most: number,
  going?: { readonly had: Had; readonly run: RunReader },
): AsyncIterable<OwnedPage> {
  let all = most;
  for (const { run, placeOf, ...stock } of stocks) {
    let rest = Math.min(all, stock.rows);
    all -= rest;

    for await (const { unit, settled, body } of run.pages(
      ({ intent }) => placeOf(intent.target) !== undefined,
    )) {
      if (rest <= 0) break;

      const { offset, perPage } = unit.intent;
      const target = placeOf(unit.intent.target) ?? 0;
      const from = Math.max(0, (going?.had.get(target) ?? 0) - offset);
      const rows = Math.min(rest, settled.rows - from);
      if (from > 0 && rows <= 0) continue;

      rest -= rows;
      const own = { target, offset: offset + from, run: run.id, rows };
      const range = { from, to: from + rows };
      const some =
        rows < settled.rows ? await cut(body, settled.rows, range, going?.run, target) : body;
      // A page that is cut is whole as it is: a short one would say that nobody follows.
      const isCut = from + rows < settled.rows;

      yield {
        ...own,
        perPage: isCut ? rows : perPage - from,
        body: some,
        told: isCut ? undefined : settled,
      };
    }
  }
}

/**
 * Of a page that lost somebody since nobody knows which
 * rows are left: those that the run has tell themselves.
 */
async function cut(
  body: Buffer,
  told: number,
  { from, to }: Range,
  run: RunReader | undefined,
  target: number,
) {
  const page = Page.read(body, "person");
  const gone = told - page.length;
  let rest = page.select(page.indexes.slice(Math.max(0, from - gone), to));
  if (run !== undefined && from > 0 && gone > 0) {
    const people = new Distinct("person", run.state.rows);
    for await (const own of run.pages(({ intent }) => intent.target === target)) {
      people.take(Page.read(own.body, "person"));
    }
    rest = people.take(rest);
  }

  const texts = rest.indexes.map((index) => rest.text(index)).slice(0, to - from);
  return Buffer.from(`{"result":[${texts.join(",")}]}`);
}

/** Of the same service and kind of key. */
const isBeside = ({ base_url, key_mode }: RunIdentity, plan: Plan): boolean =>
  plan.base_url === base_url && plan.key_mode === key_mode;

/** Rows of each target that are there. */
type Had = ReadonlyMap<number, number>;

interface Wanted {
  readonly most: number;
  readonly had?: Had;
  readonly fits?: (run: RunReader) => boolean;
  /** Takes why runs that may hold it cannot be read. */
  readonly damages?: unknown[];
  /** Takes with what runs that hold of it were bought. */
  readonly commands?: Set<string>;
}

async function stocksOf(
  store: RunStore,
  identity: RunIdentity & Pick<Plan, "draw" | "parts">,
  /** undefined: of any that has a name. */
  datasetVersion: string | null | undefined,
  { most, had, fits, damages, commands }: Wanted,
): Promise<readonly Stock[]> {
  const { target, account_id } = identity;
  // Of a sample without a seed another one is wanted each time.
  if (target.kind === "search" && target.sample?.seed === null) return [];

  const ours = new Map(piecesOf(identity).map((key, at) => [key, at]));
  const isSame = (plan: Plan): boolean =>
    isBeside(identity, plan) &&
    plan.account_id === account_id &&
    (datasetVersion === undefined
      ? plan.dataset_version !== null
      : plan.dataset_version === datasetVersion) &&
    piecesOf(plan).some((key) => ours.has(key));

  const best = new Map<number, Stock>();
  for await (const run of store.runs(isSame, damages)) {
    if (run.state.ended?.how === "stale" || !isBought(run) || fits?.(run) === false) continue;
    commands?.add(commandOf(run.plan, run.state.session?.maxCredits ?? null));
    for (const [at, stock] of stocksIn(run, target, ours, had)) {
      if (stock.rows > (best.get(at)?.rows ?? 0)) best.set(at, stock);
    }
    if (rowsIn(best.values()) >= most) break;
  }

  return [...best.values()];
}

/** What is asked for: a search as it is, each company by itself, each page that a seed drew. */
function piecesOf({
  target,
  draw,
  parts = [],
}: Pick<Plan, "target" | "draw" | "parts">): readonly string[] {
  if (target.kind === "employees") return target.companies.map(companyKey);
  if (draw === undefined) return [targetText(target)];
  return drawnPages(draw.pages, []).map(({ segment, ...page }) =>
    JSON.stringify([draw.seed, parts[segment], page]),
  );
}

function stocksIn(
  run: RunReader,
  target: Target,
  ours: ReadonlyMap<string, number>,
  had?: Had,
): Map<number, Stock> {
  const isStaff = target.kind === "employees";
  const pieces = isStaff || run.plan.draw !== undefined ? piecesOf(run.plan) : undefined;
  const placed = (own: number) => (pieces === undefined ? own : ours.get(pieces[own] ?? ""));
  const most = (isStaff ? target.perCompany : null) ?? Infinity;
  const stocks = new Map<number, Stock>();
  for (const { intent, settled } of settledUnits(run.state)) {
    const place = placed(intent.target);
    if (place === undefined) continue;
    const at = isStaff ? place : 0;
    const [there, before] = [had?.get(place) ?? 0, stocks.get(at)?.rows ?? 0];
    const more = Math.max(0, settled.rows - Math.max(0, there - intent.offset));
    const placeOf = (own: number) => (isStaff && placed(own) !== at ? undefined : placed(own));
    stocks.set(at, { run, rows: Math.min(before + more, most - there), placeOf });
  }

  return stocks;
}

/**
 * Whether other runs have everybody of one that is not
 * finished: nobody needs to pay for the rest of that one.
 */
export async function isBoughtElsewhere(
  { id, dataset_version: version, matches, ...identity }: Plan,
  store: RunStore,
) {
  if (version === null || matches === null || identity.target.kind === "enrich") return false;
  const stocks = await stocksOf(store, identity, version, {
    most: matches,
    fits: (run) => run.id !== id,
  });
  return rowsIn(stocks) >= matches;
}

/**
 * Finished, or all of it paid for and only the output
 * failed. A stale one may have pages of two datasets.
 */
const isBought = ({ plan, state }: RunReader): boolean =>
  state.done !== undefined ||
  (pendingUnits(state).length === 0 && (state.session?.rows ?? plan.matches) === placesOf(state));

/**
 * How long a company counts as known where the service does not say which dataset it answers from.
 */
const FRESH_MS = 30 * 86_400_000;

/** By index: of the same service, kind of key and dataset, whatever they were named by. */
export async function ownedCompanies(
  store: RunStore,
  identity: RunIdentity,
  datasetVersion: string | null,
  { limit = Infinity }: Pick<ExportOptions, "limit">,
  { now }: Pick<ExportDeps, "now">,
): Promise<readonly OwnedPage[]> {
  const { target } = identity;
  const replies = new Map<number, Pick<OwnedPage, "run" | "body">>();
  if (target.kind !== "enrich") return [];

  const wanted = new Map(target.companies.map((company, index) => [companyKey(company), index]));
  const isSame = (plan: Plan): boolean =>
    isBeside(identity, plan) &&
    plan.target.kind === "enrich" &&
    plan.dataset_version === datasetVersion &&
    (datasetVersion !== null || now() - Date.parse(plan.created_at) <= FRESH_MS);

  for await (const run of store.runs(isSame)) {
    await takeCompanies(run, wanted, replies, datasetVersion !== null);
    if (replies.size === target.companies.length) break;
  }

  return [...replies]
    .filter(([, { body }]) => body !== undefined || isForgiving(target))
    .slice(0, limit)
    .map(([index, reply]) => ({
      target: index,
      offset: 0,
      perPage: 1,
      rows: reply.body === undefined ? 0 : 1,
      ...reply,
    }));
}

/**
 * Of companies that no reply is there for yet.
 * @param isNamed whom a dataset does not have it will not have
 * tomorrow; of one without a name nobody knows
 */
async function takeCompanies(
  run: RunReader,
  wanted: ReadonlyMap<string, number>,
  replies: Map<number, Pick<OwnedPage, "run" | "body">>,
  isNamed: boolean,
) {
  const { target } = run.plan;
  const companies = target.kind === "enrich" ? target.companies : [];
  const take = ({ intent }: Unit, body?: Buffer, page = Page.empty): void => {
    const own = companies.slice(intent.target, intent.target + 1).map(companyKey);
    for (const key of page.length === 1 ? [...own, ...keysOf(page)] : own) {
      const index = wanted.get(key);
      if (index !== undefined && !replies.has(index)) replies.set(index, { run: run.id, body });
    }
  };

  for (const unit of isNamed ? run.state.units.values() : []) {
    const { miss, refused } = unit.settled ?? {};
    if (miss && refused === undefined) take(unit);
  }

  try {
    for await (const { unit, settled, body } of run.pages()) {
      if (settled.rows !== 1) continue;
      const page = Page.read(body, "company");
      if (page.length === 1) take(unit, body, page);
    }
  } catch {
    // What was read before the damage is good.
  }
}

/** What a company may be asked for by, by its record: a name may be that of several. */
function keysOf(page: Page): string[] {
  return (["id", "domain", "company_network_url"] as const).flatMap((by) => {
    const value = page.identity(0, [by]);
    if (value === undefined) return [];
    // The service has shown whose last part of an address this is.
    const forms = by === "company_network_url" ? addressForms(value) : [value];
    return forms.map((text) => companyKey({ by, value: text }));
  });
}
