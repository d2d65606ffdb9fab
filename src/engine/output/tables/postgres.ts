// Tested by test/cli/output-tables.long.test.ts.

import type { Client } from "pg";
import { option, say } from "../../../shared/errors.ts";
import { optional } from "../../../shared/packages.ts";
import { type JsonRecord, type JsonValue, stringifyExact } from "../../../shared/rows/values.ts";
import { type ColumnType, type TypedColumn, textOf, valueIn } from "../whole/cells.ts";
import { quoted, sqlName, type TableTarget } from "./target.ts";
import {
  IDENTITY,
  IDENTITY_COLUMN,
  noIdentity,
  TableRefusal,
  type TableWriter,
  unfit,
} from "./writer.ts";

type Target = TableTarget & { readonly engine: "postgres" };

const TYPES: Readonly<Record<ColumnType, string>> = {
  text: "text",
  integer: "bigint",
  long: "bigint",
  decimal: "double precision",
  boolean: "boolean",
  instant: "timestamp with time zone",
  date: "date",
  list: "text[]",
};

/** pg_type.typcategory; a single value may still be refused. */
const HOLDS: Readonly<Record<ColumnType, string>> = {
  text: "SEU",
  integer: "NS",
  long: "NS",
  decimal: "NS",
  boolean: "BS",
  instant: "DS",
  date: "DS",
  list: "ASU",
};
const CONNECT_MS = 10_000;
const NAME_BYTES = 63;

/** The password is PGPASSWORD's or `~/.pgpass`'s. */
export async function connectPostgres({ url }: Target): Promise<Client> {
  const { default: pg } = await optional(
    "pg",
    "A PostgreSQL table",
    import("pg"),
    "write a file (-o people.csv)",
  );

  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: CONNECT_MS,
    application_name: "headcount",
  });

  // A connection that breaks between two statements is told by the next one.
  client.on("error", () => undefined);
  await client.connect();
  return client;
}

export async function openPostgres(target: Target): Promise<TableWriter> {
  const client = await connectPostgres(target);
  return {
    upsert: (columns, batches) => upsert(client, target, columns, batches),
    async commit() {
      await client.query("COMMIT");
      await client.end();
    },
    async rollback() {
      await client.query("ROLLBACK").catch(() => undefined);
      await client.end().catch(() => undefined);
    },
  };
}

interface Existing {
  readonly name: string;
  readonly type: string;
  readonly category: string;
}

/** A table that has these columns, the first of which is its key: made, or widened. */
async function fitTable(
  client: Client,
  into: string,
  columns: readonly TypedColumn[],
): Promise<void> {
  const long = columns.find(({ name }) => Buffer.byteLength(name) > NAME_BYTES);
  if (long !== undefined)
    throw new TableRefusal(
      `a column cannot be called ${long.name}, which is longer than 63 bytes`,
      say`${option("fields")} chooses others`,
    );

  const has = await existing(client, into);
  const define = ({ name, type }: TypedColumn): string => `${quoted(name)} ${TYPES[type]}`;

  if (has === undefined) {
    const [identity, ...rest] = columns.map(define);
    await client.query(`CREATE TABLE ${into} (${[`${identity} PRIMARY KEY`, ...rest].join(", ")})`);
  } else {
    if (!has.has(IDENTITY)) throw noIdentity();
    for (const column of columns) checkFit(column, has.get(column.name));
    const lacks = columns
      .filter(({ name }) => !has.has(name))
      .map((column) => `ADD COLUMN ${define(column)}`);
    if (lacks.length > 0) await client.query(`ALTER TABLE ${into} ${lacks.join(", ")}`);
  }
}

async function upsert(
  client: Client,
  target: Target,
  columns: readonly TypedColumn[],
  batches: AsyncIterable<readonly JsonRecord[]>,
): Promise<number> {
  await client.query("BEGIN");
  const into = sqlName(target);
  const all = [IDENTITY_COLUMN, ...columns];
  await fitTable(client, into, all);

  const names = all.map(({ name }) => quoted(name));
  const [id, ...others] = names;
  const set = others.map((name) => `${name} = excluded.${name}`);
  const update = set.length === 0 ? "NOTHING" : `UPDATE SET ${set.join(", ")}`;
  const statement = `WITH put AS (INSERT INTO ${into} (${names.join(", ")})
    SELECT ${names.join(", ")} FROM json_populate_recordset(NULL::${into}, $1::json)
    ON CONFLICT (${id}) DO ${update} RETURNING xmax = 0 AS added)
    SELECT count(*) FILTER (WHERE added)::int AS added FROM put`;

  const put = async (rows: readonly JsonRecord[]): Promise<number> => {
    const result = await client.query<{ added: number }>(statement, [jsonOf(rows, all)]);
    return result.rows[0]?.added ?? 0;
  };

  // Also without a row: what may not be written is known by then.
  let added = await put([]);
  for await (const rows of batches) added += await put(rows);

  return added;
}

async function existing(
  client: Client,
  into: string,
): Promise<ReadonlyMap<string, Existing> | undefined> {
  const result = await client.query<{ oid: string | null }>("SELECT to_regclass($1)::oid AS oid", [
    into,
  ]);
  const oid = result.rows[0]?.oid;
  if (oid === null || oid === undefined) return undefined;

  const { rows } = await client.query<Existing>(
    `SELECT attname AS name, format_type(atttypid, atttypmod) AS type, typcategory AS category
      FROM pg_attribute JOIN pg_type ON pg_type.oid = atttypid
      WHERE attrelid = $1 AND attnum > 0 AND NOT attisdropped`,
    [oid],
  );
  return new Map(rows.map((row) => [row.name, row]));
}

function checkFit({ name, type, empty }: TypedColumn, has: Existing | undefined): void {
  if (has === undefined || empty || HOLDS[type].includes(has.category)) return;
  throw unfit(name, has.type, TYPES[type]);
}

const jsonOf = (rows: readonly JsonRecord[], columns: readonly TypedColumn[]): string =>
  stringifyExact(
    rows.map((row) =>
      Object.fromEntries(
        columns.map((column) => [column.name, plain(valueIn(row, column), column.type)]),
      ),
    ),
  );

// PostgreSQL has no texts with U+0000.
const storable = (text: string): string => text.toWellFormed().replaceAll("\u0000", "\ufffd");

function plain(value: JsonValue, type: ColumnType): JsonValue {
  if (value === null) return null;
  if (type === "text") return storable(textOf(value));
  return Array.isArray(value) ? value.map((item) => storable(String(item))) : value;
}
