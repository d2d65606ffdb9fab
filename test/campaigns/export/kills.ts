import { readdirSync, rmSync } from "node:fs";
import { expect } from "vitest";
import { charged, spentBy, user, visibleFiles } from "../../support/export.ts";
import type { TestService } from "../../support/service.ts";
import { spawnUser } from "../../support/spawned.ts";
import { ALL, type Campaign, type Course } from "../campaign.ts";
import { argvFor, CREDITS, quietly, startService } from "./scene.ts";

// SIGKILL at every durable write of a run in turn, then the same command again: rows and credits exact, no half file under the final name.
const ROWS = 130;

interface Scene {
  readonly service: TestService;
  readonly argv: readonly string[];
  /** The file of a quiet run. */
  readonly expected: string;
  readonly isBroken: boolean;
}

/** @returns whether the process got to its end before the step */
async function killAt(
  step: number,
  { argv, expected, isBroken, service }: Scene,
): Promise<boolean> {
  const u = user(service.url, service.key);
  const killed = await spawnUser(u, argv, { HEADCOUNT_FAILPOINT: String(step) });
  const isWhole = visibleFiles(u).includes("p.csv");
  const done = { step, code: 0, stdout: "", stderr: expect.stringContaining("Exported") };
  if (killed.code !== 137) {
    expect({ step, ...killed }).toEqual(done);
    return true;
  }

  // The final name holds the whole file or nothing.
  if (isWhole) expect({ step, file: u.read("p.csv") }).toEqual({ step, file: expected });
  if (isBroken) for (const name of readdirSync(u.dir)) rmSync(u.file(name), { recursive: true });
  const again = await spawnUser(u, argv);
  // Killed after the run was over: the file is there, and nothing is bought again.
  if (isWhole && again.code === 2 && again.stderr.includes("exists already")) return false;

  expect({ step, ...again }).toEqual(done);
  expect({ step, file: u.read("p.csv") }).toEqual({ step, file: expected });
  expect({ step, files: visibleFiles(u) }).toEqual({ step, files: ["p.csv"] });
  expect({ step, booked: (await spentBy(u)).settled }).toEqual({ step, booked: ROWS });
  return false;
}

/** The steps of the quick form: the middle of a run, where pages are bought. */
const MIDDLE = [30, 55] as const;

/** @param scenes two, of an account each: what one spends is no doubt of the other's. */
async function play(scenes: readonly [Scene, Scene], course: Course): Promise<{ points: number }> {
  const atOnce = (...steps: readonly [number, number]): Promise<boolean[]> =>
    Promise.all(scenes.map((scene, index) => killAt(steps[index] ?? 0, scene)));
  const charges = async (): Promise<number> => {
    const each = await Promise.all(scenes.map(({ service }) => charged(service, CREDITS)));
    return each.reduce((sum, one) => sum + one, 0);
  };
  const before = await charges();
  let [runs, points] = [0, 0];
  if (!course.isWhole) {
    const ended = await atOnce(...MIDDLE);
    expect(ended).toEqual([false, false]);
    [runs, points] = [MIDDLE.length, MIDDLE.length];
  }
  const stride = Math.ceil(1 / course.share);
  for (let step = 1; course.isWhole; step += 2 * stride) {
    const ended = await atOnce(step, step + stride);
    runs += 2;
    points += ended.filter((end) => !end).length;
    if (ended.every((end) => end)) break;
  }
  // However often it was killed, each run was charged for its rows once.
  const paid = (await charges()) - before;
  expect(`${paid} credits`).toBe(`${ROWS * runs} credits`);
  if (course.isWhole && course.share === 1) expect(points).toBeGreaterThanOrEqual(140);
  return { points };
}

export const exportKills: Campaign = {
  name: "export-kills",
  seed: 1,
  cases: { quick: MIDDLE.length, whole: ALL },
  control: { without: "the journal", seen: /^expected '\d+ credits' to be '260 credits'/ },

  async run(course) {
    const services = [await startService(), await startService()] as const;
    const argv = [...argvFor(ROWS, course.isWhole ? 10 : 40), "--concurrency", "2"];
    const sceneAt = async (service: TestService): Promise<Scene> => {
      const expected = await quietly(service, argv);
      return { service, argv, expected, isBroken: course.isBroken };
    };
    try {
      return await play([await sceneAt(services[0]), await sceneAt(services[1])], course);
    } finally {
      for (const service of services) await service.close();
    }
  },
};
