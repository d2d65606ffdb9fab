import { describe, expect, test } from "vitest";
import { wholeBytes } from "../../src/engine/output/whole/bytes.ts";
import { isLeftOut } from "../support/tools.ts";
import { HAS_CHROMIUM, type Looking, linkTo, lookAtConsole, violations } from "./browser.ts";

describe.skipIf(isLeftOut(HAS_CHROMIUM))("the people that were bought, in a browser", () => {
  let { context, service, page, wrong } = {} as Looking;
  lookAtConsole((looking) => ({ context, service, page, wrong } = looking), {
    people: 4_000,
    console: { wholeFile: (format, pages) => wholeBytes(format, "person", pages) },
  });

  const cells = (column: number) =>
    page.locator(`tbody tr:not(.space) td:nth-child(${column})`).allInnerTexts();
  const grid = () => page.getByRole("grid", { name: "People" });

  test("are a table after a purchase: sorted, looked through, copied, by keyboard, in few rows at a time", async () => {
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    const asked: string[] = [];
    page.on("request", (request) => {
      const path = /people\/\d+$/.exec(request.url());
      if (path !== null) asked.push(path[0]);
    });
    await page.goto(await linkTo(service));
    await page.getByRole("button", { name: "Buy…" }).click();
    await page.getByRole("button", { name: /^Buy 4,000 profiles/ }).click();
    await grid().waitFor();
    await expect.poll(async () => (await cells(1))[0]).not.toBe("…");
    // What is in sight is fetched, and nothing else.
    expect(asked).toEqual(["people/0"]);
    expect(await grid().getAttribute("aria-rowcount")).toBe("4001");
    expect((await cells(1)).length).toBeLessThan(60);
    expect(await violations(page)).toEqual([]);

    await grid().focus();
    await page.keyboard.press("End");
    await expect.poll(() => asked.includes("people/3")).toBe(true);
    await expect.poll(async () => (await cells(1)).at(-1)).not.toBe("…");
    const last = (await cells(1)).at(-1);
    await page.keyboard.press("Control+c");
    const clipboard = () => page.evaluate<string>("navigator.clipboard.readText()");
    await expect.poll(async () => (await clipboard()).split("\n")[1]?.split("\t")[0]).toBe(last);
    const chosen = page.locator("tr[aria-selected=true]");
    expect(await chosen.getAttribute("aria-rowindex")).toBe("4001");
    expect(await chosen.isVisible()).toBe(true);

    await page.getByRole("button", { name: "Name", exact: true }).press("Enter");
    await page.getByRole("columnheader", { name: "Name ↑" }).waitFor();
    await expect.poll(() => asked.length).toBe(4);
    await expect.poll(async () => (await cells(1))[0]?.[0]?.toLowerCase()).toBe("a");
    const firsts = (await cells(1)).map((name) => name.normalize("NFD").charAt(0).toLowerCase());
    expect(firsts).toEqual(firsts.toSorted());

    await page.getByLabel("Find among them").fill(`${(last ?? "").toUpperCase()}`);
    await expect.poll(async () => new Set(await cells(1))).toEqual(new Set([last]));
    await page.getByRole("button", { name: "Copy rows" }).click();
    await page.getByText(/rows? copied/).waitFor();
    const copied = (await clipboard()).split("\n");
    expect(copied.slice(1).map((line) => line.split("\t")[0])).toEqual(await cells(1));
    await page.getByText("Columns (7 of 22)").click();
    await page.getByLabel("Followers").check();
    await page.getByRole("columnheader", { name: "Followers" }).waitFor();
    expect(await violations(page)).toEqual([]);

    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Excel (.xlsx)" }).click(),
    ]);
    expect(download.suggestedFilename()).toMatch(/^people-[0-9a-f]{16}\.xlsx$/);
    // The address is the way back to them.
    await page.reload();
    await grid().waitFor();
    await page.getByRole("link", { name: "All that was bought" }).click();
    await page.getByRole("button", { name: "Show 4,000 people" }).click();
    await grid().waitFor();
    expect(wrong).toEqual([]);
  });

  test("stand well on a phone, a tablet and a screen, light and dark", async () => {
    await page.goto(await linkTo(service));
    // All of them are owned by now: to buy them again is a choice.
    await page.getByRole("button", { name: "Buy again…" }).click();
    await page.getByLabel("Whom").selectOption("all");
    await page.getByLabel("How many").fill("300");
    await page.getByRole("button", { name: /^Buy 300 profiles/ }).click();
    await grid().waitFor();
    await expect.poll(async () => (await cells(1))[0]).not.toBe("…");
    for (const colorScheme of ["light", "dark"] as const) {
      for (const width of [360, 768, 1_440]) {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize({ width, height: 800 });
        expect([width, colorScheme, await violations(page)]).toEqual([width, colorScheme, []]);
        const wide = await page.evaluate<number>("document.documentElement.scrollWidth");
        expect(wide).toBeLessThanOrEqual(width);
        if (process.env.PICTURES)
          await page.screenshot({
            path: `${process.env.PICTURES}/people-${width}-${colorScheme}.png`,
            fullPage: true,
          });
      }
    }
  });
});
