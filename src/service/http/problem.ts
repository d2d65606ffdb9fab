/** An answer that is an error: thrown anywhere in a request, sent in the envelope, never charged. */
export class Problem extends Error {
  override readonly name = "Problem";
  readonly status: number;
  readonly detail: readonly string[];
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, detail: readonly string[], headers: Readonly<Record<string, string>> = {}) {
    super(detail[0] ?? `status ${status}`);
    this.status = status;
    this.detail = detail;
    this.headers = headers;
  }
}

export const invalid = (...detail: readonly string[]): Problem => new Problem(422, detail);

export const ended = (what: string): Problem => new Problem(401, [what], { "www-authenticate": "Bearer" });

export const suspended = (): Problem =>
  new Problem(403, [
    "this account is suspended: its balance is kept, and nothing is sold until its operator resumes it",
  ]);

/** The client went away before the charge: nothing was charged and there is nobody to tell. */
export class VanishedError extends Error {
  override readonly name = "VanishedError";
}
