import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { DuckDBConnection } from "@duckdb/node-api";
import type { InputFile } from "../../shared/tables/input-file.ts";
import {
  openTextFile,
  readTextRows,
  type TextFile,
  type TextOptions,
} from "../../shared/tables/rows.ts";
import { runWatched, scalar, toNumber } from "../duckdb.ts";
import { findFiles, parquetColumns, unreadableInput } from "./import-files.ts";
import {
  type ColumnMap,
  columnNames,
  findColumns,
  type ImportKind,
  type ImportMap,
  INTEGERS,
  lenientFields,
  type MappedColumns,
  mappedFields,
  proposedMap,
  usableOf,
} from "./import-map.ts";
import { blamedSql, checkedSql, csvRows, ndjsonRows, parquetRows } from "./import-rows.ts";
import type { BuildOptions } from "./options.ts";
import { MOST_EXAMPLES, type Reason, type RejectFile, type RejectPlace } from "./rejects.ts";

const MOST_OF_VALUE = 200;

export interface FileReport {
  readonly file: string;
  readonly format: InputFile["format"];
  readonly rows: number;
  readonly encoding?: string;
  readonly delimiter?: string;
  readonly skipped_lines?: number;
  /** Lines of NDJSON in which half a character became U+FFFD. */
  readonly repaired?: number;
  /** Columns of other names that no field takes: a map may. */
  readonly proposed?: ColumnMap;
}

export interface TableReport {
  readonly files: number;
  readonly rows: number;
  readonly taken: number;
  readonly refused: number;
  readonly reasons: Readonly<Partial<Record<Reason, number>>>;
  readonly examples: readonly RejectPlace[];
  readonly read: readonly FileReport[];
}

export interface Staging {
  readonly connection: DuckDBConnection;
  readonly map: ImportMap;
  readonly scratch: string;
  readonly cwd: string;
  readonly text: TextOptions;
  readonly rejects: RejectFile;
  readonly options: BuildOptions;
}

interface FilePlan {
  readonly file: InputFile;
  readonly columns: MappedColumns;
  readonly text: TextFile | undefined;
  readonly types: ReadonlyMap<string, string>;
  readonly proposed: ColumnMap;
}

/**
 * Reads files into `raw_<kind>` (text as it came, one
 * row a line) and marks in `reason` what is refused.
 */
export async function stageTable(
  staging: Staging,
  kind: ImportKind,
  names: readonly string[],
): Promise<TableReport> {
  const { connection, options } = staging;
  await createRaw(connection, kind);

  const plans = await planFiles(staging, kind, names);
  const total = plans.reduce((sum, { file }) => sum + file.bytes, 0);
  const reports: FileReport[] = [];
  let bytes = 0;
  for (const [index, plan] of plans.entries()) {
    const onBytes = (done: number): void =>
      options.onProgress?.({ phase: "read", done: bytes + done, total });
    reports.push(await stageFile(staging, plan, { kind, index, onBytes }));
    bytes += plan.file.bytes;
    onBytes(0);
  }

  await markDuplicates(connection, kind);
  const rows = reports.reduce((sum, file) => sum + file.rows, 0);
  return { ...(await refusedOf(staging, kind, plans, rows)), files: plans.length, read: reports };
}

async function createRaw(connection: DuckDBConnection, kind: ImportKind): Promise<void> {
  const fields = mappedFields(kind).map((field) => `${field} VARCHAR`);
  for (const field of lenientFields(kind)) {
    fields.push(`${usableOf(field)} ${INTEGERS[kind].includes(field) ? "BIGINT" : "VARCHAR"}`);
  }
  await connection.run(
    `CREATE TABLE raw_${kind} (${fields.join(", ")}, reason VARCHAR, detail VARCHAR, ` +
      "wrong_field VARCHAR, text VARCHAR, file INTEGER, line BIGINT)",
  );
}

/** All headers before the first row: a wrong column is told at once. @throws InputError */
async function planFiles(
  staging: Staging,
  kind: ImportKind,
  names: readonly string[],
): Promise<FilePlan[]> {
  const plans: FilePlan[] = [];
  for (const file of await findFiles(staging.connection, names, staging.cwd)) {
    plans.push(await planFile(staging, kind, file));
  }
  return plans;
}

interface Turn {
  readonly kind: ImportKind;
  readonly index: number;
  readonly onBytes: (done: number) => void;
}

async function stageFile(staging: Staging, plan: FilePlan, turn: Turn): Promise<FileReport> {
  const { kind } = turn;
  const before = await rawRows(staging.connection, kind);
  try {
    const repaired = await (plan.text
      ? stageText(staging, plan, plan.text, turn)
      : stageParquet(staging, plan, turn));
    return fileReport(plan, (await rawRows(staging.connection, kind)) - before, repaired);
  } catch (error) {
    staging.options.signal?.throwIfAborted();
    throw unreadableInput(plan.file, error);
  }
}

const rawRows = async (connection: DuckDBConnection, kind: ImportKind): Promise<number> =>
  toNumber(await scalar(connection, `SELECT count(*) FROM raw_${kind}`));

async function refusedOf(
  staging: Staging,
  kind: ImportKind,
  plans: readonly FilePlan[],
  rows: number,
) {
  const counted = await staging.connection.runAndReadAll(
    `SELECT reason, count(*) FROM raw_${kind} WHERE reason IS NOT NULL GROUP BY 1 ORDER BY 1`,
  );
  const reasons = Object.fromEntries(
    counted.getRowsJS().map(([reason, count]) => [String(reason), toNumber(count)]),
  );
  const examples = await writeRefused(staging, kind, plans);
  const refused = Object.values(reasons).reduce((sum, count) => sum + count, 0);
  return { rows, taken: rows - refused, refused, reasons, examples };
}

function fileReport(
  { file, proposed, text }: FilePlan,
  rows: number,
  repaired: number,
): FileReport {
  return {
    file: file.name,
    format: file.format,
    rows,
    ...(text && { encoding: text.look.encoding }),
    ...(text?.dialect && { skipped_lines: text.dialect.skippedLines }),
    ...(text?.dialect && text.header.length > 1 && { delimiter: text.dialect.delimiter }),
    ...(repaired > 0 && { repaired }),
    ...(Object.keys(proposed).length > 0 && { proposed }),
  };
}

async function planFile(staging: Staging, kind: ImportKind, file: InputFile): Promise<FilePlan> {
  const { connection, map, options } = staging;
  options.signal?.throwIfAborted();

  const isParquet = file.format === "parquet";
  const parquet = isParquet ? await parquetColumns(connection, file) : [];
  const isNamed = columnNames(kind, map[kind]);
  const text = isParquet ? undefined : await openTextFile(file, isNamed, staging.text, options);
  const names = text?.header ?? parquet.map(({ name }) => name);
  const columns = findColumns(kind, map[kind], {
    file: file.name,
    names,
    copies: text?.dialect?.copies,
    nested: file.format === "ndjson",
  });

  const types = new Map(parquet.map(({ name, type }) => [name, type]));
  return { file, columns, text, types, proposed: proposedMap(kind, map[kind], names) };
}

async function stageParquet(
  { connection, map, options }: Staging,
  { file, columns, types }: FilePlan,
  { index, kind, onBytes }: Turn,
): Promise<number> {
  const source = checkedSql(kind, parquetRows(kind, file, columns, types), index, map);
  await runWatched(connection, `INSERT INTO raw_${kind} ${source}`, options.sleep, (part) =>
    onBytes(part * file.bytes),
  );
  return 0;
}

function stageText(
  { connection, scratch, map, options }: Staging,
  { columns }: FilePlan,
  text: TextFile,
  { index, kind, onBytes }: Turn,
): Promise<number> {
  const fields = mappedFields(kind).filter((field) => columns.has(field));
  const places = fields.map((field) => text.header.indexOf(columns.get(field) ?? ""));
  const path = join(scratch, "rows");

  return readTextRows(text, places, { signal: options.signal, onBytes }, async (rows) => {
    const { hasEscapes } = rows;
    await rows.flush(path);
    const source = (text.dialect ? csvRows : ndjsonRows)(kind, {
      path,
      columns,
      header: text.header,
      hasEscapes,
    });
    await connection.run(`INSERT INTO raw_${kind} ${checkedSql(kind, source, index, map)}`);
    await rm(path);
  });
}

async function markDuplicates(connection: DuckDBConnection, kind: ImportKind): Promise<void> {
  const raw = `raw_${kind}`;
  await connection.run(`UPDATE ${raw} SET reason = 'duplicate_id',
    detail = concat(twins.file, ' ', twins.line) FROM (
      SELECT id AS shared, min(rowid) AS first, arg_min(file, rowid) AS file,
        arg_min(line, rowid) AS line
      FROM ${raw} WHERE reason IS NULL GROUP BY id HAVING count(*) > 1) AS twins
    WHERE ${raw}.id = twins.shared AND ${raw}.rowid <> twins.first AND reason IS NULL`);
}

async function writeRefused(
  { connection, rejects }: Staging,
  kind: ImportKind,
  plans: readonly FilePlan[],
): Promise<RejectPlace[]> {
  const fields = mappedFields(kind);
  const members = fields.map((field) => `${field} := ${field}`);
  const value = fields.map((field) => `WHEN '${field}' THEN ${field}`).join(" ");
  const result = await connection.stream(
    `SELECT file, line, reason, detail, text, id,
      to_json(struct_pack(${members.join(", ")}))::VARCHAR, blamed,
      left(CASE blamed ${value} END, ${MOST_OF_VALUE})
     FROM (SELECT *, ${blamedSql(kind)} AS blamed FROM raw_${kind} WHERE reason IS NOT NULL)
       ORDER BY file, line`,
  );

  const examples: RejectPlace[] = [];
  for await (const chunk of result) {
    for (const [index, line, reason, detail, text, id, row, field, value] of chunk.getRows()) {
      const plan = plans[Number(index)];
      const place: RejectPlace = {
        file: plan?.file.name ?? "",
        ...(plan?.file.format === "parquet"
          ? { row_number: Number(line) }
          : { line: Number(line) }),
        reason: String(reason) as Reason,
        column: plan?.columns.get(String(field)) ?? null,
        value: typeof value === "string" ? value : null,
        detail:
          reason === "duplicate_id" ? twinWords(String(id), String(detail), plans) : String(detail),
      };

      if (examples.length < MOST_EXAMPLES) examples.push(place);
      await rejects.write({
        ...place,
        row: typeof text === "string" ? text : withoutNulls(String(row)),
      });
    }
  }

  return examples;
}

function twinWords(id: string, place: string, plans: readonly FilePlan[]): string {
  const [file, line] = place.split(" ").map(Number);
  return `id "${id}" is that of line ${line} of ${plans[file ?? 0]?.file.name}`;
}

const withoutNulls = (json: string): unknown =>
  Object.fromEntries(
    Object.entries(JSON.parse(json) as Record<string, unknown>).filter(
      ([, value]) => value !== null,
    ),
  );
