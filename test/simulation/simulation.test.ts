import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Store } from "../../src/service/ledger/ledger.ts";
import { FIRST, LOST_REPLY } from "./seeds.ts";
import { type Breakage, proxied } from "./service.ts";
import { Stage } from "./stage.ts";
import { story } from "./story.ts";

// A few stories; simulation.long.test.ts plays sixty of them, and those that found something.

let stage: Stage;
let first: readonly string[];
beforeAll(async () => {
  stage = await Stage.make();
  // What a first purchase, a first job and a first agent load is no story's time.
  first = await stage.play(FIRST);
});
afterAll(() => stage?.close());

test("each kind of actor gets in peace what it wants", () => {
  const ends = first.filter((line) => line.includes(" ends with "));
  expect(ends.map((line) => line.replace(" ends with ", " "))).toEqual([
    ...["ada 0", "bob 0", "cy 0", "ada 0"],
  ]);
});

test.each(fc.sample(story, { seed: 5, numRuns: 3 }).map((told, nth) => ({ nth, told })))(
  "story $nth",
  async ({ told }) => {
    await stage.play(told);
  },
);

const forgetsKeys: Breakage = (store) =>
  proxied<Store>(store, { hold: ({ idempotency: _, ...request }) => store.hold(request) });

const chargesTwice: Breakage = (store) =>
  proxied<Store>(store, {
    settle: async (settlement) => {
      const settled = await store.settle(settlement);
      await store.deduct("default", "live", settlement.amount, { note: "once more" });
      return settled;
    },
  });

const keepsHolds: Breakage = (store) =>
  proxied<Store>(store, {
    settle: async ({ reply }) => ({
      reply: reply((await store.money("default", "live")).balance),
      balance: (await store.money("default", "live")).balance,
    }),
  });

test("a reply that is lost is asked for again, and paid once", async () => {
  expect((await stage.play(LOST_REPLY)).join("\n")).toMatch(/reply 200: lost/);
});

test.each([
  { what: "forgets keys", breakage: forgetsKeys, seen: /one key was charged twice/ },
  { what: "charges twice", breakage: chargesTwice, seen: /left of \d+, charged \d+/ },
  { what: "keeps what it holds", breakage: keepsHolds, seen: /are held and nobody is at work/ },
])("a service that $what is seen", async ({ breakage, seen }) => {
  await expect(stage.play(LOST_REPLY, breakage)).rejects.toThrow(seen);
});
