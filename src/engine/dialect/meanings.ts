// Tested by test/unit/engine/dialect/meanings.test.ts.
import { type Credits, credits, parseCredits, priceOf, ZERO } from "../../shared/contract/money.ts";
import { echo, harmlessLine, isObject } from "../../shared/contract/text.ts";
import { placed, type VendorBody } from "../../shared/dialect/holes.ts";
import type { DialectFile, Meaning, VendorCall } from "../../shared/dialect/shape.ts";
import { type CliError, failed } from "../../shared/errors.ts";
import { type JsonValue, parseExact, stringifyExact } from "../../shared/rows/values.ts";
import { LostReplyError, type ReplyMeta, ServiceError } from "../client/errors.ts";
import { header, rateLimitOf, retryAfterOf } from "../client/rate-limit.ts";
import type { RawReply } from "../client/wire.ts";
import { type Listed, listApart } from "./verbatim.ts";

/** A reply that was looked into. `told.body`: undefined where it is no JSON. */
export interface VendorReply {
  readonly raw: RawReply;
  /** Without the records of `listed`. */
  readonly told: VendorBody;
  readonly listed: Listed | undefined;
  /** Of an answer that the file does not speak of nothing is known. */
  readonly is: Meaning | "undeclared";
}

/** Where the records of a call stand, if nobody looks for anything else in them, and no ids. */
function recordsAt({ means }: DialectFile, { gives, reply = {} }: VendorCall): string | undefined {
  const { rows } = reply;
  const others = [...means.map(({ at }) => at), ...Object.values(reply)];
  const isAlone = gives !== "ids" && !others.some((place) => place?.includes(`${rows}[`));
  return isAlone ? rows : undefined;
}

/** What a reply means by the file: the first row that fits; else by its status. */
export function meantBy(file: DialectFile, raw: RawReply, call: VendorCall): VendorReply {
  const isSuccess = raw.status >= 200 && raw.status < 300;
  const rows = recordsAt(file, call);
  const apart = rows === undefined ? undefined : listApart(raw.body, rows);
  const around = apart && parsed(apart.around);
  const listed = around === undefined ? undefined : apart;
  const body = around ?? parsed(raw.body.toString("utf8"));
  const told: VendorBody = { body, header: (name) => header(raw.headers, name) };
  const says = (words: string): boolean =>
    raw.body.toString("utf8").toLowerCase().includes(words.toLowerCase());

  const row = file.means.find(({ status, text: words, at, equals }) => {
    // Words of a success may be somebody's title: only a place tells there, or the status itself.
    if (isSuccess && status === undefined && at === undefined) return false;
    if (status !== undefined && ![status].flat().includes(raw.status)) return false;
    if (words !== undefined && !says(words)) return false;
    return at === undefined || placed(at, told) === equals;
  });

  const failure = raw.status < 500 ? "undeclared" : "busy";
  const usual = isSuccess ? (body === undefined ? "unsure" : "ok") : failure;
  return { raw, told, listed, is: row?.is ?? usual };
}

function parsed(text: string): JsonValue | undefined {
  try {
    return parseExact(text);
  } catch {
    return undefined;
  }
}

const STATUS: Readonly<Partial<Record<VendorReply["is"], number>>> = {
  none: 404,
  gone: 404,
  key: 401,
  credits: 402,
  limit: 429,
};

/** A reply that is no success, as the engine knows failures. */
export function failureIn(
  { is, raw, told }: VendorReply,
  call: VendorCall,
  now: number,
): ServiceError | LostReplyError {
  const line = harmlessLine(raw.body.toString("utf8", 0, 2_000), 300);
  if (is === "unsure" || is === "ok")
    return new LostReplyError(`the answer ${raw.status} is not what was declared`, "UNSURE", true);

  // By its meaning, whatever status the vendor says that with.
  const refused = raw.status === 400 ? 400 : 422;
  const busy = raw.status < 500 ? 503 : raw.status;
  const status = STATUS[is] ?? (is === "busy" ? busy : refused);
  return new ServiceError({
    status,
    answered: raw.status,
    detail: [line === "" ? `an empty answer ${raw.status}` : line],
    envelope: is !== "undeclared",
    retryAfterMs: retryAfterOf(raw.headers, now),
    rateLimit: rateLimitOf(raw.headers, now),
    creditsUsed: amountAt(call.reply?.charged, told) ?? (is === "busy" ? undefined : ZERO),
    // Its meaning is declared, and what means no is not charged; a fault may have been.
    exact: is !== "busy",
    isWithoutCursor: call.pages === undefined,
    creditsRemaining: amountAt(call.reply?.balance, told),
  });
}

/** A whole reply that is not like its file says, with both sides: it would come so again. */
export function notAsDeclared(
  { name }: DialectFile,
  { told }: VendorReply,
  { place = "", is }: { readonly place: string | undefined; readonly is: string },
): CliError {
  const found = placed(place, told);

  const { body } = told;
  const there = isObject(body) ? Object.keys(body).join(", ") : stringifyExact(body ?? null);
  const stands =
    found === undefined
      ? `nothing stands there, beside ${echo(there)}`
      : `there is ${echo(stringifyExact(found))}`;

  return failed.incomplete(
    `${name} answers otherwise than its file says: ${is} at "${echo(place)}"; ${stands}`,
    `what came is kept; where it stands is said by "reply" in the file`,
    "not_as_declared",
  );
}

/** What a reply says beside its people; undefined: there was none. */
export const metaOf = (
  at: number,
  reply?: VendorReply,
  creditsUsed?: Credits,
  creditsRemaining?: Credits,
): ReplyMeta => ({
  status: 200,
  requestId: undefined,
  at,
  creditsUsed,
  creditsRemaining,
  notices: [],
  datasetVersion: undefined,
  rateLimit: reply && rateLimitOf(reply.raw.headers, at),
  deprecation: undefined,
});

export const amountAt = (place: string | undefined, told: VendorBody): Credits | undefined =>
  parseCredits(placed(place, told));

/**
 * What a call costs that brought so many, as the file has it. One that is paid for by itself costs
 * as much where it brings nobody, unless the file says otherwise.
 */
export function declaredPrice({ price }: VendorCall, rows: number): Credits {
  const {
    per = "call",
    credits: each = "0",
    none = per === "request" ? each : "0",
    rows: unit = 1,
  } = price ?? {};
  if (rows === 0 && per !== "call") return parseCredits(none) ?? ZERO;

  const units = per === "row" ? rows : per === "started" ? Math.ceil(rows / unit) : 1;
  return credits(priceOf(units, parseCredits(each) ?? ZERO));
}
