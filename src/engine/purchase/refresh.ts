import type { FilterKey, Filters } from "../../shared/contract/filters.ts";
import { normalForm } from "../../shared/contract/normalise.ts";
import { findChanged, type Held, type Most, type Question, testCalls } from "../planning/changed.ts";
import { descend, type Leaf } from "../planning/descent.ts";
import { MOST_NAMED, namesHold, type Presence } from "../planning/presence.ts";
import type { Counts, Member, OwnedAddress } from "../planning/question.ts";

/** A field whose value counts can verify. */
export interface VerifiedField {
  readonly name: string;
  readonly key: FilterKey;
  /** Of the record. */
  readonly field: string;
  /** Whether the key takes a list of values. */
  readonly several: boolean;
}

/** Room that a request has for texts (docs/contract.md, Filters), shared by addresses and values. */
const ADDRESS_CHARACTERS = 60_000;
const VALUE_CHARACTERS = 25_000;
const MOST_VALUES = 400;
const MOST_LENGTH = 1_024;

type Listed = Member & { readonly address: OwnedAddress };

/** What was bought of a field, by identity and as the service wrote it. */
export type Bought = (field: string) => ReadonlyMap<string, string>;

interface Verification {
  readonly field: VerifiedField;
  readonly held: readonly Held<Listed>[];
  readonly most: Most;
}

function verificationOf(field: VerifiedField, people: readonly Member[], bought: Bought, counts: Counts): Verification {
  const held: Held<Listed>[] = [];
  const texts = bought(field.field);
  let [address, value] = [1, 1];
  for (const person of people) {
    // Bought from the very dataset that is counted.
    if (person.known) continue;
    const known = texts.get(person.identity);
    if (person.address === undefined || known === undefined || normalForm(known) === "" || known.length > MOST_LENGTH)
      continue;
    held.push({ person: person as Listed, value: known });
    address = Math.max(address, person.address.length);
    value = Math.max(value, known.length);
  }
  const values = Math.min(MOST_VALUES, counts.listSize, Math.floor(VALUE_CHARACTERS / value));
  return {
    field,
    held,
    most: {
      people: Math.max(1, Math.min(counts.listSize, Math.floor(ADDRESS_CHARACTERS / address))),
      values: field.several ? Math.max(1, values) : 1,
    },
  };
}

/** Free counts that it takes to see that nobody's fields changed. */
export const verifyCalls = (
  fields: readonly VerifiedField[],
  people: readonly Member[],
  bought: Bought,
  counts: Counts,
): number =>
  fields.reduce((sum, field) => {
    const { held, most } = verificationOf(field, people, bought, counts);
    return sum + testCalls(held, most);
  }, 0);

export interface Verified {
  /** By identity: which of the fields no longer have the value that was bought. */
  readonly changed: ReadonlyMap<string, readonly string[]>;
  /** Values that could not be looked at: missing ones, and those of people without an address. */
  readonly notChecked: number;
}

/** Whose fields are no longer as they were bought. @param people all of them proved to be in the segment */
export async function verifyFields(
  segment: Filters,
  fields: readonly VerifiedField[],
  people: readonly Member[],
  bought: Bought,
  counts: Counts,
): Promise<Verified> {
  const changed = new Map<string, string[]>();
  let notChecked = 0;
  for (const field of fields) {
    const { held, most } = verificationOf(field, people, bought, counts);
    notChecked += people.filter(({ known }) => !known).length - held.length;
    const present = (questions: readonly Question<Listed>[]): Promise<number[]> =>
      Promise.all(
        questions.map(({ values, people: asked }) => {
          const value = field.several ? values : (values[0] ?? "");
          return counts.listed(
            { ...segment, [field.key]: value },
            asked.map(({ address }) => address),
          );
        }),
      );
    for (const { identity } of await findChanged(held, most, present)) {
      changed.set(identity, [...(changed.get(identity) ?? []), field.name]);
    }
  }
  return { changed, notChecked };
}

export interface Allowed {
  readonly callsPerCredit: number;
  readonly maxCalls: number;
  /** The most rows to buy for the new people. */
  readonly maxRows: number;
}

/** What to buy so as to have everybody who is new: the whole segment where nothing less costs less. */
export async function leavesOf(
  { segment, total, others }: Presence,
  kept: readonly Member[],
  { callsPerCredit, maxCalls, maxRows }: Allowed,
  counts: Counts,
): Promise<readonly Leaf[]> {
  if (others === 0) return [];
  const whole = { filters: segment, count: total, fresh: others };
  if (kept.length === 0 || callsPerCredit === 0) return [whole];
  const owned = kept.every(({ known }) => known) ? kept : await placed(segment, kept, counts);
  const again = kept.length - owned.length;
  const most = Math.max(0, maxRows - others - again);
  const { beyond, leaves, unreached } = await descend(
    { segment, total, owned, callsPerCredit, maxCalls, maxWaste: most, maxRows },
    counts,
  );
  const rows = leaves.reduce((sum, { count }) => sum + count, 0);
  return rows >= total || unreached.length > 0 || beyond > 0 ? [whole] : leaves;
}

/** Where hardly anybody has another name than was bought, these are bought again with the new ones: nothing else tells where they are now. */
const MOST_RENAMED = 0.005;

/** The people whom their names place. Who has no address was found by the name. */
async function placed(segment: Filters, kept: readonly Member[], counts: Counts): Promise<Member[]> {
  const held = await namesHold(segment, kept, counts);
  const isNamed = (member: Member): boolean => held.has(member) || member.address === undefined;
  const named = kept.filter(isNamed).map((member) => ({ ...member, named: true }));
  const renamed = kept.filter((member) => !isNamed(member));
  return renamed.length <= 1 + kept.length * MOST_RENAMED ? named : [...named, ...renamed];
}

/** About how much it takes to find the new people, by simulation (docs/refresh.md, "What it costs"). */
export interface Estimate {
  readonly calls: number;
  readonly rows: number;
}

/** By calls for each credit: rows bought for each new person at most, and how many of the calls it takes that 5 calls a credit do. */
const WASTE: readonly (readonly [callsPerCredit: number, rows: number, calls: number])[] = [
  [10, 1.1, 1.15],
  [5, 1.25, 1],
  [2, 2.3, 0.8],
  [1, 3, 0.65],
];

/** @param gone how many have left @param known whether attributes are those that were bought */
export function estimate(
  { total, others, present, chunks, groups }: Presence,
  {
    callsPerCredit,
    listSize,
    known,
  }: { readonly callsPerCredit: number; readonly listSize: number; readonly known: boolean },
): Estimate {
  const asked = chunks.reduce((sum, { items }) => sum + items.length, 0);
  const gone = asked - chunks.reduce((sum, chunk) => sum + chunk.present, 0);
  const again = Math.ceil((present + others) / listSize) + 1 + 2 * groups.length;
  const halving =
    gone === 0 ? 0 : 0.45 * Math.min(gone, asked - gone + 1) * Math.log2(2 + asked / gone) + 15 + asked / listSize;
  const [, waste, share] = WASTE.find(([calls]) => callsPerCredit >= calls) ?? [0, Number.POSITIVE_INFINITY, 0];
  const rows = others === 0 ? 0 : Math.min(total, Math.ceil(others * waste) + 5);
  const levels = Math.log2(Math.max(2, total / Math.max(1, others)));
  const each = known ? 1.3 * levels + 1.5 : 3.1 * levels + 6.5;
  const isWhole = rows >= total || others === 0;
  const drilling = isWhole ? 0 : share * others * each + (known ? 0 : asked / MOST_NAMED) + 10;
  return { calls: Math.ceil(halving + drilling + again), rows };
}
