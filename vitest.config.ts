import { resolve } from "node:path";
import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config";
import Durations from "./test/support/durations.ts";
import { type Kind, type TestFile, testFiles } from "./test/support/kinds.ts";

/**
 * `--mode quick` (`npm test`) leaves out what takes long, `--mode rest` runs only that, and without a mode everything runs.
 * `--mode dist` runs tests over what the compiler emitted, which is not always what the source says.
 */
const FORMS: Readonly<Record<string, (file: TestFile) => boolean>> = {
  quick: ({ isLong }) => !isLong,
  rest: ({ isLong, hasLong }) => isLong || hasLong,
};

/** Of the files that are run the tests that are: of a file that is long as a whole all of them. */
const TAGS: Readonly<Record<string, string[]>> = { quick: ["!long"], rest: ["long"] };

const KINDS = {
  // One process and its threads: modules are loaded once for all files that a worker runs.
  in: { pool: "threads", isolate: false },
  apart: { pool: "forks", isolate: true },
} as const;

function projects(mode: string): TestProjectInlineConfiguration[] {
  const files = testFiles().filter(FORMS[mode] ?? (() => true));
  const tags = TAGS[mode];

  const project = (name: string, kind: Kind, of: readonly TestFile[], tagsFilter?: string[]) => ({
    extends: true as const,
    test: {
      name,
      ...KINDS[kind],
      include: of.map(({ path }) => path),
      env: { HEADCOUNT_TEST: "1", HEADCOUNT_KIND: kind, HEADCOUNT_MODE: mode },
      ...(tagsFilter === undefined ? {} : { tagsFilter }),
    },
  });

  return (["in", "apart"] as const).flatMap((kind) => {
    const ofKind = files.filter((file) => file.kind === kind);
    return [
      project(
        kind,
        kind,
        ofKind.filter(({ isLong }) => !isLong),
        tags,
      ),
      project(
        `${kind}, long`,
        kind,
        ofKind.filter(({ isLong }) => isLong),
      ),
    ].filter(({ test }) => test.include.length > 0);
  });
}

export default defineConfig(({ mode }) => ({
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
    globalSetup: ["test/support/global-setup.ts"],
    setupFiles: [
      "test/support/handles.ts",
      "test/support/own-folder.ts",
      "test/support/hints-hold.ts",
      "test/support/drawn.ts",
    ],
    reporters: [process.env.CI ? "default" : "dot", new Durations(mode)],
    // What hangs is found, and a machine that is four times as slow finds nothing else.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // Two files at a time on two cores. The long ones wait for servers, shells and databases half of their time: four.
    maxWorkers: mode === "rest" ? 4 : 2,
    tags: [{ name: "long", description: "takes half a second or more: not in the quick form" }],
    projects: projects(mode),
  },
}));
