import type { FastifyInstance } from "fastify";
import type { Engine } from "../../dataset/engine.ts";
import type { PeopleFolders } from "../../dataset/suppression.ts";
import type { Page } from "../../shared/rows/page.ts";
import type { Store } from "../ledger/ledger.ts";
import type { TurnBounds } from "./turns.ts";

export interface ServiceOptions {
  /**
   * The dataset of live keys. It and the store stay the
   * caller's: closing the service does not close them.
   */
  readonly engine: Engine;
  readonly store: Store;
  readonly testEngine?: () => Promise<Engine>;
  readonly leftOut?: PeopleFolders;
  /**
   * It listens nowhere, and whoever is in this process connects by `connect`.
   * Default: it listens at `host` and `port`.
   */
  readonly within?: {
    /** Whether the calls that came are noted when it closes. */
    readonly keepsCalls: () => boolean;
  };
  readonly host?: string;
  readonly port?: number;
  readonly tls?: TlsFiles;
  readonly now?: () => number;
  readonly monotonic?: () => number;
  readonly sleep?: (ms: number) => Promise<void>;
  readonly maxDepth?: number;
  /**
   * Whether sketches are given, and people sold by them; without it both are a 404. Default true.
   */
  readonly sketches?: boolean;
  readonly log?: { write(text: string): unknown };
  readonly metricsPort?: number;
  readonly metricsHost?: string;
  /** The console at `/console` (docs/operate/console.md). Default: none. */
  readonly console?: { readonly wholeFile?: WholeFile };
  /** The address that customers and browsers use, where it is another than this one's. */
  readonly publicUrl?: string | undefined;
  readonly timeouts?: Partial<ServerTimeouts>;
  readonly turns?: Partial<TurnBounds>;
  readonly maxConnections?: number;
  /** For hooks of whoever embeds it, before the routes. */
  readonly onApp?: (app: FastifyInstance) => void;
}

/**
 * Writes people in a format that needs all of them before its first byte.
 * @param pages read twice. @throws CliError where what it is written by is missing
 */
export type WholeFile = (
  format: "xlsx" | "parquet",
  pages: () => AsyncIterable<Page>,
) => AsyncIterable<Buffer>;

export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
  readonly failed?: (error: Error) => void;
}

export const SERVER_TIMEOUTS = {
  headers: 5_000,
  request: 10_000,
  check: 1_000,
  turn: 5_000,
  work: 30_000,
  /** The dataset's part of a facet, after which it is answered without values. */
  facet: 300,
  idle: 60_000,
  drain: 8_000,
};
export type ServerTimeouts = Readonly<typeof SERVER_TIMEOUTS>;
