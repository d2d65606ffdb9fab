import { hash } from "node:crypto";
import type { RecordPage } from "../../dataset/engine.ts";
import { listOf } from "../../shared/contract/envelope.ts";
import { jsonIn } from "../../shared/contract/text.ts";
import { idOf } from "../people/ids.ts";
import { LEFT_OUT } from "../people/suppressed.ts";

export interface PageRequest {
  readonly offset: number;
  readonly perPage: number;
  /** 1-based. With a cursor: the page that its offset lies on. */
  readonly page: number;
  readonly cursorVersion?: string;
}

export interface Cursor {
  readonly version: string;
  readonly segment: string;
  readonly offset: number;
}

const digest = (text: string): string => hash("sha256", text, "base64url");

/** A short name for a segment, so that a cursor serves no other one. */
export const segmentHash = (segment: string): string => digest(segment).slice(0, 12);

/**
 * An opaque text. The checksum is against mutilation: a cursor gives nobody more than `page` does.
 */
function writeCursor(cursor: Cursor): string {
  const body = Buffer.from(
    JSON.stringify([cursor.version, cursor.segment, cursor.offset]),
  ).toString("base64url");
  return `${body}.${digest(body).slice(0, 8)}`;
}

export function readCursor(text: string): Cursor | undefined {
  const match = /^([A-Za-z0-9_-]{1,400})\.([A-Za-z0-9_-]{8})$/.exec(text);
  const [, body = "", sum] = match ?? [];
  if (match === null || digest(body).slice(0, 8) !== sum) return undefined;

  const parts = jsonIn(Buffer.from(body, "base64url").toString("utf8"));
  if (!Array.isArray(parts)) return undefined;
  const [version, segment, offset] = parts as unknown[];
  if (typeof version !== "string" || typeof segment !== "string") return undefined;
  if (typeof offset !== "number" || !Number.isSafeInteger(offset) || offset < 0) return undefined;
  return { version, segment, offset };
}

export function boughtPage(
  page: RecordPage,
  paging: PageRequest,
  { segment, target, version }: Readonly<Record<"version" | "segment" | "target", string>>,
) {
  const headers: Record<string, string> = {
    "x-dataset-version": version,
    "x-total-count": String(page.total),
    "x-page": String(paging.page),
    "x-per-page": String(paging.perPage),
  };
  const { leftOut = [], records } = page;
  const rows = records.length;
  if (leftOut.length > 0) headers[LEFT_OUT] = String(leftOut.length);

  const next = paging.offset + rows + leftOut.length;
  if (next > paging.offset && next < page.total) {
    const cursor = writeCursor({ version, segment: segmentHash(segment), offset: next });
    headers["x-next-cursor"] = cursor;
    // After a cursor no page of this size may begin where this one ends.
    const [name, value] =
      next === paging.page * paging.perPage ? ["page", paging.page + 1] : ["cursor", cursor];
    // A GET can be followed as it stands. Of a POST the attributes say what to put into the body.
    headers.link = target.includes("?")
      ? `<${target}&${name}=${value}&per_page=${paging.perPage}>; rel="next"`
      : `<${target}>; rel="next"; ${name}="${value}"; per_page="${paging.perPage}"`;
  }

  return { rows, result: listOf(records), headers, people: records.map(idOf) };
}
