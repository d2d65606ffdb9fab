// Tested by test/service/keys.test.ts.
import { hash as digest, randomBytes, timingSafeEqual } from "node:crypto";
import type { KeyMode, StoredKey } from "../ledger/ledger.ts";

/**
 * `hc_live_` or `hc_test_`, 24 random bytes and a checksum
 * in hexadecimal: errors and guesses need no look-up.
 */
const SECRET_BYTES = 24;
const PATTERN = /^hc_(live|test)_([0-9a-f]{48})([0-9a-f]{8})$/;

interface ApiKey extends Pick<StoredKey, "mode" | "hash" | "prefix"> {
  readonly key: string;
}

const checksum = (mode: KeyMode, secret: string): string =>
  hashOf(`hc_${mode}_${secret}`).slice(0, 8);

export function makeApiKey(
  mode: KeyMode,
  secret = randomBytes(SECRET_BYTES).toString("hex"),
): ApiKey {
  const key = `hc_${mode}_${secret}${checksum(mode, secret)}`;
  return { key, mode, hash: hashOf(key), prefix: displayPrefix(key) };
}

/**
 * Keys whose form and checksum were right, by their SHA-256: whoever comes again is hashed once.
 */
const sound = new Map<string, Pick<ApiKey, "mode" | "hash">>();
const MAX_SOUND = 10_000;
const MAX_HASHED = 100;

/** Exactly as it was sent. @returns undefined where form or checksum are wrong */
export function parseApiKey(text: string): Pick<ApiKey, "mode" | "hash"> | undefined {
  if (text.length > MAX_HASHED) return undefined;

  const hash = hashOf(text);
  const before = sound.get(hash);
  if (before !== undefined) return before;

  const match = PATTERN.exec(text);
  if (!match) return undefined;

  const [, mode, secret = "", sum = ""] = match;
  if ((mode !== "live" && mode !== "test") || checksum(mode, secret) !== sum) return undefined;
  if (sound.size >= MAX_SOUND) sound.clear();

  const key = { mode, hash } as const;
  sound.set(hash, key);

  return key;
}

/** SHA-256: what is kept of a secret. One round is right for so many random bits. */
export const hashOf = (secret: string): string => digest("sha256", secret, "hex");

export function sameHash(a: string, b: string): boolean {
  const left = Buffer.from(a, "utf8");
  const right = Buffer.from(b, "utf8");
  return left.length === right.length && timingSafeEqual(left, right);
}

/** `hc_live_Ab3d…9xYz`: enough to tell keys apart, too little to use. */
export function displayPrefix(key: string): string {
  const start = key.indexOf("_", 3) + 1;
  return `${key.slice(0, start + 4)}…${key.slice(-4)}`;
}
