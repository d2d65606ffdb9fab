/** Larger nodes go by the ratio of the largest, which hardly moves. */
const NEW = 32;
const OWNED = 512;

const tables = new Map<string, (owned: number, fresh: number) => boolean>();

/**
 * Whether buying again costs less than parting, which takes `calls` and halves the owned (docs/new-only.md, "When it
 * stops").
 */
export function stopRule(callsPerCredit: number, calls: number): (owned: number, fresh: number) => boolean {
  const key = `${callsPerCredit} ${calls}`;
  const known = tables.get(key);
  if (known !== undefined) return known;
  const rule = callsPerCredit <= 0 ? () => true : solved(calls / callsPerCredit, 1 / callsPerCredit);
  tables.set(key, rule);
  return rule;
}

/** Expected cost in credits: the lesser of buying them and of halving them. */
function solved(split: number, request: number): (owned: number, fresh: number) => boolean {
  const chances = binomials(NEW);
  const cost = Array.from({ length: NEW + 1 }, () => new Float64Array(OWNED + 1));
  const most = new Array<number>(NEW + 1).fill(0);
  const at = (fresh: number, owned: number): number => (fresh === 0 ? 0 : (cost[fresh]?.[owned] ?? 0));
  for (let fresh = 1; fresh <= NEW; fresh++) {
    const row = cost[fresh] ?? new Float64Array();
    row[0] = request;
    for (let owned = 1; owned <= OWNED; owned++) {
      const left = owned >> 1;
      let parted = split;
      let again = 0;
      for (let here = 0; here <= fresh; here++) {
        const chance = chances[fresh]?.[here] ?? 0;
        // Nobody was parted from the one who is owned: the same once more.
        if (left === 0 && here === 0) again = chance;
        else parted += chance * (at(here, left) + at(fresh - here, owned - left));
      }
      parted /= 1 - again;
      const bought = owned + request;
      row[owned] = Math.min(bought, parted);
      if (bought <= parted) most[fresh] = owned;
    }
  }
  const ratio = (most[NEW] ?? 0) / NEW;
  return (owned, fresh) => owned <= (fresh <= NEW ? (most[fresh] ?? 0) : ratio * fresh);
}

function binomials(most: number): number[][] {
  const rows: number[][] = [[1]];
  for (let n = 1; n <= most; n++) {
    const above = rows[n - 1] ?? [];
    rows.push(Array.from({ length: n + 1 }, (_, k) => ((above[k - 1] ?? 0) + (above[k] ?? 0)) / 2));
  }
  return rows;
}
