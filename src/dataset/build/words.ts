import data from "./words.json" with { type: "json" };

// Earlier entries are more frequent. A change in words.json changes every generated dataset: raise `SAMPLE_VERSION`.

export interface NameWords {
  readonly first: string;
  readonly last: string;
  readonly heads: string;
  readonly tails: string;
  readonly places: string;
  readonly placeTails: string;
}

export interface Level {
  readonly level: string;
  readonly label: string;
  readonly weight: number;
  /** `%` stands for the role, `#` for the functional area and `@` for the department. */
  readonly pattern: string;
}

export const ROLES: Readonly<Record<string, Readonly<Record<string, string>>>> = data.roles;
/** How many people of 1,000 work in a department, in the order of {@link ROLES}. */
export const DEPARTMENT_WEIGHTS: readonly number[] = data.departmentWeights;
export const LEVELS: readonly Level[] = data.levels;
export const COMPANY_ENDS: readonly string[] = data.companyEnds;
export const COMPANY_HEADS: readonly string[] = data.companyHeads;
export const COMPANY_TAILS: readonly string[] = data.companyTails;
export const COMPANY_TYPES: readonly string[] = data.companyTypes;
export const INDUSTRIES: readonly string[] = data.industries;
export const INTERESTS: readonly string[] = data.interests;
export const SLOGANS: readonly string[] = data.slogans;
export const SPECIALTIES: readonly string[] = data.specialties;
/** By culture: names (`display/ascii`), heads and tails of made-up surnames, heads and tails of places. */
export const NAMES: ReadonlyMap<string, NameWords> = new Map(Object.entries(data.cultures));
export const CULTURES: readonly string[] = [...NAMES.keys()];
export const COUNTRIES = Object.entries(data.countries).map(([name, culture]) => ({ name, culture }));
/** Real states and cities of the big countries, `State=City,City`; the rest of the places are made up. */
export const REAL_PLACES: ReadonlyMap<string, string> = new Map(Object.entries(data.places));
