/** Another format, or not what was written. Importing or generating the dataset again mends it. */
export class DatasetDamagedError extends Error {
  override readonly name = "DatasetDamagedError";
}
