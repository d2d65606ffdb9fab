import { describe, expect, onTestFinished, test } from "vitest";
import { ConsoleClient, gated, type Session } from "../support/console.ts";
import { long } from "../support/long.ts";
import { startTestService, type TestService, type TestServiceOptions } from "../support/service.ts";

async function serve(options: TestServiceOptions = {}) {
  const service = await startTestService({ people: 2_000, console: {}, ...options });
  onTestFinished(() => service.close());
  const page = new ConsoleClient(service, options.now ?? Date.now);
  return { service, page, session: await page.enter() };
}

const LEGAL = { department: "Legal" };
const quoted = async (page: ConsoleClient, session: Session, more: object = {}) =>
  (await page.call(session, "POST", "/quote", { filters: LEGAL, who: "new", ...more })).json;
const buy = async (page: ConsoleClient, session: Session, more: object = {}) => {
  const { quote_id } = await quoted(page, session, more);
  const { json } = await page.call(session, "POST", "/exports", { quote_id });
  return page.bought(session, json.id);
};
const owned = async (page: ConsoleClient, session: Session) =>
  (await page.call(session, "POST", "/owned", { filters: LEGAL })).json;
const idsOf = async (page: ConsoleClient, session: Session, id: string): Promise<string[]> =>
  (await page.call(session, "GET", `/exports/${id}/ndjson`)).text
    .trim()
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line).id);
const search = (service: TestService, rows: number) =>
  service.call("/v1/person/search", { body: { filters: LEGAL, per_page: rows } });
const left = async ({ store }: TestService): Promise<number> =>
  Number((await store.balance("default", "live")).balance) / 1e6;

describe("whoever an account owns", () => {
  long(
    "is not bought again: what the API sold counts, the rest is quoted, bought and known after a restart",
    async () => {
      const { page, service, session } = await serve();
      const bare = await owned(page, session);
      expect(bare).toMatchObject({ owned: 0, new: bare.count });
      const first = (await search(service, 7)).json.result.map(({ id }: { id: string }) => id);
      expect(await owned(page, session)).toEqual({
        count: bare.count,
        owned: 7,
        new: bare.count - 7,
      });
      expect(await quoted(page, session)).toMatchObject({
        count: bare.count,
        owned: 7,
        new: bare.count - 7,
        profiles: bare.count - 7,
        credits: bare.count - 7,
      });

      // So many of the new ones, wherever they stand in the segment.
      const some = await buy(page, session, { profiles: 5 });
      expect(some).toMatchObject({ state: "ready", rows: 5, credits: 5 });
      const { page: there, session: again } = await serve({ ledger: service.ledger });
      const rest = await buy(there, again);
      expect(rest).toMatchObject({ state: "ready", rows: bare.count - 12 });
      const all = [...first, ...(await idsOf(page, session, some.id))];
      all.push(...(await idsOf(page, session, rest.id)));
      expect(new Set(all).size).toBe(bare.count);
      expect(all.length).toBe(bare.count);
      expect(await left(service)).toBe(10_000 - bare.count);

      expect((await quoted(page, session)).code).toBe("none_new");
      // To buy all again is there, at the whole price.
      expect(await quoted(page, session, { who: "all" })).toMatchObject({ profiles: bare.count });
      const { people } = (await page.call(session, "POST", "/owned/people", { filters: LEGAL }))
        .json;
      expect(people.map(({ id }: { id: string }) => id).sort()).toEqual(all.slice(7).sort());
      expect(await service.store.verify()).toEqual([]);
    },
  );

  long(
    "who is bought while a page is being bought is paid once, and the page has the others",
    async () => {
      const gate = gated();
      const { page, service, session } = await serve({ wrapEngine: gate.wrapEngine });
      const { page: there, service: other } = await serve({ ledger: service.ledger });
      const quote = await quoted(page, session);
      gate.close();
      const { id } = (await page.call(session, "POST", "/exports", quote)).json;
      await gate.arrival();
      expect((await search(other, 7)).json.credits_used).toBe(7);
      gate.open();
      expect(await page.bought(session, id)).toMatchObject({
        state: "ready",
        profiles: quote.count - 7,
        rows: quote.count - 7,
        credits: quote.count - 7,
      });
      expect(await left(service)).toBe(10_000 - quote.count);
      expect(await owned(there, await there.enter())).toMatchObject({ new: 0 });
    },
  );

  long("two who buy the same new people at once pay for each of them once", async () => {
    const { page, service, session } = await serve();
    const { page: there, session: theirs } = await serve({ ledger: service.ledger });
    const [one, two] = [
      await quoted(page, session, { profiles: 30 }),
      await quoted(there, theirs, { filters: {}, profiles: 1_500 }),
    ];
    const [mine, other] = await Promise.all([
      page.call(session, "POST", "/exports", one),
      there.call(theirs, "POST", "/exports", two),
    ]);
    const ends = await Promise.all([
      page.bought(session, mine.json.id),
      there.bought(theirs, other.json.id),
    ]);
    const ids = [
      ...(await idsOf(page, session, mine.json.id)),
      ...(await idsOf(there, theirs, other.json.id)),
    ];
    expect(new Set(ids).size).toBe(ids.length);
    expect(ends.map(({ credits }) => credits).reduce((sum, each) => sum + each)).toBe(ids.length);
    expect(await left(service)).toBe(10_000 - ids.length);
  });

  test("is of an account and mode: nobody else's purchase is known to it", async () => {
    const { page, service, session } = await serve();
    await search(service, 7);
    await service.store.createAccount("other", "other");
    const theirs = await page.enter("owner", "other");
    expect(await owned(page, theirs)).toMatchObject({ owned: 0 });
    const test = { filters: LEGAL, mode: "test" };
    expect((await page.call(session, "POST", "/owned", test)).json.owned).toBe(0);
    const ids = ["p_1", "p_2"];
    const [live, other] = await Promise.all([
      service.store.people.marks({ accountId: "default", mode: "live" }, ids),
      service.store.people.marks({ accountId: "other", mode: "live" }, ids),
    ]);
    expect(live.filter((mark) => other.includes(mark))).toEqual([]);
  });
});
