// Tested by test/planning/descent.test.ts.
import { normalForm, withoutMarks } from "../../shared/contract/normalise.ts";
import { groupsBy } from "../../shared/groups.ts";
import type { SegmentMember } from "./question.ts";

export const END = "";
const ANY = "\n";

/**
 * What most names go on with. Each is its own normal form, so that no two of them
 * are one: a sharp s would count those again that `s` has.
 */
export const LETTERS =
  "aeinrlosthmdcukgbpyvzjfwxq-'.0123456789áéíóúäöüñçèêàâôîëïåøæœłśżźćńęąőűšžčřďťňěůýğışđ";

/** A letter without its accent; undefined: it has none that can be taken off. */
export function plainLetter(step: string): string | undefined {
  const plain = withoutMarks(step);
  return plain === step ? undefined : plain;
}

const GENERAL = 4;

/**
 * One character, and more where an end of that kind would
 * not stay as it is in normal form (a space is trimmed).
 */
function stepAfter(name: string, beginning: string): string {
  let step = "";
  for (const character of name.slice(beginning.length)) {
    step += character;
    if (/[!-~]/.test(character) || normalForm(beginning + step) === beginning + step) return step;
  }
  return step;
}

/** How often a letter follows two others, one other, or any, in names that are owned. */
export class Alphabet {
  readonly #contexts = new Map<string, Map<string, number>>();

  constructor(names: Iterable<string>) {
    for (const name of names) {
      for (let at = 0; at < name.length; ) {
        const beginning = name.slice(0, at);
        const step = stepAfter(name, beginning);
        this.#learn(beginning, step);
        at += step.length;
      }
      this.#learn(name, END);
    }

    for (const letter of LETTERS)
      for (const step of [letter, ` ${letter}`]) this.#add(ANY, step, 0);
  }

  /**
   * Most likely first.
   * @param rare whether also what no owned name has after these two characters
   */
  steps(
    beginning: string,
    groups: ReadonlyMap<string, readonly unknown[]>,
    rare: boolean,
  ): string[] {
    const likely = [
      this.#likely(beginning.slice(-2), 1),
      this.#likely(beginning.slice(-1), 0.2),
      this.#likely(ANY, 0.01),
    ];

    const score = (step: string): number =>
      likely.reduce(
        (sum, { after, weight }) => sum + weight * (after.get(step) ?? 0),
        groups.get(step)?.length ?? 0,
      );

    const candidates = [
      groups,
      ...likely.flatMap(({ after, isRare }) => (rare || !isRare ? [after] : [])),
    ];

    return [...new Set(candidates.flatMap((steps) => [...steps.keys()]))]
      .filter((step) => beginning !== "" || (step !== END && !step.startsWith(" ")))
      .map((step) => [step, score(step)] as const)
      .filter(([, likely]) => rare || likely >= LEAST)
      .sort(([a, first], [b, second]) => second - first || (a < b ? -1 : 1))
      .map(([step]) => step);
  }

  #likely(context: string, share: number) {
    const after = this.#contexts.get(context) ?? new Map<string, number>();
    const total = [...after.values()].reduce((sum, each) => sum + each, 0);
    const weight = (GENERAL * share) / Math.max(1, total) / 1.21;
    return { after, isRare: context === ANY, weight };
  }

  #learn(beginning: string, step: string): void {
    for (const context of new Set([beginning.slice(-2), beginning.slice(-1)]))
      this.#add(context, step, 1);
    if (step !== END) this.#add(ANY, step, 1);
  }

  #add(context: string, step: string, times: number): void {
    const after = this.#contexts.get(context) ?? new Map<string, number>();
    this.#contexts.set(context, after.set(step, (after.get(step) ?? 0) + times));
  }
}

/** Less likely steps cost more than dividing by values. */
const LEAST = GENERAL / 400;

export const bySteps = (
  members: readonly SegmentMember[],
  beginning: string,
): Map<string, SegmentMember[]> =>
  groupsBy(
    members.filter(({ name }) => name?.startsWith(beginning)),
    ({ name = "" }) => stepAfter(name, beginning),
  );
