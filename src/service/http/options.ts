import type { Engine } from "../../dataset/engine.ts";
import type { PeopleFolders } from "../../dataset/suppression.ts";
import type { Store } from "../ledger/ledger.ts";
import type { Fault } from "./faults.ts";
import type { TurnBounds } from "./turns.ts";

/** A `/v1` answer as it went out, for tests that hold every one of them against the published document. */
export interface ObservedAnswer {
  readonly method: string;
  readonly url: string;
  readonly route: string | undefined;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface ServiceOptions {
  /** The dataset of live keys. It and the store stay the caller's: closing the service does not close them. */
  readonly engine: Engine;
  readonly store: Store;
  /** The small synthetic dataset of test keys, opened at the first call with one. Without it test keys see the live dataset. */
  readonly testEngine?: () => Promise<Engine>;
  /** Where the list of people is whom no answer has. Without it there is none. */
  readonly leftOut?: PeopleFolders;
  readonly host?: string;
  readonly port?: number;
  /** Serves HTTPS, and renewed files as they come. Default: plain HTTP. */
  readonly tls?: TlsFiles;
  readonly now?: () => number;
  readonly monotonic?: () => number;
  readonly sleep?: (ms: number) => Promise<void>;
  readonly random?: () => number;
  /** Deepest row (`page` x `per_page`) that paging reaches. Default: no bound. */
  readonly maxDepth?: number;
  readonly log?: { write(text: string): unknown };
  /** Port of `/metrics`; 0 for any free one. None without it. */
  readonly metricsPort?: number;
  readonly metricsHost?: string;
  /** Traces and metrics over OTLP, set by OpenTelemetry's variables in this environment. Default: none. */
  readonly telemetry?: NodeJS.ProcessEnv;
  /** Origins whose pages may read `/v1` in a browser; `*` for any. Default: none. */
  readonly corsOrigins?: readonly string[];
  /** The console at `/console` (docs/console.md), with the address that browsers reach it by where it is another. Default: none. */
  readonly console?: { readonly publicUrl?: string | undefined };
  readonly faults?: readonly Fault[];
  readonly latencyMs?: number;
  readonly timeouts?: Partial<Timeouts>;
  /** How many calls the dataset works at, at once. */
  readonly turns?: Partial<TurnBounds>;
  /** Open connections at most; for one more the longest idle one is closed. Default 4,096. */
  readonly maxConnections?: number;
  readonly observe?: (answer: ObservedAnswer) => void;
}

/** Paths of PEM files: the certificate with its chain, and its private key without a passphrase. */
export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
  /** Told of renewed files that cannot be used: the old ones are served on. */
  readonly failed?: (error: Error) => void;
}

/** All in milliseconds. */
export interface Timeouts {
  readonly headers: number;
  readonly request: number;
  /** How often both are looked at: 1,000. */
  readonly check: number;
  /** How long a call waits for its turn at the dataset, before a 503: 5,000. */
  readonly turn: number;
  /** The dataset's part of one call: 30,000. */
  readonly work: number;
  /** The dataset's part of a facet, after which it is answered without values: 300. */
  readonly facet: number;
  /** A socket on which nothing moves: 60,000. */
  readonly idle: number;
  /** What `close` gives calls in flight before their connections are cut: 8,000. */
  readonly drain: number;
}

export const TIMEOUTS: Timeouts = {
  headers: 5_000,
  request: 10_000,
  check: 1_000,
  turn: 5_000,
  work: 30_000,
  facet: 300,
  idle: 60_000,
  drain: 8_000,
};
