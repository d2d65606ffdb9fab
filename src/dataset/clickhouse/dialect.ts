export type Param = string | number | readonly string[] | readonly number[];

export interface Statement {
  readonly sql: string;
  readonly params: Readonly<Record<string, Param>>;
}

export interface ServerDialect {
  /**
   * What production uses: parameters that the server
   * binds, dictionary-encoded columns, projections.
   */
  readonly isModern: boolean;
  /** How rows are sent: as columns, packed, or as lines of text. */
  readonly rows: "Parquet" | "TabSeparated";
}

export const MODERN: ServerDialect = { isModern: true, rows: "Parquet" };

/**
 * For tests: 18.16 is the newest real cluster they can
 * start; it binds no parameters, so values become literals.
 */
export const LITERAL_TEST: ServerDialect = { isModern: false, rows: "TabSeparated" };

export function rendered(query: Statement, dialect: ServerDialect) {
  if (dialect.isModern) return { query: query.sql, query_params: { ...query.params } };
  const sql = query.sql.replace(/\{(\w+):[^}]+\}/g, (_, name: string) => {
    const value = query.params[name];
    if (value === undefined) throw new Error(`no value for the parameter ${name}`);
    return literalOf(value);
  });
  return { query: sql };
}

function literalOf(value: Param): string {
  if (typeof value === "number") {
    if (!Number.isSafeInteger(value)) throw new Error(`not an integer: ${value}`);
    return String(value);
  }
  if (typeof value === "string") return quoted(value);
  return `(${(value as readonly (string | number)[]).map((item) => literalOf(item)).join(", ")})`;
}

const quoted = (text: string): string =>
  `'${text.replace(/[\\'\0\b\f\n\r\t]/g, (character) => (character === "'" || character === "\\" ? `\\${character}` : (ESCAPES[character] ?? character)))}'`;

const ESCAPES: Readonly<Record<string, string>> = {
  "\0": "\\0",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
};
