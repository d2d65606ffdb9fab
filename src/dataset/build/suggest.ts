import { machineResources, startDuckDb } from "../duckdb.ts";
import { fieldSql, findFiles, readerSql, readHeader } from "./import-files.ts";
import { guessKind, type ImportKind, InputError, suggestMap } from "./import-map.ts";

export interface Suggestion {
  readonly file: string;
  readonly kind: ImportKind;
  /** Our field -> the column of the file, or null where none is likely. */
  readonly map: Readonly<Record<string, string | null>>;
  /** Columns that no field takes. */
  readonly unused: readonly string[];
  /** The first rows as they would be read: field -> text, or null. */
  readonly rows: readonly Readonly<Record<string, string | null>>[];
}

const ROWS = 5;
const LONGEST = 200;

/**
 * Proposes a column map for a file from its header, with its first five rows.
 * @param kind what the rows are; guessed from the header where it is not given
 * @throws InputError where the file cannot be read
 */
export async function suggestFor(name: string, cwd: string, kind?: ImportKind): Promise<Suggestion> {
  const instance = await startDuckDb(machineResources());
  try {
    const connection = await instance.connect();
    const [file] = await findFiles(connection, [name], cwd);
    if (!file) throw new InputError(`no file matches ${name}`);
    const header = await readHeader(connection, file);
    const names = header.map((column) => column.name);
    const guessed = kind ?? guessKind(names);
    const map = suggestMap(guessed, names);
    const types = new Map(header.map((column) => [column.name, column.type]));
    const taken = names.filter((column) => Object.values(map).includes(column));
    const rows: Record<string, string | null>[] = [];
    if (file.format === "ndjson") {
      const source = `SELECT line FROM ${readerSql(file)} WHERE json_valid(line) AND json_type(line) = 'OBJECT' LIMIT ${ROWS}`;
      const reader = await connection.runAndReadAll(source);
      for (const [line] of reader.getRowsJS()) rows.push(rowOf(map, JSON.parse(String(line))));
    } else {
      const columns = taken.map((column) => fieldSql(file, column, types)).join(", ") || "NULL";
      const reader = await connection.runAndReadAll(`SELECT ${columns} FROM ${readerSql(file)} LIMIT ${ROWS}`);
      for (const cells of reader.getRowsJS()) {
        rows.push(rowOf(map, Object.fromEntries(taken.map((column, index) => [column, cells[index]]))));
      }
    }
    const unused = names.filter((column) => !taken.includes(column));
    return { file: file.name, kind: guessed, map, unused, rows };
  } finally {
    instance.closeSync();
  }
}

function rowOf(
  map: Readonly<Record<string, string | null>>,
  values: Readonly<Record<string, unknown>>,
): Record<string, string | null> {
  const row: Record<string, string | null> = {};
  for (const [field, column] of Object.entries(map)) {
    if (column === null) continue;
    const value = values[column];
    if (value === undefined || value === null) row[field] = null;
    else row[field] = (typeof value === "string" ? value : JSON.stringify(value)).slice(0, LONGEST);
  }
  return row;
}
