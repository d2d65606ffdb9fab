import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { DuckDBConnection, DuckDBDataChunk } from "@duckdb/node-api";
import {
  FILTER_COLUMNS,
  NORMAL_COLUMNS,
  NUMBER_COLUMNS,
} from "../../shared/contract/conditions.ts";
import { isPlaced, ROW_INDEXES, type RowIndex, SORT_KEYS } from "../columns.ts";
import {
  literal,
  machineResources,
  type Resources,
  scalar,
  startDuckDb,
  told,
  toNumber,
} from "../duckdb.ts";
import { type ColumnValues, ColumnWriter, codesFor } from "../embedded/column-writer.ts";
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
import { eachPiece, type PeopleDraft } from "./lines.ts";
import { linkCompanies } from "./link-companies.ts";
import { addNormalForms } from "./normal-sql.ts";
import type { BuildOptions, BuildProgress } from "./options.ts";
import { PEOPLE_A_ROUND, writeCompanies, writePeopleKeys, writeRecords } from "./write-records.ts";

const KEPT = 1;

export interface VersionSource {
  readonly version: string;
  /** Asked once the lock is held: true where another process has done the work meanwhile. */
  readonly isDone?: () => Promise<boolean>;
}

export interface BuildSource extends VersionSource {
  /**
   * Fills `staged_people` (and `place`, a row's own number) and `staged_companies`.
   * @returns what the source is called; undefined where no version is to be made of it
   */
  readonly stage: (connection: DuckDBConnection, scratch: string) => Promise<string | undefined>;
  /** The table behind `staged_people` where that is a view. */
  readonly rows?: string;
  /** What the stage takes in memory, about: beyond what DuckDB has of it, it is kept in a file. */
  readonly bytes: (connection: DuckDBConnection) => Promise<number>;
}

const INTERRUPT_EVERY_MS = 50;

/**
 * Builds a version beside the current one and publishes it.
 * @returns undefined where none is to be made
 */
export const buildDataset = (
  source: BuildSource,
  options: BuildOptions,
): Promise<DatasetMeta | undefined> =>
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

const writeVersion = (
  source: BuildSource,
  draft: string,
  options: BuildOptions,
): Promise<DatasetMeta | undefined> =>
  inDuckDb(join(draft, "scratch"), options, async (room) => {
    const { connection, scratch, resources, stop } = room;
    const writer = await RecordWriter.create(draft, resources.threads);
    stop.signal.addEventListener("abort", () => void writer.stop(), { once: true });

    try {
      const name = await stageSource(source, room, options);
      if (name === undefined) {
        await writer.abandon();
        return undefined;
      }

      const companies = toNumber(await scalar(connection, "SELECT count(*) FROM staged_companies"));
      const linked = await withoutHidden(room, source, options);
      const people = toNumber(await scalar(connection, "SELECT count(*) FROM staged_people"));
      const tell = (phase: BuildProgress["phase"]) => (done: number) =>
        options.onProgress?.({ phase, done, total: people });
      const columns = await ColumnWriter.create(join(draft, FILES.columns), people);

      const writing: PeopleDraft = {
        connection,
        writer,
        columns,
        people,
        scratch,
        signal: stop.signal,
      };
      const { peopleARound } = options;
      await writePeople(writing, { beside: room.beside, stop, tell, linked, peopleARound });
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
      throw error;
    }
  });

/** Where a dataset is put together. Two statements at a time: one alone leaves threads idle. */
export interface Room {
  readonly connection: DuckDBConnection;
  readonly beside: DuckDBConnection;
  readonly scratch: string;
  readonly resources: Resources;
  /** Ends what is at work; the signal of the options does it too. */
  readonly stop: AbortController;
}

/** DuckDB in a folder that is made for `work`, and gone after it. */
export async function inDuckDb<Result>(
  scratch: string,
  { resources = machineResources(), signal }: Pick<BuildOptions, "resources" | "signal">,
  work: (room: Room) => Promise<Result>,
): Promise<Result> {
  await mkdir(scratch, { mode: 0o700 });
  // Whoever waits for a statement works at it too, and takes a
  // core whole where there is nothing left to do: so one fewer.
  const instance = await startDuckDb(
    { ...resources, threads: Math.max(1, resources.threads - 1) },
    scratch,
  );
  const connection = await instance.connect();
  const beside = await instance.connect();
  const stop = new AbortController();
  const interrupts = interruptedBy([connection, beside], stop.signal);
  const onAbort = (): void => stop.abort(signal?.reason);
  signal?.addEventListener("abort", onAbort, { once: true });

  try {
    return await work({ connection, beside, scratch, resources, stop });
  } catch (error) {
    signal?.throwIfAborted();
    throw told(error);
  } finally {
    signal?.removeEventListener("abort", onAbort);
    interrupts.stop();
    instance.closeSync();
    await rm(scratch, { recursive: true, force: true });
  }
}

/** @returns what the source is called; undefined where nothing is to be made of it */
export async function stageSource(
  source: BuildSource,
  room: Room,
  { onProgress, signal }: BuildOptions,
): Promise<string | undefined> {
  const { beside, connection, resources, scratch } = room;
  const bytes = await source.bytes(connection);
  // With more an import takes as long. A file takes longer; some 2.5 M people are in memory.
  const most = 1e9 + (bytes > 2e9 ? bytes / 8 : bytes);
  const memory = Math.floor(Math.min(resources.memoryBytes, most));
  await connection.run(`SET memory_limit = '${memory}B'`);
  if (bytes > memory) await stageInFile(room);
  await addNormalForms(connection, beside);
  onProgress?.({ phase: "read", done: 0, total: 0 });
  const name = await source.stage(connection, scratch);
  signal?.throwIfAborted();
  return name;
}

/**
 * Tables in memory are written out anew each time that they make room; those of a file once,
 * packed, which costs more than it saves where all fits.
 */
async function stageInFile({ beside, connection, scratch }: Room): Promise<void> {
  const path = literal(join(scratch, "stage.duckdb"));
  await connection.run(`ATTACH ${path} AS stage (RECOVERY_MODE no_wal_writes); USE stage`);
  await beside.run("USE stage");
}

/**
 * Takes out of the stage whom the list names.
 * @returns what links people to their companies, where that is not done
 */
async function withoutHidden(
  { connection, beside }: Room,
  { rows = "staged_people", version }: BuildSource,
  { datasetDir, suppression = suppressionDir(datasetDir) }: BuildOptions,
): Promise<() => Promise<void>> {
  const list = await readHiddenPeople(suppression);
  if (list.isEmpty) return () => linkCompanies(beside);

  // Whom it names is known with their companies only.
  await linkCompanies(connection);
  await removeSuppressed(connection, rows, list);
  // Of a version that is not published yet: until then the
  // one that is served counts as built without anybody.
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

/**
 * Waits for works beside each other. Where one fails the
 * others are stopped, and none is at work when this throws.
 */
async function together(
  stop: AbortController,
  ...works: readonly Promise<unknown>[]
): Promise<void> {
  const failures: unknown[] = [];
  const failed = (error: unknown): void => {
    failures.push(error);
    stop.abort(error);
  };
  await Promise.all(works.map((work) => work.catch(failed)));
  if (failures.length > 0) throw failures[0];
}

/** A statement that has not begun yet is not interrupted, so this goes on until it is stopped. */
function interruptedBy(
  connections: readonly DuckDBConnection[],
  signal: AbortSignal,
): { stop(): void } {
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

/** Each pass costs a call for each 2,048 people; each column 1 to 4 bytes a person. */
const COLUMNS_A_PASS = 5;

/**
 * `positions`, of which many tables are made in the order of people:
 * sorted by codes, so that no texts are moved. A place is the number
 * of a staged row, a position (`rid`) that of a person in the dataset.
 */
async function orderPeople(writing: PeopleDraft): Promise<void> {
  const { connection } = writing;
  const keys = await codesOf(writing, SORT_KEYS);
  const codes = keys.map(({ code, column }) => `${code} AS ${column}_code`);
  const order = [...keys.map(({ column }) => `${column}_code`), "id"].join(", ");

  await connection.run(`CREATE TABLE positions AS
    SELECT * EXCLUDE (id), (row_number() OVER (ORDER BY ${order}) - 1)::UINTEGER AS rid
    FROM (SELECT place, id, ${codes.join(", ")} FROM staged_people ${joined(keys)})`);
  await write(
    writing,
    keys,
    `SELECT rid, ${keys.map(({ column }) => `${column}_code`).join(", ")} FROM positions`,
  );
}

async function writeCodes(writing: PeopleDraft): Promise<void> {
  const others = FILTER_COLUMNS.filter(
    (column) => !isPlaced(column) && !SORT_KEYS.some((key) => key === column),
  );
  for (let from = 0; from < others.length; from += COLUMNS_A_PASS) {
    const codings = await codesOf(writing, others.slice(from, from + COLUMNS_A_PASS));
    const codes = codings.map(({ code }) => code).join(", ");
    const people = `staged_people JOIN positions USING (place) ${joined(codings)}`;
    await write(writing, codings, `SELECT rid, ${codes} FROM ${people}`);
  }
}

interface Coding {
  readonly column: string;
  readonly values: ColumnValues;
  /**
   * In SQL, of a person joined with `codes_COLUMN`: the
   * place of their value among all, after the last for none.
   */
  readonly code: string;
}

const joined = (codings: readonly Coding[]): string =>
  codings
    .map(
      ({ column: name }) =>
        `LEFT JOIN codes_${name} ON codes_${name}.value = staged_people.${name}`,
    )
    .join(" ");

async function codesOf(
  writing: PeopleDraft,
  columns: readonly string[],
): Promise<readonly Coding[]> {
  const { connection } = writing;
  const codings: Coding[] = [];
  for (const column of columns) {
    await connection.run(`CREATE TABLE codes_${column} AS
      SELECT value, form, (dense_rank() OVER forms - 1)::UINTEGER AS code,
        row_number() OVER forms = rank() OVER forms AS is_first
      FROM (SELECT value,
          ${NORMAL_COLUMNS.includes(column) ? "normal_form(value)" : "value"} AS form
        FROM (SELECT DISTINCT ${column} AS value FROM staged_people WHERE ${column} IS NOT NULL))
      WINDOW forms AS (ORDER BY form NULLS LAST)`);

    const forms = `FROM codes_${column} WHERE is_first AND form IS NOT NULL`;
    const reader = await connection.runAndReadAll(
      `SELECT count(*), sum(strlen(form::VARCHAR))::BIGINT ${forms}`,
    );
    const [size = 0, bytes = 0] = (reader.getRowsJS()[0] ?? []).map(toNumber);
    const sorted = `SELECT form ${forms} ORDER BY code`;

    const each: ColumnValues["each"] = (take) => eachPiece(writing, sorted, take);
    codings.push({
      column,
      values: { isNumber: NUMBER_COLUMNS.includes(column), size, bytes, each },
      code: `coalesce(codes_${column}.code, ${size}::UINTEGER)`,
    });
  }

  return codings;
}

async function write(
  writing: PeopleDraft,
  codings: readonly Coding[],
  query: string,
): Promise<void> {
  const { columns, connection, people, signal } = writing;
  const all = codings.map(({ values }) => codesFor(values.size, people));
  for await (const chunk of await connection.stream(query)) {
    signal.throwIfAborted();
    const rids = itemsOf(chunk, 0);
    for (const [index, own] of all.entries()) {
      const words = itemsOf(chunk, index + 1);
      for (let row = 0; row < rids.length; row++) own[rids[row] ?? 0] = words[row] ?? 0;
    }
  }

  for (const [index, { column, values }] of codings.entries()) {
    await columns.add(column, values, all[index] ?? new Uint8Array());
    await connection.run(`DROP TABLE codes_${column}`);
  }
}

/** What a vector of DuckDB's holds, as it lies there. */
function itemsOf(chunk: DuckDBDataChunk, column: number): Uint32Array {
  const vector = chunk.getColumnVector(column);
  if (!("items" in vector && vector.items instanceof Uint32Array))
    throw new Error("DuckDB gave other than codes");
  return vector.items;
}
