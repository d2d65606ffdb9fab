import { createServer } from "node:http";
import { expect, test } from "vitest";
import { openClickHouse } from "../../src/dataset/clickhouse/engine.ts";
import { checkFilters } from "../../src/shared/contract/filters.ts";

/** What a server of today is asked: none of Debian's takes parameters, and chDB has no addresses. */
async function listening() {
  const asked: { readonly address: string; readonly body: string }[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = Buffer.concat(chunks).toString();
      asked.push({ address: request.url ?? "", body });
      const rows: readonly (readonly [RegExp, readonly unknown[]])[] = [
        [/version\(\)/, ["24.8.1"]],
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
