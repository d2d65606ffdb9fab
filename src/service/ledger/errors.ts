import { type Credits, creditsText, formatCredits } from "../../shared/contract/money.ts";

export type HoldState = "pending" | "posted" | "voided" | "expired";

/**
 * The store cannot answer now. Nothing was charged as far as it can know; the service answers 500.
 */
export class StoreUnavailableError extends Error {
  override readonly name: string = "StoreUnavailableError";
  /** The change may stand all the same: its commit was sent, and no answer came. */
  readonly inDoubt: boolean;

  constructor(message: string, options: ErrorOptions & { readonly inDoubt?: boolean } = {}) {
    super(message, options);
    this.inDoubt = options.inDoubt ?? false;
  }
}

/**
 * The ledger lacks what was in it before, as after a fail-over to a standby that was behind:
 * whoever is charged by it may have paid already. The service answers 503.
 */
export class OlderLedgerError extends StoreUnavailableError {
  override readonly name = "OlderLedgerError";
}

/** The file is not as SQLite wrote it, or parts of it are gone: a backup has to be restored. */
export class LedgerDamagedError extends StoreUnavailableError {
  override readonly name = "LedgerDamagedError";
}

/** The database turned its owner away: another password or name is needed, not another try. */
export class StoreRefusedError extends Error {
  override readonly name = "StoreRefusedError";

  constructor(cause: Error) {
    super(`the ledger's database turned the connection away: ${cause.message}`, { cause });
  }
}

export class HoldResolvedError extends Error {
  override readonly name = "HoldResolvedError";

  constructor(holdId: string, state: HoldState | "unknown") {
    super(`hold ${holdId} cannot be settled: it is ${state}`);
  }
}

/** Of people who were to be sold as new, the account has bought somebody since they were chosen. */
export class SoldMeanwhileError extends Error {
  override readonly name = "SoldMeanwhileError";

  constructor() {
    super("somebody of these people was bought meanwhile: nothing was charged");
  }
}

export class OverchargeError extends Error {
  override readonly name = "OverchargeError";

  constructor(holdId: string, amount: Credits, held: Credits) {
    super(
      `hold ${holdId} reserves ${creditsText(held)}; ` +
        `${formatCredits(amount)} cannot be charged to it`,
    );
  }
}

export class UnknownAccountError extends Error {
  override readonly name = "UnknownAccountError";

  constructor(accountId: string) {
    super(`no account named ${JSON.stringify(accountId)}`);
  }
}

export class NoLedgerError extends Error {
  override readonly name = "NoLedgerError";

  constructor(place: string) {
    super(`there are no accounts in ${place}`);
  }
}

export class LedgerFormatError extends Error {
  override readonly name = "LedgerFormatError";
}

export class StoreConflictError extends Error {
  override readonly name = "StoreConflictError";
}

export class LedgerInvariantError extends Error {
  override readonly name = "LedgerInvariantError";
}

export const SQLITE_BUSY = 5;
export const SQLITE_CORRUPT = 11;
export const SQLITE_CONSTRAINT = 19;
const SQLITE_NOTADB = 26;

/** SQLite's primary result code of an error. The driver leaves it out of some of its errors. */
export function resultCode(error: unknown): number | undefined {
  const { code, errcode, message } = (error ?? {}) as {
    code?: unknown;
    errcode?: unknown;
    message?: unknown;
  };
  if (typeof errcode === "number") return errcode & 0xff;
  if (code !== "ERR_SQLITE_ERROR") return undefined;

  const text = String(message);
  if (/is locked/.test(text)) return SQLITE_BUSY;
  if (/malformed|not a database/.test(text)) return SQLITE_CORRUPT;

  return /constraint failed/.test(text) ? SQLITE_CONSTRAINT : 1;
}

/** What a caller of the store can act upon; other errors pass as they are. */
export function translateError(error: unknown): unknown {
  const code = resultCode(error);
  if (code === undefined || code === SQLITE_CONSTRAINT) return error;
  const Kind =
    code === SQLITE_CORRUPT || code === SQLITE_NOTADB ? LedgerDamagedError : StoreUnavailableError;
  return new Kind(`the ledger cannot be used: ${(error as Error).message}`, { cause: error });
}
