import type { Named, Suppression } from "../../shared/contract/suppression.ts";
import type { Page } from "../../shared/rows/page.ts";
import type { RecordKind } from "../../shared/rows/values.ts";

/** An id names a person only: companies have ids of their own. */
const namedBy = (page: Page, index: number, kind: RecordKind): Named =>
  kind === "person"
    ? {
        id: page.identity(index, ["id"]),
        address: page.identity(index, ["network_url"]),
        domain: page.identity(index, ["company_domain"]),
      }
    : { address: page.identity(index, ["company_network_url"]), domain: page.identity(index, ["domain"]) };

export function suppressedIn(page: Page, kind: RecordKind, suppression: Suppression): number[] {
  if (suppression.isEmpty) return [];
  const rows = Array.from({ length: page.length }, (_, index) => index);
  return rows.filter((index) => suppression.hides(namedBy(page, index, kind)));
}

export function shown(page: Page, kind: RecordKind, suppression: Suppression): Page {
  const hidden = new Set(suppressedIn(page, kind, suppression));
  if (hidden.size === 0) return page;
  return page.select(Array.from({ length: page.length }, (_, index) => index).filter((index) => !hidden.has(index)));
}
