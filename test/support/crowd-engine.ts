import type { Engine } from "../../src/dataset/engine.ts";
import { type Condition, conditionsOf } from "../../src/shared/contract/conditions.ts";
import { canonicalAddress } from "../../src/shared/contract/naming/address.ts";
import { slugOf } from "../../src/shared/contract/naming/slug.ts";
import { normalForm } from "../../src/shared/contract/normalise.ts";
import type { Human } from "./people-service.ts";

/** Our own service's dataset of people who come, leave and change: every change is another version of it. */
export interface CrowdEngine extends Engine {
  become(people: readonly Human[]): void;
  /** Called before each page that is read. */
  before: () => void;
}

function holds(human: Human, condition: Condition): boolean {
  const value = human[condition.column as keyof Human];
  if (value === null || value === undefined) return false;
  switch (condition.kind) {
    case "in":
      // A department is exact; all else is in normal form.
      return (
        condition.values.includes(String(value)) ||
        condition.values.includes(normalForm(String(value)))
      );
    case "prefix":
      return normalForm(String(value)).startsWith(condition.from);
    case "range":
      return (
        Number(value) >= (condition.min ?? 0) &&
        Number(value) <= (condition.max ?? Number.MAX_SAFE_INTEGER)
      );
    case "address": {
      const own = canonicalAddress(String(value)) ?? "";
      return condition.values.some(
        ({ address, slug }) => (address ?? slug) === (address ? own : slugOf(own)),
      );
    }
  }
}

export function crowdEngine(people: readonly Human[]): CrowdEngine {
  let now = people;
  let version = 1;
  const matching = (filters: Parameters<Engine["count"]>[0]): Human[] => {
    const conditions = conditionsOf(filters);
    return now.filter((human) => conditions.every((condition) => holds(human, condition)));
  };
  const engine: CrowdEngine = {
    become(later) {
      now = later;
      version++;
    },
    before: () => undefined,
    info: () => ({ version: `week-${version}`, people: now.length, companies: 0 }),
    count: async (filters) => matching(filters).length,
    facet: () => Promise.reject(new Error("no facets")),
    async people(filters, { offset, limit }) {
      engine.before();
      const found = matching(filters);
      const records = found
        .slice(offset, offset + limit)
        .map((human) => Buffer.from(JSON.stringify(human)));
      return { records, total: found.length };
    },
    company: async () => undefined,
    employees: async () => ({ records: [], total: 0 }),
    verify: async () => [],
    close: async () => undefined,
  };
  return engine;
}
