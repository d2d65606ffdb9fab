import { existsSync, writeFileSync } from "node:fs";
import { onTestFinished } from "vitest";
import { asTyped } from "./as-typed.ts";
import { type CrowdEngine, crowdEngine } from "./crowd-engine.ts";
import { seeded, type User, user } from "./export.ts";
import { rowsIn } from "./kept-list.ts";
import { Crowd, type Human } from "./people-service.ts";
import { startTestService, type TestService, type TestServiceOptions } from "./service.ts";

// Services over a crowd that moves from week to week, and who keeps a list of its sales people.

export const CREDITS = 10_000;
export const RICH = { perMinute: 1_000_000, perDay: 100_000_000 };

/** A service over a crowd, to the end of the test. */
export async function serving(
  engine: CrowdEngine,
  options: Partial<TestServiceOptions> = {},
): Promise<TestService> {
  const service = await startTestService({ engine, credits: CREDITS, plan: RICH, ...options });
  onTestFinished(() => service.close());
  return service;
}

/** Somebody who bought the sales people of a crowd. */
export async function bought(
  count: number,
  options: Partial<TestServiceOptions> = {},
  seed = 1,
  addressless = 0.05,
) {
  const crowd = new Crowd(seeded(seed), addressless);
  const people = Array.from({ length: count }, () => crowd.born());
  const engine = crowdEngine(people);
  const service = await serving(engine, options);
  const me = user(service.url, service.key);
  await me.ran(asTyped`search --department Sales --yes -o sales.ndjson`);
  return { crowd, people, engine, service, me };
}

export const balanceOf = async ({ store }: TestService): Promise<number> =>
  Number((await store.balance("default", "live")).balance) / 1e6;

const job = { filters: { department: "Sales" }, max_credits: 500, output: "list.csv" };

/** What a job handed on. */
export const moves = (me: User): { change: string; person: Human; fields?: string[] }[] =>
  existsSync(me.file("moves.ndjson")) ? rowsIn(me, "moves.ndjson").map((row) => row as never) : [];

/** Somebody with a job that keeps a list and hands on who moved. */
export async function following(hand_to: string) {
  const { crowd, people, engine, service } = await bought(400);
  const me = user(service.url, service.key);
  writeFileSync(me.file("jobs.json"), JSON.stringify({ jobs: { sales: { ...job, hand_to } } }));
  const run = (...more: readonly string[]) =>
    me.run(["jobs", "run", "sales", "--file", "jobs.json", ...more]);
  return { crowd, people, engine, service, me, run };
}
