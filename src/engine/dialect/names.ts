// Tested by test/vendors/otherwise.test.ts and test/cli/vendor-doctor.test.ts.
import { type Credits, ZERO } from "../../shared/contract/money.ts";
import { counted } from "../../shared/contract/text.ts";
import type { Filters } from "../../shared/contract/vocabulary.ts";
import type { DialectFile, VendorCall } from "../../shared/dialect/shape.ts";
import { type CliError, say, usageError } from "../../shared/errors.ts";
import type { Seen } from "../client/dialect.ts";
import { expressionsOf, nobodyBy, wordsIn } from "./expressions.ts";
import { declaredPrice } from "./meanings.ts";

export interface Tried {
  readonly nobody: readonly string[];
  readonly untried: readonly string[];
  /** How many words of the file were counted, each alone, and those that find nobody. */
  readonly words: number;
  readonly unknown: readonly string[];
}

export interface KnownNames {
  /** Filters that need no trying: it was seen earlier that the vendor heeds them. */
  readonly heeded?: readonly string[] | undefined;
  readonly onSeen?: ((seen: Seen) => void) | undefined;
}

/** The first page of a call that counts. */
export interface CountPage {
  readonly call: VendorCall;
  readonly rows: number;
}

type PricedCount = CountPage & { readonly price: Credits };

/** How many are found, for nothing. */
type Find = (
  filters: readonly unknown[],
  counting: CountPage,
  signal: AbortSignal | undefined,
) => Promise<number>;

/**
 * The names of filters that a vendor was seen to heed. One that is passed over finds everybody:
 * then a value that nobody has does, too.
 */
export class Names {
  readonly #file: DialectFile;
  readonly #counting: PricedCount | undefined;
  readonly #find: Find;
  readonly #heeded: Set<string>;
  readonly #onSeen: ((seen: Seen) => void) | undefined;

  constructor(
    file: DialectFile,
    counting: PricedCount | undefined,
    find: Find,
    { heeded, onSeen }: KnownNames,
  ) {
    this.#file = file;
    this.#counting = counting;
    this.#find = find;
    this.#heeded = new Set(heeded);
    this.#onSeen = onSeen;
  }

  /** What a reply contradicts is tried again. */
  see(keys: readonly string[], isHeeded: boolean): void {
    for (const key of keys) {
      if (isHeeded) this.#heeded.add(key);
      else this.#heeded.delete(key);
    }
    if (keys.length > 0) this.#onSeen?.({ keys, isHeeded });
  }

  /** @throws CliError exit 2 for the first that is passed over */
  async require(
    keys: readonly string[],
    counting: CountPage,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const seen: string[] = [];
    try {
      for (const key of keys) {
        const nobody = this.#heeded.has(key) ? undefined : nobodyBy(this.#file, key);
        if (nobody === undefined) continue;

        const count = await this.#find([nobody], counting, signal);
        if (count > 0) throw this.passedOver(key, "counts", count);
        seen.push(key);
      }
    } finally {
      this.see(seen, true);
    }
  }

  /**
   * Counts by a value that nobody has, once for each filter, and by each word, for nothing.
   * @returns keys that found nobody or were refused, and those that no such value is written for;
   * undefined where a count costs credits
   * @throws CliError exit 2 for the first that finds somebody: the vendor passes it over
   */
  async tryAll(signal: AbortSignal | undefined): Promise<Tried | undefined> {
    const counting = this.#counting;
    if (counting === undefined || counting.price > 0n) return undefined;

    const keys = Object.keys(this.#file.filters);
    await this.require(keys, counting, signal);
    const words = wordsIn(this.#file);
    const unknown: string[] = [];
    // A word that the vendor spells otherwise finds nobody, and says nothing.
    for (const { key, word } of words) {
      const asked = expressionsOf(this.#file, { [key]: [word] });
      if ((await this.#find(asked, counting, signal)) === 0) unknown.push(`${key} "${word}"`);
    }
    return {
      nobody: keys.filter((key) => this.#heeded.has(key)),
      untried: keys.filter((key) => !this.#heeded.has(key)),
      words: words.length,
      unknown,
    };
  }

  /**
   * Of the filters of a search those that are tried by the first page that is bought.
   * @throws CliError exit 2 for what the file cannot say
   */
  untried(filters: Filters): readonly string[] {
    expressionsOf(this.#file, filters);
    const { search } = this.#file.calls;
    const isFreeToCount = this.#counting?.price === ZERO;
    if (isFreeToCount || declaredPrice(search, 0) > 0n) return [];
    return Object.keys(filters).filter(
      (key) => !this.#heeded.has(key) && nobodyBy(this.#file, key) !== undefined,
    );
  }

  passedOver(key: string, does: string, people: number): CliError {
    this.see([key], false);
    return usageError(
      say`${this.#file.name} passes the filter ${key} over: by a value that nobody has it ${does}
        ${counted(people, "person", "people")}`,
      say`the file calls it otherwise than the vendor does; a search without ${key} is not held up`,
      "filter_swallowed",
    );
  }
}
