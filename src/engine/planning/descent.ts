// Tested by test/planning/descent.test.ts.
import type { Filters } from "../../shared/contract/vocabulary.ts";
import { Alphabet, bySteps, END } from "./names.ts";
import { loosened, type Node, newIn, ownedIn, piece, rest, untoldIn } from "./node.ts";
import { type Counts, type SegmentMember, UnsoundCountsError } from "./question.ts";
import { type Stuck, straysIn } from "./strays.ts";
import { memberFilters, Values } from "./values.ts";

export interface DescentInput {
  readonly segment: Filters;
  readonly total: number;
  readonly owned: readonly SegmentMember[];
  /** Free calls that saving one credit may take; 0 divides nothing. */
  readonly callsPerCredit: number;
  readonly maxCalls: number;
  /** Owned people who may be bought again with new ones. */
  readonly maxWaste: number;
  readonly maxRows: number;
}

export type Leaf = Readonly<Record<"count" | "fresh", number>> & {
  readonly filters: Filters;
  /** Who is bought of it, where a sketch told, or ids. */
  readonly digests?: readonly string[];
};

/** What leaves are bought as. */
export function partsOf(leaves: readonly Leaf[]) {
  const digests = leaves.flatMap((leaf) => leaf.digests ?? []);
  const each = {
    parts: leaves.map(({ filters }) => filters),
    counts: leaves.map(({ count }) => count),
  };
  return digests.length === 0 ? each : { ...each, digests };
}

type Within = readonly { readonly filters: Filters; readonly rows: number }[];

export interface Descent {
  /** Those with the fewest owned people for each new one first. */
  readonly leaves: readonly Leaf[];
  /** New people in no leaf, why, and the smallest parts that hold them. */
  readonly unreached: readonly {
    readonly where: string;
    readonly count: number;
    readonly within: Within;
  }[];
  /** People who may be in two leaves, at most. */
  readonly overlap: number;
  readonly beyond: number;
}

/**
 * By counts alone (docs/explanation/new-people.md, "How the new people are found").
 * @throws UnsoundCountsError
 */
export async function descend(input: DescentInput, counts: Counts): Promise<Descent> {
  return new Search(input, counts).run();
}

/** However few calls a credit is worth, a part costs no more than three times the least. */
const MOST_OWNED = 2;

/** Dividing by values before names wants it this likely that every new person has one. */
const LIKELY = 0.5;

interface Division {
  readonly parts: readonly Node[];
  readonly strays: number;
  readonly why: string;
  /** Owned people who are taken for new ones in its parts. */
  readonly again?: number;
}

const wasteOf = ({ node, count }: Stuck): number => node.count - count;
const sumOfCredits = (leaves: readonly Stuck[]): number =>
  leaves.reduce((sum, leaf) => sum + wasteOf(leaf), 0);

type Residue = Stuck & { readonly why: string };

const NONE: Division = {
  parts: [],
  strays: Number.POSITIVE_INFINITY,
  why: "whom no filter tells from people you own",
};

/**
 * Calls for each new person that go into those whom hardly
 * anything tells apart, beyond what they are worth.
 */
const SPARE_CALLS = 2;

/** Parts that are counted, at most, between two looks at the calls that are left. */
const AT_A_STEP = 4;

const OUT_OF_CALLS =
  "not told apart from people you own within the calls allowed (the " +
  "same command again looks for them among fewer)";

class Search {
  readonly #input: DescentInput;
  readonly #counts: Counts;
  readonly #values: Values;
  readonly #alphabet: Alphabet;
  readonly #byName: (owned: number, fresh: number) => boolean;
  readonly #byValue: (owned: number, fresh: number) => boolean;
  readonly #mostOwned: number;
  readonly #leaves: (Stuck & { readonly isLast: boolean })[] = [];
  readonly #stuck: Residue[] = [];
  readonly #unreached: { where: string; count: number; within: Within[number][] }[] = [];
  #fresh = 0;
  #again = 0;
  #spare = 0;
  readonly #twins = { tries: 0, hits: 0 };
  #overlap = 0;
  #beyond = 0;

  constructor(input: DescentInput, counts: Counts) {
    const { segment, total, owned, callsPerCredit } = input;
    const aStep = AT_A_STEP * (1 + Math.ceil(owned.length / counts.listSize));
    this.#input = { ...input, maxCalls: input.maxCalls - aStep };
    this.#counts = counts;
    this.#values = new Values(segment, total, owned, counts);
    this.#alphabet = new Alphabet(owned.flatMap(({ name }) => name ?? []));
    this.#byName = stopRule(callsPerCredit, 2);
    this.#byValue = stopRule(callsPerCredit, 1);
    this.#mostOwned = callsPerCredit === 0 ? Number.POSITIVE_INFINITY : MOST_OWNED;
  }

  async run(): Promise<Descent> {
    const { segment, total, owned } = this.#input;
    const placed = owned.filter(({ isKnown, isNamed }) => isKnown || isNamed);
    const floating = owned.filter(
      ({ isKnown, isNamed, address }) => !isKnown && !isNamed && address !== undefined,
    );
    const root = { filters: segment, count: total, placed, floating, afloat: floating.length };
    if (newIn(root) < 0)
      throw new UnsoundCountsError(`${ownedIn(root)} of ${total} people are owned`);

    this.#spare = SPARE_CALLS * newIn(root);
    await this.#place(root, false);
    await this.#refine(this.#input.maxWaste);
    await this.#settle();

    const leaves = this.#leaves
      .map(({ node, count: fresh }) => ({ filters: node.filters, count: node.count, fresh }))
      .sort((a, b) => a.count / a.fresh - b.count / b.fresh);
    return { leaves, unreached: this.#unreached, overlap: this.#overlap, beyond: this.#beyond };
  }

  /** @param strict whether only what is all new, or not to be divided, is a leaf */
  async #place(node: Node, strict: boolean): Promise<void> {
    const fresh = newIn(node);
    if (fresh < 0)
      throw new UnsoundCountsError(
        `a part of ${node.count} people has ${ownedIn(node)} who are owned`,
      );
    if (fresh === 0) return;

    const { maxRows, maxCalls } = this.#input;
    if (this.#fresh >= maxRows) {
      this.#beyond += fresh;
      return;
    }

    const isKnown = node.afloat === 0 && node.placed.every((member) => member.isKnown);
    const stops = isKnown ? this.#byValue : this.#byName;
    const owned = ownedIn(node);
    if (owned === 0 || (!strict && owned <= this.#mostOwned * fresh && stops(owned, fresh)))
      return this.#take(node);
    if (this.#counts.calls >= maxCalls)
      return void this.#stuck.push({ node, count: fresh, why: OUT_OF_CALLS });

    for (const part of await this.#divided(node, isKnown)) await this.#place(part, strict);
  }

  /** By whatever reaches most of the new people; the others are looked for one by one. */
  async #divided(node: Node, isKnown: boolean): Promise<readonly Node[]> {
    const { calls } = this.#counts;
    const twins = await this.#twinsIn(node);
    if (twins !== undefined) {
      if (ownedIn(twins) === 0) return [twins];
      this.#stuck.push({ node: twins, count: newIn(twins), why: NONE.why });
      return [];
    }

    const isLarge = ownedIn(node) > this.#counts.listSize;
    const ways: (() => Promise<Division>)[] = [
      () => this.#steps(node, isLarge),
      () => this.#halves(node, 0),
      () => this.#steps(node, true),
    ];

    // Who has no address cannot be asked after: by values they would be bought again.
    if (untoldIn(node) > 0) ways.push(...ways.splice(1, 1));

    // Where it is not known who is in it, names tell nothing.
    if (isKnown || node.afloat > 0) ways.unshift(() => this.#halves(node, LIKELY));

    let best: Division = NONE;
    for (const way of ways) {
      if (this.#counts.calls >= this.#input.maxCalls) break;
      const division = await way();
      if (division.strays === 0) return this.#partsOf(division);
      if (division.strays < best.strays) best = division;
      // All of the owned would be asked after at each step: rather name who is left.
      if (isLarge && !isKnown && division.parts.length > 0) break;
    }

    // Whom values do not place may be the one that a count by them finds.
    const isBlind = untoldIn(node) > 0 && !best.again;
    const stuck = isBlind
      ? [{ node, count: Math.min(best.strays, newIn(node)) }]
      : await this.#strays(node, best);
    const isOut = this.#counts.calls >= this.#input.maxCalls && this.#counts.calls > calls;
    for (const each of stuck) this.#stuck.push({ ...each, why: isOut ? OUT_OF_CALLS : best.why });

    return this.#partsOf(best);
  }

  #partsOf({ parts, again = 0 }: Division): readonly Node[] {
    this.#again += again;
    this.#fresh -= again;
    return parts;
  }

  async #strays(node: Node, { parts, strays }: Division): Promise<readonly Stuck[]> {
    const { maxCalls, maxWaste, callsPerCredit } = this.#input;
    const { calls } = this.#counts;
    const worth = callsPerCredit * ownedIn(node);
    const find = straysIn({
      counts: this.#counts,
      values: this.#values,
      maxCalls: Math.min(maxCalls, calls + worth + this.#spare),
      room: () => maxWaste - this.#waste,
      isCheap: this.#byName,

      take: (cell) => {
        // Nothing takes it further apart.
        this.#take(cell, newIn(cell), true);
        this.#overlap += ownedIn(cell);
      },
    });
    const stuck = await find(
      loosened(node, "isKnown"),
      parts,
      Number.isFinite(strays) ? strays : newIn(node),
    );

    this.#spare = Math.max(0, this.#spare - Math.max(0, this.#counts.calls - calls - worth));
    return stuck;
  }

  #take(node: Node, count = newIn(node), isLast = false): void {
    this.#leaves.push({ node, count, isLast });
    this.#fresh += count;
  }

  #give({ why: where, count, node: { filters, count: rows } }: Residue): void {
    const entry = this.#unreached.find((group) => group.where === where);
    if (entry === undefined) this.#unreached.push({ where, count, within: [{ filters, rows }] });
    else {
      entry.count += count;
      entry.within.push({ filters, rows });
    }
  }

  get #waste(): number {
    return sumOfCredits(this.#leaves) + this.#again;
  }

  /** The worst first, until no more is wasted than was agreed to. */
  async #refine(most: number): Promise<void> {
    while (this.#waste > most) {
      const [worst] = this.#leaves
        .filter(({ isLast }) => !isLast)
        .sort((a, b) => wasteOf(b) - wasteOf(a));
      if (worst === undefined || wasteOf(worst) === 0) return;
      this.#leaves.splice(this.#leaves.indexOf(worst), 1);
      this.#fresh -= worst.count;
      await this.#place(worst.node, true);
    }
  }

  /**
   * Who is not told from others is bought with them
   * where the waste allows it; other leaves make room.
   */
  async #settle(): Promise<void> {
    const { maxWaste, maxCalls } = this.#input;
    const cheapest = (): Residue | undefined =>
      this.#stuck.sort((a, b) => wasteOf(a) - wasteOf(b)).shift();

    for (let next = cheapest(); next !== undefined; next = cheapest()) {
      const cost = wasteOf(next);
      const mayFit = sumOfCredits(this.#leaves.filter(({ isLast }) => isLast)) + cost <= maxWaste;
      if (mayFit && this.#counts.calls < maxCalls) await this.#refine(maxWaste - cost);
      if (this.#waste + cost > maxWaste) this.#give(next);
      else {
        this.#take(next.node, next.count, true);
        this.#overlap += cost;
      }
    }
  }

  /**
   * Where everybody new is like the only owned person in
   * all that filters tell; sought for where they are met.
   */
  async #twinsIn(whole: Node): Promise<Node | undefined> {
    const [one] = whole.placed;
    const { tries, hits } = this.#twins;

    if (one === undefined || ownedIn(whole) > 1 || (!one.isKnown && one.address === undefined))
      return undefined;
    if (tries >= 4 * (hits + 1)) return undefined;

    this.#twins.tries++;

    const node = loosened(whole, "isKnown");
    const { name_prefix: _, ...filters } = node.filters;
    const twins = await piece(
      node,
      { filters: { ...memberFilters(one), ...filters }, holds: () => true },
      this.#counts,
    );
    if (newIn(twins) !== newIn(node)) return undefined;

    this.#twins.hits++;
    return twins;
  }

  /** @param rare whether letters are tried that no owned name has there */
  async #steps(whole: Node, rare: boolean): Promise<Division> {
    const node = loosened(whole, "isNamed");
    const { name, name_prefix: prefix, ...others } = node.filters;
    if (name !== undefined) return NONE;

    const beginning = String(prefix ?? "");
    const groups = bySteps(node.placed, beginning);
    const parts: Node[] = [];
    let strays = newIn(node);
    for (const step of this.#alphabet.steps(beginning, groups, rare)) {
      if (strays <= 0 || this.#counts.calls >= this.#input.maxCalls) break;

      const own = new Set(groups.get(step));
      const filters =
        step === END
          ? { ...others, name: beginning }
          : { ...others, name_prefix: beginning + step };
      const part = await piece(node, { filters, holds: (member) => own.has(member) }, this.#counts);
      const fresh = newIn(part);
      if (fresh < 0 || fresh > strays)
        throw new UnsoundCountsError(
          `names that begin with "${beginning}" are fewer than those that go on`,
        );

      if (fresh > 0) parts.push(part);
      strays -= fresh;
    }

    const so = beginning === "" ? "" : `"${beginning}" and `;
    return {
      parts,
      strays,
      why: `whose names begin with ${so}a character that no owned name has there`,
    };
  }

  /** @param least how likely all of the new people have one */
  async #halves(whole: Node, least: number): Promise<Division> {
    // Taken whole it costs no more than its parts where none of them could be left out.
    const again = untoldIn(whole);
    const isVain = again === ownedIn(whole) || this.#waste + again > this.#input.maxWaste;
    if (again > 0 && isVain) return NONE;

    const node = loosened(whole, "isKnown");
    const fresh = newIn(node);
    let best: Division = NONE;
    for (const { key, left, right, covers, sure } of await this.#values.cuts(node)) {
      if (this.#counts.calls >= this.#input.maxCalls || sure ** fresh < least) break;
      const first = await piece(node, left, this.#counts);
      if (newIn(first) === fresh) return { parts: [first], strays: 0, why: NONE.why, again };

      const second = covers ? rest(node, first, right) : await piece(node, right, this.#counts);
      if (first.count + second.count > node.count) {
        this.#values.refuse(key);
        continue;
      }

      const parts = [first, second].filter((part) => newIn(part) !== 0);
      const missing = fresh - newIn(first) - newIn(second);
      if (missing < 0) throw new UnsoundCountsError(`parts of ${fresh} new people have more`);

      if (missing < best.strays)
        best = {
          parts,
          strays: missing,
          why: `who have no ${key}, and are not told apart otherwise`,
          again,
        };

      if (missing === 0) break;
    }

    return best;
  }
}

/** Larger nodes go by the ratio of the largest, which hardly moves. */
const NEW = 32;
const OWNED = 512;

type StopRule = (owned: number, fresh: number) => boolean;

const rules = new Map<string, StopRule>();

/**
 * Whether buying again costs less than parting, which
 * takes `calls` and halves the owned (docs/explanation/new-people.md).
 */
function stopRule(callsPerCredit: number, calls: number): StopRule {
  const key = `${callsPerCredit} ${calls}`;
  const rule =
    rules.get(key) ??
    (callsPerCredit <= 0 ? () => true : solved(calls / callsPerCredit, 1 / callsPerCredit));
  rules.set(key, rule);
  return rule;
}

/** By the expected cost in credits: the lesser of buying them and of halving them. */
function solved(split: number, request: number): StopRule {
  const cost = [new Float64Array(OWNED + 1)];
  const most = [0];
  let chances = [1];
  for (let fresh = 1; fresh <= NEW; fresh++) {
    const above = chances;
    chances = Array.from(
      { length: fresh + 1 },
      (_, at) => ((above[at - 1] ?? 0) + (above[at] ?? 0)) / 2,
    );

    const row = new Float64Array(OWNED + 1).fill(request, 0, 1);
    cost.push(row);

    for (let owned = 1; owned <= OWNED; owned++) {
      const left = owned >> 1;
      let parted = split;
      for (const [count, chance] of chances.entries()) {
        if (left > 0 || count > 0)
          parted +=
            chance * ((cost[count]?.[left] ?? 0) + (cost[fresh - count]?.[owned - left] ?? 0));
      }

      if (left === 0) parted /= 1 - (chances[0] ?? 0);
      row[owned] = Math.min(owned + request, parted);
      if (owned + request <= parted) most[fresh] = owned;
    }
  }

  const ratio = (most[NEW] ?? 0) / NEW;
  return (owned, fresh) => owned <= (fresh <= NEW ? (most[fresh] ?? 0) : ratio * fresh);
}
