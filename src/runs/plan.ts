import type { CompanyQuery, Dialect } from "../client/types.ts";
import type { Filters } from "../contract/filters.ts";
import type { CreditText } from "./journal.ts";

export type RunCommand = "search" | "employees" | "enrich";

export type Target =
  | { readonly kind: "search"; readonly filters: Filters; readonly canonical: string }
  | { readonly kind: "employees"; readonly companies: readonly CompanyQuery[]; readonly perCompany: number | null }
  | { readonly kind: "enrich"; readonly companies: readonly CompanyQuery[] };

export interface SavedView {
  readonly format: string;
  readonly fields: readonly string[] | null;
  readonly excel: boolean;
  readonly raw: boolean;
}

/** `plan.json` of a run: everything that must be the same when it is continued. */
export interface Plan {
  readonly version: number;
  readonly id: string;
  readonly created_at: string;
  readonly command: RunCommand;
  readonly connection: string;
  /** The service's address; "sample" for the built-in connection, whose port is another one each time. */
  readonly base_url: string;
  readonly account_id: string | null;
  readonly key_mode: "live" | "test" | null;
  readonly target: Target;
  readonly dataset_version: string | null;
  readonly unit_price: CreditText;
  /** People that matched at the time of the quote; null where no free count tells. */
  readonly matches: number | null;
  /** The same for each company of a list, or each part of a segment, where each was counted. */
  readonly counts?: readonly number[];
  /** Filters of the parts of a segment that is larger than what the service gives of one; bought one after the other. */
  readonly parts?: readonly Filters[];
  /** People of such a segment whom no part holds: in words, and how many. */
  readonly unreached?: readonly { readonly where: string; readonly count: number }[];
  readonly paging: Dialect["paging"];
  /** Where pages are counted from 0. */
  readonly first_page?: 0;
  readonly output: string | null;
  readonly view: SavedView;
  readonly per_page: number | null;
  readonly overwrite?: boolean;
  /** When the rows are too few to be written; see docs/output.md, "Files that stay". */
  readonly few?: {
    readonly allow_empty: boolean;
    readonly min_rows: number | null;
    readonly max_shrink: number | null;
  };
  readonly misses: string | null;
  readonly receipt: string | null;
}

export interface RunIdentity {
  readonly connection: string;
  readonly base_url: string;
  readonly account_id: string | null;
  readonly key_mode: "live" | "test" | null;
  readonly target: Target;
  readonly output: string | null;
}

/** A target as one line of text, equal where the same thing is bought. */
export function targetText(target: Target): string {
  if (target.kind === "search") return `search ${target.canonical}`;
  const companies = target.companies.map(({ by, value }) => `${by}=${value}`);
  const limit = target.kind === "employees" ? ` at most ${target.perCompany ?? "all"} each` : "";
  return `${target.kind} ${JSON.stringify(companies)}${limit}`;
}

/** A target as people speak: the values of a search alone where they say what they are, `Legal · germany`. */
export function spokenTarget(target: Target): string {
  if (target.kind !== "search") return `${target.kind} ${describeTarget(target)}`;
  const parts = Object.entries(target.filters).map(([key, value]) => {
    const values = (Array.isArray(value) ? value : [value]).join(", ");
    if (key.endsWith("_prefix")) return `${values}…`;
    return typeof value === "number" ? `${key} ${values}` : values;
  });
  return parts.join(" · ") || describeTarget(target);
}

export function describeTarget(target: Target): string {
  if (target.kind === "search") return target.canonical === "{}" ? "everybody" : target.canonical;
  const [first] = target.companies;
  const more = target.companies.length - 1;
  return `${first?.value ?? "nothing"}${more > 0 ? ` and ${more} more` : ""}`;
}
