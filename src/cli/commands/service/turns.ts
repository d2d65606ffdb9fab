import type { ServiceOptions } from "../../../service/http/options.ts";
import { usageError } from "../../../shared/errors.ts";
import { type Command, wholeNumber } from "../../options.ts";

export interface TurnFlags {
  readonly maxConcurrent?: number;
  readonly maxConcurrentPerKey?: number;
  readonly maxQueued?: number;
  readonly queueWait?: number;
}

export const addTurnOptions = (command: Command): Command =>
  command
    .option(
      "--max-concurrent <n>",
      "calls that the dataset works at, at once; 3 of them free ones (default: 16)",
      wholeNumber("--max-concurrent", 1, 1_000),
    )
    .option(
      "--max-concurrent-per-key <n>",
      "of them of one key; 2 of them free ones (default: 8)",
      wholeNumber("--max-concurrent-per-key", 1, 1_000),
    )
    .option(
      "--max-queued <n>",
      "calls of a key that wait for their turn, paid and free each; one more gets a 503 (default: 1000)",
      wholeNumber("--max-queued", 0, 100_000),
    )
    .option(
      "--queue-wait <seconds>",
      "how long a call waits for its turn before a 503 (default: 5)",
      wholeNumber("--queue-wait", 1, 600),
    );

export async function turnSettings(flags: TurnFlags): Promise<Pick<ServiceOptions, "timeouts" | "turns">> {
  const { maxConcurrent, maxConcurrentPerKey, maxQueued, queueWait } = flags;
  const { turnBoundsOf: boundsOf, TURNS } = await import("../../../service/http/turns.ts");
  const all = maxConcurrent ?? TURNS.dataset;
  if (maxConcurrentPerKey !== undefined && maxConcurrentPerKey > all) {
    throw usageError(
      `--max-concurrent-per-key ${maxConcurrentPerKey} is more than the ${all} of all keys together`,
      `--max-concurrent ${maxConcurrentPerKey} allows it, or a smaller number for each key`,
    );
  }
  return {
    turns: boundsOf({ all, ofKey: maxConcurrentPerKey, waiting: maxQueued }),
    ...(queueWait === undefined ? {} : { timeouts: { turn: queueWait * 1_000 } }),
  };
}
