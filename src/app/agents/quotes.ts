import { randomBytes } from "node:crypto";
import type { Quote } from "../../engine/purchase/quote.ts";
import type { Target } from "../../engine/runs/plan.ts";
import { usageError } from "../../shared/errors.ts";
import type { Quotation } from "../buy/buy.ts";

export const QUOTE_MS = 10 * 60_000;
/** The oldest goes where there are more: a quote costs nothing to ask for again. */
const MOST = 500;

/** What was offered: a purchase is this or nothing. */
export interface Offered {
  readonly target: Target;
  readonly quote: Quote;
  readonly quotation: Quotation;
  readonly isTest: boolean;
  /** The unfinished run that it goes on with. */
  readonly continues: string | undefined;
  /** How a person buys the same. */
  readonly command: string;
  /** Why nobody matches, or nobody one of several values. */
  readonly hints: readonly string[];
}

export interface HeldQuote extends Offered {
  readonly id: string;
  readonly expiresAt: number;
}

interface Entry {
  readonly held: HeldQuote;
  /** The question that was asked last, and not yet answered. */
  asked: string | undefined;
}

const gone = (id: string, why: string) =>
  usageError(`quote ${id} ${why}; nothing was spent`, "ask for a new one with the tool quote", "quote_gone");

/** Quotes of this process: each good for ten minutes and one use, declined ones for none. */
export class QuoteBook {
  readonly #entries = new Map<string, Entry>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  keep(offered: Offered): HeldQuote {
    const held = { ...offered, id: `q_${randomBytes(9).toString("base64url")}`, expiresAt: this.#now() + QUOTE_MS };
    this.#entries.set(held.id, { held, asked: undefined });
    for (const id of this.#entries.keys()) {
      if (this.#entries.size <= MOST) break;
      this.#entries.delete(id);
    }
    return held;
  }

  /** @throws CliError exit 2 where it is not known, used, declined or too old */
  find(id: string): HeldQuote {
    return this.#entry(id).held;
  }

  /** Uses a quote up. @throws CliError as {@link find} */
  take(id: string): HeldQuote {
    const { held } = this.#entry(id);
    this.#entries.delete(id);
    return held;
  }

  drop(id: string): void {
    this.#entries.delete(id);
  }

  /** Notes that a person is asked. @returns what the answer has to come with */
  ask(id: string): string {
    const entry = this.#entry(id);
    entry.asked = randomBytes(16).toString("base64url");
    return entry.asked;
  }

  /** Whether this is the question that was asked last; it can be answered once. */
  answers(id: string, question: string): boolean {
    const entry = this.#entries.get(id);
    if (entry === undefined || entry.asked !== question) return false;
    entry.asked = undefined;
    return true;
  }

  #entry(id: string): Entry {
    const entry = this.#entries.get(id);
    if (entry === undefined) throw gone(id.slice(0, 40), "is not known here: it was used, declined, or never given");
    if (this.#now() < entry.held.expiresAt) return entry;
    this.#entries.delete(id);
    throw gone(id, "is older than ten minutes");
  }
}
