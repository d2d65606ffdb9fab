import { describe, expect, test } from "vitest";
import { gated } from "../support/console.ts";
import { isLeftOut } from "../support/tools.ts";
import { HAS_CHROMIUM, type Looking, linkTo, lookAtConsole } from "./browser.ts";

// One call at a time reaches the dataset, and no other waits for long: each gets a 503 with Retry-After.
describe.skipIf(isLeftOut(HAS_CHROMIUM))("the console of a service that is busy", () => {
  const gate = gated();
  let { service, page } = {} as Looking;
  lookAtConsole((looking) => ({ service, page } = looking), {
    wrapEngine: gate.wrapEngine,
    turns: { dataset: 1 },
    timeouts: { turn: 20 },
  });

  /** Holds the dataset. @returns lets it go */
  const hold = async (): Promise<() => Promise<void>> => {
    gate.close();
    const other = service.call("/v1/person/search", { body: { filters: {}, per_page: 1 } });
    await gate.arrival();
    return async () => {
      gate.open();
      expect((await other).status).toBe(200);
    };
  };
  const refused = () => page.waitForResponse((response) => response.status() === 503);
  const count = () => page.locator("[data-testid=count]").filter({ hasText: /\d/ });

  test("a purchase that meets it waits, says so, and becomes ready by itself", async () => {
    await page.goto(await linkTo(service));
    await count().waitFor();
    await page.getByRole("button", { name: "Buy…" }).click();
    await page.getByLabel(/How many/).fill("25");
    const buy = page.getByRole("button", { name: "Buy 25 profiles for 25 credits" });
    await buy.waitFor();
    const letGo = await hold();
    await buy.click();
    const card = page.locator("[data-state=buying]").first();
    await card.getByText("waiting: the service is busy").waitFor();
    await letGo();
    await page.locator("[data-state=ready]").first().waitFor();
    expect(await page.locator("[data-state=ready]").first().textContent()).toContain(
      "25 of 25 profiles for 25 credits",
    );
    expect(Number((await service.store.balance("default", "live")).balance) / 1e6).toBe(
      10_000 - 26,
    );
  });

  test("a count that is refused is asked for again, and shown", async () => {
    await page.goto(await linkTo(service));
    await count().waitFor();
    const letGo = await hold();
    const first = refused();
    await page
      .getByLabel("Title prefix", { exact: true })
      .or(page.getByLabel("Title", { exact: true }))
      .first()
      .fill("sales");
    await page.keyboard.press("Enter");
    await first;
    await letGo();
    await count().waitFor();
    await page.locator(".chip", { hasText: "sales" }).waitFor();
  });
});
