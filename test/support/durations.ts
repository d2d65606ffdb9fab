import type { Reporter, TestModule } from "vitest/node";

/** Bounds of a test, and of a file, that shares its process: a person waits for them. In ms. */
const MOST_OF_A_TEST = 2_000;
const MOST_OF_A_FILE = 8_000;

const SLOWEST = 20;

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`.padStart(8);

/** What a file took, from the loading of its modules to its last hook, in ms. */
function durationOf(module: TestModule): number {
  const { collectDuration, duration, setupDuration } = module.diagnostic();
  return collectDuration + duration + setupDuration;
}

/**
 * Where CI is set the slowest files are told, and in the quick form's shared process (project `in`) a test or file over its bound
 * is a failure. Elsewhere it is told and not more: the machine may be busy.
 */
export default class Durations implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const slow = modules
      .filter(({ project }) => project.name === "in")
      .flatMap((module) => {
        const tests = [...module.children.allTests()]
          .filter((test) => !test.options.tags?.includes("long"))
          .map((test) => ({ ms: test.diagnostic()?.duration ?? 0, name: test.fullName }))
          .filter(({ ms }) => ms > MOST_OF_A_TEST)
          .map(({ ms, name }) => ({ ms, name: `${module.relativeModuleId}: ${name}` }));
        const quick = [...module.children.allTests()]
          .filter((test) => !test.options.tags?.includes("long"))
          .reduce((sum, test) => sum + (test.diagnostic()?.duration ?? 0), 0);
        return quick > MOST_OF_A_FILE
          ? [...tests, { ms: quick, name: module.relativeModuleId }]
          : tests;
      })
      .sort((a, b) => b.ms - a.ms);

    if (slow.length > 0) {
      console.log(
        `\nover ${MOST_OF_A_TEST / 1_000} s a test or ${MOST_OF_A_FILE / 1_000} s a file, so \`long\` (test/support/long.ts), or faster:`,
      );
      console.log(slow.map(({ ms, name }) => `${seconds(ms)}  ${name}`).join("\n"));
    }

    if (!process.env.CI) return;
    const slowest = modules
      .map((module) => ({ ms: durationOf(module), name: module.relativeModuleId }))
      .sort((a, b) => b.ms - a.ms)
      .slice(0, SLOWEST);
    console.log(`\nthe slowest ${SLOWEST} files:`);
    console.log(slowest.map(({ ms, name }) => `${seconds(ms)}  ${name}`).join("\n"));
    if (slow.length > 0) process.exitCode = 1;
  }
}
