// Tested by test/service/sketch.test.ts.
import { createHash } from "node:crypto";
import type { Digests } from "./sketch.ts";

/**
 * The first 8 bytes of a SHA-256 over the sketch's key and the person's id.
 * @param key 32 hexadecimal digits
 */
export function digestsOf(key: string, ids: readonly string[]): Digests {
  const begun = createHash("sha256").update(Buffer.from(key, "hex"));
  const [high, low] = [new Uint32Array(ids.length), new Uint32Array(ids.length)];
  for (const [at, id] of ids.entries()) {
    const hash = begun.copy().update(id).digest();
    high[at] = hash.readUInt32BE(0);
    low[at] = hash.readUInt32BE(4);
  }
  return { high, low };
}
