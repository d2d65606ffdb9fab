import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createKey, DEFAULT_ACCOUNT } from "../../src/service/admin/keys.ts";
import { openPostgresStore } from "../../src/service/ledger/postgres.ts";
import { credits } from "../../src/shared/contract/money.ts";
import { asTyped } from "../support/as-typed.ts";
import { folder, headcount, serving } from "../support/serve-command.ts";
import { generatedDataset } from "../support/service.ts";
import { type PostgresCluster, postgresBinaries, startCluster } from "../support/store-postgres.ts";
import { isLeftOut } from "../support/tools.ts";

describe.skipIf(isLeftOut(postgresBinaries() !== undefined))("serve --store postgres://", () => {
  let cluster: PostgresCluster;
  beforeAll(async () => {
    cluster = await startCluster();
  });
  afterAll(() => cluster.remove());

  test("a password that is wrong or missing, and a database that is not there, are told at every door: exit 2", async () => {
    const wrong = new URL(cluster.url);
    wrong.password = "wrong";
    const none = new URL(cluster.url);
    none.password = "";
    const other = new URL(cluster.url);
    other.pathname = "/not_there";

    const data = folder();
    for (const place of [wrong.href, none.href, other.href]) {
      for (const argv of [
        ["serve", "--port", "0", "--data", data, "--store", place],
        ["service", "verify", "--data", data, "--store", place],
        ["service", "accounts", "list", "--data", data, "--store", place],
      ]) {
        const ran = await headcount(...argv);
        expect(ran, ran.err).toMatchObject({ code: 2, out: "" });
        expect(ran.err).toMatch(/turned the connection away[\s\S]*PGPASSWORD/);
        expect(ran.err).not.toMatch(/bug in headcount|only-for-this-test/);
      }
    }
  });

  test("two services over one account base: money, keys and replies are one, and the password is in no output", async () => {
    const dataset = await generatedDataset(300);
    const store = ["--store", cluster.url];
    const serve = () =>
      asTyped`serve --port 0 --json --data ${folder()} --dataset ${dataset} ${store}`;
    const first = await serving(serve(), async (line) => {
      const one = JSON.parse(line) as { url: string; key: string };
      const second = await serving(serve(), async (other) => {
        const two = JSON.parse(other) as { url: string };
        // The key was made by the first, so this one makes none.
        expect(Object.keys(two)).toEqual(["url"]);
        const search = (url: string, perPage: number, order?: string) =>
          fetch(`${url}/v1/person/search`, {
            method: "POST",
            headers: {
              authorization: `Bearer ${one.key}`,
              "content-type": "application/json",
              ...(order === undefined ? {} : { "idempotency-key": order }),
            },
            body: JSON.stringify({ filters: {}, per_page: perPage }),
          });
        const bought = await search(one.url, 100, "order");
        const replayed = await search(two.url, 100, "order");
        expect([bought.status, replayed.headers.get("idempotent-replayed")]).toEqual([200, "true"]);
        expect(await replayed.text()).toBe(await bought.text());
        // 9,900 are left: 33 pages of 300 fit, whoever asks whom.
        const answers = await Promise.all(
          Array.from({ length: 45 }, (_, at) => search(at % 2 === 0 ? one.url : two.url, 300)),
        );
        expect(answers.filter(({ status }) => status === 200)).toHaveLength(33);
        expect(answers.filter(({ status }) => status === 402)).toHaveLength(12);
        const listed = await headcount(
          "service",
          "keys",
          "list",
          "--json",
          "--data",
          folder(),
          ...store,
        );
        const [key] = JSON.parse(listed.out) as { id: string }[];
        expect(
          (await headcount("service", "credits", "add", "5", "--data", folder(), ...store)).code,
        ).toBe(0);
        expect((await search(two.url, 5)).status).toBe(200);
        const revoked = await headcount(
          "service",
          "keys",
          "revoke",
          key?.id ?? "",
          "--data",
          folder(),
          ...store,
        );
        expect(revoked.code).toBe(0);
      });
      expect(second.code, second.err).toBe(0);
      expect(second.err + second.out).not.toContain("only-for-this-test");
    });
    expect(first.code, first.err).toBe(0);
    expect(first.err + first.out).not.toContain("only-for-this-test");
    const verified = await headcount("service", "verify", "--data", folder(), ...store);
    expect(verified.out).toMatch(/^ledger\tsound\ndataset\tnone\nhead\t/);
    expect(verified.code).toBe(0);
  });

  test("a database that hangs: calls get their 500 after the patience of 5 s, /healthz says so at once, and all is well afterwards", async () => {
    const argv = [
      "serve",
      "--port",
      "0",
      "--json",
      "--data",
      folder(),
      "--dataset",
      await generatedDataset(300),
    ];
    const { code, err } = await serving([...argv, "--store", cluster.url], async (line) => {
      const { url } = JSON.parse(line) as { url: string };
      const store = await openPostgresStore({ url: cluster.url, now: Date.now });
      const { key } = await createKey(store, {
        accountId: DEFAULT_ACCOUNT,
        name: "x",
        mode: "live",
        now: Date.now,
      });
      await store.grant(DEFAULT_ACCOUNT, "live", credits(100_000_000n), "for this test");
      const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
      const search = () =>
        fetch(`${url}/v1/person/search`, {
          method: "POST",
          headers,
          body: '{"filters":{},"per_page":2}',
        });
      expect((await search()).status).toBe(200);
      const before = await store.balance(DEFAULT_ACCOUNT, "live");
      cluster.hang();
      const start = performance.now();
      const answers = [search(), fetch(`${url}/v1/account`, { headers }), search()];
      const health = await fetch(`${url}/healthz`);
      expect([health.status, performance.now() - start < 4_000]).toEqual([503, true]);
      for (const answer of await Promise.all(answers)) expect(answer.status).toBe(500);
      expect(performance.now() - start).toBeLessThan(8_000);
      cluster.resume();
      // What was away a moment ago is given half a second; a busy machine takes longer to come back.
      await expect.poll(async () => (await search()).status, { timeout: 20_000 }).toBe(200);
      expect((await fetch(`${url}/healthz`)).status).toBe(200);
      expect((await store.balance(DEFAULT_ACCOUNT, "live")).balance).toBe(
        before.balance - 2_000_000n,
      );
      expect(await store.verify()).toEqual([]);
      await store.close();
    });
    expect(code, err).toBe(0);
  });

  test("a database without accounts gets none from commands that only look, and verify needs no right to write", async () => {
    const { default: pg } = await import("pg");
    const client = new pg.Client({ connectionString: cluster.url });
    await client.connect();
    await client.query("CREATE DATABASE empty");
    const empty = cluster.url.replace(/postgres$/, "empty");
    for (const argv of [["credits"], ["keys", "create"], ["verify"]]) {
      const { code, err } = await headcount(
        "service",
        ...argv,
        "--data",
        folder(),
        "--store",
        empty,
      );
      expect([code, err]).toEqual([
        2,
        expect.stringContaining("there are no accounts in the schema headcount"),
      ]);
      // Typed without the address it would begin others in the folder.
      expect(err).toContain(` --store '${empty.replace(/\/\/[^@]*@/, "//***@")}'`);
    }
    await client.query("CREATE ROLE reader LOGIN PASSWORD 'reads-only'");
    await client.query("GRANT USAGE ON SCHEMA headcount TO reader");
    await client.query("GRANT SELECT ON ALL TABLES IN SCHEMA headcount TO reader");
    await client.end();
    const reader = cluster.url.replace(/\/\/[^@]*@/, "//reader:reads-only@");
    const verified = await headcount("service", "verify", "--data", folder(), "--store", reader);
    expect(verified.out, verified.err).toMatch(/^ledger\tsound\ndataset\tnone\nhead\t/);
    expect(verified.code).toBe(0);
  });

  test("a server that is down: a clear error without the password, exit 8", async () => {
    const url = cluster.url.replace(/:\d+\/postgres/, ":1/postgres");
    for (const argv of [
      ["service", "credits", "show"],
      ["serve", "--port", "0", "--dataset", await generatedDataset(300)],
    ]) {
      const { code, err, out } = await headcount(...argv, "--data", folder(), "--store", url);
      expect([code, out], err).toEqual([8, ""]);
      expect(err).not.toContain("only-for-this-test");
    }
  });

  test("a fail-over to a standby that is behind: 503, the old head stays, and the next start is refused", async () => {
    const data = folder();
    const store = ["--store", cluster.url];
    const dataset = await generatedDataset(300);
    const line = ["serve", "--port", "0", "--json", "--data", data, "--dataset", dataset, ...store];
    const files = join(cluster.folder, "data");
    const key = await createKeyIn(cluster.url);
    const { code, err } = await serving(line, async (said) => {
      const { url } = JSON.parse(said) as { url: string };
      const sold = async () => (await searchAt(url, key)).status;
      await cluster.stop();
      execFileSync("cp", ["-a", files, `${files}-standby`]);
      await cluster.start();
      await expect.poll(sold, { timeout: 20_000 }).toBe(200);
      // A look that finds the sale.
      await new Promise((wake) => setTimeout(wake, 2_500));

      await cluster.stop();
      execFileSync("mv", [files, `${files}-lost`]);
      execFileSync("mv", [`${files}-standby`, files]);
      await cluster.start();
      await expect.poll(sold, { timeout: 20_000 }).toBe(503);
      const { detail } = (await (await searchAt(url, key)).json()) as { detail: string[] };
      expect(detail.join()).toContain("older than the one that it served before");
    });

    expect(code, err).toBe(0);
    expect(err).toMatch(/lacks entry \d+; calls are answered with 503/);
    const again = await headcount(...line);
    expect([again.code, again.err.includes("ledger_older")]).toEqual([2, true]);
  }, 120_000);
});

async function createKeyIn(url: string): Promise<string> {
  const store = await openPostgresStore({ url, now: Date.now });
  const account = { accountId: DEFAULT_ACCOUNT, name: "x", mode: "live", now: Date.now } as const;
  const { key } = await createKey(store, account);
  await store.grant(DEFAULT_ACCOUNT, "live", credits(100_000_000n), "for this test");
  await store.close();
  return key;
}

const searchAt = (url: string, key: string): Promise<Response> =>
  fetch(`${url}/v1/person/search`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ filters: {}, per_page: 1 }),
  });
