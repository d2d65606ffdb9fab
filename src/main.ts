import type { Context } from "./context.ts";

/** Replaced by bigger ones: see program.ts and errors.ts. */
export async function main(argv: readonly string[], context: Context): Promise<number> {
  void argv;
  void context;
  return 0;
}
export async function run(): Promise<void> {}
