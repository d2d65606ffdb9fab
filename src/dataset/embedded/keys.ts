import type { Address } from "../../shared/contract/conditions.ts";

/** The slug holds no `/` and leads the key, so that a bare one is a range. */
export function addressKeys(addresses: readonly Address[]): KeyList {
  // "0" comes right after "/".
  const values = addresses.map(({ slug, address }) =>
    address === undefined
      ? { from: `${slug}/`, before: `${slug}0` }
      : `${slug}/${address.slice(0, address.length - slug.length)}`,
  );
  return { values };
}

/** Keys that are looked up together, many at a time: each one key, or the few that lie close together. */
export interface KeyList {
  readonly values: readonly (string | { readonly from: string; readonly before: string })[];
}

/** By code points (SQLite compares the bytes of UTF-8). */
export interface RangeOfKeys {
  readonly from: string;
  readonly before: string | undefined;
}
