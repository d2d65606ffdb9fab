// W1-W3: what somebody waits for in the console, in a real Chromium over the sample, and how much is loaded.
import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { chromium } from "playwright-core";
import { median } from "./arithmetic.mjs";
import {
  absentRow,
  atEnd,
  HEADCOUNT,
  headcount,
  ROOT,
  ratioRow,
  scratch,
  userEnvironment,
  valueRow,
} from "./harness.mjs";

export const name = "console";

const CHROMIUM = "/usr/bin/chromium";
/** Of a text field, in milliseconds: src/console/pages/filters.tsx. */
const DEBOUNCE = 120;

export async function measure({ quick }) {
  const bytes = sizes();
  if (!existsSync(CHROMIUM)) {
    const reason = "there is no /usr/bin/chromium";
    return [
      ...["W1", "W2"].map((id) =>
        absentRow({ id, work: "console", yardstick: "", target: "", reason }),
      ),
      ...bytes,
    ];
  }
  const { link, url } = await serve();
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
  atEnd(() => browser.close());
  const page = await (
    await browser.newContext({ viewport: { width: 1360, height: 900 } })
  ).newPage();
  await page.addInitScript(WATCH);
  await page.goto(link);
  await page.locator("[data-testid=count]").filter({ hasText: "50,000" }).waitFor();
  const rounds = quick ? 10 : 30;
  const [counts, paints] = [[], []];
  for (let round = 0; round < rounds; round++) {
    await page.goto("about:blank");
    await page.goto(`${url}/console/`);
    counts.push(await page.evaluate("globalThis.countShown"));
    paints.push(await page.evaluate(PAINT));
  }
  const keys = [];
  const field = page.getByLabel("Title begins with");
  for (let round = 0; round < rounds; round++) {
    await field.fill("");
    await page.waitForTimeout(400);
    keys.push(await page.evaluate(KEYSTROKE, "abcdefghijklmnoprstuvw"[round % 22]));
  }
  await browser.close();
  const first = {
    id: "W1",
    part: "by the first paint",
    work: "first count shown",
    yardstick: "first paint of the same load",
  };
  return [
    ratioRow({ ...first, target: { atMost: 1.5 }, ours: counts, theirs: paints }),
    valueRow({
      id: "W1",
      work: "first count shown",
      target: { atMost: 300 },
      unit: "ms",
      value: median(counts),
      ours: counts,
    }),
    valueRow({
      id: "W2",
      work: "a keystroke to its new count, 50,000 people",
      yardstick: `the debounce of ${DEBOUNCE} ms`,
      target: { atMost: DEBOUNCE + 60 },
      unit: "ms",
      value: median(keys),
      ours: keys,
    }),
    ...bytes,
  ];
}

/** Notes when the page first shows a number that is not an old one. */
const WATCH = `globalThis.countShown = new Promise((told) => {
  const look = () => {
    const shown = document.querySelector("[data-testid=count]:not(.old)");
    if (/\\d/.test(shown?.textContent ?? "")) told(performance.now());
    else requestAnimationFrame(look);
  };
  look();
});`;

/** The browser tells of its first paint some time after it. */
const PAINT = `new Promise((told) => {
  new PerformanceObserver((list) => {
    const [paint] = list.getEntriesByName("first-contentful-paint");
    if (paint !== undefined) told(paint.startTime);
  }).observe({ type: "paint", buffered: true });
})`;

/** Types a letter and waits for a number that differs from the one before. */
const KEYSTROKE = async (letter) => {
  const shown = () => document.querySelector("[data-testid=count]:not(.old)")?.textContent;
  const before = shown();
  const input = [...document.querySelectorAll("label")].find(
    (label) => label.textContent === "Title begins with",
  ).control;
  const from = performance.now();
  input.value = letter;
  input.dispatchEvent(new Event("input", { bubbles: true }));
  while ([undefined, before].includes(shown())) await new Promise(requestAnimationFrame);
  return performance.now() - from;
};

async function serve() {
  const folder = scratch("console");
  const env = userEnvironment(folder);
  await headcount(["service", "generate", "--people", "50000", "--data", join(folder, "data")], {
    env,
  });
  const args = [
    HEADCOUNT,
    "serve",
    "--data",
    join(folder, "data"),
    "--port",
    "0",
    "--json",
    "--console",
    "link",
    "--quiet",
  ];
  const service = spawn(process.execPath, args, { env });
  atEnd(() => service.kill("SIGTERM"));
  const line = await new Promise((told) => {
    let out = "";
    service.stdout.on("data", (piece) => {
      out += piece;
      if (out.includes("\n")) told(out);
    });
  });
  const { console: link, url } = JSON.parse(line);
  return { link, url };
}

function sizes() {
  const folder = join(ROOT, "dist", "console");
  const packed = (end) =>
    readdirSync(folder)
      .filter((file) => file.endsWith(end))
      .reduce(
        (sum, file) => sum + gzipSync(readFileSync(join(folder, file)), { level: 9 }).length,
        0,
      ) / 1_000;
  const [js, css, html] = [packed(".js"), packed(".css"), packed(".html")];
  const row = { id: "W3", unit: "kB" };
  return [
    valueRow({
      ...row,
      part: "JavaScript",
      work: "all pages, gzipped",
      target: { atMost: 40 },
      value: js,
    }),
    valueRow({
      ...row,
      part: "first load",
      work: "page, script and style, gzipped",
      target: { atMost: 60 },
      value: js + css + html,
    }),
  ];
}
