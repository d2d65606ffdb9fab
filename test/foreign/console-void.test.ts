import { describe, expect, test } from "vitest";
import { parseCredits } from "../../src/shared/contract/money.ts";
import { isLeftOut } from "../support/tools.ts";
import { HAS_CHROMIUM, type Looking, linkTo, lookAtConsole, violations } from "./browser.ts";

// Number, price, command and Buy belong to the segment on the screen, or say that there are none.
describe.skipIf(isLeftOut(HAS_CHROMIUM))("a segment that could not be counted", () => {
  let { service, page } = {} as Looking;
  lookAtConsole((looking) => ({ service, page } = looking));

  const number = () => page.getByTestId("count");
  const buy = () => page.getByRole("button", { name: "Buy…" });
  const filter = async (name: string, text: string): Promise<void> => {
    await page.locator(`[data-filter=${name}]`).fill(text);
    await page.locator(`[data-filter=${name}]`).press("Enter");
  };
  const isVoid = async (why = "Not counted: "): Promise<void> => {
    if (why !== "") await page.getByText(why).first().waitFor();
    expect(await number().textContent()).toBe("–");
    expect(await buy().count()).toBe(0);
    expect(await page.getByTestId("copy").textContent()).toContain("no price yet");
    expect(await page.getByText("left afterwards").count()).toBe(0);
  };

  test.each([1_440, 360])(
    "a value that is none takes number, price, command and Buy away; the field alone says why, in a line (%d px)",
    async (width) => {
      await page.setViewportSize({ width, height: 800 });
      await page.goto(await linkTo(service));
      await buy().waitFor();
      await page.goto(`${service.url}/console/#/segment?f={"department":["Legal","Salse"]}`);
      const problem = page.getByText("Salse", { exact: false }).and(page.getByRole("alert"));
      await problem.waitFor();
      await isVoid("");
      const said = (await page.getByRole("alert").allInnerTexts()).filter((text) => text !== "");
      expect(said).toEqual(["no such value: “Salse”"]);
      // One line, and short enough for a phone.
      expect((await problem.boundingBox())?.height).toBeLessThan(30);
      const field = page.locator("[data-filter=department]");
      expect(await field.getAttribute("aria-describedby")).toBe(await problem.getAttribute("id"));
      expect(await violations(page)).toEqual([]);
      await page.getByRole("button", { name: "Sales instead" }).press("Enter");
      await page.getByRole("button", { name: "Remove Sales" }).waitFor();
      await page.getByRole("button", { name: "Remove Legal" }).waitFor();
      await buy().waitFor();
    },
    60_000,
  );

  test("of a closed list Enter takes what stands first where it begins so, and nothing else", async () => {
    await page.goto(await linkTo(service));
    await buy().waitFor();
    await filter("department", "sal");
    await page.getByRole("button", { name: "Remove Sales" }).waitFor();
    await buy().waitFor();
    // A value that is chosen is a bar, pressed, however few have it.
    await page.getByRole("button", { name: /^Sales/, pressed: true }).waitFor();
    await filter("country", "zz");
    await page.getByRole("button", { name: "Remove zz" }).waitFor();
    await page.getByLabel("by").first().selectOption("country");
    await page.getByRole("button", { name: /^zz/, pressed: true }).waitFor();
  });

  test("an address with a filter that is none, or with none that can be read, sells nobody", async () => {
    for (const [said, why] of [
      ['{"departmnt":["Sales"]}'],
      ['{"department":["Sales"'],
      ['{"department":[{"a":1}]}', 'no such value: “{"a":1}”'],
      ['["Sales"]'],
    ] as const) {
      await page.goto(await linkTo(service));
      await buy().waitFor();
      await page.goto(`${service.url}/console/#/segment?f=${encodeURIComponent(said)}`);
      await isVoid(why);
    }
    await page.getByRole("button", { name: "Clear all filters" }).click();
    await buy().waitFor();
  });

  test("filters that match nobody are told what they may have meant, which is counted", async () => {
    await page.goto(await linkTo(service));
    await buy().waitFor();
    await filter("country", "USA");
    const meant = page.getByRole("button", { name: /^Country "united states" counts [\d,]+ pe/ });
    const hint = await meant.textContent();
    await meant.click();
    await page.getByRole("button", { name: "Remove united states" }).waitFor();
    await buy().waitFor();
    await expect
      .poll(async () => hint?.includes(`counts ${await number().textContent()} `))
      .toBe(true);
  });

  test("a price that changed while the dialog was open buys nothing, and is told anew beside the number too", async () => {
    await page.goto(await linkTo(service));
    await buy().click();
    await page.getByLabel("How many").fill("3");
    await page.getByRole("button", { name: "Buy 3 profiles for 3 credits" }).waitFor();
    const all = Number((await number().textContent())?.replaceAll(",", ""));
    await service.store.setPlan("default", {
      costs: { person_search: parseCredits("2") as never },
    });
    try {
      await page.getByRole("button", { name: "Buy 3 profiles for 3 credits" }).click();
      await page.getByText("the price changed since this quote").waitFor();
      await page.getByRole("button", { name: "Buy 3 profiles for 6 credits" }).waitFor();
      await page
        .locator(".count .price b", { hasText: `${(2 * all).toLocaleString("en-US")} credits` })
        .waitFor();
    } finally {
      await service.store.setPlan("default", {
        costs: { person_search: parseCredits("1") as never },
      });
    }
  });

  test("a limit and a service that is away say until when, and end by themselves", async () => {
    await page.goto(await linkTo(service));
    await buy().waitFor();
    let answer: "limit" | "away" | "now" = "limit";
    const limit = {
      status: 429,
      headers: { "retry-after": "2" },
      json: { error: "the plan's 60 calls are used up" },
    };
    await page.route("**/console/api/count", (route) =>
      answer === "limit"
        ? route.fulfill(limit)
        : answer === "away"
          ? route.abort()
          : route.continue(),
    );
    await filter("country", "germany");
    await isVoid();
    await page.getByText(/used up; asking again in [12] s/).waitFor();
    answer = "away";
    await page
      .getByText(/does not answer.*asking again in [1-5] s/)
      .first()
      .waitFor();
    await isVoid();
    answer = "now";
    await buy().waitFor();
    expect(await number().textContent()).toMatch(/^\d/);
    expect(await page.getByTestId("copy").textContent()).toContain(
      "--country=germany --max-credits",
    );
  });

  test("what is no whole number is not made into another one", async () => {
    await page.goto(await linkTo(service));
    await buy().click();
    for (const text of ["1.5", "-3", "abc", "0"]) {
      await page.getByLabel(/How many/).fill(text);
      await page.getByText("how many is a whole number of 1 or more").waitFor();
      expect(await page.getByRole("button", { name: "Buy", exact: true }).isDisabled()).toBe(true);
    }
    await page.getByLabel(/How many/).fill("3");
    await page.getByRole("button", { name: "Buy 3 profiles for 3 credits" }).waitFor();
  });

  test("pages of a service that is away do not say that there is nothing", async () => {
    await page.goto(await linkTo(service));
    await buy().waitFor();
    await page.route("**/console/api/**", (route) => route.abort());
    await page.getByRole("link", { name: "Account", exact: true }).click();
    await page.getByText("Not loaded.").first().waitFor();
    expect(await page.getByText("Nothing yet.").count()).toBe(0);
    expect(await page.getByText("at most 1", { exact: true }).count()).toBe(0);
  });
});

describe.skipIf(isLeftOut(HAS_CHROMIUM))("on a phone", () => {
  let { service, page } = {} as Looking;
  lookAtConsole((looking) => ({ service, page } = looking));

  test("number, price and Buy take less than a fifth of it, and bars begin at one line", async () => {
    await page.setViewportSize({ width: 360, height: 740 });
    await page.goto(await linkTo(service));
    await page.getByRole("button", { name: "Buy…" }).waitFor();
    await expect.poll(async () => (await page.locator(".bars button").count()) > 5).toBe(true);
    expect((await page.locator("header").boundingBox())?.height).toBeLessThan(740 / 6);
    const card = await page.locator(".segment > .count").boundingBox();
    expect(card?.height).toBeLessThan(740 / 5);
    const bars = await page.locator(".bars button > :nth-child(2)").all();
    const lefts = await Promise.all(
      bars.map(async (bar) => Math.round((await bar.boundingBox())?.x ?? 0)),
    );
    expect(new Set(lefts).size).toBe(1);
    expect(await page.evaluate("document.body.scrollHeight")).toBeLessThan(2_500);
  });

  test("a row of the reference is a paragraph, and nothing is wider than the window", async () => {
    await page.setViewportSize({ width: 360, height: 740 });
    await page.goto(`${service.url}/docs`);
    expect(await page.evaluate("document.body.scrollHeight")).toBeLessThan(60_000);
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(360);
  });
});
