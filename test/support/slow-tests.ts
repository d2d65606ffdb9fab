import type { Reporter, TestModule } from "vitest/node";

const MOST_MS = 2_000;

/** Names what takes too long for `npm run check`: a busy machine is no failure, so it is told and not more. */
export default class SlowTests implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const slow = modules.flatMap((module) =>
      [...module.children.allTests()].flatMap((test) => {
        const ms = test.diagnostic()?.duration ?? 0;
        return ms > MOST_MS ? [{ ms, name: `${module.relativeModuleId}: ${test.fullName}` }] : [];
      }),
    );
    if (slow.length === 0) return;
    const lines = slow
      .sort((a, b) => b.ms - a.ms)
      .map(({ ms, name }) => `  ${(ms / 1_000).toFixed(1)} s  ${name}`);
    console.log(
      `\nover ${MOST_MS / 1_000} s, so for the long form (test/support/long.ts), if not the machine was busy:`,
    );
    console.log(lines.join("\n"));
  }
}
