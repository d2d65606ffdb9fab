import type { AccountView } from "../../engine/client/types.ts";
import { type Library, pagewise } from "../../engine/library/library.ts";
import {
  addressesIn,
  boughtBefore,
  countIn,
  identitiesIn,
  newestRecords,
  type OwnedPerson,
  ownedBy,
  type Who,
} from "../../engine/library/members.ts";
import {
  openLibrary,
  plansIn,
  type Shelf,
  shelfAt,
  shelvesBeside,
} from "../../engine/library/take-in.ts";
import { identityOf } from "../../engine/output/distinct.ts";
import type { ExportDeps } from "../../engine/purchase/order.ts";
import type { OwnedPage } from "../../engine/purchase/ownership.ts";
import { BESIDE } from "../../engine/runs/journal.ts";
import type { RunReader } from "../../engine/runs/reader.ts";
import { RunStore } from "../../engine/runs/run-store.ts";
import { canonicalAddress } from "../../shared/contract/naming/address.ts";
import type { CanonicalFilters } from "../../shared/contract/vocabulary.ts";
import type { Page } from "../../shared/rows/page.ts";

/** Who of a segment is owned from another service, and by profile address not from this one. */
export interface Elsewhere {
  /** The connection that bought there. */
  readonly service: string;
  /** Canonical. */
  readonly addresses: readonly string[];
  /** Of nobody where they are only counted. */
  readonly people: readonly OwnedPerson[];
}

/**
 * Everybody who is owned of the service that sells, by the
 * library; nobody where nothing was ever bought of it.
 */
export class OwnedPeople {
  readonly account: AccountView;
  readonly #deps: Pick<ExportDeps, "disk" | "seller" | "stateDir">;
  library: Library | undefined;
  #beside: ReadonlyMap<string, Shelf> = new Map();
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
    const store = new RunStore(stateDir, disk);
    const found = await plansIn(store);
    const opened = await openLibrary(shelf, store, found);
    this.#beside = shelvesBeside(shelf, found.plans.values());
    this.unread = opened?.taken.unread ?? [];
    this.library = opened?.library;
    return this;
  }

  close(): void {
    this.library?.close();
    this.library = undefined;
  }

  /** By the records of other services, and never by a name alone. */
  async elsewhere(filters: CanonicalFilters, isRead: boolean): Promise<readonly Elsewhere[]> {
    const { stateDir, disk } = this.#deps;
    const known = new Set<string>();
    const all: Elsewhere[] = [];
    for (const [service, shelf] of this.#beside) {
      const opened = await openLibrary(shelf, new RunStore(stateDir, disk));
      if (opened === undefined) continue;
      const { database } = opened.library;

      try {
        const there = addressesIn(database, { matching: filters });
        const own = this.library && addressesIn(this.library.database, { addresses: there });
        for (const address of own ?? []) known.add(address);

        const addresses = there.filter((address) => !known.has(address));
        for (const address of addresses) known.add(address);

        const people = isRead ? ownedBy(database, { addresses }) : [];
        if (addresses.length > 0) all.push({ service, addresses, people });
      } finally {
        opened.library.close();
      }
    }
    return all;
  }

  identities(who: Who): string[] {
    return this.library === undefined ? [] : identitiesIn(this.library.database, who);
  }

  /** The suppressed too: they were paid for. */
  count(who?: Who): number {
    return this.library === undefined ? 0 : countIn(this.library.database, who);
  }

  /** Rows of a page of a run with somebody who was owned before it, or is from elsewhere. */
  rowsBefore(
    run: RunReader,
    page: Page,
    elsewhere: readonly Elsewhere[] = [],
  ): ReadonlySet<number> {
    const rows = page.indexes.map((row) => ({
      row,
      identity: identityOf(page, row, "person"),
    }));
    const people = rows.flatMap(({ identity }) => identity ?? []);
    const at = Date.parse(run.plan.created_at);
    const owned = this.library && boughtBefore(this.library.database, people, { run: run.id, at });

    const addresses = new Set(elsewhere.flatMap((each) => each.addresses));
    const isElsewhere = (row: number): boolean => {
      const own = addresses.size === 0 ? undefined : page.identity(row, ["network_url"]);
      return own !== undefined && addresses.has(canonicalAddress(own) ?? own);
    };
    const isOwned = ({ row, identity = "" }: (typeof rows)[number]): boolean =>
      owned?.has(identity) === true || isElsewhere(row);
    return new Set(rows.filter(isOwned).map(({ row }) => row));
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
