import { type Format, type Rendering, viewMaker } from "../../src/engine/output/formats.ts";
import type { View } from "../../src/shared/rows/page.ts";

type MakeView = Awaited<ReturnType<typeof viewMaker>>;

const FORMATS: readonly Format[] = ["csv", "tsv", "ndjson", "json", "table"];
const made = new Map<Format, MakeView>();
for (const format of FORMATS) made.set(format, await viewMaker(format));

/** What writes pages of a format, at once: each is loaded by then. */
export function createView(rendering: Rendering, extra = false): View {
  const make = made.get(rendering.format);
  if (make === undefined) throw new TypeError(`${rendering.format} is written whole`);
  return make(rendering, extra);
}
