import { readFileSync } from "node:fs";
import { expect, onTestFinished } from "vitest";
import { parseExact } from "../../src/shared/rows/values.ts";
import { asTyped } from "./as-typed.ts";
import { seeded, type User, user } from "./export.ts";
import {
  Crowd,
  type Human,
  type PeopleOptions,
  personKey,
  startPeopleService,
} from "./people-service.ts";

// What a refresh wrote of the people in sales, beside who is there by an oracle.

export const inSales = ({ department }: Human): boolean => department === "Sales";

export const rowsIn = (me: User, name: string): Human[] =>
  readFileSync(me.file(name), "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => parseExact(line) as unknown as Human);
export const keysIn = (me: User, name: string): string[] => rowsIn(me, name).map(personKey).sort();
export const keysOf = (people: readonly Human[]): string[] => people.map(personKey).sort();
export const without = (people: readonly Human[], others: readonly Human[]): Human[] => {
  const left = new Set(others.map(personKey));
  return people.filter((human) => !left.has(personKey(human)));
};

/**
 * The list, and who was added and removed, are what they are by an oracle; nobody was sold twice but who came along.
 * A file of moves stays as it is where nobody moved.
 */
export function expectFiles(me: User, before: readonly Human[], now: readonly Human[]): void {
  expect(keysIn(me, "sales.ndjson")).toEqual(keysOf(now));
  const moves = { added: without(now, before), removed: without(before, now) };
  for (const [move, people] of Object.entries(moves))
    if (people.length > 0) expect(keysIn(me, `sales.${move}.ndjson`)).toEqual(keysOf(people));
}

/** A service with a crowd, and somebody who bought its sales people. */
export async function bought(
  count: number,
  more: Partial<PeopleOptions> & {
    readonly seed?: number;
    readonly addressless?: number;
    readonly unemployed?: boolean;
  } = {},
) {
  const { seed = 1, addressless = 0, unemployed = false, ...options } = more;
  const crowd = new Crowd(seeded(seed), addressless);
  const people = Array.from({ length: count }, () =>
    crowd.born(unemployed ? { company_network_url: null } : {}),
  );
  const service = await startPeopleService({ people, ...options });
  onTestFinished(() => service.close());
  const me = user(service.url, service.key);
  await me.ran(asTyped`search --department Sales --yes -o sales.ndjson`);
  return { crowd, people, service, me, before: people.filter(inSales) };
}
