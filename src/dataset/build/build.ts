import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { DuckDBConnection } from "@duckdb/node-api";
import { ROW_INDEXES, type RowIndex } from "../columns.ts";
import { machineResources, scalar, startDuckDb, toNumber } from "../duckdb.ts";
import { ColumnWriter } from "../embedded/column-writer.ts";
import { RecordWriter } from "../embedded/record-writer.ts";
import {
  DATASET_FORMAT,
  type DatasetMeta,
  FILES,
  newDraftName,
  publish,
  removeUnused,
  withBuildLock,
} from "../layout.ts";
import { noteLeftOut, readHiddenPeople, removeSuppressed, suppressionDir } from "../suppression.ts";
import type { PeopleDraft } from "./lines.ts";
import { keyCompanies, linkCompanies } from "./link-companies.ts";
import { addNormalForms } from "./normal-sql.ts";
import type { BuildOptions, BuildProgress } from "./options.ts";
import { orderPeople, writeCodes } from "./order-people.ts";
import { PEOPLE_A_ROUND, writeCompanies, writePeopleKeys, writeRecords } from "./write-records.ts";

const KEPT = 1;

export interface VersionSource {
  readonly version: string;
  /** Asked once the lock is held: true where another process has done the work meanwhile. */
  readonly isDone?: () => Promise<boolean>;
}

/** What a build starts from. */
export interface BuildSource extends VersionSource {
  /**
   * Fills `staged_people` (and `place`, a row's own number) and `staged_companies`.
   * @returns what the source is called; undefined where no version is to be made of it
   */
  readonly stage: (connection: DuckDBConnection, scratch: string) => Promise<string | undefined>;
  /** The table behind `staged_people` where that is a view. */
  readonly rows?: string;
}

const INTERRUPT_EVERY_MS = 50;

/** Builds a version beside the current one and publishes it. @returns undefined where none is to be made */
export const buildDataset = (source: BuildSource, options: BuildOptions): Promise<DatasetMeta | undefined> =>
  buildVersion(source, options, (draft) => writeVersion(source, draft, options));

/** @param write fills the folder of a draft; undefined where it is to be none */
export async function buildVersion(
  { isDone }: VersionSource,
  options: BuildOptions,
  write: (draft: string) => Promise<DatasetMeta | undefined>,
): Promise<DatasetMeta | undefined> {
  await mkdir(options.datasetDir, { recursive: true, mode: 0o700 });
  return withBuildLock(options, async () => {
    if (await isDone?.()) return undefined;
    await removeUnused(options.datasetDir);
    const draft = join(options.datasetDir, newDraftName());
    await mkdir(draft, { mode: 0o700 });
    try {
      const meta = await write(draft);
      if (meta === undefined) return undefined;
      options.signal?.throwIfAborted();
      await publish(options.datasetDir, draft, meta, options.keep ?? KEPT);
      await removeUnused(options.datasetDir);
      return meta;
    } finally {
      // By now it has its place as a version, where it became one.
      await rm(draft, { recursive: true, force: true });
    }
  });
}

async function writeVersion(
  source: BuildSource,
  draft: string,
  options: BuildOptions,
): Promise<DatasetMeta | undefined> {
  const scratch = join(draft, "scratch");
  await mkdir(scratch, { mode: 0o700 });
  const resources = options.resources ?? machineResources();
  // In memory: on disk DuckDB would spend its time packing what is read once. What does not fit is spilled.
  const instance = await startDuckDb(resources, scratch);
  const connection = await instance.connect();
  const beside = await instance.connect();
  const stop = new AbortController();
  const interrupts = interruptedBy([connection, beside], stop.signal);
  const onAbort = (): void => stop.abort(options.signal?.reason);
  options.signal?.addEventListener("abort", onAbort, { once: true });
  const writer = new RecordWriter(draft, resources.threads);
  stop.signal.addEventListener("abort", () => void writer.stop(), { once: true });
  try {
    await addNormalForms(connection, beside);
    options.onProgress?.({ phase: "read", done: 0, total: 0 });
    const name = await source.stage(connection, scratch);
    options.signal?.throwIfAborted();
    if (name === undefined) {
      await writer.abandon();
      return undefined;
    }
    const companies = toNumber(await scalar(connection, "SELECT count(*) FROM staged_companies"));
    const linked = await withoutHidden(connection, beside, source, options);
    const people = toNumber(await scalar(connection, "SELECT count(*) FROM staged_people"));
    const tell = (phase: BuildProgress["phase"]) => (done: number) =>
      options.onProgress?.({ phase, done, total: people });
    const columns = await ColumnWriter.create(join(draft, FILES.columns), people);
    const writing: PeopleDraft = { connection, writer, columns, people, scratch, signal: stop.signal };
    await writePeople(writing, { beside, stop, tell, linked, peopleARound: options.peopleARound });
    tell("lookups")(people);
    await writer.finish();
    return {
      format: DATASET_FORMAT,
      version: source.version,
      people,
      companies,
      created_at: new Date(options.now()).toISOString(),
      source: name,
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

/** Takes out of the stage whom the list names. @returns what links people to their companies, where that is not done */
async function withoutHidden(
  connection: DuckDBConnection,
  beside: DuckDBConnection,
  { rows = "staged_people", version }: BuildSource,
  { datasetDir, suppression = suppressionDir(datasetDir) }: BuildOptions,
): Promise<() => Promise<void>> {
  const list = await readHiddenPeople(suppression);
  const link = async (on: DuckDBConnection): Promise<void> => {
    await keyCompanies(on);
    await linkCompanies(on);
  };
  if (list.isEmpty) return () => link(beside);
  // Whom it names is known with their companies only.
  await link(connection);
  await removeSuppressed(connection, rows, "SELECT id, network_url, company_domain FROM linked_people", list);
  // Of a version that is not published yet: until then the one that is served counts as built without anybody.
  await noteLeftOut(datasetDir, version, list);
  return () => Promise.resolve();
}

/** Headlines are long: their sort wants the room that records leave on the disk. */
const KEYS_BESIDE: readonly RowIndex[] = ["name", "address"];

interface PeopleWriting {
  readonly beside: DuckDBConnection;
  readonly stop: AbortController;
  readonly tell: (phase: BuildProgress["phase"]) => (done: number) => void;
  readonly linked: () => Promise<void>;
  readonly peopleARound: number | undefined;
}

/** Two statements of DuckDB at a time: one alone leaves threads idle. */
async function writePeople(
  writing: PeopleDraft,
  { beside, stop, tell, linked, peopleARound = PEOPLE_A_ROUND }: PeopleWriting,
): Promise<void> {
  const { columns, people } = writing;
  const onSorted = tell("sort");
  onSorted(0);
  const ordered = orderPeople(writing);
  const counted = async (): Promise<void> => {
    await ordered;
    await writeCodes(writing);
    await writePeopleKeys(writing, KEYS_BESIDE);
  };
  const shown = async (): Promise<void> => {
    const other = { ...writing, connection: beside };
    await linked();
    await writeCompanies(other);
    await ordered;
    onSorted(people);
    await writeRecords(other, peopleARound, tell("records"));
    const others = ROW_INDEXES.filter((index) => !KEYS_BESIDE.includes(index));
    await writePeopleKeys(other, others);
  };
  try {
    await together(stop, counted(), shown());
    await columns.finish();
  } catch (error) {
    await columns.abandon();
    throw error;
  }
}

/** Waits for works beside each other. Where one fails the others are stopped, and none is at work when this throws. */
async function together(stop: AbortController, ...works: readonly Promise<unknown>[]): Promise<void> {
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
