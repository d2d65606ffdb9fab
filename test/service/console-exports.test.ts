import { writeFileSync } from "node:fs";
import { describe, expect, onTestFinished, test } from "vitest";
import { inWords, refreshCommand, searchCommand } from "../../src/console/segment.ts";
import { type Engine, OutOfTimeError } from "../../src/dataset/engine.ts";
import { createKey } from "../../src/service/admin/keys.ts";
import { StoreUnavailableError } from "../../src/service/ledger/errors.ts";
import { parseCredits } from "../../src/shared/contract/money.ts";
import type { Filters } from "../../src/shared/contract/vocabulary.ts";
import { as, ConsoleClient, gated, type Session } from "../support/console.ts";
import { wrapped } from "../support/dataset.ts";
import { user } from "../support/export.ts";
import { shellWords } from "../support/hints.ts";
import { long } from "../support/long.ts";
import { startTestService, type TestService, type TestServiceOptions } from "../support/service.ts";

async function serve(
  options: TestServiceOptions = {},
): Promise<{ service: TestService; page: ConsoleClient }> {
  const service = await startTestService({ people: 2_000, console: {}, ...options });
  onTestFinished(() => service.close());
  return { service, page: new ConsoleClient(service, options.now ?? Date.now) };
}

const liveBalance = async ({ store }: TestService): Promise<number> =>
  Number((await store.balance("default", "live")).balance) / 1e6;

const buy = async (page: ConsoleClient, session: Session, profiles = 2_000) => {
  const { json, status } = await page.call(session, "POST", "/quote", { filters: {}, profiles });
  expect([status, json.allowed]).toEqual([200, true]);
  return (await page.call(session, "POST", "/exports", { quote_id: json.quote_id })).json;
};
/** One of two pages, which is stopped behind its first. */
const half = async (
  page: ConsoleClient,
  session: Session,
  gate: ReturnType<typeof gated>,
): Promise<string> => {
  gate.close();
  const { id } = await buy(page, session);
  await gate.arrival();
  await page.call(session, "POST", `/exports/${id}/stop`);
  gate.open();
  expect(await page.bought(session, id)).toMatchObject({
    state: "stopped",
    rows: 1_000,
    credits: 1_000,
  });
  return id;
};
const download = async (page: ConsoleClient, session: Session, id: string): Promise<string> =>
  (await page.call(session, "GET", `/exports/${id}/ndjson`)).text;

interface Ended {
  readonly page: ConsoleClient;
  readonly service: TestService;
  readonly session: Session;
}
const signOut = (page: ConsoleClient, session: Session) =>
  page.send("DELETE", "/console/api/session", { headers: as(session) });

describe("an export", () => {
  long(
    "is charged to the name that the session's link was made with, in ledger, usage and audit",
    async () => {
      const { page, service } = await serve();
      const session = await page.signIn({
        link: await page.link("owner", "default", "ada-growth"),
      });
      const { id } = await buy(page, session, 3);
      await expect
        .poll(async () => (await page.call(session, "GET", `/exports/${id}`)).json.state)
        .toBe("ready");
      const { json } = await page.call(session, "GET", "/entries");
      expect(json.entries[0]).toMatchObject({
        key: expect.stringMatching(/^console:ada-growth-[0-9a-f]{12}$/),
        amount: -3,
      });
      const used = await page.call(session, "GET", "/usage?by=key");
      expect(used.json.rows[0].key).toBe(json.entries[0].key);
      const sessions = await service.store.console.sessions();
      expect(sessions.map((one) => one.id)).toContain(json.entries[0].key.slice(8));
      expect((await service.store.audit({ limit: 5 })).map(({ actor }) => actor)).toContain(
        json.entries[0].key,
      );
    },
  );

  test("of a title with options, quotes and substitutions in it has it as it was typed", async () => {
    const { page } = await serve();
    const session = await page.enter();
    const exported = async (filters: Filters) => {
      const { json } = await page.call(session, "POST", "/quote", { filters, profiles: 1 });
      const { id } = (await page.call(session, "POST", "/exports", { quote_id: json.quote_id }))
        .json;
      return { id, item: await page.bought(session, id) };
    };
    const one = await exported({ department: ["Legal"] });
    const { title: real } = JSON.parse(await download(page, session, one.id));

    const odd = `@a --limit 5 "b" 'c' $(id) \`id\`\nd; e`;
    const filters = { title: [odd, real] };
    const { item } = await exported(filters);
    expect(item).toMatchObject({ state: "ready", rows: 1, filters });
    expect(inWords(item.filters)).toBe(`${odd}, ${real}`);

    const typed = [`--title=@${odd}`, `--title=${real}`];
    const [before, after] = ["headcount search", "--max-credits 5 -o people.csv"];
    expect(shellWords(searchCommand(item.filters, 5))).toEqual([
      ...before.split(" "),
      ...typed,
      ...after.split(" "),
    ]);
  });

  long("shows the command that buys, later, whoever is not in its file yet", async () => {
    const { page, service } = await serve();
    const session = await page.enter();
    const filters = { department: "Legal" };
    const { json } = await page.call(session, "POST", "/quote", { filters, profiles: 20 });
    const { id } = (await page.call(session, "POST", "/exports", { quote_id: json.quote_id })).json;
    await expect
      .poll(async () => (await page.call(session, "GET", `/exports/${id}`)).json.state)
      .toBe("ready");
    const me = user(service.url, service.key);
    writeFileSync(
      me.file(`people-${id}.csv`),
      (await page.call(session, "GET", `/exports/${id}/csv`)).text,
    );
    const before = await liveBalance(service);
    for (const line of refreshCommand(id, filters).split(" && "))
      expect(
        await me.run([...line.split(" ").slice(1), ...(line.includes("refresh") ? ["--yes"] : [])]),
      ).toMatchObject({ code: 0 });
    expect(before - (await liveBalance(service))).toBe(json.count - 20);
  });

  long(
    "is not bought twice by two tabs that looked before: the second is asked again, and told",
    async () => {
      const gate = gated();
      const { page, service } = await serve({ wrapEngine: gate.wrapEngine });
      const session = await page.enter();
      const quote = async () =>
        (await page.call(session, "POST", "/quote", { filters: {}, profiles: 2_000 })).json;
      const click = (of: { quote_id: string }) =>
        page.call(session, "POST", "/exports", { quote_id: of.quote_id });
      const [first, second] = [await quote(), await quote()];
      gate.close();
      const { json } = await click(first);
      await gate.arrival();
      const refused = await click(second);
      expect([refused.status, refused.json.code]).toEqual([409, "bought_since"]);
      expect((await quote()).bought).toMatchObject([
        { id: json.id, state: "buying", profiles: 2_000 },
      ]);
      gate.open();
      expect(await page.bought(session, json.id)).toMatchObject({ state: "ready", credits: 2_000 });
      expect((await click(second)).json.code).toBe("bought_since");
      expect(await liveBalance(service)).toBe(8_000);
      const again = await quote();
      expect(again.bought).toMatchObject([{ id: json.id, state: "ready", rows: 2_000 }]);
      // Somebody who was told may buy anew.
      expect((await click(again)).status).toBe(200);
    },
  );

  test("that was bought is what its quote says again, whatever changed since", async () => {
    const { page, service } = await serve();
    const session = await page.enter();
    const { quote_id } = (
      await page.call(session, "POST", "/quote", { filters: {}, profiles: 100 })
    ).json;
    const { id } = (await page.call(session, "POST", "/exports", { quote_id })).json;
    expect(await page.bought(session, id)).toMatchObject({ state: "ready" });
    await service.store.setPlan("default", { costs: { person_search: parseCredits(2) as never } });
    expect((await page.call(session, "POST", "/exports", { quote_id })).json).toMatchObject({
      id,
      credits: 100,
    });
    expect(await liveBalance(service)).toBe(9_900);
  });

  long(
    "has the credits that it still needs: another that they would not cover buys nothing",
    async () => {
      const gate = gated();
      const { page, service } = await serve({ people: 8_000, wrapEngine: gate.wrapEngine });
      const session = await page.enter();
      const quote = async (filters: object, profiles: number) =>
        (await page.call(session, "POST", "/quote", { filters, profiles })).json;
      await service.store.deduct("default", "live", parseCredits(8_800) as never, {
        note: "for the test",
      });
      const [first, second] = [await quote({ department: "Sales" }, 100), await quote({}, 1_200)];
      expect([first.allowed, second.allowed, first.credits, second.credits]).toEqual([
        true,
        true,
        100,
        1_200,
      ]);
      gate.close();
      const { id } = (await page.call(session, "POST", "/exports", { quote_id: first.quote_id }))
        .json;
      await gate.arrival();
      const refused = await page.call(session, "POST", "/exports", { quote_id: second.quote_id });
      expect([refused.status, refused.json.code]).toEqual([402, "too_expensive"]);
      expect((await quote({}, 1_101)).allowed).toBe(false);
      gate.open();
      expect(await page.bought(session, id)).toMatchObject({
        state: "ready",
        credits: first.credits,
      });
      expect(await liveBalance(service)).toBe(1_100);
      expect((await quote({}, 1_100)).allowed).toBe(true);
    },
  );

  test("goes on only where the balance covers its rest beside what others need: one of two at once, as with Buy", async () => {
    const gate = gated();
    const { page: here, service } = await serve({ wrapEngine: gate.wrapEngine, credits: 4_000 });
    const { page: there } = await serve({ ledger: service.ledger });
    const [mine, theirs] = [await here.enter(), await there.enter()];
    const halves = [await half(here, mine, gate), await half(here, mine, gate)];
    await service.store.deduct("default", "live", parseCredits(500) as never, {
      note: "a correction",
    });
    gate.close();
    const goOn = (id: string | undefined, body = {}) =>
      here.call(mine, "POST", `/exports/${id}/continue`, body);
    const both = await Promise.all([
      goOn(halves[0]),
      there.call(theirs, "POST", `/exports/${halves[1]}/continue`),
    ]);
    expect(both.map(({ json, status }) => `${status} ${json.code ?? json.state}`).sort()).toEqual([
      "200 buying",
      "402 too_expensive",
    ]);
    const [first, second] = both[0]?.status === 200 ? halves : halves.toReversed();
    await here.call(mine, "POST", `/exports/${first}/stop`);
    // Its own page in flight is no other's need.
    expect((await goOn(first)).status).toBe(200);
    gate.open();
    expect(await here.bought(mine, first ?? "")).toMatchObject({ state: "ready", credits: 2_000 });
    const refused = await goOn(second);
    expect([refused.status, refused.json.error]).toEqual([
      402,
      expect.stringContaining("does not cover this"),
    ]);
    expect(await here.bought(mine, second ?? "")).toMatchObject({
      state: "stopped",
      rows: 1_000,
      credits: 1_000,
    });
    expect(await liveBalance(service)).toBe(500);
    await service.store.grant("default", "live", parseCredits(500) as never, "a top-up");
    expect((await goOn(second)).status).toBe(200);
    expect(await here.bought(mine, second ?? "")).toMatchObject({ state: "ready", credits: 2_000 });
    expect(await liveBalance(service)).toBe(0);
    expect(await service.store.verify()).toEqual([]);
  });

  test("that is stopped with its page in flight needs that page alone: another may have the rest", async () => {
    const gate = gated();
    const { page, service } = await serve({ wrapEngine: gate.wrapEngine, credits: 2_000 });
    const session = await page.enter();
    gate.close();
    const { id } = await buy(page, session);
    await gate.arrival();
    await page.call(session, "POST", `/exports/${id}/stop`);
    const { id: other } = await buy(page, session, 1_000);
    gate.open();
    expect(await page.bought(session, other)).toMatchObject({ state: "ready", credits: 1_000 });
    expect(await page.bought(session, id)).toMatchObject({ state: "stopped", rows: 1_000 });
    expect(await liveBalance(service)).toBe(0);
  });

  test("notes a page that it bought again where the ledger was away for a moment, and pays it once", async () => {
    const { page, service } = await serve({ sleep: async () => undefined });
    const session = await page.enter();
    const kept = service.store.console as {
      advanceExport: typeof service.store.console.advanceExport;
    };
    const { advanceExport } = kept;
    const away = [1, 1, 2];
    kept.advanceExport = async (item) => {
      if (item.pages !== away[0]) return await advanceExport(item);
      away.shift();
      throw new StoreUnavailableError("the ledger is away");
    };
    const { id } = await buy(page, session);
    expect(await page.bought(session, id)).toMatchObject({
      state: "ready",
      rows: 2_000,
      credits: 2_000,
      why: "",
    });
    expect(away).toEqual([]);
    expect(await liveBalance(service)).toBe(8_000);
    expect(await service.store.verify()).toEqual([]);
  });

  test("that nobody was heard of for some seconds says so, and later that it stopped", async () => {
    const gate = gated();
    const { page: here, service } = await serve({ wrapEngine: gate.wrapEngine });
    let ahead = 0;
    const { page: there } = await serve({ ledger: service.ledger, now: () => Date.now() + ahead });
    const [mine, theirs] = [await here.enter(), await there.enter()];
    gate.close();
    const { id } = await buy(here, mine);
    await gate.arrival();
    const seen = async () => (await there.call(theirs, "GET", `/exports/${id}`)).json;
    expect(await seen()).toMatchObject({ state: "buying", why: "" });
    ahead = 5_000;
    expect(await seen()).toMatchObject({
      state: "buying",
      why: expect.stringMatching(/^no word of it for [5-9] s; after 15 s it can be continued$/),
    });
    ahead = 16_000;
    expect(await seen()).toMatchObject({
      state: "stopped",
      why: "the service ended while it was bought",
    });
    gate.open();
    await expect
      .poll(async () => (await here.call(mine, "GET", `/exports/${id}`)).json.state)
      .toBe("ready");
  });

  long("is stopped and continued from any process of the ledger, and paid once", async () => {
    const gate = gated();
    const { page: here, service } = await serve({ wrapEngine: gate.wrapEngine });
    const { page: there, service: other } = await serve({ ledger: service.ledger });
    const [mine, theirs] = [await here.enter(), await there.enter()];
    gate.close();
    const { id } = await buy(here, mine);
    await gate.arrival();
    await there.call(theirs, "POST", `/exports/${id}/stop`);
    gate.open();
    // The page in flight was paid for: it is theirs.
    const told = async () => (await here.call(mine, "GET", `/exports/${id}`)).json;
    await expect
      .poll(told, { timeout: 30_000 })
      .toMatchObject({ state: "stopped", rows: 1_000, credits: 1_000, credits_left: 1_000 });
    expect(await liveBalance(service)).toBe(9_000);
    await Promise.all([
      here.call(mine, "POST", `/exports/${id}/continue`),
      there.call(theirs, "POST", `/exports/${id}/continue`),
    ]);
    for (const done of [await here.bought(mine, id), await there.bought(theirs, id)]) {
      expect(done).toMatchObject({ state: "ready", rows: 2_000, credits: 2_000, credits_left: 0 });
    }
    expect(await liveBalance(other)).toBe(8_000);
    const files = [await download(here, mine, id), await download(there, theirs, id)];
    expect(files[0]).toBe(files[1]);
    expect(new Set(files[0]?.trim().split("\n")).size).toBe(2_000);
    expect(await service.store.verify()).toEqual([]);
  });

  test("that is stopped and continued within one page goes on", async () => {
    const gate = gated();
    const { page, service } = await serve({ wrapEngine: gate.wrapEngine });
    const session = await page.enter();
    gate.close();
    const { id } = await buy(page, session);
    await gate.arrival();
    await page.call(session, "POST", `/exports/${id}/stop`);
    await page.call(session, "POST", `/exports/${id}/continue`);
    gate.open();
    expect(await page.bought(session, id)).toMatchObject({ state: "ready", credits: 2_000 });
    expect(await liveBalance(service)).toBe(8_000);
  });

  test("does not go on at a higher price than was agreed to, and says what was really charged", async () => {
    const gate = gated();
    const { page, service } = await serve({ wrapEngine: gate.wrapEngine });
    const session = await page.enter();
    const price = (each: string) =>
      service.store.setPlan("default", { costs: { person_search: parseCredits(each) as never } });
    const id = await half(page, session, gate);
    await price("2");
    const refused = await page.call(session, "POST", `/exports/${id}/continue`);
    expect([refused.status, refused.json.code]).toEqual([409, "price_changed"]);
    expect(await liveBalance(service)).toBe(9_000);
    await price("0.5");
    await page.call(session, "POST", `/exports/${id}/continue`);
    expect(await page.bought(session, id)).toMatchObject({ state: "ready", credits: 1_500 });
    expect(await liveBalance(service)).toBe(8_500);
  });

  test("whose price rose goes on for what the rest costs now, once a click agrees to just that", async () => {
    const gate = gated();
    const { page, service } = await serve({ wrapEngine: gate.wrapEngine });
    const session = await page.enter();
    const price = (each: string) =>
      service.store.setPlan("default", { costs: { person_search: parseCredits(each) as never } });
    gate.close();
    const { id } = await buy(page, session);
    await gate.arrival();
    await price("2");
    gate.open();
    const stopped = await page.bought(session, id);
    expect(stopped).toMatchObject({ state: "stopped", credits: 1_000, price: 2, price_agreed: 1 });
    expect([stopped.credits_left, stopped.credits_anew]).toEqual([2_000, 4_000]);
    expect(stopped.why).toContain("Continue says what the rest costs now");
    const goOn = (credits?: unknown) =>
      page.call(session, "POST", `/exports/${id}/continue`, { credits });
    for (const less of [undefined, 0, 1_999.999999]) {
      const refused = await goOn(less);
      expect([refused.status, refused.json.code]).toEqual([409, "price_changed"]);
    }
    for (const none of ["all", -1, null]) expect((await goOn(none)).status).toBe(422);
    // Another price between the look and the click.
    await price("3");
    expect((await goOn(2_000)).status).toBe(409);
    expect(await liveBalance(service)).toBe(9_000);
    await price("2");
    expect((await goOn(2_000)).json).toMatchObject({ state: "buying", price_agreed: 2 });
    expect(await page.bought(session, id)).toMatchObject({
      state: "ready",
      credits: 3_000,
      credits_left: 0,
    });
    expect(await liveBalance(service)).toBe(7_000);
    expect(await service.store.verify()).toEqual([]);
  });

  long("that is continued at any moment of its stop goes on: no click is lost", async () => {
    const gate = gated();
    const { page, service } = await serve({ wrapEngine: gate.wrapEngine, credits: 50_000 });
    const session = await page.enter();
    for (let each = 0; each < 16; each++) {
      gate.close();
      const { id } = await buy(page, session, 1_100);
      await gate.arrival();
      await page.call(session, "POST", `/exports/${id}/stop`);
      gate.open();
      await new Promise((resolve) => setTimeout(resolve, each * 2));
      const { json } = await page.call(session, "POST", `/exports/${id}/continue`);
      expect([each, json.state]).toEqual([each, "buying"]);
      expect(await page.bought(session, id)).toMatchObject({
        state: "ready",
        why: "",
        credits: 1_100,
      });
    }
    expect(await liveBalance(service)).toBe(50_000 - 16 * 1_100);
  });

  test("is stopped by the process that is asked, whichever buys", async () => {
    let release: () => void = () => undefined;
    const asleep = new Promise<void>((resolve) => {
      release = resolve;
    });
    const isSlow = (engine: Engine): Engine =>
      wrapped(engine, {
        people: () => Promise.reject(new OutOfTimeError("no answer from the dataset")),
      });
    const { page: here, service } = await serve({ wrapEngine: isSlow, sleep: () => asleep });
    const gate = gated();
    const { page: there } = await serve({ ledger: service.ledger, wrapEngine: gate.wrapEngine });
    const [mine, theirs] = [await here.enter(), await there.enter()];
    const { id } = await buy(here, mine);
    const waits = async () => (await here.call(mine, "GET", `/exports/${id}`)).json.why;
    await expect.poll(waits).toBe("no answer from the dataset");
    await there.call(theirs, "POST", `/exports/${id}/stop`);
    gate.close();
    await there.call(theirs, "POST", `/exports/${id}/continue`);
    await gate.arrival();
    await here.call(mine, "POST", `/exports/${id}/stop`);
    gate.open();
    expect(await there.bought(theirs, id)).toMatchObject({
      state: "stopped",
      rows: 1_000,
      why: "you stopped it",
    });
    release();
    expect(await here.bought(mine, id)).toMatchObject({
      state: "stopped",
      rows: 1_000,
      credits: 1_000,
    });
    expect(await liveBalance(service)).toBe(9_000);
    await there.call(theirs, "POST", `/exports/${id}/continue`);
    expect(await there.bought(theirs, id)).toMatchObject({ state: "ready", credits: 2_000 });
    expect(await liveBalance(service)).toBe(8_000);
  });

  long(
    "that waits for a page which another process buys says so in words of the page",
    async () => {
      const gate = gated();
      const { page: here, service } = await serve({ wrapEngine: gate.wrapEngine });
      const { page: there } = await serve({ ledger: service.ledger });
      const [mine, theirs] = [await here.enter(), await there.enter()];
      gate.close();
      const { id } = await buy(here, mine, 1_000);
      await gate.arrival();
      expect((await here.call(mine, "POST", `/exports/${id}/stop`)).json).toMatchObject({
        state: "buying",
        why: "it ends with the page that is being bought",
      });
      await there.call(theirs, "POST", `/exports/${id}/continue`);
      const told = async () => (await there.call(theirs, "GET", `/exports/${id}`)).json;
      await expect
        .poll(told)
        .toMatchObject({ state: "buying", why: "this page is being bought by another process" });
      gate.open();
      expect(await there.bought(theirs, id)).toMatchObject({ state: "ready", credits: 1_000 });
      expect(await liveBalance(service)).toBe(9_000);
    },
  );

  test("is one of three that were clicked in the same instant; what others need is looked at in that instant too", async () => {
    const { page, service } = await serve();
    const { page: there } = await serve({ ledger: service.ledger });
    const [mine, theirs] = [await page.enter(), await there.enter()];
    const quote = async (from: ConsoleClient, of: Session, filters: object, profiles: number) =>
      (await from.call(of, "POST", "/quote", { filters, profiles })).json.quote_id;
    const clicks = async (filters: object, profiles: number) => {
      const quotes = await Promise.all(
        [...Array(3)].flatMap(() => [
          quote(page, mine, filters, profiles),
          quote(there, theirs, filters, profiles),
        ]),
      );
      const told = await Promise.all(
        quotes.map((quote_id, each) =>
          (each % 2 === 0 ? page : there).call(each % 2 === 0 ? mine : theirs, "POST", "/exports", {
            quote_id,
          }),
        ),
      );
      const bought = told.find(({ status }) => status === 200)?.json;
      await page.bought(mine, bought.id);
      return told.map(({ json, status }) => `${status} ${json.code ?? ""}`).sort();
    };
    expect(await clicks({}, 2_000)).toEqual(["200 ", ...Array(5).fill("409 bought_since")]);
    expect(await liveBalance(service)).toBe(8_000);
    await service.store.deduct("default", "live", parseCredits(7_000) as never, {
      note: "for the test",
    });
    const [sales, all] = [
      await quote(page, mine, { department: "Sales" }, 1),
      await quote(there, theirs, {}, 1_000),
    ];
    const both = await Promise.all([
      page.call(mine, "POST", "/exports", { quote_id: sales }),
      there.call(theirs, "POST", "/exports", { quote_id: all }),
    ]);
    expect(both.map(({ status }) => status).sort()).toEqual([200, 402]);
  });

  const ends: readonly (readonly [string, (is: Ended) => Promise<unknown>, RegExp])[] = [
    [
      "account is suspended",
      ({ service }) => service.store.suspendAccount("default", true),
      /account is suspended/,
    ],
    [
      "session is signed out",
      ({ page, session }) => signOut(page, session),
      /session that buys is over/,
    ],
    [
      "session is ended by another process",
      async ({ service }) => {
        const [only] = await service.store.console.sessions();
        await service.store.console.endSession(only?.id ?? "", "test");
      },
      /session that buys is over/,
    ],
  ];
  long.each(ends)("buys nothing more once its %s", async (_, end, why) => {
    const gate = gated();
    const { page, service } = await serve({ people: 5_000, wrapEngine: gate.wrapEngine });
    const session = await page.enter();
    gate.close();
    const { id } = await buy(page, session, 4_000);
    await gate.arrival();
    await end({ page, service, session });
    gate.open();
    const told = () => service.store.console.export("default", id);
    await expect
      .poll(told, { timeout: 30_000 })
      .toMatchObject({ state: "stopped", rows: 1_000, why: expect.stringMatching(why) });
    // The page in flight, and not one more.
    expect(await liveBalance(service)).toBe(9_000);
    await service.store.suspendAccount("default", false);
    const next = await page.enter();
    await page.call(next, "POST", `/exports/${id}/continue`);
    expect(await page.bought(next, id)).toMatchObject({ state: "ready", credits: 4_000 });
    expect(await liveBalance(service)).toBe(6_000);
    expect(await service.store.verify()).toEqual([]);
  });

  long("of a key ends with the session that asked for it, and with the key's cap", async () => {
    const gate = gated();
    const { page, service } = await serve({ people: 5_000, wrapEngine: gate.wrapEngine });
    const session = await page.signIn({ key: service.key });
    gate.close();
    const { id } = await buy(page, session, 3_000);
    await gate.arrival();
    await signOut(page, session);
    gate.open();
    const told = () => service.store.console.export("default", id);
    await expect
      .poll(told, { timeout: 30_000 })
      .toMatchObject({ state: "stopped", rows: 1_000, credits: parseCredits(1_000) });
    const cap = (credits: number) =>
      service.store.updateKey(service.keyId, { maxCredits: parseCredits(credits) as never });
    const next = await page.signIn({ key: service.key });
    const goOn = () => page.call(next, "POST", `/exports/${id}/continue`);
    await cap(2_999);
    const refused = await goOn();
    expect([refused.status, refused.json.error]).toEqual([
      402,
      expect.stringContaining("cap of this key"),
    ]);
    await cap(3_000);
    gate.close();
    expect((await goOn()).status).toBe(200);
    await gate.arrival();
    await cap(2_000);
    gate.open();
    // It was stopped before it went on, and may be read as that for a moment.
    await expect.poll(told, { timeout: 30_000 }).toMatchObject({ state: "stopped", rows: 2_000 });
    const stopped = await page.bought(next, id);
    expect(stopped.why).toContain("0 left of its cap of 2,000 credits");
  });

  long("of a key leaves less of the cap to the key that it was rotated to", async () => {
    const gate = gated();
    const { page, service } = await serve({ people: 5_000, wrapEngine: gate.wrapEngine });
    await service.store.updateKey(service.keyId, { maxCredits: parseCredits(3_000) as never });
    const session = await page.signIn({ key: service.key });
    gate.close();
    const { id } = await buy(page, session, 2_000);
    await gate.arrival();
    const heir = { name: "next", mode: "live", now: Date.now, rotatedFrom: service.keyId } as const;
    const rotated = await createKey(service.store, heir);
    const next = await page.signIn({ key: rotated.key });
    const { json } = await page.call(next, "POST", "/quote", { filters: {}, profiles: 1_001 });
    const refused = await page.call(next, "POST", "/exports", { quote_id: json.quote_id });
    expect([refused.status, refused.json.error]).toEqual([
      402,
      expect.stringContaining("cap of this key"),
    ]);
    gate.open();
    expect(await page.bought(session, id)).toMatchObject({ state: "ready", credits: 2_000 });
    expect(await buy(page, next, 1_000)).toMatchObject({ id: expect.any(String) });
  });

  test("of a key is seen, told of in quotes, loaded and continued by the key that replaced it, and by no other", async () => {
    const gate = gated();
    const { page, service } = await serve({ wrapEngine: gate.wrapEngine });
    await service.store.updateKey(service.keyId, { maxCredits: parseCredits(4_000) as never });
    const made = async (more: object = {}) =>
      (await createKey(service.store, { name: "next", mode: "live", now: Date.now, ...more })).key;
    const session = await page.signIn({ key: service.key });
    const id = await half(page, session, gate);
    const [heirKey, otherKey] = [
      await made({ rotatedFrom: service.keyId }),
      await made({ maxCredits: parseCredits(9) }),
    ];
    const [heir, other] = [
      await page.signIn({ key: heirKey }),
      await page.signIn({ key: otherKey }),
    ];
    const quote = async (of: Session) =>
      (await page.call(of, "POST", "/quote", { filters: {} })).json;
    const before = await quote(heir);
    expect([before.bought, (await quote(other)).bought]).toMatchObject([
      [{ id, state: "stopped", rows: 1_000 }],
      [],
    ]);
    await service.store.revokeKey(service.keyId);
    expect((await page.call(heir, "POST", `/exports/${id}/continue`)).status).toBe(200);
    expect(await page.bought(heir, id)).toMatchObject({
      state: "ready",
      rows: 2_000,
      credits: 2_000,
    });
    const file = async (key: string) =>
      await page.send("GET", `/exports/${id}.ndjson`, {
        headers: { authorization: `Bearer ${key}`, "sec-fetch-site": undefined },
      });
    const text = await download(page, heir, id);
    expect(text.trim().split("\n")).toHaveLength(2_000);
    expect((await file(heirKey)).text).toBe(text);
    for (const { status } of [
      await page.call(other, "GET", `/exports/${id}/ndjson`),
      await file(otherKey),
    ])
      expect(status).toBe(404);
    const listed = async (of: Session) => (await page.call(of, "GET", "/exports")).json.exports;
    expect([await listed(heir), await listed(other)]).toMatchObject([[{ id }], []]);
    expect(await service.store.verify()).toEqual([]);
  });

  test("is sold as a page of a search is: the reply that is kept is that of the search", async () => {
    const { page, service } = await serve();
    const session = await page.enter();
    const { id } = await buy(page, session);
    await page.bought(session, id);
    const kept = await service.store.console.storedReply(
      "default",
      "live",
      "person_search",
      `console-${id}-1`,
    );

    const searched = await service.call("/v1/person/search", {
      body: { filters: {}, page: 2, per_page: 1_000 },
    });
    const rowsOf = (text: string) => JSON.parse(text).result;
    expect(rowsOf(String(kept?.body))).toHaveLength(1_000);
    expect(rowsOf(String(kept?.body))).toEqual(rowsOf(searched.text));
    for (const name of ["x-dataset-version", "x-total-count", "x-page", "x-per-page"]) {
      expect([name, kept?.headers[name]]).toEqual([name, searched.headers.get(name)]);
    }
  });

  test("goes on by itself over midnight (UTC) where the calls of its day end just before", async () => {
    const clock = { now: Date.parse("2026-03-01T23:59:50Z") };
    const { page } = await serve({
      plan: { perMinute: 100, perDay: 2 },
      now: () => clock.now,
      monotonic: () => clock.now,
      sleep: async () => {
        clock.now += 1_000;
        await new Promise((resolve) => setTimeout(resolve, 2));
      },
    });
    const session = await page.enter();
    const { id } = await buy(page, session);
    expect(await page.bought(session, id)).toMatchObject({ state: "ready", credits: 2_000 });
  });

  test("waits for the calls of its plan, and stops with those of the day", async () => {
    const clock = { now: Date.parse("2026-03-01T12:00:00Z") };
    const waits: number[] = [];
    const { page, service } = await serve({
      plan: { perMinute: 2, perDay: 4 },
      now: () => clock.now,
      monotonic: () => clock.now,
      sleep: async (ms) => {
        waits.push(ms);
        clock.now += 1_000;
        await new Promise((resolve) => setTimeout(resolve, 2));
      },
    });
    const session = await page.enter();
    // The quote is the first call of the minute, the first page the second.
    const { id } = await buy(page, session);
    expect(await page.bought(session, id)).toMatchObject({ state: "ready", credits: 2_000 });
    expect(waits.length).toBeGreaterThan(0);
    clock.now += 60_000;
    const { id: late } = await buy(page, session);
    const stopped = await page.bought(session, late);
    expect(stopped).toMatchObject({ state: "stopped", rows: 0, credits: 0 });
    expect(stopped.why).toBe("the plan's 4 calls a day are used up until midnight (UTC)");
    expect(await liveBalance(service)).toBe(8_000);
  });

  test("stops where the balance ends, and goes on where it was once there is more", async () => {
    const gate = gated();
    const { page, service } = await serve({ wrapEngine: gate.wrapEngine, credits: 2_500 });
    const session = await page.enter();
    gate.close();
    const { id } = await buy(page, session);
    const { json: second } = await page.call(session, "POST", "/quote", {
      filters: {},
      profiles: 1_000,
    });
    await gate.arrival();
    await service.store.deduct("default", "live", parseCredits(1_000) as never, {
      note: "a correction",
    });
    gate.open();
    const stopped = await page.bought(session, id);
    expect(stopped).toMatchObject({ state: "stopped", rows: 1_000, credits: 1_000 });
    expect(stopped.why).toBe("this page may cost 1,000 credits and 500 are available: top up");
    const refused = await page.call(session, "POST", "/exports", { quote_id: second.quote_id });
    expect([refused.status, refused.json.code]).toEqual([402, "too_expensive"]);
    await service.store.grant("default", "live", parseCredits(600) as never, "a top-up");
    await page.call(session, "POST", `/exports/${id}/continue`);
    expect(await page.bought(session, id)).toMatchObject({ state: "ready", credits: 2_000 });
    expect(await liveBalance(service)).toBe(100);
    const { json } = await page.call(session, "GET", "/entries?limit=200");
    const charged = json.entries.filter(({ kind }: { kind: string }) => kind === "charge");
    expect(charged.map(({ amount }: { amount: number }) => amount)).toEqual([-1_000, -1_000]);
    expect(await service.store.verify()).toEqual([]);
  });

  test("is of one dataset: another one between quote and purchase, or between two pages, sells nothing", async () => {
    const dataset = { version: "" };
    const gate = gated();
    const wrapEngine = (engine: Engine): Engine =>
      wrapped(gate.wrapEngine(engine), {
        info: () => ({ ...engine.info(), version: engine.info().version + dataset.version }),
      });
    const { page, service } = await serve({ wrapEngine });
    const session = await page.enter();
    const { json: quote } = await page.call(session, "POST", "/quote", {
      filters: {},
      profiles: 5,
    });
    dataset.version = "-next";
    const refused = await page.call(session, "POST", "/exports", { quote_id: quote.quote_id });
    expect([refused.status, refused.json.code]).toEqual([409, "dataset_moved"]);
    expect(await liveBalance(service)).toBe(10_000);
    const id = await half(page, session, gate);
    dataset.version = "-third";
    await page.call(session, "POST", `/exports/${id}/continue`);
    const stopped = await page.bought(session, id);
    expect(stopped).toMatchObject({ state: "stopped", rows: 1_000, credits: 1_000 });
    expect(stopped.why).toContain("dataset was replaced");
    expect(await liveBalance(service)).toBe(9_000);
  });

  test("waits where the dataset is busy, says so, goes on by itself, and is paid once", async () => {
    const gate = gated();
    const waits: number[] = [];
    const { page, service } = await serve({
      wrapEngine: gate.wrapEngine,
      turns: { dataset: 1 },
      timeouts: { turn: 5 },
      sleep: async (ms) => {
        waits.push(ms);
        await new Promise((resolve) => setTimeout(resolve, 20));
      },
    });
    const session = await page.enter();
    const { json } = await page.call(session, "POST", "/quote", { filters: {}, profiles: 2_000 });
    gate.close();
    const other = service.call("/v1/person/search", { body: { filters: {}, per_page: 1 } });
    await gate.arrival();
    const { id } = (await page.call(session, "POST", "/exports", { quote_id: json.quote_id })).json;
    const now = async () => (await page.call(session, "GET", `/exports/${id}`)).json;
    await expect
      .poll(now)
      .toMatchObject({ state: "buying", rows: 0, why: expect.stringContaining("is busy") });
    gate.open();
    expect((await other).status).toBe(200);
    expect(await page.bought(session, id)).toMatchObject({
      state: "ready",
      rows: 2_000,
      credits: 2_000,
      why: "",
    });
    // As long as the service asks for.
    expect(new Set(waits)).toEqual(new Set([1_000]));
    expect(await liveBalance(service)).toBe(7_999);
    expect(await service.store.verify()).toEqual([]);
  });

  test("stops where the dataset stays busy, can be stopped while it waits, and goes on when it is asked to", async () => {
    const slow = { times: 10, asked: 0 };
    const wrapEngine = (engine: Engine): Engine =>
      wrapped(engine, {
        people: async (...given: Parameters<Engine["people"]>) => {
          slow.asked++;
          if (slow.times-- > 0) throw new OutOfTimeError("no answer from the dataset within 30 ms");
          return engine.people(...given);
        },
      });
    let onSleep: () => Promise<void> = async () => undefined;
    const { page, service } = await serve({ wrapEngine, sleep: () => onSleep() });
    const session = await page.enter();
    const { id } = await buy(page, session);
    const stopped = await page.bought(session, id);
    expect(stopped).toMatchObject({ state: "stopped", rows: 0, credits: 0 });
    expect(stopped.why).toBe("no answer from the dataset within 30 ms");
    expect(slow.asked).toBe(10);
    slow.times = 5;
    onSleep = async () => {
      onSleep = async () => undefined;
      await page.call(session, "POST", `/exports/${id}/stop`);
    };
    await page.call(session, "POST", `/exports/${id}/continue`);
    expect(await page.bought(session, id)).toMatchObject({
      state: "stopped",
      rows: 0,
      why: "you stopped it",
    });
    expect(slow.asked).toBe(11);
    await page.call(session, "POST", `/exports/${id}/continue`);
    expect(await page.bought(session, id)).toMatchObject({ state: "ready", credits: 2_000 });
    expect(await liveBalance(service)).toBe(8_000);
  });
});
