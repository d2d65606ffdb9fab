import { expect } from "vitest";
import type { Ran, RunOptions, User } from "./export.ts";

/** Runs a command that has to end with 0. */
export async function ran(
  me: User,
  argv: readonly string[],
  options: RunOptions = {},
): Promise<Ran> {
  const result = await me.run(argv, options);
  expect(result.code, `${argv.join(" ")}: ${result.stderr}`).toBe(0);
  return result;
}

/** The same, and what it printed. */
export const ok = async (
  me: User,
  argv: readonly string[],
  options: RunOptions = {},
): Promise<string> => (await ran(me, argv, options)).stdout;
