import type { Address } from "../../shared/contract/conditions.ts";

/** The slug holds no `/` and leads the key, so that a bare one is a range. */
export const addressKeys = (addresses: readonly Address[]): KeyList =>
  addresses.map(({ slug, address }) =>
    address === undefined
      ? // "0" comes right after "/".
        { from: `${slug}/`, before: `${slug}0` }
      : `${slug}/${address.slice(0, address.length - slug.length)}`,
  );

/**
 * Keys that are looked up together, many at a time: each
 * one key, or those from one to before another or to the end.
 */
export type KeyList = readonly (
  | string
  | { readonly from: string; readonly before: string | undefined }
)[];
