// Tested by test/cli/output-tables.long.test.ts.
import { echo } from "../../../shared/contract/text.ts";
import { usageError } from "../../../shared/errors.ts";
import { pathNamed } from "../named.ts";

export type TableTarget =
  | {
      readonly engine: "duckdb";
      readonly file: string;
      readonly schema: string | undefined;
      readonly table: string;
    }
  | {
      readonly engine: "postgres";
      readonly url: string;
      readonly schema: string | undefined;
      readonly table: string;
    };

const NAME = /^(?:([A-Za-z_][\w$]{0,62})\.)?([A-Za-z_][\w$]{0,62})$/;
const POSTGRES = /^postgres(?:ql)?:\/\//i;
export const DUCKDB = /^duckdb:/i;
const EXAMPLES = "for example -o duckdb:people.duckdb#people, or -o postgres://me@host/crm#people";

/** Undefined for a file. */
export const engineOf = (output: string): TableTarget["engine"] | undefined =>
  POSTGRES.test(output) ? "postgres" : DUCKDB.test(output) ? "duckdb" : undefined;

/**
 * What `--output` names: an absolute path, or a table as {@link tableText} writes it.
 * @throws CliError exit 2
 */
export const resolveOutput = (text: string, cwd: string): string =>
  engineOf(text) === undefined ? pathNamed(text, cwd) : tableText(parseTable(text, cwd));

/** @throws CliError exit 2 where it names no table, or holds a password */
export const parseTable = (text: string, cwd: string): TableTarget =>
  engineOf(text) === "duckdb" ? parseDuckDb(text, cwd) : parsePostgres(text);

export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

export const sqlName = ({ schema, table }: TableTarget): string =>
  `${schema === undefined ? "" : `${quoted(schema)}.`}${quoted(table)}`;

export const tableText = (target: TableTarget): string => {
  const table = target.schema === undefined ? target.table : `${target.schema}.${target.table}`;
  return target.engine === "duckdb" ? `duckdb:${target.file}#${table}` : `${target.url}#${table}`;
};

/**
 * What is written by one process at a time: a DuckDB
 * file whatever the table, else the output itself.
 */
export const lockedPart = (output: string): string =>
  engineOf(output) === "duckdb" ? output.slice(0, output.lastIndexOf("#")) : output;

function parseDuckDb(text: string, cwd: string): TableTarget {
  const hash = text.lastIndexOf("#");
  const file = text.slice("duckdb:".length, hash < 0 ? undefined : hash);
  const table = hash < 0 ? "" : text.slice(hash + 1);
  if (file === "" || table === "")
    throw usageError(`-o ${echo(text)} names no table of a DuckDB file`, EXAMPLES);
  return { engine: "duckdb", file: pathNamed(file, cwd), ...tableName(table, text) };
}

function parsePostgres(text: string): TableTarget {
  const shown = echo(text);
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw usageError(`-o ${shown} is no address of a database`, EXAMPLES);
  }

  if (url.password !== "" || [...url.searchParams.keys()].some((key) => /pass/i.test(key))) {
    throw usageError(
      `-o ${shown} holds a password: others see it in the list of processes`,
      "leave it out: PGPASSWORD, or a line of ~/.pgpass, has it",
    );
  }

  const [database = "", ...more] = url.pathname.slice(1).split("/");
  const tables = [...more, ...(url.hash === "" ? [] : [url.hash.slice(1)])];
  const [table = ""] = tables;
  if (database === "" || table === "" || tables.length > 1)
    throw usageError(`-o ${shown} names no table of a database`, EXAMPLES);

  url.hash = "";
  url.pathname = `/${database}`;
  url.protocol = "postgres:";

  return { engine: "postgres", url: url.href, ...tableName(table, shown) };
}

function tableName(
  text: string,
  whole: string,
): { readonly schema: string | undefined; readonly table: string } {
  const [, schema, table] = NAME.exec(text) ?? [];
  if (table !== undefined) return { schema, table };
  throw usageError(
    `"${echo(text)}" in -o ${echo(whole)} is no name of a table: letters, digits, ` +
      "_ and $, at most 63, after a schema and a dot or alone",
    EXAMPLES,
  );
}
