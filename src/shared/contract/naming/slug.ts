// Tested by test/unit/contract-filters.test.ts.

/** The last part of a canonical address. */
export const slugOf = (canonical: string): string =>
  canonical.slice(canonical.lastIndexOf("/") + 1);

export const isSlug = (canonical: string): boolean => !canonical.includes("/");

/** Whether of two canonical addresses the first one is, or is the last part of, the other. */
export const covers = (of: string, address: string): boolean =>
  of === address || (isSlug(of) && of === slugOf(address));
