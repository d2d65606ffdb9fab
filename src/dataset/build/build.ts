import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { DuckDBConnection } from "@duckdb/node-api";
import { machineResources, type Resources, scalar, startDuckDb, toNumber } from "../duckdb.ts";
import { RecordWriter } from "../embedded/record-writer.ts";
import { type DatasetMeta, FILES, FORMAT, newDraftName, publish, removeUnused, withBuildLock } from "../layout.ts";
import { noteLeftOut, readSuppression, removeSuppressed, suppressionDir } from "../suppression.ts";
import { keyCompanies, LINK_KEY, linkCompanies } from "./link-companies.ts";
import { addNormalForms } from "./normal-sql.ts";
import { sortKeys, sortPeople } from "./sort-people.ts";
import { writeColumns } from "./write-columns.ts";
import { type Writing, writeCompanies, writePeople } from "./write-records.ts";

/** How far a build is: in bytes of the files while reading, else in people. `total` is 0 where it is not known yet. */
export interface BuildProgress {
  /** `copy` is into ClickHouse, after all others. */
  readonly phase: "read" | "sort" | "records" | "lookups" | "copy";
  readonly done: number;
  readonly total: number;
}

export interface BuildOptions {
  readonly datasetDir: string;
  readonly now: () => number;
  readonly sleep: (ms: number) => Promise<void>;
  readonly resources?: Resources;
  readonly onProgress?: (progress: BuildProgress) => void;
  readonly signal?: AbortSignal;
  /** How many people are sorted in one part. Default: as many as the memory is enough for. */
  readonly peopleAtOnce?: number;
  /** The folder of the list of people who are left out. Default: that of the dataset. */
  readonly suppression?: string;
  /** How many versions that were served before are kept to go back to. Default: {@link KEPT}. */
  readonly keep?: number;
}

/** Versions kept beside the one that is served: a bad import can be taken back. */
export const KEPT = 1;

/** What a build starts from: fills `staged_people` (columns as the records, and PERSON_FORMS) and `staged_companies` (as the records). */
export interface Source {
  readonly name: string;
  /** Where the name is known after staging only. */
  readonly nameOf?: () => string;
  readonly version: string;
  readonly stage: (connection: DuckDBConnection, scratch: string) => Promise<void>;
  /** The table behind `staged_people` where that is a view. */
  readonly rows?: string;
  /** Asked once the lock is held: true where another process has done the work meanwhile. */
  readonly isDone?: () => Promise<boolean>;
}

const INTERRUPT_EVERY_MS = 50;

/** Builds a version beside the current one and publishes it at the end, one build at a time. @returns undefined where `isDone` said so */
export async function buildDataset(source: Source, options: BuildOptions): Promise<DatasetMeta | undefined> {
  await mkdir(options.datasetDir, { recursive: true, mode: 0o700 });
  return withBuildLock(
    options.datasetDir,
    options.sleep,
    async () => {
      if (await source.isDone?.()) return undefined;
      await removeUnused(options.datasetDir);
      const draft = join(options.datasetDir, newDraftName());
      await mkdir(draft, { mode: 0o700 });
      try {
        const meta = await writeVersion(source, draft, options);
        options.signal?.throwIfAborted();
        await publish(options.datasetDir, draft, meta, options.keep ?? KEPT);
        await removeUnused(options.datasetDir);
        return meta;
      } catch (error) {
        await rm(draft, { recursive: true, force: true });
        throw error;
      }
    },
    options.signal,
  );
}

async function writeVersion(source: Source, draft: string, options: BuildOptions): Promise<DatasetMeta> {
  const scratch = join(draft, "scratch");
  await mkdir(scratch, { mode: 0o700 });
  const resources = options.resources ?? machineResources();
  // Tables on the way are in memory: on disk DuckDB would spend most of the time on packing what is read once. What does not fit is spilled.
  const instance = await startDuckDb(resources, scratch);
  const connection = await instance.connect();
  const beside = await instance.connect();
  const stop = new AbortController();
  const interrupts = interruptedBy([connection, beside], stop.signal);
  const onAbort = (): void => stop.abort(options.signal?.reason);
  options.signal?.addEventListener("abort", onAbort, { once: true });
  const writer = new RecordWriter(draft, resources.threads);
  stop.signal.addEventListener("abort", () => void writer.stop(), { once: true });
  const writing: Writing = { connection: beside, writer, scratch, signal: stop.signal };
  try {
    await addNormalForms(connection);
    options.onProgress?.({ phase: "read", done: 0, total: 0 });
    await source.stage(connection, scratch);
    options.signal?.throwIfAborted();
    const companies = toNumber(await scalar(connection, "SELECT count(*) FROM staged_companies"));
    await keyCompanies(connection);
    await linkCompanies(connection);
    await leaveOut(connection, source, options);
    const people = toNumber(await scalar(connection, "SELECT count(*) FROM staged_people"));
    const tell = (phase: BuildProgress["phase"]) => (done: number) =>
      options.onProgress?.({ phase, done, total: people });
    tell("sort")(0);
    const sorting = async (): Promise<void> => {
      await sortPeople(connection, people, { ...options, memoryBytes: resources.memoryBytes, onDone: tell("sort") });
      await connection.run(
        source.rows === undefined ? "DROP TABLE staged_people" : `DROP VIEW staged_people; DROP TABLE ${source.rows}`,
      );
      await sortKeys(connection);
    };
    await together(stop, sorting(), writeCompanies(writing));
    const tables = async (): Promise<void> => {
      await writeColumns(connection, join(draft, FILES.columns), people, stop.signal);
    };
    await together(stop, tables(), writePeople(writing, people, tell("records")));
    tell("lookups")(people);
    await writer.finish();
    return {
      format: FORMAT,
      version: source.version,
      people,
      companies,
      created_at: new Date(options.now()).toISOString(),
      source: source.nameOf?.() ?? source.name,
    };
  } catch (error) {
    await writer.abandon();
    options.signal?.throwIfAborted();
    throw error;
  } finally {
    options.signal?.removeEventListener("abort", onAbort);
    interrupts.stop();
    instance.closeSync();
    await rm(scratch, { recursive: true, force: true });
  }
}

/** Waits for works that go on beside each other. Where one fails the others are stopped, and none is at work any more when this throws. */
async function together(stop: AbortController, ...works: readonly Promise<void>[]): Promise<void> {
  const failures: unknown[] = [];
  const failed = (error: unknown): void => {
    failures.push(error);
    stop.abort(error);
  };
  await Promise.all(works.map((work) => work.catch(failed)));
  if (failures.length > 0) throw failures[0];
}

/** A statement that has not begun yet is not interrupted, so this goes on until it is stopped. */
export function interruptedBy(connections: readonly DuckDBConnection[], signal: AbortSignal): { stop(): void } {
  let timer: NodeJS.Timeout | undefined;
  const interrupt = (): void => {
    for (const connection of connections) connection.interrupt();
  };
  const begin = (): void => {
    interrupt();
    timer = setInterval(interrupt, INTERRUPT_EVERY_MS);
  };
  signal.addEventListener("abort", begin, { once: true });
  return {
    stop() {
      signal.removeEventListener("abort", begin);
      clearInterval(timer);
    },
  };
}

/** Takes the suppressed out, whatever they come from. By domain once it is known which company each person works for. */
async function leaveOut(
  connection: DuckDBConnection,
  source: Source,
  { datasetDir, suppression }: BuildOptions,
): Promise<void> {
  const list = await readSuppression(suppression ?? suppressionDir(datasetDir));
  const rows = `SELECT s.id, s.network_url, coalesce(s.company_domain, k.domain)
    FROM (SELECT *, ${LINK_KEY} AS link_key FROM staged_people) s LEFT JOIN company_of k ON k.link_key = s.link_key`;
  await removeSuppressed(connection, source.rows ?? "staged_people", rows, list);
  // Of a version that is not published yet: until then the one that is served counts as built without anybody.
  if (!list.isEmpty) await noteLeftOut(datasetDir, source.version, list);
}
