import type { Engine } from "../../dataset/engine.ts";

/** People in the synthetic dataset that test keys see: the same everywhere and for ever. */
export const TEST_PEOPLE = 1_000;
const TEST_SEED = 20_260_404;
const TEST_VERSION = "test-1";

/**
 * Opens the dataset of test keys in a folder, making it there first where it is missing (once, in about a second).
 * @param suppression the folder of the list of people who are left out of it
 */
export async function openTestDataset(datasetDir: string, suppression?: string): Promise<Engine> {
  const [{ buildDataset }, { generateInto }, { hasDataset }, { ReloadingEngine }] = await Promise.all([
    import("../../dataset/build/build.ts"),
    import("../../dataset/build/generate.ts"),
    import("../../dataset/layout.ts"),
    import("../../dataset/embedded/reloading-engine.ts"),
  ]);
  const isDone = () => hasDataset(datasetDir);
  if (!(await isDone())) {
    await buildDataset(
      {
        name: `test data of ${TEST_PEOPLE} people`,
        version: TEST_VERSION,
        stage: (connection) => generateInto(connection, { people: TEST_PEOPLE, seed: TEST_SEED }),
        isDone,
      },
      {
        datasetDir,
        now: Date.now,
        sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
        ...(suppression === undefined ? {} : { suppression }),
      },
    );
  }
  return ReloadingEngine.open(datasetDir, { now: () => performance.now() });
}
