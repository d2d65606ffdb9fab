import { describe, expect, test } from "vitest";
import { parseCredits } from "../../src/shared/contract/money.ts";
import { gated } from "../support/console.ts";
import { isLeftOut } from "../support/tools.ts";
import { HAS_CHROMIUM, type Looking, linkTo, lookAtConsole } from "./browser.ts";

describe.skipIf(isLeftOut(HAS_CHROMIUM))("the console while a price moves", () => {
  const gate = gated();
  let { service, page } = {} as Looking;
  lookAtConsole((looking) => ({ service, page } = looking), { wrapEngine: gate.wrapEngine });

  const price = (each: string) =>
    service.store.setPlan("default", { costs: { person_search: parseCredits(each) as never } });
  const balance = async () =>
    Number((await service.store.balance("default", "live")).balance) / 1e6;

  test("a purchase that it stopped is continued for what its button says, and for nothing that it did not say", async () => {
    await page.goto(await linkTo(service));
    await page.getByRole("button", { name: "Buy…" }).click();
    const buy = page.getByRole("button", { name: "Buy 2,000 profiles for 2,000 credits" });
    await buy.waitFor();
    gate.close();
    await buy.click();
    await gate.arrival();
    const card = page.locator("section[data-state]").first();
    await card.getByText("0 of 2,000 profiles for 0 credits").waitFor();
    expect(await card.textContent()).not.toContain("Bought");
    await price("2");
    gate.open();
    const dear = card.getByRole("button", {
      name: "Continue: 1,000 profiles more for 2,000 credits",
    });
    await dear.waitFor();
    await card.getByText("A profile costs 2 credits now, and 1 when it was agreed to").waitFor();
    expect(await balance()).toBe(9_000);
    // Beside buying all of them anew.
    await page.getByRole("link", { name: "Segment" }).click();
    await page.getByRole("button", { name: "Buy the other 1,000…" }).click();
    await page.getByRole("button", { name: "Buy 1,000 profiles for 2,000 credits" }).waitFor();
    await page.getByLabel("Whom").selectOption("all");
    await page.getByRole("button", { name: "Buy 2,000 profiles for 4,000 credits" }).waitFor();
    await page.getByRole("button", { name: "Buy the other 1,000 for 2,000 credits" }).waitFor();
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("link", { name: "Exports" }).click();
    await dear.waitFor();
    // The price moves once more, and the page does not know of it yet.
    let look: () => void = () => undefined;
    const blind = new Promise<void>((resolve) => {
      look = resolve;
    });
    await page.route(/\/exports\?mode=live$/, (route) => blind.then(() => route.continue()));
    await price("3");
    await dear.click();
    await page.getByRole("alert").getByText("Continue says what the rest costs now").waitFor();
    expect(await balance()).toBe(9_000);
    look();
    await card
      .getByRole("button", { name: "Continue: 1,000 profiles more for 3,000 credits" })
      .click();
    await page.locator("[data-state=ready]").first().waitFor();
    expect(await card.textContent()).toContain("2,000 of 2,000 profiles for 4,000 credits");
    expect(await balance()).toBe(6_000);
    await card.getByText("As a command").click();
    await card.getByText("--max-credits 6000").waitFor();
  });
});
