import { credits, formatCredits, parseCredits, ZERO } from "../../shared/contract/money.ts";
import type { Filters } from "../../shared/contract/vocabulary.ts";

/** What is an amount in what a run keeps: text on the disk, as a number may lose millionths. */
const AMOUNTS: ReadonlySet<string> = new Set(
  (
    "hold used declared told remaining beside own balance maxCredits cap " +
    "settled uncertain foreign pending"
  ).split(" "),
);

export const keptText = (kept: object): string =>
  JSON.stringify(kept, (_, value: unknown) =>
    typeof value === "bigint" ? formatCredits(credits(value)) : value,
  );

export const ofKept = (text: string): unknown =>
  JSON.parse(text, (name, value: unknown) =>
    AMOUNTS.has(name) && value !== null ? (parseCredits(value) ?? ZERO) : value,
  );

/** `sum` is the line's checksum, `from` where the group begins that it heads. */
export interface LogRecord {
  readonly t: string;
  /** Bytes that follow this line as they came, and a line break after them. */
  readonly follows?: number;
  readonly crc?: string;
  readonly sum?: never;
  readonly from?: never;
}

export interface LogEntry<Kind extends LogRecord> {
  readonly record: Kind;
  readonly end: number;
}

/** What a segment is bought in. */
export interface Division {
  readonly matches?: number | null;
  /** Who is bought of its one part: ids, or what a sketch told of them. */
  readonly digests?: readonly string[];
  /** People in more than one of the parts, at most: paid for each time. */
  readonly overlap?: number | undefined;
  readonly counts?: readonly number[];
  /** Of a segment that is larger than what the service gives of one; bought one after the other. */
  readonly parts?: readonly Filters[];
  /** Which rows of each part are asked for, where some came with another part; undefined: all. */
  readonly spans?: readonly { readonly from: number; readonly to: number }[];
  /**
   * People whom no part holds: how many, in words, and
   * the smallest parts that hold them and the owned.
   */
  readonly unreached?:
    | readonly {
        readonly where: string;
        readonly count: number;
        readonly within?: readonly { readonly filters: Filters; readonly rows: number }[];
      }[]
    | undefined;
}
