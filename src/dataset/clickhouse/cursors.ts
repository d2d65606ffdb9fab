const SEGMENTS = 1_000;
const ENDS = 1_000;

export interface PageCursor {
  readonly total: number;
  /** By offset: the row number of the last person before it. */
  readonly ends: Map<number, number>;
}

/** Where pages of large segments ended, so that the next one begins there and nothing is skipped row by row. */
export class Cursors {
  readonly #known = new Map<string, PageCursor>();

  of(key: string): PageCursor | undefined {
    return this.#known.get(key);
  }

  /** @param offset of the page after the one that ended with this row number */
  note(key: string, total: number, offset: number, last: number): void {
    const cursor = this.#known.get(key) ?? { total, ends: new Map([[0, -1]]) };
    cursor.ends.set(offset, last);
    dropOldest(cursor.ends, ENDS);
    this.#known.delete(key);
    this.#known.set(key, cursor);
    dropOldest(this.#known, SEGMENTS);
  }
}

function dropOldest(map: Map<unknown, unknown>, most: number): void {
  if (map.size <= most) return;
  const [oldest] = map.keys();
  map.delete(oldest);
}
