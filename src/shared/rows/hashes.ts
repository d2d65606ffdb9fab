// Tested by test/unit/output-formats.test.ts.
// Two texts are taken for one where these agree; the machine (rows.as) makes the same of bytes.

/** Of its code units: where it is looked for, and what is kept of it: 32 and 16 bits, not all 0. */
export function identityHash(text: string) {
  let a = 0x811c9dc5;
  let b = 0x9747b28c;
  let c = 0x2c1b3c6d;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    a = Math.imul(a ^ code, 0x01000193);
    b = Math.imul(b ^ code, 0x5bd1e995);
    b ^= b >>> 15;
    c = Math.imul(c ^ code, 0x297a2d39);
    c ^= c >>> 13;
  }
  return [mix(a ^ text.length), mix(b + a), mix(c + b) >>> 16 || 1] as const;
}

/** The finishing step of MurmurHash3. */
function mix(value: number): number {
  let hash = value;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
