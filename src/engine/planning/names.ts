import { normalForm } from "../../shared/contract/normalise.ts";
import type { SegmentMember } from "./question.ts";

/** The name ends where the beginning does. */
export const END = "";

/** What most names go on with. */
const LETTERS = "aeinrlosthmdcukgbpyvzjfwxq-'.0123456789áéíóúäöüñçèêàâôîëïåøæœłśżźćńęąőűšžčřďťňěůýğışđ";

const GENERAL = 4;

/** One character, and more where an end of that kind would not stay as it is in normal form (a space is trimmed). */
function stepAfter(name: string, beginning: string): string {
  let step = "";
  for (const character of name.slice(beginning.length)) {
    step += character;
    if (/[!-~]/.test(character) || normalForm(beginning + step) === beginning + step) return step;
  }
  return step;
}

export class Alphabet {
  readonly #after = new Map<string, Map<string, number>>();
  readonly #all = new Map<string, number>();

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
      for (const step of [letter, ` ${letter}`]) this.#all.set(step, this.#all.get(step) ?? 0);
  }

  #learn(beginning: string, step: string): void {
    for (const context of new Set([beginning.slice(-2), beginning.slice(-1)])) {
      const after = this.#after.get(context) ?? new Map<string, number>();
      this.#after.set(context, after.set(step, (after.get(step) ?? 0) + 1));
    }
    if (step !== END) this.#all.set(step, (this.#all.get(step) ?? 0) + 1);
  }

  /** Most likely first. @param rare whether also what no owned name has after these two characters */
  steps(beginning: string, here: ReadonlyMap<string, number>, rare: boolean): string[] {
    const [two, one] = [-2, -1].map((from) => this.#after.get(beginning.slice(from)));
    const total = (counts: ReadonlyMap<string, number> | undefined): number =>
      Math.max(
        1,
        [...(counts?.values() ?? [])].reduce((sum, each) => sum + each, 0),
      );
    const [pairs, singles, all] = [total(two), total(one), total(this.#all)];
    const score = (step: string): number =>
      (here.get(step) ?? 0) +
      GENERAL *
        (((two?.get(step) ?? 0) / pairs +
          (0.2 * (one?.get(step) ?? 0)) / singles +
          (0.01 * (this.#all.get(step) ?? 0)) / all) /
          1.21);
    const candidates = new Set([...here.keys(), ...(two?.keys() ?? []), ...(one?.keys() ?? [])]);
    if (rare) for (const step of this.#all.keys()) candidates.add(step);
    if (beginning === "")
      for (const step of candidates) if (step === END || step.startsWith(" ")) candidates.delete(step);
    return [...candidates]
      .map((step) => [step, score(step)] as const)
      .filter(([, likely]) => rare || likely >= LEAST)
      .sort(([a, first], [b, second]) => second - first || (a < b ? -1 : 1))
      .map(([step]) => step);
  }
}

/** Less likely steps cost more than dividing by values. */
const LEAST = GENERAL / 400;

export function bySteps(members: readonly SegmentMember[], beginning: string): Map<string, SegmentMember[]> {
  const groups = new Map<string, SegmentMember[]>();
  for (const member of members) {
    const { name } = member;
    if (name?.startsWith(beginning) !== true) continue;
    const step = stepAfter(name, beginning);
    const group = groups.get(step);
    if (group === undefined) groups.set(step, [member]);
    else group.push(member);
  }
  return groups;
}
