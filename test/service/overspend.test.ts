import { afterEach, expect, test } from "vitest";
import { cases, LONG } from "../support/campaign.ts";
import { long } from "../support/long.ts";
import { watchResponses } from "../support/openapi.ts";
import { onResponse, startTestService, type TestService } from "../support/service.ts";

watchResponses(onResponse);

const TRIALS = cases(4, 1_000);
const PEOPLE = 500;

const running: TestService[] = [];
afterEach(async () => {
  for (const service of running.splice(0)) await service.close();
});

const PLAN = { perMinute: 1_000_000, perDay: 10_000_000 };

/** Services on one ledger, as processes that share a data folder. */
async function services(
  count: number,
  credits: number,
): Promise<readonly [TestService, ...TestService[]]> {
  const first = await startTestService({ people: PEOPLE, credits, plan: PLAN });
  running.push(first);
  const others: TestService[] = [];
  for (let at = 1; at < count; at++) {
    const other = await startTestService({ people: PEOPLE, ledger: first.ledger });
    running.push(other);
    others.push(other);
  }
  return [first, ...others];
}

long(
  `${TRIALS} trials over processes, credits, page sizes and load: never a credit too much, never a call too few`,
  async () => {
    let state = 20_261_121;
    const below = (n: number): number => {
      state = (state * 48_271) % 2_147_483_647;
      return state % n;
    };
    for (let trial = 0; trial < TRIALS; trial++) {
      const processes = [1, 2, 4][below(3)] ?? 1;
      const credits = 1 + below(1_000);
      const perPage = 1 + below(100);
      const fits = Math.floor(credits / perPage);
      // From less than the balance covers to three times as much, and never more than a trial can wait for.
      const load = Math.min(300, Math.max(1, Math.round(fits * (0.8 + below(23) / 10))));
      const all = await services(processes, credits);
      const [first] = all;
      const name = `trial ${trial}: ${processes} processes, ${credits} credits, pages of ${perPage}, ${load} calls`;
      const body = { filters: {}, per_page: perPage };
      const answers = await Promise.all(
        Array.from({ length: load }, (_, at) =>
          (all[at % processes] ?? first).call("/v1/person/search", { body, key: first.key }),
        ),
      );
      const statuses = answers.map(({ status }) => status);
      expect(
        statuses.filter((status) => status === 200 || status === 402).length,
        `${name}: ${statuses.join(" ")}`,
      ).toBe(load);
      expect(statuses.filter((status) => status === 200).length, name).toBe(Math.min(load, fits));
      expect(statuses.filter((status) => status === 402).length, name).toBe(
        load - Math.min(load, fits),
      );
      const used = answers.reduce((sum, { json }) => sum + json.credits_used, 0);
      const { balance, held } = await first.store.balance("default", "live");
      expect([balance, held], name).toEqual([BigInt(credits - used) * 1_000_000n, 0n]);
      expect(await first.store.verify(), name).toEqual([]);
      for (const service of running.splice(0).reverse()) await service.close();
    }
  },
  LONG ? 3_600_000 : 120_000,
);

long("1,000 calls at once for one credit: one is answered", async () => {
  const [first, second] = await services(2, 1);
  if (second === undefined) throw new Error("no second service");
  const calls = cases(200, 1_000);
  const answers = await Promise.all(
    Array.from({ length: calls }, (_, at) =>
      (at % 2 === 0 ? first : second).call("/v1/person/search", {
        body: { filters: {}, per_page: 1 },
        key: first.key,
      }),
    ),
  );
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  expect(answers.filter(({ status }) => status === 402)).toHaveLength(calls - 1);
});

test("a key revoked while calls run: none that was sent afterwards is accepted, in any process", async () => {
  const all = await services(2, 10_000);
  const [first] = all;
  let revoked = false;
  const late: number[] = [];
  const callers = Array.from({ length: 12 }, async (_, at) => {
    for (;;) {
      const sentAfter = revoked;
      const service = all[at % 2] ?? first;
      const { status } = await service.call("/v1/account", { key: first.key });
      if (sentAfter) {
        late.push(status);
        return;
      }
    }
  });
  await new Promise((wake) => setTimeout(wake, 200));
  await first.store.revokeKey(first.keyId);
  revoked = true;
  await Promise.all(callers);
  expect(late).toEqual(Array.from({ length: 12 }, () => 401));
});
