import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect } from "vitest";
import { openSqliteStore } from "../../../src/service/ledger/sqlite.ts";
import { credits } from "../../../src/shared/contract/money.ts";
import { ACCOUNT } from "../../support/store.ts";
import type { Campaign } from "../campaign.ts";
import { STORE_MODULE, seeded, throwAll, WORKER } from "./rig.ts";

// Processes race for one balance on one file. Not one credit more may be granted, and not one less where calls enough came.
const PROCESSES = 4;

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

interface Trial {
  readonly processes: number;
  readonly balance: bigint;
  readonly amount: bigint;
  readonly charge: bigint;
  readonly calls: number;
  readonly wide: number;
}

interface Race {
  readonly folder: string;
  readonly spenders: readonly Spender[];
  /** The control: what they hold takes nothing from the balance. */
  readonly isBroken: boolean;
}

let trials = 0;

async function race({ folder, isBroken, spenders }: Race, trial: Trial): Promise<number> {
  const { amount, balance, calls, charge, processes, wide } = trial;
  trials += 1;
  const path = join(folder, `${trials}.db`);
  const store = await openSqliteStore({ path, now: Date.now });
  await store.createAccount(ACCOUNT, "Acme");
  await store.grant(ACCOUNT, "live", credits(balance), "all there is");

  const share = Math.ceil(calls / processes);
  const order = {
    path,
    calls: share,
    amount: String(isBroken ? 0n : amount),
    charge: String(isBroken ? 0n : charge),
    wide,
  };
  const racing = spenders.slice(0, processes).map((spender) => spender.spend(order));
  const results = await Promise.all(racing);
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
  for (const end of ["", "-wal", "-shm"]) rmSync(path + end, { force: true });

  const what = JSON.stringify({ processes, calls, wide });
  throwAll(problems.map((problem) => `${what}: ${problem}`));
  return held;
}

/** A thousand at once on one credit: one gets it. */
async function raceForOne(of: Race, calls: number): Promise<void> {
  const one = 1_000_000n;
  const wide = calls / PROCESSES;
  const trial = { processes: PROCESSES, balance: one, amount: one, charge: one, calls, wide };
  expect(await race(of, trial)).toBe(1);
}

export const overspend: Campaign = {
  name: "overspend",
  seed: 4711,
  cases: { quick: 3, whole: 1_000 },
  control: { without: "that holds count against the balance", seen: /\d+ holds of \d+ that fit/ },

  async run({ cases, isBroken, isWhole, seed }) {
    const chance = seeded(seed);
    const pick = <T>(values: readonly [T, ...T[]]): T =>
      values[Math.floor(chance() * values.length)] ?? values[0];
    const folder = mkdtempSync(join(tmpdir(), "headcount-overspend-"));
    const spenders = Array.from({ length: PROCESSES }, () => new Spender());
    const of = { folder, spenders, isBroken };
    let holds = 0;
    try {
      await raceForOne(of, isWhole ? 1_000 : 200);
      for (let trial = 0; trial < cases; trial += 1) {
        const unit = pick([1_000_000n, 250_000n, 333_333n]);
        const balance = BigInt(pick([1, 7, 50, 240, 1000])) * 1_000_000n;
        const amount = BigInt(pick([1, 3, 10, 25, 100])) * unit;
        const load = pick([0.8, 1, 1.5, 3]);
        const most = isWhole ? 2_000 : 200;
        const calls = Math.min(most, Math.max(1, Math.ceil(Number(balance / amount) * load)));
        const charge =
          chance() < 0.7 ? amount : (amount * BigInt(Math.floor(chance() * 1000))) / 1000n;
        const processes = pick([1, 2, 4]);
        const wide = pick([1, 8, 64]);
        holds += await race(of, { processes, balance, amount, charge, calls, wide });
      }
      return { trials: cases, holds };
    } finally {
      for (const spender of spenders) spender.end();
      rmSync(folder, { recursive: true, force: true });
    }
  },
};
