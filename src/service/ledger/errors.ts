import { type Credits, formatCredits } from "../../shared/contract/money.ts";

export type HoldState = "pending" | "posted" | "voided" | "expired";

/** The store cannot answer now. Nothing was charged as far as it can know; the service answers 500. */
export class StoreUnavailableError extends Error {
  override readonly name = "StoreUnavailableError";
  /** The change may stand all the same: its commit was sent, and no answer came. */
  readonly inDoubt: boolean;

  constructor(message: string, options: ErrorOptions & { readonly inDoubt?: boolean } = {}) {
    super(message, options);
    this.inDoubt = options.inDoubt ?? false;
  }
}

/** The hold was posted, voided or expired before: each hold resolves exactly once (I3). */
export class HoldResolvedError extends Error {
  override readonly name = "HoldResolvedError";
  readonly holdId: string;
  readonly state: HoldState | "unknown";

  constructor(holdId: string, state: HoldState | "unknown") {
    super(`hold ${holdId} cannot be settled: it is ${state}`);
    this.holdId = holdId;
    this.state = state;
  }
}

/** A fault of the caller, refused without a change. */
export class OverchargeError extends Error {
  override readonly name = "OverchargeError";

  constructor(holdId: string, amount: Credits, held: Credits) {
    super(`hold ${holdId} reserves ${formatCredits(held)} credits; ${formatCredits(amount)} cannot be charged to it`);
  }
}

export class UnknownAccountError extends Error {
  override readonly name = "UnknownAccountError";
  readonly accountId: string;

  constructor(accountId: string) {
    super(`no account named ${JSON.stringify(accountId)}`);
    this.accountId = accountId;
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

/** The ledger contradicts itself: the change is rolled back and the service answers 500. */
export class LedgerInvariantError extends Error {
  override readonly name = "LedgerInvariantError";
}
