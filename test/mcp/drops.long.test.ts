import fc from "fast-check";
import { expect, test } from "vitest";
import { type Agent, startAgent, YES } from "../support/agent.ts";
import { cases } from "../support/campaign.ts";
import { user } from "../support/export.ts";
import {
  type ForeignService,
  type Mishap,
  startForeignService,
} from "../support/foreign-service.ts";

const CAP = 12;

interface Turn {
  readonly country: string;
  readonly profiles: number;
  /** What befalls the paid calls of this turn, in their order; the others go well. */
  readonly mishaps: readonly Mishap[];
  readonly restart: boolean;
}

const turn: fc.Arbitrary<Turn> = fc.record({
  country: fc.constantFrom("france", "spain", "peru"),
  profiles: fc.integer({ min: 1, max: 6 }),
  mishaps: fc.array(fc.constantFrom<Mishap>("drop", "cut", "402", "500", undefined), {
    maxLength: 3,
  }),
  restart: fc.boolean(),
});

/** An interrupted run that holds more rows than are asked for next. */
const HELD: readonly Turn[] = [
  { country: "spain", profiles: 6, mishaps: [undefined, "402"], restart: false },
  { country: "spain", profiles: 1, mishaps: [], restart: true },
];

async function budgetOf(agent: Agent, one: ForeignService): Promise<void> {
  const { spent, left } = (await agent.call("account")).data.budget as {
    spent: number;
    left: number;
  };
  // By the books of the service, which nobody here can see: never less told than charged, never more charged than allowed.
  expect(one.charged()).toBeLessThanOrEqual(CAP);
  expect(spent).toBeGreaterThanOrEqual(one.charged());
  expect(left).toBeLessThanOrEqual(CAP - one.charged());
}

async function play(
  turns: readonly Turn[],
  idempotent: boolean,
  versioned: boolean,
): Promise<void> {
  const version = versioned ? () => "v1" : undefined;
  const one = await startForeignService({ people: 40, idempotent, maxPerPage: 4, version });
  const u = user(one.url, one.key);
  const start = () =>
    startAgent(u, ["--max-credits", `${CAP}/total`, "--max-wait", "1"], { answer: YES });
  let agent = await start();
  try {
    for (const { country, mishaps, profiles, restart } of turns) {
      if (restart) {
        await agent.close();
        agent = await start();
      }
      const begun = one.paidCalls();
      one.options.mishap = (call) => mishaps[call - begun - 1];
      const quote = await agent.call("quote", { kind: "people", filters: { country }, profiles });
      expect(quote.failed, quote.text).toBe(false);
      const bought = await agent.call("buy", { quote_id: quote.data.quote_id });
      if (bought.failed) expect(bought.text).not.toMatch(/bug in headcount|\n\s+at /);
      else expect(bought.data.profiles).toBeGreaterThanOrEqual(Number(quote.data.profiles));
      await budgetOf(agent, one);
      const again = await agent.call("buy", { quote_id: quote.data.quote_id });
      expect(again.failed).toBe(true);
    }
    one.options.mishap = () => undefined;
    const { runs } = (await agent.call("runs")).data as {
      runs: { run: string; profiles: number }[];
    };
    // A run may hold for nothing what an earlier one bought of the same request.
    const people = new Set<unknown>();
    for (const { run, profiles } of runs) {
      const { data } = await agent.call("read_rows", { run, fields: ["id"], limit: 50 });
      const ids = (data.rows as { id: unknown }[]).map(({ id }) => id);
      expect(new Set(ids).size).toBe(profiles);
      for (const id of ids) people.add(id);
    }
    expect(people.size).toBeLessThanOrEqual(one.rowsSold());
    await budgetOf(agent, one);
  } finally {
    await agent.close();
    await one.close();
  }
}

test("whatever a service drops, charges and refuses, the budget holds by that service's own books", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(turn, { minLength: 2, maxLength: 5 }),
      fc.boolean(),
      fc.boolean(),
      play,
    ),
    {
      numRuns: cases(5, 60),
      endOnFailure: true,
      examples: [
        [HELD, false, false],
        [[{ country: "peru", profiles: 6, mishaps: ["drop"], restart: false }], false, true],
      ],
    },
  );
}, 600_000);
