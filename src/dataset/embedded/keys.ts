import type { Address } from "../../contract/conditions.ts";

/**
 * Where the whole of an address stands in the index of addresses, or all with a slug. A slug holds no `/` and leads the key, so
 * that a bare one is a range.
 */
export function addressKeys(addresses: readonly Address[]): KeyRange[] {
  const values = addresses.flatMap(({ slug, address }) =>
    address === undefined ? [] : [`${slug}/${address.slice(0, address.length - slug.length)}`],
  );
  const bare = addresses.filter(({ address }) => address === undefined);
  // "0" comes right after "/".
  return [{ values }, ...bare.map(({ slug }) => ({ from: `${slug}/`, before: `${slug}0` }))];
}

/** Values of a key, or a range of it by code points (SQLite compares the bytes of UTF-8). */
export type KeyRange = { readonly values: readonly string[] } | RangeOfKeys;

export interface RangeOfKeys {
  readonly from: string;
  readonly before: string | undefined;
}
