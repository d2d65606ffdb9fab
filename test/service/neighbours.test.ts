import { describe, expect, onTestFinished, test } from "vitest";
import type { Engine } from "../../src/dataset/engine.ts";
import { createKey } from "../../src/service/admin/keys.ts";
import { TURNS, Turns } from "../../src/service/http/turns.ts";
import { DeadlineError, VanishedError } from "../../src/service/problem.ts";
import { wrapped } from "../support/dataset.ts";
import { long } from "../support/long.ts";
import { watchResponses } from "../support/openapi.ts";
import {
  onResponse,
  startTestService,
  type TestService,
  type TestServiceOptions,
} from "../support/service.ts";

watchResponses(onResponse);

const start = async (options: TestServiceOptions = {}): Promise<TestService> => {
  const service = await startTestService({ people: 200, ...options });
  onTestFinished(() => service.close());
  return service;
};
/** Work that ends when it is told to. */
function gates() {
  const open: (() => void)[] = [];
  const begun: string[] = [];
  return {
    begun,
    work: (name: string) => () => {
      begun.push(name);
      return new Promise<string>((resolve) => open.push(() => resolve(name)));
    },
    /** Ends what was begun first of what is at work. */
    next: async () => {
      await settled();
      open.shift()?.();
      await settled();
    },
  };
}

/** All that waits for promises alone has gone on. */
const settled = () => new Promise(setImmediate);

const TIMES = { turn: 60_000, work: 60_000 };
const values = (count: number, from = 0) =>
  Array.from({ length: count }, (_, n) => `value ${from + n}`);

describe("turns", () => {
  test("go round over the keys, however much one of them asks for", async () => {
    const { begun, next, work } = gates();
    const turns = new Turns({ dataset: 1 }, TIMES);
    const all = ["a1", "a2", "a3", "a4", "b1", "b2", "c1"].map((name) =>
      turns.run("free", name.slice(0, 1), work(name)),
    );
    for (let n = 0; n < 7; n += 1) await next();
    expect(await Promise.all(all)).toHaveLength(7);
    expect(begun).toEqual(["a1", "a2", "b1", "c1", "a3", "b2", "a4"]);
  });

  test("are bounded for a key, for free calls of all keys, and for all", async () => {
    const { begun, next, work } = gates();
    const turns = new Turns(
      { dataset: 4, all: { paid: 4, free: 2, large: 1 }, ofKey: { free: 1, paid: 3, large: 1 } },
      TIMES,
    );
    const asked = (
      ["free a1", "free a2", "free b1", "free c1", "paid a1", "paid a2", "paid b1"] as const
    ).map((name) => {
      const [kind, who = ""] = name.split(" ") as ["free" | "paid", string];
      return turns.run(kind, who.slice(0, 1), work(name));
    });
    await settled();
    expect(begun).toEqual(["free a1", "free b1", "paid a1", "paid a2"]);
    for (let n = 0; n < 3; n += 1) await next();
    expect(begun.slice(4)).toEqual(["free a2", "free c1", "paid b1"]);
    for (let n = 0; n < 4; n += 1) await next();
    expect((await Promise.all(asked)).length).toBe(begun.length);
  });

  test("that do not come in time are refused, and so is what would wait behind a thousand", async () => {
    const { next, work } = gates();
    const turns = new Turns({ dataset: 1, waiting: 1 }, { turn: 20, work: 60_000 });
    const first = turns.run("free", "a", work("first"));
    const second = turns.run("free", "a", work("second"));
    const third = turns.run("free", "a", work("third"));
    await expect(third).rejects.toMatchObject({ status: 503, headers: { "retry-after": "1" } });
    await expect(second).rejects.toMatchObject({
      status: 503,
      detail: [expect.stringContaining("nothing was charged")],
    });
    await next();
    expect(await first).toBe("first");
    const later = turns.run("free", "a", work("later"));
    await next();
    expect(await later).toBe("later");
  });

  test("last until the work has ended, also where nobody waits for it any more", async () => {
    const { begun, next, work } = gates();
    const turns = new Turns({ dataset: 1 }, { turn: 60_000, work: 20 });
    await expect(turns.run("free", "a", work("slow"))).rejects.toThrow(DeadlineError);
    const after = turns.run("free", "b", work("after"));
    await settled();
    expect(begun).toEqual(["slow"]);
    await next();
    expect(begun).toEqual(["slow", "after"]);
    await next();
    expect(await after).toBe("after");
  });

  test("of large bodies leave the event loop to others who are there, and to nobody where nobody is", async () => {
    let now = 0;
    const turns = new Turns({}, TIMES, () => now);
    const large = async (who: string): Promise<number> => {
      const end = await turns.take("large", who);
      now += 5;
      end();
      const asked = performance.now();
      // The next of the same key, which may only begin after the first has ended.
      (await turns.take("large", who))();
      return performance.now() - asked;
    };
    expect(await large("a")).toBeLessThan(5);
    (await turns.take("paid", "b"))();
    // Twice the five milliseconds; a timer may come a little early.
    expect(await large("a")).toBeGreaterThan(9);
    now += 1_001;
    expect(await large("a")).toBeLessThan(5);
  });

  test("are passed on by who is gone, and by work that cannot even begin", async () => {
    const { next, work } = gates();
    const turns = new Turns({ dataset: 1 }, TIMES);
    await expect(turns.run("free", "a", work("nobody"), () => true)).rejects.toThrow(VanishedError);
    const broken = () => {
      throw new Error("no dataset");
    };
    await expect(turns.run("free", "a", broken)).rejects.toThrow("no dataset");
    const after = turns.run("free", "a", work("after"));
    await next();
    expect(await after).toBe("after");
  });
});

/** An engine whose counts of lists wait until they are let go. */
function gated() {
  const { begun, next, work } = gates();
  const wrapEngine = (engine: Engine): Engine =>
    wrapped(engine, {
      count: (filters) =>
        filters.exact.title === undefined
          ? engine.count(filters)
          : work(String(filters.exact.title))().then(() => engine.count(filters)),
    });
  return { begun, next, wrapEngine };
}

describe("neighbours", () => {
  long(
    "a key that asks for heavy counts at once hinders neither the searches nor the counts of others",
    async () => {
      const { begun, next, wrapEngine } = gated();
      const service = await start({ wrapEngine });
      const other = await createKey(service.store, {
        name: "other",
        mode: "live",
        accountId: "default",
        now: Date.now,
      });
      const count = (title: string, key = service.key) =>
        service.call("/v1/person/count", { body: { filters: { title } }, key });
      const heavy = values(8).map((title) => count(title));
      const search = await service.call("/v1/person/search", {
        body: { filters: {}, per_page: 1 },
        key: other.key,
      });
      expect(search.status).toBe(200);
      expect(
        (await service.call("/v1/person/count", { body: { filters: {} }, key: other.key })).status,
      ).toBe(200);
      const lone = count("of the other", other.key);
      while (begun.length < 3) await settled();
      expect(begun.toSorted()).toEqual(["of the other", "value 0", "value 1"]);
      const ended = Promise.all([...heavy, lone]);
      let done = false;
      void ended.then(() => (done = true));
      while (!done) {
        await next();
        await settled();
      }
      expect((await ended).map(({ status }) => status)).toEqual(
        Array.from({ length: 9 }, () => 200),
      );
    },
  );

  test("of the large bodies of a key one is read at a time, and small ones pass it", async () => {
    const { begun, next, wrapEngine } = gated();
    const service = await start({ wrapEngine });
    const other = await createKey(service.store, {
      name: "other",
      mode: "live",
      accountId: "default",
      now: Date.now,
    });
    const large = (from: number, key = service.key) =>
      service.call("/v1/person/count", { body: { filters: { title: values(900, from) } }, key });
    const asked = [large(0), large(1_000), large(2_000), large(3_000, other.key)];
    while (begun.length < 2) await settled();
    const small = service.call("/v1/person/count", { body: { filters: { title: "small" } } });
    while (begun.length < 3) await settled();
    expect(begun.map((title) => title.split(",", 1)[0])).toEqual([
      "value 0",
      "value 3000",
      "small",
    ]);
    await next();
    expect((await asked[0])?.status).toBe(200);
    while (begun.length < 4) await settled();
    for (let n = 0; n < 2; n += 1) await next();
    expect((await small).status).toBe(200);
    while (begun.length < 5) {
      await next();
      await settled();
    }
    await next();
    expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  });

  test("whose turn does not come gets a 503 with Retry-After, is charged nothing and can ask again", async () => {
    const { begun, next, wrapEngine } = gated();
    const service = await start({
      wrapEngine,
      timeouts: { turn: 30 },
      turns: { dataset: 1, all: { ...TURNS.all, paid: 1, free: 1 } },
    });
    const heavy = service.call("/v1/person/count", { body: { filters: { title: "heavy" } } });
    while (begun.length < 1) await settled();
    const before = await service.store.balance("default", "live");
    const headers = { "idempotency-key": "once" };
    const search = { body: { filters: {}, per_page: 2 }, headers };
    for (const refused of [
      await service.call("/v1/person/count", { body: { filters: { country: "france" } } }),
      await service.call("/v1/person/search", search),
      await service.call("/v1/company/enrich?domain=nowhere.example"),
      await service.call("/facets", { body: { filters: {}, key: "industry" } }),
    ]) {
      expect(refused).toMatchObject({ status: 503, json: { status: false, credits_used: 0 } });
      expect(refused.headers.get("retry-after")).toBe("1");
      expect(refused.json.detail[0]).toMatch(
        /^the service is busy: .* nothing was charged, retry in 1 s$/,
      );
    }
    expect(await service.store.balance("default", "live")).toEqual(before);
    expect((await service.call("/v1/account")).status).toBe(200);
    await next();
    expect((await heavy).status).toBe(200);
    expect(await service.call("/v1/person/search", search)).toMatchObject({
      status: 200,
      json: { credits_used: 2 },
    });
  });
});

describe("what a free call weighs", () => {
  const remaining = async (service: TestService, path: string, body: unknown): Promise<number> => {
    const answer = await service.call(path, { body });
    expect(answer.status).toBe(200);
    return Number(answer.headers.get("x-ratelimit-remaining"));
  };

  test("is one of the minute for each hundred values begun, where the answer is not known already", async () => {
    const service = await start({ plan: { perMinute: 1_000 } });
    const count = (filters: unknown) => remaining(service, "/v1/person/count", { filters });
    expect(await count({})).toBe(999);
    expect(await count({ title: values(100) })).toBe(998);
    const wide = { title: values(900), city: values(250, 5_000), department: ["Sales", "Legal"] };
    expect(await count(wide)).toBe(986);
    expect(await count({ title: values(101) })).toBe(984);
    // Known: a look at what is kept.
    expect(await count({ title: values(101) })).toBe(983);
    // Addresses are looked up one by one in an index.
    expect(
      await count({ network_url: values(1_000).map((value) => value.replace(" ", "-")) }),
    ).toBe(982);
    expect(
      await remaining(service, "/facets", { filters: { title: values(150) }, key: "industry" }),
    ).toBe(980);
    const search = (filters: unknown) =>
      remaining(service, "/v1/person/search", { filters, per_page: 1 });
    // Who finds somebody pays for it; who finds nobody had it counted.
    expect(await search({ country: [...values(499), "germany"] })).toBe(979);
    expect(await search({ title: values(500) })).toBe(974);
    expect(
      (await service.call("/v1/person/count", { body: { filters: { planet: values(500) } } }))
        .status,
    ).toBe(422);
    expect(await count({})).toBe(972);
  });

  test("never refuses a call that the window still has room for, and is told to the next", async () => {
    const service = await start({ plan: { perMinute: 3 } });
    expect(
      await remaining(service, "/v1/person/count", {
        filters: { title: values(900), city: values(900) },
      }),
    ).toBe(0);
    const refused = await service.call("/v1/account");
    expect([refused.status, refused.headers.get("x-ratelimit-remaining")]).toEqual([429, "0"]);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
  });
});
