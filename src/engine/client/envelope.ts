import { type Credits, parseCredits } from "../../shared/contract/money.ts";
import { harmlessLine, shownAddress, whole } from "../../shared/contract/text.ts";
import { readable } from "../../shared/rows/scan.ts";
import { skipSpace, skipValue } from "../../shared/rows/tokens.ts";
import { LostReplyError, type ReplyMeta, ServiceError } from "./errors.ts";
import { header, rateLimitOf, retryAfterOf } from "./rate-limit.ts";
import type { RawReply } from "./wire.ts";

export interface Unwrapped {
  /** `result`, or undefined where it was not needed to look into it (see {@link unwrapPage}). */
  readonly result: unknown;
  readonly meta: ReplyMeta;
  /** Its brackets do not end: it breaks off, and is not only spelled wrong. */
  readonly isCut?: boolean;
}

interface Fields {
  readonly used: Credits | undefined;
  readonly remaining: Credits | undefined;
  readonly notices: readonly string[];
}

function firstLine(body: Buffer): string {
  const text = body.subarray(0, 4_096).toString("utf8");
  const title = /<title[^>]*>([^<]{1,300})/i.exec(text)?.[1];
  const line = title ?? text.split(/\r?\n/).find((candidate) => candidate.trim() !== "") ?? "";
  return harmlessLine(line, 100);
}

function detailOf(value: unknown): string[] {
  const items = Array.isArray(value)
    ? (value as unknown[])
    : value === undefined || value === null
      ? []
      : [value];
  return items
    .slice(0, 50)
    .map((item) => harmlessLine(typeof item === "string" ? item : jsonOf(item), 2_000))
    .filter((item) => item !== "");
}

function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    return "(nested too deep to be shown)";
  }
}

function metaOf(reply: RawReply, fields: Fields, now: number): ReplyMeta {
  const deprecation = header(reply.headers, "deprecation");
  const sunset = header(reply.headers, "sunset");
  const deprecated = [
    deprecation === undefined ? "" : `deprecated: ${harmlessLine(deprecation, 100)}`,
    sunset === undefined ? "" : `goes away: ${harmlessLine(sunset, 100)}`,
  ].filter((part) => part !== "");

  return {
    status: reply.status,
    requestId: requestIdOf(reply),
    at: now,
    creditsUsed: fields.used,
    creditsRemaining: fields.remaining,
    notices: fields.notices,
    datasetVersion: header(reply.headers, "x-dataset-version"),
    rateLimit: rateLimitOf(reply.headers, now),
    deprecation: deprecated.length === 0 ? undefined : deprecated.join(", "),
  };
}

function requestIdOf(reply: RawReply): string | undefined {
  const id = header(reply.headers, "x-request-id", "request-id", "x-correlation-id");
  return id === undefined ? undefined : harmlessLine(id, 100);
}

/**
 * @param isPaid of what is broken there is as much as can be read: it was charged for, and is kept
 * @throws ServiceError for what is no success, LostReplyError where JSON is broken that is free
 */
export function unwrap(reply: RawReply, now: number, isPaid = false): Unwrapped {
  refuseRedirect(reply);
  const { body, status } = reply;
  let parsed: unknown;
  try {
    parsed = JSON.parse(body.toString("utf8"));
  } catch (error) {
    const begins = /^\s*[{[]/.test(body.toString("utf8", 0, 64));
    const json = begins || /\bjson\b/i.test(header(reply.headers, "content-type") ?? "");
    if (isPaid && begins && status === 200) {
      const isCut = skipValue(body, skipSpace(body, 0)) < 0;
      return { ...contentsOf(reply, now, brokenEnvelope(body)), isCut };
    }
    if (json && status >= 200 && status < 300) {
      const why = "the answer is not whole: its JSON ends too soon or is broken";
      throw new LostReplyError(
        body.length === 0 ? `the answer ${status} is empty` : why,
        "BROKEN_JSON",
        true,
        error,
      );
    }

    throw errorOf(reply, now, undefined);
  }

  if (
    typeof parsed !== "object" ||
    parsed === null ||
    !("result" in parsed || "status" in parsed || "detail" in parsed)
  ) {
    throw errorOf(reply, now, undefined);
  }

  return contentsOf(reply, now, parsed as Envelope);
}

type Envelope = Readonly<Record<string, unknown>>;

/** A number that it ends with may be the beginning of one: what stands behind it makes it none. */
const brokenEnvelope = (body: Buffer): Envelope =>
  readable(Buffer.concat([body, Buffer.from("-")]), Math.max(0, body.indexOf("{"))).fields;

function contentsOf(reply: RawReply, now: number, envelope: Envelope): Unwrapped {
  // Another success than 200, or a status that is not true, is no answer of the contract: it may
  // come yet.
  if (reply.status !== 200 || (envelope.status ?? true) !== true)
    throw errorOf(reply, now, envelope);

  const fields: Fields = {
    used: parseCredits(envelope.credits_used),
    remaining: parseCredits(envelope.credits_remaining),
    notices: detailOf(envelope.detail),
  };
  return { result: envelope.result, meta: metaOf(reply, fields, now) };
}

// A page as our own service and any plain one sends it. Both ends of the text tell the envelope, so
// the megabyte between them is parsed once, by whoever needs the rows. What stands right before the
// last brace is a field of the envelope: text within a string has its quotes escaped.
const HEAD = /^\s*\{\s*"status"\s*:\s*true\s*,\s*"detail"\s*:\s*\[\s*\]\s*,\s*"result"\s*:\s*\[/;
const TAIL =
  /\]\s*,\s*"credits_used"\s*:\s*(\d{1,9}(?:\.\d{1,6})?)\s*,\s*"credits_remaining"\s*:\s*(\d{1,15}(?:\.\d{1,6})?)\s*\}\s*$/;

/** As {@link unwrap}, for a page of rows: `result` may be left undefined. */
export function unwrapPage(reply: RawReply, now: number): Unwrapped {
  const { body } = reply;
  if (reply.status === 200 && HEAD.test(body.toString("latin1", 0, 128))) {
    const tail = TAIL.exec(body.toString("latin1", Math.max(0, body.length - 192)));
    if (tail) {
      const fields: Fields = {
        used: parseCredits(tail[1]),
        remaining: parseCredits(tail[2]),
        notices: [],
      };
      return { result: undefined, meta: metaOf(reply, fields, now) };
    }
  }

  return unwrap(reply, now, true);
}

/**
 * As {@link unwrapPage}; null is no page, but one that may come yet.
 * @throws ServiceError for it
 */
export function unwrapRows(reply: RawReply, now: number): Unwrapped {
  const unwrapped = unwrapPage(reply, now);
  if (unwrapped.result !== null) return unwrapped;
  throw errorOf(reply, now, {
    ...brokenEnvelope(reply.body),
    detail: ["no page: its result is null"],
  });
}

function refuseRedirect(reply: RawReply): void {
  if (reply.status < 300 || reply.status >= 400) return;

  const target = header(reply.headers, "location");
  const to = target === undefined ? "" : ` to ${harmlessLine(shownAddress(target), 120)}`;

  throw new ServiceError({
    status: reply.status,
    detail: [
      `redirect${to}: not followed, so that the key goes nowhere else; ` +
        "give the final address as base URL",
    ],
    requestId: requestIdOf(reply),
    envelope: false,
  });
}

function errorOf(reply: RawReply, now: number, envelope: Envelope | undefined): ServiceError {
  const detail =
    envelope === undefined
      ? []
      : detailOf(envelope.detail ?? envelope.message ?? envelope.error ?? envelope.title);

  if (detail.length === 0) {
    const line = envelope === undefined ? firstLine(reply.body) : "";
    const type = harmlessLine(header(reply.headers, "content-type") ?? "no content type", 60);
    const what =
      envelope === undefined
        ? `not the API's JSON but ${reply.body.length === 0 ? "an empty body" : type}`
        : "no detail";
    detail.push(line === "" ? what : `${what}: "${line}"`);
  }

  return new ServiceError({
    status: reply.status,
    detail,
    requestId: requestIdOf(reply),
    envelope: envelope !== undefined,
    lostKey: reply.status === 401 && header(reply.headers, "x-key-received") === "no",
    retryAfterMs: retryAfterOf(reply.headers, now),
    rateLimit: rateLimitOf(reply.headers, now),
    // A 401 is not about an account, so its balance means nothing (docs/reference/contract.md,
    // Errors).
    creditsUsed: parseCredits(envelope?.credits_used),
    creditsRemaining: reply.status === 401 ? undefined : parseCredits(envelope?.credits_remaining),
    affordableRows: whole(header(reply.headers, "x-affordable-rows"), 1),
  });
}
