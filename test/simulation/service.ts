import { cpSync, existsSync, mkdirSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Engine } from "../../src/dataset/engine.ts";
import { type RunningService, startService } from "../../src/service/http/server.ts";
import type { Store } from "../../src/service/ledger/ledger.ts";
import { openSqliteStore } from "../../src/service/ledger/sqlite.ts";
import { tempDir } from "../support/client.ts";
import type { Scheduler } from "./scheduler.ts";

/** Numbers that no process has: beyond the largest that Linux gives. */
export const NOBODY = 4_200_000;

/** What a service does wrong to its ledger. */
export type Breakage = (store: Store) => Store;

/** One life of the service: from its start to its end or its crash. */
export class Life {
  readonly store: Store;
  readonly #service: RunningService;
  #dead = false;
  #closed = false;
  #free: (() => void)[] = [];

  private constructor(store: Store, service: RunningService) {
    this.store = store;
    this.#service = service;
  }

  get url(): string {
    return this.#service.url;
  }

  /** A ledger in which nobody is yet: the steps that make one take a fifth of a story. @returns its folder */
  static async emptyLedger(): Promise<string> {
    const folder = tempDir("headcount-sim-ledger-");
    const store = await openSqliteStore({
      path: join(folder, "ledger.db"),
      now: () => 0,
      synchronous: "NORMAL",
    });
    await store.close();
    return folder;
  }

  /** @param folder of the ledger. @param nth of the lives of this seed: each is a process of its own to those after it */
  static async start(
    folder: string,
    nth: number,
    engine: Engine,
    scheduler: Scheduler,
    breakage: Breakage = (sound) => sound,
  ): Promise<Life> {
    const now = (): number => scheduler.time;
    const opening = {
      path: join(folder, "ledger.db"),
      now,
      monotonic: now,
      groupWaitMs: 0,
      heartbeatMs: 86_400_000,
    };
    const store = await asProcess(NOBODY + nth, () =>
      openSqliteStore({ ...opening, synchronous: "NORMAL" }),
    );
    let life: Life | undefined;
    const stop = (what: string): Promise<void> => life?.stop(scheduler, what) ?? Promise.resolve();
    const exports = new ExportsAtWork(scheduler);
    const service = await startService({
      engine: withStops(engine, stop),
      store: storeWithStops(breakage(store), stop, exports),
      // The console's exports wait so; whoever else does is let go on by the clock of the machine.
      sleep: (ms) => (exports.isMoving ? stop(`${ms} ms`) : delay(ms)),
      console: {},
      now,
      monotonic: now,
      timeouts: { drain: 1, work: 600_000, facet: 600_000 },
    });
    life = new Life(store, service);
    return life;
  }

  /** A call waits here for the scheduler; one of a dead service for ever. */
  async stop(scheduler: Scheduler, what: string): Promise<void> {
    if (this.#dead) return this.#hang();
    const actor = scheduler.moving;
    scheduler.atService.delete(actor);
    await new Promise<void>((resolve, reject) => {
      // At the very end, when nobody looks any more.
      this.#free.push(() => reject(new Error("the process is dead")));
      const fail = (): void => {
        scheduler.atService.add(actor);
        reject(new Error("simulated failure"));
      };
      const go = (): void => {
        scheduler.atService.add(actor);
        resolve();
      };
      const faults =
        what === "rows"
          ? { "the dataset fails": fail, "line breaks": () => undefined }
          : { "line breaks": () => undefined };
      scheduler.arrive({ actor, kind: "at work", detail: what, faults, go });
    });
    if (this.#dead) await this.#hang();
  }

  #hang(): Promise<never> {
    const dead = new Error("the process is dead");
    return this.#closed
      ? Promise.reject(dead)
      : new Promise((_, reject) => this.#free.push(() => reject(dead)));
  }

  /** What a dead process leaves: its files as they are, without what is in memory. @returns the folder */
  crash(folder: string, next: string): string {
    this.#dead = true;
    mkdirSync(next);
    for (const end of ["", "-wal"]) {
      const name = `ledger.db${end}`;
      if (existsSync(join(folder, name))) cpSync(join(folder, name), join(next, name));
    }
    return next;
  }

  async close(): Promise<void> {
    this.#dead = true;
    this.#closed = true;
    const closed = this.#service.close();
    for (const free of this.#free) free();
    await closed.catch(() => undefined);
    await this.store.close().catch(() => undefined);
  }
}

/** Opens something as a process of another number would. */
async function asProcess<Result>(pid: number, work: () => Promise<Result>): Promise<Result> {
  const own = Object.getOwnPropertyDescriptor(process, "pid") as PropertyDescriptor;
  Object.defineProperty(process, "pid", { ...own, value: pid });
  syncBuiltinESMExports();
  try {
    return await work();
  } finally {
    Object.defineProperty(process, "pid", own);
    syncBuiltinESMExports();
  }
}

type Stop = (what: string) => Promise<void>;

const withStops = (engine: Engine, stop: Stop): Engine =>
  proxied(engine, {
    people: async (...values) => {
      await stop("rows");
      return engine.people(...values);
    },
  });

/** Exports go on in the service when the call that ordered them has its reply: each is somebody of its own to the scheduler. */
class ExportsAtWork {
  readonly #scheduler: Scheduler;
  readonly #actors = new Map<string, string>();

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
  }

  get isMoving(): boolean {
    return this.#scheduler.moving.endsWith("~");
  }

  /** By the call that ordered it. */
  begin(id: string): void {
    const actor = `${this.#scheduler.moving}~`;
    this.#actors.set(id, actor);
    this.#scheduler.atService.add(actor);
  }

  /** Before it stops for the first time: what it meets from then on is its. */
  move(requestId: string): void {
    const [, id = ""] = /^console-(\w+)-\d+$/.exec(requestId) ?? [];
    this.#scheduler.moving = this.#actors.get(id) ?? this.#scheduler.moving;
  }

  end(id: string): void {
    this.#scheduler.atService.delete(this.#actors.get(id) ?? "");
  }
}

const consoleOf = (store: Store, exports: ExportsAtWork): Store["console"] =>
  proxied(store.console, {
    enterExport: async (item, assertFree) => {
      const isEntered = await store.console.enterExport(item, assertFree);
      if (isEntered) exports.begin(item.id);
      return isEntered;
    },
    advanceExport: async (item) => {
      const goesOn = await store.console.advanceExport(item);
      if (!goesOn) exports.end(item.id);
      return goesOn;
    },
    stopExport: async (item, why, turn) => {
      const isStopped = await store.console.stopExport(item, why, turn);
      exports.end(item.id);
      return isStopped;
    },
  });

const storeWithStops = (store: Store, stop: Stop, exports: ExportsAtWork): Store =>
  proxied(store, {
    console: consoleOf(store, exports),
    hold: async (request) => {
      exports.move(request.requestId);
      await stop("hold");
      return store.hold(request);
    },
    settle: async (settlement) => {
      await stop("charge");
      const settled = await store.settle(settlement);
      await stop("charged");
      return settled;
    },
  });

export function proxied<Thing extends object>(thing: Thing, instead: Partial<Thing>): Thing {
  return new Proxy(thing, {
    get: (_, name) => {
      if (name in instead) return Reflect.get(instead, name);
      const value = Reflect.get(thing, name) as unknown;
      return typeof value === "function" ? value.bind(thing) : value;
    },
  });
}
