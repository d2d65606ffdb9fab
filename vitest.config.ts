import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/support/global-setup.ts"],
    reporters: process.env.CI ? ["default"] : ["dot"],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // Real servers, shells and databases: two files at a time on two cores, each in a process of its own.
    maxWorkers: 2,
    pool: "forks",
    env: { HEADCOUNT_TEST: "1" },
  },
});
