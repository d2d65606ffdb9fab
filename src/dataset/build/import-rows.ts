import { normalForm } from "../../shared/contract/normalise.ts";
import { InputError, type InputFile } from "../../shared/tables/input-file.ts";
import { identifier, literal } from "../duckdb.ts";
import { fieldSql, isMisread, isNestedType, parquetSql, typedNumberSql } from "./import-files.ts";
import {
  fileIdentity,
  type ImportKind,
  type ImportMap,
  INTEGERS,
  lenientFields,
  type MappedColumns,
  mappedFields,
  usableOf,
} from "./import-map.ts";
import { usableSql } from "./import-values.ts";
import type { Reason } from "./rejects.ts";

const MAX_VALUE = 100_000;

// Every source gives the fields as text, `refused` (why the row is,
// or NULL), `text` (the line) and `line`.

/** Why a row is refused, in words, and by which field, all in SQL. */
const refusal = (reason: Reason, detail: string, field = "NULL"): string =>
  `{reason: '${reason}', detail: ${detail}, field: ${field}::VARCHAR}`;

/** The first of these that is so; of none NULL, of the same type. */
const refusedBy = (cases: readonly string[]): string =>
  `CASE WHEN false THEN ${refusal("broken_line", "''")} ${cases.join(" ")} END`;

/** Every field of a kind; NULL for one without a column. */
const valuesSql = (
  kind: ImportKind,
  columns: MappedColumns,
  sqlOf: (field: string, column: string) => string,
): string =>
  mappedFields(kind)
    .map((field) => {
      const column = columns.get(field);
      return `${column === undefined ? "NULL::VARCHAR" : sqlOf(field, column)} AS ${field}`;
    })
    .join(", ");

export function parquetRows(
  kind: ImportKind,
  file: InputFile,
  columns: MappedColumns,
  types: ReadonlyMap<string, string>,
) {
  const undecodable: string[] = [];
  const values = valuesSql(kind, columns, (field, column) => {
    const type = types.get(column) ?? "VARCHAR";
    if (field !== "specialties" && isNestedType(type)) {
      throw new InputError(
        `${file.name}: column "${column}" (${type}) is nested, ` +
          `and ${field} of ${kind} is one value`,
        "map the field to a plain column, or to null",
      );
    }

    if (isMisread(type)) {
      throw new InputError(
        `${file.name}: column "${column}" is ${type}, and decimals are read up to 38 digits`,
        `write the column with fewer digits or as text, or map ${field} to null`,
      );
    }

    const value = fieldSql(column, type, INTEGERS[kind].includes(field));

    if (type === "BLOB") {
      const words = literal(`column "${column}" holds bytes that are not UTF-8`);
      undecodable.push(
        `WHEN ${identifier(column)} IS NOT NULL AND ${value} IS NULL ` +
          `THEN ${refusal("broken_line", words, `'${field}'`)}`,
      );
      return `coalesce(${value}, ${identifier(column)}::VARCHAR)`;
    }

    return value;
  });

  return `SELECT ${values}, ${refusedBy(undecodable)} AS refused,
    NULL::VARCHAR AS text, file_row_number + 1 AS line FROM ${parquetSql(file)}`;
}

/**
 * A FROM clause over a file of rows in plain form
 * (rows.ts) with these columns beside the line's own.
 */
const plainSql = (path: string, columns: readonly string[]): string => {
  const texts = ["detail", "text", ...columns].map((column) => `'${column}': 'VARCHAR'`);
  return `read_csv(${literal(path)}, columns = {'line': 'BIGINT', ${texts.join(", ")}},
    delim = chr(1), quote = '', escape = '', comment = '', header = false, auto_detect = false,
    new_line = '\\n', nullstr = '', max_line_size = 4194304)`;
};

const plainText = (column: string, hasEscapes: boolean): string =>
  hasEscapes
    ? `replace(replace(replace(replace(${column}, chr(2) || 'n', chr(10)), chr(2) || 'r', ` +
      "chr(13)), chr(2) || 's', chr(1)), chr(2) || 't', chr(2))"
    : column;

/** Words that stand for "nothing" in CSV. "Null" and "NA" are names of people and of a country. */
const NOTHING = ["\\N", "NULL", "null", "N/A", "n/a", "#N/A", "NaN", "nan", "-"]
  .map(literal)
  .join(", ");
/** Those of a number, a date or an address, in lower case. */
const NO_VALUE = ["\\n", "null", "na", "n/a", "#n/a", "nan", "none", "nil", "-", "--"]
  .map(literal)
  .join(", ");

/** As the reader of rows says. */
const BROKEN = `WHEN detail IS NOT NULL THEN ${refusal("broken_line", "detail")}`;

interface PlainFile {
  readonly path: string;
  readonly columns: MappedColumns;
  readonly header: readonly string[];
  readonly hasEscapes: boolean;
}

export function csvRows(kind: ImportKind, { path, columns, hasEscapes }: PlainFile): string {
  const present = mappedFields(kind).filter((field) => columns.has(field));
  const values = valuesSql(kind, columns, (field) => {
    const value = plainText(field, hasEscapes);
    return `CASE WHEN ${trimmed(value)} NOT IN (${NOTHING}) THEN ${value} END`;
  });
  return `SELECT ${values}, ${refusedBy([BROKEN])} AS refused,
    ${plainText("text", hasEscapes)} AS text, line FROM ${plainSql(path, present)}`;
}

export function ndjsonRows(
  kind: ImportKind,
  { path, columns, header, hasEscapes }: PlainFile,
): string {
  const present = mappedFields(kind).filter((field) => columns.has(field));
  const item = (field: string): string => `v[${present.indexOf(field) + 1}]`;
  const columnOf = (field: string): string => columns.get(field) ?? "";
  const paths = present.map((field) => {
    const column = columnOf(field);
    return literal(jsonPath(header.includes(column) ? [column] : column.split(".")));
  });

  // ->> gives a string's text, and the JSON text of everything else.
  const values = valuesSql(kind, columns, (field) => {
    const text = `${item(field)}->>'$'`;
    if (!INTEGERS[kind].includes(field)) return text;
    const number = typedNumberSql(`(${text})::DOUBLE`, `(${text})`, true);
    return `CASE WHEN json_type(${item(field)}) = 'DOUBLE' THEN ${number} ELSE ${text} END`;
  });

  const texts = present.filter(
    (field) => field !== "specialties" && !lenientFields(kind).includes(field),
  );
  const notText = texts.map((field) => {
    const type = `json_type(${item(field)})`;
    const words = `concat(${literal(columnOf(field))}, ' holds an ', lower(${type}))`;
    const when = `${type} IN ('OBJECT', 'ARRAY', 'BOOLEAN')`;
    return `WHEN ${when} THEN ${refusal("not_text", words, `'${field}'`)}`;
  });
  const noObject = `WHEN v IS NULL THEN ${refusal("broken_line", "'no JSON object'")}`;

  return `SELECT ${values}, ${refusedBy([BROKEN, noObject, ...notText])} AS refused,
      coalesce(text, json) AS text, line
    FROM (SELECT line, detail, text, json, CASE WHEN json_valid(json) AND json_type(json) = 'OBJECT'
        THEN json_extract(json, [${paths.join(", ")}]) END AS v
      FROM (SELECT line, detail, ${plainText("text", hasEscapes)} AS text,
          ${plainText("json", hasEscapes)} AS json
        FROM ${plainSql(path, ["json"])}))`;
}

/** A JSON pointer (RFC 6901): any key can be written, quotes and dots in it too. */
const jsonPath = (parts: readonly string[]): string =>
  parts.map((part) => `/${part.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");

const WHITE = "e' \\t\\r\\n'";

/**
 * A cell without the white space around it, NULL where
 * nothing is left. Most have none, which is told by the ends.
 */
const trimmed = (field: string): string =>
  `CASE WHEN ${field} >= '!'
    AND NOT (suffix(${field}, ' ') OR suffix(${field}, e'\\n') OR suffix(${field}, e'\\r')
    OR suffix(${field}, e'\\t'))
    THEN ${field} ELSE nullif(trim(${field}, ${WHITE}), '') END`;

function mapped(field: string, values: ImportMap["values"]): string {
  const cases = Object.entries(values[field] ?? {}).map(
    ([from, to]) =>
      `WHEN ${literal(normalForm(from))} THEN ${to === null || to === "" ? "NULL" : literal(to)}`,
  );
  return cases.length === 0
    ? field
    : `CASE normal_form(${field}) ${cases.join(" ")} ELSE ${field} END`;
}

/** The words for nothing have at most four letters. */
const meant = (field: string): string =>
  `CASE WHEN strlen(${field}) > 4 OR lower(${field}) NOT IN (${NO_VALUE}) THEN ${field} END`;

/**
 * Rows of a source as they go into the raw table: values
 * cleaned, the id settled, `reason` where a row is refused.
 */
export function checkedSql(kind: ImportKind, source: string, file: number, map: ImportMap): string {
  const fields = mappedFields(kind);
  const lenient = lenientFields(kind);
  const usable = usableSql(kind, map.numbers);
  const each = (of: (field: string) => string): string =>
    fields.map((field) => `${of(field)} AS ${field}`).join(", ");
  const line = "refused, text, line";
  let rows = `SELECT ${each(trimmed)}, ${line} FROM (${source})`;
  if (Object.keys(map.values).length > 0)
    rows = `SELECT ${each((field) => mapped(field, map.values))}, ${line} FROM (${rows})`;

  rows =
    `SELECT ${each((field) => (lenient.includes(field) ? meant(field) : field))}, ` +
    `${line} FROM (${rows})`;

  const longest =
    `greatest(${fields.map((field) => `strlen(${field})`).join(", ")}) ` +
    `> ${MAX_VALUE} AS is_long`;

  rows =
    "SELECT *, " +
    `${[...lenient.map((field) => `${usable[field]} AS ${usableOf(field)}`), longest].join(", ")}
      FROM (${rows})`;

  const identity = fileIdentity(kind).join(", ");
  const nobody = refusal("no_identity", `'none of ${identity} has a value'`);
  const tooLong = fields.map((field) => {
    const words = `concat('${field} has ', length(${field}), ' characters')`;
    return `WHEN length(${field}) > ${MAX_VALUE} THEN ${refusal("too_long", words, `'${field}'`)}`;
  });
  const refused = refusedBy([
    "WHEN refused IS NOT NULL THEN refused",
    `WHEN coalesce(${identity}) IS NULL THEN ${nobody}`,
    `WHEN is_long THEN ${refusedBy(tooLong)}`,
  ]);
  const ownKey = `coalesce(${[...madeFrom(kind).map(keyOf), rowKey(kind)].join(", ")})`;

  return `SELECT CASE WHEN id IS NOT NULL OR refused IS NOT NULL THEN id
        ELSE ${madeId(kind, ownKey)} END,
      ${fields.slice(1).join(", ")}, ${lenient.map(usableOf).join(", ")},
      refused.reason, refused.detail, refused.field,
      CASE WHEN refused IS NOT NULL THEN text END, ${file}, line
    FROM (SELECT * REPLACE (${refused} AS refused) FROM (${rows}))`;
}

/**
 * What an id is made from where a row has none: the
 * first of these that it has, else all of the row.
 */
const madeFrom = (kind: ImportKind): readonly string[] =>
  kind === "people" ? ["network_url"] : ["company_network_url", "domain"];
const keyOf = (field: string): string => `'${field} ' || ${usableOf(field)}`;
const rowKey = (kind: ImportKind, id = "coalesce(id, chr(30))"): string => {
  const others = mappedFields(kind)
    .slice(1)
    .map((field) => `coalesce(${field}, chr(30))`);
  return `'row ' || concat(${[id, ...others].join(", chr(31), ")})`;
};
const madeId = (kind: ImportKind, key: string): string =>
  `'${kind === "people" ? "p" : "c"}' || left(md5(${key}), 20)`;

export function blamedSql(kind: ImportKind): string {
  const cases = madeFrom(kind).map(
    (field) => `WHEN id = ${madeId(kind, keyOf(field))} THEN '${field}'`,
  );
  return `CASE WHEN reason <> 'duplicate_id' THEN wrong_field ${cases.join(" ")}
    WHEN id = ${madeId(kind, rowKey(kind, "chr(30)"))} THEN NULL ELSE 'id' END`;
}
