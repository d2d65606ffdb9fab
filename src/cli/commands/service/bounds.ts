import type { KeyChanges, Scope } from "../../../service/ledger/ledger.ts";
import { type Credits, parseCredits } from "../../../shared/contract/money.ts";
import { nearest } from "../../../shared/contract/suggest.ts";
import { echo, spanMs } from "../../../shared/contract/text.ts";
import { usageError } from "../../../shared/errors.ts";
import { type Command, Option, offering } from "../../options.ts";

export interface BoundOptions {
  readonly maxCredits?: string;
  readonly expires?: string;
  readonly scope?: string;
}

/** The calls of the API (docs/contract.md, Keys). The service has them too, and is loaded only when it runs. */
const SCOPES: readonly Scope[] = ["account", "count", "search", "employees", "enrich"];

export const addBoundOptions = (command: Command): Command =>
  command
    .option("--max-credits <n>", "the most that it may ever be charged, kept by the service; or none")
    .option("--expires <when>", "until when it works: 12h, 7d, 4w from now, a UTC date such as 2027-01-31, or never")
    .addOption(
      offering(new Option("--scope <calls>", `what it may call: ${SCOPES.join(", ")} (commas between); or all`), {
        kind: "commas",
        values: SCOPES,
      }),
    );

export function keyBoundsOf({ expires, maxCredits, scope }: BoundOptions, now: number): KeyChanges {
  return {
    ...(maxCredits === undefined ? {} : { maxCredits: capOf(maxCredits) }),
    ...(expires === undefined ? {} : { expiresAt: expires === "never" ? null : momentOf("--expires", expires, now) }),
    ...(scope === undefined ? {} : { scopes: scopesOf(scope) }),
  };
}

function capOf(text: string): Credits | null {
  if (text === "none") return null;
  const cap = parseCredits(text);
  if (cap !== undefined && cap >= 0n) return cap;
  throw usageError(
    `--max-credits takes credits of 0 or more with at most six decimals, or none, not "${echo(text)}"`,
    "for example --max-credits 500",
  );
}

const DATE = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/;

function momentOf(flag: string, text: string, now: number): number {
  const span = spanMs(text);
  const at = span === undefined ? (DATE.test(text) ? Date.parse(text) : Number.NaN) : now + span;
  if (Number.isNaN(at)) {
    throw usageError(
      `${flag} takes 12h, 7d, 4w, a date such as 2027-01-31, or never, not "${echo(text)}"`,
      `for example ${flag} 7d`,
    );
  }
  if (at > now) return at;
  throw usageError(`${flag} ${echo(text)} lies in the past`, "headcount service keys revoke KEY ends a key now");
}

export function overlapOf(text: string): number {
  const span = text === "0" ? 0 : spanMs(text);
  if (span !== undefined) return span;
  throw usageError(`--overlap takes 0, 12h, 7d or 4w, not "${echo(text)}"`, "for example --overlap 24h");
}

function scopesOf(text: string): readonly Scope[] | null {
  if (text === "all") return null;
  const given = text.split(",").map((word) => word.trim());
  const unknown = given.find((word) => !SCOPES.includes(word as Scope));
  if (unknown !== undefined) {
    const near = nearest(unknown, SCOPES);
    throw usageError(
      `--scope takes ${SCOPES.join(", ")}, or all, not "${echo(unknown)}"`,
      near === undefined ? "for example --scope count,search" : `did you mean ${near}?`,
    );
  }
  return SCOPES.filter((scope) => scope === "account" || given.includes(scope));
}
