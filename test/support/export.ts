import { cpSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { parse } from "csv-parse/sync";
import { expect } from "vitest";
import { main } from "../../src/cli/main.ts";
import { readSpend } from "../../src/engine/runs/spend.ts";
import { creditsToNumber, sumOfCredits } from "../../src/shared/contract/money.ts";
import {
  type FakeClock,
  type TestContext,
  type TestContextOptions,
  tempDir,
  testContext,
} from "./client.ts";
import type { TestService } from "./service.ts";

/** A number in [0, 1) from a seed: the same sequence every time. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let value = Math.imul(state ^ (state >>> 15), 1 | state);
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value;
    return ((value ^ (value >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** A user of a service: a folder that stays from command to command, and what each of them printed. */
export interface User {
  readonly dir: string;
  readonly env: Readonly<Record<string, string>>;
  /** Runs a command line in this process. */
  run(argv: readonly string[], options?: RunOptions): Promise<Ran>;
  /** The same for one that has to end with 0. */
  ran(argv: readonly string[], options?: RunOptions): Promise<Ran>;
  /** The same for one that has to end with another code, and to say all of this on stderr. */
  ends(code: number, argv: readonly string[], ...says: (string | RegExp)[]): Promise<Ran>;
  /** What a command line that has to end with 0 prints, parsed. */
  json(argv: readonly string[], options?: RunOptions): Promise<ReturnType<typeof JSON.parse>>;
  /** Path of a file in the user's folder. */
  file(name: string): string;
  read(name: string): string;
}

export interface RunOptions extends TestContextOptions {
  /** Called with the context before the command starts. */
  readonly before?: (context: TestContext) => void;
  /** Ordinary waits are real by default, but retries wait a thousandth of their time. */
  readonly clock?: FakeClock;
}

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function ended(code: number, argv: readonly string[], ran: Ran): Ran {
  expect(ran.code, `${argv.join(" ")}: ${ran.stderr}`).toBe(code);
  return ran;
}

/** @param url of the service or of a proxy before it */
export function user(url: string, key: string, more: Readonly<Record<string, string>> = {}): User {
  const dir = tempDir("headcount-user-");
  const env = {
    HOME: dir,
    HEADCOUNT_CONFIG_DIR: join(dir, "config"),
    HEADCOUNT_STATE_DIR: join(dir, "state"),
    HEADCOUNT_BASE_URL: url,
    HEADCOUNT_API_KEY: key,
    ...more,
  };
  const run: User["run"] = async (argv, options = {}) => {
    const { before, ...rest } = options;
    const test = testContext({
      cwd: dir,
      random: () => 0.01,
      ...rest,
      argv,
      env: { ...env, ...rest.env },
    });
    before?.(test);
    // The option's variable is read from the process, which all tests share.
    const code = await main([...argv, "--base-url", url], test.context);
    return { code, stdout: test.stdout(), stderr: test.stderr() };
  };
  return {
    dir,
    env,
    file: (name) => join(dir, name),
    read: (name) => readFileSync(join(dir, name), "utf8"),
    run,
    ran: async (argv, options) => ended(0, argv, await run(argv, options)),
    async ends(code, argv, ...says) {
      const result = ended(code, argv, await run(argv));
      for (const text of says) expect(result.stderr).toMatch(text);
      return result;
    },
    json: async (argv, options) => JSON.parse(ended(0, argv, await run(argv, options)).stdout),
  };
}

/** Somebody else at the same service, with the files that a user has now. */
export function copyOf({ dir, env }: User): User {
  const { HEADCOUNT_BASE_URL: url = "", HEADCOUNT_API_KEY: key = "" } = env;
  const copy = user(url, key);
  cpSync(dir, copy.dir, { recursive: true });
  return copy;
}

/** What a user's runs spent in all, as `headcount spend` adds it up. */
export async function spentBy({
  dir,
}: User): Promise<Record<"settled" | "uncertain" | "foreign", number>> {
  const { runs, damaged } = await readSpend(join(dir, "state", "runs"));
  if (damaged.length > 0) throw new Error(`damaged: ${damaged}`);
  const days = runs.flatMap((run) => run.days);
  const sum = (name: "settled" | "uncertain" | "foreign"): number =>
    creditsToNumber(sumOfCredits(days.map((day) => day[name])));
  return {
    settled: sum("settled"),
    uncertain: sum("uncertain"),
    foreign: sum("foreign"),
  };
}

/** The records of a CSV text, by a reader that is not ours. */
export const readCsv = (text: string): Record<string, string>[] =>
  parse(text, { columns: true, bom: true });

/**
 * Live credits that the service has charged so far. A page is held for until the service knows whether it arrived:
 * of a reader that was killed it learns that a moment later.
 */
export async function charged(service: TestService, granted: number): Promise<number> {
  const deadline = Date.now() + 10_000;
  for (;;) {
    const { balance, held } = await service.store.balance("default", "live");
    if (held === 0n) return granted - Number(balance) / 1_000_000;
    if (Date.now() > deadline) throw new Error(`${held} millionths are still held`);
    await setTimeout(10);
  }
}

/** Ids of the user's runs, oldest first. */
export function runIds(of: User): string[] {
  try {
    return readdirSync(join(of.dir, "state", "runs"))
      .filter((name) => !name.startsWith("."))
      .sort();
  } catch {
    return [];
  }
}

/** Everything in a folder that is not the state: what a user sees. */
export function visibleFiles(of: User): string[] {
  return readdirSync(of.dir).filter((name) => !["state", "config", ".cache"].includes(name));
}

export const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);
