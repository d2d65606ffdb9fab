import { describe, expect, test } from "vitest";
import { isLeftOut } from "../support/tools.ts";
import {
  HAS_CHROMIUM,
  type Looking,
  linkTo,
  lookAtConsole,
  type Page,
  violations,
} from "./browser.ts";

describe.skipIf(isLeftOut(HAS_CHROMIUM))("the console under the hands of somebody", () => {
  let { service, context, page, wrong } = {} as Looking;
  lookAtConsole((looking) => ({ service, context, page, wrong } = looking));

  const enter = async (on: Page, accountId = "default"): Promise<void> => {
    await on.goto(await linkTo(service, "owner", accountId));
    await on.locator("[data-testid=count]").filter({ hasText: /\d/ }).waitFor();
  };
  const focused = (): Promise<string> =>
    page.evaluate<string>(
      "document.activeElement.dataset.filter ?? document.activeElement.id ?? document.activeElement.tagName",
    );

  test("letters stay while counts come back, and a number that is none is told", async () => {
    await enter(page);
    await page.locator("summary", { hasText: "Reach" }).click();
    const prefix = page.getByLabel("Title begins with");
    await prefix.focus();
    // Around the pause after which a text is counted, so that answers come between the letters.
    for (const [index, letter] of [..."software engineering"].entries()) {
      await page.keyboard.type(letter);
      await page.waitForTimeout(115 + (index % 8) * 12);
    }
    expect(await prefix.inputValue()).toBe("software engineering");
    await expect.poll(() => page.url()).toContain("software+engineering");
    const least = page.getByLabel("Connections at least");
    await least.fill("12x");
    await page.getByText("a whole number of 0 or more").waitFor();
    expect(await least.getAttribute("aria-invalid")).toBe("true");
    await least.fill("12");
    await expect.poll(() => page.url()).toContain("connections_min");
    expect(await page.getByText("a whole number of 0 or more").count()).toBe(0);
    expect(wrong).toEqual([]);
  });

  test("another page has the focus, and a dialog gives it back", async () => {
    await enter(page);
    await page.goto(`${service.url}/console/#/account`);
    await page.locator("h1", { hasText: "Account" }).waitFor();
    await page.getByRole("link", { name: "Plan", exact: true }).click();
    await page.locator("h1", { hasText: "Plan" }).waitFor();
    await expect.poll(focused).toBe("main");
    await page.goto(`${service.url}/console/#/segment`);
    const opener = page.getByRole("button", { name: "Buy…" });
    await opener.focus();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").getByText("Balance after").waitFor();
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expect(await opener.evaluate("document.activeElement.textContent")).toBe("Buy…");
    expect(wrong).toEqual([]);
  });

  test("what is typed right after a dialog was asked for goes into it, however slow the machine", async () => {
    await enter(page);
    const isReady = await page.evaluate(`(async () => {
      [...document.querySelectorAll("button")].find((button) => button.textContent === "Buy…").click();
      // Promises alone: no frame is painted, and no key can come.
      for (let turn = 0; turn < 20; turn++) await null;
      return document.querySelector("dialog[open]")?.contains(document.activeElement) === true
        && document.activeElement.tagName === "INPUT";
    })()`);
    expect(isReady).toBe(true);
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expect(wrong).toEqual([]);
  });

  test("a new key stays in sight until it is kept, whatever page comes next", async () => {
    await enter(page);
    await page.goto(`${service.url}/console/#/keys`);
    await page.getByLabel("Name").fill("kept");
    await page.getByLabel("Days").fill("99999999999");
    await page.getByRole("button", { name: "Create key" }).click();
    await page.getByText("days: a whole number from 1 to 36500").waitFor();
    await page.getByLabel("Days").fill("30");
    await page.getByRole("button", { name: "Create key" }).click();
    const key = (await page.locator("[data-testid=new-key]").textContent()) ?? "";
    await page.getByRole("link", { name: "Account", exact: true }).click();
    await page.locator("h1", { hasText: "Account" }).waitFor();
    expect(await page.locator("[data-testid=new-key]").textContent()).toBe(key);
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByText("say first that you have kept it").waitFor();
    await page.getByRole("button", { name: "I have kept it" }).click();
    expect(await page.content()).not.toContain(key);
    expect(wrong).toEqual([]);
  });

  test("a key that was never used is revoked without typing, and its name reorders nothing", async () => {
    await service.store.createKey({
      ...{
        id: "k_bidi",
        accountId: "default",
        name: "a\u202eb",
        mode: "live",
        prefix: "hc_live_x",
        hash: "0".repeat(64),
      },
      createdAt: Date.now(),
    });
    await enter(page);
    await page.goto(`${service.url}/console/#/keys`);
    const card = page.locator("section", { hasText: "k_bidi" });
    expect(await card.locator("h2").textContent()).toBe("a\ufffdb");
    await card.getByRole("button", { name: "Revoke…" }).click();
    expect(await page.getByRole("dialog").getByRole("textbox").count()).toBe(0);
    await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await card.getByText("revoked").waitFor();
  });

  test("of two tabs none shows one account and buys on another", async () => {
    await service.store.createAccount("second", "Second");
    await enter(page);
    await page.locator(".foot", { hasText: "default" }).waitFor();
    const other = await context.newPage();
    await enter(other, "second");
    await page.locator(".foot", { hasText: "Second" }).waitFor();
    await other.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("button", { name: "Sign in" }).waitFor();
    await other.close();
  });

  test("an answer that is cut short is none: the segment has no number, and it is said", async () => {
    await page.goto(await linkTo(service));
    const count = page.locator("[data-testid=count]");
    await count.filter({ hasText: /\d/ }).waitFor();
    const cut = { status: 200, contentType: "application/json", body: '{"count": 1' };
    await page.route("**/console/api/count", (route) => route.fulfill(cut));
    await page.goto(
      `${page.url().replace(/#.*/, "")}#/segment?f=${encodeURIComponent('{"department":["Legal"]}')}`,
    );
    await page.locator("main [role=alert]", { hasText: "does not answer" }).waitFor();
    expect(await count.textContent()).toBe("–");
    expect(await page.locator("body").textContent()).not.toContain("NaN");
  });

  test("the link to copy is of what is on the screen, and the page of exports outlives an outage", async () => {
    await enter(page);
    await page.locator("section[aria-labelledby=copy] select").selectOption("Link");
    await page.getByLabel("Country", { exact: true }).fill("germany");
    await page.keyboard.press("Enter");
    await expect.poll(() => page.locator("[data-testid=copy]").textContent()).toContain("germany");
    await page.getByRole("link", { name: "Exports" }).click();
    await page.getByText("Nothing was bought here yet").waitFor();
    await context.setOffline(true);
    await page.getByRole("link", { name: "Plan", exact: true }).click();
    await page.getByRole("link", { name: "Exports" }).click();
    await page.getByText("the service does not answer").waitFor();
    await context.setOffline(false);
    await page.getByText("Nothing was bought here yet").waitFor();
    await expect.poll(() => page.getByText("the service does not answer").count()).toBe(0);
  });
});
