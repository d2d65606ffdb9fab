import { type DecodedLog, scanLog, undamaged } from "../../src/engine/runs/log.ts";
import type { LogRecord } from "../../src/engine/runs/record.ts";

/** A log of bytes that no file holds. @throws CliError where it is damaged */
export const decodeLog = <Kind extends LogRecord>(bytes: Buffer, path: string): DecodedLog<Kind> =>
  undamaged(scanLog<Kind>((at, length) => bytes.subarray(at, at + length), bytes.length, path));
