// The tests of run.mjs: one vitest for all mutants, started once. Is told which file of the copy changed and which file of tests to
// run, and tells which tests failed, each with its error. Tests run in a process of their own that begins with nothing kept.
import { createVitest } from "vitest/node";

const root = process.cwd();
const options = { root, watch: false, bail: 1, maxWorkers: 1, reporters: [{}] };
const vitest = await createVitest("test", options);
const [project] = vitest.projects;

process.on("message", async ({ changed, tests }) => {
  vitest.invalidateFile(changed);
  vitest.state.filesMap.clear();
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications([
    project.createSpecification(tests),
  ]);
  const failed = testModules.flatMap((module) => [
    ...module.errors().map(({ message }) => ({ name: "(the file)", message })),
    ...[...module.children.allTests("failed")].map((one) => ({
      name: one.fullName,
      message: one.result().errors?.[0]?.message ?? "",
    })),
  ]);
  const ran = testModules.flatMap((module) => [...module.children.allTests("passed")]).length;
  const others = unhandledErrors.map((error) => ({
    name: "(beside the tests)",
    message: String(error?.message),
  }));
  process.send({ failed: [...failed, ...others], ran });
});
process.on("disconnect", () => process.exit());
process.send("ready");
