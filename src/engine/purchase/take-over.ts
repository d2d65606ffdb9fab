import { randomUUID } from "node:crypto";
import type { IntentRecord } from "../runs/journal.ts";
import type { Run } from "../runs/run.ts";
import type { OwnedPage } from "./ownership.ts";

/** Pages that are written down with one sync. */
const AT_ONCE = 16;

export async function takeOver(
  run: Run,
  pages: Iterable<OwnedPage> | AsyncIterable<OwnedPage>,
  now: () => number,
): Promise<void> {
  const place = ({ target, offset }: Pick<IntentRecord, "target" | "offset">): string => `${target} ${offset}`;
  const units = [...run.state.units.values()].filter(({ settled, voided }) => settled !== undefined || !voided);
  const asked = new Set(units.map(({ intent }) => place(intent)));
  let group: OwnedPage[] = [];
  const put = async (): Promise<void> => {
    const numbered = group.map((page) => ({ page, n: run.nextNumber() }));
    group = [];
    const intents = numbered.map(({ page: { target, offset, perPage }, n }): IntentRecord => {
      return { t: "intent", n, target, offset, perPage, key: randomUUID(), hold: "0", owned: true, at: now() };
    });
    if (intents.length > 0) await run.append(...intents);
    for (const { n, page } of numbered) {
      const miss = page.body === undefined ? { miss: true } : {};
      await run.settle({ t: "settled", n, used: "0", owned: page.run, rows: page.rows, ...miss, at: now() }, page.body);
    }
  };
  for await (const page of pages) {
    if (asked.has(place(page))) continue;
    if (group.push(page) >= AT_ONCE) await put();
  }
  await put();
}
