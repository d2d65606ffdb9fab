import { describe, expect, test } from "vitest";
import { openStore } from "../../src/service/admin/data-folder.ts";
import { foundedFolder, headcount } from "../support/serve-command.ts";
import { answer, c, held } from "../support/store.ts";

/** The commands of those who keep accounts, keys and books. */
async function said(data: string, ...argv: string[]) {
  const { code, err, out } = await headcount("service", ...argv, "--data", data);
  return { code, err, out };
}
// biome-ignore lint/suspicious/noExplicitAny: documents of every shape
async function told(data: string, ...argv: string[]): Promise<any> {
  const { code, err, out } = await said(data, ...argv, "--json");
  expect(code, err).toBe(0);
  return JSON.parse(out);
}

async function buy(
  data: string,
  keyId: string,
  rows: number,
  call: "person_search" | "company_enrich" = "person_search",
) {
  const store = await openStore(data);
  const request = { accountId: "default", keyId, call, requestId: `r-${rows}` };
  const holdId = await held(store, c(rows + 1), request);
  await store.settle({ holdId, amount: c(rows), reply: answer(), sold: { price: c(1), rows } });
  await store.close();
}

/** A folder with two keys. */
async function withKeys(): Promise<string> {
  const data = await foundedFolder();
  const store = await openStore(data);
  for (const id of ["k_a", "k_b"])
    await store.createKey({
      ...{ id, name: id, mode: "live", prefix: id, hash: (id.at(-1) ?? "").repeat(64) },
      ...{ accountId: "default", createdAt: Date.now() },
    });
  await store.close();
  return data;
}

describe("keys with bounds", () => {
  test("are made, shown, changed and rotated; a rotated one shares the cap and the old one ends", async () => {
    const data = await foundedFolder();
    const bounds = ["--max-credits", "500", "--expires", "7d", "--scope", "count, search"];
    const { id } = await told(data, "keys", "create", "--name", "agent", ...bounds);
    const [key] = await told(data, "keys");
    expect(key).toMatchObject({
      ...{
        id,
        name: "agent",
        state: "active",
        scopes: ["account", "count", "search"],
        spent: 0,
        max_credits: 500,
        left: 500,
      },
      ...{ last_used_at: null, rotated_from: null },
    });
    expect(Date.parse(key.expires_at) - Date.parse(key.created_at)).toBeCloseTo(7 * 86_400_000, -4);
    await buy(data, id, 3);
    const next = await told(data, "keys", "rotate", id, "12h");
    expect(next).toMatchObject({ rotated_from: id, key: expect.stringMatching(/^hc_live_/) });
    const [old, made] = (await told(data, "keys")) as { id: string }[];
    expect(old).toMatchObject({ id, expires_at: next.old_expires_at, left: 497, spent: 3 });
    expect(made).toMatchObject({
      id: next.id,
      name: "agent",
      left: 497,
      spent: 0,
      rotated_from: id,
      scopes: key.scopes,
      expires_at: key.expires_at,
    });
    const [changed] = await told(
      data,
      "keys",
      "set",
      next.id,
      "--max-credits",
      "none",
      "--scope",
      "all",
      "--expires",
      "never",
      "--name",
      "bot",
    );
    expect(changed).toMatchObject({
      name: "bot",
      max_credits: null,
      scopes: ["all"],
      expires_at: null,
    });
    // What is printed is a key that works, and the one before is not ended before somebody has it.
    const text = await said(data, "keys", "rotate", next.id, "0");
    expect(text.out).toMatch(/^hc_live_\w+\n$/);
    expect(text.err).toContain(`follows ${next.id}, which works until`);
    expect((await told(data, "keys"))[1]).toMatchObject({ id: next.id, state: "expired" });
    const again = await said(data, "keys", "rotate", next.id);
    expect([again.code, again.out]).toEqual([2, ""]);
    expect(again.err).toContain("has expired: there is nothing to rotate");
  });

  test.each([
    [["create", "--max-credits", "many"], "--max-credits takes credits of 0 or more"],
    [["create", "--max-credits=-1"], "--max-credits takes"],
    [["create", "--max-credits", "1.500"], "hint: write it as 1.5 or 1500\n"],
    [["create", "--expires", "soon"], "--expires takes 2m (minutes), 12h"],
    [["create", "--expires", "2027-02-30"], 'or never, not "2027-02-30"\n'],
    [["create", "--expires", "all"], "--expires takes 2m"],
    [["create", "--expires", "2020-01-01"], "lies in the past"],
    [["create", "--scope", "count,serch"], "did you mean search?"],
    [["create", "--scope", ""], "--scope takes account"],
    [["set", "k_x"], "nothing to set"],
    [["rotate", "k_x", "1y"], "an overlap is"],
  ])("%j is refused, and nothing is made", async (argv, says) => {
    const data = await foundedFolder();
    const { code, err, out } = await said(data, "keys", ...argv);
    expect([code, out]).toEqual([2, ""]);
    expect(err).toContain(says);
    expect(await told(data, "keys")).toEqual([]);
  });

  test("a cap below what is spent is refused with the least that it may be; an unknown key is exit 6", async () => {
    const data = await foundedFolder();
    const { id } = await told(data, "keys", "create");
    await buy(data, id, 8);
    const low = await said(data, "keys", "set", id, "--max-credits", "7");
    expect([low.code, low.out]).toEqual([2, ""]);
    expect(low.err).toContain("its cap cannot be below 8");
    for (const argv of [
      ["set", "k_none", "--max-credits", "1"],
      ["rotate", "k_none"],
    ])
      expect((await said(data, "keys", ...argv)).code).toBe(6);
  });
});

describe("accounts", () => {
  test("are made, listed, suspended and resumed; each has its own money and keys", async () => {
    const data = await foundedFolder();
    const made = await said(data, "accounts", "create", "acme", "--name", "Acme Ltd");
    await said(data, "credits", "add", "50.5", "--account", "acme");
    expect([made.code, made.out]).toEqual([0, ""]);
    expect(made.err).toContain(
      `headcount service keys create --account acme --data ${data} makes a key`,
    );
    await told(data, "keys", "create", "--account", "acme");
    expect(await told(data, "credits", "--account", "acme")).toMatchObject({ balance: 50.5 });
    expect(await told(data, "accounts", "suspend", "acme")).toEqual({
      id: "acme",
      state: "suspended",
    });
    expect(await told(data, "accounts")).toMatchObject([
      { id: "default", state: "active", balance: 10_000, keys: 0 },
      {
        id: "acme",
        name: "Acme Ltd",
        state: "suspended",
        balance: 50.5,
        test_balance: 10_000,
        keys: 1,
      },
    ]);
    expect((await said(data, "accounts", "suspend", "acme")).err).toBe(
      "Account acme was suspended before.\n",
    );
    expect((await said(data, "accounts", "resume", "acme")).err).toBe(
      "Account acme is active now.\n",
    );
    expect((await said(data, "accounts")).out.split("\n")[2]).toMatch(
      /^acme,Acme Ltd,active,standard,50.5,0,10000,1,/,
    );
  });

  test.each([
    [["create", "Acme"], 2, "lower-case"],
    [["create", "a b"], 2, 'not "a b"'],
    [["create", "default"], 2, "exists already"],
    [["suspend", "nobody"], 6, 'no account "nobody"'],
  ])("%j is refused", async (argv, exit, says) => {
    const data = await foundedFolder();
    const { code, err, out } = await said(data, "accounts", ...argv);
    expect([code, out]).toEqual([exit, ""]);
    expect(err).toContain(says);
    expect(await told(data, "accounts")).toHaveLength(1);
  });
});

describe("credits", () => {
  test("are added and removed once for each reference", async () => {
    const data = await foundedFolder();
    const invoice = ["--reference", "invoice-7", "--note", "paid"];
    expect(await told(data, "credits", "add", "5", ...invoice)).toMatchObject({
      balance: 10_005,
      repeated: false,
    });
    expect(await told(data, "credits", "add", "5", ...invoice)).toMatchObject({
      balance: 10_005,
      repeated: true,
    });
    const other = await said(data, "credits", "add", "6", ...invoice);
    expect([other.code, other.out]).toEqual([2, ""]);
    expect(other.err).toContain("used before, for a grant of 5 credits: nothing was done");
    expect(await told(data, "credits", "remove", "0.5")).toMatchObject({ balance: 10_004.5 });
    const much = await said(data, "credits", "remove", "10005");
    expect([much.code, much.out]).toEqual([2, ""]);
    expect(much.err).toContain("10004.5 are free");
    for (const argv of [
      ["add", "1", "--reference", ""],
      ["add", "1", "--note", "a\nb"],
      ["add", "1", "--reference", "x".repeat(201)],
    ])
      expect((await said(data, "credits", ...argv)).code).toBe(2);
  });

  test("of a charge come back, in parts, and never twice", async () => {
    const data = await foundedFolder();
    const { id } = await told(data, "keys", "create", "--max-credits", "10");
    await buy(data, id, 9);
    const [charge] = await told(data, "entries", "--kind", "charge");
    expect(
      await told(data, "credits", "refund", String(charge.id), "4", "--note", "stale"),
    ).toMatchObject({
      balance: 9_995,
    });
    expect((await told(data, "keys"))[0]).toMatchObject({ spent: 5, left: 5 });
    expect(await told(data, "credits", "refund", String(charge.id))).toMatchObject({
      balance: 10_000,
    });
    const third = await said(data, "credits", "refund", String(charge.id));
    expect([third.code, third.out]).toEqual([2, ""]);
    expect(third.err).toContain("all of this charge (9 credits) was refunded before");
    const wrong = await said(data, "credits", "refund", "1");
    expect(wrong.code).toBe(6);
    expect(wrong.err).toContain(`headcount service entries --kind charge --data ${data}`);
    expect((await said(data, "credits", "refund", "x")).code).toBe(2);
  });
});

describe("the books", () => {
  test("of some minutes: --since and --until, which a span, a date or a time says", async () => {
    const data = await foundedFolder();
    await buy(data, "k_a", 2);
    const count = async (name: string, ...argv: string[]) =>
      (await told(data, name, ...argv)).length as number;
    expect(await count("entries", "--since", "2m")).toBe(2);
    expect(await count("entries", "--since", "2m", "--until", "1m")).toBe(0);
    expect(await count("entries", "--until", "2026-01-31T10:03Z")).toBe(0);
    expect(await count("audit", "--since", "5m")).toBeGreaterThan(0);
    expect(await count("audit", "--until", "1h")).toBe(0);
    const wrong = await said(data, "entries", "--until", "yesterday");
    expect([wrong.code, wrong.err]).toEqual([
      2,
      expect.stringContaining("--until takes 2m (minutes)"),
    ]);
  });

  test("entries: newest first, filtered, a page at a time, CSV in a pipe", async () => {
    const data = await withKeys();
    for (let rows = 1; rows <= 4; rows++) await buy(data, rows % 2 === 0 ? "k_a" : "k_b", rows);
    const all = await told(data, "entries");
    expect(all.map(({ credits }: { credits: number }) => credits)).toEqual([
      -4, -3, -2, -1, 10_000,
    ]);
    expect(all[0]).toMatchObject({
      kind: "charge",
      actor: "k_a",
      key: "k_a",
      call: "person_search",
      rows: 4,
      price: 1,
      request_id: "r-4",
      balance_after: 9_990,
    });
    expect(await told(data, "entries", "--key", "k_b", "--limit", "1")).toMatchObject([
      { rows: 3 },
    ]);
    const csv = (await said(data, "entries", "--kind", "charge")).out.trim().split("\n");
    expect(csv).toHaveLength(5);
    expect(csv[0]).toMatch(/^id,at,kind,credits,balance_after,actor,call,rows,price,key,/);
    expect(csv[1]).toMatch(/,charge,-4,9990,k_a,person_search,4,1,k_a,r-4,/);
    expect((await said(data, "entries", "--kind", "gift")).code).toBe(2);
    for (const list of ["entries", "usage"]) {
      const typo = await said(data, list, "--key", "k_typo");
      expect([typo.code, typo.out]).toEqual([6, ""]);
      expect(typo.err).toContain("has no key k_typo");
    }
    expect((await said(data, "entries", "--since", "yesterday")).code).toBe(2);
  });

  test("a ledger of several pages is listed once, whole, in a pipe", async () => {
    const data = await foundedFolder();
    const store = await openStore(data);
    await Promise.all(
      Array.from({ length: 1_100 }, (_, n) => store.grant("default", "live", c(1), `n ${n}`)),
    );
    await store.close();
    const lines = (await said(data, "entries")).out.trim().split("\n");
    expect(lines.filter((line) => line.startsWith("id,"))).toHaveLength(1);
    expect(new Set(lines.map((line) => line.split(",")[0])).size).toBe(1_102);
    expect((await said(data, "audit")).out.trim().split("\n")).toHaveLength(1_104);
  });

  test("usage adds up to the charges, by day, key and call", async () => {
    const data = await withKeys();
    await buy(data, "k_a", 2);
    await buy(data, "k_b", 3);
    await buy(data, "k_b", 1, "company_enrich");
    const day = new Date().toISOString().slice(0, 10);
    expect(await told(data, "usage")).toEqual([
      { day, calls: 3, rows: 6, charged: 6, refunded: 0 },
    ]);
    expect(await told(data, "usage", "--by", "key,call")).toMatchObject([
      { key: "k_a", name: "k_a", call: "person_search", charged: 2 },
      { key: "k_b", call: "company_enrich", charged: 1 },
      { key: "k_b", call: "person_search", charged: 3 },
    ]);
    expect((await said(data, "usage", "--by", "key", "--key", "k_a")).out).toBe(
      "key,name,calls,rows,charged,refunded\nk_a,k_a,1,2,2,0\n",
    );
    expect((await said(data, "usage", "--by", "week")).err).toContain("--by takes day, key, call");
  });

  test("audit: who, when and what, and no key", async () => {
    const data = await foundedFolder();
    const { id, key } = await told(data, "keys", "create", "--name", "nightly");
    await said(data, "plan", "set", "per-minute=60");
    await said(data, "accounts", "create", "acme");
    const rows = await told(data, "audit", "--account", "default");
    expect(rows.slice(0, 2)).toMatchObject([
      {
        action: "plan.set",
        account: "default",
        detail: { perMinute: 60 },
        actor: expect.stringMatching(/^cli:/),
      },
      { action: "keys.create", target: id, detail: { name: "nightly", mode: "live" } },
    ]);
    const { out } = await said(data, "audit");
    expect(out).toContain(",accounts.create,acme,acme,");
    expect(out).not.toContain(key.slice(12));
    expect(await told(data, "audit", "--limit", "1")).toHaveLength(1);
    expect((await said(data, "verify")).out).toMatch(/^ledger\tsound\ndataset\tnone\nhead\t/);
  });
});
