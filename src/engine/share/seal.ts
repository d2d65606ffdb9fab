// Tested by test/cli/sync.test.ts.
import { createCipheriv, createDecipheriv, createHmac, randomBytes } from "node:crypto";
import { gunzipSync, gzipSync } from "node:zlib";

/** The key of a synced folder: whoever has it can read everybody in it. */
export type FolderKey = Buffer;

const PREFIX = "hcsync_";
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const MAGIC = Buffer.from("HCS1");

export const newFolderKey = (): FolderKey => randomBytes(KEY_BYTES);

export const folderKeyText = (key: FolderKey): string => PREFIX + key.toString("base64url");

/** Undefined where a text is no key of a folder. */
export function folderKeyOf(text: string): FolderKey | undefined {
  const [, body] = /^hcsync_([\w-]{43})$/.exec(text.trim()) ?? [];
  return body === undefined ? undefined : Buffer.from(body, "base64url");
}

/** 32 hexadecimal digits, which say nothing without the key. */
export const sealedDigest = (key: FolderKey, plain: Buffer | string): string =>
  createHmac("sha256", key).update(plain).digest("hex").slice(0, 32);

/** Packed, then AES-256-GCM. @param name what it is to be called: under another it does not open */
export function sealFile(key: FolderKey, name: string, plain: Buffer): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(name));
  const body = Buffer.concat([cipher.update(gzipSync(plain)), cipher.final()]);
  return Buffer.concat([MAGIC, nonce, cipher.getAuthTag(), body]);
}

/** Undefined where a file is torn, mixed with another, or sealed with another key or name. */
export function openSealed(key: FolderKey, name: string, bytes: Buffer): Buffer | undefined {
  const start = MAGIC.length + NONCE_BYTES + TAG_BYTES;
  if (bytes.length < start || !bytes.subarray(0, MAGIC.length).equals(MAGIC)) return undefined;

  const nonce = bytes.subarray(MAGIC.length, MAGIC.length + NONCE_BYTES);
  const decipher = createDecipheriv("aes-256-gcm", key, nonce)
    .setAAD(Buffer.from(name))
    .setAuthTag(bytes.subarray(MAGIC.length + NONCE_BYTES, start));
  try {
    return gunzipSync(Buffer.concat([decipher.update(bytes.subarray(start)), decipher.final()]));
  } catch {
    return undefined;
  }
}
