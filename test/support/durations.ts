import { spawnSync } from "node:child_process";
import { join, resolve } from "node:path";
import type { Reporter, TestModule } from "vitest/node";

/**
 * Bounds of a test, and of a file, that shares its process: a person waits for them. In ms, on a
 * machine that starts an empty Node in so many; a slower one has as much more time as it takes.
 */
const MOST_OF_A_TEST = 2_000;
const MOST_OF_A_FILE = 8_000;
const AN_EMPTY_NODE = 50;

const SLOWEST = 20;
const TRIES_ALONE = 3;

const ROOT = resolve(import.meta.dirname, "../..");
const VITEST = join(ROOT, "node_modules/vitest/vitest.mjs");

const isAlone = process.env.HEADCOUNT_ALONE === "1";

interface Duration {
  readonly ms: number;
  readonly name: string;
}

const seconds = (ms: number): string => (ms / 1_000).toFixed(1);

const listOf = (durations: readonly Duration[]): string =>
  durations.map(({ ms, name }) => `${seconds(ms).padStart(6)} s  ${name}`).join("\n");

const longestFirst = (durations: readonly Duration[]): Duration[] =>
  [...durations].sort((a, b) => b.ms - a.ms);

/** What a file took, from the loading of its modules to its last hook, in ms. */
function durationOf(module: TestModule): number {
  const { collectDuration, duration, setupDuration } = module.diagnostic();
  return collectDuration + duration + setupDuration;
}

/** How many times as long as there this machine takes now, and 1 where it is no slower. The quickest of some starts tells. */
function slowness(): number {
  const starts = Array.from({ length: 7 }, () => {
    const begun = performance.now();
    spawnSync(process.execPath, ["-e", "0"], { stdio: "ignore" });
    return performance.now() - begun;
  });
  return Math.max(1, Math.min(...starts) / AN_EMPTY_NODE);
}

/** What of a file's quick tests, and the sum of them, is over its bound. By itself a file's first test loads the program, too. */
function overBound(module: TestModule, slow: number): Duration[] {
  const tests = [...module.children.allTests()].filter(
    (test) => !test.options.tags?.includes("long"),
  );
  const quick = (isAlone ? tests.slice(1) : tests).map((test) => ({
    ms: test.diagnostic()?.duration ?? 0,
    name: `${module.relativeModuleId}: ${test.fullName}`,
  }));
  const file = {
    ms: quick.reduce((sum, { ms }) => sum + ms, 0),
    name: module.relativeModuleId,
  };

  const over = quick.filter(({ ms }) => ms > MOST_OF_A_TEST * slow);
  return file.ms > MOST_OF_A_FILE * slow ? [file, ...over] : over;
}

/** Whether a file passes within its bounds: another process may take the machine for a while. */
function isQuickAlone(file: string): boolean {
  const argv = [VITEST, "run", "--mode", "quick", file];
  const env = { ...process.env, HEADCOUNT_ALONE: "1" };
  const passes = (): boolean =>
    spawnSync(process.execPath, argv, { cwd: ROOT, env, stdio: "inherit" }).status === 0;
  return Array.from({ length: TRIES_ALONE }).some(passes);
}

/**
 * Where CI is set the slowest files are told, and a quick test or file of the shared process (project `in`) that is over its bound
 * is a failure, if it is over it again with the machine to itself: what ran beside it is not its fault. Elsewhere it is told.
 */
export default class Durations implements Reporter {
  readonly #isOfDist: boolean;

  /** @param mode of the run: over what the compiler emitted another Node is tried, and no bound */
  constructor(mode: string) {
    this.#isOfDist = mode === "dist";
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const shared = modules.filter(({ project }) => project.name === "in");
    const times = slowness();
    const bounded = (module: TestModule): Duration[] => overBound(module, times);
    const slow = longestFirst(shared.flatMap(bounded));
    if (slow.length > 0) {
      const most = [MOST_OF_A_TEST, MOST_OF_A_FILE].map((ms) => `${seconds(ms * times)} s`);
      const bounds = `${most[0]} a test or ${most[1]} a file`;
      const machine = times > 1 ? ` (a machine that is ${times.toFixed(1)} times as slow)` : "";
      console.log(`\nover ${bounds}${machine}, so \`long\` (test/support/long.ts), or faster:`);
      console.log(listOf(slow));
    }
    if (!process.env.CI || this.#isOfDist) return;

    if (isAlone) {
      if (slow.length > 0) process.exitCode = 1;
      return;
    }
    const all = modules.map((module) => ({
      ms: durationOf(module),
      name: module.relativeModuleId,
    }));
    console.log(`\nthe slowest ${SLOWEST} files:`);
    console.log(listOf(longestFirst(all).slice(0, SLOWEST)));

    const files = shared.filter((module) => bounded(module).length > 0);
    for (const { relativeModuleId } of files)
      if (!isQuickAlone(relativeModuleId)) process.exitCode = 1;
  }
}
