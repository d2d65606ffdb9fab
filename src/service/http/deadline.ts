export class DeadlineError extends Error {
  override readonly name = "DeadlineError";
}

/** Rejects with DeadlineError where the work takes longer than `ms`. Its result is dropped. */
export function within<Result>(work: Promise<Result>, ms: number): Promise<Result> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new DeadlineError(`no answer from the dataset within ${ms} ms`)), ms);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
