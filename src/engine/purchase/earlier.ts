import { counted, grouped } from "../../shared/contract/text.ts";
import { Page } from "../../shared/rows/page.ts";
import type { RecordKind } from "../../shared/rows/values.ts";
import { pagingName } from "../client/dialect.ts";
import { kindOf } from "../output/distinct.ts";
import { pendingUnits, type Unit } from "../runs/journal.ts";
import { companyKey, isForgiving, type Plan, type RunIdentity, targetText } from "../runs/plan.ts";
import type { RunReader } from "../runs/reader.ts";
import type { RunStore } from "../runs/run-store.ts";
import type { ExportDeps, ExportOptions, Inquiry } from "./order.ts";
import type { OwnedPage } from "./ownership.ts";
import type { Quote } from "./quote.ts";
import type { Receipt } from "./receipt.ts";

/** Runs that are looked through. */
const LOOKS = 300;

/** A finished run with the same people of the same dataset: what it holds is written, and not paid for again. */
export interface Reuse {
  readonly run: string;
  readonly rows: number;
  readonly text: string;
  /** What it was divided into, as offsets are within its parts. */
  readonly plan: Plan;
  readonly pages: () => AsyncIterable<OwnedPage>;
}

export async function earlierRun(
  { store, identity, options, deps }: Pick<Inquiry, "store" | "identity" | "options" | "deps">,
  datasetVersion: string | null,
  quote: Pick<Quote, "rows" | "rowsUncapped" | "depth">,
): Promise<Reuse | undefined> {
  const { target } = identity;
  const isList = target.kind === "search" && (target.list ?? target.owned) !== undefined;
  if (options.fresh || isList || target.kind === "enrich") return undefined;
  const { rows: capped, rowsUncapped: most = capped } = quote;
  const run = await earlier(store, identity, datasetVersion, most);
  const stock = run?.state.rows ?? 0;
  const rows = stock >= most ? most : capped;
  if (run === undefined || Math.min(stock, rows) === 0) return undefined;
  const { id, plan } = run;
  const { forgotten = 0 } = ((await store.receipt(id)) ?? {}) as Partial<Receipt>;
  const note = forgotten > 0 ? `, and ${grouped(forgotten)} of its ${grouped(stock)} forgotten since` : "";
  const isWhole = stock >= rows;
  // More rows may lie behind a wall that those of the earlier run did not reach.
  const isDivided = quote.depth !== undefined && plan.parts === undefined;
  const when = `run ${id} of ${plan.created_at.slice(0, 16).replace("T", " ")} UTC`;
  const isApart = !isWhole && (isDivided || !goesOn(run, deps));
  // Where nobody names the dataset, other people may be there by now.
  if (datasetVersion === null || isApart) {
    const line = `${when} bought ${grouped(stock)} ${stock === 1 ? "row" : "rows"} of the same${note}`;
    const unnamed = "the service names no dataset, so nobody knows whether these are others, and all are paid for";
    const why = datasetVersion === null ? unnamed : "what it lacks cannot be bought apart, and all are paid for";
    deps.onWarning(`notice: ${line}; ${why}. headcount runs export ${id} writes those of then for nothing`);
    return undefined;
  }
  const these = rows === 1 ? "this row" : `these ${grouped(rows)} rows`;
  const what = isWhole ? `${stock === rows ? "" : "all of "}${these} already` : `${counted(stock, "row")} of the same`;
  const text = `${when} ${note === "" ? "holds" : "held"} ${what}${note}: not paid for again (--again pays for all)`;
  const count = Math.min(stock, rows);
  return { run: id, rows: count, text, plan, pages: () => pagesOf(run, count) };
}

/** Whether the rows that it lacks can be asked for beside those that it holds. */
function goesOn({ plan }: RunReader, { seller }: Pick<ExportDeps, "seller">): boolean {
  const before = pagingName({ paging: plan.paging, firstPage: plan.first_page });
  return plan.draw === undefined && before === pagingName(seller.client.dialect);
}

async function* pagesOf(run: RunReader, most: number): AsyncIterable<OwnedPage> {
  let rest = most;
  for await (const { unit, settled, body } of run.pages()) {
    if (rest <= 0) return;
    const { target, offset, perPage } = unit.intent;
    const rows = Math.min(rest, settled.rows);
    rest -= rows;
    const own = { target, offset, perPage, run: run.id, rows };
    // A page that is cut is whole as it is: a short one would say that nobody follows.
    yield rows === settled.rows
      ? { ...own, body, told: settled }
      : { ...own, perPage: rows, body: begun(body, rows, kindOf(run)) };
  }
}

function begun(body: Buffer, rows: number, kind: RecordKind): Buffer {
  const page = Page.read(body, kind);
  const texts = Array.from({ length: Math.min(rows, page.length) }, (_, index) => page.text(index));
  return Buffer.from(`{"result":[${texts.join(",")}]}`);
}

/** Newest first, of the same service and kind of key. One that is damaged hides nothing of the others. */
async function* runsOf(
  store: RunStore,
  { base_url, key_mode }: RunIdentity,
  isMeant: (plan: Plan) => boolean,
): AsyncGenerator<RunReader> {
  for (const id of (await store.ids()).slice(0, LOOKS)) {
    const plan = await store.readPlan(id).catch(() => undefined);
    if (plan === undefined || plan.base_url !== base_url || plan.key_mode !== key_mode || !isMeant(plan)) continue;
    const run = await store.open(id).catch(() => undefined);
    if (run !== undefined) yield run;
  }
}

async function earlier(
  store: RunStore,
  identity: RunIdentity,
  datasetVersion: string | null,
  rows: number,
): Promise<RunReader | undefined> {
  const { target, account_id } = identity;
  // Of a sample without a seed another one is wanted each time.
  if (target.kind === "search" && target.sample?.seed === null) return undefined;
  const wanted = targetText(target);
  const isSame = (plan: Plan): boolean =>
    plan.account_id === account_id && plan.dataset_version === datasetVersion && boughtText(plan) === wanted;
  let most: RunReader | undefined;
  for await (const run of runsOf(store, identity, isSame)) {
    if (!isBought(run) || run.state.rows <= (most?.state.rows ?? 0)) continue;
    most = run;
    if (run.state.rows >= rows) break;
  }
  return most;
}

/** Whether another run has everybody of one that is not finished: nobody needs to pay for the rest of that one. */
export async function isBoughtElsewhere({ id, dataset_version: version, matches, ...identity }: Plan, store: RunStore) {
  if (version === null || matches === null || identity.target.kind === "enrich") return false;
  const whole = await earlier(store, identity, version, matches);
  return whole !== undefined && whole.id !== id && whole.state.rows >= matches;
}

/** Finished, or all of it paid for and only the output failed. */
const isBought = ({ plan, state }: RunReader): boolean =>
  state.done !== undefined ||
  (pendingUnits(state).length === 0 && (state.session?.rows ?? plan.matches) === state.rows);

function boughtText({ target, draw }: Plan): string {
  if (draw === undefined || target.kind !== "search" || target.sample === undefined) return targetText(target);
  return targetText({ ...target, sample: { ...target.sample, seed: draw.seed } });
}

/** How long a company counts as known where the service does not say which dataset it answers from. */
const FRESH_MS = 30 * 86_400_000;

/** By index: of the same service, kind of key and dataset, whatever they were named by. */
export async function ownedCompanies(
  store: RunStore,
  identity: RunIdentity,
  datasetVersion: string | null,
  { fresh, limit = Number.POSITIVE_INFINITY }: Pick<ExportOptions, "fresh" | "limit">,
  { now }: Pick<ExportDeps, "now">,
): Promise<readonly OwnedPage[]> {
  const { target } = identity;
  const replies = new Map<number, Pick<OwnedPage, "run" | "body">>();
  if (fresh || target.kind !== "enrich") return [];
  const wanted = new Map(target.companies.map((company, index) => [companyKey(company), index]));
  const isSame = ({ target: { kind }, dataset_version, created_at }: Plan): boolean =>
    kind === "enrich" &&
    dataset_version === datasetVersion &&
    (datasetVersion !== null || now() - Date.parse(created_at) <= FRESH_MS);
  for await (const run of runsOf(store, identity, isSame)) {
    const { target: other } = run.plan;
    const companies = other.kind === "enrich" ? other.companies : [];
    const indexesOf = ({ intent }: Unit, page = Page.empty): number[] => {
      const own = companies.slice(intent.target, intent.target + 1).map(companyKey);
      const keys = [...own, ...(page.length === 1 ? keysOf(page) : [])];
      return [...new Set(keys.flatMap((key) => wanted.get(key) ?? []))].filter((index) => !replies.has(index));
    };
    // Whom this dataset does not have it will not have tomorrow; of one without a name nobody knows.
    for (const unit of datasetVersion === null ? [] : run.state.units.values()) {
      const { miss, refused } = unit.settled ?? {};
      if (miss !== true || refused !== undefined) continue;
      for (const index of indexesOf(unit)) replies.set(index, { run: run.id, body: undefined });
    }
    try {
      for await (const { unit, settled, body } of run.pages()) {
        if (settled.rows !== 1) continue;
        const page = Page.read(body, "company");
        for (const index of page.length === 1 ? indexesOf(unit, page) : []) replies.set(index, { run: run.id, body });
      }
    } catch {
      // What was read before the damage is good.
    }
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

/** What a company may be asked for by, by its record: a name may be that of several. */
function keysOf(page: Page): string[] {
  return (["id", "domain", "company_network_url"] as const).flatMap((by) => {
    const value = page.identity(0, [by]);
    return value === undefined ? [] : companyKey({ by, value });
  });
}
