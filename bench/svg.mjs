// One plot of all that grows: cost against size on logarithmic axes, a panel for each series, as SVG without any library.

const PANELS = [
  {
    series: "export",
    title: "Export of N people",
    lines: { "time, s": (point) => point.ms / 1_000, "peak memory, MB": (point) => point.peak_mb },
  },
  {
    series: "dataset",
    title: "Counts over N people",
    lines: {
      "eight queries, ms": (point) => point["sum, ms"],
      "country + department + seniority, ms": (point) => point["country + department + seniority"],
      "full name, ms": (point) => point["full name"],
      "on disk, MB": (point) => point["on disk, MB"],
      "memory, MB": (point) => point["memory, MB"],
    },
  },
  {
    series: "ledger",
    title: "Ledger of N entries",
    lines: {
      "one charge, ms": (point) => point["charge, ms"],
      "charges/s, thousands": (point) => point["charges/s"] / 1_000,
      "verify, s": (point) => point["verify, s"],
      "memory, MB": (point) => point["memory, MB"],
    },
  },
  {
    series: "runs",
    title: "Folder of N runs",
    lines: {
      "runs list, ms": (point) => point["list, ms"],
      "search of ten, ms": (point) => point["search, ms"],
      "peak memory of the list, MB": (point) => point["list, peak MB"],
    },
  },
  {
    series: "rehearsal",
    title: "Making a dataset of N people",
    lines: {
      "import, s": (point) => point.import.s,
      "its CPU, s": (point) => point.import.cpu_s,
      "its memory, MB": (point) => point.import.memory_mb,
      "disk at the highest, MB": ({ import: made, size }) =>
        (made.most_bytes_a_person * size) / 1e6,
      "disk when done, MB": ({ import: made, size }) => (made.bytes_a_person * size) / 1e6,
    },
  },
  {
    series: "rehearsal",
    title: "Answers of a dataset of N people",
    lines: {
      "opening, nothing in memory, ms": (point) => point.opened.opened_ms,
      "memory when open, MB": (point) => point.opened.opened_mb,
      "count of two keys, ms": (point) => point.opened.count_of_two_again_ms,
      "first page, nothing in memory, ms": (point) => point.opened.first_page_first_ms,
      "deep page, nothing in memory, ms": (point) => point.opened.deep_page_first_ms,
    },
  },
];

const COLOURS = ["#1f6feb", "#bf3989", "#1a7f37", "#9a6700", "#6639ba"];
const WIDTH = 440;
const HEIGHT = 332;
const LEFT = 58;
const TOP = 40;
const BOTTOM = 124;
const RIGHT = 18;

const tick = (exponent) => {
  const value = 10 ** exponent;
  if (value >= 1e6) return `${value / 1e6}M`;
  if (value >= 1e3) return `${value / 1e3}k`;
  return String(Number(value.toPrecision(1)));
};

/** @returns the SVG text, or undefined where there is no series with two sizes */
export function growthPlot(series, caption) {
  const panels = PANELS.filter(({ series: name }) => (series?.[name] ?? []).length >= 2);
  if (panels.length === 0) return undefined;
  const columns = Math.min(2, panels.length);
  const height = Math.ceil(panels.length / columns) * HEIGHT + 24;
  const body = panels.map((panel, index) => {
    const x = (index % columns) * WIDTH;
    const y = Math.floor(index / columns) * HEIGHT;
    return `<g transform="translate(${x} ${y})">${drawPanel(panel, series[panel.series])}</g>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${columns * WIDTH} ${height}" font-family="system-ui, sans-serif" font-size="11">`,
    `<title>Cost against size</title><rect width="100%" height="100%" fill="#ffffff"/>`,
    ...body,
    `<text x="12" y="${height - 8}" fill="#57606a">${escaped(caption)}</text>`,
    "</svg>",
    "",
  ].join("\n");
}

function drawPanel({ title, lines }, points) {
  const drawn = Object.entries(lines)
    .map(([label, cost]) => ({
      label,
      values: points.map((point) => [point.size, cost(point)]).filter(([, value]) => value > 0),
    }))
    // What an older file of results does not have is left out.
    .filter(({ values }) => values.length > 0);
  const costs = drawn.flatMap(({ values }) => values.map(([, value]) => value));
  const sizes = points.map(({ size }) => size);
  const xLow = Math.floor(Math.log10(Math.min(...sizes)));
  const xHigh = Math.ceil(Math.log10(Math.max(...sizes)));
  const yLow = Math.floor(Math.log10(Math.min(...costs)));
  const yHigh = Math.max(yLow + 1, Math.ceil(Math.log10(Math.max(...costs))));
  const x = (size) => LEFT + ((Math.log10(size) - xLow) / (xHigh - xLow)) * (WIDTH - LEFT - RIGHT);
  const y = (cost) =>
    HEIGHT - BOTTOM - ((Math.log10(cost) - yLow) / (yHigh - yLow)) * (HEIGHT - TOP - BOTTOM);
  const parts = [
    `<text x="${LEFT}" y="24" font-size="14" font-weight="600" fill="#1f2328">${title}</text>`,
  ];
  for (let power = xLow; power <= xHigh; power++) {
    const at = x(10 ** power).toFixed(1);
    parts.push(
      `<line x1="${at}" x2="${at}" y1="${TOP}" y2="${HEIGHT - BOTTOM}" stroke="#d0d7de"/>`,
    );
    parts.push(
      `<text x="${at}" y="${HEIGHT - BOTTOM + 16}" text-anchor="middle" fill="#57606a">${tick(power)}</text>`,
    );
  }
  for (let power = yLow; power <= yHigh; power++) {
    const at = y(10 ** power).toFixed(1);
    parts.push(`<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${at}" y2="${at}" stroke="#d0d7de"/>`);
    parts.push(
      `<text x="${LEFT - 6}" y="${Number(at) + 4}" text-anchor="end" fill="#57606a">${tick(power)}</text>`,
    );
  }
  for (const [index, { label, values }] of drawn.entries()) {
    const colour = COLOURS[index % COLOURS.length];
    const line = values.map(([size, cost]) => `${x(size).toFixed(1)},${y(cost).toFixed(1)}`);
    parts.push(
      `<polyline points="${line.join(" ")}" fill="none" stroke="${colour}" stroke-width="2"/>`,
    );
    for (const place of line) {
      const [cx, cy] = place.split(",");
      parts.push(`<circle cx="${cx}" cy="${cy}" r="3" fill="${colour}"/>`);
    }
    const legend = HEIGHT - BOTTOM + 36 + index * 16;
    parts.push(`<rect x="${LEFT}" y="${legend - 8}" width="10" height="10" fill="${colour}"/>`);
    parts.push(`<text x="${LEFT + 16}" y="${legend + 1}" fill="#1f2328">${escaped(label)}</text>`);
  }
  return parts.join("");
}

const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
