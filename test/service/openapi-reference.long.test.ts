import { describe, expect, test } from "vitest";
import { markdown, referencePage } from "../../src/service/reference/page.ts";
import { BASE } from "../../src/service/reference/text.ts";
import { openApiDocument } from "../../src/shared/openapi/document.ts";
import { startTestService } from "../support/service.ts";

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
