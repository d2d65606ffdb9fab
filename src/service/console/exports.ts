import { canonicalJson, checkFilters } from "../../contract/filters.ts";
import { priceOf } from "../../contract/money.ts";
import type { ConsoleExport } from "../console-store.ts";
import type { ServedDataset } from "../datasets.ts";
import { type Account, IDEMPOTENCY_TTL_MS, type KeyMode, type Store, type StoredKey } from "../ledger/ledger.ts";
import { Problem } from "../problem.ts";
import { ConsoleRefusal } from "./guard.ts";
import { buyPage, rowsOf } from "./pages.ts";

/** A worker that was not heard of for so long is gone, or its service is. */
const SILENT_MS = 15_000;
const IN_FLIGHT_TRIES = 30;

export interface ExportsOptions {
  readonly store: Store;
  readonly dataset: (mode: KeyMode) => Promise<ServedDataset>;
  readonly workTimeoutMs: number;
  readonly now: () => number;
  readonly monotonic: () => number;
  readonly sleep: (ms: number) => Promise<unknown>;
  /** Told of a fault of the service while nobody waits for an answer. */
  readonly onFault: (id: string, error: unknown) => void;
}

/** Purchases that go on without their tab, page by page; each page under a key of its own, so that none is paid twice. */
export class Exports {
  readonly #options: ExportsOptions;
  readonly #working = new Map<string, { stop: boolean; readonly done: Promise<void> }>();
  #closed = false;

  constructor(options: ExportsOptions) {
    this.#options = options;
  }

  /** Goes on with an export, or begins it. Returns at once. */
  work(item: ConsoleExport, account: Account, key: StoredKey): void {
    if (this.#closed || this.#working.has(item.id)) return;
    const turn = { stop: false, done: Promise.resolve() };
    this.#working.set(item.id, turn);
    const done = this.#buy(item, account, key, () => turn.stop)
      .catch((error: unknown) => this.#options.onFault(item.id, error))
      .finally(() => this.#working.delete(item.id));
    this.#working.set(item.id, Object.assign(turn, { done }));
  }

  /** Ends with the page in flight. */
  stop(id: string): void {
    const turn = this.#working.get(id);
    if (turn !== undefined) turn.stop = true;
  }

  /** @returns the export as a person should see it: one whose service is gone is stopped */
  seen(item: ConsoleExport): ConsoleExport {
    if (item.state !== "buying" || this.#working.has(item.id)) return item;
    if (this.#options.now() - item.seenAt < SILENT_MS) return item;
    return { ...item, state: "stopped", why: "the service ended while it was bought" };
  }

  isKept = (item: ConsoleExport): boolean => this.#options.now() < keptUntil(item);

  async close(): Promise<void> {
    this.#closed = true;
    for (const turn of this.#working.values()) turn.stop = true;
    await Promise.all([...this.#working.values()].map(({ done }) => done));
  }

  async #buy(item: ConsoleExport, account: Account, key: StoredKey, isStopped: () => boolean): Promise<void> {
    const { console: kept } = this.#options.store;
    let now: ConsoleExport = { ...item, state: "buying", why: "" };
    const write = (changes: Partial<ConsoleExport>): Promise<void> => {
      now = { ...now, ...changes, seenAt: this.#options.now() };
      return kept.updateExport(now);
    };
    try {
      await write({});
      while (now.rows < now.profiles && !isStopped()) {
        if (!this.isKept(now)) throw new ConsoleRefusal(410, "expired", "its first pages are no longer kept");
        const rows = await this.#page(now, account, key);
        await write({
          pages: now.pages + 1,
          rows: now.rows + rows,
          credits: (now.credits + priceOf(rows, account.plan.costs.person_search)) as ConsoleExport["credits"],
        });
        if (rows === 0) throw new ConsoleRefusal(409, "short", "the segment has fewer people than were agreed to");
      }
      await write(now.rows >= now.profiles ? { state: "ready" } : { state: "stopped", why: "you stopped it" });
    } catch (error) {
      const isTold = error instanceof Problem || error instanceof ConsoleRefusal;
      await write({ state: "stopped", why: isTold ? error.message : "an internal error of the service" });
      if (!isTold) throw error;
    }
  }

  async #page(item: ConsoleExport, account: Account, key: StoredKey): Promise<number> {
    const served = await this.#options.dataset(item.mode);
    const check = checkFilters(JSON.parse(item.filters));
    if (!check.ok) throw new Error("an export was kept with filters that are none");
    const order = {
      account,
      key,
      filters: check.canonical,
      canonical: canonicalJson(check.canonical),
      version: item.version,
      offset: item.pages * item.perPage,
      rows: Math.min(item.perPage, item.profiles - item.pages * item.perPage),
      idempotencyKey: pageKey(item, item.pages),
    };
    for (let tries = 0; ; tries++) {
      try {
        return rowsOf(await buyPage(order, { ...this.#options, served }));
      } catch (error) {
        // Another process is at this very page: what it gets is ours too.
        if (!(error instanceof Problem) || error.status !== 409 || tries >= IN_FLIGHT_TRIES) throw error;
        await this.#options.sleep(1_000);
      }
    }
  }
}

export const pageKey = ({ id }: ConsoleExport, page: number): string => `console-${id}-${page}`;

/** Epoch milliseconds: so long the replies of its first pages can be had again. */
export const keptUntil = ({ createdAt }: ConsoleExport): number => createdAt + IDEMPOTENCY_TTL_MS;

/** The bodies of its pages in order, from the stored replies. @throws ConsoleRefusal 410 where one is no longer kept: never short */
export async function* storedPages(store: ExportsOptions["store"], item: ConsoleExport): AsyncGenerator<string> {
  for (let page = 0; page < item.pages; page++) {
    const reply = await store.console.storedReply(item.accountId, item.mode, "person_search", pageKey(item, page));
    if (reply === undefined) {
      throw new ConsoleRefusal(
        410,
        "expired",
        `page ${page + 1} of ${item.pages} is no longer kept: replies are kept for 24 hours`,
      );
    }
    yield reply.body;
  }
}
