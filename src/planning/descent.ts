import type { Filters } from "../contract/filters.ts";
import { Alphabet, bySteps, END } from "./names.ts";
import { loosened, type Node, newIn, ownedIn, type Piece, piece, rest, unsound } from "./node.ts";
import type { Counts, Member } from "./question.ts";
import { stopRule } from "./stop.ts";
import { Values } from "./values.ts";

export interface DescentInput {
  readonly segment: Filters;
  /** The count of the segment. */
  readonly total: number;
  /** Everybody owned of whom counts proved that they are in the segment. */
  readonly owned: readonly Member[];
  /** Free calls that saving one credit may take; 0 divides nothing. */
  readonly callsPerCredit: number;
  /** Free calls in all, those that the counts made before included. */
  readonly maxCalls: number;
  /** The most owned people that may be bought again. */
  readonly maxWaste: number;
  /** Rows that may be bought in all: nothing is divided of which no row will be. */
  readonly maxRows: number;
}

export interface Leaf {
  readonly filters: Filters;
  readonly count: number;
  /** New people in it; the others are owned. */
  readonly fresh: number;
}

/** What to buy so as to have everybody who is new. Nobody new is in two leaves; those in them and the unreached ones are all of them. */
export interface Descent {
  /** Those with the fewest owned people for each new one first. */
  readonly leaves: readonly Leaf[];
  /** New people in no leaf, and why. */
  readonly unreached: readonly { readonly where: string; readonly count: number }[];
  /** Owned people who may be in two leaves. */
  readonly overlap: number;
  /** New people who were not looked for, as no more rows may be bought. */
  readonly beyond: number;
}

/**
 * Where the new people of a segment are, by counts alone (docs/new-only.md, "How the new people are found"): parts in which the owned people are known are told from the
 * counts to hold nobody new, and are left out; the others are divided until buying them costs less than dividing them.
 * @throws UnsoundCountsError where counts contradict each other: approximate ones, or a dataset that moved
 */
export async function descend(input: DescentInput, counts: Counts): Promise<Descent> {
  return new Search(input, counts).run();
}

/** Owned people for each new one in a part that is bought: however few calls a credit is worth, it costs no more than three times the least. */
const MOST_OWNED = 2;

/** Dividing by values before names wants it this likely that every new person has one. */
const LIKELY = 0.5;

/** Parts of a node, and how many new people are in none of them. */
interface Division {
  readonly parts: readonly Node[];
  readonly left: number;
  readonly why: string;
  readonly byName?: boolean;
}

const NONE: Division = { parts: [], left: Number.POSITIVE_INFINITY, why: "whom no filter tells from people you own" };

const OUT_OF_CALLS = "not told apart from people you own within the calls allowed";

class Search {
  readonly #input: DescentInput;
  readonly #counts: Counts;
  readonly #values: Values;
  readonly #alphabet: Alphabet;
  readonly #byName: (owned: number, fresh: number) => boolean;
  readonly #byValue: (owned: number, fresh: number) => boolean;
  readonly #mostOwned: number;
  readonly #leaves: Node[] = [];
  readonly #unreached: { where: string; count: number }[] = [];
  #rows = 0;
  #overlap = 0;
  #beyond = 0;

  constructor(input: DescentInput, counts: Counts) {
    this.#input = input;
    this.#counts = counts;
    const { segment, total, owned, callsPerCredit } = input;
    this.#values = new Values(segment, total, owned, counts);
    this.#alphabet = new Alphabet(owned.flatMap(({ name }) => (name === undefined ? [] : [name])));
    this.#byName = stopRule(callsPerCredit, 2);
    this.#byValue = stopRule(callsPerCredit, 1);
    this.#mostOwned = callsPerCredit === 0 ? Number.POSITIVE_INFINITY : MOST_OWNED;
  }

  async run(): Promise<Descent> {
    const { segment, total, owned } = this.#input;
    const placed = owned.filter(({ known, named }) => known || named);
    const floating = owned.filter(({ known, named, address }) => !known && !named && address !== undefined);
    const root = { filters: segment, count: total, placed, floating, afloat: floating.length };
    if (newIn(root) < 0) throw unsound(`${ownedIn(root)} of ${total} people are owned`);
    await this.#place(root, false);
    await this.#refine();
    const leaves = this.#leaves
      .map((node) => ({ filters: node.filters, count: node.count, fresh: newIn(node) }))
      .sort((a, b) => a.count / a.fresh - b.count / b.fresh);
    return { leaves, unreached: this.#unreached, overlap: this.#overlap, beyond: this.#beyond };
  }

  /** Divides a node, or takes it for a leaf. @param strict whether only what is all new, or not to be divided, is a leaf */
  async #place(node: Node, strict: boolean): Promise<void> {
    const fresh = newIn(node);
    if (fresh < 0) throw unsound(`a part of ${node.count} people has ${ownedIn(node)} who are owned`);
    if (fresh === 0) return;
    const { maxRows, maxCalls } = this.#input;
    if (this.#rows >= maxRows) {
      this.#beyond += fresh;
      return;
    }
    const known = node.afloat === 0 && node.placed.every((member) => member.known);
    const stops = known ? this.#byValue : this.#byName;
    const owned = ownedIn(node);
    if (owned === 0 || (!strict && owned <= this.#mostOwned * fresh && stops(owned, fresh))) return this.#take(node);
    if (this.#counts.calls >= maxCalls) return this.#undivided(node, OUT_OF_CALLS);
    // Where it is not known who is in it, names tell nothing; where they hold, they never miss anybody.
    const parts = await this.#divided(node, known);
    if (parts === undefined) return;
    for (const part of parts) await this.#place(part, strict);
  }

  /** The parts of a node that have somebody new, by whatever reaches all of them; undefined where it is settled as a whole. */
  async #divided(node: Node, known: boolean): Promise<readonly Node[] | undefined> {
    const { calls } = this.#counts;
    const isLarge = ownedIn(node) > this.#counts.listSize;
    const ways: (() => Promise<Division>)[] = [
      () => this.#steps(node, isLarge),
      () => this.#halves(node, 0),
      () => this.#steps(node, true),
    ];
    // Where it is not known who is in it, names tell nothing.
    if (known || node.afloat > 0) ways.unshift(() => this.#halves(node, LIKELY));
    let best: Division = NONE;
    let letters: Division = NONE;
    for (const way of ways) {
      if (this.#counts.calls >= this.#input.maxCalls) break;
      const division = await way();
      if (division.left === 0) return division.parts;
      if (division.left < best.left) best = division;
      if (division.byName && division.left < letters.left) letters = division;
      // Of a large node all of the owned would be asked after at each step: rather name who is left.
      if (isLarge && !known && division.parts.length > 0) break;
    }
    if (letters.parts.length > 0) {
      const left = letters.left - (await this.#strays(loosened(node, "known"), letters.parts, letters.left));
      if (left === 0) return letters.parts;
      best = { ...letters, left };
    }
    const isOut = this.#counts.calls >= this.#input.maxCalls && this.#counts.calls > calls;
    const why = isOut ? OUT_OF_CALLS : best.why;
    if (best.parts.length === 0 || this.#waste + ownedIn(node) <= this.#input.maxWaste) {
      this.#undivided(node, why);
      return undefined;
    }
    this.#give(why, best.left);
    return best.parts;
  }

  /**
   * New people of a node who are in none of its parts: looked for by values, with the new people of the parts told from them by counts. The cells
   * that are bought have nobody else new, so only owned people may be in a part too.
   * @returns how many of them were found
   */
  async #strays(cell: Node, parts: readonly Node[], strays: number): Promise<number> {
    if (strays === 0) return 0;
    const owned = ownedIn(cell);
    const isAlone = newIn(cell) === strays;
    const isRoom = this.#waste + owned <= this.#input.maxWaste;
    if (isAlone && (owned === 0 || (isRoom && this.#byName(owned, strays)))) {
      this.#take(cell);
      this.#overlap += owned;
      return strays;
    }
    for (const { left, right } of await this.#values.cuts(cell)) {
      if (this.#counts.calls >= this.#input.maxCalls) return 0;
      const halves = [await this.#half(cell, parts, left), await this.#half(cell, parts, right)];
      if (halves.some(({ fresh }) => fresh < 0)) throw unsound("parts of a part have more new people than it has");
      if (halves.reduce((sum, { fresh }) => sum + fresh, 0) !== strays) continue;
      let found = 0;
      for (const half of halves) found += await this.#strays(half.cell, half.parts, half.fresh);
      return found;
    }
    if (!isAlone || !isRoom) return 0;
    this.#take(cell);
    this.#overlap += owned;
    return strays;
  }

  /** One half of a cell, of the parts that share it, and how many new people are in none of them. */
  async #half(
    cell: Node,
    parts: readonly Node[],
    { filters, holds }: Piece,
  ): Promise<{ readonly cell: Node; readonly parts: readonly Node[]; readonly fresh: number }> {
    const half = await piece(cell, { filters, holds }, this.#counts);
    const shared: Node[] = [];
    for (const part of newIn(half) === 0 ? [] : parts) {
      const { name, name_prefix: beginning } = part.filters;
      const { name_prefix: _, ...others } = filters;
      const both = name === undefined ? { ...filters, name_prefix: beginning ?? "" } : { ...others, name };
      const node = await piece(loosened(part, "known"), { filters: both, holds }, this.#counts);
      if (newIn(node) > 0) shared.push(node);
    }
    return { cell: half, parts: shared, fresh: newIn(half) - shared.reduce((sum, part) => sum + newIn(part), 0) };
  }

  #take(node: Node): void {
    this.#leaves.push(node);
    this.#rows += node.count;
  }

  #give(where: string, count: number): void {
    const known = this.#unreached.find((group) => group.where === where);
    if (known === undefined) this.#unreached.push({ where, count });
    else known.count += count;
  }

  /** Bought whole where that is within the waste that was agreed to. */
  #undivided(node: Node, why: string): void {
    if (this.#waste + ownedIn(node) <= this.#input.maxWaste) this.#take(node);
    else this.#give(why, newIn(node));
  }

  get #waste(): number {
    return this.#leaves.reduce((sum, node) => sum + ownedIn(node), 0);
  }

  /** Divides leaves further, the worst first, until no more is wasted than was agreed to. */
  async #refine(): Promise<void> {
    while (this.#waste > this.#input.maxWaste) {
      const worst = this.#leaves.reduce((most, node) => (ownedIn(node) > ownedIn(most) ? node : most));
      this.#leaves.splice(this.#leaves.indexOf(worst), 1);
      this.#rows -= worst.count;
      await this.#place(worst, true);
    }
  }

  /** By what names go on with. @param rare whether letters are tried that no owned name has there */
  async #steps(whole: Node, rare: boolean): Promise<Division> {
    const node = loosened(whole, "named");
    const { name, name_prefix: given, ...others } = node.filters;
    if (name !== undefined) return NONE;
    const beginning = String(given ?? "");
    const here = bySteps(node.placed, beginning);
    const sizes = new Map([...here].map(([step, members]) => [step, members.length]));
    const parts: Node[] = [];
    let left = newIn(node);
    for (const step of this.#alphabet.steps(beginning, sizes, rare)) {
      if (left <= 0 || this.#counts.calls >= this.#input.maxCalls) break;
      const own = new Set(here.get(step));
      const filters = step === END ? { ...others, name: beginning } : { ...others, name_prefix: beginning + step };
      const part = await piece(node, { filters, holds: (member) => own.has(member) }, this.#counts);
      const fresh = newIn(part);
      if (fresh < 0 || fresh > left)
        throw unsound(`names that begin with "${beginning}" are fewer than those that go on`);
      if (fresh > 0) parts.push(part);
      left -= fresh;
    }
    const so = beginning === "" ? "" : `"${beginning}" and `;
    return { parts, left, why: `whose names begin with ${so}a character that no owned name has there`, byName: true };
  }

  /** By the values of some key. @param least how likely all of the new people have one */
  async #halves(whole: Node, least: number): Promise<Division> {
    const node = loosened(whole, "known");
    const fresh = newIn(node);
    let best: Division = NONE;
    for (const { key, left, right, covers, sure } of await this.#values.cuts(node)) {
      if (this.#counts.calls >= this.#input.maxCalls || sure ** fresh < least) break;
      const first = await piece(node, left, this.#counts);
      // All of them are there: nobody has to be looked for elsewhere.
      if (newIn(first) === fresh) return { parts: [first], left: 0, why: NONE.why };
      const second = covers ? rest(node, first, right) : await piece(node, right, this.#counts);
      if (first.count + second.count > node.count) {
        this.#values.refuse(key);
        continue;
      }
      const parts = [first, second].filter((part) => newIn(part) !== 0);
      const missing = fresh - newIn(first) - newIn(second);
      if (missing < 0) throw unsound(`parts of ${fresh} new people have more`);
      if (missing < best.left)
        best = { parts, left: missing, why: `who have no ${key}, and are not told apart otherwise` };
      if (missing === 0) break;
    }
    return best;
  }
}
