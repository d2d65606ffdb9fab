import type { PoolClient } from "pg";
import { StoreUnavailableError } from "./ledger.ts";
import type { Outcome } from "./postgres-batch.ts";

/** Serialisation, deadlock, lock timeout, too many connections, shutting down, starting up: the same request may succeed soon. */
const TRANSIENT = /^(40001|40P01|55P03|53300|57P0\d|08...)$/;
const CONNECTION =
  /ECONN|EPIPE|ETIMEDOUT|ENOENT|EHOSTUNREACH|terminat|timeout|Client has encountered a connection error|closed/i;

interface PostgresFailure extends Error {
  readonly code?: string;
  readonly severity?: string;
}

export const isTransient = (error: unknown): boolean => {
  const { code, severity, message } = error as PostgresFailure;
  if (severity !== undefined) return code !== undefined && TRANSIENT.test(code);
  return CONNECTION.test(`${code ?? ""} ${message}`);
};
/** Errors of the database or of the way to it, as opposed to our own. */
const isOfDatabase = (error: unknown): boolean =>
  (error as PostgresFailure).severity !== undefined || isTransient(error);

/** Turns what the database throws into what a caller of the store can act upon; other errors pass as they are. */
export function unavailable(error: unknown): unknown {
  if (!isOfDatabase(error)) return error;
  return new StoreUnavailableError(`the ledger's database cannot be used: ${(error as Error).message}`, {
    cause: error,
  });
}

/** A commit was sent and no answer came: it may or may not stand. */
export class CommitInDoubt extends Error {
  override readonly name = "CommitInDoubt";
  readonly outcomes: readonly Outcome[];

  constructor(cause: unknown, outcomes: readonly Outcome[]) {
    super("the connection was lost at the commit", { cause });
    this.outcomes = outcomes;
  }
}

/** Ends a failed transaction: a connection that may still be inside one is never used again. */
export async function giveUp(client: PoolClient, error: unknown): Promise<void> {
  if (error instanceof CommitInDoubt || ((error as PostgresFailure).severity === undefined && isTransient(error))) {
    client.release(true);
    return;
  }
  try {
    await client.query("ROLLBACK");
    client.release();
  } catch {
    client.release(true);
  }
}
