import type { Resources } from "../duckdb.ts";
import type { Building } from "../layout.ts";

/**
 * How far a build is: in bytes of the files while reading,
 * else in people. `total` is 0 where it is not known yet.
 */
export interface BuildProgress {
  /** `copy` is into ClickHouse, after all others. */
  readonly phase: "read" | "sort" | "records" | "lookups" | "copy";
  readonly done: number;
  readonly total: number;
}

export interface BuildOptions extends Building {
  readonly now: () => number;
  readonly resources?: Resources;
  readonly onProgress?: (progress: BuildProgress) => void;
  /** Of how many people records lie on the disk at once. Default: PEOPLE_A_ROUND of build.ts. */
  readonly peopleARound?: number | undefined;
  /** The folder of the list of people who are left out. Default: that of the dataset. */
  readonly suppression?: string;
  /** How many versions that were served before are kept to go back to. Default: 1. */
  readonly keep?: number;
}
