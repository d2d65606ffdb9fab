import type { Credits } from "../../contract/money.ts";
import type { KeyMode } from "./ledger.ts";

/** The money of one account in one mode while a transaction has it. */
export interface Money {
  readonly accountId: string;
  readonly mode: KeyMode;
  readonly balance: Credits;
  readonly held: Credits;
  /** Charged in this transaction. */
  readonly charged: Credits;
}

/**
 * The balances that one transaction touches: read once, changed in memory by each of its requests, written once. A request that
 * fails takes its own changes back and nobody else's.
 */
export class BatchMoney {
  readonly #money = new Map<string, Money>();
  #undo: [string, Money | undefined][] = [];

  begin(): void {
    this.#money.clear();
    this.#undo = [];
  }

  beginOne(): void {
    this.#undo.length = 0;
  }

  undoOne(): void {
    for (const [key, before] of this.#undo.reverse()) {
      if (before === undefined) this.#money.delete(key);
      else this.#money.set(key, before);
    }
    this.#undo.length = 0;
  }

  get(accountId: string, mode: KeyMode): Money | undefined {
    return this.#money.get(`${mode} ${accountId}`);
  }

  set(money: Money): void {
    const key = `${money.mode} ${money.accountId}`;
    this.#undo.push([key, this.#money.get(key)]);
    this.#money.set(key, money);
  }

  all(): Iterable<Money> {
    return this.#money.values();
  }
}
