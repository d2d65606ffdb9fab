import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parseCredits } from "../../src/shared/contract/money.ts";
import { isLeftOut } from "../support/tools.ts";
import { HAS_CHROMIUM, type Looking, linkTo, lookAtConsole, violations } from "./browser.ts";

describe.skipIf(isLeftOut(HAS_CHROMIUM))("the account in a browser", () => {
  let { service, page, wrong } = {} as Looking;
  lookAtConsole((looking) => ({ service, page, wrong } = looking));

  test("what it says, sums up and saves is the ledger, to the credit", async () => {
    const search = (rows: number) =>
      service.call("/v1/person/search", { method: "POST", body: { filters: {}, per_page: rows } });
    for (let bought = 1; bought <= 60; bought++)
      expect((await search(bought % 7 === 0 ? 3 : 1)).status).toBe(200);
    expect((await service.call("/v1/person/nothing")).status).toBe(404);
    expect((await service.call("/v1/person/nothing")).status).toBe(404);
    await service.store.grant(
      "default",
      "live",
      parseCredits("0.25") as never,
      '\uff1dHYPERLINK("x","y"),\u202eβ',
    );
    const { balance } = await service.store.balance("default", "live");
    await page.goto(await linkTo(service));
    await page.getByRole("link", { name: "Account", exact: true }).click();
    const parts = page.locator("[data-testid=usage] td:last-child");
    await expect.poll(() => parts.allInnerTexts()).toEqual([`${service.keyId} 76`]);
    await page.locator("section[aria-labelledby=usage] select").selectOption("call");
    await expect.poll(() => parts.allInnerTexts()).toEqual(["person search 76"]);
    expect(await page.locator("[data-testid=usage] td").first().innerText()).toBe("76");
    expect(await violations(page)).toEqual([]);
    const save = async (): Promise<readonly string[]> => {
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("button", { name: "Download CSV" }).click(),
      ]);
      expect(download.suggestedFilename()).toBe("ledger-live.csv");
      return readFileSync(await download.path(), "utf8")
        .split("\r\n")
        .slice(1, -1);
    };
    // The page shows fifty; the file has all of them.
    await expect.poll(() => page.locator("[data-testid=ledger] tbody tr").count()).toBe(50);
    const lines = await save();
    const entries = await service.store.entries({ accountId: "default", mode: "live", limit: 200 });
    expect(lines.map((line) => line.split(",")[0])).toEqual(entries.map(({ id }) => String(id)));
    const amounts = lines.map((line) => parseCredits(line.split(",")[8] ?? "") ?? 0n);
    expect(amounts.reduce<bigint>((sum, each) => sum + each, 0n)).toBe(balance);
    // A note is text, for a spreadsheet too.
    expect(lines[0]).toContain(`"'\uff1dHYPERLINK(""x"",""y""),\u202eβ"`);
    await page.locator("section[aria-labelledby=ledger] select").nth(1).selectOption(service.keyId);
    await expect
      .poll(() => page.locator("[data-testid=ledger]").textContent())
      .not.toContain("grant");
    expect((await save()).length).toBe(60);
    expect(await service.store.verify()).toEqual([]);
    expect(await violations(page)).toEqual([]);
    expect(wrong).toEqual([]);
  });
});
