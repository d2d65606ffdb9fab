import { describe, expect, test } from "vitest";
import { wholeBytes } from "../../src/engine/output/whole/bytes.ts";
import { isLeftOut } from "../support/tools.ts";
import { HAS_CHROMIUM, type Looking, linkTo, lookAtConsole, violations } from "./browser.ts";

/** What the first load may weigh, on the wire. */
const MOST_BYTES = 60_000;
/** Until what a view is for stands there, in times of the first paint. */
const MOST_TIMES = 1.5;
const LOADS = 7;
const LIMIT = "the plan's calls of the day are used up";

/** What each view is for, as the page has it when it is there. */
const VIEWS: readonly (readonly [name: string, place: string, there: string])[] = [
  ["all", 'segment?f={"department":["Sales"]}', "[data-testid=count]:not([aria-busy=true])"],
  [
    "new",
    'segment?tab=new&f={"department":["Sales"]}',
    "[data-testid=count]:not([aria-busy=true])",
  ],
  [
    "owned",
    'segment?tab=owned&f={"department":["Sales"]}',
    "[data-testid=count]:not([aria-busy=true])",
  ],
  ["saved", "saved", "main h1"],
  ["exports", "exports", "[data-state]"],
];

describe.skipIf(isLeftOut(HAS_CHROMIUM))("the first load of the console", () => {
  let { browser, context, page, service } = {} as Looking;
  lookAtConsole((looking) => ({ browser, context, page, service } = looking), {
    console: { wholeFile: (format, pages) => wholeBytes(format, "person", pages) },
  });

  const buyThree = async (): Promise<void> => {
    await page.goto(await linkTo(service));
    await page.getByRole("button", { name: /^Buy/ }).click();
    await page.getByLabel("How many").fill("3");
    await page.getByRole("button", { name: "Buy 3 profiles for 3 credits" }).click();
    await page.locator("[data-state=ready]").first().waitFor();
  };

  test("is small, and what each view is for is there soon after the first paint", async () => {
    await buyThree();

    const storageState = await context.storageState();
    for (const [name, place, there] of VIEWS) {
      const looks: { readonly paint: number; readonly first: number; readonly bytes: number }[] =
        [];
      const best = () => Math.min(...looks.map(({ first, paint }) => first / paint));
      // Of a machine that does other things too, one quick load of some shows that it can be.
      for (let load = 0; load < LOADS && best() > MOST_TIMES; load++) {
        // A browser that was never here: signed in, and with nothing kept.
        const cold = await browser.newContext({ storageState });
        const fresh = await cold.newPage();
        let counts = 0;
        fresh.on("request", (request) => {
          if (request.url().endsWith("/console/api/count")) counts++;
        });
        await fresh.addInitScript((selector) => {
          const { document, MutationObserver, performance } = globalThis as never as {
            document: { querySelector: (text: string) => unknown };
            MutationObserver: new (
              act: () => void,
            ) => { observe: (on: unknown, how: object) => void };
            performance: { now: () => number };
          };
          const look = (): void => {
            if (Reflect.get(globalThis, "first") === undefined && document.querySelector(selector))
              Reflect.set(globalThis, "first", performance.now());
          };
          new MutationObserver(look).observe(document, {
            subtree: true,
            childList: true,
            attributes: true,
            characterData: true,
          });
        }, there);
        await fresh.goto(`${service.url}/console/#/${place}`);
        const isThere = () =>
          fresh.evaluate<boolean>(
            "globalThis.first !== undefined && performance.getEntriesByName('first-contentful-paint').length > 0",
          );
        await expect.poll(isThere, { timeout: 10_000, interval: 30 }).toBe(true);
        // It becomes known meanwhile who is asking: the count is not begun anew for that.
        await fresh.locator("[data-testid=balance]").waitFor();
        if (place.startsWith("segment")) expect([name, counts]).toEqual([name, 1]);
        looks.push(
          await fresh.evaluate(`({
            paint: performance.getEntriesByName("first-contentful-paint")[0].startTime,
            first: globalThis.first,
            bytes: [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
              .filter(({ name }) => !name.includes("/console/api/"))
              .reduce((sum, { transferSize }) => sum + transferSize, 0),
          })`),
        );
        await cold.close();
      }
      const bytes = Math.max(...looks.map((look) => look.bytes));
      if (process.env.PICTURES)
        console.log(
          name,
          bytes,
          best().toFixed(2),
          looks.map(({ paint }) => Math.round(paint)).join(" "),
        );
      expect([name, bytes > 0 && bytes <= MOST_BYTES]).toEqual([name, true]);
      expect([name, best() <= MOST_TIMES]).toEqual([name, true]);
    }
  });

  test("each view says so where the network is cut or a limit holds it up, and is there again afterwards", async () => {
    await buyThree();
    const limited = { status: 429, headers: { "retry-after": "7200" }, json: { error: LIMIT } };
    for (const [name, place, there] of VIEWS) {
      for (const [why, said] of [
        ["cut", /does not answer/],
        ["limited", LIMIT],
      ] as const) {
        await page.goto("about:blank");
        await page.route(/\/console\/api\/(?!me$)/, (route) =>
          why === "cut" ? route.abort() : route.fulfill(limited),
        );
        await page.goto(`${service.url}/console/#/${place}`);
        await page.getByText(said).first().waitFor();
        // No number and no price of anything stands beside it.
        const main = await page.locator("main").innerText();
        expect([name, why, /\d credits left|Buy \d/.test(main)]).toEqual([name, why, false]);
        expect([name, why, await violations(page)]).toEqual([name, why, []]);
        if (process.env.PICTURES)
          await page.screenshot({ path: `${process.env.PICTURES}/${name}-${why}.png` });
        await page.unroute(/\/console\/api\/(?!me$)/);
        await page.reload();
        await page.locator(there).first().waitFor();
        expect([name, why, await page.getByText(said).count()]).toEqual([name, why, 0]);
      }
    }
  });
});
