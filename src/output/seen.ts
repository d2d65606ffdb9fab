/**
 * Remembers which rows were seen, in 8 bytes each: a 64-bit hash of a row's identity in an open-addressed table. Two different
 * identities among a million share a hash with a probability of 3 in 100 million.
 */
export class Seen {
  #table: Uint32Array;
  #slots: number;
  #count = 0;

  /** @param expected how many rows are likely to come; the table grows where there are more */
  constructor(expected: number) {
    this.#slots = Math.max(1_024, Math.ceil(expected / 0.7));
    this.#table = new Uint32Array(this.#slots * 2);
  }

  get count(): number {
    return this.#count;
  }

  /** @returns whether the identity is new */
  add(identity: string): boolean {
    let a = 0x811c9dc5;
    let b = 0x9747b28c;
    for (let index = 0; index < identity.length; index++) {
      const code = identity.charCodeAt(index);
      a = Math.imul(a ^ code, 0x01000193);
      b = Math.imul(b ^ code, 0x5bd1e995);
      b ^= b >>> 15;
    }
    a = mix(a ^ identity.length);
    // Zero marks an empty slot.
    const high = mix(b + a) || 1;
    if (!this.#insert(a, high)) return false;
    if (++this.#count > this.#slots * 0.85) this.#grow();
    return true;
  }

  #insert(low: number, high: number): boolean {
    let slot = (low >>> 0) % this.#slots;
    for (;;) {
      const there = this.#table[slot * 2 + 1];
      if (there === 0) break;
      if (there === high >>> 0 && this.#table[slot * 2] === low >>> 0) return false;
      slot = slot + 1 === this.#slots ? 0 : slot + 1;
    }
    this.#table[slot * 2] = low;
    this.#table[slot * 2 + 1] = high;
    return true;
  }

  #grow(): void {
    const old = this.#table;
    this.#slots = Math.ceil(this.#slots * 1.6);
    this.#table = new Uint32Array(this.#slots * 2);
    for (let at = 0; at < old.length; at += 2) {
      const high = old[at + 1] ?? 0;
      if (high !== 0) this.#insert(old[at] ?? 0, high);
    }
  }
}

/** The finishing step of MurmurHash3: every bit of the input moves every bit of the output. */
function mix(value: number): number {
  let hash = value;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
