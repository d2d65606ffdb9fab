import { createWriteStream } from "node:fs";
import { copyFile, readFile, rename, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { finished } from "node:stream/promises";
import type { DuckDBConnection } from "@duckdb/node-api";
import { DEPARTMENTS } from "../../contract/departments.ts";
import { normalForm } from "../../contract/normalise.ts";
import { literal, runWatched, scalar, toNumber } from "../duckdb.ts";
import { newDraftName, newVersion } from "../layout.ts";
import { checkArchive } from "./archive.ts";
import { type BuildOptions, buildDataset } from "./build.ts";
import {
  fieldSql,
  findFiles,
  firstLine,
  type InputFile,
  isNested,
  REJECTS,
  readerSql,
  readHeader,
} from "./import-files.ts";
import {
  type Columns,
  fieldsOf,
  findColumns,
  type ImportKind,
  type ImportMap,
  InputError,
  identityOf,
  parseMap,
} from "./import-map.ts";

export interface ImportInput {
  /** Files or patterns; at least one. */
  readonly people: readonly string[];
  /** Where there are none, companies are derived from people. */
  readonly companies: readonly string[];
  /** A file with a column map. */
  readonly map?: string;
  /** What relative paths are relative to. */
  readonly cwd: string;
  /** Where refused rows go, as NDJSON; written only where there are any. */
  readonly rejects: string;
}

/** Why a row is refused. */
export const REASONS = {
  broken_line: "the line cannot be read: not JSON, wrong number of columns, open quote or not UTF-8",
  not_text: "a text field holds an object, an array or a boolean",
  bad_integer: "a number field holds something that is not a whole number from 0 to 9007199254740991",
  no_identity: "nothing that identifies it: no id, address or name",
  too_long: "a value is longer than 100,000 characters",
  duplicate_id: "an earlier row has the same id",
} as const;
export type Reason = keyof typeof REASONS;

export interface TableReport {
  readonly files: number;
  /** taken + refused */
  readonly rows: number;
  readonly taken: number;
  readonly refused: number;
  readonly reasons: Readonly<Partial<Record<Reason, number>>>;
}

export interface ImportReport {
  readonly version: string;
  readonly people: TableReport;
  /** `derived` is how many were made from people, where no company file is given. */
  readonly companies: TableReport & { readonly derived: number };
  /** Departments that are not one of the 20, or missing: they became "Other". */
  readonly departments: {
    readonly unknown: number;
    readonly missing: number;
    readonly examples: readonly { readonly value: string; readonly people: number }[];
  };
  /** Values that were left out because they cannot be used (an address without a host, a date that is none), by field. */
  readonly cleared: Readonly<Record<string, number>>;
  /** Where the refused rows are, or null where there are none. */
  readonly rejects: string | null;
}

const MAX_VALUE = 100_000;
const INTEGERS: Readonly<Record<ImportKind, readonly string[]>> = {
  people: ["connections", "followers"],
  companies: ["employee_count", "founded_year", "followers"],
};
const ADDRESSES: Readonly<Record<ImportKind, Readonly<Record<string, "address_form" | "domain_form">>>> = {
  people: { network_url: "address_form", company_network_url: "address_form", company_domain: "domain_form" },
  companies: { company_network_url: "address_form", domain: "domain_form" },
};

/**
 * Replaces the dataset of a folder by the people and companies of files (Parquet, CSV, NDJSON). Rows that cannot be taken go to the
 * reject file with the reason; the old dataset stays until the new one is whole.
 * @throws InputError where a file, a column or the map is wrong, or no row can be taken
 */
export async function importDataset(input: ImportInput, options: BuildOptions): Promise<ImportReport> {
  const map = input.map === undefined ? { people: {}, companies: {} } : await readMap(input.map, input.cwd);
  const version = newVersion(options.now());
  let report: ImportReport | undefined;
  await buildDataset(
    {
      name: "import",
      version,
      stage: async (connection) => {
        report = await stageFiles(connection, input, map, version, options);
      },
    },
    options,
  );
  if (!report) throw new Error("nothing was imported");
  return report;
}

async function readMap(name: string, cwd: string): Promise<ImportMap> {
  let text: string;
  try {
    text = await readFile(resolve(cwd, name), "utf8");
  } catch (error) {
    throw new InputError(
      `the map ${name} cannot be read: ${firstLine(error)}`,
      "headcount service map --suggest FILE makes one",
    );
  }
  return parseMap(text, name);
}

async function stageFiles(
  connection: DuckDBConnection,
  input: ImportInput,
  map: ImportMap,
  version: string,
  options: BuildOptions,
): Promise<ImportReport> {
  const rejects = new RejectFile(resolve(input.cwd, input.rejects), options.datasetDir);
  try {
    const people = await stageTable(connection, "people", input.people, map, input.cwd, rejects, options);
    const companies = await stageTable(connection, "companies", input.companies, map, input.cwd, rejects, options);
    if (people.taken === 0) {
      const path = await rejects.finish();
      const why = Object.entries(people.reasons).map(([reason, count]) => `${reason} ${count}`);
      throw new InputError(
        people.rows === 0
          ? `no rows in ${input.people.join(", ")}`
          : `none of ${people.rows} rows of people can be taken: ${why.join(", ")}`,
        path === null ? undefined : `the rows and reasons are in ${path}; the dataset is unchanged`,
      );
    }
    const departments = await departmentReport(connection);
    const cleared = {
      ...(await clearedReport(connection, "people")),
      ...(await clearedReport(connection, "companies")),
    };
    await typedTables(connection);
    const derived = input.companies.length > 0 ? 0 : await deriveCompanies(connection);
    return {
      version,
      people,
      companies: { ...companies, derived },
      departments,
      cleared,
      rejects: await rejects.finish(),
    };
  } catch (error) {
    await rejects.abandon();
    throw error;
  }
}

/** Reads files into `raw_<kind>` (text as it came, one row a line) and marks in `reason` what is refused. */
async function stageTable(
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

/** A file whose header fits. */
interface FilePlan {
  readonly file: InputFile;
  readonly columns: Columns;
  readonly types: ReadonlyMap<string, string>;
}

/** The fields as text, `problem` (a reason already known) and `line` (the raw line) of each row of a CSV or Parquet file. */
function tableSource(kind: ImportKind, { file, columns, types }: FilePlan): string {
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
function ndjsonSource(kind: ImportKind, { file, columns, types }: FilePlan): string {
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
function checkedSql(kind: ImportKind, source: string): string {
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

/** A cell without the white space around it; NULL where nothing is left. */
const cleaned = (column: string): string => `nullif(trim(${column}, e' \\t\\r\\n'), '')`;
const WHOLE = "'[+]?[0-9]{1,15}(\\.0+)?|[+]?[0-9]{16}'";

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

const DEPARTMENT_CASES = DEPARTMENTS.map((name) => `WHEN ${literal(normalForm(name))} THEN ${literal(name)}`).join(" ");
const departmentSql = `CASE normal_form(department) ${DEPARTMENT_CASES} ELSE 'Other' END`;

async function departmentReport(connection: DuckDBConnection): Promise<ImportReport["departments"]> {
  const taken = "FROM raw_people WHERE reason IS NULL";
  const missing = toNumber(await scalar(connection, `SELECT count(*) ${taken} AND department IS NULL`));
  const unknown = `${taken} AND department IS NOT NULL AND ${departmentSql} = 'Other' AND normal_form(department) IS DISTINCT FROM 'other'`;
  const total = toNumber(await scalar(connection, `SELECT count(*) ${unknown}`));
  const top = await connection.runAndReadAll(
    `SELECT department, count(*) AS people ${unknown} GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10`,
  );
  const examples = top.getRowsJS().map(([value, people]) => ({ value: String(value), people: toNumber(people) }));
  return { unknown: total, missing, examples };
}

/** `2025-03-01`, a timestamp with or without offset, or an epoch in seconds or milliseconds. */
const timestampSql = `strftime(coalesce(
  CASE WHEN regexp_full_match(updated_at, '[0-9]{9,10}') THEN make_timestamp(updated_at::BIGINT * 1000000)
    WHEN regexp_full_match(updated_at, '[0-9]{12,13}') THEN make_timestamp(updated_at::BIGINT * 1000) END,
  CASE WHEN regexp_full_match(updated_at, '[0-9]{4}-[0-9]{2}-[0-9]{2}.*') THEN TRY_CAST(TRY_CAST(updated_at AS TIMESTAMPTZ) AS TIMESTAMP) END
), '%Y-%m-%dT%H:%M:%SZ')`;

async function clearedReport(connection: DuckDBConnection, kind: ImportKind): Promise<Record<string, number>> {
  const cleared: Record<string, number> = {};
  const checks = { ...ADDRESSES[kind], updated_at: "" };
  for (const [field, form] of Object.entries(checks)) {
    const usable = form === "" ? timestampSql : `${form}(${field})`;
    const count = toNumber(
      await scalar(
        connection,
        `SELECT count(*) FROM raw_${kind} WHERE reason IS NULL AND ${field} IS NOT NULL AND ${usable} IS NULL`,
      ),
    );
    if (count > 0) cleared[`${kind}.${field}`] = count;
  }
  return cleared;
}

/** `staged_people` and `staged_companies` from the raw rows that are taken. */
async function typedTables(connection: DuckDBConnection): Promise<void> {
  const integer = (field: string): string => `TRY_CAST(regexp_replace(${field}, '\\.0+$|^[+]', '', 'g') AS BIGINT)`;
  const people: Readonly<Record<string, string>> = {
    name: "coalesce(name, nullif(concat_ws(' ', first_name, last_name), ''))",
    first_name: "CASE WHEN first_name IS NULL AND last_name IS NULL THEN split_part(name, ' ', 1) ELSE first_name END",
    last_name:
      "CASE WHEN first_name IS NULL AND last_name IS NULL THEN nullif(trim(substr(name, length(split_part(name, ' ', 1)) + 1)), '') ELSE last_name END",
    department: departmentSql,
    location: "coalesce(location, nullif(concat_ws(', ', city, state, country), ''))",
  };
  const list = `CASE WHEN specialties IS NULL THEN []::VARCHAR[]
    WHEN starts_with(specialties, '[') AND json_valid(specialties) THEN coalesce(TRY_CAST(specialties::JSON AS VARCHAR[]), []::VARCHAR[])
    ELSE list_filter(list_transform(string_split_regex(specialties, '[;|]'), lambda part: trim(part)), lambda part: part <> '') END`;
  const companies: Readonly<Record<string, string>> = {
    specialties: list,
    location: "coalesce(location, nullif(concat_ws(', ', city, state, country), ''))",
  };
  for (const [kind, special] of [
    ["people", people],
    ["companies", companies],
  ] as const) {
    const columns = fieldsOf(kind).map((field) => {
      const address = ADDRESSES[kind][field];
      if (special[field] !== undefined) return `${special[field]} AS ${field}`;
      if (INTEGERS[kind].includes(field)) return `${integer(field)} AS ${field}`;
      if (address === "domain_form") return `domain_form(${field}) AS ${field}`;
      if (address === "address_form")
        return `CASE WHEN address_form(${field}) IS NOT NULL THEN ${field} END AS ${field}`;
      if (field === "updated_at") return `${timestampSql} AS ${field}`;
      return field;
    });
    await connection.run(
      `CREATE TABLE staged_${kind} AS SELECT ${columns.join(", ")} FROM raw_${kind} WHERE reason IS NULL`,
    );
    await connection.run(`DROP TABLE raw_${kind}`);
  }
}

/**
 * One company for each address that people name; for each domain of people without an address, where no company has it yet; for
 * each name of people with neither. What is said of it comes from the first person who says it.
 * @returns how many
 */
async function deriveCompanies(connection: DuckDBConnection): Promise<number> {
  const first = (field: string): string => `arg_min(${field}, place) FILTER (WHERE ${field} IS NOT NULL) AS ${field}`;
  const tiers: readonly { key: string; prefix: string; where: string }[] = [
    { key: "address", prefix: "address ", where: "address IS NOT NULL" },
    {
      key: "domain",
      prefix: "domain ",
      where:
        "address IS NULL AND domain IS NOT NULL AND domain NOT IN (SELECT domain FROM staged_companies WHERE domain IS NOT NULL)",
    },
    {
      key: "plain",
      prefix: "name ",
      where:
        "address IS NULL AND domain IS NULL AND plain IS NOT NULL AND plain NOT IN (SELECT normal_form(name) FROM staged_companies WHERE name IS NOT NULL)",
    },
  ];
  await connection.run(`CREATE TABLE employers AS
    SELECT rowid AS place, address_form(company_network_url) AS address, company_network_url, company_domain AS domain, company_name AS name,
      normal_form(company_name) AS plain FROM staged_people
    WHERE coalesce(company_network_url, company_domain, company_name) IS NOT NULL`);
  // A bare slug stands for the whole address where somebody gives that.
  await connection.run(`UPDATE employers SET address = whole.address, company_network_url = NULL FROM (
      SELECT slug_of(address) AS slug, min(address) AS address FROM employers WHERE contains(address, '/') GROUP BY 1) AS whole
    WHERE employers.address = whole.slug`);
  for (const { key, prefix, where } of tiers) {
    await connection.run(`INSERT INTO staged_companies BY NAME
      SELECT 'c' || left(md5('${prefix}' || shared), 20) AS id, * EXCLUDE (shared), []::VARCHAR[] AS specialties
      FROM (SELECT ${key} AS shared, ${first("name")}, ${first("domain")}, ${first("company_network_url")}
        FROM employers WHERE ${where} GROUP BY 1)`);
  }
  await connection.run("DROP TABLE employers");
  return toNumber(await scalar(connection, "SELECT count(*) FROM staged_companies"));
}

interface Reject {
  readonly file: string;
  /** Where known: the line of the file, else the number of the row in it (the header is not counted). */
  readonly line?: number;
  readonly row_number?: number;
  readonly reason: Reason;
  readonly detail?: string;
  /** The line as it was read, or the fields of the row. */
  readonly row: unknown;
}

/** The reject file: written in the dataset folder, where the next build clears it away after a crash, and moved to its place whole. */
class RejectFile {
  readonly #path: string;
  readonly #draft: string;
  #stream: ReturnType<typeof createWriteStream> | undefined;

  constructor(path: string, datasetDir: string) {
    this.#path = path;
    this.#draft = join(datasetDir, `${newDraftName()}.ndjson`);
  }

  async write(reject: Reject): Promise<void> {
    // Other people's data: not for every user of the machine.
    this.#stream ??= createWriteStream(this.#draft, { mode: 0o600, flush: true });
    const stream = this.#stream;
    if (stream.errored) throw stream.errored;
    if (!stream.write(`${JSON.stringify(reject)}\n`)) {
      await new Promise<void>((ready, fail) => {
        stream.once("drain", ready);
        stream.once("error", fail);
      });
    }
  }

  /** @returns the path, or null where nothing was refused */
  async finish(): Promise<string | null> {
    const stream = this.#stream;
    if (!stream) return null;
    this.#stream = undefined;
    stream.end();
    await finished(stream);
    try {
      await rename(this.#draft, this.#path);
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "EXDEV")) throw error;
      await copyFile(this.#draft, this.#path);
      await rm(this.#draft);
    }
    return this.#path;
  }

  async abandon(): Promise<void> {
    this.#stream?.destroy();
    await rm(this.#draft, { force: true });
  }
}
