// Datasets that `headcount service generate` makes once and that stay in the cache, and services over them.
import { cpSync, existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import {
  CACHE,
  HEADCOUNT,
  headcount,
  note,
  ROOT,
  startServer,
  userEnvironment,
} from "./harness.mjs";
import { strangers } from "./import.mjs";

const SEED = 1;

/** What a generated dataset holds, whatever our layout of it: for copies of it in other databases. */
export async function contentKey(people) {
  const { SAMPLE_VERSION } = await import(join(ROOT, "dist/dataset/build/sample.js"));
  return `${people}-seed-${SEED}-${SAMPLE_VERSION}`;
}

/** A data folder with a generated dataset of that many people, made once. Only its dataset is of interest, not its ledger. */
export async function generated(people) {
  const { DATASET_FORMAT: FORMAT } = await import(join(ROOT, "dist/dataset/layout.js"));
  const folder = join(CACHE, `people-${people}-format-${FORMAT}`);
  if (existsSync(join(folder, "dataset", "CURRENT"))) return { folder, seconds: undefined };
  const draft = `${folder}.draft`;
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { recursive: true });
  note(`making ${people.toLocaleString("en")} people (once; kept in ${folder})`);
  const env = userEnvironment(draft);
  const args = [
    "service",
    "generate",
    "--people",
    String(people),
    "--seed",
    String(SEED),
    "--data",
    draft,
  ];
  const { ms, peakMb } = await headcount(args, { env, watch: true });
  renameSync(draft, folder);
  return { folder, seconds: ms / 1_000, peakMb };
}

/** A data folder with people of a kind of strangers.mjs, imported once. */
export async function importedFolder(people, kind) {
  const { DATASET_FORMAT: FORMAT } = await import(join(ROOT, "dist/dataset/layout.js"));
  const folder = join(CACHE, `${kind}-${people}-format-${FORMAT}`);
  if (existsSync(join(folder, "dataset", "CURRENT"))) return { folder };
  const draft = `${folder}.draft`;
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { recursive: true });
  const args = ["service", "import", "--people", await strangers(people, kind), "--data", draft];
  await headcount(args, { env: userEnvironment(draft) });
  renameSync(draft, folder);
  return { folder };
}

/** What makes of the filters of a request the canonical ones that an engine takes; throws where they are refused. */
export async function canonicaliser() {
  const { checkFilters } = await import(join(ROOT, "dist/shared/contract/filters.js"));
  return (filters) => {
    const check = checkFilters(filters);
    if (check.ok) return check.canonical;
    throw new Error(
      `${JSON.stringify(filters)}: ${check.issues.map(({ message }) => message).join("; ")}`,
    );
  };
}

/** A fresh ledger beside a copy of the dataset; the copy shares the blocks of the original where the file system can. */
export async function prepareDataFolder(people, folder) {
  const { folder: made } = await generated(people);
  cpSync(join(made, "dataset"), join(folder, "dataset"), { recursive: true, mode: 2 });
}

/** A service over a data folder, with a key, credits without end and no limits. @param options.node arguments of Node itself */
export async function startService(folder, { args = [], node = [], extra = {} } = {}) {
  const env = userEnvironment(folder);
  const admin = (...words) =>
    headcount(["service", ...words, "--data", folder], { env, capture: true });
  const { stdout } = await admin("keys", "create", "--name", "bench", "--json");
  const { key } = JSON.parse(stdout);
  await admin("credits", "add", "1000000000");
  await admin("plan", "set", "per-minute=1000000000", "per-day=1000000000");
  const serve = [
    ...node,
    HEADCOUNT,
    "serve",
    "--port",
    "0",
    "--data",
    folder,
    "--json",
    "--quiet",
    ...args,
  ];
  const { url, pid, stop } = await startServer(process.execPath, serve, {
    env: { ...env, ...extra },
  });
  return { url, key, pid, stop, folder, env };
}
