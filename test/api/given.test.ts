import { describe, expect, test } from "vitest";
import { connect, type HeadcountError } from "../../src/api/connect.ts";
import type { ConnectOptions, Headcount } from "../../src/api/index.ts";
import { charged, runIds } from "../support/export.ts";
import { connected, failureOf } from "../support/program.ts";
import { CREDITS, type Serving, serveUsers } from "../support/serving.ts";

// Programs in JavaScript: no compiler has looked at what they give.

let { service, u } = {} as Serving;
serveUsers((now) => ({ service, u } = now));

const LEGAL = { department: "Legal" };
const CAP = { maxCredits: 5 };

/** As JavaScript sees it: anything may be given. */
type Loose = { readonly [name: string]: (...given: unknown[]) => Promise<unknown> };

async function opened(more: ConnectOptions = {}) {
  const hc = await connected(u, more);
  const buy = (...what: unknown[]): Promise<unknown> =>
    (hc.buy as (...given: unknown[]) => ReturnType<Headcount["buy"]>)(...what).receipt;
  return { hc, buy, loose: hc as unknown as Loose };
}

const refusal = (work: () => Promise<unknown>): Promise<HeadcountError> =>
  failureOf((async () => work())());

describe("an argument", () => {
  test("that is none, or misspelt, is refused by its name before anything is bought", async () => {
    const { buy, loose } = await opened();
    const order = { filters: LEGAL };
    const wrong: (readonly [() => Promise<unknown>, RegExp])[] = [
      [() => buy(order, CAP, { limmit: 1 }), /unknown field of terms: limmit \(did you mean limit/],
      [() => buy({ ...order, pepole: "new" }, CAP), /of an order: pepole \(did you mean people/],
      [() => buy(order, { ...CAP, agre: () => true }), /of consent: agre \(did you mean agree/],
      [() => buy(order, CAP, { again: "false" }), /again of terms must be of type boolean/],
      [() => buy(order, CAP, { limit: 5n }), /limit of terms must be of type number/],
      [() => buy(order, CAP, { limit: "5" }), /limit of terms must be of type number/],
      [() => buy(order, CAP, { signal: "x" }), /signal of terms must be of type AbortSignal/],
      [() => buy(order, CAP, null), /terms must be an object/],
      [() => buy(order, { agree: true }), /agree of consent must be of type function/],
      [() => loose.quote?.() ?? expect.fail(), /an order must be an object/],
      [() => loose.quote?.(order, null) ?? expect.fail(), /terms must be an object/],
      [() => loose.count?.(LEGAL, null) ?? expect.fail(), /the call must be an object/],
      [() => loose.account?.(null) ?? expect.fail(), /the call must be an object/],
      [() => loose.refresh?.(undefined, LEGAL, CAP) ?? expect.fail(), /path of its file/],
    ];
    for (const [work, message] of wrong) {
      const { category, message: said } = await refusal(work);
      expect({ category, said }).toEqual({
        category: "usage",
        said: expect.stringMatching(message),
      });
    }

    expect(await charged(service, CREDITS)).toBe(0);
    expect(runIds(u)).toEqual([]);
  });

  test("of a connection is refused so too, and its key is not said", async () => {
    const given = (options: unknown) => refusal(() => connect(options as ConnectOptions));
    expect(await given(null)).toMatchObject({ message: "options must be an object" });
    expect(await given({ conection: "sample" })).toMatchObject({
      message: expect.stringContaining("did you mean connection?"),
    });
    expect(await given({ baseUrl: new URL(service.url) })).toMatchObject({ category: "usage" });
    expect(await given({ maxWaitMs: Number.NaN })).toMatchObject({ category: "usage" });
    const { message } = await given({ apiKey: [service.key] });
    expect(message).toBe("apiKey of options must be of type string");
  });

  test("of a quote has the terms already: a limit beside it is refused, not passed over", async () => {
    const { hc, buy } = await opened();
    const quote = await hc.quote({ filters: LEGAL }, { limit: 2 });
    const { message } = await refusal(() => buy(quote, CAP, { limit: 1 }));
    expect(message).toContain("unknown field of the call of a quote: limit");
    expect(await buy(quote, CAP, { signal: undefined })).toMatchObject({ rows: 2 });
  });
});

describe("a function of the program that throws", () => {
  test("is a no where it was to agree, with what it threw", async () => {
    const { buy } = await opened();
    const before = await charged(service, CREDITS);
    const agree = (): never => {
      throw new TypeError("mine");
    };
    expect(await refusal(() => buy({ filters: LEGAL }, { agree }))).toMatchObject({
      category: "declined",
      code: "agree_failed",
      message: "agree failed, so nothing was spent: mine",
    });
    expect(await charged(service, CREDITS)).toBe(before);
  });

  test("ends no purchase where it listens", async () => {
    const thrown: string[] = [];
    const listen = (what: unknown): never => {
      thrown.push(JSON.stringify(what));
      throw new Error("mine");
    };
    const { buy } = await opened({ log: listen, notice: listen });
    expect(await buy({ filters: LEGAL }, { maxCredits: 1 })).toMatchObject({ credits: "1" });
    expect(thrown.length).toBeGreaterThan(0);
  });
});

test("nothing is told of a connection that is closed, what is kept here neither", async () => {
  const { hc } = await opened();
  await hc.close();
  const all = [
    () => hc.runs(),
    () => hc.owned.summary(),
    () => hc.owned.count(LEGAL),
    () => hc.owned.rows(LEGAL)[Symbol.asyncIterator]().next(),
    () => hc.suppress("p_0000000042"),
  ];
  for (const work of all) expect(await refusal(work)).toMatchObject({ code: "closed" });
});
