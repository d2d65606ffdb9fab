import type { Pacer } from "../client/pacing.ts";
import type { Dialect, PagePosition, PageReply, PaidCallOptions, ServiceClient } from "../client/types.ts";
import type { Credits } from "../contract/money.ts";
import type { Page } from "../output/page.ts";
import type { Unit } from "../runs/journal.ts";
import type { Run } from "../runs/run.ts";
import { Agenda, type Targets } from "./next-page.ts";

/** What a run asks for, target by target: one for a search, one for each company otherwise. */
export interface Source extends Targets {
  call(target: number, position: PagePosition, options: PaidCallOptions): Promise<PageReply>;
  /** Whether a 404 means that the service does not know this target (free), and not a mistake. */
  readonly missing: boolean;
}

export interface Clock {
  readonly now: () => number;
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
  readonly random: () => number;
}

/** What a person may be shown while a run is at work. */
export interface BuyProgress {
  /** Rows paid for and kept. */
  readonly rows: number;
  readonly settled: Credits;
  readonly uncertain: Credits;
  /** The wait that is under way: for the rate limit or before another attempt. */
  readonly wait: { readonly reason: "rate_limit" | "retry"; readonly until: number; readonly why: string } | undefined;
}

export interface BuyerOptions extends Clock {
  readonly run: Run;
  readonly client: ServiceClient;
  readonly source: Source;
  readonly pacer: Pacer;
  /** Credits a row. */
  readonly price: Credits;
  /** The most that this run may cost in all its sessions, uncertain credits included; undefined: only `maxRows` counts. */
  readonly cap: Credits | undefined;
  /** The most rows that this run may buy in all its sessions; undefined: as many as there are. */
  readonly maxRows: number | undefined;
  readonly perPage: number;
  readonly concurrency: number;
  readonly maxWaitMs: number;
  readonly interrupted: AbortSignal;
  /** Whether the service is known to honour `Idempotency-Key`. */
  readonly honoursKeys: boolean;
  /** Balance before the first call, where the service told. */
  readonly balance: Credits | undefined;
  readonly datasetVersion: string | null;
  /** Takes the pages in the order of the output, each once, after it is settled. A rejection ends the buying. */
  readonly commit: (page: Page, unit: Unit) => Promise<void>;
  /** Asked after each page that was handed on: whether what came is reason to buy no more. */
  readonly enough?: (() => boolean) | undefined;
  readonly onProgress?: ((progress: BuyProgress) => void) | undefined;
  readonly onNotice?: ((text: string) => void) | undefined;
}

/** Where the service refused to go deeper, with its words. */
export interface Wall {
  readonly offset: number;
  readonly detail: string;
}

/** Why a run bought no more, where nothing went wrong. */
export interface BuyResult {
  /** `all`: nothing is left to ask for. `limit`: the rows or credits allowed are used up. */
  readonly ended: "all" | "limit";
  readonly wall: Wall | undefined;
  /** The dataset version that a reply named instead of the run's. */
  readonly movedTo: string | undefined;
  /** Rows of the segment as the last reply told; undefined where no reply did. */
  readonly total: number | undefined;
  /** Balance after the last call, where the service tells. */
  readonly balance: Credits | undefined;
}

/** `ready`: its intent is written; `flying`: asked for; `keeping`: its reply is being written; `doubt`: it may be charged. */
export type Phase = "ready" | "flying" | "keeping" | "doubt";

/** A unit that is being bought. */
export interface Active {
  readonly unit: Unit;
  readonly hold: Credits;
  phase: Phase;
  /** Whether any attempt may have reached the service. */
  sent: boolean;
}

/** What the parts of a buyer share: what is in flight, what is left, and the end of it all. */
export class Buying {
  readonly options: BuyerOptions;
  readonly run: Run;
  readonly paging: Dialect["paging"];
  readonly agenda: Agenda;
  readonly active = new Map<number, Active>();
  /** Units of an earlier session whose reply is not known; they go first, under their own keys. */
  readonly pending: Unit[] = [];
  /** Of those, the ones that a cap lowered since leaves no room for: they stay at risk, and are not repeated. */
  readonly shelved: Unit[] = [];
  /** Whether a reply was looked at, in this session or an earlier one. */
  bought = false;
  honoursKeys: boolean;
  wall: Wall | undefined;
  movedTo: string | undefined;
  total: number | undefined;
  readonly #halt = new AbortController();
  #failure: unknown;
  #stopped = false;
  #changed = new Set<() => void>();

  constructor(options: BuyerOptions) {
    this.options = options;
    this.run = options.run;
    this.paging = options.run.plan.paging;
    const perPage = Math.min(options.perPage, options.run.state.perPageMax ?? Number.POSITIVE_INFINITY);
    this.agenda = new Agenda(options.source, this.paging, perPage);
    this.honoursKeys = options.honoursKeys;
  }

  get stopped(): boolean {
    return this.#stopped;
  }

  /** What stopped it. */
  get failure(): unknown {
    return this.#failure;
  }

  /** Aborts when nothing more is to be bought. */
  get halt(): AbortSignal {
    return this.#halt.signal;
  }

  /** Nothing more is bought; what is in flight is settled. The first reason counts. */
  stop(reason: unknown): void {
    if (!this.#stopped) {
      this.#stopped = true;
      this.#failure = reason;
      this.#halt.abort(reason);
    }
    this.signal();
  }

  /** Wakes whoever waits for a change. */
  signal(): void {
    const waiting = this.#changed;
    this.#changed = new Set();
    for (const resolve of waiting) resolve();
  }

  change(): Promise<void> {
    return new Promise((resolve) => {
      this.#changed.add(resolve);
    });
  }

  /** How many units are in one of these phases. */
  count(...phases: readonly Phase[]): number {
    let count = 0;
    for (const { phase } of this.active.values()) if (phases.includes(phase)) count++;
    return count;
  }

  progress(wait: BuyProgress["wait"]): void {
    const { settled, uncertain, rows } = this.run.state;
    this.options.onProgress?.({ rows, settled, uncertain, wait });
  }
}
