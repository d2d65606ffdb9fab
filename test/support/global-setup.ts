import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statfsSync,
  statSync,
} from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { TestProject } from "vitest/node";
import type { PostgresCluster } from "./store-postgres.ts";

/** What a whole run has in its folder at the most, in bytes, and as much again. */
const ROOM = 6e9;

const ROOT = resolve(import.meta.dirname, "../..");

/** The time of the newest file below a folder, in epoch milliseconds. */
function newest(folder: string): number {
  if (!existsSync(folder)) return 0;
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  return Math.max(
    0,
    ...entries.map((entry) => statSync(join(entry.parentPath, entry.name)).mtimeMs),
  );
}

/** End-to-end tests run the built program: build it once where it is older than its source. */
function build(): void {
  // One that is only linked is somebody else's, who runs it now: the campaign `mutation` has it so.
  if (lstatSync(join(ROOT, "dist"), { throwIfNoEntry: false })?.isSymbolicLink() === true) return;
  if (newest(join(ROOT, "dist")) > newest(join(ROOT, "src"))) return;
  const tsc = join(ROOT, "node_modules/typescript/bin/tsc");
  // tsc writes what it can; type errors are what `npm run typecheck` is for, and must not hide every other test's result.
  spawnSync(process.execPath, [tsc, "-p", "tsconfig.build.json"], { cwd: ROOT, stdio: "inherit" });
  for (const script of ["packaging/bundle.mjs", "packaging/bundle-console.mjs"]) {
    const { status } = spawnSync(process.execPath, [script], { cwd: ROOT, stdio: "inherit" });
    if (status !== 0) throw new Error(`${script} failed`);
  }
}

/** What the tests and what they start would leave in a folder for temporary files, but for the folder of another run. */
const OURS = /^(?!headcount-run-)(headcount|dbus-|playwright|\.?org\.chromium|\.?com\.google)/;
const SHARED = [tmpdir(), "/dev/shm"];
const traces = (): string[] =>
  SHARED.filter((folder) => existsSync(folder)).flatMap((folder) =>
    readdirSync(folder)
      .filter((name) => OURS.test(name))
      .map((name) => join(folder, name)),
  );

/** A folder of memory that has room for a run, or else the usual one. */
function memory(): string {
  const shared = "/dev/shm";
  if (!existsSync(shared)) return tmpdir();

  const { bavail, bsize } = statfsSync(shared);
  return bavail * bsize > ROOM ? shared : tmpdir();
}

/** One PostgreSQL for all files of the run, which is started for the first who asks. @returns what ends it */
function offerPostgres(folder: string): () => Promise<void> {
  let cluster: Promise<PostgresCluster> | undefined;
  const door = createServer(async (_, response) => {
    cluster ??= import("./store-postgres.ts").then(({ startCluster }) => startCluster(folder));
    response.end(JSON.stringify(await cluster));
  });
  door.listen(join(folder, "postgres")).unref();
  return async () => {
    door.close();
    await (await cluster)?.remove();
  };
}

/**
 * Everything temporary of a run stands in one folder, which goes at the end whatever a test did, killed itself or was killed
 * (`own-folder.ts` gives each file a folder in it). After a run of all tests nothing else may be left either.
 */
export default function setup({ vitest }: TestProject): () => Promise<void> {
  build();
  const before = new Set(traces());
  const [run, disk] = [memory(), tmpdir()].map((home) => {
    const folder = mkdtempSync(join(home, "headcount-run-"));
    // See own-folder.ts.
    chmodSync(folder, 0o711);
    return folder;
  });
  process.env.HEADCOUNT_TEST_FOLDER = run;
  process.env.HEADCOUNT_TEST_DISK = disk;
  const remove = (): void => {
    for (const folder of [run, disk])
      if (folder !== undefined) rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  };
  process.once("exit", remove);
  const stopPostgres = offerPostgres(run as string);
  return async () => {
    await stopPostgres();
    remove();
    const left = traces().filter((path) => !before.has(path));
    // A few files beside somebody else's run are not blamed for what that leaves.
    if (left.length === 0 || vitest.state.getFiles().length < 100) return;
    process.exitCode = 1;
    const shown = [
      ...left.slice(0, 20),
      ...(left.length > 20 ? [`and ${left.length - 20} more`] : []),
    ];
    console.error(
      `Error: left behind by the tests, or by another run beside them:\n${shown.join("\n")}`,
    );
  };
}
