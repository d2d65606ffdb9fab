import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import { makeLink } from "../../src/service/console/sessions.ts";
import { startTestService, type TestService, type TestServiceOptions } from "../support/service.ts";

const CHROMIUM = "/usr/bin/chromium";
export const HAS_CHROMIUM = existsSync(CHROMIUM);
const axeSource = (): string =>
  readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Debian's own browser, without a window. */
export const launchBrowser = (): Promise<Browser> =>
  chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-dev-shm-usage"] });

/** What a page did that it should not: errors on its console, reports of its policy, and requests off its origin. */
export function watch(page: Page, origin: string): readonly string[] {
  const wrong: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning")
      wrong.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => wrong.push(`error: ${error.message}`));
  page.on("request", (request) => {
    if (!request.url().startsWith(origin) && !request.url().startsWith("blob:"))
      wrong.push(`off origin: ${request.url()}`);
  });
  return wrong;
}

/** A console of 2,000 people and a browser for the tests of a block, with a fresh page for each of them. */
export interface Looking {
  service: TestService;
  browser: Browser;
  context: BrowserContext;
  page: Page;
  /** What the page did that it should not. */
  wrong: readonly string[];
}

/** @param ready gets what there is before each test */
export function lookAtConsole(
  ready: (looking: Looking) => void,
  options: TestServiceOptions = {},
): void {
  const now = {} as Looking;
  beforeAll(async () => {
    [now.service, now.browser] = await Promise.all([
      startTestService({ people: 2_000, console: {}, ...options }),
      launchBrowser(),
    ]);
  });
  afterAll(async () => {
    await now.browser.close();
    await now.service.close();
  });
  beforeEach(async () => {
    now.context = await now.browser.newContext({ viewport: { width: 1360, height: 900 } });
    now.page = await now.context.newPage();
    now.wrong = watch(now.page, now.service.url);
    ready(now);
  });
  afterEach(() => now.context.close());
}

/** A link that signs in once. */
export async function linkTo(
  { store, url }: TestService,
  role: "owner" | "viewer" = "owner",
  accountId = "default",
): Promise<string> {
  return `${url}/console/enter#t=${await makeLink(store, { accountId, role, name: "", createdAt: Date.now() }, "test")}`;
}

/** Violations of WCAG 2.2 AA and of axe's best practices, one line each. */
export async function violations(page: Page): Promise<readonly string[]> {
  // Through the debugger: the page's own policy lets no such script in.
  await page.evaluate(axeSource());
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: { run: (options: unknown) => Promise<{ violations: AxeViolation[] }> };
    };
    const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
    const found = await axe.run({ runOnly: tags });
    return found.violations.map(
      ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(" | ")}`,
    );
  });
}

interface AxeViolation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string }[];
}

export type { Browser, BrowserContext, Page };
