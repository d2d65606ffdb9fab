import { mkdtempSync } from "node:fs";
import { readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { DuckDBInstance } from "@duckdb/node-api";

/**
 * What is said to a modern ClickHouse in the words of Debian's 18.16, the newest cluster that tests can start: it binds
 * no parameters, reads no Parquet, and has neither projections nor columns with dictionaries. So the program that is tried
 * says what it says in production.
 */

/** Settings that came after 18.16. */
const LATER_SETTINGS = [
  "insert_deduplicate",
  "mutations_sync",
  "max_table_size_to_drop",
  "max_partition_size_to_drop",
];

/** Its errors tell no names, without which a client takes them for text. */
const NAMED = " (AN_OLD_SERVER)";

const quotedText = (text: string): string =>
  `'${text.replace(/[\0\b\f]/g, (character) => `\\${{ "\0": "0", "\b": "b", "\f": "f" }[character]}`)}'`;

/** A value as a client sends it, which escapes it as within quotes. */
function literalOf(value: string, type: string): string {
  if (type.startsWith("Array")) return `(${value.slice(1, -1)})`;
  return type === "String" ? quotedText(value) : value;
}

/** @param params by name, as they are sent */
export function inOldWords(sql: string, params: ReadonlyMap<string, string>): string {
  return sql
    .replace("version()", "'25.3'")
    .replace("groupBitmap(", "uniqExact(")
    .replaceAll("LowCardinality(String)", "String")
    .replaceAll(" CODEC(ZSTD(3))", "")
    .replaceAll(/, (?:INDEX \w+ \w+ TYPE minmax GRANULARITY 1|PROJECTION \w+ \([^)]*\))/g, "")
    .replaceAll("FORMAT Parquet", "FORMAT TabSeparated")
    .replaceAll(/\{(\w+):([^}]+)\}/g, (_, name: string, type: string) => {
      const value = params.get(name);
      if (value === undefined) throw new Error(`no value for the parameter ${name}`);
      return literalOf(value, type);
    });
}

async function asLines(parquet: Buffer, folder: string): Promise<Buffer> {
  const name = join(folder, crypto.randomUUID());
  await writeFile(`${name}.parquet`, parquet);
  const instance = await DuckDBInstance.create();
  const connection = await instance.connect();
  try {
    const from = `read_parquet('${name}.parquet')`;
    const columns = (await connection.runAndReadAll(`DESCRIBE FROM ${from}`)).getRowsJS();
    const cells = columns.map(([column, type]) =>
      type === "VARCHAR"
        ? `replace(replace(replace(${column}, '\\', '\\\\'), chr(9), '\\t'), chr(10), '\\n')`
        : `coalesce(${column}::VARCHAR, '\\N')`,
    );
    await connection.run(`COPY (SELECT concat_ws(chr(9), ${cells.join(", ")}) FROM ${from})
      TO '${name}.lines' (FORMAT csv, HEADER false, DELIMITER '\\x01', QUOTE '', ESCAPE '')`);
    return await readFile(`${name}.lines`);
  } finally {
    connection.closeSync();
    instance.closeSync();
    await rm(`${name}.parquet`);
    await rm(`${name}.lines`, { force: true });
  }
}

/** A statement with its values, wherever a client put them, and the rows that it sends. */
async function read(asked: IncomingMessage, fields: URLSearchParams) {
  const body = await buffer(asked);
  const type = asked.headers["content-type"] ?? "";
  const form = type.startsWith("multipart/form-data")
    ? await new Response(new Uint8Array(body), { headers: { "content-type": type } }).formData()
    : new FormData();
  const given = [...fields, ...form].filter(([name]) => name.startsWith("param_"));
  const params = new Map(given.map(([name, value]) => [name.slice(6), String(value)]));
  const inAddress = fields.get("query");
  return {
    sql: inAddress ?? String(form.get("query") ?? body),
    params,
    rows: inAddress === null ? undefined : body,
  };
}

async function translate(
  asked: IncomingMessage,
  answer: ServerResponse,
  { port, folder }: { readonly port: number; readonly folder: string },
): Promise<void> {
  const address = new URL(asked.url ?? "", "http://old");
  const fields = address.searchParams;
  let body: Buffer | string | undefined;

  if (asked.method === "POST") {
    const { sql, params, rows } = await read(asked, fields);
    const old = inOldWords(sql, params);
    const seconds = fields.get("max_execution_time");
    if (seconds !== null) fields.set("max_execution_time", String(Math.ceil(Number(seconds))));
    for (const name of [...fields.keys()])
      if (name.startsWith("param_") || LATER_SETTINGS.includes(name)) fields.delete(name);
    if (rows !== undefined) fields.set("query", old);
    body = rows === undefined ? old : old === sql ? rows : await asLines(rows, folder);
  }

  const { authorization } = asked.headers;
  const told = await new Promise<IncomingMessage>((resolve, reject) => {
    const sent = request(
      {
        port,
        host: "127.0.0.1",
        method: asked.method,
        path: address.pathname + address.search,
        headers: authorization === undefined ? {} : { authorization },
      },
      resolve,
    );
    sent.on("error", reject);
    answer.on("close", () => sent.destroy());
    sent.end(body);
  });

  const status = told.statusCode ?? 500;
  answer.writeHead(status, { "content-type": told.headers["content-type"] ?? "text/plain" });
  told.on("error", () => answer.destroy());
  told.pipe(answer, { end: false });
  told.on("end", () => answer.end(status < 400 ? "" : NAMED));
}

/** @param port of an old server, which need not be there yet */
export async function startTranslator(port: number) {
  const folder = mkdtempSync(join(tmpdir(), "translated-"));
  const server = createServer((asked, answer) => {
    // A server that is gone is a connection that breaks.
    translate(asked, answer, { port, folder }).catch(() => asked.socket.destroy());
  });
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return {
    port: address.port,
    close: (): void => {
      server.closeAllConnections();
      server.close();
    },
  };
}
