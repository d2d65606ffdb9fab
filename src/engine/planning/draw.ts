// Tested by test/planning/draw.test.ts.
import { hash } from "node:crypto";

export interface DrawnPage {
  readonly segment: number;
  readonly offset: number;
  /** What is asked for; at the end of the segment it has fewer `rows`. */
  readonly size: number;
  readonly rows: number;
}

export type Dice = (below: number) => number;

/** The same numbers on every machine: SHA-256 in counter mode. */
export function dice(seed: string): Dice {
  let block = Buffer.alloc(0);
  let at = 0;
  let counter = 0;
  const word = (): number => {
    if (at === block.length) {
      block = hash("sha256", `${seed}/${counter++}`, "buffer");
      at = 0;
    }
    at += 4;
    return block.readUInt32BE(at - 4);
  };

  return (below) => {
    // The numbers beyond the last multiple would make the small ones more frequent.
    const end = 2 ** 53 - (2 ** 53 % below);
    for (;;) {
      const value = (word() >>> 11) * 2 ** 32 + word();
      if (value < end) return value % below;
    }
  };
}

/**
 * None twice, each order of each set equally likely.
 * A smaller draw is the beginning of a larger one.
 */
export function draw(total: number, most: number, random: Dice): number[] {
  const moved = new Map<number, number>();
  const numbers: number[] = [];
  for (let at = 0; at < Math.min(most, total); at++) {
    const from = at + random(total - at);
    numbers.push(moved.get(from) ?? from);
    moved.set(from, moved.get(at) ?? at);
    moved.delete(at);
  }
  return numbers;
}

/** Pages of a fixed size, so that rows at their edges have the same chance as all others. */
export function drawPages(
  total: number,
  most: number,
  size: number,
  random: Dice,
): Omit<DrawnPage, "segment">[] {
  const pages = most >= total ? Math.ceil(total / size) : Math.floor(most / size);
  return draw(Math.ceil(total / size), pages, random).map((page) => {
    const offset = page * size;
    return { offset, size, rows: Math.min(size, total - offset) };
  });
}

export const rowsOf = (pages: readonly DrawnPage[]): number =>
  pages.reduce((sum, { rows }) => sum + rows, 0);

export function rowsBegun(pages: readonly DrawnPage[], most: number) {
  let [rows, begun] = [0, 0];
  for (const page of pages) {
    if (rows + page.rows > most) break;
    rows += page.rows;
    begun++;
  }
  return { rows, pages: begun };
}

export const pagesText = (pages: readonly DrawnPage[]): string =>
  pages.map(({ segment, offset, size }) => `${segment}:${offset}:${size}`).join(" ");

export const pagesOf = (text: string, counts: readonly number[]): DrawnPage[] =>
  text === ""
    ? []
    : text.split(" ").map((page) => {
        const [segment = 0, offset = 0, size = 1] = page.split(":").map(Number);
        return { segment, offset, size, rows: Math.min(size, (counts[segment] ?? 0) - offset) };
      });
