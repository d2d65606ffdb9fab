import { kill } from "node:process";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Agent, startAgent, YES } from "../support/agent.ts";
import { rawProcess, spawnAgent } from "../support/agent-process.ts";
import { charged, user } from "../support/export.ts";
import type { FaultProxy } from "../support/fault-proxy.ts";
import { type ForeignService, startForeignService } from "../support/foreign-service.ts";
import { rawAgent, textOf } from "../support/raw-agent.ts";
import { CREDITS, type Serving, serveThroughProxy } from "../support/serving.ts";

let { service, proxy, u } = {} as Serving & { proxy: FaultProxy };
let before = 0;
const ends: (() => Promise<unknown>)[] = [];
serveThroughProxy((now) => ({ service, proxy, u } = now));
beforeEach(async () => {
  before = await charged(service, CREDITS);
});
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const isPaid = ({ paid }: { readonly paid: number }) => paid > 0;
async function start(...argv: readonly string[]): Promise<Agent> {
  const agent = await startAgent(u, ["--max-credits", "5/total", ...argv], { answer: YES });
  ends.push(() => agent.close());
  return agent;
}
const quote = async (agent: Agent, profiles: number, country = "france") =>
  String(
    (await agent.call("quote", { kind: "people", filters: { country }, profiles })).data.quote_id,
  );
const buy = async (agent: Agent, profiles: number, country?: string) =>
  agent.call("buy", { quote_id: await quote(agent, profiles, country) });
const budget = async (agent: Agent) =>
  (await agent.call("account")).data.budget as { readonly spent: number; readonly left: number };
async function strange(change: Parameters<typeof startForeignService>[0]): Promise<ForeignService> {
  const one = await startForeignService(change);
  ends.push(() => one.close());
  u = user(one.url, one.key);
  return one;
}

/** Paid calls are charged, and their replies wait; told once the first of them waits. */
function withheld(): { readonly there: Promise<void>; readonly letGo: () => void } {
  let arrived = (): void => undefined;
  let letGo = (): void => undefined;
  const there = new Promise<void>((done) => {
    arrived = done;
  });
  const waiting = new Promise<void>((done) => {
    letGo = done;
  });
  proxy.decide = async (request) => {
    if (!isPaid(request)) return { kind: "none" };
    const {
      authorization,
      "content-type": type,
      "idempotency-key": key,
    } = request.headers as Record<string, string>;
    // The service charges it now; what comes after the wait is the stored reply.
    await fetch(`${service.url}${request.url}`, {
      method: request.method,
      headers: {
        authorization: authorization ?? "",
        "content-type": type ?? "",
        "idempotency-key": key ?? "",
      },
      ...(request.body === "" ? {} : { body: request.body }),
    });
    arrived();
    await waiting;
    return { kind: "none" };
  };
  return { there, letGo };
}

test("killed between charge and reply: it counts at once, and is paid for once", async () => {
  const { there, letGo } = withheld();
  const first = await spawnAgent(u, ["--max-credits", "5/total"], { answer: YES });
  ends.push(() => first.close());
  const buying = buy(first, 3).catch(() => undefined);
  await there;
  kill(first.pid, "SIGKILL");
  await buying;
  letGo();
  proxy.decide = () => ({ kind: "none" });
  const second = await start();
  expect(await budget(second)).toMatchObject({ spent: 3, left: 2 });
  expect((await buy(second, 3, "germany")).text).toContain("2 left");
  expect((await buy(second, 3)).data).toMatchObject({ profiles: 3, credits: 3, budget_left: 2 });
  expect((await charged(service, CREDITS)) - before).toBe(3);
});

test.each(["SIGTERM", "end of stdin"])(
  "%s while it buys: what was asked for is settled, and it ends with 0",
  async (how) => {
    const { there, letGo } = withheld();
    const agent = rawProcess(u, ["--max-credits", "5", "--ask-over", "5"]);
    const quoted = await agent.call("quote", {
      kind: "people",
      filters: { country: "france" },
      profiles: 3,
    });
    const { structuredContent } = quoted.result as { structuredContent: { quote_id: string } };
    void agent.call("buy", { quote_id: structuredContent.quote_id });
    await there;
    if (how === "SIGTERM") agent.child.kill("SIGTERM");
    else agent.to.end();
    letGo();
    expect(await agent.exited).toBe(0);
    // Throws where something is held.
    expect((await charged(service, CREDITS)) - before).toBe(3);
    proxy.decide = () => ({ kind: "none" });
    expect((await budget(await start("--max-credits", "5/day"))).spent).toBe(3);
  },
);

test.each([402, 429, 500, 503])(
  "a purchase answered with %i costs nothing, and is said in words",
  async (status) => {
    const agent = await start("--max-wait", "1");
    proxy.decide = (request) =>
      isPaid(request)
        ? { kind: "error", status, headers: { "retry-after": "30" } }
        : { kind: "none" };
    const refused = await buy(agent, 3);
    expect(refused).toMatchObject({ failed: true, text: expect.stringMatching(/charged|credits/) });
    proxy.decide = () => ({ kind: "none" });
    const { spent } = await budget(agent);
    expect(spent).toBe(0);
    expect((await charged(service, CREDITS)) - before).toBe(0);
  },
  120_000,
);

test("a service that drops replies: what may have been charged is in the budget", async () => {
  const one = await strange({ people: 40, mishap: () => "drop" });
  const agent = await start();
  const refused = await buy(agent, 3);
  expect(refused.failed).toBe(true);
  expect(one.charged()).toBeGreaterThan(0);
  const { spent, left } = await budget(agent);
  expect(spent).toBeGreaterThanOrEqual(one.charged());
  expect(left).toBeLessThanOrEqual(5 - one.charged());
  one.options.mishap = () => undefined;
  for (let turn = 0; turn < 3; turn++) await buy(agent, 2, `country ${turn}`);
  expect(one.charged()).toBeLessThanOrEqual(5);
}, 120_000);

test.each([
  ["price", (one: ForeignService) => Object.assign(one.options, { price: 2 })],
  ["dataset", (one: ForeignService) => Object.assign(one.options, { version: () => "v2" })],
])("another %s than quoted: nothing is bought", async (what, change) => {
  const one = await strange({ people: 40, version: () => "v1" });
  const agent = await start();
  const quote_id = await quote(agent, 2);
  change(one);
  const refused = await agent.call("buy", { quote_id });
  expect(refused).toMatchObject({ failed: true, text: expect.stringContaining(what) });
  expect(refused.text).toContain("nothing was spent");
  expect(one.charged()).toBe(0);
});

test("a run that a person goes on with, or removes, still counts", async () => {
  const agent = await start();
  expect((await buy(agent, 3)).failed).toBe(false);
  expect((await u.run(["runs", "remove", "last", "--force", "--yes"])).code).toBe(0);
  expect(await budget(agent)).toMatchObject({ spent: 3, left: 2 });
  const asked = rawAgent(u, ["--max-credits", "5/total"]);
  expect(textOf(await asked.call("account", {}))).toContain("2 of 5 left");
  await asked.end();
});
