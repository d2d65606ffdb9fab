import { literal } from "../duckdb.ts";
import { fieldSql, type InputFile, isNested, readerSql } from "./import-files.ts";
import { ADDRESSES, type Columns, fieldsOf, type ImportKind, INTEGERS, InputError, identityOf } from "./import-map.ts";

const MAX_VALUE = 100_000;
/** A file whose header fits. */
export interface FilePlan {
  readonly file: InputFile;
  readonly columns: Columns;
  readonly types: ReadonlyMap<string, string>;
}

/** The fields as text, `problem` (a reason already known) and `line` (the raw line) of each row of a CSV or Parquet file. */
export function tableSource(kind: ImportKind, { file, columns, types }: FilePlan): string {
  const values = fieldsOf(kind).map((field) => {
    const column = columns.get(field);
    if (column === undefined) return `NULL::VARCHAR AS ${field}`;
    const type = types.get(column) ?? "VARCHAR";
    if (field !== "specialties" && isNested(type)) {
      throw new InputError(
        `${file.name}: column "${column}" (${type}) is nested, and ${field} of ${kind} is one value`,
        "map the field to a plain column, or to null",
      );
    }
    return `${fieldSql(file, column, types)} AS ${field}`;
  });
  return `SELECT ${values.join(", ")}, NULL::VARCHAR AS problem, NULL::VARCHAR AS line FROM ${readerSql(file)}`;
}

/** The same of an NDJSON file; each line is taken apart once. */
export function ndjsonSource(kind: ImportKind, { file, columns, types }: FilePlan): string {
  const present = fieldsOf(kind).filter((field) => columns.has(field));
  const item = (field: string): string => `v[${present.indexOf(field) + 1}]`;
  const paths = present.map((field) => {
    const column = columns.get(field) ?? "";
    return literal(jsonPath(types.has(column) ? [column] : column.split(".")));
  });
  const values = fieldsOf(kind).map((field) => {
    if (!columns.has(field)) return `NULL::VARCHAR AS ${field}`;
    // ->> gives a string's text, and the JSON text of everything else.
    return `${item(field)}->>'$' AS ${field}`;
  });
  const notText = present
    .filter((field) => field !== "specialties")
    .map((field) => `json_type(${item(field)}) IN ('OBJECT', 'ARRAY', 'BOOLEAN')`);
  return `SELECT ${values.join(", ")},
      CASE WHEN line IS NULL OR trim(line, e' \\t\\r') = '' THEN 'blank' WHEN v IS NULL THEN 'broken_line'
        WHEN ${notText.join(" OR ") || "false"} THEN 'not_text' END AS problem, line
    FROM (SELECT line, CASE WHEN json_valid(line) AND json_type(line) = 'OBJECT'
        THEN json_extract(line, [${paths.join(", ")}]) END AS v
      FROM ${readerSql(file)})`;
}

/** A JSON pointer (RFC 6901): any key can be written, quotes and dots in it too. */
const jsonPath = (parts: readonly string[]): string =>
  parts.map((part) => `/${part.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");

/** Rows of a source as they go into the raw table: values cleaned, the id settled, `reason` where a row is refused. */
export function checkedSql(kind: ImportKind, source: string): string {
  const fields = fieldsOf(kind);
  const badInteger = INTEGERS[kind].map(
    (field) =>
      `(${field} IS NOT NULL AND (NOT regexp_full_match(${field}, ${WHOLE}) OR TRY_CAST(${field} AS DOUBLE) > 9007199254740991))`,
  );
  const identity = identityOf(kind).join(", ");
  const tooLong = fields.map((field) => `length(${field}) > ${MAX_VALUE}`);
  const letter = kind === "people" ? "p" : "c";
  const keys = kind === "people" ? ["network_url"] : ["company_network_url", "domain"];
  const known = keys.map((key) => `'${key} ' || ${ADDRESSES[kind][key] ?? ""}(${key})`);
  const row = fields.map((field) => `coalesce(${field}, chr(30))`).join(", chr(31), ");
  return `SELECT CASE WHEN id IS NOT NULL OR reason IS NOT NULL THEN id
        ELSE '${letter}' || left(md5(coalesce(${known.join(", ")}, 'row ' || concat(${row}))), 20) END,
      ${fields.slice(1).join(", ")}, reason, CASE WHEN reason IS NOT NULL THEN line END
    FROM (SELECT * EXCLUDE (problem), CASE WHEN problem IS NOT NULL THEN problem
        WHEN coalesce(${identity}) IS NULL THEN 'no_identity'
        WHEN ${badInteger.join(" OR ")} THEN 'bad_integer'
        WHEN ${tooLong.join(" OR ")} THEN 'too_long' END AS reason
      FROM (SELECT ${fields.map((field) => `${cleaned(field)} AS ${field}`).join(", ")}, problem, line FROM (${source})))`;
}

/** A cell without the white space around it; NULL where nothing is left. */
const cleaned = (column: string): string => `nullif(trim(${column}, e' \\t\\r\\n'), '')`;
const WHOLE = "'[+]?[0-9]{1,15}(\\.0+)?|[+]?[0-9]{16}'";
