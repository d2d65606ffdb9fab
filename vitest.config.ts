import { resolve } from "node:path";
import { configDefaults, defineConfig } from "vitest/config";
import SlowTests from "./test/support/slow-tests.ts";

/** `--mode quick` (`npm test`): what takes a second or so at most and needs no package that `npm run foreign` installs. */
const LONG = ["test/**/*.long.test.ts", "test/foreign/**"];

export default defineConfig(({ mode }) => ({
  // `--mode dist`: the same tests over what the compiler emitted, which is not always what the source says.
  resolve: {
    alias:
      mode === "dist"
        ? [
            {
              find: /^(?:\.\.\/)+src\/(.+)\.ts$/,
              replacement: resolve(import.meta.dirname, "dist/$1.js"),
            },
          ]
        : [],
  },
  test: {
    include: ["test/**/*.test.ts"],
    exclude: [...configDefaults.exclude, ...(mode === "quick" ? LONG : [])],
    globalSetup: ["test/support/global-setup.ts"],
    setupFiles: ["test/support/own-folder.ts"],
    reporters: [process.env.CI ? "default" : "dot", ...(mode === "quick" ? [new SlowTests()] : [])],
    testTimeout: 180_000,
    hookTimeout: 120_000,
    // Real servers, shells and databases: two files at a time on two cores, each in a process of its own.
    maxWorkers: 2,
    pool: "forks",
    env: { HEADCOUNT_TEST: "1", HEADCOUNT_QUICK: mode === "quick" ? "1" : "" },
  },
}));
