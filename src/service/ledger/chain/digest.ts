import { hash } from "node:crypto";

export type DigestPart = string | number | bigint | null;

/** SHA-256 over the parts, base64url; each with its length, so that no part can pass for the end of another. */
export function digestOf(...parts: readonly DigestPart[]): string {
  let text = "";
  for (const part of parts) {
    if (part === null) text += "-;";
    else {
      const each = typeof part === "string" ? part : part.toString();
      text += `${each.length}:${each};`;
    }
  }
  return hash("sha256", text, "base64url");
}
