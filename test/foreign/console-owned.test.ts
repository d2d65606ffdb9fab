import { describe, expect, test } from "vitest";
import { makeLink } from "../../src/service/console/sessions.ts";
import { isLeftOut } from "../support/tools.ts";
import { HAS_CHROMIUM, type Looking, linkTo, lookAtConsole, violations } from "./browser.ts";

describe.skipIf(isLeftOut(HAS_CHROMIUM))("whom an account owns, in a browser", () => {
  let { service, page, wrong } = {} as Looking;
  lookAtConsole((looking) => ({ service, page, wrong } = looking));

  const picture = async (name: string): Promise<void> => {
    if (process.env.PICTURES)
      await page.screenshot({ path: `${process.env.PICTURES}/${name}.png`, fullPage: true });
  };
  const segment = (department: string, more = "") =>
    `${service.url}/console/#/segment?${more}f=${encodeURIComponent(JSON.stringify({ department: [department] }))}`;
  const search = async (department: string, rows: number) => {
    const body = { filters: { department }, per_page: rows };
    return (await service.call("/v1/person/search", { body })).json;
  };
  const number = async (): Promise<number> => {
    const shown = page.locator("[data-testid=count]");
    await shown.filter({ hasText: /\d/ }).waitFor();
    return Number((await shown.innerText()).replaceAll(",", ""));
  };
  const balance = async (): Promise<number> =>
    Number((await service.store.money("default", "live")).balance) / 1e6;

  test("is not bought again: the others are the default, by keyboard; all again is a choice; rows are under Owned", async () => {
    expect((await search("Legal", 7)).credits_used).toBe(7);
    const before = await balance();
    await page.goto(await linkTo(service));
    await number();
    await page.goto(segment("Legal"));
    const owned = page.locator("[data-testid=owned]");
    await owned.waitFor();
    const all = await number();
    expect(await owned.innerText()).toBe(`${all - 7} of ${all} are new; you own 7`);
    const tabs = page.getByRole("navigation", { name: "People of this segment" });
    expect((await tabs.innerText()).replace(/\s+/g, " ")).toBe(`All ${all} New ${all - 7} Owned 7`);
    expect(await violations(page)).toEqual([]);

    await page.getByRole("button", { name: `Buy the other ${all - 7}…` }).press("Enter");
    const dialog = page.getByRole("dialog");
    const offer = dialog.getByRole("button", {
      name: `Buy ${all - 7} profiles for ${all - 7} credits`,
    });
    await offer.waitFor();
    expect(await violations(page)).toEqual([]);
    await picture("buy-the-other");
    await dialog.getByLabel("Whom").selectOption("all");
    await dialog.getByRole("button", { name: `Buy ${all} profiles for ${all} credits` }).waitFor();
    await dialog.getByLabel("Whom").selectOption("new");
    await offer.press("Enter");
    await page.getByText(`${all - 7} of ${all - 7} profiles for ${all - 7} credits`).waitFor();
    await page.getByRole("grid", { name: "People" }).waitFor();
    expect(await page.getByRole("grid").getAttribute("aria-rowcount")).toBe(`${all - 6}`);
    expect(before - (await balance())).toBe(all - 7);

    await page.goto(segment("Legal", "tab=owned&"));
    await page.getByText("7 people have no row here").waitFor();
    await page.getByRole("grid", { name: "People" }).waitFor();
    expect(await page.getByRole("grid").getAttribute("aria-rowcount")).toBe(`${all - 6}`);
    expect(await violations(page)).toEqual([]);
    await tabs.getByRole("link", { name: "New" }).press("Enter");
    await page.getByText(`0 of ${all} are new; you own ${all}`).first().waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole("button", { name: "Buy again…" }).press("Enter");
    await dialog.getByText("you own all of them").waitFor();
    await dialog.getByLabel("Whom").selectOption("all");
    await dialog.getByText("cost nothing again").waitFor();
    expect(wrong.filter((line) => !line.includes("status of 422"))).toEqual([]);
  });

  test("of a segment of nobody all three tabs say 0", async () => {
    await search("Legal", 1);
    await page.goto(await linkTo(service));
    await number();
    const nobody = encodeURIComponent(JSON.stringify({ last_name: ["nobody is called so"] }));
    await page.goto(`${service.url}/console/#/segment?tab=new&f=${nobody}`);
    const tabs = page.getByRole("navigation", { name: "People of this segment" });
    await tabs.filter({ hasText: /All\s*0\s*New\s*0\s*Owned\s*0/ }).waitFor();
    expect(await violations(page)).toEqual([]);
  });

  test("a segment is saved under a name, with its last count and what was bought of it, and its link stays", async () => {
    const role = { accountId: "default", role: "owner" as const, name: "ada-growth" };
    const token = await makeLink(service.store, { ...role, createdAt: Date.now() }, "test");
    await page.goto(`${service.url}/console/enter#t=${token}`);
    await number();
    await page.goto(segment("Marketing"));
    const people = await number();
    await page.getByLabel("Name of this segment").fill("Money people");
    await page.keyboard.press("Enter");
    await page.getByText("Saved as Money people").waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole("button", { name: /^Buy/ }).click();
    await page.getByLabel("How many").fill("3");
    await page.getByRole("button", { name: "Buy 3 profiles for 3 credits" }).click();
    await page.locator("[data-state=ready]").first().waitFor();
    await page.getByText("by ada-growth").first().waitFor();
    await page.getByRole("link", { name: "Saved" }).click();
    const saved = page.getByRole("region", { name: "Money people" });
    await saved.waitFor();
    const told = await saved.innerText();
    expect(told).toContain(`Marketing\n\n${people} people on `);
    expect(told).toContain("3 bought here, last on ");
    expect(told).toContain("Saved by ada-growth");
    expect(await violations(page)).toEqual([]);
    await saved.getByRole("link").press("Enter");
    await page.locator(".chip", { hasText: "Marketing" }).waitFor();
    expect(await number()).toBe(people);
    await page.goto(`${service.url}/console/#/saved`);
    await saved.getByRole("button", { name: "Remove Money people" }).click();
    await page.getByText("Nothing is saved yet").waitFor();
    expect(wrong).toEqual([]);
  });

  test("all of it stands well on a phone, a tablet and a screen, light and dark, and so do the pages around it", async () => {
    await search("Sales", 5);
    await page.goto(await linkTo(service));
    await number();
    await page.goto(segment("Sales"));
    await page.getByRole("button", { name: /^Buy/ }).click();
    await page.getByLabel("How many").fill("40");
    await page.getByRole("button", { name: "Buy 40 profiles for 40 credits" }).click();
    await page.getByRole("grid", { name: "People" }).waitFor();
    const save = { name: "Sellers of the south", filters: { department: "Sales" } };
    await page.evaluate(async (body) => {
      await fetch("/console/api/segments", {
        method: "POST",
        headers: {
          "content-type": "application/json",
          "x-console-proof": String(
            Reflect.get(globalThis, "localStorage").getItem("headcount-console-proof"),
          ),
        },
        body: JSON.stringify(body),
      });
    }, save);

    const views = {
      front: `${service.url}/`,
      docs: `${service.url}/docs`,
      all: segment("Sales"),
      new: segment("Sales", "tab=new&"),
      owned: segment("Sales", "tab=owned&"),
      saved: `${service.url}/console/#/saved`,
      exports: `${service.url}/console/#/exports`,
    };
    for (const [name, url] of Object.entries(views)) {
      await page.goto("about:blank");
      await page.goto(url);
      await page.locator("h1").first().waitFor({ state: "attached" });
      if (url.includes("segment")) await page.locator("[data-testid=owned]").waitFor();
      for (const colorScheme of ["light", "dark"] as const) {
        for (const width of [360, 768, 1_440]) {
          await page.emulateMedia({ colorScheme });
          await page.setViewportSize({ width, height: 800 });
          await page.waitForLoadState("networkidle");
          // axe takes long over a reference of some hundred tables, and its own test looks at it.
          const found = name === "docs" ? [] : await violations(page);
          expect([name, width, colorScheme, found]).toEqual([name, width, colorScheme, []]);
          const wide = await page.evaluate<number>("document.documentElement.scrollWidth");
          expect([name, width, wide <= width]).toEqual([name, width, true]);
          if (name === "docs" && process.env.PICTURES)
            await page.screenshot({
              path: `${process.env.PICTURES}/docs-${width}-${colorScheme}.png`,
            });
          else await picture(`${name}-${width}-${colorScheme}`);
        }
      }
    }
  });

  test("on a phone number and price come first, and every filter is folded", async () => {
    await page.setViewportSize({ width: 360, height: 740 });
    await page.goto(await linkTo(service));
    await number();
    expect(await page.locator(".filters details[open]").count()).toBe(0);
    const bottomOf = async (selector: string): Promise<number> => {
      const box = await page.locator(selector).first().boundingBox();
      return (box?.y ?? 0) + (box?.height ?? 0);
    };
    expect(await bottomOf(".price")).toBeLessThan(320);
    expect(await bottomOf("[data-testid=count]")).toBeLessThan(await bottomOf(".price"));
    expect(await bottomOf(".price")).toBeLessThan(await bottomOf(".filters"));
    await picture("phone");
  });
});
