import { randomBytes } from "node:crypto";
import { open, rm } from "node:fs/promises";
import { join } from "node:path";
import type { DuckDBConnection } from "@duckdb/node-api";
import { literal } from "../duckdb.ts";
import type { ColumnWriter } from "../embedded/column-writer.ts";
import type { RecordWriter } from "../embedded/record-writer.ts";

export interface PeopleDraft {
  readonly connection: DuckDBConnection;
  readonly writer: RecordWriter;
  readonly columns: ColumnWriter;
  readonly people: number;
  readonly scratch: string;
  readonly signal: AbortSignal;
}

const PIECE_BYTES = 2 ** 24;

/**
 * The texts of a query as lines, none of them a string of JavaScript's:
 * so neither the heap nor what it is cleaned for grows with the data.
 * Through a file: value by value costs three times as much.
 * @param take returns how many bytes it is done with
 */
export async function eachPiece(
  { connection, scratch, signal }: Pick<PeopleDraft, "connection" | "scratch" | "signal">,
  query: string,
  take: (lines: Buffer<ArrayBuffer>, isLast: boolean) => Promise<number>,
): Promise<void> {
  const path = join(scratch, `lines-${randomBytes(6).toString("hex")}`);
  await connection.run(
    `COPY (${query}) TO ${literal(path)} (FORMAT csv, HEADER false, QUOTE '', ESCAPE '')`,
  );

  const file = await open(path);
  try {
    const { size } = await file.stat();
    let room = Buffer.allocUnsafeSlow(Math.min(PIECE_BYTES, size));
    for (let at = 0; at < size; ) {
      signal.throwIfAborted();
      const { bytesRead } = await file.read(room, { position: at });
      const isLast = at + bytesRead === size;
      const length = await take(room.subarray(0, bytesRead), isLast);
      if (length === 0 && isLast) throw new Error(`${path} was cut short`);
      if (length === 0) room = Buffer.allocUnsafeSlow(2 * room.length);
      at += length;
    }
  } finally {
    await file.close();
    await rm(path);
  }
}
