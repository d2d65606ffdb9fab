import { createServer } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { describe, expect, test } from "vitest";
import { parseClickHouseAddress } from "../../src/dataset/clickhouse/address.ts";
import { openClickHouse } from "../../src/dataset/clickhouse/engine.ts";
import { checkFilters } from "../../src/shared/contract/filters.ts";
import { CERTIFICATE, CERTIFICATE_KEY } from "../support/certificate.ts";

/** What a server of today is asked: none of Debian's takes parameters, and chDB has no addresses. */
async function listening(version = "24.8.1") {
  const asked: { readonly address: string; readonly body: string }[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = Buffer.concat(chunks).toString();
      asked.push({ address: request.url ?? "", body });
      const rows: readonly (readonly [RegExp, readonly unknown[]])[] = [
        [/version\(\)/, [version]],
        [/headcount_datasets/, ["v1", 3, 0, 1]],
        [/system\.|left_out/, []],
        [/^/, [3]],
      ];
      const [, row = []] = rows.find(([about]) => about.test(body)) ?? [];
      response.end(JSON.stringify({ data: row.length === 0 ? [] : [row] }));
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as { port: number };
  return { asked, url: `clickhouse://127.0.0.1:${port}/people`, close: () => server.close() };
}

test("a filter of a thousand long addresses travels in the body, a short one in the address", async () => {
  const { asked, close, url } = await listening();
  const engine = await openClickHouse(url);
  const count = async (addresses: readonly string[]) => {
    const check = checkFilters({ network_url: addresses });
    if (!check.ok) throw new Error(check.issues[0]?.message);
    expect(await engine.count(check.canonical)).toBe(3);
    return asked.at(-1);
  };

  const long = Array.from({ length: 990 }, (_, at) => `https://n.example/${"ü".repeat(60)}/${at}`);
  const many = await count(long);
  expect(many?.address.length).toBeLessThan(4_096);
  for (const at of [0, 989]) expect(many?.body).toContain(`/${"ü".repeat(60)}/${at}\r\n`);
  expect(many?.body).toMatch(/name="query"\r\n\r\nSELECT count\(\)/);

  const few = await count(["https://n.example/in/ada"]);
  expect(few?.address).toContain("param_p0=");
  await engine.close();
  close();
});

test.each(["18.16.1", "20.12.8.5"])(
  "a server of %s is told which ones a dataset takes",
  async (version) => {
    const { close, url } = await listening(version);
    await expect(openClickHouse(url)).rejects.toThrow(
      `ClickHouse turned the connection away: its version is ${version}, and a dataset takes 21 or newer`,
    );
    close();
  },
);

test("servers whose certificate is not trusted are not tried again", async () => {
  const server = createTlsServer({ key: CERTIFICATE_KEY, cert: CERTIFICATE });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as { port: number };
  const opened = openClickHouse(`clickhouse://127.0.0.1:${port}/people?tls=true`);
  await expect(opened).rejects.toMatchObject({
    name: "DatasetRefusedError",
    message: expect.stringContaining("self-signed certificate"),
  });
  server.close();
});

describe("addresses and values", () => {
  test.each([
    [
      "clickhouse://localhost/people",
      {
        urls: ["http://localhost:8123"],
        database: "people",
        user: "default",
        password: "",
        replicated: false,
      },
    ],
    [
      "clickhouse://ada:s%40crt@a:9000,b/db?cluster=main&replicated=true&tls=true",
      {
        urls: ["https://a:9000", "https://b:8443"],
        database: "db",
        cluster: "main",
        user: "ada",
        password: "s@crt",
        replicated: true,
      },
    ],
  ])("%s", (text, expected) => {
    expect(parseClickHouseAddress(text)).toEqual(expected);
  });

  test.each([
    "http://x/",
    "clickhouse://",
    "clickhouse://a b/db",
    "clickhouse://a/db;drop",
    "clickhouse://a/db?x=1",
    "clickhouse://a/db?cluster=a'b",
  ])("%s is refused", (text) => {
    expect(() => parseClickHouseAddress(text)).toThrow();
  });
});
