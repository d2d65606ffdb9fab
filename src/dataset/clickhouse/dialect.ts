/** A value bound to a placeholder of a query. */
export type Param = string | number | readonly string[] | readonly number[];

/** A query with `{name:Type}` placeholders and the values for them. */
export interface Query {
  readonly sql: string;
  readonly params: Readonly<Record<string, Param>>;
}

/**
 * What differs between servers. `modern` is what production uses: typed parameters that the server binds, dictionary-encoded
 * columns, projections.
 */
export interface Dialect {
  readonly name: "modern" | "literal-test";
  readonly parameters: boolean;
  readonly dictionaryColumns: boolean;
  readonly projections: boolean;
}

export const MODERN: Dialect = { name: "modern", parameters: true, dictionaryColumns: true, projections: true };

/**
 * A TEST dialect for ClickHouse 18.16, the newest real cluster that the tests can start: it knows no typed parameters, so
 * values are rendered as escaped literals. Never used against a server that can bind.
 */
export const LITERAL_TEST: Dialect = {
  name: "literal-test",
  parameters: false,
  dictionaryColumns: false,
  projections: false,
};

/** The query as a server of this dialect takes it. */
export function rendered(
  query: Query,
  dialect: Dialect,
): { readonly query: string; readonly query_params?: Record<string, unknown> } {
  if (dialect.parameters) return { query: query.sql, query_params: { ...query.params } };
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
