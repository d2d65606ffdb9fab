/** What executes a statement. @returns how many rows changed */
export type Execute = (sql: string, values: readonly unknown[]) => number;

/** The most rows of one statement. */
const MOST_ROWS = 64;

/**
 * Rows for one statement, gathered and written many at a time: what SQLite and its driver spend on starting a statement is then
 * spent once for up to 64 rows. Chunks are powers of two, so that few statements are ever prepared.
 */
export class RowBuffer {
  readonly #width: number;
  readonly #sql: (tuples: string) => string;
  readonly #execute: Execute;
  readonly #texts = new Map<number, string>();
  #values: unknown[] = [];

  /**
   * @param width values of one row
   * @param sql the statement around `(?, ...), (?, ...)`
   */
  constructor(width: number, sql: (tuples: string) => string, execute: Execute) {
    this.#width = width;
    this.#sql = sql;
    this.#execute = execute;
  }

  /** Rows that wait. */
  get length(): number {
    return this.#values.length / this.#width;
  }

  add(...row: readonly unknown[]): void {
    this.#values.push(...row);
  }

  /** Forgets all rows but the first `length`. */
  truncate(length: number): void {
    this.#values.length = length * this.#width;
  }

  /** Writes all rows, in the order they came. They are kept where the statement throws. @returns how many rows changed */
  write(): number {
    let changed = 0;
    const rows = this.length;
    for (let row = 0; row < rows; ) {
      const size = 2 ** Math.floor(Math.log2(Math.min(rows - row, MOST_ROWS)));
      changed += this.#execute(this.#text(size), this.#values.slice(row * this.#width, (row + size) * this.#width));
      row += size;
    }
    this.#values = [];
    return changed;
  }

  #text(rows: number): string {
    const known = this.#texts.get(rows);
    if (known !== undefined) return known;
    const tuple = `(${Array.from({ length: this.#width }, () => "?").join(", ")})`;
    const text = this.#sql(Array.from({ length: rows }, () => tuple).join(", "));
    this.#texts.set(rows, text);
    return text;
  }
}
