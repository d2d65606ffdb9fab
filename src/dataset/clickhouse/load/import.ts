import { mkdir, readFile, rm, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { DuckDBConnection } from "@duckdb/node-api";
import type { Suppression } from "../../../shared/contract/suppression.ts";
import { InputError } from "../../../shared/tables/input-file.ts";
import { inDuckDb, type Room, stageSource } from "../../build/build.ts";
import {
  filesToImport,
  type ImportInput,
  type ImportReport,
  importedFiles,
} from "../../build/import.ts";
import { findFiles } from "../../build/import-files.ts";
import { linkCompanies } from "../../build/link-companies.ts";
import type { BuildOptions } from "../../build/options.ts";
import { withBuildLock } from "../../layout.ts";
import { readHiddenPeople, removeSuppressed, suppressionDir } from "../../suppression.ts";
import { parseClickHouseAddress } from "../address.ts";
import { type ClickHouseServers, closeAll, connectClickHouse } from "../connect.ts";
import { Load } from "./load.ts";
import { writePieces } from "./pieces.ts";
import { LoadServers, STATEMENT_MS } from "./servers.ts";
import { fingerprintOf, forgetLoad, keepLoad, type LoadState, readLoad } from "./state.ts";

/** Another way to load has another number: what it has begun is not gone on with. */
const LOAD_FORMAT = 5;
const PIECE_ROWS = 500_000;

/** `datasetDir` is a folder for a load that is under way: its pieces go with it. */
export type LoadBuildOptions = BuildOptions & {
  /** Rows that are sent, and missed, together. Default 500,000. */
  readonly pieceRows?: number;
};

/**
 * The dataset is made here, once, by the rules of every import, and sent in public order.
 * A load that was cut off while it was sent is gone on with.
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
  const { datasetDir, now, onProgress, signal } = options;
  await mkdir(datasetDir, { recursive: true, mode: 0o700 });

  return withBuildLock(options, async () => {
    const scratch = join(datasetDir, "scratch");
    await rm(scratch, { recursive: true, force: true });
    if (input.dryRun) return await tryOut(scratch, input, options);

    const hidden = await readHiddenPeople(options.suppression ?? suppressionDir(datasetDir));
    const folder = join(datasetDir, "load");
    const serversOf = ({ report }: LoadState) => new LoadServers(connected, report.version, signal);
    const loadOf = (state: LoadState): Load =>
      new Load({ servers: serversOf(state), state, folder, now, onProgress });

    const begun = await readLoad(folder);
    if (begun !== undefined) await serversOf(begun).endRunning();

    const state = await inDuckDb(scratch, options, async (room) => {
      const fingerprint = await fingerprintFor(room.connection, place, input, {
        suppressed: hidden.digest,
        pieceRows: options.pieceRows,
      });
      if (begun?.fingerprint === fingerprint) return begun;
      // What may be served already is no draft any more.
      if (begun !== undefined)
        await (begun.isWhole ? loadOf(begun).publish() : loadOf(begun).drop());
      await forgetLoad(folder);
      return await make(room, { fingerprint, folder, input, hidden }, options);
    });

    const load = loadOf(state);
    try {
      if (!state.isWhole) {
        await load.send();
        keepLoad(folder, { ...state, isWhole: true });
      }
      await load.publish();
    } catch (error) {
      if (signal?.aborted)
        await serversOf(state)
          .endRunning()
          .catch(() => undefined);
      else if (error instanceof InputError) {
        await load.drop();
        await forgetLoad(folder);
      }
      throw error;
    }

    await forgetLoad(folder);
    return state.report;
  });
}

const tryOut = (
  scratch: string,
  input: ImportInput,
  options: BuildOptions,
): Promise<ImportReport> =>
  inDuckDb(scratch, options, async (room) => {
    const source = await filesToImport(input, options);
    await stageSource(source, room, options);
    return source.report();
  });

interface Making {
  readonly fingerprint: string;
  readonly folder: string;
  readonly input: ImportInput;
  readonly hidden: Suppression;
}

async function make(
  room: Room,
  { fingerprint, folder, input, hidden }: Making,
  options: LoadBuildOptions,
): Promise<LoadState> {
  const source = await filesToImport(input, options);
  await stageSource(source, room, options);
  await linkCompanies(room.connection);
  const suppressed = hidden.isEmpty
    ? 0
    : await removeSuppressed(room.connection, "raw_people", hidden);

  const { pieceRows = PIECE_ROWS } = options;
  const sizes = await writePieces(room, folder, pieceRows);
  // A version is part of the names of tables.
  const version = source.version.replace(/\W/g, "_");
  const report = { ...source.report(), suppressed, version };
  return keepLoad(folder, { ...sizes, fingerprint, report, isWhole: false });
}

/** What tells a load from another: where it goes, its files as they are, and how they are read. */
async function fingerprintFor(
  connection: DuckDBConnection,
  place: string,
  input: ImportInput,
  further: { readonly suppressed: string; readonly pieceRows: number | undefined },
): Promise<string> {
  const { companies, cwd, encoding, map, people, skipLines } = input;
  const files = await findFiles(connection, importedFiles(input), cwd);

  return fingerprintOf({
    format: LOAD_FORMAT,
    place,
    encoding,
    skipLines,
    ...further,
    map: map && (await readFile(resolve(cwd, map), "utf8").catch(() => undefined)),
    files: await Promise.all(
      files.map(async ({ path }) => {
        const { size, mtimeMs } = await stat(path);
        return [path, size, mtimeMs];
      }),
    ),
    tables: [people.length, companies.length],
  });
}
