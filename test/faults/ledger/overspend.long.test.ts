import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openSqliteStore } from "../../../src/service/ledger/sqlite.ts";
import { credits } from "../../../src/shared/contract/money.ts";
import { cases } from "../../support/campaign.ts";
import { ACCOUNT } from "../../support/store.ts";
import { report, STORE_MODULE, seeded, WORKER } from "./rig.ts";

// I6: processes race for one balance on one file. Not one credit more may be granted, and not one less where calls enough came.
const PROCESSES = 4;
const TRIALS = cases(16, 1_000);
const SEED = 4711;

interface Result {
  readonly held: number;
  readonly insufficient: number;
  readonly charged: string;
  readonly errors: readonly string[];
}

class Spender {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #waiting: ((result: Result) => void)[] = [];
  #stderr = "";

  constructor() {
    this.#child = spawn(process.execPath, [WORKER, "spend", STORE_MODULE]);
    this.#child.stderr.on("data", (chunk: Buffer) => {
      this.#stderr += chunk.toString();
    });
    createInterface({ input: this.#child.stdout }).on("line", (line) =>
      this.#waiting.shift()?.(JSON.parse(line) as Result),
    );
    this.#child.on("exit", () => {
      for (const waiting of this.#waiting)
        waiting({ held: 0, insufficient: 0, charged: "0", errors: [this.#stderr] });
    });
  }

  spend(command: object): Promise<Result> {
    return new Promise((resolve) => {
      if (this.#child.exitCode !== null) throw new Error(`a spender has died: ${this.#stderr}`);
      this.#waiting.push(resolve);
      this.#child.stdin.write(`${JSON.stringify(command)}\n`);
    });
  }

  end(): void {
    this.#child.stdin.end();
  }
}

describe("processes that race for one balance", () => {
  let spenders: Spender[];
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "headcount-overspend-"));
    spenders = Array.from({ length: PROCESSES }, () => new Spender());
  });
  afterAll(() => {
    for (const spender of spenders) spender.end();
    rmSync(folder, { recursive: true, force: true });
  });

  interface Trial {
    readonly processes: number;
    readonly balance: bigint;
    readonly amount: bigint;
    readonly charge: bigint;
    readonly calls: number;
    readonly wide: number;
  }

  let trials = 0;
  async function run({
    processes,
    balance,
    amount,
    charge,
    calls,
    wide,
  }: Trial): Promise<{ problems: string[]; held: number }> {
    trials += 1;
    const path = join(folder, `${trials}.db`);
    const store = await openSqliteStore({ path, now: Date.now });
    await store.createAccount(ACCOUNT, "Acme");
    await store.grant(ACCOUNT, "live", credits(balance), "all there is");
    const share = Math.ceil(calls / processes);
    const results = await Promise.all(
      spenders.slice(0, processes).map((spender) =>
        spender.spend({
          path,
          calls: share,
          amount: String(amount),
          charge: String(charge),
          wide,
        }),
      ),
    );
    const problems = results.flatMap(({ errors }) => errors);
    const held = results.reduce((sum, each) => sum + each.held, 0);
    const charged = results.reduce((sum, each) => sum + BigInt(each.charged), 0n);
    const after = await store.balance(ACCOUNT, "live");
    if (after.balance !== balance - charged)
      problems.push(`${balance} less ${charged} charged leaves ${after.balance}`);
    if (after.held !== 0n) problems.push(`${after.held} are held by nobody`);
    const possible = Math.min(share * processes, Number(balance / amount));
    // With the whole hold charged, exactly so many fit. With less, refunds let more through, never fewer.
    if (charge === amount ? held !== possible : held < possible)
      problems.push(`${held} holds of ${possible} that fit`);
    problems.push(...(await store.verify()));
    await store.close();
    rmSync(path, { force: true });
    rmSync(`${path}-wal`, { force: true });
    rmSync(`${path}-shm`, { force: true });
    return {
      problems: problems.map(
        (problem) => `${JSON.stringify({ processes, calls, wide })}: ${problem}`,
      ),
      held,
    };
  }

  it("a thousand at once on one credit: one gets it", async () => {
    const one = 1_000_000n;
    const { problems, held } = await run({
      processes: 4,
      balance: one,
      amount: one,
      charge: one,
      calls: 1000,
      wide: 250,
    });
    expect(problems).toEqual([]);
    expect(held).toBe(1);
  });

  it("over processes, balances, prices and load: never a credit too many", {
    timeout: 3_600_000,
  }, async () => {
    const chance = seeded(SEED);
    const pick = <T>(values: readonly [T, ...T[]]): T =>
      values[Math.floor(chance() * values.length)] ?? values[0];
    const problems: string[] = [];
    let holds = 0;
    for (let trial = 0; trial < TRIALS; trial += 1) {
      const unit = pick([1_000_000n, 250_000n, 333_333n]);
      const balance = BigInt(pick([1, 7, 50, 240, 1000])) * 1_000_000n;
      const amount = BigInt(pick([1, 3, 10, 25, 100])) * unit;
      const load = pick([0.8, 1, 1.5, 3]);
      const calls = Math.min(2000, Math.max(1, Math.ceil(Number(balance / amount) * load)));
      const charge =
        chance() < 0.7 ? amount : (amount * BigInt(Math.floor(chance() * 1000))) / 1000n;
      const result = await run({
        processes: pick([1, 2, 4]),
        balance,
        amount,
        charge,
        calls,
        wide: pick([1, 8, 64]),
      });
      problems.push(...result.problems);
      holds += result.held;
    }
    report("overspend", { trials: TRIALS, holds, seed: SEED, problems: problems.length });
    expect(problems).toEqual([]);
  });
});
