import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, extname, join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isLeftOut } from "../support/tools.ts";
import { type Browser, HAS_CHROMIUM, launchBrowser, violations, watch } from "./browser.ts";

/** The site of the pages (docs/contributing/site.md): built without a network, looked at in a real browser. */
const SITE = resolve(import.meta.dirname, "../../site");
const DIST = join(SITE, ".vitepress/dist");
const HAS_GENERATOR = existsSync(join(SITE, "node_modules/vitepress"));

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
};

/** What users asked and did not find once, in their own words, and the page that answers. */
const QUESTIONS: readonly (readonly [string, string])[] = [
  ["laptop sleeps", "how-to/resume"],
  ["open in LibreOffice", "how-to/spreadsheets"],
  ["my own csv", "how-to/enrich"],
  ["behind a proxy", "how-to/proxy"],
  ["Slack", "how-to/notify"],
  ["another computer", "how-to/move"],
  ["team", "how-to/team"],
  ["kubernetes", "how-to/kubernetes"],
  ["fewer rows", "how-to/fewer-rows"],
  ["exit 5", "how-to/exit-5"],
  ["new laptop", "how-to/move"],
  ["my own spreadsheet of companies", "how-to/enrich"],
  ["GDPR delete a person", "how-to/personal-data"],
  ["only new people", "how-to/new-only"],
  ["how much did I spend", "reference/runs"],
  ["spend this month", "reference/runs"],
  ["change the API key", "how-to/server"],
  ["undo a purchase", "explanation/caps"],
  // In whole questions the words of the question are the most.
  ["how do I update headcount to a new version", "how-to/install"],
  ["install on a machine without node", "how-to/install"],
  ["where is my data stored", "reference/environment"],
  ["import my people", "operate/import"],
  ["give a customer credits", "operate/service"],
  ["error code over_cap", "reference/exit-codes"],
  ["was I charged twice", "reference/troubleshooting"],
  ["headless", "how-to/server"],
  ["no keychain", "how-to/server"],
  ["exit 8", "how-to/exit-5"],
  ["downtime", "operate/operating"],
  ["upgrade a service", "operate/operating"],
  ["self-signed certificate", "how-to/proxy"],
  ["pagerduty", "how-to/notify"],
  ["agent budget", "how-to/agents"],
  ["change the API key", "how-to/server"],
  ["spend this month", "reference/runs"],
  // Enter opens what the last of them finds.
  ["install", "how-to/install"],
];

/** Of the generator's own menu and search button: what is read out is right. */
const OF_THE_THEME = /^(?:nested-interactive|label-content-name-mismatch):/;

const files = (): string[] =>
  readdirSync(DIST, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".html"));

describe.skipIf(isLeftOut(HAS_CHROMIUM && HAS_GENERATOR))("the site of the pages", () => {
  let server: Server;
  let browser: Browser;
  let url = "";

  beforeAll(async () => {
    // A namespace of its own has no network; where none can be made, the build is tried as it is.
    const alone = ["unshare", "--map-root-user", "--net"];
    const can = spawnSync("unshare", [...alone.slice(1), "true"]).status === 0;
    const [program = "", ...argv] = [...(can ? alone : []), "npm", "run", "build"];
    const built = spawnSync(program, argv, { cwd: SITE, encoding: "utf8" });
    expect(built, built.stdout + built.stderr).toMatchObject({ status: 0 });

    server = createServer((request, response) => {
      const path = decodeURIComponent(new URL(request.url ?? "", "http://localhost").pathname);
      const file = join(DIST, path.endsWith("/") ? `${path}index.html` : path);
      if (!existsSync(file)) response.writeHead(404).end();
      else
        response
          .writeHead(200, { "content-type": TYPES[extname(file)] ?? "application/octet-stream" })
          .end(readFileSync(file));
    });
    await new Promise<void>((done) => void server.listen(0, "127.0.0.1", done));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    server?.close();
  });

  test("every page of docs is one, and each link of each leads to a file and a heading", () => {
    expect(files().length).toBeGreaterThan(50);
    const idsOf = (file: string): ReadonlySet<string> =>
      new Set([...readFileSync(file, "utf8").matchAll(/\sid="([^"]+)"/g)].map(([, id = ""]) => id));
    const ids = new Map(files().map((name) => [join(DIST, name), idsOf(join(DIST, name))]));
    const wrong = files().flatMap((name) => {
      const main = /<main[\s\S]*<\/main>/.exec(readFileSync(join(DIST, name), "utf8"))?.[0] ?? "";
      const links = [...main.matchAll(/<a[^>]* href="(?!https?:|mailto:)([^"]+)"/g)];
      return links.flatMap(([, href = ""]) => {
        const [path = "", anchor] = decodeURIComponent(href).split("#");
        const from = join(DIST, name);
        const there = path.startsWith("/") ? join(DIST, path) : join(dirname(from), path);
        const target = path === "" ? from : path.endsWith("/") ? join(there, "index.html") : there;
        const isRight =
          existsSync(target) && (anchor === undefined || ids.get(target)?.has(anchor) !== false);
        return isRight ? [] : [`${name}: ${href}`];
      });
    });
    expect(wrong).toEqual([]);
  });

  test("the search finds the page of each question among its first three, with no other host asked", async () => {
    const page = await browser.newPage();
    const wrong = watch(page, url);
    await page.goto(`${url}/`);
    await page.getByRole("button", { name: "Search" }).click();
    const firstThree = async (): Promise<readonly string[]> => {
      // In one step: the list is made anew while somebody types.
      const found = await page.evaluate<string[]>(
        '[...document.querySelectorAll("#localsearch-list li a")].map((link) => link.getAttribute("href"))',
      );
      return [...new Set(found.map((href) => href.split("#")[0] ?? ""))].slice(0, 3);
    };
    const missed: string[] = [];
    for (const [question, answer] of QUESTIONS) {
      await page.locator("#localsearch-input").fill(question);
      let found: readonly string[] = [];
      // It answers a moment after the last letter.
      for (let tries = 0; tries < 15 && !found.includes(`/${answer}.html`); tries++) {
        await page.waitForTimeout(100);
        found = await firstThree();
      }
      if (!found.includes(`/${answer}.html`)) missed.push(`${question}: ${found.join(" ")}`);
    }
    expect(missed).toEqual([]);
    await page.locator("#localsearch-input").press("Enter");
    await page.getByRole("heading", { level: 1, name: /Install/ }).waitFor();
    expect(wrong).toEqual([]);
    await page.close();
  });

  test("no page is wider than a phone of 360 px", async () => {
    const page = await browser.newPage({ viewport: { width: 360, height: 740 } });
    const wide: string[] = [];
    for (const name of files().filter((file) => !/^(?:bench|test)\//.test(file))) {
      await page.goto(`${url}/${name}`, { waitUntil: "domcontentloaded" });
      const width = await page.evaluate<number>("document.documentElement.scrollWidth");
      if (width > 360) wide.push(`${name}: ${width}`);
    }
    expect(wide).toEqual([]);
    await page.close();
  });

  test.each(["light", "dark"] as const)(
    "%s as the system is, and nothing that axe finds",
    async (colorScheme) => {
      const page = await browser.newPage({ colorScheme, viewport: { width: 1360, height: 900 } });
      for (const name of ["index.html", "how-to/exit-5.html", "reference/contract.html"]) {
        await page.goto(`${url}/${name}`);
        expect(await page.evaluate('document.documentElement.classList.contains("dark")')).toBe(
          colorScheme === "dark",
        );
        const found = await violations(page);
        expect(
          found.filter((line) => !OF_THE_THEME.test(line)),
          name,
        ).toEqual([]);
      }
      await page.close();
    },
    60_000,
  );
});
