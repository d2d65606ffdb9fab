import type { Person } from "../src/shared/contract/records.ts";
import { type Filters } from "../src/shared/contract/vocabulary.ts";

export type WorldPerson = {
  -readonly [Field in Exclude<
    keyof Person,
    `company_${string}` | "updated_at"
  >]: Field extends "name" ? string : Person[Field];
};

export interface Drift {
  readonly followers?: number;
  readonly connections?: number;
  readonly job?: number;
  readonly place?: number;
  readonly name?: number;
}

export class World {
  /** @param withoutAddress the share of people who have none */
  constructor(
    count: number,
    options?: { readonly seed?: number; readonly withoutAddress?: number },
  );
  /** By id. */
  people: Map<string, WorldPerson>;
  add(more?: Partial<WorldPerson>): WorldPerson;
  drift(rates?: Drift): void;
}

export class Oracle {
  constructor(people: Iterable<WorldPerson>, base?: Filters);
  /** Those of them whom the base has. */
  readonly people: readonly WorldPerson[];
  calls: number;
  matching(filters: Filters): readonly WorldPerson[];
  count(filters: Filters): Promise<number>;
}

export function seeded(seed: number): () => number;
