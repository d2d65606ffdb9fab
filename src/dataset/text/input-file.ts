export type FileFormat = "parquet" | "csv" | "ndjson";

export interface InputFile {
  readonly name: string;
  readonly path: string;
  readonly format: FileFormat;
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
