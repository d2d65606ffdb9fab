// Tested by test/unit/output-formats.test.ts.
// Two texts are taken for one where these agree; the machine (rows.as) makes the same of bytes.

/**
 * Of an id and the address beside it: where it is looked for, and what is kept of it: 32 and 16
 * bits, not all 0.
 */
export function identityHash(id: string, address = "") {
  let a = 0x811c9dc5;
  let b = 0x9747b28c;

  for (const text of [id, address]) {
    const length = Buffer.byteLength(text);
    const bytes = Buffer.alloc(length + 8);
    bytes.write(text);
    for (let at = 0; at < length; at += 8) {
      a = Math.imul(a ^ bytes.readInt32LE(at), 0x5bd1e995);
      b = Math.imul(b ^ bytes.readInt32LE(at + 4), 0x297a2d39);
      a ^= b >>> 15;
      b ^= a >>> 13;
    }
    a ^= length;
  }

  return [mix(b), mix(a ^ (b << 7)), mix(a + b) >>> 16 || 1] as const;
}

/** The finishing step of MurmurHash3. */
function mix(value: number): number {
  let hash = value;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
