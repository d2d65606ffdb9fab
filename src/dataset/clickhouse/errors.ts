/** The server answers, and turns its user away: another name or password is needed. */
export class DatasetRefusedError extends Error {
  override readonly name = "DatasetRefusedError";
}

export class DatasetUnavailableError extends Error {
  override readonly name = "DatasetUnavailableError";
}

/** This server cannot answer the question; another may. */
export class LostServerError extends Error {
  override readonly name = "LostServerError";
}

/** A number of a server, or a word of a connection such as ECONNREFUSED. */
export const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error ? String(error.code) : "";

/** Of a connection, then of a server that asked another one which was lost. */
const LOSSES = /^(E[A-Z_]+|UND_ERR_\w+|32|95|96|102|209|210|279|1000)$/;

/** An answer that ends in its middle is no JSON. */
export const isLoss = (error: unknown): error is Error =>
  error instanceof LostServerError || error instanceof SyntaxError || LOSSES.test(codeOf(error));
