import { createHash } from "node:crypto";
import { join } from "node:path";
import type { Writable } from "node:stream";
import type { Pacer } from "../client/pacing.ts";
import type { AccountView, CompanyQuery, ServiceClient } from "../client/types.ts";
import { type Credits, creditsToNumber } from "../contract/money.ts";
import { PER_PAGE_MAX } from "../contract/records.ts";
import { echo } from "../contract/text.ts";
import { CliError, EXIT, usageError } from "../errors.ts";
import { Distinct, distinctPages, kindOf } from "../output/distinct.ts";
import { FORMATS, type Format, type Rendering } from "../output/formats.ts";
import { checkOutput, exists, FileOutput, type Output, StreamOutput, sha256Of } from "../output/output.ts";
import type { RowsTable } from "../output/table.ts";
import type { Disk } from "../runs/disk.ts";
import { creditsOf, creditText, pendingUnits } from "../runs/journal.ts";
import { acquireLock, type Lock, type LockOptions } from "../runs/lock.ts";
import { describeTarget, type Plan, type RunCommand, type RunIdentity, type Target } from "../runs/plan.ts";
import type { Run } from "../runs/run.ts";
import { RunStore } from "../runs/run-store.ts";
import { Buyer } from "./buyer.ts";
import type { BuyProgress, Clock } from "./flight.ts";
import { consentedCap, makeQuote, type Quote, requireBalance } from "./quote.ts";
import { buildReceipt, type Receipt } from "./receipt.ts";
import { sourceOf } from "./source.ts";

/** The service that an export buys from. */
export interface Seller {
  readonly client: ServiceClient;
  readonly pacer: Pacer;
  readonly connectionName: string;
  /** Names the service for good (its base URL; for the sample a name without a port). */
  readonly serviceId: string;
  readonly maxWaitMs: number;
}

/** What the user asked for, checked. */
export interface ExportOptions {
  /** Absolute path, or undefined: stdout. */
  readonly output: string | undefined;
  readonly format: Format;
  readonly fields: readonly string[] | undefined;
  readonly excel: boolean;
  readonly raw: boolean;
  readonly maxCredits: Credits | undefined;
  readonly limit: number | undefined;
  readonly perPage: number | undefined;
  readonly concurrency: number;
  readonly dryRun: boolean;
  readonly fresh: boolean;
  readonly overwrite: boolean;
  readonly requireComplete: boolean;
  readonly wait: boolean;
  /** Absolute paths. */
  readonly receipt: string | undefined;
  readonly misses: string | undefined;
}

export interface ExportDeps extends Clock {
  readonly seller: Seller;
  readonly stateDir: string;
  readonly disk: Disk;
  readonly pid: number;
  readonly stdout: Writable;
  readonly interrupted: AbortSignal;
  /** Loads what draws rows for a terminal (`terminal/`); called for the table format only. */
  readonly table?: (() => Promise<(columns: readonly string[]) => RowsTable>) | undefined;
  /** Shows the quote and gets consent, or throws (exit 2, exit 10). Not called where nothing more than agreed before is spent. */
  readonly consent: (quote: Quote, resuming: boolean) => Promise<void>;
  /** Errors of calls as the command line reports them. */
  readonly mapError: (error: unknown) => unknown;
  readonly onNotice: (text: string) => void;
  /** The buying begins: how many rows are there, and how many are meant to be. */
  readonly onStart?:
    | ((start: { readonly kept: number; readonly rows: number; readonly cap: Credits }) => void)
    | undefined;
  readonly onProgress?: ((progress: BuyProgress) => void) | undefined;
}

export interface Finished {
  readonly receipt: Receipt;
  readonly quote: Quote;
  readonly run: string;
  /** Balance after the last call, where it is known. */
  readonly balance: Credits | undefined;
  /** Companies that the service does not know, as they were given. */
  readonly misses: readonly string[];
}

export type ExportResult =
  | { readonly kind: "quoted"; readonly quote: Quote }
  | ({ readonly kind: "finished" } & Finished);

/**
 * Buys an export: quote, consent, pages, output, receipt. A run that the same command left unfinished is continued.
 * @throws CliError with the exit codes of cli.md; whatever was paid for is kept in the run by then
 */
export async function runExport(
  command: RunCommand,
  target: Target,
  options: ExportOptions,
  deps: ExportDeps,
): Promise<ExportResult> {
  const output = options.output === undefined ? undefined : await checkOutput(options.output);
  for (const path of [options.receipt, options.misses]) if (path !== undefined) await checkOutput(path);
  const outputLock = output === undefined || options.dryRun ? undefined : await lockOutput(output, options.wait, deps);
  try {
    const store = new RunStore(deps.stateDir, deps.disk);
    const account = await deps.seller.client.account(deps.interrupted);
    const identity = identityOf(target, output ?? null, account, deps.seller);
    const open = options.fresh ? undefined : await store.findOpen(identity);
    if (open !== undefined && !options.dryRun) {
      deps.onNotice(`continuing run ${open.id}: nothing that it bought is bought again (--fresh begins anew)`);
      const run = await store.openForWriting(open.id, lockOptions(`run ${open.id}`, options.wait, deps));
      return await continueRun(run, store, { ...options, output }, account, deps, false);
    }
    if (output !== undefined && !options.overwrite && open === undefined && (await exists(output)))
      throw fileExists(output);
    const counted =
      target.kind === "search" ? await deps.seller.client.count(target.filters, deps.interrupted) : undefined;
    const matches = counted?.count ?? (await countOf(target, deps));
    const version = counted?.meta.datasetVersion ?? account.datasetVersion ?? null;
    const spent = open === undefined ? undefined : (await store.open(open.id)).state;
    const quote = quoteFor(target, matches, account, options, deps, spent);
    if (options.dryRun) return { kind: "quoted", quote };
    requireBalance(quote, target);
    if (quote.credits > 0n) await deps.consent(quote, false);
    const plan = {
      command,
      ...identity,
      dataset_version: version,
      unit_price: creditText(quote.unitPrice),
      matches,
      paging: deps.seller.client.dialect.paging,
      view: { format: options.format, fields: options.fields ?? null, excel: options.excel, raw: options.raw },
      per_page: options.perPage ?? null,
      overwrite: options.overwrite,
      misses: options.misses ?? null,
      receipt: options.receipt ?? null,
    };
    const run = await store.create(plan, deps.now(), lockOptions("the new run", options.wait, deps));
    return await buyAndWrite(run, store, quote, { ...options, output }, account, deps);
  } finally {
    await outputLock?.release();
  }
}

/**
 * Continues a run by its id (`headcount resume`). Output, format and fields are the run's own unless `options` name others.
 * @throws CliError exit 5 where service, account, key mode or dataset are not the run's
 */
export async function resumeExport(
  id: string,
  options: Pick<
    ExportOptions,
    "maxCredits" | "limit" | "perPage" | "concurrency" | "overwrite" | "requireComplete" | "wait"
  >,
  deps: ExportDeps,
): Promise<ExportResult> {
  const store = new RunStore(deps.stateDir, deps.disk);
  const plan = await store.readPlan(id);
  const output = plan.output === null ? undefined : await checkOutput(plan.output);
  const outputLock = output === undefined ? undefined : await lockOutput(output, options.wait, deps);
  try {
    const account = await deps.seller.client.account(deps.interrupted);
    const run = await store.openForWriting(id, lockOptions(`run ${id}`, options.wait, deps));
    const format = FORMATS.find((known) => known === plan.view.format) ?? "ndjson";
    const whole: ExportOptions = {
      ...options,
      perPage: options.perPage ?? plan.per_page ?? undefined,
      output,
      format,
      fields: plan.view.fields ?? undefined,
      excel: plan.view.excel,
      raw: plan.view.raw,
      dryRun: false,
      fresh: false,
      receipt: plan.receipt ?? undefined,
      misses: plan.misses ?? undefined,
    };
    return await continueRun(run, store, whole, account, deps, true);
  } finally {
    await outputLock?.release();
  }
}

async function continueRun(
  run: Run,
  store: RunStore,
  options: ExportOptions,
  account: AccountView,
  deps: ExportDeps,
  /** Whether limit and cap of the session before hold on where none are given. */
  inherit: boolean,
): Promise<ExportResult> {
  const { plan, state } = run;
  try {
    await checkSame(plan, account, deps);
    const { output } = options;
    const mayReplace = options.overwrite || plan.overwrite === true;
    if (output !== undefined && !mayReplace && (await exists(output)) && !(await isOwnOutput(run, output))) {
      throw fileExists(output);
    }
    const before = state.session;
    const earlier = inherit ? before : undefined;
    const limit = options.limit ?? earlier?.limit ?? undefined;
    const maxCredits = options.maxCredits ?? (earlier?.maxCredits == null ? undefined : creditsOf(earlier.maxCredits));
    const quote = quoteFor(plan.target, plan.matches, account, { ...options, limit, maxCredits }, deps, state);
    requireBalance(quote, plan.target);
    // No more than was agreed to before needs no new consent; lost replies may have eaten into it.
    const consented = consentedCap(quote, state, maxCredits) <= creditsOf(before?.cap);
    if (!consented && quote.credits > 0n) await deps.consent(quote, true);
    return await buyAndWrite(run, store, quote, { ...options, limit, maxCredits }, account, deps);
  } catch (error) {
    await run.close().catch(() => undefined);
    throw error;
  }
}

/** The run's service, account, key mode and dataset, or a refusal that names the difference. */
async function checkSame(plan: Plan, account: AccountView, deps: ExportDeps): Promise<void> {
  const { seller } = deps;
  const now = identityOf(plan.target, plan.output, account, seller);
  const differences: string[] = [];
  const compare = (what: string, was: string | null, is: string | null): void => {
    if (was !== null && is !== null && was !== is) differences.push(`${what} was ${was} and is ${is}`);
  };
  compare("the service", plan.base_url, now.base_url);
  compare("the account", plan.account_id, now.account_id);
  compare("the key mode", plan.key_mode, now.key_mode);
  let version = account.datasetVersion ?? null;
  if (version === null && plan.dataset_version !== null && plan.target.kind === "search") {
    version = (await seller.client.count(plan.target.filters, deps.interrupted)).meta.datasetVersion ?? null;
  }
  compare("the dataset version", plan.dataset_version, version);
  compare("the paging", plan.paging, seller.client.dialect.paging);
  if (differences.length === 0) return;
  throw new CliError({
    code: "run_mismatch",
    category: "incomplete",
    exitCode: EXIT.incomplete,
    message: `run ${plan.id} cannot be continued: ${differences.join("; ")}; nothing was spent`,
    hint: `headcount runs export ${plan.id} writes what it holds at 0 credits; --fresh buys everything anew`,
  });
}

const isOwnOutput = async (run: Run, output: string): Promise<boolean> => {
  const receipt = (await run.receipt()) as Partial<Receipt> | undefined;
  const expected = receipt?.output?.sha256;
  return expected !== undefined && expected === (await sha256Of(output));
};

function identityOf(target: Target, output: string | null, account: AccountView, seller: Seller): RunIdentity {
  return {
    connection: seller.connectionName,
    base_url: seller.serviceId,
    account_id: account.accountId ?? null,
    key_mode: account.keyMode ?? null,
    target,
    output,
  };
}

/** The call that a target buys by, as the account names it, and its price there. */
const PAID_CALLS = {
  search: { call: "person_search", cost: "personSearch" },
  employees: { call: "company_employees", cost: "companyEmployees" },
  enrich: { call: "company_enrich", cost: "companyEnrich" },
} as const;

const priceFor = (target: Target, { costs }: AccountView): Credits => costs[PAID_CALLS[target.kind].cost];

/** Above this many companies the free counts would cost more calls than the pages themselves. */
const MAX_COUNTS = 100;

/** How many rows a list of companies can bring at most; null where no free count tells. */
async function countOf(target: Target, { seller, interrupted }: ExportDeps): Promise<number | null> {
  if (target.kind === "enrich") return target.companies.length;
  if (target.kind !== "employees") return null;
  const { companies, perCompany } = target;
  const most = perCompany === null ? null : perCompany * companies.length;
  if (companies.length > MAX_COUNTS || companies.some(({ by }) => by !== "company_network_url")) return most;
  let sum = 0;
  for (const { value } of companies) {
    const { count } = await seller.client.count({ company_network_url: value }, interrupted);
    // Nobody may mean that the service does not know the company at all; only asking for one person tells.
    sum += Math.min(Math.max(count, 1), perCompany ?? Number.POSITIVE_INFINITY);
  }
  return sum;
}

const perPageOf = (options: ExportOptions, account: AccountView, { seller }: ExportDeps): number =>
  Math.min(options.perPage ?? PER_PAGE_MAX, account.perPageMax ?? seller.client.dialect.perPageMax ?? PER_PAGE_MAX);

function quoteFor(
  target: Target,
  matches: number | null,
  account: AccountView,
  options: ExportOptions,
  deps: ExportDeps,
  state: Pick<Run["state"], "rows" | "settled" | "uncertain"> | undefined,
): Quote {
  const { call } = PAID_CALLS[target.kind];
  if (account.unknownCosts.includes(call)) {
    deps.onNotice(`warning: the account does not tell what ${call} costs; counted as 1 credit`);
  }
  return makeQuote({
    target,
    matches,
    price: priceFor(target, account),
    balance: account.balance,
    limit: options.limit,
    maxCredits: options.maxCredits,
    maxDepth: account.maxDepth,
    perPage: perPageOf(options, account, deps),
    perMinute: account.perMinute ?? deps.seller.pacer.perMinute(),
    paging: deps.seller.client.dialect.paging,
    spent: {
      rows: state?.rows ?? 0,
      settled: state?.settled ?? creditsOf("0"),
      uncertain: state?.uncertain ?? creditsOf("0"),
    },
  });
}

/** Buys what the quote says and writes it. Closes the run whatever happens. */
async function buyAndWrite(
  run: Run,
  store: RunStore,
  quote: Quote,
  options: ExportOptions,
  account: AccountView,
  deps: ExportDeps,
): Promise<ExportResult> {
  const { seller, now } = deps;
  let written: Output | undefined;
  try {
    const rendering: Rendering = {
      format: options.format,
      kind: kindOf(run),
      fields: options.fields,
      excel: options.excel,
      raw: options.raw,
      table: options.format === "table" ? await deps.table?.() : undefined,
    };
    const sink: Output =
      options.output === undefined
        ? new StreamOutput(deps.stdout, rendering, deps.interrupted)
        : await FileOutput.open(options.output, run.id, rendering, deps.disk);
    written = sink;
    const cap = consentedCap(quote, run.state, options.maxCredits);
    await run.append({
      t: "session",
      maxCredits: options.maxCredits === undefined ? null : creditText(options.maxCredits),
      limit: options.limit ?? null,
      cap: creditText(cap),
      rows: quote.rows,
      at: now(),
    });
    deps.onStart?.({ kept: run.state.rows, rows: quote.rows, cap });
    const distinct = new Distinct(kindOf(run), quote.matches === null ? Math.min(quote.rows, 50_000) : quote.rows);
    const buyer = new Buyer({
      now,
      sleep: deps.sleep,
      random: deps.random,
      run,
      client: seller.client,
      source: sourceOf(run.plan.target, seller.client, quote),
      pacer: seller.pacer,
      price: quote.unitPrice,
      cap,
      maxRows: quote.rows,
      perPage: perPageOf(options, account, deps),
      concurrency: options.concurrency,
      maxWaitMs: seller.maxWaitMs,
      interrupted: deps.interrupted,
      honoursKeys: run.plan.dataset_version !== null,
      balance: account.balance,
      datasetVersion: run.plan.dataset_version,
      commit: async (page) => sink.write(distinct.take(page)),
      // One page that comes again may be a slip. Two are a service that does not turn pages: it would sell the same rows for ever.
      enough: () => run.plan.target.kind === "search" && distinct.repeatedPages > 1,
      onProgress: deps.onProgress,
      onNotice: deps.onNotice,
    });
    const bought = await buyer.buy();
    const missed = theOneMissed(run);
    if (missed !== undefined) throw companyNotFound(missed);
    const { balance } = bought;
    const receipt = buildReceipt({ run, quote, distinct, bought, balance, finishedAt: now() });
    const copyReceipt = async (copy: Receipt): Promise<void> => {
      if (options.receipt === undefined) return;
      await deps.disk.replaceFile(options.receipt, `${JSON.stringify(copy, null, 2)}\n`, "receipt copy");
    };
    if (receipt.shortfall !== null) {
      await run.writeReceipt(receipt);
      await copyReceipt(receipt);
      throw new CliError({
        code: "incomplete",
        category: "incomplete",
        exitCode: EXIT.incomplete,
        message: receipt.shortfall,
      });
    }
    if (options.requireComplete && !receipt.complete) {
      await run.writeReceipt(receipt);
      await copyReceipt(receipt);
      throw notComplete(receipt);
    }
    const file = await sink.prepare(() => distinctPages(run));
    const whole: Receipt = {
      ...receipt,
      output: file === undefined ? null : { file: file.path, format: options.format, ...file },
    };
    // Before the file appears: a crash between the two leaves a file that the run knows as its own.
    await run.writeReceipt(whole);
    const misses = missesOf(run);
    if (options.misses !== undefined) {
      await deps.disk.replaceFile(options.misses, misses.map((line) => `${line}\n`).join(""), "misses");
    }
    await copyReceipt(whole);
    await sink.publish();
    written = undefined;
    await store.finish(run, now());
    await run.close();
    return { kind: "finished", receipt: whole, quote, run: run.id, balance, misses };
  } catch (error) {
    await written?.abort().catch(() => undefined);
    const ended = ending(error, run, deps);
    const empty = run.state.rows === 0 && run.state.uncertain === 0n && pendingUnits(run.state).length === 0;
    await run.close().catch(() => undefined);
    // A run that bought nothing is no run: only clutter.
    if (empty) await store.remove(run.id, { force: true }).catch(() => undefined);
    throw ended;
  }
}

/** What ended a run before its end, with where things are and how to go on. */
function ending(error: unknown, run: Run, deps: ExportDeps): unknown {
  const { rows, session } = run.state;
  const pending = pendingUnits(run.state).length;
  const interrupted = deps.interrupted.aborted;
  const mapped = interrupted ? undefined : deps.mapError(error);
  if (mapped instanceof CliError && mapped.exitCode === EXIT.pipeClosed) return mapped;
  const kept = `${rows} of ${session?.rows ?? run.plan.matches ?? "?"} rows are paid for and kept in run ${run.id}`;
  const open =
    pending > 0
      ? [
          `${pending === 1 ? "one page" : `${pending} pages`} in flight may be charged; going on asks for them under the same key`,
        ]
      : [];
  if (rows === 0 && pending === 0 && !interrupted) return mapped;
  if (interrupted) {
    return new CliError({
      code: "interrupted",
      category: "interrupted",
      exitCode: EXIT.interrupted,
      message: `interrupted: ${rows === 0 && pending === 0 ? "nothing was bought" : kept}`,
      details: open,
      ...(rows === 0 && pending === 0 ? {} : { hint: `headcount resume ${run.id} goes on` }),
    });
  }
  const failure = mapped instanceof CliError ? mapped : diskError(mapped, run);
  if (failure === undefined) return mapped;
  if (failure.code.startsWith("damaged")) return failure;
  return new CliError({
    code: failure.code,
    category: failure.category,
    exitCode: failure.exitCode,
    message: failure.message,
    ...(failure.status === undefined ? {} : { status: failure.status }),
    ...(failure.requestId === undefined ? {} : { requestId: failure.requestId }),
    details: [...failure.details, kept, ...open, ...(failure.hint === undefined ? [] : [failure.hint])],
    hint:
      failure.category === "incomplete"
        ? `headcount runs export ${run.id} writes what there is at 0 credits; headcount resume ${run.id} tries to go on`
        : `headcount resume ${run.id} goes on where it stopped`,
    cause: failure,
  });
}

/** A disk that is full or gone: everything that was paid for before is kept, so it is no bug but a stop. */
function diskError(error: unknown, run: Run): CliError | undefined {
  if (!(error instanceof Error) || !("syscall" in error)) return undefined;
  const code = String((error as NodeJS.ErrnoException).code);
  return new CliError({
    code: code === "ENOSPC" || code === "EDQUOT" ? "disk_full" : "filesystem",
    category: "filesystem",
    exitCode: EXIT.incomplete,
    message: code === "ENOSPC" ? `the disk is full: ${error.message}` : `cannot write: ${error.message}`,
    details: [`the run is in ${run.path}`],
    cause: error,
  });
}

function notComplete(receipt: Receipt): CliError {
  return new CliError({
    code: "incomplete",
    category: "incomplete",
    exitCode: EXIT.incomplete,
    message: `not complete: ${receipt.received} of ${receipt.count ?? "an unknown number of"} rows were bought, as ${receipt.bound === "cap" ? "--max-credits" : "--limit"} says`,
    hint: "a higher limit goes on with the same run",
  });
}

function missesOf(run: Run): string[] {
  const { target } = run.plan;
  if (target.kind === "search") return [];
  const misses: string[] = [];
  for (const { intent, settled } of run.state.units.values()) {
    if (settled?.miss === true) misses.push(target.companies[intent.target]?.value ?? "");
  }
  return misses;
}

/** The company of a single look-up that found nothing. */
function theOneMissed({ plan: { target }, state }: Run): CompanyQuery | undefined {
  const single = target.kind !== "search" && target.companies.length === 1 && state.misses === 1;
  return single ? target.companies[0] : undefined;
}

/** A single look-up's 404: exit 6, free of charge (contract section 4.4). */
const companyNotFound = ({ by, value }: CompanyQuery): CliError =>
  new CliError({
    code: "not_found",
    category: "not_found",
    exitCode: EXIT.notFound,
    status: 404,
    message: `no company has the ${by === "company_network_url" ? "profile address" : by} "${echo(value)}"; nothing was charged`,
    hint: "a domain looks like acme.com, a profile address like network.example/company/acme; --name looks up by name",
  });

const fileExists = (path: string): CliError =>
  usageError(
    `${path} exists already; nothing was spent`,
    "--overwrite replaces it once the new one is whole",
    "file_exists",
  );

const lockOptions = (what: string, wait: boolean, deps: ExportDeps): LockOptions => ({
  what,
  wait,
  pid: deps.pid,
  now: deps.now,
  sleep: deps.sleep,
  signal: deps.interrupted,
  onWait: (holder) => deps.onNotice(`waiting for process ${holder?.pid ?? "?"}, which is at work on ${what}`),
});

/** One run for one output at a time, wherever its state folder keeps the runs. */
async function lockOutput(output: string, wait: boolean, deps: ExportDeps): Promise<Lock> {
  const folder = join(deps.stateDir, "locks");
  await deps.disk.makeFolder(folder);
  const name = createHash("sha256").update(output).digest("hex").slice(0, 32);
  return acquireLock(join(folder, `${name}.lock`), lockOptions(output, wait, deps));
}

/** The quote as JSON (`--dry-run --json`). */
export const quoteJson = (quote: Quote, target: Target): Record<string, unknown> => ({
  target: describeTarget(target),
  matches: quote.matches,
  rows: quote.rows,
  kept: quote.kept,
  bound: quote.bound,
  unit_cost: creditsToNumber(quote.unitPrice),
  credits: creditsToNumber(quote.credits),
  balance: quote.balance === undefined ? null : creditsToNumber(quote.balance),
  balance_after: quote.balanceAfter === undefined ? null : creditsToNumber(quote.balanceAfter),
  requests: quote.requests,
  rate_limited_seconds: quote.durationMs / 1000,
  max_depth: quote.depth ?? null,
});
