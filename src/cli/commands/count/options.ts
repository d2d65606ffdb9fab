import type { NamedFilters, SegmentSet } from "../../../app/segments/segment-set.ts";
import type { FilterKeySpec } from "../../../shared/contract/filters.ts";
import type { GlobalOptions } from "../../options.ts";
import type { Printer } from "../../terminal/printer.ts";

export const COUNT_FORMATS = ["table", "csv", "json"] as const;
export type CountFormat = (typeof COUNT_FORMATS)[number];

export interface CountOptions extends GlobalOptions {
  readonly by?: readonly string[];
  readonly values?: readonly string[];
  readonly top?: number;
  readonly format?: CountFormat;
  readonly union?: boolean;
  readonly strict?: boolean;
  readonly history?: boolean;
  readonly plot?: string;
  readonly overwrite?: boolean;
  readonly owned?: boolean;
  readonly test?: boolean;
}

/** A key to break a segment down by. `values`: those that are given or known; undefined: whoever lists them is to be asked. */
export interface ByKey {
  readonly spec: FilterKeySpec;
  readonly values: readonly string[] | undefined;
}

export type CountRequest =
  | { readonly kind: "one"; readonly segment: NamedFilters; readonly options: CountOptions }
  | { readonly kind: "files"; readonly segments: readonly NamedFilters[]; readonly options: CountOptions }
  /** One number of several: whoever is in at least one of them, without those of others. */
  | { readonly kind: "set"; readonly set: SegmentSet; readonly options: CountOptions }
  | { readonly kind: "history"; readonly segment: NamedFilters; readonly options: CountOptions }
  | {
      readonly kind: "parts";
      readonly segment: NamedFilters;
      /** One key, or two for a matrix. */
      readonly by: readonly ByKey[];
      readonly options: CountOptions;
    };

/** The form of a breakdown or of several segments: as asked, else a table on a terminal; undefined is what the pipe gets. */
export const formatOf = (options: CountOptions, printer: Printer): CountFormat | undefined =>
  printer.json ? "json" : (options.format ?? (printer.terminal ? "table" : undefined));
