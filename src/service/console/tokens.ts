import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";

export const newSecret = (): string => randomBytes(32).toString("base64url");

/** SHA-256, hex: what is kept of a secret. One round is right for 256 random bits. */
export const hashOf = (secret: string): string => createHash("sha256").update(secret, "utf8").digest("hex");

const macOf = (text: string, secret: string): string => createHmac("sha256", secret).update(text).digest("base64url");

/** A text that says `value`, and that only who has the secret can make: quotes and tickets are kept nowhere. */
export function sealToken(value: unknown, secret: string): string {
  const text = Buffer.from(JSON.stringify(value)).toString("base64url");
  return `${text}.${macOf(text, secret)}`;
}

/** What was sealed with the same secret; undefined for everything else. */
export function unseal(sealed: unknown, secret: string): unknown {
  if (typeof sealed !== "string") return undefined;
  const [text = "", mac = "", ...rest] = sealed.split(".");
  // Compared as text: many texts decode to the same bytes, and each would be a quote or a ticket of its own.
  const [given, right] = [Buffer.from(mac), Buffer.from(macOf(text, secret))];
  if (rest.length > 0 || given.length !== right.length || !timingSafeEqual(given, right)) return undefined;
  return JSON.parse(Buffer.from(text, "base64url").toString()) as unknown;
}
