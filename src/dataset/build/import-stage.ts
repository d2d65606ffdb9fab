import type { DuckDBConnection } from "@duckdb/node-api";
import { runWatched, scalar, toNumber } from "../duckdb.ts";
import { checkArchive } from "./archive.ts";
import type { BuildOptions } from "./build.ts";
import { findFiles, firstLine, type InputFile, REJECTS, readHeader } from "./import-files.ts";
import { fieldsOf, findColumns, type ImportKind, type ImportMap, InputError } from "./import-map.ts";
import { checkedSql, type FilePlan, ndjsonSource, tableSource } from "./import-rows.ts";
import type { Reason, RejectFile } from "./rejects.ts";

export interface TableReport {
  readonly files: number;
  /** taken + refused */
  readonly rows: number;
  readonly taken: number;
  readonly refused: number;
  readonly reasons: Readonly<Partial<Record<Reason, number>>>;
}

/** Reads files into `raw_<kind>` (text as it came, one row a line) and marks in `reason` what is refused. */
export async function stageTable(
  connection: DuckDBConnection,
  kind: ImportKind,
  names: readonly string[],
  map: ImportMap,
  cwd: string,
  rejects: RejectFile,
  options: BuildOptions,
): Promise<TableReport> {
  const fields = fieldsOf(kind);
  const raw = `raw_${kind}`;
  await connection.run(
    `CREATE TABLE ${raw} (${fields.map((field) => `${field} VARCHAR`).join(", ")}, reason VARCHAR, line VARCHAR)`,
  );
  const files = await findFiles(connection, names, cwd);
  const plans: FilePlan[] = [];
  // All headers before the first row: a wrong column is told at once.
  for (const file of files) {
    const header = await readHeader(connection, file);
    const columnNames = header.map(({ name }) => name);
    const columns = findColumns(kind, map[kind], columnNames, file.name, file.format === "ndjson");
    plans.push({ file, columns, types: new Map(header.map(({ name, type }) => [name, type])) });
  }
  const spans: Span[] = [];
  const reasons: Partial<Record<Reason, number>> = {};
  const total = files.reduce((sum, file) => sum + file.bytes, 0);
  let bytes = 0;
  let next = 0;
  for (const plan of plans) {
    const { file } = plan;
    options.signal?.throwIfAborted();
    await checkArchive(file.name, file.path, options.signal);
    await dropRejects(connection);
    const source = file.format === "ndjson" ? ndjsonSource(kind, plan) : tableSource(kind, plan);
    try {
      await runWatched(connection, `INSERT INTO ${raw} ${checkedSql(kind, source)}`, options.sleep, (part) =>
        options.onProgress?.({ phase: "read", done: bytes + part * file.bytes, total }),
      );
    } catch (error) {
      throw new InputError(
        `${file.name} cannot be read as ${file.format}: ${firstLine(error)}`,
        "the dataset is unchanged",
      );
    }
    const end = toNumber(await scalar(connection, `SELECT count(*) FROM ${raw}`));
    const broken = await takeBrokenLines(connection, file, rejects);
    reasons.broken_line = (reasons.broken_line ?? 0) + broken.length;
    spans.push({ file, start: next, end, broken });
    next = end;
    bytes += file.bytes;
    options.onProgress?.({ phase: "read", done: bytes, total });
  }
  const unread = reasons.broken_line ?? 0;
  await markDuplicates(connection, kind);
  const blank = toNumber(await scalar(connection, `SELECT count(*) FROM ${raw} WHERE reason = 'blank'`));
  const counted = await connection.runAndReadAll(
    `SELECT reason, count(*) FROM ${raw} WHERE reason IS NOT NULL AND reason <> 'blank' GROUP BY 1`,
  );
  for (const [reason, count] of counted.getRowsJS()) {
    const key = String(reason) as Reason;
    reasons[key] = (reasons[key] ?? 0) + toNumber(count);
  }
  if (reasons.broken_line === 0) delete reasons.broken_line;
  await writeRefused(connection, kind, fields, spans, rejects);
  const refused = Object.values(reasons).reduce((sum, count) => sum + count, 0);
  const rows = next - blank + unread;
  return { files: files.length, rows, taken: rows - refused, refused, reasons };
}

/** Which rows of the raw table came from which file. */
interface Span {
  readonly file: InputFile;
  readonly start: number;
  readonly end: number;
  /** Numbers of lines that are not in the raw table, rising. */
  readonly broken: readonly number[];
}

async function dropRejects(connection: DuckDBConnection): Promise<void> {
  for (const table of Object.values(REJECTS)) await connection.run(`DROP TABLE IF EXISTS temp.${table}`);
}

/** Lines that the reader gave up on: to the reject file, their numbers back. */
async function takeBrokenLines(connection: DuckDBConnection, file: InputFile, rejects: RejectFile): Promise<number[]> {
  if (file.format === "parquet") return [];
  const exists = await scalar(
    connection,
    `SELECT count(*) FROM duckdb_tables() WHERE table_name = '${REJECTS.errors}'`,
  );
  if (toNumber(exists) === 0) return [];
  const lines: number[] = [];
  // Several errors of one line are one refused row.
  const result = await connection.stream(
    `SELECT line, any_value(csv_line), any_value(error_message) FROM ${REJECTS.errors} GROUP BY line ORDER BY line`,
  );
  for await (const chunk of result) {
    for (const [line, text, message] of chunk.getRows()) {
      lines.push(Number(line));
      await rejects.write({
        file: file.name,
        line: Number(line),
        reason: "broken_line",
        detail: String(message),
        row: String(text),
      });
    }
  }
  return lines;
}

async function markDuplicates(connection: DuckDBConnection, kind: ImportKind): Promise<void> {
  const raw = `raw_${kind}`;
  await connection.run(`UPDATE ${raw} SET reason = 'duplicate_id' FROM (
      SELECT id AS shared, min(rowid) AS first FROM ${raw} WHERE reason IS NULL GROUP BY id HAVING count(*) > 1) AS twins
    WHERE ${raw}.id = twins.shared AND ${raw}.rowid <> twins.first AND reason IS NULL`);
}

async function writeRefused(
  connection: DuckDBConnection,
  kind: ImportKind,
  fields: readonly string[],
  spans: readonly Span[],
  rejects: RejectFile,
): Promise<void> {
  const given = fields.map((field) => `${field} := ${field}`).join(", ");
  const result = await connection.stream(
    `SELECT rowid, reason, line, to_json(struct_pack(${given}))::VARCHAR FROM raw_${kind}
     WHERE reason IS NOT NULL AND reason <> 'blank' ORDER BY rowid`,
  );
  let span = 0;
  for await (const chunk of result) {
    for (const [rowid, reason, line, row] of chunk.getRows()) {
      const place = Number(rowid);
      while (place >= (spans[span]?.end ?? Number.POSITIVE_INFINITY)) span++;
      const source = spans[span];
      if (!source) throw new Error(`row ${place} is of no file`);
      const number = lineNumber(place - source.start + 1, source.broken);
      const where = source.file.format === "ndjson" ? { line: number } : { row_number: place - source.start + 1 };
      await rejects.write({
        file: source.file.name,
        ...where,
        reason: String(reason) as Reason,
        row: typeof line === "string" ? line : withoutNulls(String(row)),
      });
    }
  }
}

/** The number of the nth line that is not among the broken ones. */
function lineNumber(nth: number, broken: readonly number[]): number {
  let line = nth;
  for (const number of broken) {
    if (number > line) break;
    line++;
  }
  return line;
}

const withoutNulls = (json: string): unknown =>
  Object.fromEntries(Object.entries(JSON.parse(json) as Record<string, unknown>).filter(([, value]) => value !== null));
