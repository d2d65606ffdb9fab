import type { AccountView } from "../../engine/client/types.ts";
import { type Library, pagewise } from "../../engine/library/library.ts";
import {
  boughtBefore,
  identitiesIn,
  newestRecords,
  type Who,
} from "../../engine/library/members.ts";
import { openLibrary, shelfAt } from "../../engine/library/take-in.ts";
import { identityOf } from "../../engine/output/distinct.ts";
import type { ExportDeps } from "../../engine/purchase/order.ts";
import type { OwnedPage, Ownership } from "../../engine/purchase/ownership.ts";
import { BESIDE } from "../../engine/runs/journal.ts";
import { RunStore } from "../../engine/runs/run-store.ts";
import type { CanonicalFilters } from "../../shared/contract/vocabulary.ts";

/**
 * Everybody who is owned of the service that sells, by the
 * library; nobody where nothing was ever bought of it.
 */
export class OwnedPeople {
  readonly account: AccountView;
  readonly #deps: Pick<ExportDeps, "disk" | "seller" | "stateDir">;
  library: Library | undefined;
  /** Runs that could not be read, and why. */
  unread: readonly { readonly run: string; readonly why: string }[] = [];

  constructor(account: AccountView, deps: ExportDeps) {
    this.account = account;
    this.#deps = deps;
  }

  /** Opens the library anew, with what was bought meanwhile. */
  async open(): Promise<this> {
    this.close();
    const { stateDir, disk, seller } = this.#deps;
    const shelf = shelfAt(stateDir, seller.serviceId, this.account.keyMode);
    const opened = await openLibrary(shelf, new RunStore(stateDir, disk));
    this.unread = opened?.taken.unread ?? [];
    this.library = opened?.library;
    return this;
  }

  close(): void {
    this.library?.close();
    this.library = undefined;
  }

  identities(who: Who): string[] {
    return this.library === undefined ? [] : identitiesIn(this.library.database, who);
  }

  /** Without the suppressed. */
  count(filters: CanonicalFilters): number {
    return this.library?.count(filters) ?? 0;
  }

  /** Rows of a page of a run with somebody who was owned before it. */
  rowsBefore(...[run, page]: Parameters<Ownership["before"]>): ReadonlySet<number> {
    const identities = Array.from({ length: page.length }, (_, row) =>
      identityOf(page, row, "person"),
    );
    const people = identities.filter((identity) => identity !== undefined);
    if (this.library === undefined) return new Set();

    const at = Date.parse(run.plan.created_at);
    const owned = boughtBefore(this.library.database, people, { run: run.id, at });
    return new Set(
      identities.flatMap((identity, row) =>
        identity !== undefined && owned.has(identity) ? [row] : [],
      ),
    );
  }

  /** Newest records of those whom a run did not bring. */
  *pagesBeside(run: string, people: readonly string[], most: number): Iterable<OwnedPage> {
    if (this.library === undefined) return;
    const own = new Set(this.identities({ run }));
    const others = people.filter((identity) => !own.has(identity)).slice(0, most);
    let offset = 0;
    for (const records of pagewise(newestRecords(this.library.database, others))) {
      const rows = records.length;
      const body = Buffer.from(`{"result":[${records.join(",")}]}`);
      yield { target: BESIDE, offset, perPage: rows, run: "library", rows, body };
      offset += rows;
    }
  }
}
