import { describe, expect, test } from "vitest";
import type { NewKey } from "../../src/service/ledger/ledger.ts";
import { testService } from "../support/serving.ts";
import { c, keyOf } from "../support/store.ts";

/** What a key is bound to, as its holder meets it. */
const service = testService({ credits: 1_000, now: () => time, monotonic: () => time });
let time = Date.UTC(2026, 4, 5, 12);
let made = 0;

async function keyWith(more: Partial<NewKey>): Promise<string> {
  const id = `k_bound${made++}`;
  const whose = { id, accountId: "default", createdAt: time };
  const { key } = await keyOf(service.store, { ...whose, ...more });
  return key;
}
const search = (key: string, perPage: number) =>
  service.call("/v1/person/search", { key, body: { filters: {}, per_page: perPage } });

describe("a cap", () => {
  test("is a 402 that says the cap, what is left, and what still fits; free calls go on", async () => {
    const key = await keyWith({ maxCredits: c(10) });
    expect((await search(key, 7)).json.credits_used).toBe(7);
    const refused = await search(key, 5);
    expect([refused.status, refused.json.credits_used, refused.json.result]).toEqual([
      402,
      0,
      null,
    ]);
    expect(refused.json.detail).toEqual([
      "this call may cost 5 credits and this key has 3 left of its cap of 10 credits: lower per_page to 3 or take a key with a higher cap",
    ]);
    expect(refused.headers.get("x-affordable-rows")).toBe("3");
    expect((await search(key, 3)).status).toBe(200);
    expect((await search(key, 1)).headers.has("x-affordable-rows")).toBe(false);
    expect((await search(key, 1)).json.detail).toEqual([
      "this call may cost 1 credit and this key has 0 left of its cap of 10 credits: take a key with a higher cap",
    ]);
    expect((await service.call("/v1/person/count", { key, body: { filters: {} } })).status).toBe(
      200,
    );
    expect((await search(service.key, 5)).status).toBe(200);
  });

  test("holds against many calls at once", async () => {
    const key = await keyWith({ maxCredits: c(20) });
    const answers = await Promise.all(Array.from({ length: 15 }, () => search(key, 3)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(6);
    expect(answers.filter(({ status }) => status === 402)).toHaveLength(9);
  });
});

test("a reply that another key paid for goes to no key whose cap would not pay for it", async () => {
  const same = {
    body: { filters: {}, per_page: 4 },
    headers: { "idempotency-key": "of-the-account" },
  };
  const buy = (key: string) => service.call("/v1/person/search", { ...same, key });
  const capped = await keyWith({ maxCredits: c(6) });
  expect((await buy(service.key)).status).toBe(200);
  expect((await search(capped, 3)).status).toBe(200);
  const refused = await buy(capped);
  expect([refused.status, refused.json.result]).toEqual([402, null]);
  expect(refused.json.detail[0]).toContain("3 left of its cap of 6 credits");
  // One that can still pay has it for nothing, as the account has; and whoever paid has it whatever is left.
  const rich = await keyWith({ maxCredits: c(4) });
  expect([(await buy(rich)).status, (await search(rich, 4)).status]).toEqual([200, 200]);
  const own = await keyWith({ maxCredits: c(2) });
  const again = {
    body: { filters: {}, per_page: 2 },
    headers: { "idempotency-key": "its-own" },
    key: own,
  };
  for (const _ of [1, 2])
    expect((await service.call("/v1/person/search", again)).json.credits_used).toBe(2);
});

test("an expired key is a 401 that says when", async () => {
  const key = await keyWith({ expiresAt: time + 1_000 });
  expect((await service.call("/v1/account", { key })).status).toBe(200);
  time += 1_000;
  const refused = await service.call("/v1/account", { key });
  expect([refused.status, refused.json.credits_remaining]).toEqual([401, 0]);
  expect(refused.json.detail[0]).toBe(
    "the API key expired at 2026-05-05T12:00:01.000Z; ask its operator for another",
  );
  expect(refused.headers.get("www-authenticate")).toBe("Bearer");
});

test("a scope is a 403 that names what the key may call; a key may always ask about itself", async () => {
  const key = await keyWith({ scopes: ["count", "search"] });
  expect((await search(key, 1)).status).toBe(200);
  expect((await service.call("/v1/account", { key })).status).toBe(200);
  const refused = await service.call("/v1/company/enrich?domain=acme.example", { key });
  expect([refused.status, refused.json.credits_used]).toEqual([403, 0]);
  expect(refused.json.detail).toEqual(["this key may not call enrich; its scopes: count, search"]);
});

test("a suspended account sells nothing, tells so, and loses nothing", async () => {
  const key = await keyWith({});
  const { balance } = await service.store.balance("default", "live");
  await service.store.suspendAccount("default", true);
  for (const refused of [await search(key, 1), await service.call("/v1/account", { key })]) {
    expect(refused.status).toBe(403);
    expect(refused.json.detail[0]).toContain("this account is suspended: its balance is kept");
  }
  await service.store.suspendAccount("default", false);
  expect((await service.store.balance("default", "live")).balance).toBe(balance);
  expect((await search(key, 1)).status).toBe(200);
});
