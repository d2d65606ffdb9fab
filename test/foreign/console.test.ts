import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { asTyped } from "../support/as-typed.ts";
import { tempDir } from "../support/client.ts";
import { user } from "../support/export.ts";
import { BIN, spawnUser } from "../support/spawned.ts";
import { isLeftOut } from "../support/tools.ts";
import { HAS_CHROMIUM, type Looking, linkTo, lookAtConsole, violations } from "./browser.ts";

const PAGES = ["segment", "exports", "account", "keys", "plan", "accounts"];

describe.skipIf(isLeftOut(HAS_CHROMIUM))("the console in a browser", () => {
  let { service, browser, page, wrong } = {} as Looking;
  lookAtConsole((looking) => ({ service, browser, page, wrong } = looking));

  const signIn = async (role?: "viewer"): Promise<void> => {
    await page.goto(await linkTo(service, role));
    await counted();
  };
  /** By keyboard alone. */
  const reach = async (selector: string): Promise<void> => {
    for (let presses = 0; presses < 20; presses++) {
      await page.keyboard.press("Tab");
      if (
        await page.evaluate<boolean>(`document.activeElement.matches(${JSON.stringify(selector)})`)
      )
        return;
    }
    throw new Error(`no Tab leads to ${selector}`);
  };
  /** The number, once it is no longer an old one. */
  const counted = async (): Promise<number> => {
    const shown = page.locator("[data-testid=count]");
    await shown.filter({ hasText: /\d/ }).waitFor();
    return Number(((await shown.textContent()) ?? "").replaceAll(",", ""));
  };

  test("from the link by keyboard to a bought list that is the one of the command line, and to its ledger row", async () => {
    await signIn();
    // Out of the address, before anything could look at it.
    expect(page.url()).not.toContain("#t=");
    await reach("[data-filter=department]");
    await page.keyboard.type("Legal");
    await page.keyboard.press("Enter");
    await page.locator(".chip", { hasText: "Legal" }).waitFor();
    const u = user(service.url, service.key);
    const told = await spawnUser(u, ["count", "--department", "Legal"]);
    await expect.poll(counted).toBe(Number(told.stdout));
    expect(await page.locator("[data-testid=copy]").textContent()).toContain("--department=Legal");
    await page.getByRole("button", { name: "Buy…" }).click();
    await page.getByLabel(/How many/).fill("25");
    await page.getByRole("button", { name: "Buy 25 profiles for 25 credits" }).click();
    const card = page.locator("[data-state=ready]").first();
    await card.waitFor();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      card.getByRole("button", { name: "Download CSV" }).click(),
    ]);
    const bought = readFileSync(await download.path(), "utf8");
    const out = join(u.dir, "people.csv");
    await spawnUser(u, ["search", "--department", "Legal", "--limit", "25", "--yes", "-o", out]);
    expect(bought).toBe(readFileSync(out, "utf8"));
    await page.getByRole("link", { name: "Account", exact: true }).click();
    await page.locator("[data-testid=ledger] tbody tr").first().waitFor();
    const rows = await page.locator("[data-testid=ledger] tbody tr").allInnerTexts();
    expect(
      rows.filter((row) => /\tperson search\ta session without a name\t25\t-25\t/.test(row)),
    ).toHaveLength(1);
    // Back shows the segment again, as it was.
    await page.getByRole("link", { name: "Segment" }).click();
    await page.locator(".chip", { hasText: "Legal" }).waitFor();
    expect(wrong).toEqual([]);
  });

  test("a key is shown once, and revoked it ends the session that it made", async () => {
    await signIn();
    await page.getByRole("link", { name: "API keys" }).click();
    // The page before has filters of names, and is there until this one is.
    await page.getByRole("textbox", { name: "Name", exact: true }).fill("for the browser");
    await page.getByRole("button", { name: "Create key" }).click();
    const key = (await page.locator("[data-testid=new-key]").textContent()) ?? "";
    expect(key).toMatch(/^hc_live_/);
    await page.getByRole("button", { name: "I have kept it" }).click();
    expect(await page.content()).not.toContain(key);
    const other = await browser.newContext();
    const theirs = await other.newPage();
    await theirs.goto(`${service.url}/console/`);
    await theirs.getByLabel(/sign in with an API key/).fill(key);
    await theirs.getByRole("button", { name: "Sign in" }).click();
    await theirs.locator("[data-testid=count]").filter({ hasText: "2,000" }).waitFor();
    const card = page.locator("section", { hasText: "for the browser" }).last();
    // The list on the page is older than the key's first use, which is written down a moment later.
    const used = async (): Promise<string | null> => {
      await page.getByRole("link", { name: "Plan", exact: true }).click();
      await page.getByRole("link", { name: "API keys" }).click();
      return card.textContent();
    };
    await expect.poll(used, { timeout: 10_000 }).not.toContain("never used");
    await card.getByRole("button", { name: "Revoke…" }).click();
    await page
      .getByRole("dialog")
      .getByLabel(/Its name/)
      .fill("for the browser");
    await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await card.getByText("revoked").waitFor();
    await theirs.reload();
    await theirs.getByText("headcount service link").first().waitFor();
    await other.close();
    expect(wrong).toEqual([]);
  });

  test("hostile text is text, in chips, bars, tables and addresses", async () => {
    await signIn();
    const hostile = `<img src=x onerror="alert(1)">\u202e=cmd|' /C calc'!A0${"x".repeat(900)}`;
    await page.getByLabel("Title", { exact: true }).fill(hostile);
    await page.keyboard.press("Enter");
    await expect.poll(counted).toBe(0);
    expect(await page.locator("img").count()).toBe(0);
    await page.goto(
      `${service.url}/console/#/segment?f=${encodeURIComponent('{"__proto__":{"x":1},"title":["<b>x</b>"],"nonsense":1}')}`,
    );
    await page.reload();
    await page.locator(".chip", { hasText: "<b>x</b>" }).waitFor();
    // The service refuses what is no filter, and the browser says so.
    expect(wrong.filter((line) => !line.includes("status of 422"))).toEqual([]);
  });

  test.each(["light", "dark"] as const)(
    "%s: every page at every width is free of faults, and none scrolls sideways",
    async (colorScheme) => {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      await page.goto(`${service.url}/console/`);
      await page.getByRole("button", { name: "Sign in" }).waitFor();
      expect(await violations(page)).toEqual([]);
      await signIn();
      for (const id of PAGES) {
        await page.goto(`${service.url}/console/#/${id}`);
        await page.locator("main h1").waitFor({ state: "attached" });
        await page.waitForLoadState("networkidle");
        for (const width of [1360, 390, 320]) {
          await page.setViewportSize({ width, height: 900 });
          expect([
            id,
            width,
            await page.evaluate("document.documentElement.scrollWidth - innerWidth"),
          ]).toEqual([id, width, 0]);
          expect(`${id} ${width} ${(await violations(page)).join("\n")}`).toBe(`${id} ${width} `);
        }
      }
      await page.goto(`${service.url}/console/#/segment`);
      await page.getByRole("button", { name: /^Buy/ }).click();
      await page.getByRole("dialog").getByText("Balance after").waitFor();
      expect(await violations(page)).toEqual([]);
      await page.keyboard.press("Escape");
      const country = page.getByLabel("Country", { exact: true });
      // Where there is little room one group of filters is open.
      if (!(await country.isVisible())) await page.locator("summary", { hasText: "Place" }).click();
      await country.fill("nowhere-at-all");
      await page.keyboard.press("Enter");
      await expect.poll(counted).toBe(0);
      expect(await violations(page)).toEqual([]);
      // A filter that is refused, a key that is shown, and a link that was used.
      await page.getByText("Reach").click();
      await page.getByLabel("Connections at least").fill("9");
      await page.getByLabel("Connections at most").fill("3");
      await page.locator(".problem", { hasText: "connections" }).first().waitFor();
      expect((await violations(page)).join("\n")).toBe("");
      await page.goto(`${service.url}/console/#/keys`);
      await page.getByLabel("Name").fill(`shown ${colorScheme}`);
      await page.getByRole("button", { name: "Create key" }).click();
      await page.locator("[data-testid=new-key]").waitFor();
      expect((await violations(page)).join("\n")).toBe("");
      await page.getByRole("button", { name: "I have kept it" }).click();
      await page.goto(`${service.url}/console/enter#t=used`);
      await page.getByText("prints a new one").first().waitFor();
      expect((await violations(page)).join("\n")).toBe("");
    },
    240_000,
  );
});

interface Served {
  readonly url: string;
  readonly console: string;
  kill(): Promise<void>;
}

/** The built service on a folder, until it is killed. */
async function serve(data: string): Promise<Served> {
  const child = spawn(
    process.execPath,
    asTyped`${BIN} serve --data ${data} --port 0 --json --console link --quiet`,
  );
  let out = "";
  await new Promise<void>((resolve) => {
    child.stdout.on("data", (piece) => {
      out += String(piece);
      if (out.includes("\n")) resolve();
    });
  });
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  return {
    ...(JSON.parse(out) as { readonly url: string; readonly console: string }),
    async kill() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

interface ExportView {
  readonly id: string;
  readonly state: string;
  readonly pages: number;
  readonly rows: number;
  readonly credits: number;
}

class Client {
  readonly #url: string;
  #cookie = "";
  #proof = "";

  constructor(url: string) {
    this.#url = url;
  }

  async signIn(link: string): Promise<void> {
    const { proof } = await this.call<{ proof: string }>("POST", "/session", {
      link: new URL(link).hash.slice(3),
    });
    this.#proof = proof;
  }

  async call<Value>(method: string, path: string, body?: unknown): Promise<Value> {
    const response = await fetch(`${this.#url}/console/api${path}`, {
      method,
      headers: {
        origin: this.#url,
        cookie: this.#cookie,
        "x-console-proof": this.#proof,
        "content-type": "application/json",
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    this.#cookie = response.headers.get("set-cookie")?.split(";")[0] ?? this.#cookie;
    expect([path, response.status]).toEqual([path, 200]);
    return (await response.json()) as Value;
  }

  async file(id: string): Promise<string> {
    const headers = { origin: this.#url, cookie: this.#cookie, "x-console-proof": this.#proof };
    return (await fetch(`${this.#url}/console/api/exports/${id}/ndjson`, { headers })).text();
  }
}

test("a purchase whose service is killed after each of its pages goes on, and every credit is spent once", async () => {
  const data = join(tempDir(), "data");
  spawnSync(process.execPath, [BIN, "service", "generate", "--people", "6000", "--data", data]);
  let id = "";
  let killed = 0;
  for (let stop = 1; ; stop++) {
    const service = await serve(data);
    const client = new Client(service.url);
    await client.signIn(service.console);
    try {
      if (id === "") {
        const quote = await client.call<{ quote_id: string }>("POST", "/quote", {
          filters: {},
          profiles: 5_000,
        });
        id = (await client.call<ExportView>("POST", "/exports", quote)).id;
      } else await client.call("POST", `/exports/${id}/continue`, {});
      let now = await client.call<ExportView>("GET", `/exports/${id}`);
      while (now.state === "buying" && now.pages < stop)
        now = await client.call<ExportView>("GET", `/exports/${id}`);
      if (now.state !== "ready") {
        killed++;
        continue;
      }
      expect(now).toMatchObject({ rows: 5_000, pages: 5, credits: 5_000 });
      const { modes } = await client.call<{
        modes: readonly { mode: string; balance: number; held: number }[];
      }>("GET", "/me");
      expect(modes.find(({ mode }) => mode === "live")).toMatchObject({ balance: 5_000, held: 0 });
      const bytes = await client.file(id);
      const ids = bytes
        .trim()
        .split("\n")
        .map((line) => (JSON.parse(line) as { id: string }).id);
      expect(new Set(ids).size).toBe(5_000);
      expect(
        createHash("sha256")
          .update(await client.file(id))
          .digest("hex"),
      ).toBe(createHash("sha256").update(bytes).digest("hex"));
      break;
    } finally {
      await service.kill();
    }
  }
  expect(killed).toBeGreaterThan(0);
});
