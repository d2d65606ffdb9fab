import type { Filters } from "../../shared/contract/filters.ts";

declare const owned: unique symbol;

/** Somebody's who is owned, or one of the user's own filters: nobody else is asked after. */
export type OwnedAddress = string & { readonly [owned]: true };

export const ownedAddress = (address: string): OwnedAddress => address as OwnedAddress;

/** Free and exact. */
export interface Counts {
  count(filters: Filters): Promise<number>;
  /** Who matches and has one of these addresses, in lists of at most `listSize`. */
  listed(filters: Filters, addresses: readonly OwnedAddress[]): Promise<number>;
  readonly listSize: number;
  readonly calls: number;
}

export interface SegmentMember {
  readonly identity: string;
  readonly address: OwnedAddress | undefined;
  /** In normal form. */
  readonly name: string | undefined;
  /** Normal forms by column, as they were bought. */
  readonly values: Readonly<Record<string, string | number | null>>;
  /** Whether the name holds now. */
  readonly named: boolean;
  /** Whether all values hold now: they were bought from this version of the dataset. */
  readonly known: boolean;
}
