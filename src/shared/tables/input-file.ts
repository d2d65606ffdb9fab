/**
 * What a file is, by its first bytes: a name proves nothing. `objects`: one JSON object a line,
 * `array`: JSON in one list, `text`: cells apart by something.
 */
export type FileKind = "gzip" | "workbook" | "parquet" | "array" | "objects" | "text";

export type FileFormat = "parquet" | "csv" | "ndjson";

export interface InputFile {
  readonly name: string;
  readonly path: string;
  readonly format: FileFormat;
  /** What its bytes are, unpacked. */
  readonly kind: Exclude<FileKind, "gzip">;
  readonly packed: boolean;
  readonly bytes: number;
}

/**
 * Something is wrong with what the user gave: a file, a column, a map. Says what and how to fix it.
 */
export class InputError extends Error {
  override readonly name = "InputError";
  readonly hint: string | undefined;

  constructor(message: string, hint?: string) {
    super(message);
    this.hint = hint;
  }
}
