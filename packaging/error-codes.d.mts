export const PAGE: string;

/** @param advice what to do about each code: `ADVICE` of src/cli/topics.ts */
export function withCodes(
  page: string,
  advice: readonly {
    readonly exit: number | undefined;
    readonly codes: readonly string[];
    readonly advice: string;
  }[],
): string;
