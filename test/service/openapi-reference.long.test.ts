import { execFile, execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { markdown, referencePage } from "../../src/service/reference/page.ts";
import { BASE } from "../../src/service/reference/text.ts";
import { openApiDocument } from "../../src/shared/openapi/document.ts";
import { asTyped } from "../support/as-typed.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { isLeftOut } from "../support/tools.ts";

const run = promisify(execFile);

const attributes = (html: string, name: string): string[] =>
  [...html.matchAll(new RegExp(`\\s${name}="([^"]*)"`, "g"))].map((match) => match[1] ?? "");

describe("the reference's own text", () => {
  const [page] = referencePage();
  const html = page?.body ?? "";

  test("names every operation, parameter, status, header, filter and field", () => {
    const { components, paths } = openApiDocument();
    for (const [path, item] of Object.entries(paths)) {
      expect(html).toContain(`<code>${path}</code>`);
      for (const operation of Object.values(item)) {
        const section = html.slice(html.indexOf(`id="${operation.operationId}"`));
        for (const status of Object.keys(operation.responses))
          expect(section).toContain(`<td>${status}</td>`);
      }
    }
    for (const { name } of Object.values(components.parameters))
      expect(html).toContain(`<td><code>${name}</code>`);
    for (const name of Object.keys(components.headers))
      expect(html).toContain(`<td><code>${name}</code></td>`);
    for (const name of Object.keys(components.responses))
      expect(html).toContain(`id="error-${name}"`);
    for (const [name, schema] of Object.entries(components.schemas)) {
      expect(html).toContain(`id="schema-${name}"`);
      for (const field of Object.keys(schema.properties ?? {}))
        expect(html).toContain(`<code>${field}</code>`);
    }
  });

  test("every link within the page leads somewhere, every anchor is there once", () => {
    const ids = attributes(html, "id");
    expect(ids.length).toBe(new Set(ids).size);
    const targets = attributes(html, "href").filter((href) => href.startsWith("#"));
    expect(targets.length).toBeGreaterThan(50);
    expect(targets.filter((target) => !ids.includes(target.slice(1)))).toEqual([]);
  });

  test("loads nothing but its own files, and runs no script", () => {
    const files = referencePage();
    const own = new Set([...files.map(({ path }) => path), "/openapi.json"]);
    expect(html).not.toMatch(/<(script|iframe|object|embed|base)\b/i);
    expect(html).not.toMatch(/\s(style|on[a-z]+|srcset)=/i);
    const loads = [...attributes(html, "href"), ...attributes(html, "src")].filter(
      (link) => !link.startsWith("#"),
    );
    // Beside `/docs`, whatever stands before it behind a proxy.
    expect(loads.filter((link) => !own.has(`/${link}`))).toEqual([]);
    for (const { body, path } of files
      .filter((file) => !/\.(json|txt)$/.test(file.path))
      .slice(1)) {
      expect([path, body.replace(/xmlns="[^"]*"/g, "")]).not.toEqual([
        path,
        expect.stringMatching(/url\(|@import|https?:/i),
      ]);
    }
  });

  test("escapes what it shows", () => {
    const code = [
      "a <i> `<b>` **<u>** [<a>](#x)",
      "| <s> |\n|---|\n| <q> |",
      '## <s> {#"<b>}',
      "```\n</code><u>\n```",
    ];
    expect(markdown(code.join("\n\n"))).not.toMatch(/<[abisuq]>|<\/code><u|"<b>/);
    expect(markdown("| a \\| b |\n|---|\n| c |")).toContain("<th>a | b</th>");
  });
});

const chromium = ["chromium", "chromium-browser", "google-chrome"].find((name) => {
  try {
    execFileSync(name, ["--version"], { stdio: "ignore", timeout: 20_000 });
    return true;
  } catch {
    return false;
  }
});
if (isLeftOut(chromium !== undefined))
  console.warn("no Chromium here: the reference is not opened in a browser");

interface NetLog {
  readonly constants: { readonly logEventTypes: Readonly<Record<string, number>> };
  readonly events: readonly {
    readonly type: number;
    readonly params?: { readonly url?: string; readonly initiator?: string };
  }[];
}

/**
 * Every address that a page makes a browser ask for, the page itself first. What the browser asks for on its own behalf has no
 * origin as its initiator; it gets nowhere, since no name but 127.0.0.1 resolves.
 */
async function requestsOf(url: string): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), "headcount-chromium-"));
  const log = join(folder, "net.json");
  try {
    const flags = asTyped`
      --headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking
    `;
    const quiet = [
      "--disable-component-update",
      "--disable-sync",
      "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    ];
    const own = [
      `--user-data-dir=${join(folder, "profile")}`,
      `--log-net-log=${log}`,
      "--dump-dom",
      url,
    ];
    await run(chromium ?? "chromium", [...flags, ...quiet, ...own], {
      timeout: 50_000,
      maxBuffer: 64 * 1024 * 1024,
    });
    const { constants, events } = JSON.parse(readFileSync(log, "utf8")) as NetLog;
    const start = constants.logEventTypes.URL_REQUEST_START_JOB;
    return events
      .filter(({ params, type }) => type === start && params?.url !== undefined)
      .filter(({ params }) => params?.url === url || /^https?:/.test(params?.initiator ?? ""))
      .map(({ params }) => params?.url ?? "");
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

describe.skipIf(isLeftOut(chromium !== undefined))("in a browser", () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService({ people: 200 });
  });
  afterAll(() => service.close());

  test("asks this service and no other host", async () => {
    const asked = await requestsOf(`${service.url}/docs`);
    expect(asked).toContain(`${service.url}/docs/reference.css`);
    expect(asked.filter((url) => new URL(url).origin !== service.url)).toEqual([]);
  });

  test("and the log would show a foreign host", async () => {
    const foreign = createServer((_, response) => {
      response.setHeader("content-type", "text/html").end('<img src="http://fonts.example/x.png">');
    });
    await new Promise<void>((listening) => foreign.listen(0, "127.0.0.1", listening));
    try {
      const asked = await requestsOf(
        `http://127.0.0.1:${(foreign.address() as AddressInfo).port}/`,
      );
      expect(asked).toContain("http://fonts.example/x.png");
    } finally {
      foreign.closeAllConnections();
      foreign.close();
    }
  });
});

describe("over HTTP", () => {
  test("each file comes with its type and a policy that forbids everything foreign", async () => {
    const service = await startTestService({ people: 200 });
    try {
      for (const { body, contentType, path } of referencePage()) {
        const response = await fetch(service.url + path);
        expect(response.status).toBe(200);
        expect(response.headers.get("content-type")).toBe(contentType);
        expect(response.headers.get("content-security-policy")).toMatch(/^default-src 'self';/);
        expect(await response.text()).toBe(body.replaceAll(BASE, service.url));
      }
      const document = await fetch(`${service.url}/openapi.json`);
      expect(await document.json()).toEqual(JSON.parse(JSON.stringify(openApiDocument())));
    } finally {
      await service.close();
    }
  });
});
