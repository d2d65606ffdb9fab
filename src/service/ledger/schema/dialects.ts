/** What the two databases write differently. */
export interface Dialect {
  readonly int: string;
  readonly status: string;
  /** Ids of holds: numbers on SQLite, made by the process on PostgreSQL, so that it can ask for one after a lost reply. */
  readonly holdId: string;
  readonly entryId: string;
  readonly keyed: string;
  readonly hot: string;
  readonly rows: string;
}

export const SQLITE: Dialect = {
  int: "INTEGER",
  status: "INTEGER",
  holdId: "INTEGER",
  entryId: "INTEGER PRIMARY KEY",
  keyed: "STRICT, WITHOUT ROWID",
  hot: "STRICT, WITHOUT ROWID",
  rows: "STRICT",
};
export const POSTGRES: Dialect = {
  int: "bigint",
  status: "integer",
  holdId: "text",
  entryId: "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
  keyed: "",
  hot: "WITH (fillfactor = 50)",
  rows: "",
};
