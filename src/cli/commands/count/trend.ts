import { type PastCount, pastCounts } from "../../../app/count/history.ts";
import type { NamedFilters } from "../../../app/segments/segment-set.ts";
import type { Context } from "../../../shared/context.ts";
import { grouped } from "../../../shared/contract/text.ts";
import { bar, timeText } from "../../../shared/numbers.ts";
import type { GlobalOptions } from "../../options.ts";
import { Printer } from "../../terminal/printer.ts";
import { shelfOf } from "../owned/shelf.ts";

export interface TrendOptions extends GlobalOptions {
  readonly top?: number;
  readonly format?: "table" | "csv" | "json";
}

const SHOWN = 30;
const BAR_WIDTH = 24;

export async function printTrend(segment: NamedFilters, options: TrendOptions, context: Context): Promise<void> {
  const printer = new Printer(context, options);
  const { serviceId, mode } = shelfOf(options, context);
  const all = pastCounts(context, { serviceId, mode }, segment.canonical);
  const history = options.top === undefined ? all : all.slice(-options.top);
  const format = printer.json ? "json" : (options.format ?? (printer.terminal ? "table" : "csv"));
  if (format === "json") {
    const points = history.map(({ at, count, version }) => {
      return { at: new Date(at).toISOString(), count, dataset_version: version };
    });
    printer.document<"count">({ service: serviceId, filters: segment.filters, history: points });
  } else if (format === "csv") {
    const { csvDocument } = await import("../../../shared/rows/csv.ts");
    const rows = history.map(({ at, count, version }) => [new Date(at).toISOString(), count, version]);
    printer.text(csvDocument(["at", "count", "dataset_version"], rows));
  } else await printTable(history, options.top === undefined ? SHOWN : history.length, printer);
  if (history.length === 0) printer.note(`nobody counted this segment of ${serviceId} here yet: headcount count does`);
}

async function printTable(history: readonly PastCount[], most: number, printer: Printer): Promise<void> {
  const shown = history.slice(-most);
  if (shown.length === 0) return;
  const largest = Math.max(1, ...shown.map(({ count }) => count));
  const width = Math.max(4, Math.min(BAR_WIDTH, printer.width - 48));
  await printer.table(
    [
      { title: "when", fixed: true },
      { title: "people", align: "right", fixed: true },
      { title: "change", align: "right", fixed: true },
      { title: "", fixed: true, paint: printer.style.bar },
    ],
    shown.map(({ at, count }, index) => {
      const before = history[history.length - shown.length + index - 1];
      return [timeText(at), grouped(count), changeText(before, count), bar(count / largest, width, printer.unicode)];
    }),
  );
  const earlier = history.length - shown.length;
  if (earlier > 0) printer.note(`${grouped(earlier)} earlier: --top N shows more, a pipe gets all`);
}

function changeText(before: PastCount | undefined, count: number): string {
  if (before === undefined) return "";
  const change = count - before.count;
  return change === 0 ? "=" : `${change > 0 ? "+" : "-"}${grouped(Math.abs(change))}`;
}
