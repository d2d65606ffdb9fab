import { hash as digest, randomBytes, timingSafeEqual } from "node:crypto";
import type { KeyMode } from "../ledger/ledger.ts";

/** `hc_live_` or `hc_test_`, 32 random bytes in base62, a checksum: errors and guesses need no look-up. */
const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const SECRET_BYTES = 32;
/** 62^43 > 2^256. */
const SECRET_LENGTH = 43;
const CHECKSUM_LENGTH = 6;
const PATTERN = new RegExp(`^hc_(live|test)_([0-9A-Za-z]{${SECRET_LENGTH}})([0-9A-Za-z]{${CHECKSUM_LENGTH}})$`);

interface ApiKey {
  readonly key: string;
  readonly mode: KeyMode;
  readonly hash: string;
  readonly prefix: string;
}

function base62(value: bigint, length: number): string {
  let rest = value;
  let text = "";
  while (text.length < length) {
    text = (ALPHABET[Number(rest % 62n)] ?? "0") + text;
    rest /= 62n;
  }
  return text;
}

function checksum(mode: KeyMode, secret: string): string {
  let rest = Number.parseInt(digest("sha256", `hc_${mode}_${secret}`, "hex").slice(0, 8), 16);
  let text = "";
  while (text.length < CHECKSUM_LENGTH) {
    text = ALPHABET.charAt(rest % 62) + text;
    rest = Math.floor(rest / 62);
  }
  return text;
}

export function makeApiKey(mode: KeyMode, random: (n: number) => Uint8Array = randomBytes): ApiKey {
  const bytes = random(SECRET_BYTES);
  if (bytes.length !== SECRET_BYTES)
    throw new RangeError(`a key needs ${SECRET_BYTES} random bytes, not ${bytes.length}`);
  const secret = base62(BigInt(`0x${Buffer.from(bytes).toString("hex")}`), SECRET_LENGTH);
  const key = `hc_${mode}_${secret}${checksum(mode, secret)}`;
  return { key, mode, hash: hashApiKey(key), prefix: displayPrefix(key) };
}

/** Keys whose form and checksum were right, by their SHA-256: whoever comes again is hashed once. */
const sound = new Map<string, Pick<ApiKey, "mode" | "hash">>();
const MAX_SOUND = 10_000;
const MAX_HASHED = 100;

/** Exactly as it was sent. @returns undefined where form or checksum are wrong */
export function parseApiKey(text: string): Pick<ApiKey, "mode" | "hash"> | undefined {
  if (text.length > MAX_HASHED) return undefined;
  const hash = hashApiKey(text);
  const known = sound.get(hash);
  if (known !== undefined) return known;
  const match = PATTERN.exec(text);
  if (!match) return undefined;
  const [, mode, secret = "", sum = ""] = match;
  if ((mode !== "live" && mode !== "test") || checksum(mode, secret) !== sum) return undefined;
  if (sound.size >= MAX_SOUND) sound.clear();
  const key = { mode, hash } as const;
  sound.set(hash, key);
  return key;
}

export const hashApiKey = (key: string): string => digest("sha256", key, "hex");

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
