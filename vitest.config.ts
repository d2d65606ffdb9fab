import { resolve } from "node:path";
import { defineConfig } from "vitest/config";

export default defineConfig(({ mode }) => ({
  // `--mode dist`: the same tests over what the compiler emitted, which is not always what the source says.
  resolve: {
    alias:
      mode === "dist"
        ? [{ find: /^(?:\.\.\/)+src\/(.+)\.ts$/, replacement: resolve(import.meta.dirname, "dist/$1.js") }]
        : [],
  },
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/support/global-setup.ts"],
    setupFiles: ["test/support/own-folder.ts"],
    reporters: process.env.CI ? ["default"] : ["dot"],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // Real servers, shells and databases: two files at a time on two cores, each in a process of its own.
    maxWorkers: 2,
    pool: "forks",
    env: { HEADCOUNT_TEST: "1" },
  },
}));
