import { createHash } from "node:crypto";

/** SHA-256 over the parts, hex; each with its length, so that no part can pass for the end of another. */
export function digestOf(...parts: readonly (string | number | bigint | null)[]): string {
  const hash = createHash("sha256");
  for (const part of parts) {
    const text = String(part);
    hash.update(`${text.length}:`).update(text);
  }
  return hash.digest("hex");
}
