import { canonicalAddress } from "../contract/normalise.ts";
import type { RunReader } from "../runs/run.ts";
import { Page } from "./page.ts";
import { Seen } from "./seen.ts";
import type { RecordKind } from "./types.ts";

const ADDRESSES: Readonly<Record<RecordKind, readonly string[]>> = {
  person: ["network_url"],
  company: ["company_network_url", "domain"],
};

/**
 * Tells new rows from those that were there before: by `id`, else by the canonical profile address. A row with neither is new.
 * Duplicates were paid for; they are reported, and written once.
 */
export class Distinct {
  readonly #seen: Seen;
  readonly #kind: RecordKind;
  #duplicates = 0;
  #repeatedPages = 0;
  #unnamed = 0;

  constructor(kind: RecordKind, expected: number) {
    this.#kind = kind;
    this.#seen = new Seen(Math.min(expected, 10_000_000));
  }

  /** Different rows so far. */
  get distinct(): number {
    return this.#seen.count + this.#unnamed;
  }

  get duplicates(): number {
    return this.#duplicates;
  }

  /** Pages of which every row was there before. */
  get repeatedPages(): number {
    return this.#repeatedPages;
  }

  /** The page with only the rows that are new. */
  take(page: Page): Page {
    const fresh: number[] = [];
    for (let index = 0; index < page.length; index++) {
      const identity = this.#identity(page, index);
      if (identity === undefined) this.#unnamed++;
      else if (!this.#seen.add(identity)) continue;
      fresh.push(index);
    }
    const again = page.length - fresh.length;
    if (again === 0) return page;
    this.#duplicates += again;
    if (fresh.length === 0 && page.length > 1) this.#repeatedPages++;
    return page.select(fresh);
  }

  #identity(page: Page, index: number): string | undefined {
    const id = page.identity(index, ["id"]);
    if (id !== undefined) return id;
    const address = page.identity(index, ADDRESSES[this.#kind]);
    return address === undefined ? undefined : `@${canonicalAddress(address) ?? address}`;
  }
}

/** What a run's pages describe. */
export const kindOf = (run: Pick<RunReader, "plan">): RecordKind =>
  run.plan.command === "enrich" ? "company" : "person";

/** The pages of a run in the order of the output, every row once: what each format is made from. */
export async function* distinctPages(run: RunReader): AsyncGenerator<Page> {
  const distinct = new Distinct(kindOf(run), run.state.rows);
  for await (const { body } of run.pages()) yield distinct.take(Page.read(body));
}
