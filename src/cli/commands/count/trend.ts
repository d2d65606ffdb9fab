import { resolve } from "node:path";
import { type PastCount, pastCounts } from "../../../app/count/history.ts";
import type { NamedFilters } from "../../../app/segments/segment-set.ts";
import { Disk, errorCode } from "../../../engine/runs/disk.ts";
import { spokenFilters } from "../../../engine/runs/plan.ts";
import type { Context } from "../../../shared/context.ts";
import { canonicalJson } from "../../../shared/contract/filters.ts";
import { grouped, harmless } from "../../../shared/contract/text.ts";
import { usageError } from "../../../shared/errors.ts";
import { bar, timeText } from "../../../shared/numbers.ts";
import type { GlobalOptions } from "../../options.ts";
import { Printer } from "../../terminal/printer.ts";
import { shelfOf } from "../owned/shelf.ts";

export interface TrendOptions extends GlobalOptions {
  readonly top?: number;
  readonly plot?: string;
  readonly overwrite?: boolean;
  readonly format?: "table" | "csv" | "json";
}

const SHOWN = 30;
const BAR_WIDTH = 24;

export async function printTrend(segment: NamedFilters, options: TrendOptions, context: Context): Promise<void> {
  const printer = new Printer(context, options);
  const { serviceId, mode } = shelfOf(options, context);
  const all = pastCounts(context, { serviceId, mode }, segment.canonical);
  const history = options.top === undefined ? all : all.slice(-options.top);
  if (options.plot !== undefined) await writePlot(segment, history, options, context);
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
  if (options.plot !== undefined) printer.note(`wrote ${options.plot}`);
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

async function writePlot(
  { name, filters, canonical }: NamedFilters,
  history: readonly PastCount[],
  { overwrite, plot: file = "" }: TrendOptions,
  context: Context,
): Promise<void> {
  const title = name === "" || name === "-" ? spokenFilters(filters) : name;
  const svg = trendSvg(history, { title, description: canonicalJson(canonical) });
  const { checkOutput } = await import("../../../engine/output/output.ts");
  const path = await checkOutput(resolve(context.cwd, file));
  try {
    await new Disk().replaceFile(path, svg, "plot", overwrite === true);
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
    throw usageError(`${file} is there already`, "--overwrite replaces it, or choose another name", "file_exists");
  }
}

interface Point {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly count: number;
}

const [WIDTH, HEIGHT] = [720, 320];
const EDGE = { left: 72, right: 20, top: 44, bottom: 40 };

const escaped = (text: string): string =>
  harmless(text).replace(
    /[&<>"]/g,
    (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[sign] ?? sign,
  );

/** The least round number (1, 2 or 5 and zeros) of which at most `steps` make up `most`. */
function roundStep(most: number, steps: number): number {
  const rough = Math.max(1, most / steps);
  const ten = 10 ** Math.floor(Math.log10(rough));
  return ten * ([1, 2, 5, 10].find((factor) => factor * ten >= rough) ?? 10);
}

const day = (at: number): string => new Date(at).toISOString().slice(0, 10);

/** Counts over time as an SVG of its own: 720 by 320, a line from 0, its points with their numbers as tooltips. */
function trendSvg(points: readonly Point[], { title, description }: { title: string; description: string }): string {
  const [first, last] = [points[0], points.at(-1)];
  const [from, to] = [first?.at ?? 0, last?.at ?? 0];
  const step = roundStep(Math.max(0, ...points.map(({ count }) => count)), 5);
  const top = Math.max(step, Math.ceil(Math.max(0, ...points.map(({ count }) => count)) / step) * step);
  const [width, height] = [WIDTH - EDGE.left - EDGE.right, HEIGHT - EDGE.top - EDGE.bottom];
  const x = (at: number): string =>
    (EDGE.left + (to === from ? width / 2 : ((at - from) / (to - from)) * width)).toFixed(1);
  const y = (count: number): string => (EDGE.top + height - (count / top) * height).toFixed(1);
  const text = (at: string, up: string, words: string, more: string): string =>
    `<text x="${at}" y="${up}" ${more}>${escaped(words)}</text>`;
  const lines: string[] = [];
  for (let value = 0; value <= top; value += step) {
    lines.push(`<line class="grid" x1="${EDGE.left}" x2="${WIDTH - EDGE.right}" y1="${y(value)}" y2="${y(value)}"/>`);
    lines.push(text(String(EDGE.left - 8), String(Number(y(value)) + 4), grouped(value), 'text-anchor="end"'));
  }
  const bottom = String(HEIGHT - EDGE.bottom + 20);
  if (first !== undefined && day(from) === day(to))
    lines.push(text(x((from + to) / 2), bottom, day(from), 'text-anchor="middle"'));
  else if (first !== undefined)
    lines.push(
      text(x(from), bottom, day(from), 'text-anchor="start"'),
      text(x(to), bottom, day(to), 'text-anchor="end"'),
    );
  const dots = points.map(
    ({ at, count }) =>
      `<circle cx="${x(at)}" cy="${y(count)}" r="3"><title>${new Date(at).toISOString()}: ${grouped(count)}</title></circle>`,
  );
  const path = points.map(({ at, count }) => `${x(at)},${y(count)}`).join(" ");
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" role="img">
<title>${escaped(title)}</title>
<desc>${escaped(description)}</desc>
<style>text{font:12px sans-serif;fill:#555}.name{font-size:16px;fill:#222}.grid{stroke:#ddd}polyline{fill:none;stroke:#2563eb;stroke-width:2}circle{fill:#2563eb}</style>
<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>
${text(String(EDGE.left), "26", [...title].length > 80 ? `${[...title].slice(0, 79).join("")}…` : title, 'class="name"')}
${lines.join("\n")}
<polyline points="${path}"/>
${dots.join("\n")}
${last === undefined ? "" : text(x(last.at), String(Number(y(last.count)) - 8), grouped(last.count), 'text-anchor="end" class="name"')}
</svg>
`;
}
