import { mkdir, readFile, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { InputError } from "../../../shared/tables/input-file.ts";
import {
  checkRefused,
  type ImportInput,
  type ImportReport,
  readMap,
  TooManyRefusedError,
} from "../../build/import.ts";
import { NO_MAP } from "../../build/import-map.ts";
import type { BuildOptions } from "../../build/options.ts";
import { type RejectFile, rejectFileAt } from "../../build/rejects.ts";
import { newVersion, withBuildLock } from "../../layout.ts";
import { readHiddenPeople, suppressionDir } from "../../suppression.ts";
import { parseClickHouseAddress } from "../address.ts";
import { type ClickHouseServers, closeAll, connectClickHouse } from "../connect.ts";
import { Load } from "./load.ts";
import { type LoadPart, PartReader } from "./parts.ts";
import { LoadServers, STATEMENT_MS } from "./servers.ts";
import {
  beginLoad,
  clearedReports,
  departmentsReport,
  fingerprintOf,
  type LoadState,
  openLoad,
  type PartReport,
  tableReport,
} from "./state.ts";

/** Another way to load has another number: what it has begun is not gone on with. */
const LOAD_FORMAT = 4;

/**
 * `datasetDir` is a folder for what is known of a load
 * that is under way; it is small, and goes with the load.
 */
export type LoadBuildOptions = BuildOptions & { readonly rangeRows?: number };

/**
 * A load that was cut off is gone on with.
 * @throws InputError, TooManyRefusedError, DatasetUnavailableError
 */
export async function importIntoClickHouse(
  address: string,
  password: string,
  input: ImportInput,
  options: LoadBuildOptions,
): Promise<ImportReport> {
  const { urls, database, cluster, replicated } = parseClickHouseAddress(address);
  if (urls.length > 1 && cluster === undefined && !replicated)
    throw new InputError(
      "several servers hold a dataset as a cluster: name it, ?cluster=NAME, in the address",
    );

  const servers = await connectClickHouse(address, password, STATEMENT_MS);
  try {
    return await loadIntoClickHouse(servers, [...urls, database].join(" "), input, options);
  } finally {
    await closeAll(servers);
  }
}

/** The same over open connections. @param place what tells these servers from others */
export async function loadIntoClickHouse(
  connected: ClickHouseServers,
  place: string,
  input: ImportInput,
  options: LoadBuildOptions,
): Promise<ImportReport> {
  const { datasetDir, signal } = options;
  await mkdir(datasetDir, { recursive: true, mode: 0o700 });

  return withBuildLock(options, async () => {
    const map = input.map === undefined ? NO_MAP : await readMap(input.map, input.cwd);
    const suppression = await readHiddenPeople(options.suppression ?? suppressionDir(datasetDir));
    const reader = await PartReader.open({
      input,
      map,
      scratch: join(datasetDir, "scratch"),
      suppression,
      format: connected.dialect.rows,
      build: options,
    });

    try {
      const parts = await reader.plan();
      const { encoding, skipLines } = input;
      const { digest: suppressed } = suppression;
      const told = { format: LOAD_FORMAT, place, map, encoding, skipLines, suppressed };
      const fingerprint = fingerprintOf({ ...told, parts: await filesOf(parts) });
      return await loadParts(connected, { parts, reader, fingerprint, input }, options);
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    } finally {
      await reader.close();
    }
  });
}

/** What tells the files of a load from others, or from themselves when they are written anew. */
const filesOf = (parts: readonly LoadPart[]) =>
  Promise.all(
    parts.map(async ({ kind, plan: { file } }) => {
      const { size, mtimeMs } = await stat(file.path);
      return [kind, file.path, size, mtimeMs];
    }),
  );

interface Loading extends Pick<Run, "parts" | "input"> {
  readonly reader: PartReader;
  readonly fingerprint: string;
}

/** Goes on with a load of the same files for the same servers, else begins one. */
async function loadParts(
  connected: ClickHouseServers,
  { parts, reader, fingerprint, input }: Loading,
  { datasetDir, now, signal, onProgress, rangeRows }: LoadBuildOptions,
): Promise<ImportReport> {
  const loadOf = (state: LoadState): Load =>
    new Load({
      servers: new LoadServers(connected, state.version, signal),
      state,
      parts,
      reader,
      now,
      onProgress,
      ...(rangeRows && { rangeRows }),
    });

  const folder = join(datasetDir, input.dryRun ? "dry-run" : "load");
  const begun = await openLoad(folder);
  const rejects = await rejectFile(input, parts, datasetDir);
  const isSame = begun?.fingerprint === fingerprint;
  const again = begun && (await goOn(begun, isSame, loadOf(begun)));
  const version = newVersion(now()).replace(/\W/g, "_");
  const state = again ?? (await beginLoad(folder, fingerprint, version, parts.length));
  const load = loadOf(state);

  try {
    if (again === undefined) await load.create();
    return await run({ load, state, parts, input, rejects });
  } catch (error) {
    if (signal?.aborted) await load.endRunning().catch(() => undefined);
    else if (error instanceof TooManyRefusedError || error instanceof InputError)
      await load.giveUp();
    throw error;
  } finally {
    await rejects.abandon();
  }
}

/**
 * @returns the load, where it was begun with the same
 * files for the same servers; else nothing is left of it
 */
async function goOn(begun: LoadState, isSame: boolean, load: Load): Promise<LoadState | undefined> {
  await load.endRunning();
  const isWhole = begun.isDone("publish");
  if (isSame && (isWhole || (await load.isThere()))) return begun;
  // What may be served already is no draft any more.
  await (isWhole ? load.publish() : load.drop());
  return undefined;
}

interface Run {
  readonly load: Load;
  readonly state: LoadState;
  readonly parts: readonly LoadPart[];
  readonly input: ImportInput;
  readonly rejects: RejectFile;
}

async function run({ load, state, parts, input, rejects }: Run): Promise<ImportReport> {
  const isWhole = state.isDone("publish");
  if (!isWhole) {
    await load.stage();
    await load.refuseTwins();
  }

  for (const { number } of parts) await copyRejects(state.rejects(number), rejects);

  const reports = parts.map(({ number, kind }) => ({
    kind,
    report: state.part(number) as PartReport,
  }));
  const of = (wanted: string): PartReport[] =>
    reports.filter(({ kind }) => kind === wanted).map(({ report }) => report);
  const all = [...of("people"), ...of("companies")];
  const people = tableReport(of("people"));
  const companies = tableReport(of("companies"));
  await checkRefused(input, people, companies, rejects);
  const derived = await load.companies(!input.dryRun);

  if (!isWhole && !input.dryRun) {
    await load.hide([...new Set(all.flatMap(({ hiddenDomains }) => hiddenDomains))]);
    await load.people();
    await state.setDone("publish");
  }

  const report = {
    version: state.version,
    people,
    companies: { ...companies, derived },
    departments: departmentsReport(of("people")),
    cleared: clearedReports(all),
    rejects: await rejects.finish(),
  };

  await (input.dryRun ? load.drop() : load.publish());
  await state.remove();

  return report;
}

async function rejectFile(
  input: ImportInput,
  parts: readonly LoadPart[],
  datasetDir: string,
): Promise<RejectFile> {
  const inputs = parts.map(({ plan }) => plan.file.path);
  if (input.map !== undefined) inputs.push(resolve(input.cwd, input.map));
  return rejectFileAt(resolve(input.cwd, input.rejects), datasetDir, inputs);
}

async function copyRejects(from: string, to: RejectFile): Promise<void> {
  const text = await readFile(from, "utf8").catch(() => "");
  for (const line of text.split("\n")) if (line !== "") await to.write(JSON.parse(line));
}
