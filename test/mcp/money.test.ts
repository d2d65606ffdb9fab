import { beforeEach, expect, onTestFinished, test } from "vitest";
import { createKey } from "../../src/service/admin/keys.ts";
import { parseCredits } from "../../src/shared/contract/money.ts";
import { type Agent, type AgentOptions, startAgent, YES } from "../support/agent.ts";
import { charged, readCsv, spentBy, type User, user } from "../support/export.ts";
import { faultProxy } from "../support/fault-proxy.ts";
import { long } from "../support/long.ts";
import { quoteOf, rawAgent, textOf } from "../support/raw-agent.ts";
import { testService } from "../support/serving.ts";

const CREDITS = 100_000;
const service = testService({ people: 2_000, credits: CREDITS });
let before = 0;
let u: User;
beforeEach(async () => {
  u = user(service.url, service.key);
  before = await charged(service, CREDITS);
});
const FRENCH = { filters: { country: "france" } };
const spent = async (): Promise<number> => (await charged(service, CREDITS)) - before;
async function start(
  argv: readonly string[],
  options: AgentOptions = { answer: YES },
): Promise<Agent> {
  const agent = await startAgent(u, argv, options);
  onTestFinished(() => agent.close());
  return agent;
}
const quoted = async (agent: Agent, profiles: number, filters: object = FRENCH.filters) =>
  agent.call("quote", { kind: "people", filters, profiles });
const idOf = ({ data }: { readonly data: Readonly<Record<string, unknown>> }) =>
  String(data.quote_id);

test("without a cap the paid tools do not exist", async () => {
  const agent = await start([]);
  const names = (await agent.client.listTools()).tools.map(({ name }) => name);
  expect(names).toEqual([
    "account",
    "count_people",
    "describe_filters",
    "quote",
    "read_rows",
    "runs",
  ]);
  await expect(agent.call("buy", { quote_id: "q_1" })).rejects.toThrow(/buy/);
  await expect(agent.call("enrich_company", { domain: "acme.com" })).rejects.toThrow(
    /enrich_company/,
  );
  const quote = await quoted(agent, 3);
  expect(quote.data).toMatchObject({ credits: 3, allowed: false, budget_left: null });
  expect(await spent()).toBe(0);
});

test("a quote and its purchase come to five calls: nothing is counted again", async () => {
  const proxy = await faultProxy({ target: service.url });
  u = user(proxy.url, service.key);
  const agent = await start(["--max-credits", "10"], { answer: YES });
  const quote = await quoted(agent, 3);
  const bought = await agent.call("buy", { quote_id: idOf(quote) });
  expect(bought.data).toMatchObject({ profiles: 3, credits: 3 });
  const calls = proxy.seen.map(({ url }) => url.replace("/v1/", "").replace(/\?.*/, ""));
  await proxy.close();
  expect(calls).toEqual(["account", "/key", "person/count", "account", "person/search"]);
});

test.each(["modern", "legacy"] as const)(
  "a quote is bought once, after a person agreed (%s)",
  async (era) => {
    const agent = await start(["--max-credits", "10"], { era, answer: YES });
    const quote = await quoted(agent, 3);
    expect(quote.data).toMatchObject({ profiles: 3, credits: 3, allowed: true, budget_left: 10 });
    const bought = await agent.call("buy", { quote_id: idOf(quote) });
    // Three of more who match.
    expect(bought.text).toContain("3 rows for 3 credits, and there may be more;");
    expect(bought.data).toMatchObject({ profiles: 3, credits: 3, complete: false, budget_left: 7 });
    expect(agent.questions).toEqual([
      expect.stringMatching(/^Spend 3 credits on 3 profiles: france\?.*10 left\.$/),
    ]);
    const again = await agent.call("buy", { quote_id: idOf(quote) });
    expect(again).toMatchObject({
      failed: true,
      text: expect.stringContaining("nothing was spent"),
    });
    expect(await spent()).toBe(3);
    const rows = await agent.call("read_rows", { run: bought.data.run });
    expect(rows.data).toMatchObject({ total: 3, rows: { length: 3 } });
  },
);

long("more than the cap is refused, and a restart changes nothing", async () => {
  const first = await start(["--max-credits", "5"]);
  const large = await quoted(first, 30);
  expect(large.data).toMatchObject({ allowed: false, why_not: expect.stringContaining("5 left") });
  const over = await first.call("buy", { quote_id: idOf(large) });
  // A model with a shell is not handed the command that goes past what it was given.
  expect(over).toMatchObject({ failed: true, text: expect.not.stringContaining("headcount ") });
  expect(over.text).toContain("hint: whoever gave the budget may buy it, or give another");
  // Nobody is asked for what the budget refuses.
  expect(first.questions).toEqual([]);
  expect(await spent()).toBe(0);
  expect((await first.call("buy", { quote_id: idOf(await quoted(first, 3)) })).failed).toBe(false);
  await first.close();
  const second = await start(["--max-credits", "5"]);
  const refused = await second.call("buy", {
    quote_id: idOf(await quoted(second, 3, { country: "germany" })),
  });
  expect(refused).toMatchObject({ failed: true, text: expect.stringContaining("2 left") });
  expect(refused.text).toContain("3 of 5 credits");
  expect(await spent()).toBe(3);
});

long.each([1, 2])(
  "two purchases at once in %i servers buy only what one budget holds",
  async (servers) => {
    const a = await start(["--max-credits", "5"]);
    const b = servers === 1 ? a : await start(["--max-credits", "5"]);
    const [one, two] = [await quoted(a, 3), await quoted(b, 3, { country: "germany" })];
    const results = await Promise.all([
      a.call("buy", { quote_id: idOf(one) }),
      b.call("buy", { quote_id: idOf(two) }),
    ]);
    expect(results.filter(({ failed }) => !failed)).toHaveLength(1);
    expect(await spent()).toBe(3);
  },
);

test("an answer without the question it belongs to buys nothing", async () => {
  const agent = rawAgent(u, ["--max-credits", "10"]);
  const quote = await agent.call("quote", { kind: "people", ...FRENCH, profiles: 3 });
  const quote_id = quoteOf(quote);
  const inputResponses = { spend: { action: "accept", content: { spend: true } } };
  const forced = await agent.call("buy", { quote_id }, { inputResponses });
  expect(textOf(forced)).toContain("an answer came to a question that was not asked");
  expect(await spent()).toBe(0);
  expect(await agent.end()).toBe(0);
});

test("a question that is forged, of another quote, or answered before buys nothing", async () => {
  const agent = rawAgent(u, ["--max-credits", "10"]);
  const quote = async (country: string) => {
    return quoteOf(
      await agent.call("quote", { kind: "people", filters: { country }, profiles: 2 }),
    );
  };
  const [a, b] = [await quote("france"), await quote("germany")];
  const ask = async (quote_id: string) =>
    (await agent.call("buy", { quote_id })).result as { requestState: string };
  const inputResponses = { spend: { action: "accept", content: { spend: true } } };
  const [asked, other] = [await ask(a), await ask(b)];
  expect(asked).toMatchObject({ resultType: "input_required" });
  // Not the last character: two of its bits are no part of the signature.
  const forged = asked.requestState.replace(/.(?=[^.]{42}$)/, (first) =>
    first === "A" ? "B" : "A",
  );
  expect(forged).not.toBe(asked.requestState);
  for (const requestState of [forged, "v1.e30.AAAA", ""]) {
    const reply = await agent.call("buy", { quote_id: a }, { inputResponses, requestState });
    expect(reply.error ?? reply.result?.isError, requestState).toBeTruthy();
  }
  const crossed = await agent.call(
    "buy",
    { quote_id: a },
    { inputResponses, requestState: other.requestState },
  );
  expect(textOf(crossed)).toContain("no answer to a question that is open");
  expect(await spent()).toBe(0);
  const good = await agent.call(
    "buy",
    { quote_id: a },
    { inputResponses, requestState: asked.requestState },
  );
  expect(textOf(good)).toContain("2 rows");
  const replayed = await agent.call(
    "buy",
    { quote_id: a },
    { inputResponses, requestState: asked.requestState },
  );
  expect(replayed.result?.isError).toBe(true);
  expect(await spent()).toBe(2);
  await agent.end();
});

test.each([
  { action: "decline" } as const,
  { action: "cancel" } as const,
  { action: "accept", content: { spend: false } } as const,
  { action: "accept", content: { spend: "yes" } } as const,
  { action: "accept" } as const,
])("a quote that is not agreed to is dead: %j", async (answer) => {
  const agent = rawAgent(u, ["--max-credits", "10"]);
  const quote = await agent.call("quote", { kind: "people", ...FRENCH, profiles: 2 });
  const quote_id = quoteOf(quote);
  const { requestState } = (await agent.call("buy", { quote_id })).result as {
    requestState: string;
  };
  const refused = await agent.call(
    "buy",
    { quote_id },
    { inputResponses: { spend: answer }, requestState },
  );
  expect(refused.result?.isError).toBe(true);
  const again = await agent.call("buy", { quote_id });
  expect(textOf(again)).toContain("used, declined, or never given");
  expect(await spent()).toBe(0);
  await agent.end();
});

test("below --ask-over nobody is asked, within the cap", async () => {
  const agent = await start(["--max-credits", "5", "--ask-over", "3"], {});
  expect((await agent.call("buy", { quote_id: idOf(await quoted(agent, 3)) })).failed).toBe(false);
  const other = await quoted(agent, 3, { country: "germany" });
  expect((await agent.call("buy", { quote_id: idOf(other) })).text).toContain("2 left");
  expect((await spentBy(u)).settled).toBe(3);
});

test("a key with a cap and scopes of its own is a wall, whatever the agent's cap is", async () => {
  const maxCredits = parseCredits(5) ?? null;
  const expiresAt = Date.now() + 7 * 86_400_000;
  const bounds = { maxCredits, expiresAt, scopes: ["count", "search"] as const };
  const { key } = await createKey(service.store, {
    ...bounds,
    name: "agent",
    mode: "live",
    now: Date.now,
  });
  u = user(service.url, key);
  const agent = await start(["--max-credits", "1000"]);
  expect((await agent.call("count_people", FRENCH)).failed).toBe(false);
  const first = await quoted(agent, 4);
  expect(first.data).toMatchObject({ allowed: true });
  // Somebody else with the key was faster.
  await u.run(["search", "--country", "spain", "--limit", "3", "--yes", "-o", "spain.csv"]);
  const bought = await agent.call("buy", { quote_id: idOf(first) });
  // What was bought of it is kept, and what goes on is told in the words of tools.
  expect(bought.text).toMatch(/resumable, next: a new quote for the same$/);
  const second = await quoted(agent, 4, { country: "germany" });
  expect(second.data).toMatchObject({
    allowed: false,
    why_not: "it costs 4 credits, and the cap of the key leaves 0",
  });
  const refused = await agent.call("buy", { quote_id: idOf(second) });
  expect(refused).toMatchObject({
    failed: true,
    text: expect.stringContaining("the cap of the key leaves 0"),
  });
  expect(refused.text).not.toContain("next:");
  const company = await agent.call("enrich_company", { domain: "northwind.example" });
  expect(company.failed, company.text).toBe(true);
  expect(await spent()).toBeLessThanOrEqual(5);
});

test("what is owned is not paid for again: a quote says how many are yours and buys who is new; again buys anew", async () => {
  const agent = await start(["--max-credits", "100"]);
  const filters = { department: "Legal" };
  const first = await quoted(agent, 4, filters);
  expect(first.data).toMatchObject({ yours: 0, profiles: 4 });
  expect((await agent.call("buy", { quote_id: idOf(first) })).data).toMatchObject({ credits: 4 });
  const same = await agent.call("quote", { kind: "people", filters, profiles: 4 });
  expect(same.text).toContain("4 are yours already; nothing to buy.");
  const second = await agent.call("quote", {
    kind: "people",
    filters,
    profiles: 3,
    new_only: true,
  });
  expect(second.data).toMatchObject({ yours: 4, profiles: 3 });
  expect(second.text).toContain("4 are yours already; at most 3 rows");
  const bought = await agent.call("buy", { quote_id: idOf(second) });
  expect(bought.data, bought.text).toMatchObject({ profiles: 3 });
  expect((await agent.call("count_people", { filters })).data.owned).toBe(7);
  // A wider segment has them in it: they are told apart by a sketch, and not paid for again.
  const wide = { department: ["Legal", "Sales"] };
  const over = await agent.call("quote", { kind: "people", filters: wide });
  expect(over.data).toMatchObject({ yours: 7, paid_again: 0 });
  expect(over.text).toMatch(/7 are yours already; /);
  const again = await agent.call("quote", { kind: "people", filters, profiles: 4, again: true });
  expect(again.data).toMatchObject({
    yours: 7,
    paid_again: 4,
    notice: expect.stringMatching(/^up to 4 of the 4 to buy are yours already/),
    credits: 4,
    profiles: 4,
    command: expect.stringContaining("--again"),
  });
  const spentBefore = await spent();
  expect((await agent.call("buy", { quote_id: idOf(again) })).data).toMatchObject({ credits: 4 });
  expect(await spent()).toBe(spentBefore + 4);
  expect(agent.questions.at(-1)).toContain("? Up to 4 of them are owned already. The budget");
  const { data } = await agent.call("read_rows", {
    run: bought.data.run,
    fields: ["company_domain"],
  });
  const companies = (data.rows as { company_domain: string | null }[]).flatMap(
    ({ company_domain }) => company_domain ?? [],
  );
  const enrich = { kind: "enrich", companies: companies.slice(0, 1) };
  const one = await agent.call("quote", enrich);
  const named = await agent.call("buy", { quote_id: idOf(one) });
  expect(named.data, named.text).toMatchObject({ credits: 1 });
  expect((await agent.call("quote", enrich)).data).toMatchObject({
    yours: 1,
    profiles: 0,
    credits: 0,
  });
  expect((await agent.call("quote", { ...enrich, again: true })).data).toMatchObject({
    yours: 1,
    paid_again: 1,
    credits: 1,
    notice: expect.stringContaining("without again only the others are looked up"),
  });
  // A limit that bounds nothing changes nothing of it; whoever is owned costs nothing, and is not said to be nobody.
  const rest = await quoted(agent, 1_000, filters);
  expect(rest.data).toMatchObject({ yours: 7, paid_again: 0 });
  expect((await agent.call("buy", { quote_id: idOf(rest) })).failed).toBe(false);
  const whole = await quoted(agent, 1_000, filters);
  expect(whole.data).toMatchObject({ credits: 0, paid_again: 0, profiles: 0 });
  expect(whole.data.hints).toBeUndefined();
  const written = String(whole.data.command).split(" ").slice(1);
  await u.ran([...written, "-o", "whole.csv"]);
});

test("what a finished run holds is not bought with the rest of one that --again began and that is not finished", async () => {
  const whole = ["search", "--department", "Legal", "--yes"];
  await u.ran([...whole, "-o", "a.csv"]);
  await u.ends(5, [...whole, "--again", "--limit", "2", "--require-complete", "-q"]);
  const before = await spent();
  const agent = await start(["--max-credits", "100"]);
  const quote = await agent.call("quote", { kind: "people", filters: { department: "Legal" } });
  expect(quote.data).toMatchObject({ profiles: 0, credits: 0, paid_again: 0 });
  expect((await agent.call("buy", { quote_id: idOf(quote) })).data).toMatchObject({ credits: 0 });
  expect(await spent()).toBe(before);
});

test("the command of a quote buys what the quote says, also where a run holds more than is to be bought", async () => {
  await u.ends(0, ["search", "--department", "Legal", "--limit", "3", "--yes"]);
  const agent = await start(["--max-credits", "100"]);
  const quote = await quoted(agent, 5, { department: "Legal" });
  expect(quote.data).toMatchObject({ profiles: 2, credits: 2 });
  const before = await spent();
  const ran = await u.run([...String(quote.data.command).split(" ").slice(1), "-o", "five.csv"]);
  expect(ran, ran.stderr).toMatchObject({ code: 0 });
  expect(readCsv(u.read("five.csv"))).toHaveLength(5);
  expect(await spent()).toBe(before + 2);
});

test("an agent pays for nobody whom other runs bought since the same search stopped", async () => {
  const legal = ["search", "--department", "Legal"];
  await u.ends(5, [...legal, "--max-credits", "2", "--require-complete", "-q"]);
  await u.ran([...legal, "--new-only", "--yes", "-o", "b.csv"]);
  const before = await spent();
  const agent = await start(["--max-credits", "100"]);
  const quote = await agent.call("quote", { kind: "people", filters: { department: "Legal" } });
  expect(quote.data).toMatchObject({ profiles: 0, credits: 0, paid_again: 0 });
  expect((await agent.call("buy", { quote_id: idOf(quote) })).data).toMatchObject({ credits: 0 });
  expect(await spent()).toBe(before);
});

test("a quote with a value that nobody has is an error that names the nearest; allow_unmatched quotes it", async () => {
  const agent = await start(["--max-credits", "5"]);
  for (const country of ["USA", ["USA", "germany"]]) {
    const refused = await agent.call("quote", { kind: "people", filters: { country } });
    expect(refused).toMatchObject({ failed: true });
    expect(refused.text).toMatch(
      /nobody matches country "USA"; nothing was bought.*country "united states" counts \d+ people.*allow_unmatched: true/s,
    );
  }

  const allowed = (country: string | readonly string[]) =>
    agent.call("quote", {
      kind: "people",
      filters: { country },
      profiles: 2,
      allow_unmatched: true,
    });
  const some = await allowed(["USA", "germany"]);
  expect(some.data.hints).toEqual([
    expect.stringMatching(/^country "USA" matches nobody: country "united states" counts/),
  ]);
  const nobody = await allowed("USA");
  expect(nobody.data).toMatchObject({
    credits: 0,
    hints: [expect.stringContaining('country "united states" counts')],
  });
  expect(nobody.text).toContain("hint: country");
  expect(await spent()).toBe(0);
});

long(
  "who takes longer than the client waits is waited for: it is told that a person is asked",
  async () => {
    const slow = async () => {
      await new Promise((done) => setTimeout(done, 8_000));
      return YES;
    };
    const agent = await start(["--max-credits", "10"], { era: "legacy", answer: slow });
    const quote = await quoted(agent, 3);
    const told: string[] = [];
    const options = {
      timeout: 6_500,
      resetTimeoutOnProgress: true,
      onprogress: ({ message = "" }: { message?: string | undefined }) => void told.push(message),
    };
    const call = { name: "buy", arguments: { quote_id: idOf(quote) } };
    const bought = await agent.client.callTool(call, options);
    expect(bought).toMatchObject({ structuredContent: { profiles: 3, credits: 3 } });
    expect(told).toContain("A person is being asked.");
  },
);

test("a client that cannot show what it said it could costs nothing, and is told", async () => {
  const answer = async () => Promise.reject(new Error("no window"));
  const agent = await start(["--max-credits", "10"], { era: "legacy", answer });
  const bought = await agent.call("buy", { quote_id: idOf(await quoted(agent, 3)) });
  expect(bought).toMatchObject({
    failed: true,
    text: expect.stringMatching(/brought no answer: .*no window.*nothing was spent/),
  });
  expect(await spent()).toBe(0);
});
