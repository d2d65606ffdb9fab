import { Writable } from "node:stream";
import { stateDir } from "../../engine/connections/paths.ts";
import type { DrawTable } from "../../engine/output/table.ts";
import type { ExportOptions } from "../../engine/purchase/order.ts";
import type { Quote } from "../../engine/purchase/quote.ts";
import type { Progress, Start, World as Surroundings } from "../../engine/purchase/world.ts";
import { Disk, failpoint } from "../../engine/runs/disk.ts";
import type { Prospect, Target } from "../../engine/runs/plan.ts";
import type { Context } from "../../shared/context.ts";
import type { Speech } from "../../shared/contract/hints.ts";
import { mapError } from "../failures.ts";
import type { Session } from "../session.ts";
import type { Staffing } from "./staff.ts";

/**
 * What is bought, how it is delivered, what bounds
 * it: what is not named is as {@link DEFAULTS} says.
 */
export interface Order extends Partial<Omit<ExportOptions, "agreed">> {
  readonly target: Target;
  /** Whose people are bought: with the addresses of all of them these make the target. */
  readonly accounts?:
    | { readonly companies: readonly Prospect[]; readonly staffing: Staffing }
    | undefined;
  /** What rows go to where `output` names no file: nowhere by default, they are in the run. */
  readonly rows?: Writable | undefined;
  /** Draws `format: "table"`. */
  readonly table?: (() => Promise<DrawTable>) | undefined;
  /** What looking for new people may take. */
  readonly maxCalls?: number | undefined;
  /** Whether nothing is bought where nobody matches one of several values of a filter. */
  readonly strict?: boolean;
  /** Whether it is told who is owned also where all of them are bought again (`fresh`). */
  readonly tellsOwned?: boolean;
}

/** A service, a clock, a disk: everything outside that a purchase touches. */
export interface World extends Surroundings {
  readonly seller: Session;
  /** An error as a person is told it. */
  readonly mapError: (error: unknown) => unknown;
}

/** What a purchase asks and tells. Nobody needs to listen. */
export interface Events {
  /**
   * Agrees to a quote, or throws. Asked before anything is paid, but for a quote handed in and a
   * run resumed within what was agreed to. Left out, nothing is ever paid for. Look-ups of
   * companies are agreed to before their people.
   */
  readonly agree?: ((quote: Quote, resuming: boolean, target: Target) => Promise<void>) | undefined;
  readonly notice?: ((text: string) => void) | undefined;
  /**
   * Why nobody matches, and which values match nobody:
   * found out by free counts where somebody listens.
   */
  readonly hint?: ((text: string) => void) | undefined;
  /** How a filter is called where that is read; undefined: as an option. */
  readonly words?: Speech | undefined;
  /** What must be said also where notices are not wanted. */
  readonly warning?: ((text: string) => void) | undefined;
  readonly start?: ((start: Start) => void) | undefined;
  readonly progress?: ((progress: Progress) => void) | undefined;
}

const DEFAULTS = {
  format: "ndjson",
  excel: false,
  raw: false,
  overwrite: false,
  allowEmpty: false,
  concurrency: 4,
  fresh: false,
  onNewDataset: "fresh",
  requireComplete: false,
  wait: false,
} as const satisfies ExportOptions;

export function optionsOf({
  target,
  rows,
  table,
  maxCalls,
  strict,
  accounts,
  tellsOwned,
  ...options
}: Order): ExportOptions {
  return { ...DEFAULTS, ...options };
}

export const nowhere = (): Writable => new Writable({ write: (_chunk, _encoding, done) => done() });

export function worldOf(seller: Session, context: Context): World {
  const { now, sleep, random, interrupted } = context;
  const disk = new Disk(failpoint(context.env));
  const explain = (error: unknown): unknown => mapError(error, seller.site);

  return {
    now,
    sleep,
    random,
    interrupted,
    seller,
    disk,
    stateDir: stateDir(context),
    mapError: explain,
  };
}
