// Tested by test/scene/replies.test.ts.
import { crc32 } from "node:zlib";
import type { Page } from "../../shared/rows/page.ts";
import type { Unit } from "../runs/journal.ts";

export interface Watched {
  /** Where every target is one page: of which segment. A row may then come twice. */
  readonly segment?: ((target: number) => number) | undefined;
  /** @returns whether its target came as another one before */
  readonly see?: ((target: number, page: Page) => boolean) | undefined;
}

/**
 * Whether a service turns its pages, or gives the same
 * rows again and again and is paid for them each time.
 */
export class Repeats {
  readonly #source: Watched;
  readonly #cut: (target: number, end: number) => void;
  proven = false;
  repeated = false;
  /** The rows of the first page that was seen of each target, until a second page was another. */
  readonly #first = new Map<number, Set<string>>();
  readonly #pages = new Map<number, Set<string>>();

  constructor(source: Watched, cut: (target: number, end: number) => void) {
    this.#source = source;
    this.#cut = cut;
  }

  see({ intent }: Unit, page: Page): void {
    const { segment, see } = this.#source;
    if (page.length === 0 || (this.proven && segment !== undefined)) return;
    if (see?.(intent.target, page)) this.#cut(intent.target, intent.offset + page.length);

    const target = segment?.(intent.target) ?? intent.target;
    const nameOf = (index: number): string => {
      const name = page.identity(index);
      if (name === undefined) return page.text(index);
      return `${name} ${page.identity(index, ["network_url"])}`;
    };
    const mark = `${page.length} ${crc32(nameOf(0))} ${crc32(nameOf(page.length - 1))}`;
    const pages = this.#pages.get(target) ?? new Set();
    if (pages.has(mark)) this.repeated = true;
    this.#pages.set(target, pages.add(mark));
    if (this.proven) return;

    const rows = page.indexes;
    const first = this.#first.get(target);
    if (first === undefined) return void this.#first.set(target, new Set(rows.map(nameOf)));

    const isOld = (index: number): boolean => first.has(nameOf(index));
    // A cursor that leads back is followed by more rows than a first page that was of one row.
    const isBack = intent.cursor && rows.filter(isOld).length >= first.size;
    if (isBack || rows.every(isOld)) this.repeated = true;
    else {
      this.proven = true;
      this.#first.clear();
    }
  }
}
