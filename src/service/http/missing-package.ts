/** A package of the service's stack is not installed: they are optional, since the client works without them. */
class MissingPackageError extends Error {
  override readonly name = "MissingPackageError";

  constructor(packageName: string, cause: unknown) {
    super(`the service needs the package ${packageName}, which is not installed; the client works without it`, {
      cause,
    });
  }
}

/** What an optional package exports. @throws MissingPackageError where it is not installed */
export const needed = <Package>(name: string, loading: Promise<Package>): Promise<Package> =>
  loading.catch((error: unknown) => {
    throw new MissingPackageError(name, error);
  });
