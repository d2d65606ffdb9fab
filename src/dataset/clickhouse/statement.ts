export type Param = string | number | readonly string[] | readonly number[];

export interface Statement {
  readonly sql: string;
  readonly params: Readonly<Record<string, Param>>;
}

/** The server binds the values. */
export const bound = ({ sql, params }: Statement) => ({ query: sql, query_params: { ...params } });
