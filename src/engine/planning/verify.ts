// Tested by test/cli/refresh.test.ts.
import { normalForm } from "../../shared/contract/normalise.ts";
import { type FilterKey, type Filters, filterSpec } from "../../shared/contract/vocabulary.ts";
import { findChanged, type PersonValue, type Question, testCalls } from "./changed.ts";
import type { Counts, OwnedAddress, SegmentMember } from "./question.ts";

export interface VerifiedField {
  readonly name: string;
  readonly key: FilterKey;
}

/**
 * Room that a request has for texts (docs/reference/contract.md, Filters), shared by addresses and
 * values.
 */
const ADDRESS_CHARACTERS = 60_000;
const VALUE_CHARACTERS = 25_000;
const MOST_VALUES = 400;
const MOST_LENGTH = 1_024;

const isList = (key: FilterKey): boolean => filterSpec(key)?.list === true;

type ListedMember = SegmentMember & { readonly address: OwnedAddress };

export type BoughtParts = (field: string) => ReadonlyMap<string, string>;

function verificationOf(
  key: FilterKey,
  people: readonly SegmentMember[],
  partsOf: BoughtParts,
  counts: Counts,
) {
  const held: PersonValue<ListedMember>[] = [];
  const texts = partsOf(key);
  let [address, value] = [1, 1];
  for (const person of people) {
    // Bought from the very dataset that is counted.
    if (person.isKnown) continue;

    const text = texts.get(person.identity);
    if (
      person.address === undefined ||
      text === undefined ||
      normalForm(text) === "" ||
      text.length > MOST_LENGTH
    )
      continue;

    held.push({ person: person as ListedMember, value: text });
    address = Math.max(address, person.address.length);
    value = Math.max(value, text.length);
  }

  const values = Math.min(MOST_VALUES, counts.listSize, Math.floor(VALUE_CHARACTERS / value));
  const addresses = Math.max(
    1,
    Math.min(counts.listSize, Math.floor(ADDRESS_CHARACTERS / address)),
  );
  return { held, most: { people: addresses, values: isList(key) ? Math.max(1, values) : 1 } };
}

export const verifyCalls = (
  fields: readonly VerifiedField[],
  of: { readonly members: readonly SegmentMember[] },
  partsOf: BoughtParts,
  counts: Counts,
): number =>
  fields.reduce((sum, field) => {
    const { held, most } = verificationOf(field.key, of.members, partsOf, counts);
    return sum + testCalls(held, most);
  }, 0);

export interface Verified {
  /** By identity: which of the fields no longer have the value that was bought. */
  readonly changed: ReadonlyMap<string, readonly string[]>;
  readonly notChecked: number;
}

export async function verifyFields(
  segment: Filters,
  fields: readonly VerifiedField[],
  people: readonly SegmentMember[],
  partsOf: BoughtParts,
  counts: Counts,
): Promise<Verified> {
  const changed = new Map<string, string[]>();
  let notChecked = 0;
  for (const field of fields) {
    const { held, most } = verificationOf(field.key, people, partsOf, counts);
    notChecked += people.filter(({ isKnown }) => !isKnown).length - held.length;

    const present = (questions: readonly Question<ListedMember>[]): Promise<number[]> =>
      Promise.all(
        questions.map(({ values, people: members }) => {
          const value = isList(field.key) ? values : (values[0] ?? "");
          return counts.countAt(
            { ...segment, [field.key]: value },
            members.map(({ address }) => address),
          );
        }),
      );

    for (const { identity } of await findChanged(held, most, present)) {
      changed.set(identity, [...(changed.get(identity) ?? []), field.name]);
    }
  }

  return { changed, notChecked };
}
