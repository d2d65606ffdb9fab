import { createHash } from "node:crypto";

/** What a cursor stands for: a place in the order of one segment of one dataset version. */
export interface Cursor {
  readonly version: string;
  readonly segment: string;
  readonly offset: number;
}

const digest = (text: string): string => createHash("sha256").update(text).digest("base64url");

/** A short name for a segment (the canonical filters or the company), so that a cursor serves no other one. */
export const segmentHash = (segment: string): string => digest(segment).slice(0, 12);

/** An opaque text. The checksum is against mutilation: a cursor gives nobody more than `page` does. */
export function writeCursor(cursor: Cursor): string {
  const body = Buffer.from(JSON.stringify([cursor.version, cursor.segment, cursor.offset])).toString("base64url");
  return `${body}.${digest(body).slice(0, 8)}`;
}

export function readCursor(text: string): Cursor | undefined {
  const match = /^([A-Za-z0-9_-]{1,400})\.([A-Za-z0-9_-]{8})$/.exec(text);
  const [, body = "", sum] = match ?? [];
  if (match === null || digest(body).slice(0, 8) !== sum) return undefined;
  try {
    const parts: unknown = JSON.parse(Buffer.from(body, "base64url").toString("utf8"));
    if (!Array.isArray(parts)) return undefined;
    const [version, segment, offset] = parts as unknown[];
    if (typeof version !== "string" || typeof segment !== "string") return undefined;
    if (typeof offset !== "number" || !Number.isSafeInteger(offset) || offset < 0) return undefined;
    return { version, segment, offset };
  } catch {
    return undefined;
  }
}
