import type { Filters } from "../../shared/contract/filters.ts";

declare const owned: unique symbol;

/** A profile address that may stand in a question: somebody's who is owned, or one that the user's own filters name. Nobody else is asked after. */
export type OwnedAddress = string & { readonly [owned]: true };

/** Only for the address of a person of the library, or of the user's own filters. */
export const ownedAddress = (address: string): OwnedAddress => address as OwnedAddress;

/** Free and exact counts. */
export interface Counts {
  /** People who match. */
  count(filters: Filters): Promise<number>;
  /** People who match and have one of these addresses; asked in lists of at most `listSize`. */
  listed(filters: Filters, addresses: readonly OwnedAddress[]): Promise<number>;
  /** The most values that the service takes of one key, as far as it is known. */
  readonly listSize: number;
  /** Calls made so far. */
  readonly calls: number;
}

/** Somebody who is owned and in the segment. */
export interface SegmentMember {
  /** As the library tells people apart. */
  readonly identity: string;
  readonly address: OwnedAddress | undefined;
  /** In normal form. */
  readonly name: string | undefined;
  /** Normal forms by column, as they were bought. */
  readonly values: Readonly<Record<string, string | number | null>>;
  /** Whether the name is known to hold now. */
  readonly named: boolean;
  /** Whether all values are known to hold now: they were bought from this version of the dataset. */
  readonly known: boolean;
}
