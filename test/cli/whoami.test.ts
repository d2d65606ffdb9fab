import { describe, expect, onTestFinished, test } from "vitest";
import { main } from "../../src/cli/main.ts";
import { createKey, type KeyInit } from "../../src/service/admin/keys.ts";
import { asTyped } from "../support/as-typed.ts";
import { tempDir, testContext } from "../support/client.ts";
import { faultProxy } from "../support/fault-proxy.ts";
import { startForeignService } from "../support/foreign-service.ts";
import { testService } from "../support/serving.ts";
import { c } from "../support/store.ts";

const service = testService({ people: 300, credits: 500 });

const END = Date.UTC(2099, 0, 31);
const keyWith = (more: Partial<KeyInit> = {}) =>
  createKey(service.store, { name: "agent", mode: "live", now: Date.now, ...more });

async function run(key: string, argv: readonly string[], url = service.url) {
  const cwd = tempDir();
  const env = { HEADCOUNT_BASE_URL: url, HEADCOUNT_API_KEY: key };
  const { context, stderr, stdout } = testContext({ argv: [...argv], env, cwd });
  const code = await main([...argv], context);
  return { code, out: stdout(), err: stderr() };
}

describe("whoami", () => {
  test("tells the key, where it comes from, what it may call, until when, and what is left", async () => {
    const { id, key } = await keyWith({
      maxCredits: c(40),
      expiresAt: END,
      scopes: ["account", "count"],
    });
    const { code, err, out } = await run(key, ["whoami", "--json"]);
    expect([code, err]).toEqual([0, ""]);
    expect(JSON.parse(out)).toMatchObject({
      ...{ connection: "environment", base_url: service.url, told: true },
      key: {
        id,
        name: "agent",
        mode: "live",
        source: "environment",
        scopes: ["account", "count"],
        expires_at: "2099-01-31T00:00:00.000Z",
      },
      account: { id: "default", name: "default" },
      cap: { max_credits: 40, spent: 0, held: 0, left: 40 },
      credits: { balance: 500, held: 0 },
    });
    expect(out).not.toContain(key);
    const piped = await run(key, ["whoami"]);
    expect(piped.out).toContain("cap.left\t40\n");
  });

  test("a key without bounds has none, and a service that does not tell is said to be one", async () => {
    const { key } = await keyWith();
    const plain = JSON.parse((await run(key, ["whoami", "--json"])).out);
    expect(plain).toMatchObject({
      told: true,
      key: { scopes: null, expires_at: null },
      cap: { max_credits: null, left: null },
    });
    const foreign = await startForeignService();
    try {
      const { code, out } = await run(foreign.key, ["whoami", "--json"], foreign.url);
      expect(code).toBe(0);
      expect(JSON.parse(out)).toMatchObject({
        told: false,
        key: { id: null, scopes: null },
        cap: { left: null },
      });
    } finally {
      await foreign.close();
    }
  });
});

describe("a bounded key in a purchase", () => {
  test("a quote beyond what is left of its cap says so, and nothing of it is bought", async () => {
    const { id, key } = await keyWith({ maxCredits: c(30) });
    const search = ["search", "--all", "--limit", "100"];
    const { out } = await run(key, [...search, "--dry-run"]);
    expect(out).toMatch(/cap of the key +30 credits left\n/);
    expect(JSON.parse((await run(key, [...search, "--dry-run", "--json"])).out)).toMatchObject({
      cap_left: 30,
    });
    const bought = await run(key, [...search, "--yes", "-o", "people.csv"]);
    expect(bought.err).toContain(
      "100 profiles cost up to 100 credits, the cap of the key leaves 30; nothing was spent",
    );
    expect(bought.err).toContain(
      "hint: --limit 30 would fit; headcount account shows the balance and the cap",
    );
    expect([bought.code, (await service.store.key(id))?.budget?.spent]).toEqual([4, c(0)]);
  });

  test("ends at a cap that is not told to the row: exit 4, in the service's words, and what was bought is kept", async () => {
    const { id, key } = await keyWith({ maxCredits: c(30) });
    const untold = await faultProxy({
      target: service.url,
      decide: ({ url }) => (url === "/key" ? { kind: "error", status: 404 } : { kind: "none" }),
    });
    onTestFinished(() => untold.close());
    const buy = asTyped`search --all --limit 100 --per-page 25 --yes -o people.csv`;
    const { code, err } = await run(key, buy, untold.url);
    expect(code).toBe(4);
    expect(err).toMatch(
      /refused \(402\): this call may cost 25 credits and this key has 5 left of its cap of 30 credits/,
    );
    expect(err).toMatch(
      /error: not enough credits \(402\): this call may cost .* this key has 0 left of its cap/,
    );
    expect(err).toContain("30 rows are bought and kept");
    expect((await service.store.key(id))?.budget).toEqual({ cap: c(30), spent: c(30), held: c(0) });
  });

  test.each([
    [
      "its scope",
      { scopes: ["account" as const, "count" as const] },
      ["enrich", "acme.example", "--yes"],
      3,
      /\(403\): this key may not call enrich; its scopes: account, count; nothing was charged[\s\S]*hint: the service knows the key, which may not do this/,
    ],
    [
      "its end",
      { expiresAt: 1 },
      ["count", "--department", "Sales"],
      3,
      /\(401\): the API key expired at 1970-01-01T00:00:00.001Z/,
    ],
    [
      "a cap of nothing",
      { maxCredits: c(0) },
      ["enrich", "acme.example", "--yes"],
      4,
      /1 company costs up to 1 credit, the cap of the key leaves 0; nothing was spent/,
    ],
  ])("is refused for %s with the right exit code", async (_what, more, argv, exit, says) => {
    const { key } = await keyWith(more);
    const { code, err } = await run(key, argv);
    expect([code, err]).toEqual([exit, expect.stringMatching(says)]);
  });
});
