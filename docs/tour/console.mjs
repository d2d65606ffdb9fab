// Makes README's pictures of the console: the built service on a generated sample, a real Chromium, and every page at three widths, light
// and dark, as PNG to look at. Three of them are kept. Usage: node docs/tour/console.mjs [PNG-FOLDER]
import { spawn, spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const HERE = dirname(fileURLToPath(import.meta.url));
const BIN = resolve(HERE, "../../bin/headcount.js");
const PICTURES = resolve(process.argv[2] ?? mkdtempSync(join(tmpdir(), "headcount-console-")));
const PAGES = ["segment", "saved", "exports", "account", "keys", "plan"];
/** Those that README shows: page, width, scheme. */
const KEPT = [
  ["segment", 1360, "light"],
  ["exports", 1360, "dark"],
  ["segment", 390, "light"],
];

mkdirSync(PICTURES, { recursive: true });
const folder = mkdtempSync(join(tmpdir(), "headcount-console-data-"));
spawnSync(process.execPath, [BIN, "service", "generate", "--people", "50000", "--data", folder], {
  stdio: "inherit",
});
const service = spawn(process.execPath, [
  BIN,
  "serve",
  "--data",
  folder,
  "--port",
  "0",
  "--json",
  "--console",
  "link",
  "--quiet",
]);
const { console: link, url } = await new Promise((told) => {
  let out = "";
  service.stdout.on("data", (piece) => {
    out += piece;
    if (out.includes("\n")) told(JSON.parse(out));
  });
});
const browser = await chromium.launch({
  executablePath: "/usr/bin/chromium",
  args: ["--no-sandbox", "--force-device-scale-factor=1"],
});
try {
  const page = await (
    await browser.newContext({ viewport: { width: 1360, height: 860 }, timezoneId: "UTC" })
  ).newPage();
  await page.goto(link);
  await page.locator("[data-testid=count]").filter({ hasText: "50,000" }).waitFor();
  const filters = JSON.stringify({
    department: ["Sales", "Marketing"],
    country: ["germany", "france"],
  });
  const segment = `?f=${encodeURIComponent(filters)}`;
  await page.goto(`${url}/console/#/segment${segment}`);
  await page.locator(".chip", { hasText: "germany" }).waitFor();
  await page.locator(".bars button").first().waitFor();
  for (const many of ["300", "40"]) {
    await page.goto(`${url}/console/#/segment${segment}`);
    await page.getByRole("button", { name: /^Buy/ }).click();
    await page.getByLabel(/How many/).fill(many);
    await page.getByRole("button", { name: /^Buy [\d,]+ profiles for/ }).click();
    await page.locator("[data-state=ready]").first().waitFor();
  }
  for (const scheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme: scheme });
    for (const id of PAGES) {
      await page.goto(`${url}/console/#/${id}${id === "segment" ? segment : ""}`);
      for (const width of [1360, 390, 320]) {
        await page.setViewportSize({ width, height: 860 });
        // A phone opens it with its filters folded, and has no pointer.
        await page.reload();
        await page.mouse.move(0, 0);
        await page.waitForLoadState("networkidle");
        await page.screenshot({ path: join(PICTURES, `${id}-${width}-${scheme}.png`) });
      }
    }
  }
} finally {
  await browser.close();
  service.kill("SIGTERM");
  await new Promise((ended) => service.once("exit", ended));
  rmSync(folder, { recursive: true, force: true });
}
for (const [id, width, scheme] of KEPT) {
  copyFileSync(
    join(PICTURES, `${id}-${width}-${scheme}.png`),
    join(HERE, `console-${id}-${width}.png`),
  );
}
console.log(`all of them to look at: ${PICTURES}`);
